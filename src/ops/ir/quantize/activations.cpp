// Activations of language models as eight bits: after GELU, and in blocks.
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

IR_OP(DynamicBlockQuant, aclnnDynamicBlockQuant, (In, x), (Out, y), (Out, scale), (Float, min_scale, 0),
      (Text, round_mode, "rint"), (Int, dst_type, 35), (Int, row_block_size, 1), (Int, col_block_size, 128),
      (Float, dst_type_max, 0)) {
  ir::want(op, "dst_type_max", dst_type_max, 0.0f);
  call(op, "aclnnDynamicBlockQuant", x, min_scale, round_mode, dst_type, row_block_size, col_block_size, y, scale);
}

}  // namespace updraft
