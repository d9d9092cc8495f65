// Attention of inference by the names of graphs, where the lengths of sequences are tensors.
#include "ops/ir/shapes.h"

namespace updraft {

IR_OP(PromptFlashAttention, aclnnPromptFlashAttentionV3, (In, query), (In, key), (In, value), (OptIn, pse_shift),
      (OptIn, atten_mask), (OptIn, actual_seq_lengths), (OptIn, actual_seq_lengths_kv), (OptIn, deq_scale1),
      (OptIn, quant_scale1), (OptIn, deq_scale2), (OptIn, quant_scale2), (OptIn, quant_offset2), (Out, attention_out),
      (Int, num_heads), (Float, scale_value, 1.0), (Int, pre_tokens, 214748647), (Int, next_tokens, 0),
      (Text, input_layout, "BSH"), (Int, num_key_value_heads, 1), (Int, sparse_mode, 0), (Int, inner_precise, 1)) {
  call(op, "aclnnPromptFlashAttentionV3", query, key, value, pse_shift, atten_mask,
       ir::integers_of(op, "actual_seq_lengths", actual_seq_lengths),
       ir::integers_of(op, "actual_seq_lengths_kv", actual_seq_lengths_kv), deq_scale1, quant_scale1, deq_scale2,
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
       ir::integers_of(op, "actual_seq_lengths", actual_seq_lengths), dequant_scale1, quant_scale1, dequant_scale2,
       quant_scale2, quant_offset2, antiquant_scale, antiquant_offset, block_table, kv_padding_size, num_heads,
       scale_value, input_layout, num_key_value_heads, block_size, inner_precise, attention_out);
}

IR_OP(KvRmsNormRopeCache, aclnnKvRmsNormRopeCache, (In, kv), (In, gamma), (In, cos), (In, sin), (In, index),
      (InOut, k_cache), (InOut, ckv_cache), (OptIn, k_rope_scale), (OptIn, c_kv_scale), (OptIn, k_rope_offset),
      (OptIn, c_kv_offset), (OptIn, v), (Out, k_rope), (Out, c_kv), (Float, epsilon, 1e-5f), (Text, cache_mode, "Norm"),
      (Bool, is_output_kv, false)) {
  op.require(!v, "v is given, want none: it is a part of kv");
  call(op, "aclnnKvRmsNormRopeCache", kv, gamma, cos, sin, index, k_cache, ckv_cache, k_rope_scale, c_kv_scale,
       k_rope_offset, c_kv_offset, epsilon, cache_mode, is_output_kv, k_rope, c_kv);
}
IR_OP(DequantRopeQuantKvcache, aclnnDequantRopeQuantKvcache, (In, x), (In, cos), (In, sin), (InOut, k_cache),
      (InOut, v_cache), (In, indices), (In, scale_k), (In, scale_v), (OptIn, offset_k), (OptIn, offset_v),
      (OptIn, weight_scale), (OptIn, activation_scale), (OptIn, bias), (Out, q), (Out, k), (Out, v),
      (Ints, size_splits), (Text, quant_mode, "static"), (Text, layout, "BSND"), (Bool, kv_output, false),
      (Text, cache_mode, "contiguous")) {
  call(op, "aclnnDequantRopeQuantKvcache", x, cos, sin, k_cache, v_cache, indices, scale_k, scale_v, offset_k, offset_v,
       weight_scale, activation_scale, bias, size_splits, quant_mode, layout, kv_output, cache_mode, q, k, v);
}
IR_OP(FusedInferAttentionScore, aclnnFusedInferAttentionScoreV4, (In, query), (Tensors, key), (Tensors, value),
      (OptIn, pse_shift), (OptIn, atten_mask), (OptIn, actual_seq_lengths), (OptIn, actual_seq_lengths_kv),
      (OptIn, dequant_scale1), (OptIn, quant_scale1), (OptIn, dequant_scale2), (OptIn, quant_scale2),
      (OptIn, quant_offset2), (OptIn, antiquant_scale), (OptIn, antiquant_offset), (OptIn, block_table),
      (OptIn, query_padding_size), (OptIn, kv_padding_size), (OptIn, key_antiquant_scale),
      (OptIn, key_antiquant_offset), (OptIn, value_antiquant_scale), (OptIn, value_antiquant_offset),
      (OptIn, key_shared_prefix), (OptIn, value_shared_prefix), (OptIn, actual_shared_prefix_len), (OptIn, query_rope),
      (OptIn, key_rope), (OptIn, key_rope_antiquant_scale), (OptIn, dequant_scale_query), (OptIn, learnable_sink),
      (OptIn, q_start_idx), (OptIn, kv_start_idx), (Out, attention_out), (OptOut, softmax_lse), (Int, num_heads),
      (Float, scale, 1.0), (Int, pre_tokens, 2147483647), (Int, next_tokens, 2147483647), (Text, input_layout, "BSH"),
      (Int, num_key_value_heads, 0), (Int, sparse_mode, 0), (Int, inner_precise, 0), (Int, block_size, 0),
      (Int, antiquant_mode, 0), (Bool, softmax_lse_flag, false), (Int, key_antiquant_mode, 0),
      (Int, value_antiquant_mode, 0), (Int, query_quant_mode, 0), (Int, pse_type, 0), (Int, out_dtype, 0)) {
  (void)out_dtype;  // what attention_out is
  op.require(!q_start_idx && !kv_start_idx, "q_start_idx or kv_start_idx is given, which is not supported");
  ir::want(op, "pse_type", pse_type, 0);
  call(op, "aclnnFusedInferAttentionScoreV4", query, key, value, pse_shift, atten_mask,
       ir::integers_of(op, "actual_seq_lengths", actual_seq_lengths),
       ir::integers_of(op, "actual_seq_lengths_kv", actual_seq_lengths_kv), dequant_scale1, quant_scale1,
       dequant_scale2, quant_scale2, quant_offset2, antiquant_scale, antiquant_offset, block_table, query_padding_size,
       kv_padding_size, key_antiquant_scale, key_antiquant_offset, value_antiquant_scale, value_antiquant_offset,
       key_shared_prefix, value_shared_prefix,
       ir::integers_of(op, "actual_shared_prefix_len", actual_shared_prefix_len), query_rope, key_rope,
       key_rope_antiquant_scale, dequant_scale_query, learnable_sink, num_heads, scale, pre_tokens, next_tokens,
       input_layout, num_key_value_heads, sparse_mode, inner_precise, block_size, antiquant_mode, softmax_lse_flag,
       key_antiquant_mode, value_antiquant_mode, query_quant_mode, attention_out, softmax_lse);
}

// Caches are written where they lie. Factors of quantised queries are not made: their outputs hold nothing.
#define MLA_INPUTS                                                                                                  \
  (In, token_x), (In, weight_dq), (In, weight_uq_qr), (In, weight_uk), (In, weight_dkv_kr), (In, rmsnorm_gamma_cq), \
      (In, rmsnorm_gamma_ckv), (In, rope_sin), (In, rope_cos)
#define MLA_FACTORS                                                                      \
  (OptIn, dequant_scale_x), (OptIn, dequant_scale_w_dq), (OptIn, dequant_scale_w_uq_qr), \
      (OptIn, dequant_scale_w_dkv_kr), (OptIn, quant_scale_ckv), (OptIn, quant_scale_ckr), (OptIn, smooth_scales_cq)
#define MLA_MODES (Float, rmsnorm_epsilon_cq, 1e-5f), (Float, rmsnorm_epsilon_ckv, 1e-5f), (Text, cache_mode, "PA_BSND")
IR_OP(MlaProlog, aclnnMlaPrologV2WeightNz, MLA_INPUTS, (In, cache_index), (InOut, kv_cache), (InOut, kr_cache),
      MLA_FACTORS, (Out, query), (Out, query_rope), (Ref, ir_kv_cache), (Ref, ir_kr_cache), MLA_MODES) {
  (void)ir_kv_cache, (void)ir_kr_cache;
  call(op, "aclnnMlaPrologV2WeightNz", token_x, weight_dq, weight_uq_qr, weight_uk, weight_dkv_kr, rmsnorm_gamma_cq,
       rmsnorm_gamma_ckv, rope_sin, rope_cos, cache_index, kv_cache, kr_cache, dequant_scale_x, dequant_scale_w_dq,
       dequant_scale_w_uq_qr, dequant_scale_w_dkv_kr, quant_scale_ckv, quant_scale_ckr, smooth_scales_cq,
       rmsnorm_epsilon_cq, rmsnorm_epsilon_ckv, cache_mode, query, query_rope, nullptr);
}
IR_OP(MlaPrologV2, aclnnMlaPrologV2WeightNz, MLA_INPUTS, (In, cache_index), (InOut, kv_cache), (InOut, kr_cache),
      MLA_FACTORS, (Out, query), (Out, query_rope), (Ref, ir_kv_cache), (Ref, ir_kr_cache), (Out, dequant_scale_q_nope),
      MLA_MODES) {
  (void)ir_kv_cache, (void)ir_kr_cache;
  ir::result(op, "dequant_scale_q_nope", *dequant_scale_q_nope, {1}, DType::Float);
  call(op, "aclnnMlaPrologV2WeightNz", token_x, weight_dq, weight_uq_qr, weight_uk, weight_dkv_kr, rmsnorm_gamma_cq,
       rmsnorm_gamma_ckv, rope_sin, rope_cos, cache_index, kv_cache, kr_cache, dequant_scale_x, dequant_scale_w_dq,
       dequant_scale_w_uq_qr, dequant_scale_w_dkv_kr, quant_scale_ckv, quant_scale_ckr, smooth_scales_cq,
       rmsnorm_epsilon_cq, rmsnorm_epsilon_ckv, cache_mode, query, query_rope, nullptr);
  call(op, "aclnnInplaceZero", dequant_scale_q_nope);
}
IR_OP(MlaPrologV3, aclnnMlaPrologV3WeightNz, MLA_INPUTS, (InOut, kv_cache), (InOut, kr_cache), (OptIn, cache_index),
      MLA_FACTORS, (OptIn, actual_seq_len), (OptIn, k_nope_clip_alpha), (Out, query), (Out, query_rope),
      (Ref, ir_kv_cache), (Ref, ir_kr_cache), (Out, dequant_scale_q_nope), (Out, query_norm),
      (Out, dequant_scale_q_norm), MLA_MODES, (Bool, query_norm_flag, false), (Int, weight_quant_mode, 0),
      (Int, kv_cache_quant_mode, 0), (Int, query_quant_mode, 0), (Int, ckvkr_repo_mode, 0),
      (Int, quant_scale_repo_mode, 0), (Int, tile_size, 128), (Float, qc_qr_scale, 1), (Float, kc_scale, 1)) {
  (void)ir_kv_cache, (void)ir_kr_cache;
  ir::result(op, "dequant_scale_q_nope", *dequant_scale_q_nope, {0}, DType::Float);
  ir::result(op, "dequant_scale_q_norm", *dequant_scale_q_norm, {0}, DType::Float);
  StepArgument norm = nullptr;
  if (query_norm_flag) norm = query_norm;
  else ir::result(op, "query_norm", *query_norm, {0}, token_x->dtype);
  call(op, "aclnnMlaPrologV3WeightNz", token_x, weight_dq, weight_uq_qr, weight_uk, weight_dkv_kr, rmsnorm_gamma_cq,
       rmsnorm_gamma_ckv, rope_sin, rope_cos, kv_cache, kr_cache, cache_index, dequant_scale_x, dequant_scale_w_dq,
       dequant_scale_w_uq_qr, dequant_scale_w_dkv_kr, quant_scale_ckv, quant_scale_ckr, smooth_scales_cq,
       actual_seq_len, k_nope_clip_alpha, rmsnorm_epsilon_cq, rmsnorm_epsilon_ckv, cache_mode, weight_quant_mode,
       kv_cache_quant_mode, query_quant_mode, ckvkr_repo_mode, quant_scale_repo_mode, tile_size, qc_qr_scale, kc_scale,
       query, query_rope, nullptr, norm, nullptr);
}
#undef MLA_MODES
#undef MLA_FACTORS
#undef MLA_INPUTS

IR_OP(RecurrentGatedDeltaRule, aclnnRecurrentGatedDeltaRule, (In, query), (In, key), (In, value), (In, beta),
      (InOut, state), (In, actual_seq_lengths), (In, ssm_state_indices), (OptIn, g), (OptIn, gk),
      (OptIn, num_accepted_tokens), (Out, out), (Float, scale_value, 1)) {
  call(op, "aclnnRecurrentGatedDeltaRule", query, key, value, beta, state, actual_seq_lengths, ssm_state_indices, g, gk,
       num_accepted_tokens, scale_value, out);
}

IR_OP(AttentionUpdate, aclnnAttentionUpdate, (Tensors, lse), (Tensors, go), (Out, output), (Out, lse_m),
      (Int, update_type), (Int, sp)) {
  op.require(sp == static_cast<int64_t>(lse.size()), "attribute sp is {}, lse has {} parts", sp, lse.size());
  call(op, "aclnnAttentionUpdate", lse, go, update_type, output, lse_m);
}
IR_OP(ScatterPaKvCache, aclnnScatterPaKvCache, (In, key), (InOut, key_cache), (In, slot_mapping), (In, value),
      (InOut, value_cache), (OptIn, compress_lens), (OptIn, compress_seq_offset), (OptIn, seq_lens),
      (Text, cache_mode, "Norm"), (Text, scatter_mode, "None"), (Ints, strides, 1, 1), (Ints, offsets, 0, 0)) {
  call(op, "aclnnScatterPaKvCache", key, key_cache, slot_mapping, value, value_cache, compress_lens,
       compress_seq_offset, seq_lens, cache_mode, scatter_mode, strides, offsets);
}

}  // namespace updraft
