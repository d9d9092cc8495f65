// Activations of language models as eight bits: after GELU, and in blocks of a row.
#include <cmath>

#include "base/parallel.h"
#include "ops/gathered.h"
#include "ops/ir/shapes.h"

namespace updraft {
namespace {

constexpr int64_t kInt8 = static_cast<int64_t>(DType::Int8);

}  // namespace

ABOUT(GeluQuant, Vector, "GELU in FLOAT, then INT8 by input_scale and input_offset, or by each row's largest magnitude",
      "GELU 后量化为 INT8：static 用 input_scale 与 input_offset，dynamic 按每行最大绝对值")
IR_OP(GeluQuant, GeluQuant, (In, x), (OptIn, input_scale), (OptIn, input_offset), (Out, y), (OptOut, out_scale),
      (Text, approximate, "none"), (Text, quant_mode, "dynamic"), (Int, dst_type, kInt8), (Text, round_mode, "rint")) {
  const std::string_view how = approximate, mode = quant_mode;
  op.require(how == "none" || how == "tanh", "approximate is \"{}\", want \"none\" or \"tanh\"", how);
  op.require(mode == "static" || mode == "dynamic", "quant_mode is \"{}\", want \"static\" or \"dynamic\"", mode);
  ir::want(op, "dst_type", dst_type, kInt8);
  ir::want(op, "round_mode", round_mode, "rint");
  Temp real(DType::Float), activated;
  call(op, "aclnnCast", x, DType::Float, real);
  call(op, "aclnnGeluV2", *real, how == "tanh" ? 1 : 0, activated);
  op.result_like("y", *y, *x, DType::Int8);
  if (mode == "static") {
    op.require(static_cast<bool>(input_scale), "quant_mode is \"static\": want input_scale");
    if (out_scale) ir::result(op, "out_scale", *out_scale, {0}, DType::Float);
    Temp scale(DType::Float), offset(DType::Float);
    call(op, "aclnnCast", input_scale, DType::Float, scale);
    if (!input_offset)
      return call(op, "aclnnAscendQuant", *activated, *scale, nullptr, false, "round", static_cast<int32_t>(kInt8), y);
    call(op, "aclnnCast", input_offset, DType::Float, offset);
    return call(op, "aclnnAscendQuant", *activated, *scale, *offset, false, "round", static_cast<int32_t>(kInt8), y);
  }
  op.require(!input_offset, "input_offset is given, want none where quant_mode is \"dynamic\"");
  op.require(static_cast<bool>(out_scale), "quant_mode is \"dynamic\": out_scale is wanted");
  if (!input_scale) return call(op, "aclnnDynamicQuantV2", *activated, nullptr, nullptr, kInt8, y, out_scale, nullptr);
  Temp smooth(DType::Float);
  call(op, "aclnnCast", input_scale, DType::Float, smooth);
  call(op, "aclnnDynamicQuantV2", *activated, *smooth, nullptr, kInt8, y, out_scale, nullptr);
}

ABOUT(DynamicBlockQuant, Vector, "Blocks of rows and columns divided by their largest magnitude / 127, rounded to INT8",
      "按行列分块，每块除以最大绝对值 / 127 并取整为 INT8")
IR_OP(DynamicBlockQuant, DynamicBlockQuant, (In, x), (Out, y), (Out, scale), (Float, min_scale, 0),
      (Text, round_mode, "rint"), (Int, dst_type, 35), (Int, row_block_size, 1), (Int, col_block_size, 128),
      (Float, dst_type_max, 0)) {
  ir::want(op, "min_scale", min_scale, 0.0f);
  ir::want(op, "round_mode", round_mode, "rint");
  ir::want(op, "dst_type", dst_type, kInt8);
  ir::want(op, "dst_type_max", dst_type_max, 0.0f);
  op.require(x->rank == 2 || x->rank == 3, "x is {}, want 2 or 3 dimensions", describe(*x));
  op.require(compute_of(x->dtype) == Compute::F32, "x is {}, want FLOAT, FLOAT16 or BFLOAT16", describe(*x));
  op.require(row_block_size > 0 && col_block_size > 0, "blocks are of {} rows and {} columns, want 1 or more",
             row_block_size, col_block_size);
  const int64_t rows = x->dims[x->rank - 2], columns = x->dims[x->rank - 1];
  const int64_t down = row_block_size, across = col_block_size;
  const int64_t tall = (rows + down - 1) / down, wide = (columns + across - 1) / across;
  op.result_like("y", *y, *x, DType::Int8);
  ir::Dims dims = ir::dims_of(*x);
  dims[dims.size() - 2] = tall;
  dims[dims.size() - 1] = wide;
  ir::result(op, "scale", *scale, dims, DType::Float);
  op.work(3 * x->numel());
  op.launch([=, from = *x, to = *y, factors = *scale] {
    const std::vector<float> v = floats_of(from);
    std::vector<int8_t> bytes(v.size());
    std::vector<float> scales(static_cast<size_t>(factors.numel()));
    parallel_for(factors.numel(), 16, [&](int64_t begin, int64_t end) {
      for (int64_t block = begin; block < end; ++block) {
        const int64_t matrix = block / (tall * wide), r = block / wide % tall * down, c = block % wide * across;
        const int64_t last_row = std::min(rows, r + down), last_column = std::min(columns, c + across);
        const auto each = [&](auto&& f) {
          for (int64_t i = r; i < last_row; ++i)
            for (int64_t j = c; j < last_column; ++j) f(static_cast<size_t>((matrix * rows + i) * columns + j));
        };
        float most = 0;
        each([&](size_t i) { most = std::max(most, std::abs(v[i])); });
        const float factor = scales[static_cast<size_t>(block)] = most / 127;
        each([&](size_t i) {
          bytes[i] =
              factor == 0 ? int8_t{0} : static_cast<int8_t>(std::clamp(std::nearbyint(v[i] / factor), -128.0f, 127.0f));
        });
      }
    });
    write_all(to, bytes);
    write_all(factors, scales);
  });
}

}  // namespace updraft
