// Parts and other orders of a tensor, copied: what clients without strides ask for where others take a view.
#include <algorithm>

#include "kernels/pipeline.h"
#include "ops/index/indices.h"
#include "tensor/view_algebra.h"

namespace updraft {
namespace {

void plan_copy(Op& op, const TensorView& from, const TensorView& to) {
  op.require(from.dtype == to.dtype, "out is {}, want the type of self, {}", describe(to), name_of(from.dtype));
  if (!to.empty()) op.launch([from, to] { copy_elements(to, from); });
}

/// The diagonal of the last two dimensions of a matrix, as a view.
TensorView diagonal_of(const TensorView& matrix, int64_t diagonal) {
  const int64_t row = std::max<int64_t>(0, -diagonal), column = std::max<int64_t>(0, diagonal);
  const int64_t length = std::max<int64_t>(0, std::min(matrix.dims[0] - row, matrix.dims[1] - column));
  TensorView v = matrix;
  v.rank = 1;
  v.dims[0] = length;
  v.strides[0] = matrix.strides[0] + matrix.strides[1];
  if (length && v.data) v.data = at_element(matrix, row * matrix.strides[0] + column * matrix.strides[1]);
  return v;
}

}  // namespace

SAMPLE(aclnnPermute, "dims=1,0 out=f32[M,N]")
ABOUT(aclnnPermute, Vector, "out = self with its dimensions in the order of dims", "按 dims 的顺序重排 self 的维度")
ACLNN(aclnnPermute, (In, self), (Ints, dims), (Out, out)) {
  op.require(dims.size() == static_cast<size_t>(self->rank), "dims has {} values, self is {}", dims.size(),
             describe(*self));
  int64_t order[kMaxDims];
  bool seen[kMaxDims] = {};
  for (size_t i = 0; i < dims.size(); ++i) {
    const int d = self->wrap_dim(dims[i]);
    op.require(!seen[d], "dims names dimension {} twice", d);
    seen[d] = true;
    order[i] = d;
  }
  const TensorView from = permute(*self, std::span<const int64_t>(order, dims.size()));
  op.result_like("out", *out, from, self->dtype);
  plan_copy(op, from, *out);
}

SAMPLE(aclnnExpand, "self=f32[N,1] size=N,M out=f32[N,M]")
ABOUT(aclnnExpand, Vector, "out = self broadcast to size; -1 keeps a dimension", "将 self 广播到 size，-1 表示该维不变")
ACLNN(aclnnExpand, (In, self), (Ints, size), (Out, out)) {
  const size_t rank = size.size(), own = static_cast<size_t>(self->rank);
  op.require(rank >= own && rank <= static_cast<size_t>(kMaxDims), "size has {} values, want {} to {} for self, {}",
             rank, own, kMaxDims, describe(*self));
  TensorView from = *self;
  from.rank = static_cast<int>(rank);
  for (size_t i = 0; i < rank; ++i) {
    const bool added = i < rank - own;
    const int64_t have = added ? 1 : self->dims[i - (rank - own)];
    op.require(size[i] >= 0 || (size[i] == -1 && !added), "size[{}] is {}, want 0 or more{}", i, size[i],
               added ? "" : ", or -1");
    const int64_t want = size[i] < 0 ? have : size[i];
    op.require(have == want || have == 1, "size[{}] is {}, the dimension of self has {}", i, want, have);
    from.dims[i] = want;
    from.strides[i] = have == want && !added ? self->strides[i - (rank - own)] : 0;
  }
  op.result_like("out", *out, from, self->dtype);
  plan_copy(op, from, *out);
}

SAMPLE(aclnnSlice, "dim=1 start=0 end=1000000000 step=2 self=f32[N,2M] out=f32[N,M]")
ABOUT(aclnnSlice, Vector, "out = every step-th part of self along dim from start to end",
      "取 self 沿 dim 从 start 到 end、步长 step 的部分")
ACLNN(aclnnSlice, (In, self), (Int, dim), (Int, start), (Int, end), (Int, step), (Out, out)) {
  const int d = self->wrap_dim(dim);
  op.require(self->rank > 0, "self is {}, want a dimension to slice", describe(*self));
  op.require(step > 0, "step is {}, want at least 1", step);
  const int64_t size = self->dims[d];
  const auto inside = [size](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + size : at, 0, size); };
  const int64_t first = inside(start), length = std::max<int64_t>(0, inside(end) - first);
  TensorView from = narrow(*self, d, first, length);
  from.dims[d] = length / step + (length % step != 0);
  from.strides[d] *= from.dims[d] > 1 ? step : 1;
  op.result_like("out", *out, from, self->dtype);
  plan_copy(op, from, *out);
}

SAMPLE(aclnnDiag, "self=f32[N,N] diagonal=0 out=f32[N]")
ABOUT(aclnnDiag, Vector, "The diagonal of a matrix, or the matrix of zeros that has the vector self on its diagonal",
      "取矩阵的对角线，或以向量 self 为对角线构造其余为 0 的矩阵")
ACLNN(aclnnDiag, (In, self), (Int, diagonal), (Out, out)) {
  op.require(self->rank == 1 || self->rank == 2, "self is {}, want a vector or a matrix", describe(*self));
  if (self->rank == 2) {
    const TensorView from = diagonal_of(*self, diagonal);
    op.result_like("out", *out, from, self->dtype);
    return plan_copy(op, from, *out);
  }
  op.require(diagonal > -(int64_t{1} << 31) && diagonal < int64_t{1} << 31, "diagonal is {}, which no matrix has",
             diagonal);
  const int64_t size = self->dims[0] + std::abs(diagonal);
  op.result("out", *out, {size, size}, self->dtype);
  op.require(self->dtype == out->dtype, "out is {}, want the type of self, {}", describe(*out), describe(*self));
  if (out->empty()) return;
  op.launch([from = *self, to = *out, on = diagonal_of(*out, diagonal)] {
    fill_elements(to, Params{});
    if (!from.empty()) copy_elements(on, from);
  });
}

}  // namespace updraft
