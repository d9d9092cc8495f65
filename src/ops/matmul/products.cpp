// Products of matrices and vectors, as torch.matmul and its parts.
#include "ops/matmul/matmul.h"

namespace updraft {
namespace {

void plan_matmul(Op& op, const TensorView& self, In right, const TensorView& out) {
  const TensorView& mat2 = *right;
  op.require(self.rank > 0 && mat2.rank > 0, "self is {} and mat2 is {}: want at least one dimension each",
             describe(self), describe(mat2));
  if (op.inferring()) {
    int64_t dims[kMaxDims + 2];
    int rank = broadcast_shape(self.dims, std::max(self.rank - 2, 0), mat2.dims, std::max(mat2.rank - 2, 0), dims);
    if (self.rank > 1) dims[rank++] = self.dims[self.rank - 2];
    if (mat2.rank > 1) dims[rank++] = mat2.dims[mat2.rank - 1];
    op.suggest(out, dims, rank, promote(self.dtype, mat2.dtype));
  }
  TensorView a = self, b = mat2, c = out;
  // A vector is a row on the left and a column on the right; its dimension is not in the result.
  if (self.rank == 1) a = unsqueeze(a, 0);
  if (mat2.rank == 1) b = unsqueeze(b, 1);
  const int missing = (self.rank == 1) + (mat2.rank == 1);
  op.require(c.rank + missing >= 2, "out is {}, want {} dimensions or more", describe(out), 2 - missing);
  if (mat2.rank == 1) c = unsqueeze(c, c.rank);
  if (self.rank == 1) c = unsqueeze(c, c.rank - 1);
  plan_product(op, a, b, c, {.right = right.handle->constant});
}

}  // namespace

void plan_product(Op& op, const TensorView& a, const TensorView& b, const TensorView& c, const MatmulOptions& options) {
  check_product(op, a, b, c);
  if (c.empty()) return;
  const int64_t k = a.dims[a.rank - 1];
  op.work(c.numel() * std::max<int64_t>(1, k / 4));
  op.flops(2 * c.numel() * k);
  op.kernel_scratch(a.numel() + b.numel() + c.numel(), [&] { return matmul_scratch(a, b, c, options); });
  auto with_add = [=, added = options.add != nullptr, add = options.add ? *options.add : TensorView()](auto&& f) {
    MatmulOptions with = options;
    with.add = added ? &add : nullptr;
    f(a, b, c, with);
  };
  if (options.right) op.prepare([with_add] { with_add(prepare_matmul); });
  op.launch([with_add] { with_add(matmul); });
}

void check_product(Op& op, const TensorView& a, const TensorView& b, const TensorView& c, DType type) {
  op.require(a.dims[a.rank - 1] == b.dims[b.rank - 2], "self is {} and mat2 is {}: the inner sizes {} and {} differ",
             describe(a), describe(b), a.dims[a.rank - 1], b.dims[b.rank - 2]);
  int64_t dims[kMaxDims];
  int rank = broadcast_shape(a.dims, a.rank - 2, b.dims, b.rank - 2, dims);
  dims[rank++] = a.dims[a.rank - 2];
  dims[rank++] = b.dims[b.rank - 1];
  op.result("out", c, dims, rank, type == DType::Undefined ? promote(a.dtype, b.dtype) : type);
}

ABOUT(aclnnMatmul, Cube, "out = self @ mat2 as torch.matmul: vectors, matrices and broadcast batches",
      "矩阵乘 out = self @ mat2，支持向量、矩阵与批量广播")
ACLNN(aclnnMatmul, (In, self), (In, mat2), (Out, out), (Int8, cubeMathType)) {
  (void)cubeMathType;
  plan_matmul(op, *self, mat2, *out);
}
ABOUT(aclnnMatmulWeightNz, Cube, "As aclnnMatmul, for weights that the client marks as FRACTAL_NZ",
      "与 aclnnMatmul 相同，权重标记为 FRACTAL_NZ 格式")
ACLNN(aclnnMatmulWeightNz, (In, self), (In, mat2), (Out, out), (Int8, cubeMathType)) {
  (void)cubeMathType;
  plan_matmul(op, *self, mat2, *out);
}
ABOUT(aclnnMm, Cube, "out = self @ mat2, two matrices", "两个矩阵相乘 out = self @ mat2")
ACLNN(aclnnMm, (In, self), (In, mat2), (Out, out), (Int8, cubeMathType)) {
  (void)cubeMathType;
  op.require(self->rank == 2 && mat2->rank == 2, "self is {} and mat2 is {}, want two matrices", describe(*self),
             describe(*mat2));
  plan_product(op, *self, *mat2, *out, {.right = mat2.handle->constant});
}
ABOUT(aclnnBatchMatMul, Cube, "out[b] = self[b] @ mat2[b]", "批量矩阵乘 out[b] = self[b] @ mat2[b]")
ACLNN(aclnnBatchMatMul, (In, self), (In, mat2), (Out, out), (Int8, cubeMathType)) {
  (void)cubeMathType;
  op.require(self->rank == 3 && mat2->rank == 3, "self is {} and mat2 is {}, want three dimensions each",
             describe(*self), describe(*mat2));
  plan_product(op, *self, *mat2, *out, {.right = mat2.handle->constant});
}
ABOUT(aclnnBatchMatMulWeightNz, Cube, "As aclnnBatchMatMul, for weights that the client marks as FRACTAL_NZ",
      "与 aclnnBatchMatMul 相同，权重标记为 FRACTAL_NZ 格式")
ACLNN(aclnnBatchMatMulWeightNz, (In, self), (In, mat2), (Out, out), (Int8, cubeMathType)) {
  (void)cubeMathType;
  op.require(self->rank == 3 && mat2->rank == 3, "self is {} and mat2 is {}, want three dimensions each",
             describe(*self), describe(*mat2));
  plan_product(op, *self, *mat2, *out, {.right = mat2.handle->constant});
}
ABOUT(aclnnMv, Cube, "out = self @ vec, a matrix and a vector", "矩阵与向量相乘 out = self @ vec")
ACLNN(aclnnMv, (In, self), (In, vec), (Out, out), (Int8, cubeMathType)) {
  (void)cubeMathType;
  op.require(self->rank == 2 && vec->rank == 1, "self is {} and vec is {}, want a matrix and a vector", describe(*self),
             describe(*vec));
  plan_matmul(op, *self, vec, *out);
}
ABOUT(aclnnDot, Cube, "out = sum of self * tensor, two vectors", "两个向量的内积")
ACLNN(aclnnDot, (In, self), (In, tensor), (Out, out)) {
  op.require(self->rank == 1 && tensor->rank == 1, "self is {} and tensor is {}, want two vectors", describe(*self),
             describe(*tensor));
  op.suggest(*out, {}, promote(self->dtype, tensor->dtype));
  op.require(out->numel() == 1, "out is {}, want one element", describe(*out));
  plan_matmul(op, *self, tensor, first_dims(*out, 0));
}

}  // namespace updraft
