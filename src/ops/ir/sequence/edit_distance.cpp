// Levenshtein's distance between sequences that are rows of sparse tensors.
#include <algorithm>
#include <limits>
#include <map>

#include "ops/gathered.h"
#include "ops/ir/shapes.h"

namespace updraft {
namespace {

using ir::Dims;

template <class T>
double distance(const std::vector<T>& a, const std::vector<T>& b) {
  std::vector<int64_t> row(b.size() + 1);
  for (size_t j = 0; j < row.size(); ++j) row[j] = static_cast<int64_t>(j);
  for (size_t i = 1; i <= a.size(); ++i) {
    int64_t corner = row[0];
    row[0] = static_cast<int64_t>(i);
    for (size_t j = 1; j < row.size(); ++j) {
      const int64_t above = row[j];
      row[j] = a[i - 1] == b[j - 1] ? corner : 1 + std::min({corner, above, row[j - 1]});
      corner = above;
    }
  }
  return static_cast<double>(row.back());
}

/// The values of each sequence, by its place in the result.
template <class T>
std::map<int64_t, std::vector<T>> sequences(const char* name, const TensorView& indices, const TensorView& values,
                                            const Dims& result) {
  const std::vector<int64_t> at = integers_of(indices);
  const std::vector<T> all = gathered<T>(values);
  const size_t rank = result.size() + 1;
  std::map<int64_t, std::vector<T>> found;
  for (size_t i = 0; i < all.size(); ++i) {
    int64_t place = 0;
    for (size_t d = 0; d + 1 < rank; ++d) {
      const int64_t k = at[i * rank + d];
      if (k < 0 || k >= result[d])
        fail_kernel(fmt::format("edit_distance: {} has {} in dimension {} of {}", name, k, d, result[d]));
      place = place * result[d] + k;
    }
    found[place].push_back(all[i]);
  }
  return found;
}

template <class T>
std::vector<float> distances(const TensorView* of, const TensorView* to, const Dims& result, bool normalize) {
  const auto hypotheses = sequences<T>("hypothesis_indices", of[0], of[1], result),
             truths = sequences<T>("truth_indices", to[0], to[1], result);
  std::vector<float> all(static_cast<size_t>(ir::count_of(result)), 0.0F);
  const std::vector<T> none;
  const auto give = [&](int64_t place) {
    const auto h = hypotheses.find(place), t = truths.find(place);
    const std::vector<T>&a = h == hypotheses.end() ? none : h->second, &b = t == truths.end() ? none : t->second;
    double d = distance(a, b);
    if (normalize) d = b.empty() ? std::numeric_limits<double>::infinity() : d / static_cast<double>(b.size());
    all[static_cast<size_t>(place)] = static_cast<float>(d);
  };
  for (const auto& each : hypotheses) give(each.first);
  for (const auto& each : truths) give(each.first);
  return all;
}

}  // namespace

ABOUT(EditDistance, AICPU, "Levenshtein's distance between the sequences of two sparse tensors",
      "两个稀疏张量中各序列的编辑距离")
IR_OP(EditDistance, EditDistance, (In, hypothesis_indices), (In, hypothesis_values), (In, hypothesis_shape),
      (In, truth_indices), (In, truth_values), (In, truth_shape), (Out, output), (Bool, normalize, true)) {
  const auto check = [&](const char* name, const In& indices, const In& values, size_t rank) {
    op.require(indices->rank == 2 && values->rank == 1 && indices->dims[0] == values->dims[0] &&
                   static_cast<size_t>(indices->dims[1]) == rank,
               "{} is {} and its values {}, want {} coordinates for each value", name, describe(*indices),
               describe(*values), rank);
  };
  op.require(hypothesis_values->dtype == truth_values->dtype,
             "hypothesis_values is {} and truth_values {}, want one type", describe(*hypothesis_values),
             describe(*truth_values));
  const Dims one = op.integers("hypothesis_shape", hypothesis_shape.handle),
             other = op.integers("truth_shape", truth_shape.handle);
  op.require(one.size() == other.size() && one.size() >= 2,
             "hypothesis_shape has {} values and truth_shape {}, want two or more of both", one.size(), other.size());
  for (size_t d = 0; d < one.size(); ++d)
    op.require(one[d] >= 0 && other[d] >= 0, "hypothesis_shape has {} and truth_shape {}, want 0 or more", one[d],
               other[d]);
  check("hypothesis_indices", hypothesis_indices, hypothesis_values, one.size());
  check("truth_indices", truth_indices, truth_values, one.size());
  Dims dims;
  for (size_t d = 0; d + 1 < one.size(); ++d) dims.push_back(std::max(one[d], other[d]));
  ir::result(op, "output", *output, dims, DType::Float);
  op.work(hypothesis_values->numel() * truth_values->numel());
  op.launch([dims, normalize, a = *hypothesis_indices, b = *hypothesis_values, c = *truth_indices, d = *truth_values,
             to = *output] {
    const TensorView of[] = {a, b}, with[] = {c, d};
    write_all(to, is_integral(b.dtype) ? distances<int64_t>(of, with, dims, normalize)
                                       : distances<double>(of, with, dims, normalize));
  });
}

}  // namespace updraft
