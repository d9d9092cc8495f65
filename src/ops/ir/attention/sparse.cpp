// Sparse attention by the names of graphs.
#include "ops/attention/sparse_tokens.h"
#include "ops/ir/shapes.h"

namespace updraft {

using sparse_tokens::kAllTokens;

IR_OP(LightningIndexer, aclnnLightningIndexer, (In, query), (In, key), (In, weights), (OptIn, actual_seq_lengths_query),
      (OptIn, actual_seq_lengths_key), (OptIn, block_table), (Out, sparse_indices), (Out, sparse_values),
      (Text, layout_query, "BSND"), (Text, layout_key, "BSND"), (Int, sparse_count, 2048), (Int, sparse_mode, 3),
      (Int, pre_tokens, kAllTokens), (Int, next_tokens, kAllTokens), (Bool, return_values, false)) {
  call(op, "aclnnLightningIndexer", query, key, weights, actual_seq_lengths_query, actual_seq_lengths_key, block_table,
       layout_query, layout_key, sparse_count, sparse_mode, pre_tokens, next_tokens, return_values, sparse_indices,
       sparse_values);
}

IR_OP(QuantLightningIndexer, aclnnQuantLightningIndexer, (In, query), (In, key), (In, weights),
      (In, query_dequant_scale), (In, key_dequant_scale), (OptIn, actual_seq_lengths_query),
      (OptIn, actual_seq_lengths_key), (OptIn, block_table), (Out, sparse_indices), (Int, query_quant_mode, 0),
      (Int, key_quant_mode, 0), (Text, layout_query, "BSND"), (Text, layout_key, "BSND"), (Int, sparse_count, 2048),
      (Int, sparse_mode, 3), (Int, pre_tokens, kAllTokens), (Int, next_tokens, kAllTokens)) {
  call(op, "aclnnQuantLightningIndexer", query, key, weights, query_dequant_scale, key_dequant_scale,
       actual_seq_lengths_query, actual_seq_lengths_key, block_table, query_quant_mode, key_quant_mode, layout_query,
       layout_key, sparse_count, sparse_mode, pre_tokens, next_tokens, sparse_indices);
}

// Clients leave sinks out where there are none; here too.
IR_OP(KvQuantSparseFlashAttention, aclnnKvQuantSparseFlashAttentionV2, (In, query), (In, key), (In, value),
      (In, sparse_indices), (OptIn, key_dequant_scale), (OptIn, value_dequant_scale), (OptIn, block_table),
      (OptIn, actual_seq_lengths_query), (OptIn, actual_seq_lengths_kv), (OptIn, sinks), (Out, attention_out),
      (Float, scale_value), (Int, key_quant_mode, 2), (Int, value_quant_mode, 2), (Int, sparse_block_size, 1),
      (Text, layout_query, "BSND"), (Text, layout_kv, "BSND"), (Int, sparse_mode, 3), (Int, pre_tokens, kAllTokens),
      (Int, next_tokens, kAllTokens), (Int, attention_mode, 0), (Int, quant_scale_repo_mode, 1), (Int, tile_size, 128),
      (Int, rope_head_dim, 64)) {
  call(op, "aclnnKvQuantSparseFlashAttentionV2", query, key, value, sparse_indices, key_dequant_scale,
       value_dequant_scale, block_table, actual_seq_lengths_query, actual_seq_lengths_kv, sinks,
       static_cast<double>(scale_value), key_quant_mode, value_quant_mode, sparse_block_size, layout_query, layout_kv,
       sparse_mode, pre_tokens, next_tokens, attention_mode, quant_scale_repo_mode, tile_size, rope_head_dim,
       attention_out);
}

// Clients leave sinks out where there are none.
IR_OP(SparseFlashAttention, aclnnSparseFlashAttentionV2, (In, query), (In, key), (OptIn, value), (In, sparse_indices),
      (OptIn, block_table), (OptIn, actual_seq_lengths_query), (OptIn, actual_seq_lengths_kv), (OptIn, query_rope),
      (OptIn, key_rope), (OptIn, sinks), (Out, attention_out), (Out, softmax_max), (Out, softmax_sum),
      (Float, scale_value), (Int, sparse_block_size, 1), (Text, layout_query, "BSND"), (Text, layout_kv, "BSND"),
      (Int, sparse_mode, 3), (Int, pre_tokens, kAllTokens), (Int, next_tokens, kAllTokens), (Int, attention_mode, 0),
      (Bool, return_softmax_lse, false)) {
  call(op, "aclnnSparseFlashAttentionV2", query, key, value, sparse_indices, block_table, actual_seq_lengths_query,
       actual_seq_lengths_kv, query_rope, key_rope, sinks, static_cast<double>(scale_value), sparse_block_size,
       layout_query, layout_kv, sparse_mode, pre_tokens, next_tokens, attention_mode, return_softmax_lse, attention_out,
       softmax_max, softmax_sum);
}

}  // namespace updraft
