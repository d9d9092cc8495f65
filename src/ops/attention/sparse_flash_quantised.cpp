// Attention to named keys and values of whole numbers, whose rows hold their scales. Facts: op-plugin's page of
// npu_kv_quant_sparse_flash_attention and its calls.
#include "ops/attention/sparse_flash.h"

namespace updraft {
namespace {

using namespace sparse_flash;

struct Modes {
  int64_t key, value, attention, scales;
};

void plan(Op& op, const In& query, const In& key, const In& value, const In& indices, const OptIn& key_scale,
          const OptIn& value_scale, const OptIn& table, const OptIn& q_lengths, const OptIn& k_lengths,
          const OptIn& sinks, double scale, const Modes& modes, int64_t block, const char* q_layout,
          const char* k_layout, int64_t mode, int64_t before, int64_t behind, int64_t tile, int64_t rope,
          const Out& out) {
  op.require(modes.key == 2 && modes.value == 2, "key_quant_mode is {} and value_quant_mode {}, want 2 (by tiles)",
             modes.key, modes.value);
  op.require(modes.attention == 2, "attention_mode is {}, want 2 (MLA)", modes.attention);
  op.require(modes.scales == 1, "quant_scale_repo_mode is {}, want 1 (in the rows of key and value)", modes.scales);
  op.require(!key_scale && !value_scale,
             "key_dequant_scale or value_dequant_scale is given, want null: the rows hold them");
  const int64_t numbers = query->rank > 0 ? row_length(*query) - rope : 0;
  op.require(rope >= 0 && tile > 0 && numbers > 0 && numbers % tile == 0,
             "query is {}, want rows of {} (rope_head_dim) behind tiles of {}", describe(*query), rope, tile);
  const Tiles tiles{numbers, rope, tile};
  const Tokens tokens(op, layout_of(op, "layout_query", q_layout, false), layout_of(op, "layout_kv", k_layout, true),
                      *query, *key, q_lengths, k_lengths, table, {DType::Undefined, DType::Int8, tiles.bytes()});
  op.require_same_shape("value", *value, "key", *key);
  Problem p = checked(
      op,
      {query, key, OptIn{value.handle}, indices, OptIn{nullptr}, OptIn{nullptr}, scale, block, mode, before, behind},
      tokens);
  p.tiles = tiles;
  TensorView to = *query;
  to.dims[to.rank - 1] = numbers;
  op.result_like("attention_out", *out, to, query->dtype);
  launch(op, p, sinks, *out, {}, {});
}

}  // namespace

ABOUT(aclnnKvQuantSparseFlashAttention, MixCube, "As aclnnSparseFlashAttention, of INT8 with scales in the rows",
      "同 aclnnSparseFlashAttention，key、value 为 INT8，其行内含反量化系数")
ACLNN(aclnnKvQuantSparseFlashAttention, (In, query), (In, key), (In, value), (In, sparseIndices),
      (OptIn, keyDequantScaleOptional), (OptIn, valueDequantScaleOptional), (OptIn, blockTableOptional),
      (OptIn, actualSeqLengthsQueryOptional), (OptIn, actualSeqLengthsKvOptional), (Double, scaleValue),
      (Int, keyQuantMode), (Int, valueQuantMode), (Int, sparseBlockSize), (Text, layoutQueryOptional),
      (Text, layoutKvOptional), (Int, sparseMode), (Int, preTokens), (Int, nextTokens), (Int, attentionMode),
      (Int, quantScaleRepoMode), (Int, tileSize), (Int, ropeHeadDim), (Out, attentionOut)) {
  plan(op, query, key, value, sparseIndices, keyDequantScaleOptional, valueDequantScaleOptional, blockTableOptional,
       actualSeqLengthsQueryOptional, actualSeqLengthsKvOptional, OptIn{nullptr}, scaleValue,
       {keyQuantMode, valueQuantMode, attentionMode, quantScaleRepoMode}, sparseBlockSize, layoutQueryOptional,
       layoutKvOptional, sparseMode, preTokens, nextTokens, tileSize, ropeHeadDim, attentionOut);
}
ABOUT(aclnnKvQuantSparseFlashAttentionV2, MixCube,
      "As aclnnKvQuantSparseFlashAttention; sinks take a share of each head's softmax",
      "同 aclnnKvQuantSparseFlashAttention，sinks 参与各头的 softmax 归一化")
ACLNN(aclnnKvQuantSparseFlashAttentionV2, (In, query), (In, key), (In, value), (In, sparseIndices),
      (OptIn, keyDequantScaleOptional), (OptIn, valueDequantScaleOptional), (OptIn, blockTableOptional),
      (OptIn, actualSeqLengthsQueryOptional), (OptIn, actualSeqLengthsKvOptional), (OptIn, sinksOptional),
      (Double, scaleValue), (Int, keyQuantMode), (Int, valueQuantMode), (Int, sparseBlockSize),
      (Text, layoutQueryOptional), (Text, layoutKvOptional), (Int, sparseMode), (Int, preTokens), (Int, nextTokens),
      (Int, attentionMode), (Int, quantScaleRepoMode), (Int, tileSize), (Int, ropeHeadDim), (Out, attentionOut)) {
  plan(op, query, key, value, sparseIndices, keyDequantScaleOptional, valueDequantScaleOptional, blockTableOptional,
       actualSeqLengthsQueryOptional, actualSeqLengthsKvOptional, sinksOptional, scaleValue,
       {keyQuantMode, valueQuantMode, attentionMode, quantScaleRepoMode}, sparseBlockSize, layoutQueryOptional,
       layoutKvOptional, sparseMode, preTokens, nextTokens, tileSize, ropeHeadDim, attentionOut);
}

}  // namespace updraft
