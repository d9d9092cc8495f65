// Rows of different lengths, and rows that several tensors give together.
#include <cmath>
#include <cstring>

#include "base/parallel.h"
#include "ops/gathered.h"
#include "ops/index/indices.h"
#include "ops/ir/shapes.h"
#include "ops/linalg/dense.h"

namespace updraft {
namespace {

using ir::Dims;

/// Each range as its first number, the step and how many there are.
template <class T>
struct Ranges {
  std::vector<T> starts, steps;
  Dims splits = {0};
};
template <class T>
Ranges<T> ranges_of(const Op& op, const std::vector<T>& starts, const std::vector<T>& limits,
                    const std::vector<T>& deltas, size_t rows) {
  const auto at = [](const std::vector<T>& v, size_t i) { return v[v.size() == 1 ? 0 : i]; };
  Ranges<T> r;
  for (size_t i = 0; i < rows; ++i) {
    const T start = at(starts, i), limit = at(limits, i), delta = at(deltas, i);
    op.require(delta != 0, "deltas has 0 in row {}", i);
    int64_t count = 0;
    if ((delta > 0 && limit > start) || (delta < 0 && limit < start)) {
      constexpr double kMost = 1LL << 40;
      const double steps =
          std::ceil((static_cast<double>(limit) - static_cast<double>(start)) / static_cast<double>(delta));
      op.require(steps < kMost, "row {} has {} numbers, want fewer than {}", i, steps, kMost);
      count = static_cast<int64_t>(steps);
    }
    r.starts.push_back(start);
    r.steps.push_back(delta);
    r.splits.push_back(r.splits.back() + count);
  }
  return r;
}
template <class T>
void plan_ranges(Op& op, const Ranges<T>& r, const Out& splits, const Out& values, DType type) {
  ir::result(op, "rt_dense_values", *values, {r.splits.back()}, type);
  op.launch([r, to_splits = *splits, to_values = *values] {
    std::vector<T> all(static_cast<size_t>(r.splits.back()));
    for (size_t i = 0; i + 1 < r.splits.size(); ++i)
      for (int64_t k = r.splits[i]; k < r.splits[i + 1]; ++k)
        all[static_cast<size_t>(k)] = r.starts[i] + static_cast<T>(k - r.splits[i]) * r.steps[i];
    write_all(to_splits, r.splits);
    write_all(to_values, all);
  });
}

/// Rows of the result, the later ones of equal indices before the earlier ones.
void stitch(Op& op, const Tensors& indices, const Tensors& x, int64_t n, const Out& y) {
  op.require(indices.size() == x.size() && static_cast<int64_t>(x.size()) == n && n > 0,
             "there are {} indices and {} tensors, attribute N is {}", indices.size(), x.size(), n);
  std::vector<Dims> places;
  int64_t rows = 0;
  Dims rest;
  for (size_t i = 0; i < x.size(); ++i) {
    const TensorView &at = indices[i], &from = x[i];
    op.require(from.rank >= at.rank && std::equal(at.dims, at.dims + at.rank, from.dims),
               "tensor {} is {} and its indices {}, want a row for each", i, describe(from), describe(at));
    const Dims own(from.dims + at.rank, from.dims + from.rank);
    op.require(i == 0 || own == rest, "tensor {} is {}, its rows are not those of the first tensor", i, describe(from));
    op.require(from.dtype == x[0].dtype, "tensor {} is {}, want the type of the first one", i, describe(from));
    rest = own;
    places.push_back(op.integers("indices", indices.item(i)));
    for (int64_t p : places.back()) {
      op.require(p >= 0, "indices has {}, want 0 or more", p);
      rows = std::max(rows, p + 1);
    }
  }
  Dims dims = {rows};
  dims.insert(dims.end(), rest.begin(), rest.end());
  ir::result(op, "y", *y, dims, x[0].dtype);
  if (op.inferring() || y->empty()) return;
  std::vector<TensorView> from;
  for (size_t i = 0; i < x.size(); ++i) from.push_back(x[i]);
  op.launch([from, places, to = *y] {
    ScratchScope scratch;
    const size_t row = to.bytes() / static_cast<size_t>(to.dims[0]);
    TensorView made = to;
    if (!to.is_contiguous()) made = TensorView::contiguous(scratch.take<char>(to.bytes()), to.dtype, to.dims, to.rank);
    std::memset(made.data, 0, to.bytes());  // rows that nobody gives
    for (size_t i = 0; i < from.size(); ++i) {
      const TensorView read = contiguous_in(from[i], to.dtype, scratch);
      for (size_t k = 0; k < places[i].size(); ++k)
        std::memcpy(made.as<char>() + static_cast<size_t>(places[i][k]) * row, read.as<char>() + k * row, row);
    }
    if (!to.is_contiguous()) copy_elements(to, made);
  });
}

}  // namespace

ABOUT(RaggedRange, AICPU, "A range of numbers for each row, and where the rows begin", "逐行生成等差序列及各行起点")
IR_OP(RaggedRange, RaggedRange, (In, starts), (In, limits), (In, deltas), (Out, rt_nested_splits),
      (Out, rt_dense_values), (Type, Tsplits)) {
  size_t rows = 1;
  bool first = true;
  for (const In& v : {starts, limits, deltas}) {
    op.require(v->rank <= 1 && v->dtype == starts->dtype,
               "starts, limits and deltas have {}, want numbers or vectors of one type", describe(*v));
    if (v->rank == 0) continue;
    op.require(first || static_cast<size_t>(v->dims[0]) == rows, "starts, limits and deltas have {} and {} rows", rows,
               v->dims[0]);
    rows = static_cast<size_t>(v->dims[0]);
    first = false;
  }
  op.require(Tsplits == DType::Int32 || Tsplits == DType::Int64, "attribute Tsplits is {}, want INT32 or INT64",
             name_of(Tsplits));
  ir::result(op, "rt_nested_splits", *rt_nested_splits, {static_cast<int64_t>(rows) + 1}, Tsplits);
  if (is_integral(starts->dtype))
    return plan_ranges(op,
                       ranges_of(op, op.integers("starts", starts.handle), op.integers("limits", limits.handle),
                                 op.integers("deltas", deltas.handle), rows),
                       rt_nested_splits, rt_dense_values, starts->dtype);
  plan_ranges(op,
              ranges_of(op, numbers_of(op, "starts", starts.handle), numbers_of(op, "limits", limits.handle),
                        numbers_of(op, "deltas", deltas.handle), rows),
              rt_nested_splits, rt_dense_values, starts->dtype);
}
ABOUT(DynamicStitch, AICPU, "Rows of several tensors at the places that indices names", "按 indices 将多个张量的行拼合")
IR_OP(DynamicStitch, DynamicStitch, (Tensors, indices), (Tensors, x), (Out, y), (Int, N, 1)) {
  stitch(op, indices, x, N, y);
}
IR_OP(ParallelDynamicStitch, DynamicStitch, (Tensors, indices), (Tensors, x), (Out, y), (Int, N, 1)) {
  stitch(op, indices, x, N, y);
}

}  // namespace updraft
