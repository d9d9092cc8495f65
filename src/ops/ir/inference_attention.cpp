// Attention of inference by the names of graphs, where the lengths of sequences are tensors.
#include "ops/ir/shapes.h"

namespace updraft {
namespace {

StepArgument lengths_of(const Op& op, const char* name, const OptIn& tensor) {
  if (!tensor) return nullptr;
  return op.integers(name, tensor.handle);
}

}  // namespace

IR_OP(PromptFlashAttention, aclnnPromptFlashAttentionV3, (In, query), (In, key), (In, value), (OptIn, pse_shift),
      (OptIn, atten_mask), (OptIn, actual_seq_lengths), (OptIn, actual_seq_lengths_kv), (OptIn, deq_scale1),
      (OptIn, quant_scale1), (OptIn, deq_scale2), (OptIn, quant_scale2), (OptIn, quant_offset2), (Out, attention_out),
      (Int, num_heads), (Float, scale_value, 1.0), (Int, pre_tokens, 214748647), (Int, next_tokens, 0),
      (Text, input_layout, "BSH"), (Int, num_key_value_heads, 1), (Int, sparse_mode, 0), (Int, inner_precise, 1)) {
  call(op, "aclnnPromptFlashAttentionV3", query, key, value, pse_shift, atten_mask,
       lengths_of(op, "actual_seq_lengths", actual_seq_lengths),
       lengths_of(op, "actual_seq_lengths_kv", actual_seq_lengths_kv), deq_scale1, quant_scale1, deq_scale2,
       quant_scale2, quant_offset2, num_heads, scale_value, pre_tokens, next_tokens, input_layout, num_key_value_heads,
       sparse_mode, inner_precise, attention_out);
}
IR_OP(IncreFlashAttention, aclnnIncreFlashAttentionV4, (In, query), (Tensors, key), (Tensors, value),
      (OptIn, pse_shift), (OptIn, atten_mask), (OptIn, actual_seq_lengths), (OptIn, dequant_scale1),
      (OptIn, quant_scale1), (OptIn, dequant_scale2), (OptIn, quant_scale2), (OptIn, quant_offset2),
      (OptIn, antiquant_scale), (OptIn, antiquant_offset), (OptIn, block_table), (OptIn, kv_padding_size),
      (Out, attention_out), (Int, num_heads), (Float, scale_value, 1.0), (Text, input_layout, "BSH"),
      (Int, num_key_value_heads, 1), (Int, block_size, 0), (Int, inner_precise, 1)) {
  call(op, "aclnnIncreFlashAttentionV4", query, key, value, pse_shift, atten_mask,
       lengths_of(op, "actual_seq_lengths", actual_seq_lengths), dequant_scale1, quant_scale1, dequant_scale2,
       quant_scale2, quant_offset2, antiquant_scale, antiquant_offset, block_table, kv_padding_size, num_heads,
       scale_value, input_layout, num_key_value_heads, block_size, inner_precise, attention_out);
}

}  // namespace updraft
