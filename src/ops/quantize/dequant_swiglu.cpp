// Whole numbers brought back to real ones, SwiGLU of them, and the result quantised: between two products of an expert.
#include <cmath>
#include <string_view>

#include "base/parallel.h"
#include "ops/quantize/numbers.h"

namespace updraft {
namespace {

enum class Halves : int64_t { Plain, Neighbours, Clipped };

struct DequantSwiglu {
  TensorView x{}, y{}, scale{};
  TensorView weight_scale{}, row_scale{}, bias{}, factor{}, offset{}, groups{};  // may be absent
  Halves halves = Halves::Plain;
  bool left = false, dynamic = false;
  float limit = 0, alpha = 0, glu_bias = 0;
  char rounding = 'r';
};

float rounded(float v, char how) {
  switch (how) {
    case 'f': return std::floor(v);
    case 'c': return std::ceil(v);
    case 't': return std::trunc(v);
    case 'a': return std::round(v);
    default: return std::nearbyint(v);
  }
}

/// The group of each row, -1 behind the last one; groups are counts.
std::vector<int64_t> group_of_rows(const DequantSwiglu& q, int64_t rows) {
  if (!given(q.groups)) return std::vector<int64_t>(static_cast<size_t>(rows), 0);
  std::vector<int64_t> group(static_cast<size_t>(rows), -1);
  int64_t begin = 0, number = 0;
  for (int64_t n : integers_of(q.groups)) {
    if (n < 0 || n > rows - begin)
      fail_kernel(fmt::format("dequant_swiglu_quant: group {} has {} rows, {} are left", number, n, rows - begin));
    std::fill_n(group.begin() + begin, n, number++);
    begin += n;
  }
  return group;
}

void run(const DequantSwiglu& q) {
  const int64_t wide = row_length(q.x), n = wide / 2, rows = q.x.numel() / wide;
  auto all = [](const TensorView& v) { return given(v) ? floats_of(v) : std::vector<float>(); };
  const std::vector<float> x = floats_of(q.x), weight = all(q.weight_scale), by_row = all(q.row_scale),
                           bias = all(q.bias), factor = all(q.factor), offset = all(q.offset);
  const std::vector<int64_t> group = group_of_rows(q, rows);
  const bool whole_bias = given(q.bias) && is_integral(q.bias.dtype);
  const int64_t groups = given(q.groups) ? q.groups.dims[0] : 1;
  // One number for each column of a group, for each group, or for all.
  auto of = [&](const std::vector<float>& v, int64_t g, int64_t c, int64_t width) {
    const auto size = static_cast<int64_t>(v.size());
    return v[static_cast<size_t>(size == 1 ? 0 : size == groups ? g : size == width ? c : g * width + c)];
  };
  std::vector<float> numbers(static_cast<size_t>(rows * n), 0.0f), scales(static_cast<size_t>(rows), 0.0f);
  parallel_for(rows, std::max<int64_t>(1, 2048 / n), [&](int64_t begin, int64_t end) {
    std::vector<float> real(static_cast<size_t>(wide));
    for (int64_t r = begin; r < end; ++r) {
      const int64_t g = group[static_cast<size_t>(r)];
      if (g < 0) continue;  // rows of no group are zero
      for (int64_t c = 0; c < wide; ++c) {
        float v = x[static_cast<size_t>(r * wide + c)];
        if (whole_bias) v += of(bias, g, c, wide);
        if (!weight.empty()) v *= of(weight, g, c, wide);
        if (!by_row.empty()) v *= by_row[static_cast<size_t>(r)];
        if (!bias.empty() && !whole_bias) v += of(bias, g, c, wide);
        real[static_cast<size_t>(c)] = v;
      }
      float* v = numbers.data() + r * n;
      for (int64_t c = 0; c < n; ++c) {
        const bool neighbours = q.halves == Halves::Neighbours;
        float a = real[static_cast<size_t>(neighbours ? 2 * c : q.left ? c : n + c)];
        float b = real[static_cast<size_t>(neighbours ? 2 * c + 1 : q.left ? n + c : c)];
        if (q.halves == Halves::Plain) {
          v[c] = a / (1 + std::exp(-a)) * b;
        } else {
          a = std::min(a, q.limit), b = std::clamp(b, -q.limit, q.limit);
          v[c] = a / (1 + std::exp(-q.alpha * a)) * (b + q.glu_bias);
        }
      }
      if (q.dynamic) {
        float most = 0;
        for (int64_t c = 0; c < n; ++c) {
          if (!factor.empty()) v[c] *= of(factor, g, c, n);
          most = std::max(most, std::abs(v[c]));
        }
        scales[static_cast<size_t>(r)] = most / 127;
        for (int64_t c = 0; c < n; ++c) v[c] = most > 0 ? v[c] * (127 / most) : 0;
      } else {
        for (int64_t c = 0; c < n; ++c) {
          if (!factor.empty()) v[c] /= of(factor, g, c, n);
          if (!offset.empty()) v[c] += of(offset, g, c, n);
        }
      }
      for (int64_t c = 0; c < n; ++c) v[c] = kept(rounded(v[c], q.rounding), {-128, 127, false});
    }
  });
  write_all(q.y, numbers);
  write_all(q.scale, scales);
}

struct Modes {
  int64_t dst_type = 2, activate_dim = -1, swiglu_mode = 0;
  const char* rounding = "rint";
  double limit = 7, alpha = 1.702, bias = 1;
};

void plan(Op& op, const In& x, const OptIn& weight_scale, const OptIn& row_scale, const OptIn& bias,
          const OptIn& factor, const OptIn& offset, const OptIn& groups, bool left, const char* mode, const Modes& m,
          const Out& y, const Out& scale) {
  const std::string_view how = mode, rounding = m.rounding;
  op.require(how == "static" || how == "dynamic", "quantMode is \"{}\", want \"static\" or \"dynamic\"", mode);
  op.require(x->rank >= 2 && row_length(*x) % 2 == 0 && (x->dtype == DType::Int32 || is_half(x->dtype)),
             "x is {}, want rows of an even number of INT32, FLOAT16 or BFLOAT16", describe(*x));
  op.require(m.dst_type == static_cast<int64_t>(DType::Int8), "dstType is {}, want 2 (INT8)", m.dst_type);
  op.require(m.activate_dim == -1 || m.activate_dim == x->rank - 1, "activateDim is {}, supported is the last, -1",
             m.activate_dim);
  op.require(m.swiglu_mode >= 0 && m.swiglu_mode <= 2, "swigluMode is {}, want 0, 1 or 2", m.swiglu_mode);
  static constexpr std::string_view kRoundings[] = {"rint", "round", "floor", "ceil", "trunc"};
  op.require(std::ranges::count(kRoundings, rounding) == 1,
             "roundMode is \"{}\", want \"rint\", \"round\", \"floor\", \"ceil\" or \"trunc\"", m.rounding);
  const bool whole = x->dtype == DType::Int32;
  op.require(whole || (!row_scale && !bias), "x is {}: activationScale and bias are those of INT32", describe(*x));
  op.require(!groups || (groups->rank == 1 && is_integral(groups->dtype)),
             "groupIndex is {}, want whole numbers of one dimension", groups ? describe(*groups).text() : "");
  op.require(!groups || !bias, "bias is given with groupIndex: want none");
  const int64_t wide = row_length(*x), rows = x->numel() / std::max<int64_t>(1, wide), n = groups ? groups->dims[0] : 1;
  auto by_columns = [&](const char* name, const OptIn& v, int64_t width) {
    if (!v) return;
    op.require(v->numel() == n * width || v->numel() == width || v->numel() == n,
               "{} is {}, want a number for each of {} groups, or for each of {} columns of each", name, describe(*v),
               n, width);
  };
  by_columns("weightScale", weight_scale, wide);
  by_columns("bias", bias, wide);
  by_columns("quantScale", factor, wide / 2);
  by_columns("quantOffset", offset, wide / 2);
  op.require(!row_scale || row_scale->numel() == rows, "activationScale is {}, want a number for each of {} rows",
             row_scale ? describe(*row_scale).text() : "", rows);
  TensorView shape = *x;
  shape.dims[x->rank - 1] = wide / 2;
  op.result_like("y", *y, shape, DType::Int8);
  shape.rank = x->rank - 1;
  op.result_like("scale", *scale, shape, DType::Float);
  if (x->empty()) return;
  DequantSwiglu q{.x = *x, .y = *y, .scale = *scale};
  q.weight_scale = optional_view(weight_scale), q.row_scale = optional_view(row_scale), q.bias = optional_view(bias);
  q.factor = optional_view(factor), q.offset = optional_view(offset), q.groups = optional_view(groups);
  q.halves = static_cast<Halves>(m.swiglu_mode);
  q.left = left, q.dynamic = how == "dynamic";
  q.limit = static_cast<float>(m.limit), q.alpha = static_cast<float>(m.alpha);
  q.glu_bias = static_cast<float>(m.bias);
  q.rounding = rounding == "round" ? 'a' : rounding[0];
  op.work(x->numel() * 8);
  op.launch([q] { run(q); });
}

}  // namespace

SAMPLE(aclnnDequantSwigluQuant,
       "x=i32[N,2M] weightScale=f32[1,2M] activationScale=f32[N,1] bias=null quantScale=null quantOffset=null "
       "groupIndex=null activateLeft=false quantMode=dynamic y=i8[N,M] scale=f32[N]")
ABOUT(aclnnDequantSwigluQuant, Vector, "SwiGLU of x brought back to real numbers, quantised to INT8",
      "对 x 反量化后做 SwiGLU，再量化为 INT8")
ACLNN(aclnnDequantSwigluQuant, (In, x), (OptIn, weightScale), (OptIn, activationScale), (OptIn, bias),
      (OptIn, quantScale), (OptIn, quantOffset), (OptIn, groupIndex), (Bool, activateLeft), (Text, quantMode), (Out, y),
      (Out, scale)) {
  plan(op, x, weightScale, activationScale, bias, quantScale, quantOffset, groupIndex, activateLeft, quantMode, {}, y,
       scale);
}
SAMPLE(aclnnDequantSwigluQuantV2,
       "x=i32[N,2M] weightScale=f32[1,2M] activationScale=f32[N,1] bias=null quantScale=f32[1,M] quantOffset=null "
       "groupIndex=null activateLeft=true quantMode=dynamic dstType=2 roundMode=rint activateDim=-1 swigluMode=1 "
       "clampLimit=7 gluAlpha=1.702 gluBias=1 y=i8[N,M] scale=f32[N]")
ABOUT(aclnnDequantSwigluQuantV2, Vector, "As aclnnDequantSwigluQuant; swigluMode 1 and 2 clip what they multiply",
      "同 aclnnDequantSwigluQuant，swigluMode 1、2 先截断")
ACLNN(aclnnDequantSwigluQuantV2, (In, x), (OptIn, weightScale), (OptIn, activationScale), (OptIn, bias),
      (OptIn, quantScale), (OptIn, quantOffset), (OptIn, groupIndex), (Bool, activateLeft), (Text, quantMode),
      (Int, dstType), (Text, roundMode), (Int, activateDim), (Int, swigluMode), (Double, clampLimit),
      (Double, gluAlpha), (Double, gluBias), (Out, y), (Out, scale)) {
  plan(op, x, weightScale, activationScale, bias, quantScale, quantOffset, groupIndex, activateLeft, quantMode,
       {dstType, activateDim, swigluMode, roundMode, clampLimit, gluAlpha, gluBias}, y, scale);
}

}  // namespace updraft
