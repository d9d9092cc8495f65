// Where the extremes are, orders of elements, and running sums and products.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <unordered_map>
#include <unordered_set>

#include "kernels/pipeline.h"
#include "ops/index/indices.h"
#include "ops/index/unique.h"
#include "ops/ir/shapes.h"
#include "ops/linalg/dense.h"

namespace updraft {
namespace {

using ir::Dims;

void argument(Op& op, const char* twin, const In& x, int64_t dimension, DType type, const Out& y) {
  const int64_t axis = ir::axis_of(op, "dimension", dimension, x->rank);
  ir::result(op, "y", *y, ir::reduced(*x, {axis}, false), type);
  call(op, twin, x, axis, false, y);
}

void extreme(Op& op, const char* twin, const In& x, int64_t dimension, bool keep, const Out& indice,
             const Out& values) {
  const int64_t axis = ir::axis_of(op, "dimension", dimension, x->rank);
  const Dims dims = ir::reduced(*x, {axis}, keep);
  ir::result(op, "indice", *indice, dims, DType::Int32);
  ir::result(op, "values", *values, dims, x->dtype);
  call(op, twin, x, axis, keep, values, indice);
}

}  // namespace

IR_OP(ArgMaxV2, aclnnArgMax, (In, x), (In, dimension), (Out, y), (Type, dtype, DType::Int64)) {
  argument(op, "aclnnArgMax", x, integer_of(op, "dimension", dimension.handle), dtype, y);
}
IR_OP(ArgMaxD, aclnnArgMax, (In, x), (Out, y), (Int, dimension), (Type, dtype, DType::Int64)) {
  argument(op, "aclnnArgMax", x, dimension, dtype, y);
}
IR_OP(ArgMin, aclnnArgMin, (In, x), (In, dimension), (Out, y), (Type, dtype, DType::Int64)) {
  argument(op, "aclnnArgMin", x, integer_of(op, "dimension", dimension.handle), dtype, y);
}
IR_OP(ArgMinD, aclnnArgMin, (In, x), (Out, y), (Int, dimension), (Type, dtype, DType::Int64)) {
  argument(op, "aclnnArgMin", x, dimension, dtype, y);
}
IR_OP(ArgMaxWithValue, aclnnMaxDim, (In, x), (Out, indice), (Out, values), (Int, dimension), (Bool, keep_dims, false)) {
  extreme(op, "aclnnMaxDim", x, dimension, keep_dims, indice, values);
}
IR_OP(ArgMinWithValue, aclnnMinDim, (In, x), (Out, indice), (Out, values), (Int, dimension), (Bool, keep_dims, false)) {
  extreme(op, "aclnnMinDim", x, dimension, keep_dims, indice, values);
}

IR_OP(Sort, aclnnSort, (In, x), (Out, y1), (Out, y2), (Int, axis, -1), (Bool, descending, false),
      (Bool, stable, false)) {
  op.result_like("y1", *y1, *x, x->dtype);
  op.result_like("y2", *y2, *x, DType::Int32);
  call(op, "aclnnSort", x, stable, axis, descending, y1, y2);
}
IR_OP(SortV2, aclnnSort, (In, x), (Out, y), (Int, axis, -1), (Bool, descending, false)) {
  op.result_like("y", *y, *x, x->dtype);
  call(op, "aclnnSort", x, false, axis, descending, y, ir::temporary(op, DType::Int64, ir::dims_of(*x)));
}

namespace {
void largest(Op& op, const In& x, int64_t k, bool sorted, bool most, int64_t dim, const Out& values,
             const Out& indices) {
  const int64_t axis = ir::axis_of(op, "dim", dim, x->rank);
  Dims dims = ir::dims_of(*x);
  op.require(x->rank > 0 && k >= 0 && k <= x->dims[axis], "k is {}, dimension {} of x, {}, has fewer", k, axis,
             describe(*x));
  dims[static_cast<size_t>(axis)] = k;
  ir::result(op, "values", *values, dims, x->dtype);
  ir::result(op, "indices", *indices, dims, DType::Int32);
  call(op, "aclnnTopk", x, k, axis, most, sorted, values, indices);
}
}  // namespace
IR_OP(TopK, aclnnTopk, (In, x), (In, k), (Out, values), (Out, indices), (Bool, sorted, true), (Bool, largest, true),
      (Int, dim, -1)) {
  updraft::largest(op, x, integer_of(op, "k", k.handle), sorted, largest, dim, values, indices);
}
IR_OP(TopKV2, aclnnTopk, (In, x), (In, k), (Out, values), (Out, indices), (Bool, sorted, true), (Int, dim, -1),
      (Bool, largest, true)) {
  updraft::largest(op, x, integer_of(op, "k", k.handle), sorted, largest, dim, values, indices);
}
IR_OP(SearchSorted, aclnnSearchSorted, (In, sorted_sequence), (In, values), (OptIn, sorter), (Out, out),
      (Type, dtype, DType::Int64), (Bool, right, false)) {
  op.result_like("out", *out, *values, dtype);
  call(op, "aclnnSearchSorted", sorted_sequence, values, out->dtype == DType::Int32, right, sorter, out);
}

ABOUT(NthElement, Vector, "The nth of the last dimension in order", "末维排序后的第 n 个元素")
IR_OP(NthElement, NthElement, (In, x), (In, n), (Out, y), (Bool, reverse, false)) {
  const int64_t which = integer_of(op, "n", n.handle);
  op.require(x->rank >= 1 && which >= 0 && which < x->dims[x->rank - 1], "n is {}, x is {}", which, describe(*x));
  Temp values, places(DType::Int64);
  call(op, "aclnnSort", x, false, x->rank - 1, reverse, values, places);
  ir::copy(op, select(*values, x->rank - 1, static_cast<int>(which)), y);
}
ABOUT(InTopKD, Vector, "Whether the value at each target is among the k largest of its row",
      "各行目标处的值是否位于前 k 大")
IR_OP(InTopKD, InTopKD, (In, x1), (In, x2), (Out, y), (Int, k)) {
  op.require(x1->rank == 2 && x2->rank == 1 && x2->dims[0] == x1->dims[0],
             "x1 is {} and x2 {}, want rows and a target for each", describe(*x1), describe(*x2));
  op.result_like("y", *y, *x2, DType::Bool);
  Temp own, larger(DType::Bool), number(DType::Int64), few(DType::Bool), finite(DType::Bool);
  call(op, "aclnnGather", x1, 1, unsqueeze(*x2, 1), own);
  call(op, "aclnnGtTensor", x1, own->expand_as(*x1), larger);
  call(op, "aclnnReduceSum", *larger, Dims{1}, false, DType::Int64, number);
  call(op, "aclnnLtScalar", *number, k, few);
  call(op, "aclnnIsFinite", select(*own, 1, 0), finite);
  call(op, "aclnnLogicalAnd", *few, *finite, y);
}
ABOUT(Bucketize, Vector, "The number of the interval between boundaries in which each element lies",
      "各元素所在的 boundaries 区间编号")
IR_OP(Bucketize, Bucketize, (In, x), (Out, y), (Floats, boundaries), (Type, dtype, DType::Int32), (Bool, right, true)) {
  op.result_like("y", *y, *x, dtype);
  std::vector<double> edges;
  for (size_t i = 0; i < boundaries.size(); ++i) edges.push_back(static_cast<double>(boundaries[i]));
  op.require(std::ranges::is_sorted(edges), "attribute boundaries is not in order");
  op.work(x->numel() * 8);
  op.launch([from = *x, to = *y, edges, right = static_cast<bool>(right)] {
    std::vector<double> v = linalg::gather(from);
    for (double& e : v)
      e = static_cast<double>((right ? std::ranges::upper_bound(edges, e) : std::ranges::lower_bound(edges, e)) -
                              edges.begin());
    linalg::scatter(to, v);
  });
}
ABOUT(CumulativeLogsumexp, Vector, "The logarithm of running sums of exponentials along an axis",
      "沿轴的 log(累加 exp)")
IR_OP(CumulativeLogsumexp, CumulativeLogsumexp, (In, x), (In, axis), (Out, y), (Bool, exclusive, false),
      (Bool, reverse, false)) {
  const auto d = static_cast<int>(ir::axis_of(op, "axis", integer_of(op, "axis", axis.handle), x->rank));
  op.require(is_floating(x->dtype) && x->rank > 0, "x is {}, want floating point and a dimension", describe(*x));
  op.result_like("y", *y, *x, x->dtype);
  op.work(x->numel() * 16);
  Dims order = ir::all_axes(x->rank);
  std::swap(order[static_cast<size_t>(d)], order.back());
  op.launch([from = permute(*x, order), to = op.inferring() ? *y : permute(*y, order),
             exclusive = static_cast<bool>(exclusive), reverse = static_cast<bool>(reverse)] {
    std::vector<double> v = linalg::gather(from);
    const auto n = static_cast<size_t>(from.dims[from.rank - 1]);
    for (size_t row = 0; n > 0 && row < v.size(); row += n) {
      double sum = -std::numeric_limits<double>::infinity();
      for (size_t i = 0; i < n; ++i) {
        double& e = v[row + (reverse ? n - 1 - i : i)];
        const double most = std::max(sum, e), before = sum;
        sum = std::isinf(most) ? most : most + std::log(std::exp(sum - most) + std::exp(e - most));
        e = exclusive ? before : sum;
      }
    }
    linalg::scatter(to, v);
  });
}

// --- running sums and products ------------------------------------------------------------------------------------
namespace {

/// `twin` along an axis of x, from the end when `reverse`; `exclusive` begins with `first` and leaves the last out.
void scan(Op& op, const char* twin, const In& x, int64_t axis, bool exclusive, bool reverse, int first, const Out& y) {
  const int64_t at = ir::axis_of(op, "axis", axis, x->rank);
  op.result_like("y", *y, *x, x->dtype);
  if (x->empty()) return;
  TensorView from = *x, to = *y;
  if (reverse) {
    const Dims dims = ir::dims_of(*x);
    from = ir::temporary(op, x->dtype, dims);
    to = ir::temporary(op, y->dtype, dims);
    call(op, "aclnnFlip", x, Dims{at}, from);
  }
  if (exclusive) {
    op.require(x->rank > 0, "x is {}, want one dimension or more", describe(*x));
    const int d = static_cast<int>(at);
    const int64_t n = x->dims[d];
    call(op, "aclnnInplaceFillScalar", ir::part_of(to, d, 0, 1), first);
    if (n > 1) call(op, twin, ir::part_of(from, d, 0, n - 1), at, y->dtype, ir::part_of(to, d, 1, n - 1));
  } else {
    call(op, twin, from, at, y->dtype, to);
  }
  if (reverse) call(op, "aclnnFlip", to, Dims{at}, y);
}

}  // namespace
IR_OP(Cumsum, aclnnCumsum, (In, x), (In, axis), (Out, y), (Bool, exclusive, false), (Bool, reverse, false)) {
  op.result_like("y", *y, *x, x->dtype);  // known before the axis is
  scan(op, "aclnnCumsum", x, integer_of(op, "axis", axis.handle), exclusive, reverse, 0, y);
}
IR_OP(CumsumD, aclnnCumsum, (In, x), (Out, y), (Int, axis), (Bool, exclusive, false), (Bool, reverse, false)) {
  scan(op, "aclnnCumsum", x, axis, exclusive, reverse, 0, y);
}
IR_OP(Cumprod, aclnnCumprod, (In, x), (In, axis), (Out, y), (Bool, exclusive, false), (Bool, reverse, false)) {
  op.result_like("y", *y, *x, x->dtype);  // known before the axis is
  scan(op, "aclnnCumprod", x, integer_of(op, "axis", axis.handle), exclusive, reverse, 1, y);
}
IR_OP(CumprodD, aclnnCumprod, (In, x), (Out, y), (Int, axis), (Bool, exclusive, false), (Bool, reverse, false)) {
  scan(op, "aclnnCumprod", x, axis, exclusive, reverse, 1, y);
}
IR_OP(Cummax, aclnnCummax, (In, x), (Out, y), (Out, indices), (Int, dim)) {
  op.result_like("y", *y, *x, x->dtype);
  op.result_like("indices", *indices, *x, DType::Int32);
  call(op, "aclnnCummax", x, dim, y, indices);
}
IR_OP(Cummin, aclnnCummin, (In, x), (Out, y), (Out, indices), (Int, axis)) {
  op.result_like("y", *y, *x, x->dtype);
  op.result_like("indices", *indices, *x, DType::Int32);
  call(op, "aclnnCummin", x, axis, y, indices);
}

IR_OP(UniqueWithCountsAndSorting, aclnnUnique2, (In, x), (Out, y), (Out, indices), (Out, counts),
      (Bool, return_inverse, false), (Bool, return_counts, false), (Bool, sorted, true)) {
  call(op, "aclnnUnique2", x, sorted, return_inverse, return_counts, y, indices, counts);
}

ABOUT(UniqueWithCountsExt2, AICPU,
      "Sorted distinct slices of x along axis, with the place of each slice and their counts",
      "x 沿 axis 的去重切片（有序），及各切片的反向索引与计数")
// torch_npu has one output more than graphs, and takes the places of slices there.
IR_OP(UniqueWithCountsExt2, UniqueWithCountsExt2, (In, x), (In, axis), (Out, y), (Out, idx), (Out, count),
      (OptOut, inverse), (Type, out_idx, DType::Int32), (Bool, sorted, true), (Bool, return_inverse, false)) {
  const int64_t at = ir::axis_of(op, "axis", integer_of(op, "axis", axis.handle), x->rank);
  op.require(x->rank > 0, "x is {}, want one dimension or more", describe(*x));
  if (inverse) {
    call(op, "aclnnUniqueDim", x, sorted, return_inverse, at, y, inverse, count);
    ir::copy(op, "idx", *inverse, idx, DType::Int64);
  } else {
    op.require(out_idx == DType::Int64, "out_idx is {}, want INT64", name_of(out_idx));
    call(op, "aclnnUniqueDim", x, sorted, true, at, y, idx, count);
  }
}

ABOUT(Unique, AICPU, "Distinct elements of x as they first occur, and the place of each element among them",
      "x 的去重元素（按首次出现的顺序）及各元素的索引")
IR_OP(Unique, Unique, (In, x), (Out, y), (Out, idx), (Type, out_idx, DType::Int32)) {
  op.require(out_idx == DType::Int32 || out_idx == DType::Int64, "out_idx is {}, want INT32 or INT64",
             name_of(out_idx));
  op.result("idx", *idx, x->dims, x->rank, out_idx);
  plan_unique_as_it_occurs(op, *x, *y.handle, *idx.handle);
}

IR_OP(UniqueConsecutive, aclnnUniqueConsecutive, (In, x), (Out, y), (Out, idx), (Out, count), (Bool, return_idx, false),
      (Bool, return_counts, false), (Int, axis, 1000)) {
  call(op, "aclnnUniqueConsecutive", x, return_idx, return_counts, axis, y, idx, count);
}

namespace {
/// Integers as they are, others by their bits; both zeros are one.
std::vector<int64_t> keys_of(const TensorView& v) {
  std::vector<int64_t> keys(static_cast<size_t>(v.numel()));
  if (is_integral(v.dtype)) {
    gather_to(keys.data(), DType::Int64, v);
  } else {
    gather_to(keys.data(), DType::Double, v);
    for (int64_t& key : keys) key = std::bit_cast<int64_t>(std::bit_cast<double>(key) + 0.0);
  }
  return keys;
}
}  // namespace
ABOUT(UniqueWithPad, AICPU,
      "Distinct elements of x as they first occur, padding behind them, and the place of each element",
      "x 的去重元素（按首次出现的顺序），其后为填充值，并给出各元素的索引")
IR_OP(UniqueWithPad, UniqueWithPad, (In, x), (In, padding), (Out, y), (Out, idx)) {
  op.require(x->rank == 1 && is_integral(x->dtype), "x is {}, want integers of one dimension", describe(*x));
  op.require(padding->numel() == 1 && is_integral(padding->dtype), "padding is {}, want one integer",
             describe(*padding));
  op.result_like("y", *y, *x, x->dtype);
  op.result_like("idx", *idx, *x, x->dtype);
  op.work(x->numel() * 32);
  op.launch([from = *x, padding = *padding, to = *y, places = *idx] {
    const std::vector<int64_t> keys = keys_of(from);
    std::vector<int64_t> found(keys.size(), keys_of(padding)[0]), at;
    std::unordered_map<int64_t, int64_t> seen;
    for (int64_t key : keys) {
      const auto [place, fresh] = seen.emplace(key, seen.size());
      if (fresh) found[static_cast<size_t>(place->second)] = key;
      at.push_back(place->second);
    }
    const int64_t n = from.numel();
    copy_elements(to, TensorView::contiguous(found.data(), DType::Int64, &n, 1));
    copy_elements(places, TensorView::contiguous(at.data(), DType::Int64, &n, 1));
  });
}
ABOUT(ListDiff, AICPU, "The elements of x that y lacks, and where they are", "x 中不属于 y 的元素及其位置")
IR_OP(ListDiff, ListDiff, (In, x), (In, y), (Out, out), (Out, idx), (Type, out_idx, DType::Int32)) {
  op.require(x->rank == 1 && y->rank == 1 && x->dtype == y->dtype, "x is {} and y {}, want one dimension and one type",
             describe(*x), describe(*y));
  op.require(out_idx == DType::Int32 || out_idx == DType::Int64, "out_idx is {}, want INT32 or INT64",
             name_of(out_idx));
  op.suggest_up_to(*out, x->dims, 1, x->dtype, 0);
  op.suggest_up_to(*idx, x->dims, 1, out_idx, 0);
  for (const Out& o : {out, idx})
    op.require(o->is_contiguous() && o->numel() >= x->numel(), "an output is {}, want room for {} elements",
               describe(*o), x->numel());
  op.work((x->numel() + y->numel()) * 32);
  op.launch([from = *x, less = *y, to = *out, places = *idx, kept = ResultShape(out.handle),
             kept_places = ResultShape(idx.handle)] {
    const std::vector<int64_t> gone = keys_of(less), keys = keys_of(from);
    const std::unordered_set<int64_t> without(gone.begin(), gone.end());
    ScratchScope scratch;
    const size_t size = size_of(from.dtype);
    const auto* elements = contiguous_in(from, scratch).as<char>();
    std::vector<int64_t> at;
    for (size_t i = 0; i < keys.size(); ++i) {
      if (without.contains(keys[i])) continue;
      std::memcpy(to.as<char>() + at.size() * size, elements + i * size, size);
      at.push_back(static_cast<int64_t>(i));
    }
    const auto n = static_cast<int64_t>(at.size());
    copy_elements(ir::part_of(places, 0, 0, n), TensorView::contiguous(at.data(), DType::Int64, &n, 1));
    kept.set({n});
    kept_places.set({n});
  });
}

// Where values go into rows that are sorted.
IR_OP(LowerBound, aclnnSearchSorted, (In, sorted_x), (In, values), (Out, y), (Type, out_type, DType::Int32)) {
  op.result_like("y", *y, *values, out_type);
  call(op, "aclnnSearchSorted", sorted_x, values, y->dtype == DType::Int32, false, OptIn{nullptr}, y);
}
IR_OP(UpperBound, aclnnSearchSorted, (In, sorted_x), (In, values), (Out, y), (Type, out_type)) {
  op.result_like("y", *y, *values, out_type);
  call(op, "aclnnSearchSorted", sorted_x, values, y->dtype == DType::Int32, true, OptIn{nullptr}, y);
}
ABOUT(HardMax, Vector, "1 where the first largest element along axis is, 0 elsewhere",
      "沿 axis 首个最大元素处为 1，其余为 0")
IR_OP(HardMax, HardMax, (In, x), (Out, y), (Int, axis, -1)) {
  const int64_t at = ir::axis_of(op, "axis", axis, x->rank);
  op.require(x->rank > 0, "x is {}, want one dimension or more", describe(*x));
  op.result_like("y", *y, *x, x->dtype);
  const TensorView index = ir::temporary(op, DType::Int64, ir::reduced(*x, {at}, true));
  call(op, "aclnnArgMax", x, at, true, index);
  const TensorView zeros = ir::temporary(op, x->dtype, ir::dims_of(*x)),
                   ones = ir::temporary(op, x->dtype, ir::dims_of(index));
  call(op, "aclnnInplaceZero", zeros);
  call(op, "aclnnInplaceOne", ones);
  call(op, "aclnnScatter", zeros, at, index, ones, 0, y);
}

}  // namespace updraft
