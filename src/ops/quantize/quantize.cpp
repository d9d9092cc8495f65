// Numbers of few bits from floating point, by a scale and an offset for all or for each place along an axis.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/parallel.h"
#include "kernels/pipeline.h"
#include "ops/op.h"
#include "ops/quantize/numbers.h"

namespace updraft {
namespace {

enum class Rounding : uint8_t { Even, Down, Up, Cut };

struct Quantization {
  bool divide = false;      ///< x / scale, else x * scale
  bool square = false;      ///< of the scale
  bool round_last = false;  ///< round(x * scale + offset), else round(x / scale) + offset
  Rounding rounding = Rounding::Even;
};

float rounded(float x, Rounding r) {
  switch (r) {
    case Rounding::Even: return std::nearbyint(x);
    case Rounding::Down: return std::floor(x);
    case Rounding::Up: return std::ceil(x);
    case Rounding::Cut: break;
  }
  return std::trunc(x);
}

/// The values along the axis; one of them serves all places.
std::vector<float> per_place(const TensorView& v, int64_t places) {
  std::vector<float> values(static_cast<size_t>(v.numel()));
  gather_to(values.data(), DType::Float, v);
  if (values.size() == 1) values.resize(static_cast<size_t>(places), values[0]);
  return values;
}

void require_places(const Op& op, const char* name, const TensorView& v, const TensorView& x, int axis) {
  op.require(v.numel() == 1 || v.numel() == x.dims[axis],
             "{} is {}, want one value or {}, one for each place of dimension "
             "{} of {}",
             name, describe(v), x.dims[axis], axis, describe(x));
}

/// Lowest and highest number of the type; four bits lie two a byte, the first low, in INT4 or in whole INT32.
struct Limits {
  float low, high;
  bool four_bits;
};
Limits limits_of(const Op& op, DType type, bool packed) {
  switch (type) {
    case DType::Int8: return {-128, 127, false};
    case DType::UInt8: return {0, 255, false};
    case DType::Int32:
      if (packed) return {-8, 7, true};
      return {-2147483648.0f, 2147483520.0f, false};  // the last number of FLOAT below 2^31
    default: break;
  }
  op.refuse("the result is {}, want INT8, UINT8 or INT32", name_of(type));
}

void plan_quantize(Op& op, const TensorView& x, const TensorView& scale, const OptIn& offset, int64_t axis, DType type,
                   bool packed, const Quantization& q, const TensorView& out) {
  op.require(is_floating(x.dtype) && x.dtype != DType::Double, "x is {}, want FLOAT, FLOAT16 or BFLOAT16", describe(x));
  const int d = x.rank ? x.wrap_dim(axis) : 0;
  const Limits limits = limits_of(op, type, packed);
  TensorView shape = x;
  if (limits.four_bits) {
    op.require(x.rank > 0 && x.dims[x.rank - 1] % 8 == 0, "x is {}: eight numbers of four bits fill an INT32",
               describe(x));
    shape.dims[x.rank - 1] /= 8;
  }
  op.result_like("y", out, shape, type);
  op.require(out.dtype == type, "y is {}, want {}", describe(out), name_of(type));
  const TensorView whole =
      x.rank ? x : TensorView::contiguous(nullptr, x.dtype, std::initializer_list<int64_t>{1}.begin(), 1);
  require_places(op, "scale", scale, whole, d);
  if (offset) require_places(op, "offset", *offset, whole, d);
  if (x.empty()) return;
  op.work(x.numel() * 4);
  op.launch([=, zero = offset ? *offset : TensorView()] {
    const int64_t places = x.rank ? x.dims[d] : 1;
    int64_t inner = 1;
    for (int i = d + 1; i < x.rank; ++i) inner *= x.dims[i];
    const std::vector<float> scales = per_place(scale, places);
    const std::vector<float> zeros = zero.data ? per_place(zero, places) : std::vector<float>(scales.size());
    const int64_t n = x.numel();
    std::vector<float> values(static_cast<size_t>(n));
    gather_to(values.data(), DType::Float, x);
    std::vector<int32_t> result(static_cast<size_t>(limits.four_bits ? n / 8 : n));
    parallel_for(n / (limits.four_bits ? 8 : 1), 4096, [&](int64_t begin, int64_t end) {
      const int64_t group = limits.four_bits ? 8 : 1;
      for (int64_t i = begin * group; i < end * group; ++i) {
        const auto place = static_cast<size_t>(i / inner % places);
        const float s = q.square ? scales[place] * scales[place] : scales[place];
        const float scaled = q.divide ? values[static_cast<size_t>(i)] / s : values[static_cast<size_t>(i)] * s;
        const float whole_number =
            q.round_last ? rounded(scaled + zeros[place], q.rounding) : rounded(scaled, q.rounding) + zeros[place];
        // NaN becomes 0, as conversions of the card have it.
        const float kept = std::isnan(whole_number) ? 0.0f : std::clamp(whole_number, limits.low, limits.high);
        const auto number = static_cast<int32_t>(kept);
        if (limits.four_bits)
          result[static_cast<size_t>(i / 8)] |=
              static_cast<int32_t>((static_cast<uint32_t>(number) & 15u) << (i % 8 * 4));
        else result[static_cast<size_t>(i)] = number;
      }
    });
    copy_elements(out, TensorView::contiguous(result.data(), DType::Int32, out.dims, out.rank));
  });
}

Rounding rounding_of(const Op& op, const char* mode) {
  if (!std::strcmp(mode, "round")) return Rounding::Even;
  if (!std::strcmp(mode, "floor")) return Rounding::Down;
  if (!std::strcmp(mode, "ceil")) return Rounding::Up;
  op.require(!std::strcmp(mode, "trunc"), "roundMode is \"{}\", want \"round\", \"floor\", \"ceil\" or \"trunc\"",
             mode);
  return Rounding::Cut;
}

DType type_of(int32_t asked, const TensorView& out) {
  if (asked == kInt4) return DType::Int32;
  return out.dtype == DType::Undefined ? static_cast<DType>(asked) : out.dtype;
}

}  // namespace

SAMPLE(aclnnQuantize, "x=f32[N,M] scales=f32[M] zeroPoints=i32[M] dtype=i8 axis=-1 out=i8[N,M]")
ABOUT(aclnnQuantize, Vector, "out = round(x / scales) + zeroPoints, within the range of dtype",
      "量化 out = round(x / scales) + zeroPoints，截断到 dtype 的范围")
ACLNN(aclnnQuantize, (In, x), (In, scales), (OptIn, zeroPoints), (Type, dtype), (Int32, axis), (Out, out)) {
  plan_quantize(op, *x, *scales, zeroPoints, scales->numel() == 1 ? -1 : axis, type_of(dtype.value, *out), false,
                {.divide = true}, *out);
}
SAMPLE(aclnnAscendQuant, "x=f32[N,M] scale=f32[M] offset=f32[M] sqrtMode=false roundMode=round dstType=2 y=i8[N,M]")
ABOUT(aclnnAscendQuant, Vector, "y = round(x * scale + offset) in INT8; scale squared with sqrtMode",
      "量化 y = round(x * scale + offset)，sqrtMode 时 scale 取平方")
ACLNN(aclnnAscendQuant, (In, x), (In, scale), (OptIn, offset), (Bool, sqrtMode), (Text, roundMode), (Int32, dstType),
      (Out, y)) {
  plan_quantize(op, *x, *scale, offset, -1, type_of(dstType, *y), y->dtype == DType::Int32 || dstType == kInt4,
                {.square = sqrtMode, .round_last = true, .rounding = rounding_of(op, roundMode)}, *y);
}
SAMPLE(aclnnAscendQuantV3,
       "x=f32[N,M] scale=f32[M] offset=f32[M] sqrtMode=false roundMode=round dstType=2 axis=-1 y=i8[N,M]")
ABOUT(aclnnAscendQuantV3, Vector, "aclnnAscendQuant with scales along a named axis, of the last two",
      "同 aclnnAscendQuant，可指定 scale 所在的轴（最后两轴之一）")
ACLNN(aclnnAscendQuantV3, (In, x), (In, scale), (OptIn, offset), (Bool, sqrtMode), (Text, roundMode), (Int32, dstType),
      (Int32, axis), (Out, y)) {
  plan_quantize(op, *x, *scale, offset, axis, type_of(dstType, *y), y->dtype == DType::Int32 || dstType == kInt4,
                {.square = sqrtMode, .round_last = true, .rounding = rounding_of(op, roundMode)}, *y);
}

SAMPLE(aclnnGroupQuant, "x=f32[4,M] scale=f32[2,M] groupIndex=i32[2]:4..5 offset=f32[1] dstType=2 y=i8[4,M]")
ABOUT(aclnnGroupQuant, Vector, "y = round(x * scale + offset), scale a row for each group; groupIndex ends the groups",
      "分组量化 y = round(x * scale + offset)，groupIndex 为各组的结束行")
ACLNN(aclnnGroupQuant, (In, x), (In, scale), (In, groupIndex), (OptIn, offset), (Int32, dstType), (Out, y)) {
  op.require(x->rank == 2 && is_floating(x->dtype) && x->dtype != DType::Double,
             "x is {}, want rows of FLOAT, FLOAT16 or BFLOAT16", describe(*x));
  op.require(groupIndex->rank == 1 && is_integral(groupIndex->dtype, false), "groupIndex is {}, want row numbers",
             describe(*groupIndex));
  const int64_t groups = groupIndex->dims[0], width = x->dims[1], dims[] = {groups, width};
  op.require_shape("scale", *scale, dims, 2);
  op.require(!offset || offset->numel() == 1, "offset is {}, want one value", offset ? describe(*offset).text() : "");
  const bool packed = dstType == kInt4 && (y->dtype == DType::Undefined || y->dtype == DType::Int32);
  op.require(!packed || width % 8 == 0, "x is {}: eight numbers of four bits fill an INT32", describe(*x));
  op.result("y", *y, {x->dims[0], packed ? width / 8 : width}, type_of(dstType, *y));
  const Limits limits = limits_of(op, type_of(dstType, *y), packed);
  if (x->empty()) return;
  op.work(x->numel() * 4);
  op.launch([=, from = *x, factors = *scale, ends = *groupIndex, zero = offset ? *offset : TensorView(), to = *y] {
    const std::vector<int64_t> last = gathered<int64_t>(ends);
    int64_t before = 0;
    for (size_t g = 0; g < last.size(); before = last[g++])
      if (last[g] < before || last[g] > from.dims[0])
        fail_kernel(fmt::format("groupIndex[{}] is {}, want {} to {}", g, last[g], before, from.dims[0]));
    if (before != from.dims[0])
      fail_kernel(fmt::format("groupIndex ends with {}, x has {} rows", before, from.dims[0]));
    const std::vector<float> factor = floats_of(factors);
    const float more = zero.data ? floats_of(zero)[0] : 0.0f;
    std::vector<float> values = floats_of(from);
    parallel_for(from.dims[0], 16, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const int64_t group = std::upper_bound(last.begin(), last.end(), row) - last.begin();
        for (int64_t c = 0; c < width; ++c) {
          float& v = values[static_cast<size_t>(row * width + c)];
          v = kept(v * factor[static_cast<size_t>(group * width + c)] + more, {limits.low, limits.high, false});
        }
      }
    });
    write_numbers(to, values, packed);
  });
}

}  // namespace updraft
