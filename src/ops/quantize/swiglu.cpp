// SwiGLU whose result is quantised, by groups of rows on request.
#include <cstring>

#include "base/parallel.h"
#include "ops/quantize/numbers.h"
#include "tensor/view_algebra.h"

namespace updraft {
namespace {

struct SwiGluQuant {
  TensorView gate, other;  // the halves of x, the first through the activation
  TensorView factor{}, offset{}, groups{}, y{}, scale{};
  bool dynamic = false, counts = false, four_bits = false;
};

/// The group of each row, -1 behind the last one.
std::vector<int64_t> group_of_rows(const SwiGluQuant& q, int64_t rows) {
  if (!given(q.groups)) return std::vector<int64_t>(static_cast<size_t>(rows), 0);
  std::vector<int64_t> group(static_cast<size_t>(rows), -1);
  int64_t begin = 0, number = 0;
  for (int64_t value : integers_of(q.groups)) {
    const int64_t end = q.counts ? begin + value : value;
    if (end < begin || end > rows)
      fail_kernel(fmt::format("swiglu_quant: group {} ends at row {}, want {} to {}", number, end, begin, rows));
    std::fill(group.begin() + begin, group.begin() + end, number++);
    begin = end;
  }
  return group;
}

void run(const SwiGluQuant& q) {
  const int64_t n = row_length(q.gate), rows = q.gate.numel() / n;
  const Range range = q.four_bits ? Range{-8, 7, false} : Range{-128, 127, false};
  std::vector<float> x = floats_of(q.gate), scales(static_cast<size_t>(q.dynamic ? rows : 0));
  const std::vector<float> other = floats_of(q.other),
                           factor = given(q.factor) ? floats_of(q.factor) : std::vector<float>(),
                           offset = given(q.offset) ? floats_of(q.offset) : std::vector<float>();
  const std::vector<int64_t> group = group_of_rows(q, rows);
  const bool each = given(q.factor) && q.factor.rank == 2;  // a factor for each column
  parallel_for(rows, std::max<int64_t>(1, 2048 / n), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      float* v = x.data() + i * n;
      const int64_t g = group[static_cast<size_t>(i)];
      auto of = [&](const std::vector<float>& values, int64_t c, float none) {
        return values.empty() || g < 0 ? none : values[static_cast<size_t>(each ? g * n + c : g)];
      };
      float most = 0;
      for (int64_t c = 0; c < n; ++c) {
        v[c] = v[c] / (1 + std::exp(-v[c])) * other[static_cast<size_t>(i * n + c)] * of(factor, c, 1);
        if (!q.dynamic) v[c] = kept(v[c] + of(offset, c, 0), range);
        most = std::max(most, std::abs(v[c]));
      }
      if (!q.dynamic) continue;
      // This operator gives what the numbers were multiplied by, not what they are to be multiplied by.
      const float scale = range.high / most;
      scales[static_cast<size_t>(i)] = scale;
      for (int64_t c = 0; c < n; ++c) v[c] = kept(v[c] * scale, range);
    }
  });
  if (q.dynamic) write_all(q.scale, scales);
  if (!q.four_bits) return write_all(q.y, x);
  std::vector<int8_t> bytes(x.size() / 2);
  for (size_t i = 0; i < bytes.size(); ++i) {
    const auto low = static_cast<uint8_t>(static_cast<int8_t>(x[2 * i])),
               high = static_cast<uint8_t>(static_cast<int8_t>(x[2 * i + 1]));
    bytes[i] = static_cast<int8_t>((low & 15u) | high << 4);
  }
  write_all(q.y, bytes);
}

}  // namespace

SAMPLE(aclnnSwiGluQuantV2,
       "x=f32[6,2M] smoothScales=f32[2,M] offsets=null groupIndex=i32[2]:2..3 activateLeft=false quantMode=dynamic "
       "groupListType=1 outputType=2 y=i8[6,M] scale=f32[6]")
ABOUT(aclnnSwiGluQuantV2, Vector, "SwiGLU of x's halves, smoothed by groups of rows and quantised to INT8 or INT4",
      "对 x 的两半做 SwiGLU，按行分组平滑后量化为 INT8 或 INT4")
ACLNN(aclnnSwiGluQuantV2, (In, x), (OptIn, smoothScales), (OptIn, offsets), (OptIn, groupIndex), (Bool, activateLeft),
      (Text, quantMode), (Int, groupListType), (Int32, outputType), (Out, y), (Out, scale)) {
  op.require(x->rank >= 2 && compute_of(x->dtype) == Compute::F32 && row_length(*x) % 2 == 0,
             "x is {}, want rows of an even number of FLOAT, FLOAT16 or BFLOAT16", describe(*x));
  const bool dynamic = !std::strcmp(quantMode, "dynamic"), four_bits = outputType == kInt4;
  op.require(dynamic || !std::strcmp(quantMode, "static"), "quantMode is \"{}\", want \"static\" or \"dynamic\"",
             quantMode);
  op.require(groupListType == 0 || groupListType == 1, "groupListType is {}, want 0 (ends) or 1 (counts)",
             groupListType);
  op.require(four_bits || outputType == 2, "outputType is {}, want 2 (INT8) or {} (INT4)", outputType, kInt4);
  const int last = x->rank - 1;
  const int64_t n = row_length(*x) / 2, groups = groupIndex ? groupIndex->numel() : 1;
  op.require(!four_bits || n % 2 == 0, "x is {}: two numbers of four bits fill an INT8", describe(*x));
  TensorView shape = *x;
  shape.dims[last] = four_bits ? n / 2 : n;
  op.result_like("y", *y, shape, DType::Int8);
  op.result_like("scale", *scale, drop_dim(*x, last), DType::Float);
  op.require(dynamic || (smoothScales && offsets), "quantMode \"static\" wants smoothScales and offsets");
  if (smoothScales) {
    const int64_t want[] = {groups, n};
    op.require_shape("smoothScales", *smoothScales, want, smoothScales->rank == 2 ? 2 : 1);
  }
  if (!dynamic) op.require_same_shape("offsets", *offsets, "smoothScales", *smoothScales);
  op.require(!groupIndex || (groupIndex->rank == 1 && is_integral(groupIndex->dtype) && smoothScales),
             "groupIndex is {}, want whole numbers [groups], with smoothScales",
             groupIndex ? describe(*groupIndex).text() : "");
  if (x->empty()) return;
  SwiGluQuant q{.gate = half_of(*x, last, activateLeft ? 0 : 1), .other = half_of(*x, last, activateLeft ? 1 : 0)};
  if (smoothScales) q.factor = *smoothScales;
  if (!dynamic) q.offset = *offsets;
  if (groupIndex) q.groups = *groupIndex;
  q.y = *y;
  q.scale = *scale;
  q.dynamic = dynamic;
  q.counts = groupListType == 1;
  q.four_bits = four_bits;
  op.work(x->numel() * 8);
  op.launch([q] { run(q); });
}

}  // namespace updraft
