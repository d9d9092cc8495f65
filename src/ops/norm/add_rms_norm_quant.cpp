// RMS normalisation of a sum, quantised by one or two scales that each row finds for itself.
#include "base/parallel.h"
#include "ops/ir_op.h"
#include "ops/quantize/numbers.h"
#include "tensor/view_algebra.h"

namespace updraft {
namespace {

struct Branch {
  TensorView smooth{}, y{}, scale{};
  bool wanted = false;
};

void run(const TensorView& x1, const TensorView& x2, const TensorView& gamma, const TensorView& beta, double epsilon,
         const TensorView& sum, const Branch (&branches)[2], Range range) {
  const int64_t n = row_length(x1), rows = x1.numel() / n;
  std::vector<float> x = floats_of(x1), moved(static_cast<size_t>(x1.numel()));
  const std::vector<float> other = floats_of(x2), by = floats_of(gamma),
                           add = given(beta) ? floats_of(beta) : std::vector<float>();
  for (size_t i = 0; i < x.size(); ++i) x[i] += other[i];
  write_all(sum, x);
  parallel_for(rows, std::max<int64_t>(1, 4096 / n), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      float* v = x.data() + i * n;
      double square = 0;
      for (int64_t c = 0; c < n; ++c) square += static_cast<double>(v[c]) * static_cast<double>(v[c]);
      const auto rstd = static_cast<float>(1 / std::sqrt(square / static_cast<double>(n) + epsilon));
      for (int64_t c = 0; c < n; ++c) {
        const auto at = static_cast<size_t>(c);
        v[c] = v[c] * rstd * by[at] + (add.empty() ? 0.0f : add[at]);
      }
    }
  });
  std::vector<float> scales(static_cast<size_t>(rows));
  for (const Branch& branch : branches) {
    if (!branch.wanted) continue;
    const std::vector<float> factor = given(branch.smooth) ? floats_of(branch.smooth) : std::vector<float>();
    moved = x;
    parallel_for(rows, std::max<int64_t>(1, 4096 / n), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        quantise_by_largest(moved.data() + i * n, n, factor.empty() ? nullptr : factor.data(), range,
                            &scales[static_cast<size_t>(i)]);
    });
    write_numbers(branch.y, moved, range.packed);
    write_all(branch.scale, scales);
  }
}

}  // namespace

SAMPLE(aclnnAddRmsNormDynamicQuantV2,
       "x1=f32[N,M] x2=f32[N,M] gamma=f32[M] smoothScale1=f32[M] smoothScale2=f32[M] beta=f32[M] epsilon=0.1 "
       "outputMask=null y1=i8[N,M] y2=i8[N,M] xOut=f32[N,M] scale1=f32[N] scale2=f32[N]")
ABOUT(aclnnAddRmsNormDynamicQuantV2, Vector,
      "x = x1 + x2; its RMS normalisation times smoothScale1 and times smoothScale2, each quantised by rows",
      "x = x1 + x2，其 RMS 归一化分别乘 smoothScale1、smoothScale2 后逐行动态量化")
ACLNN(aclnnAddRmsNormDynamicQuantV2, (In, x1), (In, x2), (In, gamma), (OptIn, smoothScale1), (OptIn, smoothScale2),
      (OptIn, beta), (Double, epsilon), (OptBools, outputMask), (Out, y1), (Out, y2), (Out, xOut), (Out, scale1),
      (Out, scale2)) {
  op.require(x1->rank >= 2 && compute_of(x1->dtype) == Compute::F32 && row_length(*x1) > 0,
             "x1 is {}, want rows of FLOAT, FLOAT16 or BFLOAT16", describe(*x1));
  op.require_same_shape("x2", *x2, "x1", *x1);
  const int64_t n = row_length(*x1);
  op.require_shape("gamma", *gamma, &n, 1);
  if (beta) op.require_shape("beta", *beta, &n, 1);
  if (outputMask)
    op.require(outputMask.handle->values.size() == 2, "outputMask has {} values, want 2",
               outputMask.handle->values.size());
  auto masked = [&](size_t i) { return outputMask.handle->values[i] != 0; };
  Branch branches[2];
  branches[0].wanted = outputMask ? masked(0) : true;
  branches[1].wanted = outputMask ? masked(1) : smoothScale1 && smoothScale2;
  op.require(branches[0].wanted || branches[1].wanted, "outputMask is false twice: want at least one true");
  op.result_like("xOut", *xOut, *x1, x1->dtype);
  Range range{-128, 127, false};
  auto plan = [&](Branch& branch, const OptIn& smooth, const char* name, const Out& y, const char* scale_name,
                  const Out& scale) {
    if (!branch.wanted) return op.suggest(*y, {0}, DType::Int8), op.suggest(*scale, {0}, DType::Float);
    if (smooth) op.require_shape("smoothScale", *smooth, &n, 1);
    if (y->dtype == DType::Undefined) op.suggest_like(*y, *x1, DType::Int8);
    range = range_of(op, *y);
    TensorView shape = *x1;
    if (range.packed) {
      op.require(n % 8 == 0, "x1 is {}: eight numbers of four bits fill an INT32", describe(*x1));
      shape.dims[shape.rank - 1] = n / 8;
    }
    op.result_like(name, *y, shape, y->dtype);
    op.result_like(scale_name, *scale, drop_dim(*x1, x1->rank - 1), DType::Float);
    if (smooth) branch.smooth = *smooth;
    branch.y = *y;
    branch.scale = *scale;
  };
  plan(branches[0], smoothScale1, "y1", y1, "scale1", scale1);
  plan(branches[1], smoothScale2, "y2", y2, "scale2", scale2);
  if (x1->empty()) return;
  TensorView add;
  if (beta) add = *beta;
  op.work(x1->numel() * 16);
  op.launch([=, first = branches[0], second = branches[1], x1 = *x1, x2 = *x2, gamma = *gamma, sum = *xOut] {
    run(x1, x2, gamma, add, epsilon, sum, {first, second}, range);
  });
}

SAMPLE(aclnnAddRmsNormQuant,
       "x1=f32[N,M] x2=f32[N,M] gamma=f32[M] scales1=f32[M] scales2=f32[M] zeroPoints1=i32[M] zeroPoints2=null axis=-1 "
       "epsilon=1e-6 divMode=true y1=i8[N,M] y2=i8[N,M] xOut=f32[N,M]")
ABOUT(aclnnAddRmsNormQuant, Vector, "xOut = x1 + x2; y1 and y2 = its RMS normalisation / scales + zeroPoints, as INT8",
      "xOut = x1 + x2；y1、y2 = 其 RMS 归一化 / scales + zeroPoints，INT8")
ACLNN(aclnnAddRmsNormQuant, (In, x1), (In, x2), (In, gamma), (In, scales1), (OptIn, scales2), (OptIn, zeroPoints1),
      (OptIn, zeroPoints2), (Int, axis), (Double, epsilon), (Bool, divMode), (Out, y1), (Out, y2), (Out, xOut)) {
  (void)axis;  // documented to have no effect: it is the last one
  op.require(scales2 || !zeroPoints2, "zeroPoints2 is given without scales2");
  Temp normal;
  call(op, "aclnnAddRmsNorm", x1, x2, gamma, epsilon, normal, nullptr, xOut);
  const auto quantise = [&](const In& scales, const OptIn& zero, const Out& y) {
    if (divMode) call(op, "aclnnQuantize", *normal, scales, zero, static_cast<int64_t>(DType::Int8), int64_t{-1}, y);
    else
      call(op, "aclnnAscendQuantV3", *normal, scales, zero, false, "round", static_cast<int32_t>(DType::Int8),
           int32_t{-1}, y);
  };
  quantise(scales1, zeroPoints1, y1);
  if (scales2) quantise(In{scales2.handle}, zeroPoints2, y2);
}

}  // namespace updraft
