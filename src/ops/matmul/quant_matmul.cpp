// Products of quantised matrices, brought back to real numbers by scales for columns, rows and groups.
#include <algorithm>
#include <cmath>

#include "base/parallel.h"
#include "ops/gathered.h"
#include "ops/matmul/quantised.h"
#include "ops/op.h"
#include "tensor/view_algebra.h"

namespace updraft {
namespace {

using namespace quantised;

void run_matrix(const QuantProduct& p, const TensorView& x1, const TensorView& x2, const TensorView& out) {
  Matrix a = matrix_of(x1);
  const Matrix b = matrix_of(x2);
  // INT8 times INT4 is done by halves of the INT8, and the lower one is less by 8 than its bits say: yOffset holds what
  // that takes from each column.
  if (given(p.y_offset) && x1.dtype == DType::Int8 && x2.dtype == DType::Int32)
    for (float& v : a.numbers) v -= 8;
  const int64_t m = a.rows, n = b.columns;
  const std::vector<float> scale = scales_of(p.scale),
                           by_row = given(p.x1_scale) ? floats_of(p.x1_scale) : std::vector<float>();
  const std::vector<float> bias = given(p.bias) ? floats_of(p.bias) : std::vector<float>();
  const bool whole_bias = given(p.bias) && p.bias.dtype == DType::Int32;
  // INT8 results have an offset: of its own, or in the words of the scales.
  std::vector<float> offset;
  if (out.dtype == DType::Int8) offset = given(p.x2_offset) ? floats_of(p.x2_offset) : offsets_of(p.scale);
  // Scales of groups of k belong to the sums, others to what is made of them.
  const bool grouped = p.scale.rank == 2 && p.scale.dims[0] > 1;
  const std::vector<double> sum = grouped ? scaled_product(a, b, scale, p.scale.dims[0]) : product(a, b);
  const std::vector<float> last = given(p.y_offset) ? floats_of(p.y_offset) : std::vector<float>();
  std::vector<float> result(sum.size());
  parallel_for(m, std::max<int64_t>(1, 8192 / n), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r)
      for (int64_t c = 0; c < n; ++c) {
        const auto i = static_cast<size_t>(r * n + c), column = static_cast<size_t>(c);
        double v = sum[i];
        if (whole_bias) v += static_cast<double>(bias[bias.size() == 1 ? 0 : column]);
        if (!grouped && out.dtype != DType::Int32) v *= static_cast<double>(scale[scale.size() == 1 ? 0 : column]);
        if (!last.empty()) v += static_cast<double>(last[last.size() == 1 ? 0 : column]);
        if (!by_row.empty()) v *= static_cast<double>(by_row[by_row.size() == 1 ? 0 : static_cast<size_t>(r)]);
        if (!bias.empty() && !whole_bias) v += static_cast<double>(bias[bias.size() == 1 ? 0 : column]);
        if (!offset.empty()) v += static_cast<double>(offset[offset.size() == 1 ? 0 : column]);
        if (out.dtype == DType::Int8) v = std::clamp(std::nearbyint(v), -128.0, 127.0);
        result[i] = static_cast<float>(v);
      }
  });
  write_all(out, result);
}

}  // namespace

QuantProduct quantised::checked(const Op& op, QuantProduct q, const TensorView& out) {
  op.require(q.x1.rank >= 2 && q.x2.rank >= 2, "x1 is {} and x2 {}, want matrices", describe(q.x1), describe(q.x2));
  for (const TensorView* v : {&q.x1, &q.x2})
    op.require(v->dtype == DType::Int8 || v->dtype == DType::Int32, "{} is not INT8 or INT32 (INT4, eight each)",
               describe(*v));
  int64_t m = 0, k = 0, k2 = 0, n = 0;
  matrix_dims(q.x1, &m, &k);
  matrix_dims(q.x2, &k2, &n);
  op.require(k == k2, "x1 is {} and x2 {}: {} columns and {} rows", describe(q.x1), describe(q.x2), k, k2);
  int64_t dims[kMaxDims];
  const int rank = broadcast_shape(q.x1.dims, q.x1.rank - 2, q.x2.dims, q.x2.rank - 2, dims);
  dims[rank] = m;
  dims[rank + 1] = n;
  op.result("out", out, dims, rank + 2, DType::Float16);
  q.out = out;
  op.require(is_scale(q.scale.dtype), "x2Scale is {}, want FLOAT, BFLOAT16, UINT64 or INT64", describe(q.scale));
  const bool grouped = q.scale.rank == 2 && q.scale.dims[0] > 1;
  op.require(grouped ? k % q.scale.dims[0] == 0 && q.scale.dims[1] == n : q.scale.numel() == 1 || q.scale.numel() == n,
             "x2Scale is {}, want 1 or {} values, or [groups,{}]", describe(q.scale), n, n);
  if (given(q.x1_scale))
    op.require(q.x1_scale.numel() == 1 || q.x1_scale.numel() == m, "x1Scale is {}, want 1 or {} values",
               describe(q.x1_scale), m);
  for (const TensorView* v : {&q.bias, &q.x2_offset, &q.y_offset})
    if (given(*v))
      op.require(v->numel() == 1 || v->numel() == n, "bias or offset is {}, want 1 or {} values", describe(*v), n);
  return q;
}

void QuantProduct::run() const {
  each_matrix(x1, x2, out,
              [&](const TensorView& a, const TensorView& b, const TensorView& to) { run_matrix(*this, a, b, to); });
}

namespace {

void plan_v5(Op& op, const In& x1, const In& x2, const OptIn& x1_scale, const OptIn& x2_scale, const OptIn& y_scale,
             const OptIn& x1_offset, const OptIn& x2_offset, const OptIn& y_offset, const OptIn& bias, bool transpose1,
             bool transpose2, const Out& out) {
  op.require(given(optional_view(x2_scale)), "x2Scale is null");
  op.require(!given(optional_view(y_scale)) && !given(optional_view(x1_offset)),
             "yScale or x1Offset is given, which is not supported");
  QuantProduct p{.x1 = *x1, .x2 = *x2, .scale = *x2_scale};
  p.x1_scale = optional_view(x1_scale);
  p.x2_offset = optional_view(x2_offset);
  p.y_offset = optional_view(y_offset);
  p.bias = optional_view(bias);
  op.require(p.x1.rank >= 2 && p.x2.rank >= 2, "x1 is {} and x2 {}, want matrices", describe(p.x1), describe(p.x2));
  if (transpose1) p.x1 = turned(p.x1);
  if (transpose2) p.x2 = turned(p.x2);
  p = checked(op, p, *out);
  if (p.out.empty()) return;
  int64_t k = 0, n = 0;
  matrix_dims(p.x2, &k, &n);
  op.flops(2 * p.out.numel() * k);
  op.work(p.out.numel() * std::max<int64_t>(1, k));
  op.launch([p] { p.run(); });
}

}  // namespace

SAMPLE(aclnnQuantMatmulV5,
       "x1=i8[N,16] x2=i8[16,M] x1ScaleOptional=f32[N] x2ScaleOptional=f32[M] yScaleOptional=null "
       "x1OffsetOptional=null x2OffsetOptional=null yOffsetOptional=null biasOptional=i32[M] transposeX1=false "
       "transposeX2=false groupSize=0 out=f16[N,M]")
ABOUT(aclnnQuantMatmulV5, MixCube, "out = (x1 @ x2 + bias) * x2Scale * x1Scale of INT8 or INT4 matrices",
      "INT8、INT4 矩阵乘 out = (x1 @ x2 + bias) * x2Scale * x1Scale")
ACLNN(aclnnQuantMatmulV5, (In, x1), (In, x2), (OptIn, x1ScaleOptional), (OptIn, x2ScaleOptional),
      (OptIn, yScaleOptional), (OptIn, x1OffsetOptional), (OptIn, x2OffsetOptional), (OptIn, yOffsetOptional),
      (OptIn, biasOptional), (Bool, transposeX1), (Bool, transposeX2), (Int, groupSize), (Out, out)) {
  (void)groupSize;  // the shape of x2Scale says it
  plan_v5(op, x1, x2, x1ScaleOptional, x2ScaleOptional, yScaleOptional, x1OffsetOptional, x2OffsetOptional,
          yOffsetOptional, biasOptional, transposeX1, transposeX2, out);
}

SAMPLE(aclnnQuantMatmulV4,
       "x1=i8[N,16] x2=i8[16,M] scale=f32[M] offset=null pertokenScaleOptional=f32[N] bias=i32[M] transposeX1=false "
       "transposeX2=false out=f16[N,M]")
ABOUT(aclnnQuantMatmulV4, MixCube, "out = (x1 @ x2 + bias) * scale * pertokenScale of INT8 or INT4 matrices, + offset",
      "INT8、INT4 矩阵乘 out = (x1 @ x2 + bias) * scale * pertokenScale + offset")
ACLNN(aclnnQuantMatmulV4, (In, x1), (In, x2), (In, scale), (OptIn, offset), (OptIn, pertokenScaleOptional),
      (OptIn, bias), (Bool, transposeX1), (Bool, transposeX2), (Out, out)) {
  const OptIn none{};
  plan_v5(op, x1, x2, pertokenScaleOptional, OptIn{scale.handle}, none, none, offset, none, bias, transposeX1,
          transposeX2, out);
}

SAMPLE(aclnnQuantMatmulWeightNz,
       "x1=i8[N,16] x2=i8[16,M] x1Scale=f32[N] x2Scale=f32[M] yScale=null x1Offset=null x2Offset=null yOffset=null "
       "bias=i32[M] transposeX1=false transposeX2=false groupSize=0 out=f16[N,M]")
ABOUT(aclnnQuantMatmulWeightNz, MixCube, "As aclnnQuantMatmulV5, with x2 in the product's own format",
      "同 aclnnQuantMatmulV5，x2 为 NZ 格式")
ACLNN(aclnnQuantMatmulWeightNz, (In, x1), (In, x2), (OptIn, x1Scale), (OptIn, x2Scale), (OptIn, yScale),
      (OptIn, x1Offset), (OptIn, x2Offset), (OptIn, yOffset), (OptIn, bias), (Bool, transposeX1), (Bool, transposeX2),
      (Int, groupSize), (Out, out)) {
  (void)groupSize;  // the shape of x2Scale says it
  plan_v5(op, x1, x2, x1Scale, x2Scale, yScale, x1Offset, x2Offset, yOffset, bias, transposeX1, transposeX2, out);
}

}  // namespace updraft
