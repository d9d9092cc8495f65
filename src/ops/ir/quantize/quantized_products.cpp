// Quantised and grouped products of language models by the names of graphs: TorchAir and MindSpore ask for these.
#include "ops/ir/shapes.h"
#include "ops/matmul/quantised.h"

namespace updraft {
namespace {

using ir::Dims;
using quantised::matrix_dims;

/// While inferring: the result of a product in a type that an attribute says; the step checks its shape.
void suggest_product(Op& op, const TensorView& a, const TensorView& b, const TensorView& y, DType type) {
  if (!op.inferring()) return;
  int64_t m = 0, k = 0, n = 0;
  matrix_dims(a, &m, &k);
  matrix_dims(b, &k, &n);
  Dims dims(kMaxDims);
  const int rank = broadcast_shape(a.dims, a.rank - 2, b.dims, b.rank - 2, dims.data());
  dims.resize(static_cast<size_t>(rank));
  dims.push_back(m);
  dims.push_back(n);
  ir::suggest(op, y, dims, type);
}

/// An attribute that names a type by its number in aclDataType; -1 leaves it open.
DType named_type(const Op& op, const char* name, int64_t number, DType open) {
  if (number == -1) return open;
  const auto type = static_cast<DType>(number);
  op.require(type == DType::Float || type == DType::Float16 || type == DType::BFloat16 || type == DType::Int8 ||
                 type == DType::Int32,
             "attribute {} is {}, want 0 (FLOAT), 1 (FLOAT16), 2 (INT8), 3 (INT32) or 27 (BFLOAT16)", name, number);
  return type;
}

}  // namespace

IR_OP(TransQuantParamV2, aclnnTransQuantParamV2, (In, scale), (OptIn, offset), (Out, y), (Int, round_mode, 0)) {
  op.require(round_mode == 0 || round_mode == 1, "attribute round_mode is {}, want 0 or 1", round_mode);
  call(op, "aclnnTransQuantParamV2", scale, offset, y);
}
IR_OP(AscendAntiQuant, aclnnAscendAntiQuant, (In, x), (Out, y), (Float, scale), (Float, offset), (Int, dtype, 0),
      (Bool, sqrt_mode, false)) {
  op.result_like("y", *y, *x, named_type(op, "dtype", dtype, DType::Float));
  call(op, "aclnnAscendAntiQuant", x, ir::constant(op, DType::Float, static_cast<double>(scale)),
       ir::constant(op, DType::Float, static_cast<double>(offset)), dtype, sqrt_mode, y);
}
IR_OP(AscendAntiQuantV2, aclnnAscendAntiQuant, (In, x), (In, scale), (OptIn, offset), (Out, y), (Int, dst_type, 1),
      (Bool, sqrt_mode, false)) {
  if (op.inferring() && (x->dtype == DType::Int8 || x->dtype == DType::Int32)) {
    Dims dims = ir::dims_of(*x);
    if (x->dtype == DType::Int32 && !dims.empty()) dims.back() *= 8;  // INT4, eight each
    ir::suggest(op, *y, dims, named_type(op, "dst_type", dst_type, DType::Float16));
  }
  call(op, "aclnnAscendAntiQuant", x, scale, offset, dst_type, sqrt_mode, y);
}
IR_OP(QuantBatchMatmulV3, aclnnQuantMatmulV4, (In, x1), (In, x2), (In, scale), (OptIn, offset), (OptIn, bias),
      (OptIn, pertoken_scale), (Out, y), (Int, dtype), (Bool, transpose_x1, false), (Bool, transpose_x2, false)) {
  suggest_product(op, ir::turned(op, "x1", *x1, transpose_x1), ir::turned(op, "x2", *x2, transpose_x2), *y,
                  named_type(op, "dtype", dtype, DType::Float16));
  // Eager calls bring such scales into the words of the unit, which are shorter: so is it here, for the same bits.
  if (scale->dtype == DType::Float && !pertoken_scale && (y->dtype == DType::Float16 || y->dtype == DType::Int8)) {
    Temp words;
    call(op, "aclnnTransQuantParamV2", scale, offset, words);
    return call(op, "aclnnQuantMatmulV4", x1, x2, *words, nullptr, pertoken_scale, bias, transpose_x1, transpose_x2, y);
  }
  call(op, "aclnnQuantMatmulV4", x1, x2, scale, offset, pertoken_scale, bias, transpose_x1, transpose_x2, y);
}
IR_OP(WeightQuantBatchMatmulV2, aclnnWeightQuantBatchMatmulV2, (In, x), (In, weight), (In, antiquant_scale),
      (OptIn, antiquant_offset), (OptIn, quant_scale), (OptIn, quant_offset), (OptIn, bias), (Out, y),
      (Bool, transpose_x, false), (Bool, transpose_weight, false), (Int, antiquant_group_size, 0), (Int, dtype, -1),
      (Int, inner_precise, 0)) {
  (void)inner_precise;  // how a card rounds inside
  const TensorView a = ir::turned(op, "x", *x, transpose_x), b = ir::turned(op, "weight", *weight, transpose_weight);
  suggest_product(op, a, b, *y, named_type(op, "dtype", dtype, quant_scale ? DType::Int8 : x->dtype));
  call(op, "aclnnWeightQuantBatchMatmulV2", a, b, antiquant_scale, antiquant_offset, quant_scale, quant_offset, bias,
       antiquant_group_size, y);
}
IR_OP(FFN, aclnnFFNV2, (In, x), (In, weight1), (In, weight2), (OptIn, expert_tokens), (OptIn, bias1), (OptIn, bias2),
      (OptIn, scale), (OptIn, offset), (OptIn, deq_scale1), (OptIn, deq_scale2), (OptIn, antiquant_scale1),
      (OptIn, antiquant_scale2), (OptIn, antiquant_offset1), (OptIn, antiquant_offset2), (Out, y), (Text, activation),
      (Int, inner_precise, 0), (Int, output_dtype, -1), (Bool, tokens_index_flag, false)) {
  // Where x is INT8 it says whether the result is FLOAT16 (0) or BFLOAT16 (1).
  op.require(output_dtype >= -1 && output_dtype <= 1, "attribute output_dtype is {}, want -1, 0 or 1", output_dtype);
  if (op.inferring() && output_dtype == 1 && is_integral(x->dtype)) {
    Dims dims = ir::dims_of(*x);
    dims.back() = weight2->dims[weight2->rank - 1];
    ir::suggest(op, *y, dims, DType::BFloat16);
  }
  call(op, "aclnnFFNV2", x, weight1, weight2, ir::integers_of(op, "expert_tokens", expert_tokens), bias1, bias2, scale,
       offset, deq_scale1, deq_scale2, antiquant_scale1, antiquant_scale2, antiquant_offset1, antiquant_offset2,
       activation, inner_precise, tokens_index_flag, y);
}
// The type of the results is what x and scale say: so does the attribute dtype.
IR_OP(GroupedMatmul, aclnnGroupedMatmulV4, (Tensors, x), (Tensors, weight), (OptTensors, bias), (OptTensors, scale),
      (OptTensors, offset), (OptTensors, antiquant_scale), (OptTensors, antiquant_offset), (OptIn, group_list),
      (OptIn, per_token_scale), (OutTensors, y), (Int, split_item, 0), (Int, dtype, 0), (Bool, transpose_weight, false),
      (Bool, transpose_x, false), (Int, group_type, -1), (Int, group_list_type, 0), (Int, act_type, 0),
      (Ints, tuning_config, 0)) {
  (void)dtype, (void)tuning_config;  // how a card cuts the work
  ir::want(op, "transpose_weight", transpose_weight, false);
  ir::want(op, "transpose_x", transpose_x, false);
  StepArgument tokens = nullptr;
  if (per_token_scale) tokens = std::vector<const TensorView*>{&*per_token_scale};
  call(op, "aclnnGroupedMatmulV4", x, weight, bias, scale, offset, antiquant_scale, antiquant_offset, tokens,
       group_list, nullptr, nullptr, nullptr, split_item, group_type, group_list_type, act_type, y, nullptr, nullptr);
}

IR_OP(GroupedMatmulSwigluQuantV2, aclnnGroupedMatmulSwigluQuantV2, (In, x), (In, x_scale), (In, group_list),
      (Tensors, weight), (Tensors, weight_scale), (OptTensors, weight_assist_matrix), (OptIn, bias),
      (OptTensors, smooth_scale), (Out, y), (Out, y_scale), (Int, dequant_mode, 0), (Int, dequant_dtype, 0),
      (Int, quant_mode, 0), (Int, quant_dtype, 1), (Bool, transpose_weight, false), (Int, group_list_type, 0),
      (Ints, tuning_config, 0)) {
  (void)tuning_config;  // how a card cuts the work
  ir::want(op, "transpose_weight", transpose_weight, false);
  // The IR's default is no type that rows are quantised to: it stands for INT8, as its number in torch does.
  op.require(quant_dtype == 1 || quant_dtype == static_cast<int64_t>(DType::Int8),
             "attribute quant_dtype is {}, want 2 (INT8)", quant_dtype);
  op.require(smooth_scale.size() <= 1, "smooth_scale has {} tensors, want one", smooth_scale.size());
  // TorchAir makes UINT8 of its default, 0, which is the number of that type in torch.
  const int64_t between = dequant_dtype == static_cast<int64_t>(DType::UInt8) ? 0 : dequant_dtype;
  StepArgument smooth = nullptr;
  if (smooth_scale.size() && smooth_scale.item(0)) smooth = smooth_scale[0];
  call(op, "aclnnGroupedMatmulSwigluQuantV2", x, weight, weight_scale, weight_assist_matrix, bias, x_scale, smooth,
       group_list, dequant_mode, between, quant_mode, group_list_type, nullptr, y, y_scale);
}

IR_OP(GroupedMatmulFinalizeRouting, aclnnGroupedMatmulFinalizeRoutingV3, (In, x), (In, w), (OptIn, scale),
      (OptIn, bias), (OptIn, pertoken_scale), (OptIn, group_list), (OptIn, shared_input), (OptIn, logit),
      (OptIn, row_index), (OptIn, offset), (Out, y), (Int, dtype, 0), (Float, shared_input_weight, 1),
      (Int, shared_input_offset, 0), (Bool, transpose_x, false), (Bool, transpose_w, false), (Int, output_bs, 0),
      (Int, group_list_type, 1), (Ints, tuning_config, nullptr)) {
  (void)tuning_config;  // how a card cuts the work
  op.require(x->rank == 2 && (w->rank == 3 || w->rank == 5), "x is {} and w {}, want a matrix, and one for each expert",
             describe(*x), describe(*w));
  const int64_t n = w->rank == 5 ? w->dims[1] * w->dims[4] : w->dims[transpose_w ? 1 : 2];
  ir::result(op, "y", *y, {output_bs ? output_bs : x->dims[0], n}, DType::Float);
  call(op, "aclnnGroupedMatmulFinalizeRoutingV3", x, w, scale, bias, offset, nullptr, nullptr, pertoken_scale,
       group_list, shared_input, logit, row_index, dtype, shared_input_weight, shared_input_offset, transpose_x,
       transpose_w, group_list_type, nullptr, y);
}

IR_OP(QuantMatmulReduceSum, aclnnQuantMatmulReduceSumWeightNz, (In, x1), (In, x2), (In, dims), (OptIn, bias),
      (OptIn, x1_scale), (OptIn, x2_scale), (OptIn, y_scale), (OptIn, x1_offset), (OptIn, x2_offset), (OptIn, y_offset),
      (OptIn, x2_table), (Out, y), (Int, dtype), (Int, compute_type, -1), (Bool, transpose_x1, false),
      (Bool, transpose_x2, false), (Int, group_size, -1), (Bool, keep_dims, false)) {
  ir::want(op, "compute_type", compute_type, -1);
  ir::want(op, "dtype", dtype, static_cast<int64_t>(DType::BFloat16));
  op.require(!x2_table, "x2_table is given, which is not supported");
  const std::vector<int64_t> sums = op.integers("dims", dims.handle);
  op.require(sums == std::vector<int64_t>{0}, "dims is {}, want 0, the batches", fmt::join(sums, ","));
  call(op, "aclnnQuantMatmulReduceSumWeightNz", x1, x2, x1_scale, x2_scale, y_scale, x1_offset, x2_offset, y_offset,
       bias, transpose_x1, transpose_x2, group_size, sums, keep_dims, y);
}

}  // namespace updraft
