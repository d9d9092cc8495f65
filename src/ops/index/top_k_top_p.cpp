// What samplers of language models keep of the logits: the k largest, and of them those that together have probability
// p.
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/parallel.h"
#include "ops/gathered.h"
#include "ops/op.h"
#include "tensor/view_algebra.h"

namespace updraft {
namespace {

/// NaN is larger than all numbers, as sort has it.
bool is_less(float a, float b) { return std::isnan(b) ? !std::isnan(a) : a < b; }

/// Puts -inf in the place of what is smaller than the k-th largest.
void keep_largest(std::vector<float>& row, int64_t k, std::vector<float>& sorted) {
  sorted = row;
  const auto at = sorted.begin() + static_cast<int64_t>(row.size()) - k;
  std::nth_element(sorted.begin(), at, sorted.end(), is_less);
  const float least = *at;
  for (float& x : row)
    if (is_less(x, least)) x = -std::numeric_limits<float>::infinity();
}

/// Puts -inf in the place of the smallest, as long as their probabilities add up to 1 - p at most. One stays.
void keep_probable(std::vector<float>& row, float p, std::vector<std::pair<float, int64_t>>& sorted) {
  constexpr float kNever = -std::numeric_limits<float>::infinity();
  sorted.clear();
  for (size_t i = 0; i < row.size(); ++i)
    if (row[i] != kNever) sorted.emplace_back(row[i], static_cast<int64_t>(i));
  if (sorted.empty()) return;
  std::ranges::sort(sorted, [](const auto& a, const auto& b) {
    return is_less(a.first, b.first) || (!is_less(b.first, a.first) && a.second < b.second);
  });
  const float most = sorted.back().first;
  double all = 0;
  for (const auto& [x, i] : sorted) all += std::exp(x - most);
  const float limit = 1 - p;
  double sum = 0;
  sorted.pop_back();
  for (const auto& [x, i] : sorted) {
    sum += std::exp(x - most) / all;
    if (!(static_cast<float>(sum) <= limit)) break;  // it only grows
    row[static_cast<size_t>(i)] = kNever;
  }
}

}  // namespace

SAMPLE(aclnnApplyTopKTopP, "logits=f32[3,M] p=f32[3] k=i32[3]:1..4 out=f32[3,M]")
ABOUT(aclnnApplyTopKTopP, Vector, "out = the k largest logits of each row, of these the likeliest up to p; others -inf",
      "每行保留最大的 k 个 logits，再按累积概率 p 保留，其余置为 -inf")
ACLNN(aclnnApplyTopKTopP, (In, logits), (OptIn, p), (OptIn, k), (Out, out)) {
  op.require(logits->rank == 2 && compute_of(logits->dtype) == Compute::F32,
             "logits is {}, want FLOAT, FLOAT16 or BFLOAT16 [rows, vocabulary]", describe(*logits));
  const int64_t rows = logits->dims[0], words = logits->dims[1];
  if (p)
    op.require(p->rank == 1 && p->dims[0] == rows && compute_of(p->dtype) == Compute::F32,
               "p is {}, want {} floating-point values", describe(*p), rows);
  if (k)
    op.require(k->rank == 1 && k->dims[0] == rows && is_integral(k->dtype), "k is {}, want {} integers", describe(*k),
               rows);
  op.result_like("out", *out, *logits, logits->dtype);
  if (out->empty()) return;
  op.work(logits->numel() * (p ? 32 : 8));
  op.launch([rows, words, from = *logits, share = optional_view(p), count = optional_view(k), to = *out] {
    const std::vector<float> shares = given(share) ? floats_of(share) : std::vector<float>();
    const std::vector<int64_t> counts = given(count) ? integers_of(count) : std::vector<int64_t>();
    for (size_t r = 0; r < counts.size(); ++r)
      if (counts[r] < 1 || counts[r] > words)
        fail_kernel(fmt::format("k has {} at {}, want 1 to {}", counts[r], r, words));
    parallel_for(rows, 1, [&](int64_t begin, int64_t end) {
      std::vector<float> row(static_cast<size_t>(words)), sorted;
      std::vector<std::pair<float, int64_t>> pairs;
      for (int64_t r = begin; r < end; ++r) {
        gather_to(row.data(), DType::Float, select(from, 0, r));
        if (!counts.empty()) keep_largest(row, counts[static_cast<size_t>(r)], sorted);
        if (!shares.empty()) keep_probable(row, shares[static_cast<size_t>(r)], pairs);
        write_all(select(to, 0, r), row);
      }
    });
  });
}

}  // namespace updraft
