// Rearrangements around products in transformers.
#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "base/scratch.h"
#include "kernels/pipeline.h"
#include "kernels/rows/arithmetic.h"
#include "ops/op.h"
#include "tensor/view_algebra.h"

namespace updraft {
namespace {

void confuse(const TensorView& from, const TensorView& to, const std::vector<int64_t>& order,
             const std::vector<int64_t>& dims, bool transpose_first) {
  ScratchScope scratch;
  TensorView p;
  if (transpose_first) {
    p = permute(from, order);
  } else {
    TensorView flat = from;
    if (!from.is_contiguous()) flat = gather_to(scratch.take(from.bytes()), from.dtype, from);
    p = permute(TensorView::contiguous(flat.data, from.dtype, dims.data(), static_cast<int>(dims.size())), order);
  }
  copy_elements(TensorView::contiguous(to.data, to.dtype, p.dims, p.rank), p);
}

}  // namespace

// transpose_first: y = reshape(permute(self)); else y = permute(reshape(self)).
SAMPLE(aclnnConfusionTranspose, "perm=1,0 shape=N,M y=f32[M,N]!")
ABOUT(aclnnConfusionTranspose, Vector, "y = reshape of the transpose of self, or the transpose of its reshape",
      "先转置再变形，或先变形再转置（由 transposeFirst 决定）")
ACLNN(aclnnConfusionTranspose, (In, self), (Ints, perm), (Ints, shape), (Bool, transposeFirst), (Out, y)) {
  const std::vector<int64_t> order = *perm, dims = *shape;
  const size_t rank = transposeFirst ? static_cast<size_t>(self->rank) : dims.size();
  std::vector<bool> seen(rank, false);
  for (int64_t d : order) {
    op.require(d >= 0 && d < static_cast<int64_t>(rank) && !seen[static_cast<size_t>(d)],
               "perm is not an order of {} dimensions", rank);
    seen[static_cast<size_t>(d)] = true;
  }
  op.require(order.size() == rank, "perm has {} entries, want {}", order.size(), rank);
  int64_t n = 1;
  for (int64_t d : dims) n *= d;
  op.require(dims.size() <= static_cast<size_t>(kMaxDims), "shape has {} numbers, the most is {}", dims.size(),
             kMaxDims);
  if (op.inferring()) {
    TensorView permuted = TensorView::contiguous(nullptr, self->dtype, dims.data(), static_cast<int>(dims.size()));
    for (size_t d = 0; !transposeFirst && d < rank; ++d) permuted.dims[d] = dims[static_cast<size_t>(order[d])];
    op.suggest_like(*y, permuted, self->dtype);
  }
  op.require(n == self->numel() && n == y->numel(), "self is {} and y is {}: they do not hold the {} elements of shape",
             describe(*self), describe(*y), n);
  op.require(y->is_contiguous(), "y is {}, want a contiguous tensor", describe(*y));
  if (n == 0) return;
  if (!transposeFirst && !self->is_contiguous()) op.kernel_scratch(self->bytes());
  op.launch([from = *self, to = *y, order, dims, transposeFirst] { confuse(from, to, order, dims, transposeFirst); });
}

// q = (qkv[..., 0] + bias) / sqrt(head size), k and v without the scale; [B, T, 3 D] to [B, H, T, D / H] each.
SAMPLE(aclnnTransformBiasRescaleQkv,
       "qkv=f32[2,N,24] qkvBias=f32[24] numHeads=2 q=f32[2,2,N,4] k=f32[2,2,N,4] v=f32[2,2,N,4]")
ABOUT(aclnnTransformBiasRescaleQkv, Vector,
      "Cuts qkv + qkvBias into q (divided by sqrt of the head size), k and v by heads",
      "将 qkv + qkvBias 按头拆分为 q、k、v，q 除以头维度的平方根")
ACLNN(aclnnTransformBiasRescaleQkv, (In, qkv), (In, qkvBias), (Int, numHeads), (Out, q), (Out, k), (Out, v)) {
  op.require(qkv->rank == 3 && qkvBias->rank == 1 && numHeads > 0 && qkv->dims[2] == qkvBias->dims[0] &&
                 qkv->dims[2] % (3 * numHeads) == 0,
             "qkv is {} and qkvBias is {} with {} heads: the sizes do not match", describe(*qkv), describe(*qkvBias),
             numHeads);
  const int64_t size = qkv->dims[2] / 3 / numHeads;
  const int64_t dims[] = {qkv->dims[0], numHeads, qkv->dims[1], size};
  op.result("q", *q, dims, 4, qkv->dtype);
  op.result("k", *k, dims, 4, qkv->dtype);
  op.result("v", *v, dims, 4, qkv->dtype);
  if (q->empty()) return;
  op.launch([=, x = *qkv, bias = *qkvBias, out = std::vector<TensorView>{*q, *k, *v}] {
    for (int64_t i = 0; i < 3; ++i) {
      TensorView part, add;
      part.dtype = x.dtype;
      add.dtype = bias.dtype;
      part.data = x.as<char>() + i * numHeads * size * x.strides[2] * static_cast<int64_t>(size_of(x.dtype));
      add.data = bias.as<char>() + i * numHeads * size * bias.strides[0] * static_cast<int64_t>(size_of(bias.dtype));
      part.rank = add.rank = 4;
      const int64_t part_strides[] = {x.strides[0], size * x.strides[2], x.strides[1], x.strides[2]};
      const int64_t add_strides[] = {0, size * bias.strides[0], 0, bias.strides[0]};
      for (int d = 0; d < 4; ++d) {
        part.dims[d] = add.dims[d] = out[0].dims[d];
        part.strides[d] = part_strides[d];
        add.strides[d] = add_strides[d];
      }
      const TensorView& to = out[static_cast<size_t>(i)];
      const Compute compute = compute_of(to.dtype);
      Params p;
      p.set(0, int64_t{1});
      run_elementwise(elementwise_kernel(ew::add, compute), compute, {part, add}, {to}, p);
      if (i == 0) {
        p.set(0, 1 / std::sqrt(static_cast<double>(size)));
        p.set(1, 0.0);
        run_elementwise(elementwise_kernel(ew::affine, compute), compute, {to}, {to}, p);
      }
    }
  });
}

}  // namespace updraft
