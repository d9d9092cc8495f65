// Attention of training by the names of graphs, where prefixes and the lengths of sequences are tensors.
#include "ops/ir/shapes.h"

namespace updraft {
namespace {

/// Layout TND: sequences one behind the other, whose ends are given.
bool varied(const Op& op, const char* layout, const OptIn& q_lengths, const OptIn& kv_lengths) {
  const bool tnd = std::string_view(layout) == "TND";
  op.require(!tnd || (q_lengths && kv_lengths), "input_layout is TND: want actual_seq_qlen and actual_seq_kvlen");
  return tnd;
}

}  // namespace

// Where the first query and key lie matters to nothing but position biases that are made inside (pse_type 2 and 3),
// which graphs cannot ask for.
IR_OP(FlashAttentionScore, aclnnFlashAttentionScore, (In, query), (In, key), (In, value), (OptIn, real_shift),
      (OptIn, drop_mask), (OptIn, padding_mask), (OptIn, atten_mask), (OptIn, prefix), (OptIn, actual_seq_qlen),
      (OptIn, actual_seq_kvlen), (OptIn, q_start_idx), (OptIn, kv_start_idx), (Out, softmax_max), (Out, softmax_sum),
      (Out, softmax_out), (Out, attention_out), (Float, scale_value, 1), (Float, keep_prob, 1),
      (Int, pre_tockens, 2147483647), (Int, next_tockens, 2147483647), (Int, head_num), (Text, input_layout),
      (Int, inner_precise, 1), (Int, sparse_mode, 0)) {
  (void)q_start_idx, (void)kv_start_idx;
  ir::suggest(op, *softmax_out, {0}, query->dtype);
  const StepArgument prefixes = ir::integers_of(op, "prefix", prefix);
  if (!varied(op, input_layout, actual_seq_qlen, actual_seq_kvlen))
    return call(op, "aclnnFlashAttentionScore", query, key, value, real_shift, drop_mask, padding_mask, atten_mask,
                prefixes, scale_value, keep_prob, pre_tockens, next_tockens, head_num, input_layout, inner_precise,
                sparse_mode, softmax_max, softmax_sum, nullptr, attention_out);
  call(op, "aclnnFlashAttentionVarLenScore", query, key, value, real_shift, drop_mask, padding_mask, atten_mask,
       prefixes, ir::integers_of(op, "actual_seq_qlen", actual_seq_qlen),
       ir::integers_of(op, "actual_seq_kvlen", actual_seq_kvlen), scale_value, keep_prob, pre_tockens, next_tockens,
       head_num, input_layout, inner_precise, sparse_mode, softmax_max, softmax_sum, nullptr, attention_out);
}
IR_OP(FlashAttentionScoreGrad, aclnnFlashAttentionScoreGrad, (In, query), (In, key), (In, value), (In, dy),
      (OptIn, pse_shift), (OptIn, drop_mask), (OptIn, padding_mask), (OptIn, atten_mask), (OptIn, softmax_max),
      (OptIn, softmax_sum), (OptIn, softmax_in), (OptIn, attention_in), (OptIn, prefix), (OptIn, actual_seq_qlen),
      (OptIn, actual_seq_kvlen), (OptIn, q_start_idx), (OptIn, kv_start_idx), (Out, dq), (Out, dk), (Out, dv),
      (Out, dpse), (Float, scale_value, 1), (Float, keep_prob, 1), (Int, pre_tockens, 65536),
      (Int, next_tockens, 65536), (Int, head_num), (Text, input_layout), (Int, inner_precise, 1),
      (Int, sparse_mode, 0)) {
  (void)q_start_idx, (void)kv_start_idx;
  op.require(!pse_shift, "pse_shift is given, want none in graphs: its gradient is not implemented there");
  ir::suggest(op, *dpse, {0}, query->dtype);
  const StepArgument prefixes = ir::integers_of(op, "prefix", prefix);
  if (!varied(op, input_layout, actual_seq_qlen, actual_seq_kvlen))
    return call(op, "aclnnFlashAttentionScoreGrad", query, key, value, dy, pse_shift, drop_mask, padding_mask,
                atten_mask, softmax_max, softmax_sum, softmax_in, attention_in, prefixes, scale_value, keep_prob,
                pre_tockens, next_tockens, head_num, input_layout, inner_precise, sparse_mode, dq, dk, dv, nullptr);
  call(op, "aclnnFlashAttentionUnpaddingScoreGrad", query, key, value, dy, pse_shift, drop_mask, padding_mask,
       atten_mask, softmax_max, softmax_sum, softmax_in, attention_in, prefixes,
       ir::integers_of(op, "actual_seq_qlen", actual_seq_qlen),
       ir::integers_of(op, "actual_seq_kvlen", actual_seq_kvlen), scale_value, keep_prob, pre_tockens, next_tockens,
       head_num, input_layout, inner_precise, sparse_mode, dq, dk, dv, nullptr);
}

}  // namespace updraft
