// Products that are added to something: out = beta * self + alpha * (mat1 @ mat2).
#include "kernels/pipeline.h"
#include "kernels/rows/arithmetic.h"
#include "ops/matmul/matmul.h"

namespace updraft {
namespace {

/// Real and integer scalars keep their value; alpha and beta of integer products are cut to integers as PyTorch does.
complex128 number(const aclScalar& s) { return s.to_complex(); }

void plan_addmm(Op& op, const TensorView& self, const TensorView& a, const TensorView& b, ConstantOperand* constant,
                const aclScalar& beta, const aclScalar& alpha, const TensorView& out, int rank) {
  op.require(a.rank == rank && b.rank == rank, "mat1 is {} and mat2 is {}, want {} dimensions each", describe(a),
             describe(b), rank);
  check_product(op, a, b, out);
  const TensorView add = self.expand_as(out);
  MatmulOptions o{.alpha = number(alpha), .beta = number(beta), .add = &add, .right = constant};
  if (add.data == out.data && std::equal(add.strides, add.strides + add.rank, out.strides) && add.dtype == out.dtype)
    o.add = nullptr;
  plan_product(op, a, b, out, o);
}

}  // namespace

ABOUT(aclnnAddmm, Cube, "out = beta * self + alpha * (mat1 @ mat2)", "out = beta * self + alpha * (mat1 @ mat2)")
ACLNN(aclnnAddmm, (In, self), (In, mat1), (In, mat2), (Scalar, beta), (Scalar, alpha), (Out, out),
      (Int8, cubeMathType)) {
  (void)cubeMathType;
  plan_addmm(op, *self, *mat1, *mat2, mat2.handle->constant, *beta, *alpha, *out, 2);
}
ABOUT(aclnnAddmmWeightNz, Cube, "As aclnnAddmm, for weights that the client marks as FRACTAL_NZ",
      "与 aclnnAddmm 相同，权重标记为 FRACTAL_NZ 格式")
ACLNN(aclnnAddmmWeightNz, (In, self), (In, mat1), (In, mat2), (Scalar, beta), (Scalar, alpha), (Out, out),
      (Int8, cubeMathType)) {
  (void)cubeMathType;
  plan_addmm(op, *self, *mat1, *mat2, mat2.handle->constant, *beta, *alpha, *out, 2);
}
ABOUT(aclnnInplaceAddmm, Cube, "selfRef = beta * selfRef + alpha * (mat1 @ mat2), in place",
      "原地计算 selfRef = beta * selfRef + alpha * (mat1 @ mat2)")
ACLNN(aclnnInplaceAddmm, (InOut, selfRef), (In, mat1), (In, mat2), (Scalar, beta), (Scalar, alpha),
      (Int8, cubeMathType)) {
  (void)cubeMathType;
  plan_addmm(op, *selfRef, *mat1, *mat2, mat2.handle->constant, *beta, *alpha, *selfRef, 2);
}
ABOUT(aclnnBaddbmm, Cube, "out[b] = beta * self[b] + alpha * (batch1[b] @ batch2[b])",
      "out[b] = beta * self[b] + alpha * (batch1[b] @ batch2[b])")
ACLNN(aclnnBaddbmm, (In, self), (In, batch1), (In, batch2), (Scalar, beta), (Scalar, alpha), (Out, out),
      (Int8, cubeMathType)) {
  (void)cubeMathType;
  plan_addmm(op, *self, *batch1, *batch2, batch2.handle->constant, *beta, *alpha, *out, 3);
}

static void plan_addbmm(Op& op, const TensorView& self, const TensorView& a, const TensorView& b, const aclScalar& beta,
                        const aclScalar& alpha, const TensorView& out) {
  op.require(a.rank == 3 && b.rank == 3, "batch1 is {} and batch2 is {}, want three dimensions each", describe(a),
             describe(b));
  op.require(a.dims[0] == b.dims[0] && a.dims[2] == b.dims[1], "batch1 is {} and batch2 is {}: the sizes do not match",
             describe(a), describe(b));
  op.result("out", out, {a.dims[1], b.dims[2]}, promote(a.dtype, b.dtype));
  const TensorView add = self.expand_as(out);
  if (out.empty()) return;
  op.work(out.numel() * std::max<int64_t>(1, a.dims[0] * a.dims[2] / 4));
  op.flops(2 * out.numel() * a.dims[0] * a.dims[2]);
  const complex128 scale = number(alpha), keep = number(beta);
  op.kernel_scratch(a.numel() + b.numel() + out.numel(),
                    [&] { return matmul_reduced_scratch(a, b, out, {.alpha = scale, .beta = keep, .add = &add}); });
  op.launch([=] { matmul_reduced(a, b, out, {.alpha = scale, .beta = keep, .add = &add}); });
}
ABOUT(aclnnAddbmm, Cube, "out = beta * self + alpha * the sum over b of batch1[b] @ batch2[b]",
      "out = beta * self + alpha * sum(batch1[b] @ batch2[b])，对批次 b 求和")
ACLNN(aclnnAddbmm, (In, self), (In, batch1), (In, batch2), (Scalar, beta), (Scalar, alpha), (Out, out),
      (Int8, cubeMathType)) {
  (void)cubeMathType;
  plan_addbmm(op, *self, *batch1, *batch2, *beta, *alpha, *out);
}

ABOUT(aclnnAddmv, Cube, "out = beta * self + alpha * (mat @ vec)", "out = beta * self + alpha * (mat @ vec)")
ACLNN(aclnnAddmv, (In, self), (In, mat), (In, vec), (Scalar, alpha), (Scalar, beta), (Out, out), (Int8, cubeMathType)) {
  (void)cubeMathType;
  op.require(mat->rank == 2 && vec->rank == 1, "mat is {} and vec is {}, want a matrix and a vector", describe(*mat),
             describe(*vec));
  op.result("out", *out, {mat->dims[0]}, promote(mat->dtype, vec->dtype));
  plan_addmm(op, unsqueeze(self->expand_as(*out), 1), *mat, unsqueeze(*vec, 1), vec.handle->constant, *beta, *alpha,
             unsqueeze(*out, 1), 2);
}

// --- outer products
static void plan_addr(Op& op, const TensorView& self, const TensorView& vec1, const TensorView& vec2,
                      const aclScalar& beta, const aclScalar& alpha, const TensorView& out) {
  op.require(vec1.rank == 1 && vec2.rank == 1, "vec1 is {} and vec2 is {}, want two vectors", describe(vec1),
             describe(vec2));
  op.result("out", out, {vec1.dims[0], vec2.dims[0]}, promote(vec1.dtype, vec2.dtype));
  const TensorView add = self.expand_as(out);
  if (out.empty()) return;
  const TensorView column = unsqueeze(vec1, 1);
  op.work(out.numel() * 2);
  op.launch([=, row = vec2, alpha = number(alpha), beta = number(beta)] {
    const Compute compute = compute_of(out.dtype);
    Params scale;
    if (out.dtype == DType::Bool) {
      // Logical: alpha and vec1 and vec2, or beta and self.
      matmul(column, row.expand(std::initializer_list<int64_t>{1, row.dims[0]}.begin(), 2), out,
             {.alpha = alpha, .beta = beta, .add = &add});
      return;
    }
    scale.set(0, alpha);
    if (beta == 0.0) {
      // addcmul without its first operand, which may hold NaN.
      run_elementwise(elementwise_kernel(ew::mul, compute), compute, {column, row}, {out}, scale);
      if (alpha != 1.0) run_elementwise(elementwise_kernel(ew::affine, compute), compute, {out}, {out}, scale);
      return;
    }
    if (beta == 1.0) {
      run_elementwise(elementwise_kernel(ew::addcmul, compute), compute, {add, column, row}, {out}, scale);
      return;
    }
    matmul(column, row.expand(std::initializer_list<int64_t>{1, row.dims[0]}.begin(), 2), out,
           {.alpha = alpha, .beta = beta, .add = &add});
  });
}
ABOUT(aclnnAddr, Vector, "out = beta * self + alpha * outer product of vec1 and vec2",
      "out = beta * self + alpha * vec1 与 vec2 的外积")
ACLNN(aclnnAddr, (In, self), (In, vec1), (In, vec2), (Scalar, beta), (Scalar, alpha), (Out, out)) {
  plan_addr(op, *self, *vec1, *vec2, *beta, *alpha, *out);
}
ABOUT(aclnnInplaceAddr, Vector, "selfRef = beta * selfRef + alpha * outer product of vec1 and vec2, in place",
      "原地计算 selfRef = beta * selfRef + alpha * vec1 与 vec2 的外积")
ACLNN(aclnnInplaceAddr, (InOut, selfRef), (In, vec1), (In, vec2), (Scalar, beta), (Scalar, alpha)) {
  plan_addr(op, *selfRef, *vec1, *vec2, *beta, *alpha, *selfRef);
}

}  // namespace updraft
