// Products of real numbers with weights of whole numbers, which scales bring back to real ones: one for all, one for
// each column, or one for each column of a group of rows.
#include <algorithm>
#include <cmath>

#include "base/parallel.h"
#include "kernels/matmul/matmul.h"
#include "ops/gathered.h"
#include "ops/matmul/quantised.h"
#include "ops/op.h"

namespace updraft {
namespace {

using namespace quantised;

void run_matrix(const WeightProduct& p, const TensorView& x, const TensorView& weight, const TensorView& out) {
  Matrix real = real_weights(weight, p.scale, p.offset, p.group);
  const int64_t dims[] = {real.rows, real.columns};
  const TensorView w = TensorView::contiguous(real.numbers.data(), DType::Float, dims, 2);
  MatmulOptions options;
  if (given(p.bias)) {
    options.beta = 1;
    options.add = &p.bias;
  }
  if (!given(p.quant_scale)) return matmul(x, w, out, options);
  std::vector<float> wide(static_cast<size_t>(out.numel()));
  matmul(x, w, TensorView::contiguous(wide.data(), DType::Float, out.dims, out.rank), options);
  const std::vector<float> scale = scales_of(p.quant_scale);
  std::vector<float> offset = given(p.quant_offset) ? floats_of(p.quant_offset) : offsets_of(p.quant_scale);
  if (offset.empty()) offset.push_back(0);
  for (size_t i = 0; i < wide.size(); ++i) {
    const size_t c = i % static_cast<size_t>(real.columns);
    const float v = wide[i] * scale[scale.size() == 1 ? 0 : c] + offset[offset.size() == 1 ? 0 : c];
    wide[i] = std::isnan(v) ? 0.0f : std::clamp(std::nearbyint(v), -128.0f, 127.0f);
  }
  write_all(out, wide);
}

/// The rows that share a scale, checked against the shape of the scales.
int64_t rows_of_group(const Op& op, const TensorView& scale, int64_t group, int64_t k, int64_t n) {
  op.require(group >= 0, "antiquantGroupSize is {}, want 0 (none) or more", group);
  if (group == 0 || scale.numel() == 1) {
    op.require(scale.numel() == 1 || scale.numel() == n, "antiquantScale is {}, want 1 or {} values", describe(scale),
               n);
    return 0;
  }
  const int64_t want[] = {(k + group - 1) / group, n};
  op.require_shape("antiquantScale", scale, want, 2);
  return group;
}

}  // namespace

WeightProduct quantised::checked(const Op& op, WeightProduct p, const TensorView& y) {
  op.require(p.x.rank >= 2 && compute_of(p.x.dtype) == Compute::F32,
             "x is {}, want matrices of FLOAT16, BFLOAT16 or FLOAT", describe(p.x));
  op.require(p.weight.rank >= 2 && (p.weight.dtype == DType::Int8 || p.weight.dtype == DType::Int32),
             "weight is {}, want matrices of INT8 or INT32 (INT4, eight each)", describe(p.weight));
  int64_t k = 0, n = 0;
  matrix_dims(p.weight, &k, &n);
  op.require(p.x.dims[p.x.rank - 1] == k, "x is {} and weight {}: {} columns and {} rows", describe(p.x),
             describe(p.weight), p.x.dims[p.x.rank - 1], k);
  const bool quantises = given(p.quant_scale);
  int64_t dims[kMaxDims];
  const int rank = broadcast_shape(p.x.dims, p.x.rank - 2, p.weight.dims, p.weight.rank - 2, dims);
  dims[rank] = p.x.dims[p.x.rank - 2];
  dims[rank + 1] = n;
  op.result("y", y, dims, rank + 2, quantises ? DType::Int8 : p.x.dtype);
  p.out = y;
  op.require(compute_of(p.scale.dtype) == Compute::F32, "antiquantScale is {}, want FLOAT or halves",
             describe(p.scale));
  p.group = rows_of_group(op, p.scale, p.group, k, n);
  if (given(p.offset)) {
    op.require_same_shape("antiquantOffset", p.offset, "antiquantScale", p.scale);
    op.require(compute_of(p.offset.dtype) == Compute::F32, "antiquantOffset is {}, want the type of antiquantScale",
               describe(p.offset));
  }
  op.require((p.out.dtype == DType::Int8) == quantises, "y is {} {} quantScale, want INT8 with one", describe(p.out),
             quantises ? "with a" : "without a");
  op.require(!given(p.quant_offset) || quantises, "quantOffset is given without quantScale");
  op.require(!quantises || is_scale(p.quant_scale.dtype), "quantScale is {}, want FLOAT, UINT64 or INT64",
             describe(p.quant_scale));
  for (const TensorView* v : {&p.quant_scale, &p.quant_offset, &p.bias})
    if (given(*v))
      op.require(v->numel() == n || (v != &p.bias && v->numel() == 1),
                 "bias, quantScale or quantOffset is {}, want {} values", describe(*v), n);
  return p;
}

void WeightProduct::run() const {
  each_matrix(x, weight, out,
              [&](const TensorView& a, const TensorView& b, const TensorView& to) { run_matrix(*this, a, b, to); });
}

namespace {

void plan(Op& op, const In& x, const In& weight, const In& scale, const OptIn& offset, const OptIn& quant_scale,
          const OptIn& quant_offset, const OptIn& bias, int64_t group, const Out& y) {
  WeightProduct p{.x = *x, .weight = *weight, .scale = *scale};
  p.offset = optional_view(offset);
  p.quant_scale = optional_view(quant_scale);
  p.quant_offset = optional_view(quant_offset);
  p.bias = optional_view(bias);
  p.group = group;
  p = checked(op, p, *y);
  if (p.out.empty()) return;
  const int64_t k = std::max<int64_t>(1, p.x.dims[p.x.rank - 1]);
  op.flops(2 * p.out.numel() * k);
  op.work(p.out.numel() * k);
  op.launch([p] { p.run(); });
}

}  // namespace

SAMPLE(aclnnWeightQuantBatchMatmulV2,
       "x=f16[N,16] weight=i8[16,M] antiquantScale=f16[M] antiquantOffsetOptional=f16[M] quantScaleOptional=null "
       "quantOffsetOptional=null biasOptional=f32[M] antiquantGroupSize=0 y=f16[N,M]")
ABOUT(aclnnWeightQuantBatchMatmulV2, MixCube,
      "y = x @ ((weight + antiquantOffset) * antiquantScale) + bias, for weights of INT8 or INT4",
      "y = x @ ((weight + antiquantOffset) * antiquantScale) + bias，weight 为 INT8 或 INT4")
ACLNN(aclnnWeightQuantBatchMatmulV2, (In, x), (In, weight), (In, antiquantScale), (OptIn, antiquantOffsetOptional),
      (OptIn, quantScaleOptional), (OptIn, quantOffsetOptional), (OptIn, biasOptional), (Int32, antiquantGroupSize),
      (Out, y)) {
  plan(op, x, weight, antiquantScale, antiquantOffsetOptional, quantScaleOptional, quantOffsetOptional, biasOptional,
       antiquantGroupSize, y);
}

SAMPLE(aclnnWeightQuantBatchMatmulV3,
       "x=f16[N,16] weight=i8[16,M] antiquantScale=f16[M] antiquantOffsetOptional=f16[M] quantScaleOptional=null "
       "quantOffsetOptional=null biasOptional=f32[M] antiquantGroupSize=0 innerPrecise=0 y=f16[N,M]")
ABOUT(aclnnWeightQuantBatchMatmulV3, MixCube,
      "As aclnnWeightQuantBatchMatmulV2; innerPrecise says how a card rounds inside",
      "同 aclnnWeightQuantBatchMatmulV2，innerPrecise 为硬件内部精度模式")
ACLNN(aclnnWeightQuantBatchMatmulV3, (In, x), (In, weight), (In, antiquantScale), (OptIn, antiquantOffsetOptional),
      (OptIn, quantScaleOptional), (OptIn, quantOffsetOptional), (OptIn, biasOptional), (Int32, antiquantGroupSize),
      (Int, innerPrecise), (Out, y)) {
  op.require(innerPrecise == 0 || innerPrecise == 1, "innerPrecise is {}, want 0 or 1", innerPrecise);
  plan(op, x, weight, antiquantScale, antiquantOffsetOptional, quantScaleOptional, quantOffsetOptional, biasOptional,
       antiquantGroupSize, y);
}

}  // namespace updraft
