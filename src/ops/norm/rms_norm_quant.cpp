// RMS normalisation in FLOAT, then whole numbers by a scale that is given. Facts: op-plugin's pages of
// npu_rms_norm_quant and npu_rms_norm_quant_v2.
#include "kernels/row_norm.h"

#include "ops/op.h"
#include "ops/quantize/numbers.h"

namespace updraft {
namespace {

struct Quantised {
  TensorView x, gamma, scale;
  TensorView beta, offset;  ///< may be absent
  double epsilon;
  bool divide;  ///< by the scale
};

/// gamma and beta are [n] or [1, n]; scale and offset have one value, or n.
void plan(Op& op, const Quantised& q, const Out& y, const OptOut& rstd) {
  op.require(q.x.rank >= 1 && compute_of(q.x.dtype) == Compute::F32 && row_length(q.x) > 0,
             "x is {}, want rows of FLOAT, FLOAT16 or BFLOAT16", describe(q.x));
  const int64_t n = row_length(q.x), rows = rows_of(q.x);
  for (const auto& [name, v] : {std::pair("gamma", q.gamma), {"beta", q.beta}})
    op.require(!given(v) || (v.numel() == n && row_length(v) == n && compute_of(v.dtype) == Compute::F32),
               "{} is {}, want [{}] or [1, {}] of real numbers", name, describe(v), n, n);
  for (const auto& [name, v] : {std::pair("scale", q.scale), {"offset", q.offset}})
    op.require(!given(v) || v.numel() == 1 || v.numel() == n, "{} is {}, want 1 value or {}", name, describe(v), n);
  op.suggest_like(*y, q.x, DType::Int8);
  const Range range = range_of(op, *y);
  TensorView shape = q.x;
  if (range.packed) {
    op.require(n % 8 == 0, "x is {}: eight numbers of four bits fill an INT32", describe(q.x));
    shape.dims[shape.rank - 1] = n / 8;
  }
  op.result_like("y", *y, shape, y->dtype);
  TensorView to_rstd{};
  if (rstd) {
    TensorView one = q.x;
    one.dims[one.rank - 1] = 1;
    op.result_like("rstd", *rstd, one, DType::Float);
    to_rstd = *rstd;
  }
  if (q.x.empty()) return;
  op.work(q.x.numel() * 8);
  op.launch([=, to = *y] {
    std::vector<float> numbers(static_cast<size_t>(rows * n));
    const int64_t dims[] = {n};
    RowNorm norm;
    norm.rms = true, norm.eps = q.epsilon, norm.rows = rows, norm.cols = n;
    norm.x = q.x;
    const std::vector<float> gamma = floats_of(q.gamma),
                             beta = given(q.beta) ? floats_of(q.beta) : std::vector<float>();
    norm.gamma = TensorView::contiguous(const_cast<float*>(gamma.data()), DType::Float, dims, 1);
    if (!beta.empty()) norm.beta = TensorView::contiguous(const_cast<float*>(beta.data()), DType::Float, dims, 1);
    norm.y = TensorView::contiguous(numbers.data(), DType::Float, q.x.dims, q.x.rank);
    norm.rstd = to_rstd;
    row_norm(norm);
    const std::vector<float> scale = floats_of(q.scale),
                             offset = given(q.offset) ? floats_of(q.offset) : std::vector<float>();
    const auto at = [&](const std::vector<float>& of, size_t i) {
      return of[of.size() == 1 ? 0 : i % static_cast<size_t>(n)];
    };
    for (size_t i = 0; i < numbers.size(); ++i) {
      const float by = at(scale, i), v = q.divide ? numbers[i] / by : numbers[i] * by;
      numbers[i] = kept(v + (offset.empty() ? 0.0f : at(offset, i)), range);
    }
    write_numbers(to, numbers, range.packed);
  });
}

}  // namespace

SAMPLE(aclnnRmsNormQuant, "x=f32[N,M] gamma=f32[M] beta=f32[M] scale=f32[1]:20..30 offset=i8[1] epsilon=1e-6 y=i8[N,M]")
ABOUT(aclnnRmsNormQuant, Vector, "y = the RMS normalisation of x, plus beta, times scale, plus offset, as INT8",
      "y = (x 的 RMS 归一化 + beta) * scale + offset，取整为 INT8")
ACLNN(aclnnRmsNormQuant, (In, x), (In, gamma), (In, beta), (In, scale), (In, offset), (Double, epsilon), (Out, y)) {
  plan(op, {*x, *gamma, *scale, *beta, *offset, epsilon, false}, y, {});
}
SAMPLE(aclnnRmsNormQuantV3,
       "x=f32[N,M] gamma=f32[M] scale=f32[M]:0.02..0.05 offset=i8[M] beta=f32[M] epsilon=1e-6 divMode=true "
       "outputRstd=true y=i8[N,M] rstd=f32[N,1]")
ABOUT(aclnnRmsNormQuantV3, Vector, "As aclnnRmsNormQuant, times or (divMode) by scale, with the factors of the rows",
      "同 aclnnRmsNormQuant，divMode 时除以 scale，可输出各行 rstd")
ACLNN(aclnnRmsNormQuantV3, (In, x), (In, gamma), (In, scale), (OptIn, offset), (OptIn, beta), (Double, epsilon),
      (Bool, divMode), (Bool, outputRstd), (Out, y), (OptOut, rstd)) {
  op.require(!outputRstd || rstd, "rstd is null, want a tensor where outputRstd is true");
  plan(op, {*x, *gamma, *scale, optional_view(beta), optional_view(offset), epsilon, divMode}, y,
       outputRstd ? rstd : OptOut{});
}

}  // namespace updraft
