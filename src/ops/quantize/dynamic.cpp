// Quantisation with a scale that each row finds for itself, and what products of quantised numbers take as scales.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/parallel.h"
#include "ops/quantize/numbers.h"
#include "tensor/view_algebra.h"

namespace updraft {
namespace {

/// The scale (and offset) of a row, which is quantised in place.
void quantise_row(float* x, int64_t n, Range r, float* scale, float* offset) {
  if (!offset) return quantise_by_largest(x, n, nullptr, r, scale);
  const auto [low, high] = std::minmax_element(x, x + n);
  const float most = *high;
  *scale = (most - *low) / (r.high - r.low);
  *offset = *scale > 0 ? r.high - most / *scale : 0.0f;
  for (int64_t c = 0; c < n; ++c) x[c] = *scale > 0 ? kept(x[c] / *scale + *offset, r) : 0.0f;
}

void plan_dynamic(Op& op, const TensorView& x, const OptIn& smooth, const OptIn& groups, bool symmetric,
                  const char* mode, int64_t type, const TensorView& y, const TensorView& scale, const OptOut& offset) {
  op.require(x.rank >= 2 && compute_of(x.dtype) == Compute::F32, "x is {}, want rows of FLOAT, FLOAT16 or BFLOAT16",
             describe(x));
  const bool per_tensor = !std::strcmp(mode, "pertensor"), per_channel = !std::strcmp(mode, "perchannel");
  op.require(per_tensor || per_channel || !std::strcmp(mode, "pertoken"),
             "quantMode is \"{}\", want \"pertoken\", \"pertensor\" or \"perchannel\"", mode);
  const int64_t n = row_length(x);
  TensorView shape = x;
  if (y.dtype == DType::Int32 || (y.dtype == DType::Undefined && type == kInt4)) {
    op.require(n % 8 == 0, "x is {}: eight numbers of four bits fill an INT32", describe(x));
    shape.dims[shape.rank - 1] = n / 8;
  }
  if (y.dtype == DType::Undefined) op.suggest_like(y, shape, type == kInt4 ? DType::Int32 : DType::Int8);
  const Range range = range_of(op, y);
  op.result_like("y", y, shape, y.dtype);
  // Per channel each column of a matrix has a scale: the last two dimensions change places.
  const TensorView from = per_channel ? turned(x) : x;
  const int64_t length = per_tensor ? x.numel() : row_length(from),
                lines = per_tensor ? 1 : x.numel() / std::max<int64_t>(1, length);
  if (op.inferring()) {
    TensorView kept = drop_dim(from, from.rank - 1);
    if (per_tensor) {
      kept.rank = 1;
      kept.dims[0] = 1;
    }
    op.suggest_like(scale, kept, DType::Float);
    if (offset) op.suggest_like(*offset, kept, DType::Float);
  }
  op.require(scale.numel() == lines && scale.dtype == DType::Float, "scale is {}, want {} values of FLOAT",
             describe(scale), lines);
  op.require(symmetric || offset, "offset is null, which quantisation that is not symmetric needs");
  if (!symmetric && offset)
    op.require(offset->numel() == lines, "offset is {}, want {} values", describe(*offset), lines);
  op.require(!range.packed || !per_channel, "INT4 is not supported with quantMode \"perchannel\"");
  if (smooth) {
    const int64_t want = groups ? groups->numel() * n : per_channel ? x.dims[x.rank - 2] : n;
    op.require(smooth->numel() == want, "smoothScales is {}, want {} values", describe(*smooth), want);
  }
  op.require(!groups || (smooth && !per_channel), "groupIndex is given, which wants smoothScales and \"pertoken\"");
  if (x.empty()) return;
  TensorView factor, ends, to_offset;
  if (smooth) factor = *smooth;
  if (groups) ends = *groups;
  if (!symmetric) to_offset = *offset;
  op.work(x.numel() * 6);
  op.launch([=] {
    std::vector<float> values(static_cast<size_t>(from.numel())), scales(static_cast<size_t>(lines)),
        offsets(static_cast<size_t>(to_offset.data ? lines : 0));
    gather_to(values.data(), DType::Float, from);
    const std::vector<float> by = factor.data ? floats_of(factor) : std::vector<float>();
    const std::vector<int64_t> end_of = ends.data ? integers_of(ends) : std::vector<int64_t>();
    const int64_t width = per_tensor ? n : length;
    if (!by.empty()) {
      parallel_for(from.numel() / width, std::max<int64_t>(1, 4096 / width), [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const float* f = by.data();
          if (!end_of.empty()) {
            // Rows up to the end that a group gives, beginning where the one before ended.
            int64_t group = 0, start = 0;
            bool found = false;
            for (; group < static_cast<int64_t>(end_of.size()); start = end_of[static_cast<size_t>(group++)])
              if (i >= start && i < end_of[static_cast<size_t>(group)]) {
                found = true;
                break;
              }
            if (!found) continue;
            f += group * n;
          }
          for (int64_t c = 0; c < width; ++c) values[static_cast<size_t>(i * width + c)] *= f[c];
        }
      });
    }
    parallel_for(lines, std::max<int64_t>(1, 4096 / length), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        quantise_row(values.data() + i * length, length, range, &scales[static_cast<size_t>(i)],
                     offsets.empty() ? nullptr : &offsets[static_cast<size_t>(i)]);
    });
    if (per_channel) {
      TensorView to = turned(y);
      write_all(to, values);
    } else {
      write_numbers(y, values, range.packed);
    }
    write_all(scale, scales);
    if (to_offset.data) write_all(to_offset, offsets);
  });
}

/// FLOAT without the thirteen lowest bits of its fraction, as the unit that multiplies by it reads it.
uint32_t short_float(float x) { return std::bit_cast<uint32_t>(x) & 0xFFFFE000u; }

void plan_param(Op& op, const TensorView& scale, const OptIn& offset, const TensorView& out) {
  op.require(scale.dtype == DType::Float, "scale is {}, want FLOAT", describe(scale));
  if (offset) op.require(offset->dtype == DType::Float, "offset is {}, want FLOAT", describe(*offset));
  const TensorView& longer = offset && offset->numel() > scale.numel() ? *offset : scale;
  op.suggest_like(out, longer, DType::Int64);
  op.require(out.numel() == longer.numel() && size_of(out.dtype) == 8, "out is {}, want {} values of UINT64 or INT64",
             describe(out), longer.numel());
  if (offset)
    op.require(offset->numel() == 1 || offset->numel() == longer.numel(), "offset is {}, want 1 or {} values",
               describe(*offset), longer.numel());
  op.require(scale.numel() == 1 || scale.numel() == longer.numel(), "scale is {}, want 1 or {} values", describe(scale),
             longer.numel());
  if (out.empty()) return;
  TensorView add;
  if (offset) add = *offset;
  op.launch([=] {
    const std::vector<float> s = floats_of(scale), o = add.data ? floats_of(add) : std::vector<float>();
    std::vector<int64_t> words(static_cast<size_t>(out.numel()));
    for (size_t i = 0; i < words.size(); ++i) {
      uint64_t word = short_float(s[s.size() == 1 ? 0 : i]) | uint64_t{1} << 46;
      if (!o.empty()) {
        const float whole = std::clamp(std::nearbyint(o[o.size() == 1 ? 0 : i]), -256.0f, 255.0f);
        word |= (static_cast<uint64_t>(static_cast<int64_t>(whole)) & 0x1FFu) << 37;
      }
      words[i] = static_cast<int64_t>(word);
    }
    write_all(out, words);
  });
}

}  // namespace

SAMPLE(aclnnDynamicQuant, "x=f32[N,M] smoothScalesOptional=f32[M] yOut=i8[N,M] scaleOut=f32[N]")
ABOUT(aclnnDynamicQuant, Vector, "Each row divided by its largest magnitude / 127 and rounded to INT8",
      "每行除以其最大绝对值 / 127 并取整为 INT8")
ACLNN(aclnnDynamicQuant, (In, x), (OptIn, smoothScalesOptional), (Out, yOut), (Out, scaleOut)) {
  plan_dynamic(op, *x, smoothScalesOptional, OptIn{nullptr}, true, "pertoken", 0, *yOut, *scaleOut, OptOut{nullptr});
}
SAMPLE(aclnnDynamicQuantV2,
       "x=f32[N,M] smoothScalesOptional=f32[M] groupIndexOptional=null dstType=2 yOut=i8[N,M] "
       "scaleOut=f32[N] offsetOut=f32[N]")
ABOUT(aclnnDynamicQuantV2, Vector, "As aclnnDynamicQuant, in INT8 or INT4; with offsetOut from the row's range",
      "同 aclnnDynamicQuant，支持 INT8、INT4；给出 offsetOut 时按行的取值范围量化")
ACLNN(aclnnDynamicQuantV2, (In, x), (OptIn, smoothScalesOptional), (OptIn, groupIndexOptional), (Int, dstType),
      (Out, yOut), (Out, scaleOut), (OptOut, offsetOut)) {
  plan_dynamic(op, *x, smoothScalesOptional, groupIndexOptional, !offsetOut, "pertoken", dstType, *yOut, *scaleOut,
               offsetOut);
}
SAMPLE(aclnnDynamicQuantV3,
       "x=f32[N,M] smoothScalesOptional=null groupIndexOptional=null dstType=2 isSymmetrical=false quantMode=pertoken "
       "yOut=i8[N,M] scaleOut=f32[N] offsetOut=f32[N]")
ABOUT(aclnnDynamicQuantV3, Vector, "As aclnnDynamicQuantV2, for each row, for each column or for the whole tensor",
      "同 aclnnDynamicQuantV2，可按行、按列或整个张量量化")
ACLNN(aclnnDynamicQuantV3, (In, x), (OptIn, smoothScalesOptional), (OptIn, groupIndexOptional), (Int, dstType),
      (Bool, isSymmetrical), (Text, quantMode), (Out, yOut), (Out, scaleOut), (OptOut, offsetOut)) {
  plan_dynamic(op, *x, smoothScalesOptional, groupIndexOptional, isSymmetrical, quantMode, dstType, *yOut, *scaleOut,
               offsetOut);
}

SAMPLE(aclnnTransQuantParamV2, "scale=f32[M] offset=null out=i64[M]")
ABOUT(aclnnTransQuantParamV2, Vector, "Scales (19 bits of FLOAT) and offsets (9 bits) as the words that products take",
      "将 scale（FLOAT 的 19 位）与 offset（9 位）编码为矩阵乘所用的 64 位参数")
ACLNN(aclnnTransQuantParamV2, (In, scale), (OptIn, offset), (Out, out)) { plan_param(op, *scale, offset, *out); }

SAMPLE(aclnnAscendAntiQuant, "x=i8[N,M] scale=f32[M] offset=f32[M] dstType=0 sqrtMode=false y=f32[N,M]")
ABOUT(aclnnAscendAntiQuant, Vector, "y = (x + offset) * scale; scale squared with sqrtMode",
      "反量化 y = (x + offset) * scale，sqrtMode 时 scale 取平方")
ACLNN(aclnnAscendAntiQuant, (In, x), (In, scale), (OptIn, offset), (Int, dstType), (Bool, sqrtMode), (Out, y)) {
  (void)dstType;  // what y is
  op.require(x->rank >= 1 && (x->dtype == DType::Int8 || x->dtype == DType::Int32),
             "x is {}, want INT8 or INT32 (INT4)", describe(*x));
  const bool packed = x->dtype == DType::Int32;
  TensorView shape = *x;
  if (packed) shape.dims[shape.rank - 1] *= 8;
  op.result_like("y", *y, shape, y->dtype == DType::Undefined ? DType::Float : y->dtype);
  const int64_t n = row_length(shape);
  for (const TensorView* v : {&*scale, offset ? &*offset : &*scale})
    op.require(v->numel() == 1 || v->numel() == n, "scale or offset is {}, want 1 or {} values", describe(*v), n);
  if (y->empty()) return;
  TensorView add;
  if (offset) add = *offset;
  op.work(y->numel() * 3);
  op.launch([=, x = *x, scale = *scale, y = *y] {
    const std::vector<float> s = floats_of(scale), o = add.data ? floats_of(add) : std::vector<float>{0.0f};
    std::vector<float> values(static_cast<size_t>(y.numel()));
    if (packed) {
      const std::vector<int32_t> words = gathered<int32_t>(x);
      for (size_t i = 0; i < values.size(); ++i)
        values[i] =
            static_cast<float>(static_cast<int32_t>(static_cast<uint32_t>(words[i / 8]) << (28 - i % 8 * 4)) >> 28);
    } else {
      values = floats_of(x);
    }
    for (size_t i = 0; i < values.size(); ++i) {
      const size_t c = i % static_cast<size_t>(n);
      const float by = s[s.size() == 1 ? 0 : c];
      values[i] = (values[i] + o[o.size() == 1 ? 0 : c]) * (sqrtMode ? by * by : by);
    }
    write_all(y, values);
  });
}

}  // namespace updraft
