// Layer normalisation, root-mean-square normalisation, and their forms that add a residual first.
#include "kernels/row_norm.h"
#include "ops/norm/vectors.h"
#include "ops/op.h"

namespace updraft {
namespace {

// Elements of a row: the tail of x's shape that `normalized` spells.
int64_t row_size(const Op& op, const TensorView& x, const int64_t* normalized, int rank) {
  op.require(is_floating(x.dtype), "input is {}, want floating point", describe(x));
  op.require(rank <= x.rank && std::equal(normalized, normalized + rank, x.dims + x.rank - rank),
             "input is {}, its last dimensions must be the normalized shape {}", describe(x),
             describe_shape(normalized, rank));
  int64_t n = 1;
  for (int i = 0; i < rank; ++i) n *= normalized[i];
  return n;
}

int64_t row_count(const TensorView& x, int rank) {
  int64_t n = 1;
  for (int i = 0; i < x.rank - rank; ++i) n *= x.dims[i];
  return n;
}

void require_size(const Op& op, const char* name, const TensorView& v, int64_t n) {
  if (v.rank || v.data) op.require(v.numel() == n, "{} is {}, want {} elements", name, describe(v), n);
}

void plan_forward(Op& op, const RowNorm& n) {
  op.require(n.y.numel() == n.x.numel(), "output is {}, want the shape of the input {}", describe(n.y), describe(n.x));
  require_size(op, "weight", n.gamma, n.cols);
  require_size(op, "bias", n.beta, n.cols);
  require_size(op, "mean", n.mean, n.rows);
  require_size(op, "rstd", n.rstd, n.rows);
  require_size(op, "the second output", n.y_wide, n.x.numel());
  require_size(op, "the sum", n.sum, n.x.numel());
  if (n.x2.data) op.require_same_shape("x1", n.x, "x2", n.x2);
  op.work(n.x.numel() * 6);
  op.launch([n] { row_norm(n); });
}

void plan_backward(Op& op, const RowNormBackward& n) {
  op.require_same_shape("gradOut", n.dy, "input", n.x);
  require_size(op, "weight", n.gamma, n.cols);
  require_size(op, "mean", n.mean, n.rows);
  require_size(op, "rstd", n.rstd, n.rows);
  for (const TensorView* v : {&n.dx, &n.dx_scaled, &n.x2, &n.extra})
    require_size(op, "a gradient or summand of the input", *v, n.x.numel());
  require_size(op, "gradWeight", n.dgamma, n.cols);
  require_size(op, "gradBias", n.dbeta, n.cols);
  op.work(n.x.numel() * 10);
  op.launch([n] { row_norm_backward(n); });
}

RowNorm row_norm_of(const Op& op, const TensorView& x, const TensorView& gamma, double eps, bool rms) {
  RowNorm n;
  n.rms = rms;
  n.eps = eps;
  n.cols = row_size(op, x, gamma.dims, gamma.rank);
  n.rows = row_count(x, gamma.rank);
  n.x = x;
  n.gamma = gamma;
  return n;
}

void plan_layer_norm(Op& op, const TensorView& x, const std::vector<int64_t>& shape, const TensorView& gamma,
                     const TensorView& beta, double eps, const TensorView& y, const TensorView& mean,
                     const TensorView& rstd) {
  RowNorm n;
  n.eps = eps;
  n.cols = row_size(op, x, shape.data(), static_cast<int>(shape.size()));
  n.rows = row_count(x, static_cast<int>(shape.size()));
  n.x = x;
  n.gamma = gamma;
  n.beta = beta;
  n.y = y;
  n.mean = mean;
  n.rstd = rstd;
  plan_forward(op, n);
}

}  // namespace

ACLNN(aclnnLayerNorm, (In, input), (Ints, normalizedShape), (OptIn, weight), (OptIn, bias), (Double, eps), (Out, out),
      (OptOut, meanOut), (OptOut, rstdOut)) {
  plan_layer_norm(op, *input, *normalizedShape, view_or_none(weight), view_or_none(bias), eps, *out,
                  view_or_none(meanOut), view_or_none(rstdOut));
}
ACLNN(aclnnFastLayerNorm, (In, input), (Ints, normalizedShape), (OptIn, weight), (OptIn, bias), (Double, eps),
      (Out, out), (OptOut, meanOut), (OptOut, rstdOut)) {
  plan_layer_norm(op, *input, *normalizedShape, view_or_none(weight), view_or_none(bias), eps, *out,
                  view_or_none(meanOut), view_or_none(rstdOut));
}

ACLNN(aclnnLayerNormBackward, (In, gradOut), (In, input), (Ints, normalizedShape), (In, mean), (In, rstd),
      (OptIn, weight), (OptIn, bias), (Bools, outputMask), (OptOut, gradInput), (OptOut, gradWeight),
      (OptOut, gradBias)) {
  (void)bias;
  op.require(outputMask.size() == 3, "outputMask has {} values, want 3", outputMask.size());
  RowNormBackward n;
  const int rank = static_cast<int>(normalizedShape.size());
  n.cols = row_size(op, *input, normalizedShape->data(), rank);
  n.rows = row_count(*input, rank);
  n.dy = *gradOut;
  n.x = *input;
  n.mean = *mean;
  n.rstd = *rstd;
  n.gamma = view_or_none(weight);
  if (outputMask[0]) n.dx = view_or_none(gradInput);
  if (outputMask[1]) n.dgamma = view_or_none(gradWeight);
  if (outputMask[2]) n.dbeta = view_or_none(gradBias);
  plan_backward(op, n);
}

ACLNN(aclnnRmsNorm, (In, x), (In, gamma), (Double, epsilon), (Out, y), (OptOut, rstd)) {
  RowNorm n = row_norm_of(op, *x, *gamma, epsilon, true);
  n.y = *y;
  n.rstd = view_or_none(rstd);
  plan_forward(op, n);
}

ACLNN(aclnnGemmaRmsNorm, (In, x), (In, gamma), (Double, epsilon), (Out, y), (OptOut, rstd)) {
  RowNorm n = row_norm_of(op, *x, *gamma, epsilon, true);
  n.gamma_offset = 1;
  n.y = *y;
  n.rstd = view_or_none(rstd);
  plan_forward(op, n);
}

ACLNN(aclnnRmsNormGrad, (In, dy), (In, x), (In, rstd), (In, gamma), (Out, dx), (Out, dgamma)) {
  RowNormBackward n;
  n.rms = true;
  n.cols = row_size(op, *x, gamma->dims, gamma->rank);
  n.rows = row_count(*x, gamma->rank);
  n.dy = *dy;
  n.x = *x;
  n.rstd = *rstd;
  n.gamma = *gamma;
  n.dx = *dx;
  n.dgamma = *dgamma;
  plan_backward(op, n);
}

ACLNN(aclnnAddRmsNorm, (In, x1), (In, x2), (In, gamma), (Double, epsilon), (Out, y), (OptOut, rstd), (Out, x)) {
  RowNorm n = row_norm_of(op, *x1, *gamma, epsilon, true);
  n.x2 = *x2;
  n.y = *y;
  n.rstd = view_or_none(rstd);
  n.sum = *x;
  plan_forward(op, n);
}

ACLNN(aclnnAddRmsNormCast, (In, x1), (In, x2), (In, gamma), (Double, epsilon), (Out, y1), (Out, y2), (OptOut, rstd),
      (Out, x)) {
  RowNorm n = row_norm_of(op, *x1, *gamma, epsilon, true);
  n.x2 = *x2;
  n.y = *y2;
  n.y_wide = *y1;
  n.rstd = view_or_none(rstd);
  n.sum = *x;
  plan_forward(op, n);
}

// y takes x1's place, the sum takes x2's.
ACLNN(aclnnInplaceAddRmsNorm, (Out, x1), (Out, x2), (In, gamma), (Double, epsilon), (OptOut, rstd)) {
  RowNorm n = row_norm_of(op, *x1, *gamma, epsilon, true);
  n.x2 = *x2;
  n.y = *x1;
  n.rstd = view_or_none(rstd);
  n.sum = *x2;
  plan_forward(op, n);
}

ACLNN(aclnnAddLayerNorm, (In, x1), (In, x2), (In, gamma), (In, beta), (OptIn, bias), (Double, epsilon),
      (Bool, additionalOutput), (Out, y), (OptOut, mean), (OptOut, rstd), (OptOut, x)) {
  RowNorm n = row_norm_of(op, *x1, *gamma, epsilon, false);
  n.x2 = *x2;
  n.beta = *beta;
  n.bias = view_or_none(bias);
  n.y = *y;
  n.mean = view_or_none(mean);
  n.rstd = view_or_none(rstd);
  if (additionalOutput) n.sum = view_or_none(x);
  plan_forward(op, n);
}

ACLNN(aclnnAddLayerNormGrad, (In, dy), (In, x1), (In, x2), (In, rstd), (In, mean), (In, gamma), (OptIn, dsum),
      (Out, dx), (Out, dgamma), (Out, dbeta)) {
  RowNormBackward n;
  n.cols = row_size(op, *x1, gamma->dims, gamma->rank);
  n.rows = row_count(*x1, gamma->rank);
  n.dy = *dy;
  n.x = *x1;
  n.x2 = *x2;
  n.mean = *mean;
  n.rstd = *rstd;
  n.gamma = *gamma;
  n.extra = view_or_none(dsum);
  n.dx = *dx;
  n.dgamma = *dgamma;
  n.dbeta = *dbeta;
  plan_backward(op, n);
}

// x * alpha + gx, normalised.
ACLNN(aclnnDeepNorm, (In, x), (In, gx), (In, beta), (In, gamma), (Double, alpha), (Double, epsilon), (OptOut, mean),
      (OptOut, rstd), (Out, y)) {
  RowNorm n = row_norm_of(op, *x, *gamma, epsilon, false);
  n.alpha = alpha;
  n.x2 = *gx;
  n.beta = *beta;
  n.mean = view_or_none(mean);
  n.rstd = view_or_none(rstd);
  n.y = *y;
  plan_forward(op, n);
}

ACLNN(aclnnDeepNormGrad, (In, dy), (In, x), (In, gx), (In, gamma), (In, mean), (In, rstd), (Double, alpha), (Out, dx),
      (Out, dgx), (Out, dbeta), (Out, dgamma)) {
  RowNormBackward n;
  n.cols = row_size(op, *x, gamma->dims, gamma->rank);
  n.rows = row_count(*x, gamma->rank);
  n.alpha = alpha;
  n.dy = *dy;
  n.x = *x;
  n.x2 = *gx;
  n.mean = *mean;
  n.rstd = *rstd;
  n.gamma = *gamma;
  n.dx = *dgx;
  n.dx_scaled = *dx;
  n.dgamma = *dgamma;
  n.dbeta = *dbeta;
  plan_backward(op, n);
}

}  // namespace updraft
