// Layer normalisation, root-mean-square normalisation, and their forms that add a residual first.
#include "kernels/row_norm.h"
#include "ops/norm/vectors.h"
#include "ops/op.h"
#include "tensor/real_types.h"

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

/// Inference: a value for each row, in dimensions of one element where the row was.
void suggest_stats(const Op& op, const TensorView& x, int rank, std::initializer_list<OptOut> outs) {
  if (!op.inferring()) return;
  TensorView rows = x;
  std::fill_n(rows.dims + x.rank - rank, rank, int64_t{1});
  for (const OptOut& out : outs)
    if (out) op.suggest_like(*out, rows, wide_type(x.dtype));
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

// What both passes know: rows of x that gamma, of the normalised shape, scales.
template <class Norm>
Norm norm_of(const Op& op, const TensorView& x, const TensorView& gamma, bool rms) {
  Norm n;
  n.rms = rms;
  n.cols = row_size(op, x, gamma.dims, gamma.rank);
  n.rows = row_count(x, gamma.rank);
  n.x = x;
  n.gamma = gamma;
  return n;
}

RowNorm row_norm_of(const Op& op, const TensorView& x, const TensorView& gamma, double eps, bool rms) {
  RowNorm n = norm_of<RowNorm>(op, x, gamma, rms);
  n.eps = eps;
  return n;
}

RowNormBackward backward_of(const Op& op, const TensorView& dy, const TensorView& x, const TensorView& rstd,
                            const TensorView& gamma, bool rms) {
  RowNormBackward n = norm_of<RowNormBackward>(op, x, gamma, rms);
  n.dy = dy;
  n.rstd = rstd;
  return n;
}

void plan_rms_norm(Op& op, const TensorView& x, const TensorView& gamma, double eps, double offset, const TensorView& y,
                   const OptOut& rstd) {
  RowNorm n = row_norm_of(op, x, gamma, eps, true);
  op.suggest_like(y, x, x.dtype);
  suggest_stats(op, x, gamma.rank, {rstd});
  n.gamma_offset = offset;
  n.y = y;
  n.rstd = view_or_none(rstd);
  plan_forward(op, n);
}

// wide: y once more, rounded to its type, in FLOAT, as a graph has it whose cast became part of this; or nothing.
void plan_add_rms_norm(Op& op, const TensorView& x1, const TensorView& x2, const TensorView& gamma, double eps,
                       const TensorView& y, const TensorView* wide, const OptOut& rstd, const TensorView& sum) {
  RowNorm n = row_norm_of(op, x1, gamma, eps, true);
  op.suggest_like(y, x1, x1.dtype);
  op.suggest_like(sum, x1, x1.dtype);
  if (wide) op.suggest_like(*wide, x1, DType::Float);
  suggest_stats(op, x1, gamma.rank, {rstd});
  n.x2 = x2;
  n.y = y;
  if (wide) n.y_wide = *wide;
  n.rstd = view_or_none(rstd);
  n.sum = sum;
  plan_forward(op, n);
}

void plan_layer_norm(Op& op, const TensorView& x, const std::vector<int64_t>& shape, const TensorView& gamma,
                     const TensorView& beta, double eps, const TensorView& y, const OptOut& mean, const OptOut& rstd) {
  RowNorm n;
  n.eps = eps;
  n.cols = row_size(op, x, shape.data(), static_cast<int>(shape.size()));
  op.suggest_like(y, x, x.dtype);
  suggest_stats(op, x, static_cast<int>(shape.size()), {mean, rstd});
  n.rows = row_count(x, static_cast<int>(shape.size()));
  n.x = x;
  n.gamma = gamma;
  n.beta = beta;
  n.y = y;
  n.mean = view_or_none(mean);
  n.rstd = view_or_none(rstd);
  plan_forward(op, n);
}

}  // namespace

CARD(aclnnLayerNorm, on("input", kFloats))
ABOUT(aclnnLayerNorm, Vector, "Normalises the tail normalizedShape of each row, then weight * x + bias",
      "对尾部 normalizedShape 维归一化，再计算 weight * x + bias")
ACLNN(aclnnLayerNorm, (In, input), (Ints, normalizedShape), (OptIn, weight), (OptIn, bias), (Double, eps), (Out, out),
      (OptOut, meanOut), (OptOut, rstdOut)) {
  plan_layer_norm(op, *input, *normalizedShape, view_or_none(weight), view_or_none(bias), eps, *out, meanOut, rstdOut);
}
CARD(aclnnFastLayerNorm, on("input", kFloats))
ABOUT(aclnnFastLayerNorm, Vector, "Layer normalisation (same results as aclnnLayerNorm)",
      "层归一化（结果与 aclnnLayerNorm 相同）")
ACLNN(aclnnFastLayerNorm, (In, input), (Ints, normalizedShape), (OptIn, weight), (OptIn, bias), (Double, eps),
      (Out, out), (OptOut, meanOut), (OptOut, rstdOut)) {
  plan_layer_norm(op, *input, *normalizedShape, view_or_none(weight), view_or_none(bias), eps, *out, meanOut, rstdOut);
}

ABOUT(aclnnLayerNormBackward, Vector, "Gradients of layer normalisation for input, weight and bias, as outputMask asks",
      "层归一化对输入、权重、偏置的反向梯度，由 outputMask 选择")
ACLNN(aclnnLayerNormBackward, (In, gradOut), (In, input), (Ints, normalizedShape), (In, mean), (In, rstd),
      (OptIn, weight), (OptIn, bias), (Bools, outputMask), (OptOut, gradInput), (OptOut, gradWeight),
      (OptOut, gradBias)) {
  (void)bias;
  op.require(outputMask.size() == 3, "outputMask has {} values, want 3", outputMask.size());
  RowNormBackward n;
  const int rank = static_cast<int>(normalizedShape.size());
  n.cols = row_size(op, *input, normalizedShape->data(), rank);
  if (gradInput) op.suggest_like(*gradInput, *input, input->dtype);
  for (const OptOut* out : {&gradWeight, &gradBias})
    if (*out) op.suggest(**out, normalizedShape->data(), rank, weight ? weight->dtype : input->dtype);
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

ABOUT(aclnnRmsNorm, Vector, "y = x / sqrt(mean(x * x) + epsilon) * gamma over gamma's dimensions",
      "y = x / sqrt(mean(x * x) + epsilon) * gamma，在 gamma 的维度上归一化")
ACLNN(aclnnRmsNorm, (In, x), (In, gamma), (Double, epsilon), (Out, y), (OptOut, rstd)) {
  plan_rms_norm(op, *x, *gamma, epsilon, 0, *y, rstd);
}

ABOUT(aclnnGemmaRmsNorm, Vector, "y = x / sqrt(mean(x * x) + epsilon) * (1 + gamma)",
      "y = x / sqrt(mean(x * x) + epsilon) * (1 + gamma)")
ACLNN(aclnnGemmaRmsNorm, (In, x), (In, gamma), (Double, epsilon), (Out, y), (OptOut, rstd)) {
  plan_rms_norm(op, *x, *gamma, epsilon, 1, *y, rstd);
}

ABOUT(aclnnRmsNormGrad, Vector, "Gradients of RMS normalisation for x and gamma", "RMS 归一化对 x 与 gamma 的反向梯度")
ACLNN(aclnnRmsNormGrad, (In, dy), (In, x), (In, rstd), (In, gamma), (Out, dx), (Out, dgamma)) {
  RowNormBackward n = backward_of(op, *dy, *x, *rstd, *gamma, true);
  op.suggest_like(*dx, *x, x->dtype);
  op.suggest_like(*dgamma, *gamma, DType::Float);
  n.dx = *dx;
  n.dgamma = *dgamma;
  plan_backward(op, n);
}

CARD(aclnnAddRmsNorm, on("rstd", only(DType::Float), kA2 | k310P | k950), on("x1 x2", kFloats, kA2 | k310P | k950))
ABOUT(aclnnAddRmsNorm, Vector, "x = x1 + x2, y = RMS normalisation of x with gamma",
      "x = x1 + x2，y = x 的 RMS 归一化（乘 gamma）")
ACLNN(aclnnAddRmsNorm, (In, x1), (In, x2), (In, gamma), (Double, epsilon), (Out, y), (OptOut, rstd), (Out, x)) {
  plan_add_rms_norm(op, *x1, *x2, *gamma, epsilon, *y, nullptr, rstd, *x);
}

ABOUT(aclnnAddRmsNormCast, Vector, "As aclnnAddRmsNorm, with the result in FLOAT (y1) and in the input's type (y2)",
      "与 aclnnAddRmsNorm 相同，结果同时输出 FLOAT（y1）与输入类型（y2）")
ACLNN(aclnnAddRmsNormCast, (In, x1), (In, x2), (In, gamma), (Double, epsilon), (Out, y1), (Out, y2), (OptOut, rstd),
      (Out, x)) {
  plan_add_rms_norm(op, *x1, *x2, *gamma, epsilon, *y2, &*y1, rstd, *x);
}

// y takes x1's place, the sum takes x2's.
ABOUT(aclnnInplaceAddRmsNorm, Vector, "x2 = x1 + x2 and x1 = RMS normalisation of the sum, in place",
      "原地计算 x2 = x1 + x2，x1 = 其 RMS 归一化")
ACLNN(aclnnInplaceAddRmsNorm, (InOut, x1), (InOut, x2), (In, gamma), (Double, epsilon), (OptOut, rstd)) {
  plan_add_rms_norm(op, *x1, *x2, *gamma, epsilon, *x1, nullptr, rstd, *x2);
}

CARD(aclnnAddLayerNorm, absent(k910), on("x1 x2 gamma beta", kFloats), on("mean rstd", only(DType::Float)))
ABOUT(aclnnAddLayerNorm, Vector, "y = layer normalisation of x1 + x2 + bias; x keeps the sum on request",
      "y = (x1 + x2 + bias) 的层归一化，可选输出该和 x")
ACLNN(aclnnAddLayerNorm, (In, x1), (In, x2), (In, gamma), (In, beta), (OptIn, bias), (Double, epsilon),
      (Bool, additionalOutput), (Out, y), (OptOut, mean), (OptOut, rstd), (OptOut, x)) {
  RowNorm n = row_norm_of(op, *x1, *gamma, epsilon, false);
  op.suggest_like(*y, *x1, x1->dtype);
  if (x) op.suggest_like(*x, *x1, x1->dtype);
  suggest_stats(op, *x1, gamma->rank, {mean, rstd});
  n.x2 = *x2;
  n.beta = *beta;
  n.bias = view_or_none(bias);
  n.y = *y;
  n.mean = view_or_none(mean);
  n.rstd = view_or_none(rstd);
  if (additionalOutput) n.sum = view_or_none(x);
  plan_forward(op, n);
}

ABOUT(aclnnAddLayerNormGrad, Vector, "Gradients of aclnnAddLayerNorm for the sum, gamma and beta; dsum is added to dx",
      "aclnnAddLayerNorm 对和、gamma、beta 的反向梯度，dsum 累加到 dx")
ACLNN(aclnnAddLayerNormGrad, (In, dy), (In, x1), (In, x2), (In, rstd), (In, mean), (In, gamma), (OptIn, dsum),
      (Out, dx), (Out, dgamma), (Out, dbeta)) {
  RowNormBackward n = backward_of(op, *dy, *x1, *rstd, *gamma, false);
  op.suggest_like(*dx, *x1, x1->dtype);
  for (const Out* out : {&dgamma, &dbeta}) op.suggest_like(**out, *gamma, DType::Float);
  n.x2 = *x2;
  n.mean = *mean;
  n.extra = view_or_none(dsum);
  n.dx = *dx;
  n.dgamma = *dgamma;
  n.dbeta = *dbeta;
  plan_backward(op, n);
}

// x * alpha + gx, normalised.
CARD(aclnnDeepNorm, absent(k910), on("x gx gamma beta", kFloats), on("mean rstd", only(DType::Float)))
ABOUT(aclnnDeepNorm, Vector, "y = layer normalisation of alpha * x + gx with gamma and beta",
      "y = (alpha * x + gx) 的层归一化，带 gamma 与 beta")
ACLNN(aclnnDeepNorm, (In, x), (In, gx), (In, beta), (In, gamma), (Double, alpha), (Double, epsilon), (OptOut, mean),
      (OptOut, rstd), (Out, y)) {
  RowNorm n = row_norm_of(op, *x, *gamma, epsilon, false);
  op.suggest_like(*y, *x, x->dtype);
  suggest_stats(op, *x, gamma->rank, {mean, rstd});
  n.alpha = alpha;
  n.x2 = *gx;
  n.beta = *beta;
  n.mean = view_or_none(mean);
  n.rstd = view_or_none(rstd);
  n.y = *y;
  plan_forward(op, n);
}

ABOUT(aclnnDeepNormGrad, Vector, "Gradients of DeepNorm for x, gx, beta and gamma",
      "DeepNorm 对 x、gx、beta、gamma 的反向梯度")
ACLNN(aclnnDeepNormGrad, (In, dy), (In, x), (In, gx), (In, gamma), (In, mean), (In, rstd), (Double, alpha), (Out, dx),
      (Out, dgx), (Out, dbeta), (Out, dgamma)) {
  RowNormBackward n = backward_of(op, *dy, *x, *rstd, *gamma, false);
  for (const Out* out : {&dx, &dgx}) op.suggest_like(**out, *x, x->dtype);
  for (const Out* out : {&dbeta, &dgamma}) op.suggest_like(**out, *gamma, DType::Float);
  n.alpha = alpha;
  n.x2 = *gx;
  n.mean = *mean;
  n.dx = *dgx;
  n.dx_scaled = *dx;
  n.dgamma = *dgamma;
  n.dbeta = *dbeta;
  plan_backward(op, n);
}

}  // namespace updraft
