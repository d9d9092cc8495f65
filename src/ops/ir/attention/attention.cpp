// What transformers ask for beside products: masked softmax, rotary embeddings, transposes of heads.
#include "ops/ir/shapes.h"

namespace updraft {
namespace {

using ir::Dims;

void confusion(Op& op, const In& x, const Dims& perm, const Dims& shape, bool transpose_first, const Out& y) {
  Dims dims = shape;
  if (!transpose_first) {
    op.require(ir::axes_of(op, "perm", perm, static_cast<int>(shape.size())).size() == shape.size(),
               "perm has {} values, want {}", perm.size(), shape.size());
    for (size_t d = 0; d < perm.size(); ++d) dims[d] = shape[static_cast<size_t>(perm[d])];
  }
  ir::result(op, "y", *y, dims, x->dtype);
  call(op, "aclnnConfusionTranspose", x, perm, shape, transpose_first, y);
}

}  // namespace

// The operators of torch_npu's library that scaled_dot_product_attention and its gradient call. Their types are the
// names that TorchAir gives operators of which it has no converter; inputs and attributes are in the order of torch's
// schema. updraft/_torchair.py has them, too.
ABOUT(NpuFusionAttentionV3, MixCube,
      "softmax(scale * query @ key^T + pse, masked) @ value, with the statistics of rows",
      "softmax(scale * query @ key^T + pse，带掩码) @ value，并给出行统计量")
IR_OP(NpuFusionAttentionV3, NpuFusionAttentionV3, (In, query), (In, key), (In, value), (OptIn, pse),
      (OptIn, padding_mask), (OptIn, atten_mask), (OptIn, actual_seq_qlen), (OptIn, actual_seq_kvlen), (OptIn, sink),
      (Out, attention_out), (Out, softmax_max), (Out, softmax_sum), (Out, softmax_in), (Out, seed), (Out, offset),
      (Int, head_num), (Text, input_layout), (Float, scale, 1), (Float, keep_prob, 1), (Int, pre_tockens, 2147483647),
      (Int, next_tockens, 2147483647), (Int, inner_precise, 0), (Ints, prefix, nullptr), (Int, sparse_mode, 0),
      (Bool, gen_mask_parallel, true), (Bool, sync, false), (Text, softmax_layout, "")) {
  (void)gen_mask_parallel, (void)sync;  // how masks are made, which no result shows
  op.require(!actual_seq_qlen && !actual_seq_kvlen,
             "actual_seq_qlen and actual_seq_kvlen are given, want none in graphs");
  ir::want(op, "keep_prob", keep_prob, 1.0F);
  ir::want(op, "softmax_layout", softmax_layout, "");
  ir::result(op, "softmax_in", *softmax_in, {0}, query->dtype);
  ir::result(op, "seed", *seed, {1}, DType::Int64);
  ir::result(op, "offset", *offset, {1}, DType::Int64);
  call(op, "aclnnFlashAttentionScoreV3", query, key, value, pse, nullptr, padding_mask, atten_mask, sink, *prefix,
       nullptr, nullptr, scale, keep_prob, pre_tockens, next_tockens, head_num, input_layout, inner_precise,
       sparse_mode, 1, softmax_max, softmax_sum, nullptr, attention_out);
  call(op, "aclnnInplaceZero", seed);  // without dropout nothing is drawn
  call(op, "aclnnInplaceZero", offset);
}
ABOUT(NpuFusionAttentionGradV3, MixCube, "Gradients of NpuFusionAttentionV3 for query, key, value and sink",
      "NpuFusionAttentionV3 对 query、key、value 与 sink 的反向梯度")
IR_OP(NpuFusionAttentionGradV3, NpuFusionAttentionGradV3, (In, query), (In, key), (In, value), (In, dy), (OptIn, pse),
      (OptIn, padding_mask), (OptIn, atten_mask), (OptIn, softmax_max), (OptIn, softmax_sum), (OptIn, softmax_in),
      (OptIn, attention_in), (OptIn, seed), (OptIn, offset), (OptIn, actual_seq_qlen), (OptIn, actual_seq_kvlen),
      (OptIn, sink), (Out, dq), (Out, dk), (Out, dv), (Out, dpse), (Out, dsink), (Int, head_num), (Text, input_layout),
      (Float, scale_value, 1), (Float, keep_prob, 1), (Int, pre_tockens, 2147483647), (Int, next_tockens, 2147483647),
      (Int, inner_precise, 0), (Ints, prefix, nullptr), (Int, sparse_mode, 0), (Bool, gen_mask_parallel, true),
      (Bool, sync, false), (Text, softmax_layout, "")) {
  (void)gen_mask_parallel, (void)sync;  // as above
  (void)seed, (void)offset;             // without dropout nothing was drawn
  op.require(!actual_seq_qlen && !actual_seq_kvlen,
             "actual_seq_qlen and actual_seq_kvlen are given, want none in graphs");
  op.require(!pse, "pse is given, want none in graphs: its gradient is not implemented there");
  ir::want(op, "keep_prob", keep_prob, 1.0F);
  ir::want(op, "softmax_layout", softmax_layout, "");
  ir::result(op, "dpse", *dpse, {0}, query->dtype);
  const StepArgument operands[] = {
      query,       key,         value,       dy,           nullptr,  nullptr,      padding_mask,  atten_mask,
      softmax_max, softmax_sum, softmax_in,  attention_in, sink,     *prefix,      nullptr,       nullptr,
      scale_value, keep_prob,   pre_tockens, next_tockens, head_num, input_layout, inner_precise, sparse_mode,
      1,           dq,          dk,          dv,           nullptr,  nullptr};
  std::vector<StepArgument> arguments(std::begin(operands), std::end(operands));
  if (sink) {
    ir::result(op, "dsink", *dsink, Dims(sink->dims, sink->dims + sink->rank), sink->dtype);
    arguments.back() = dsink;
  } else {
    ir::result(op, "dsink", *dsink, {}, DType::Float);
    call(op, "aclnnInplaceZero", dsink);
  }
  call_step(op, "aclnnFlashAttentionScoreGradV3", arguments);
}
IR_OP(MaskedSoftmaxWithRelPosBias, aclnnMaskedSoftmaxWithRelPosBias, (In, x), (OptIn, atten_mask),
      (In, relative_pos_bias), (Out, y), (Float, scale_value, 1), (Int, inner_precision_mode, 0)) {
  op.result_like("y", *y, *x, x->dtype);
  call(op, "aclnnMaskedSoftmaxWithRelPosBias", x, atten_mask, relative_pos_bias, scale_value, inner_precision_mode, y);
}
IR_OP(ApplyRotaryPosEmb, aclnnApplyRotaryPosEmbV2, (InOut, query), (InOut, key), (In, cos), (In, sin), (Int, layout, 1),
      (Text, rotary_mode, "half")) {
  call(op, "aclnnApplyRotaryPosEmbV2", query, key, cos, sin, layout, rotary_mode);
}
IR_OP(ScaledMaskedSoftmax, aclnnScaledMaskedSoftmax, (In, x), (OptIn, mask), (Out, y), (Float, scale, 1),
      (Bool, fixed_triu_mask, false)) {
  op.result_like("y", *y, *x, x->dtype);
  call(op, "aclnnScaledMaskedSoftmax", x, mask, scale, fixed_triu_mask, y);
}
IR_OP(ScaledMaskedSoftmaxGrad, aclnnScaledMaskedSoftmaxBackward, (In, y_grad), (In, y), (OptIn, mask), (Out, x_grad),
      (Float, scale, 1), (Bool, fixed_triu_mask, false)) {
  op.result_like("x_grad", *x_grad, *y, y->dtype);
  call(op, "aclnnScaledMaskedSoftmaxBackward", y_grad, y, mask, scale, fixed_triu_mask, x_grad);
}
IR_OP(ConfusionTransposeD, aclnnConfusionTranspose, (In, x), (Out, y), (Ints, perm), (Ints, shape),
      (Bool, transpose_first)) {
  confusion(op, x, *perm, *shape, transpose_first, y);
}
IR_OP(ConfusionTranspose, aclnnConfusionTranspose, (In, x), (In, shape), (Out, y), (Ints, perm),
      (Bool, transpose_first)) {
  confusion(op, x, *perm, op.integers("shape", shape.handle), transpose_first, y);
}
IR_OP(RotaryPositionEmbedding, aclnnRotaryPositionEmbeddingV2, (In, x), (In, cos), (In, sin), (OptIn, rotate), (Out, y),
      (Int, mode, 0)) {
  op.result_like("y", *y, *x, x->dtype);
  call(op, "aclnnRotaryPositionEmbeddingV2", x, cos, sin, mode, rotate, y);
}
IR_OP(RotaryPositionEmbeddingGrad, aclnnRotaryPositionEmbeddingGrad, (In, dy), (In, cos), (In, sin), (OptIn, x),
      (Out, dx), (OptOut, dcos), (OptOut, dsin), (Int, mode, 0)) {
  op.result_like("dx", *dx, *dy, dy->dtype);
  if (dcos) op.result_like("dcos", *dcos, *cos, cos->dtype);
  if (dsin) op.result_like("dsin", *dsin, *sin, sin->dtype);
  call(op, "aclnnRotaryPositionEmbeddingGrad", dy, cos, sin, x, mode, dx, dcos, dsin);
}
namespace {
constexpr int kHalf = 0;  // mode: the halves of a head turn against each other
}
IR_OP(RotaryMul, aclnnRotaryPositionEmbedding, (In, x), (In, r1), (In, r2), (Out, y)) {
  op.result_like("y", *y, *x, x->dtype);
  call(op, "aclnnRotaryPositionEmbedding", x, r1, r2, kHalf, y);
}
IR_OP(RotaryMulGrad, aclnnRotaryPositionEmbeddingGrad, (In, x), (In, r1), (In, r2), (In, dy), (Out, dx), (OptOut, dr1),
      (OptOut, dr2), (Bool, need_backward, true)) {
  op.result_like("dx", *dx, *x, x->dtype);
  if (dr1) op.result_like("dr1", *dr1, *r1, r1->dtype);
  if (dr2) op.result_like("dr2", *dr2, *r2, r2->dtype);
  if (!need_backward)
    return call(op, "aclnnRotaryPositionEmbeddingGrad", dy, r1, r2, nullptr, kHalf, dx, nullptr, nullptr);
  call(op, "aclnnRotaryPositionEmbeddingGrad", dy, r1, r2, x, kHalf, dx, dr1, dr2);
}

IR_OP(InterleaveRope, aclnnInterleaveRope, (In, x), (In, cos), (In, sin), (Out, y)) {
  op.result_like("y", *y, *x, x->dtype);
  call(op, "aclnnInterleaveRope", x, cos, sin, y);
}

}  // namespace updraft
