// Products of the groups of rows of a quantised matrix, SwiGLU of their halves, and the result quantised by rows.
#include <algorithm>
#include <cmath>

#include "base/parallel.h"
#include "ops/gathered.h"
#include "ops/matmul/quantised.h"
#include "ops/op.h"
#include "ops/quantize/numbers.h"
#include "tensor/view_algebra.h"

namespace updraft {
namespace {

using namespace quantised;

constexpr int64_t kFloat = 0, kFloat16 = 1, kBFloat16 = 27;  // of dequantDtype, as aclDataType has it

struct Problem {
  TensorView x{}, weight{}, scale{}, row_scale{}, groups{}, out{}, out_scale{};
  TensorView assist{}, smooth{}, offset{};  // may be absent; offset is written
  int64_t k = 0, n = 0;
  bool counts = false;
  DType between = DType::Float;  ///< what the products are rounded to before the activation
};

/// The matrix of an expert. Five dimensions are the product's own format FRACTAL_NZ as it lies in memory: blocks of
/// columns, then blocks of 16 rows.
Matrix weight_of(const Problem& p, int64_t expert) {
  TensorView v = select(p.weight, 0, expert);
  if (v.rank == 2) return matrix_of(v);
  const TensorView rows = permute(v, {1, 2, 0, 3});
  if (v.dtype == DType::Int32) {
    std::vector<int32_t> words = gathered<int32_t>(rows);
    const int64_t dims[] = {p.k, p.n / 8};
    return matrix_of(TensorView::contiguous(words.data(), DType::Int32, dims, 2));
  }
  return {p.k, p.n, floats_of(rows)};
}

/// What the rows [begin, end) of x become before the activation.
std::vector<float> products_of(const Problem& p, int64_t expert, int64_t begin, int64_t end) {
  Matrix a = matrix_of(narrow(p.x, 0, begin, end - begin));
  const Matrix b = weight_of(p, expert);
  // INT8 times INT4 is done by halves of the INT8, and the lower one is less by 8 than its bits say: the assist matrix
  // holds what that takes from each column.
  if (given(p.assist))
    for (float& v : a.numbers) v -= 8;
  const std::vector<float> scale = scales_of(select(p.scale, 0, expert));
  const std::vector<double> sum = scaled_product(a, b, scale, static_cast<int64_t>(scale.size()) / p.n);
  const std::vector<float> assist = given(p.assist) ? floats_of(select(p.assist, 0, expert)) : std::vector<float>();
  const std::vector<float> by_row = floats_of(narrow(p.row_scale, 0, begin, end - begin));
  std::vector<float> result(sum.size());
  const auto n = static_cast<size_t>(p.n);
  for (size_t i = 0; i < sum.size(); ++i) {
    const double v = sum[i] + (assist.empty() ? 0.0 : static_cast<double>(assist[i % n]));
    result[i] = rounded_to(static_cast<float>(v * static_cast<double>(by_row[i / n])), p.between);
  }
  return result;
}

void run_group(const Problem& p, int64_t expert, int64_t begin, int64_t end) {
  const std::vector<float> wide = products_of(p, expert, begin, end);
  const std::vector<float> smooth = given(p.smooth) ? floats_of(select(p.smooth, 0, expert)) : std::vector<float>();
  const int64_t half = p.n / 2, rows = end - begin;
  std::vector<float> numbers(static_cast<size_t>(rows * half)), scales(static_cast<size_t>(rows));
  parallel_for(rows, std::max<int64_t>(1, 2048 / half), [&](int64_t from, int64_t to) {
    for (int64_t r = from; r < to; ++r) {
      const float *left = wide.data() + r * p.n, *right = left + half;
      float* v = numbers.data() + r * half;
      for (int64_t c = 0; c < half; ++c) v[c] = left[c] / (1 + std::exp(-left[c])) * right[c];
      quantise_by_largest(v, half, smooth.empty() ? nullptr : smooth.data(), {-128, 127, false},
                          &scales[static_cast<size_t>(r)]);
    }
  });
  write_all(narrow(p.out, 0, begin, rows), numbers);
  write_all(narrow(p.out_scale, 0, begin, rows), scales);
}

void run(const Problem& p) {
  const std::vector<int64_t> list = integers_of(p.groups);
  int64_t begin = 0;
  const int64_t rows = p.x.dims[0];
  for (size_t g = 0; g < list.size(); ++g) {
    const int64_t end = p.counts ? begin + list[g] : list[g];
    if (end < begin || end > rows)
      fail_kernel(fmt::format("grouped_matmul_swiglu_quant: group {} ends at {}, want {} to {}", g, end, begin, rows));
    if (end > begin) run_group(p, static_cast<int64_t>(g), begin, end);
    begin = end;
  }
  // Rows behind the last group belong to nobody.
  fill_zero(narrow(p.out, 0, begin, rows - begin));
  fill_zero(narrow(p.out_scale, 0, begin, rows - begin));
  if (given(p.offset)) fill_zero(p.offset);
}

bool present(const TensorView& v) { return given(v) && v.numel() > 0; }

/// Checks the shapes and leaves the work. The operands are in `p`, but for sizes.
void plan(Op& op, Problem p, const TensorView& out, const TensorView& out_scale) {
  op.require(p.x.rank == 2 && (p.x.dtype == DType::Int8 || p.x.dtype == DType::Int32),
             "x is {}, want a matrix of INT8 or INT32 (INT4, eight each)", describe(p.x));
  op.require(
      (p.weight.rank == 3 || p.weight.rank == 5) && (p.weight.dtype == DType::Int8 || p.weight.dtype == DType::Int32),
      "weight is {}, want [experts,K,N] or [experts,N/32,K/16,16,32] (FRACTAL_NZ) of INT8, or of INT32 (INT4, eight "
      "each)",
      describe(p.weight));
  op.require((p.scale.rank == 2 || p.scale.rank == 3) && is_scale(p.scale.dtype),
             "weightScale is {}, want [experts,N] or [experts,groups,N] of FLOAT, BFLOAT16, INT64 or UINT64",
             describe(p.scale));
  int64_t rows = 0, k = 0, n = 0;
  matrix_dims(p.x, &rows, &p.k);
  p.n = p.scale.dims[p.scale.rank - 1];
  const int64_t experts = p.weight.dims[0], many = p.weight.dtype == DType::Int32 ? 8 : 1;
  if (p.weight.rank == 3) {
    matrix_dims(select(p.weight, 0, 0), &k, &n);
  } else {
    k = p.weight.dims[2] * p.weight.dims[3];
    n = p.weight.dims[1] * p.weight.dims[4] * many;
  }
  op.require(
      k == p.k && n == p.n && n % 2 == 0 && n > 0,
      "weight is {}, matrices of [{},{}], want [{},{}] as x and weightScale have it, and an even number of columns",
      describe(p.weight), k, n, p.k, p.n);
  op.require(p.scale.dims[0] == experts && (p.scale.rank == 2 || (p.scale.dims[1] > 0 && k % p.scale.dims[1] == 0)),
             "weightScale is {}, want scales for {} experts, whose groups divide {} rows", describe(p.scale), experts,
             k);
  op.require_shape("xScale", p.row_scale, &rows, 1);
  op.require(p.groups.rank == 1 && is_integral(p.groups.dtype) && p.groups.dims[0] <= experts,
             "groupList is {}, want the ends of at most {} groups", describe(p.groups), experts);
  const int64_t assisted[] = {experts, n}, smoothed[] = {experts, n / 2};
  if (!present(p.assist)) p.assist = {};
  if (!present(p.smooth)) p.smooth = {};
  if (given(p.assist)) {
    op.require(p.x.dtype == DType::Int8 && many == 8,
               "an assist matrix is given for x {} and weight {}, want INT8 and INT4", describe(p.x),
               describe(p.weight));
    op.require_shape("the assist matrix", p.assist, assisted, 2);
  }
  if (given(p.smooth)) op.require_shape("smoothScale", p.smooth, smoothed, 2);
  op.result("output", out, {rows, n / 2}, DType::Int8);
  op.result("outputScale", out_scale, &rows, 1, DType::Float);
  op.require(out.dtype == DType::Int8, "output is {}, want INT8", describe(out));
  p.out = out;
  p.out_scale = out_scale;
  if (out.empty()) return;
  op.flops(2 * rows * k * n);
  op.work(rows * n * std::max<int64_t>(1, k));
  op.launch([p] { run(p); });
}

TensorView only(const Op& op, const char* name, const OptTensors& list) {
  if (!list.size() || !list.item(0)) return {};
  op.require(list.size() == 1, "{} has {} tensors, want one for all experts", name, list.size());
  return list[0];
}

}  // namespace

#define SWIGLU_PARAMETERS                                                                                             \
  (In, x), (Tensors, weight), (Tensors, weightScale), (OptTensors, weightAssistanceMatrix), (OptIn, bias),            \
      (In, xScale), (OptIn, smoothScale), (In, groupList), (Int, dequantMode), (Int, dequantDtype), (Int, quantMode), \
      (Int, groupListType), (OptInts, tuningConfig), (Out, output), (Out, outputScale)
#define SWIGLU_PLAN                                                                                                    \
  (void)tuningConfig; /* how a card cuts the work: the result is the same */                                           \
  (void)dequantMode;  /* the shape of weightScale says it */                                                           \
  op.require(dequantMode == 0 || dequantMode == 1,                                                                     \
             "dequantMode is {}, supported are 0 (columns) and 1 (groups of rows)", dequantMode);                      \
  op.require(quantMode == 0, "quantMode is {}, supported is 0 (a scale for each row)", quantMode);                     \
  op.require(groupListType == 0 || groupListType == 1, "groupListType is {}, want 0 (sums) or 1 (counts)",             \
             groupListType);                                                                                           \
  op.require(dequantDtype == kFloat || dequantDtype == kFloat16 || dequantDtype == kBFloat16,                          \
             "dequantDtype is {}, want 0 (FLOAT), 1 (FLOAT16) or 27 (BFLOAT16)", dequantDtype);                        \
  op.require(!bias || bias->numel() == 0, "bias is given, which is not supported");                                    \
  op.require(weight.size() == 1 && weightScale.size() == 1, "weight has {} tensors and weightScale {}, want one each", \
             weight.size(), weightScale.size());                                                                       \
  Problem p{.x = *x, .weight = weight[0], .scale = weightScale[0], .row_scale = *xScale, .groups = *groupList};        \
  p.assist = only(op, "weightAssistanceMatrix", weightAssistanceMatrix);                                               \
  if (smoothScale) p.smooth = *smoothScale;                                                                            \
  p.counts = groupListType == 1;                                                                                       \
  p.between = static_cast<DType>(dequantDtype);                                                                        \
  plan(op, p, *output, *outputScale);

SAMPLE(aclnnGroupedMatmulSwigluQuantV2,
       "x=i8[N,16] weight=i8[2,16,2M] weightScale=f32[2,2M] weightAssistanceMatrix=null bias=null xScale=f32[N] "
       "smoothScale=null groupList=i64[2]:1..2 dequantMode=0 dequantDtype=0 quantMode=0 groupListType=1 "
       "tuningConfig=null output=i8[N,M] outputScale=f32[N]")
ABOUT(aclnnGroupedMatmulSwigluQuantV2, MixCube,
      "SwiGLU of the products of x's groups of rows with INT8 or INT4 weights, quantised by rows",
      "分组量化矩阵乘后做 SwiGLU，再按行量化为 INT8")
ACLNN(aclnnGroupedMatmulSwigluQuantV2, SWIGLU_PARAMETERS){SWIGLU_PLAN}

SAMPLE(aclnnGroupedMatmulSwigluQuantWeightNzV2,
       "x=i8[N,16] weight=i8[2,16,2M] weightScale=f32[2,2M] weightAssistanceMatrix=null bias=null xScale=f32[N] "
       "smoothScale=null groupList=i64[2]:1..2 dequantMode=0 dequantDtype=0 quantMode=0 groupListType=1 "
       "tuningConfig=null output=i8[N,M] outputScale=f32[N]")
    ABOUT(aclnnGroupedMatmulSwigluQuantWeightNzV2, MixCube,
          "As aclnnGroupedMatmulSwigluQuantV2, for weights that the client marks as FRACTAL_NZ",
          "同 aclnnGroupedMatmulSwigluQuantV2，weight 为 NZ 格式")
ACLNN(aclnnGroupedMatmulSwigluQuantWeightNzV2, SWIGLU_PARAMETERS){SWIGLU_PLAN}

SAMPLE(aclnnGroupedMatmulSwigluQuantWeightNZ,
       "x=i8[N,16] weight=i8[2,16,2M] bias=null offset=null weightScale=f32[2,2M] xScale=f32[N] groupList=i64[2]:1..2 "
       "output=i8[N,M] outputScale=f32[N] outputOffset=null")
    ABOUT(aclnnGroupedMatmulSwigluQuantWeightNZ, MixCube,
          "As aclnnGroupedMatmulSwigluQuantWeightNzV2 with one weight; bias is the assist matrix of INT4",
          "同 aclnnGroupedMatmulSwigluQuantWeightNzV2，单个 weight，bias 为 INT4 的辅助矩阵")
ACLNN(aclnnGroupedMatmulSwigluQuantWeightNZ, (In, x), (In, weight), (OptIn, bias), (OptIn, offset), (In, weightScale),
      (In, xScale), (In, groupList), (Out, output), (Out, outputScale), (OptOut, outputOffset)) {
  op.require(!offset || offset->numel() == 0, "offset is given, which is not supported");
  Problem p{.x = *x, .weight = *weight, .scale = *weightScale, .row_scale = *xScale, .groups = *groupList};
  if (bias) p.assist = *bias;
  if (outputOffset) {
    // Rows are quantised around zero.
    op.suggest(*outputOffset, {}, DType::Float);
    p.offset = *outputOffset;
  }
  plan(op, p, *output, *outputScale);
}

}  // namespace updraft
