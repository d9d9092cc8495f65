// The names of attention of inference. What they have for quantised keys and for prefixes is refused.
#include "ops/attention/inference.h"
#include "ops/gathered.h"

namespace updraft {
namespace {

using namespace inference;

std::vector<TensorView> views(const Tensors& list) {
  std::vector<TensorView> all;
  for (size_t i = 0; i < list.size(); ++i) all.push_back(list[i]);
  return all;
}
std::vector<int64_t> values(const OptInts& list) { return list ? *list : std::vector<int64_t>(); }

}  // namespace

#define REFUSE(NAME) refuse_given(op, #NAME, NAME)

SAMPLE(aclnnIncreFlashAttentionV4,
       "query=f32[2,4,1,M] key=f32[2,2,5,M] value=f32[2,2,5,M] pseShift=null attenMask=null actualSeqLengths=5,3 "
       "dequantScale1=null quantScale1=null dequantScale2=null quantScale2=null quantOffset2=null "
       "antiquantScale=null antiquantOffset=null blockTable=null kvPaddingSize=null numHeads=4 scaleValue=0.5 "
       "inputLayout=BNSD numKeyValueHeads=2 blockSize=0 innerPrecise=0 attentionOut=f32[2,4,1,M]")
ABOUT(aclnnIncreFlashAttentionV4, MixCube, "Attention of the newest tokens to all keys, which may lie in pages",
      "增量推理注意力，key/value 可分页存放")
ACLNN(aclnnIncreFlashAttentionV4, (In, query), (Tensors, key), (Tensors, value), (OptIn, pseShift), (OptIn, attenMask),
      (OptInts, actualSeqLengths), (OptIn, dequantScale1), (OptIn, quantScale1), (OptIn, dequantScale2),
      (OptIn, quantScale2), (OptIn, quantOffset2), (OptIn, antiquantScale), (OptIn, antiquantOffset),
      (OptIn, blockTable), (OptIn, kvPaddingSize), (Int, numHeads), (Double, scaleValue), (Text, inputLayout),
      (Int, numKeyValueHeads), (Int, blockSize), (Int, innerPrecise), (Out, attentionOut)) {
  (void)innerPrecise;  // how exact the card computes: FLOAT here
  REFUSE(dequantScale1);
  REFUSE(quantScale1);
  REFUSE(dequantScale2);
  REFUSE(quantScale2);
  REFUSE(quantOffset2);
  REFUSE(antiquantScale);
  REFUSE(antiquantOffset);
  REFUSE(kvPaddingSize);
  Attention a{.query = *query, .keys = views(key), .values = views(value)};
  a.mask = optional_view(attenMask);
  a.shift = optional_view(pseShift);
  a.table = optional_view(blockTable);
  a.kv_lengths = values(actualSeqLengths);
  a.layout = inputLayout;
  a.heads = numHeads;
  a.kv_heads = numKeyValueHeads;
  a.sparse_mode = 1;
  a.page = blockSize;
  a.scale = scaleValue;
  plan_attention(op, a, *attentionOut, nullptr);
}

SAMPLE(aclnnPromptFlashAttentionV3,
       "query=f32[2,4,3,M] key=f32[2,2,5,M] value=f32[2,2,5,M] pseShift=null attenMask=null actualSeqLengths=null "
       "actualSeqLengthsKv=5,3 deqScale1=null quantScale1=null deqScale2=null quantScale2=null quantOffset2=null "
       "numHeads=4 scaleValue=0.5 preTokens=0 nextTokens=0 inputLayout=BNSD numKeyValueHeads=2 sparseMode=0 "
       "innerPrecise=0 attentionOut=f32[2,4,3,M]")
ABOUT(aclnnPromptFlashAttentionV3, MixCube, "Attention of the tokens of a prompt, without what gradients need",
      "全量推理注意力")
ACLNN(aclnnPromptFlashAttentionV3, (In, query), (In, key), (In, value), (OptIn, pseShift), (OptIn, attenMask),
      (OptInts, actualSeqLengths), (OptInts, actualSeqLengthsKv), (OptIn, deqScale1), (OptIn, quantScale1),
      (OptIn, deqScale2), (OptIn, quantScale2), (OptIn, quantOffset2), (Int, numHeads), (Double, scaleValue),
      (Int, preTokens), (Int, nextTokens), (Text, inputLayout), (Int, numKeyValueHeads), (Int, sparseMode),
      (Int, innerPrecise), (Out, attentionOut)) {
  (void)innerPrecise;  // how exact the card computes: FLOAT here
  REFUSE(deqScale1);
  REFUSE(quantScale1);
  REFUSE(deqScale2);
  REFUSE(quantScale2);
  REFUSE(quantOffset2);
  Attention a{.query = *query, .keys = {*key}, .values = {*value}};
  a.mask = optional_view(attenMask);
  a.shift = optional_view(pseShift);
  a.q_lengths = values(actualSeqLengths);
  a.kv_lengths = values(actualSeqLengthsKv);
  a.layout = inputLayout;
  a.heads = numHeads;
  a.kv_heads = numKeyValueHeads;
  a.sparse_mode = sparseMode;
  a.before = preTokens;
  a.after = nextTokens;
  a.scale = scaleValue;
  plan_attention(op, a, *attentionOut, nullptr);
}

// MORE: what a version has beside the others.
#define FUSED_PLAN(MORE)                                                                        \
  (void)innerPrecise;  /* how exact the card computes: FLOAT here */                            \
  (void)antiquantMode; /* of quantised keys and values, whose scales are refused */             \
  (void)keyAntiquantMode;                                                                       \
  (void)valueAntiquantMode;                                                                     \
  (void)actualSharedPrefixLen; /* of the prefixes, which are refused */                         \
  REFUSE(deqScale1);                                                                            \
  REFUSE(quantScale1);                                                                          \
  REFUSE(deqScale2);                                                                            \
  REFUSE(quantScale2);                                                                          \
  REFUSE(quantOffset2);                                                                         \
  REFUSE(antiquantScale);                                                                       \
  REFUSE(antiquantOffset);                                                                      \
  REFUSE(queryPaddingSize);                                                                     \
  REFUSE(kvPaddingSize);                                                                        \
  REFUSE(keyAntiquantScale);                                                                    \
  REFUSE(keyAntiquantOffset);                                                                   \
  REFUSE(valueAntiquantScale);                                                                  \
  REFUSE(valueAntiquantOffset);                                                                 \
  REFUSE(keySharedPrefix);                                                                      \
  REFUSE(valueSharedPrefix);                                                                    \
  Attention a{.query = *query, .keys = views(key), .values = views(value)};                     \
  a.mask = optional_view(attenMask);                                                            \
  a.shift = optional_view(pseShift);                                                            \
  a.table = optional_view(blockTable);                                                          \
  a.q_lengths = values(actualSeqLengths);                                                       \
  a.kv_lengths = values(actualSeqLengthsKv);                                                    \
  a.layout = inputLayout;                                                                       \
  a.heads = numHeads;                                                                           \
  a.kv_heads = numKeyValueHeads;                                                                \
  a.sparse_mode = sparseMode;                                                                   \
  a.before = preTokens;                                                                         \
  a.after = nextTokens;                                                                         \
  a.page = blockSize;                                                                           \
  a.scale = scaleValue;                                                                         \
  MORE if (softmaxLseFlag) {                                                                    \
    op.require(static_cast<bool>(softmaxLse), "softmaxLse is null and softmaxLseFlag is true"); \
  }                                                                                             \
  else if (softmaxLse) { op.suggest(*softmaxLse, {0}, DType::Float); /* nobody writes it */ }   \
  plan_attention(op, a, *attentionOut, softmaxLseFlag ? &*softmaxLse : nullptr);

// What every version has, in this order; later ones put rotary parts, sinks and modes between.
#define FUSED_SAMPLE                                                                                           \
  "query=f32[2,4,3,M] key=f32[2,2,5,M] value=f32[2,2,5,M] pseShift=null attenMask=null actualSeqLengths=null " \
  "actualSeqLengthsKv=5,3 deqScale1=null quantScale1=null deqScale2=null quantScale2=null quantOffset2=null "  \
  "antiquantScale=null antiquantOffset=null blockTable=null queryPaddingSize=null kvPaddingSize=null "         \
  "keyAntiquantScale=null keyAntiquantOffset=null valueAntiquantScale=null valueAntiquantOffset=null "         \
  "keySharedPrefix=null valueSharedPrefix=null actualSharedPrefixLen=null numHeads=4 scaleValue=0.5 "          \
  "preTokens=0 nextTokens=0 inputLayout=BNSD numKeyValueHeads=2 sparseMode=0 innerPrecise=0 blockSize=0 "      \
  "antiquantMode=0 softmaxLseFlag=true keyAntiquantMode=0 valueAntiquantMode=0 attentionOut=f32[2,4,3,M] "     \
  "softmaxLse=f32[2,4,3,1]"
#define FUSED_ROPE_SAMPLE FUSED_SAMPLE " queryRope=null keyRope=null keyRopeAntiquantScale=null"
#define FUSED_INPUTS                                                                                                 \
  (In, query), (Tensors, key), (Tensors, value), (OptIn, pseShift), (OptIn, attenMask), (OptInts, actualSeqLengths), \
      (OptInts, actualSeqLengthsKv), (OptIn, deqScale1), (OptIn, quantScale1), (OptIn, deqScale2),                   \
      (OptIn, quantScale2), (OptIn, quantOffset2), (OptIn, antiquantScale), (OptIn, antiquantOffset),                \
      (OptIn, blockTable), (OptIn, queryPaddingSize), (OptIn, kvPaddingSize), (OptIn, keyAntiquantScale),            \
      (OptIn, keyAntiquantOffset), (OptIn, valueAntiquantScale), (OptIn, valueAntiquantOffset),                      \
      (OptIn, keySharedPrefix), (OptIn, valueSharedPrefix), (OptInts, actualSharedPrefixLen)
#define ROPE_PARTS                         \
  a.query_rope = optional_view(queryRope); \
  a.key_rope = optional_view(keyRope);
#define FUSED_ROPE (OptIn, queryRope), (OptIn, keyRope), (OptIn, keyRopeAntiquantScale)
#define FUSED_ATTRIBUTES                                                                                       \
  (Int, numHeads), (Double, scaleValue), (Int, preTokens), (Int, nextTokens), (Text, inputLayout),             \
      (Int, numKeyValueHeads), (Int, sparseMode), (Int, innerPrecise), (Int, blockSize), (Int, antiquantMode), \
      (Bool, softmaxLseFlag), (Int, keyAntiquantMode), (Int, valueAntiquantMode)
#define FUSED_RESULTS (Out, attentionOut), (OptOut, softmaxLse)

SAMPLE(aclnnFusedInferAttentionScoreV2, FUSED_SAMPLE)
ABOUT(aclnnFusedInferAttentionScoreV2, MixCube,
      "Attention of inference, of a prompt or of the newest tokens, positions already in its inputs",
      "推理注意力，覆盖全量与增量，位置编码已在输入中")
ACLNN(aclnnFusedInferAttentionScoreV2, FUSED_INPUTS, FUSED_ATTRIBUTES, FUSED_RESULTS){FUSED_PLAN()}

SAMPLE(aclnnFusedInferAttentionScoreV3, FUSED_ROPE_SAMPLE)
    ABOUT(aclnnFusedInferAttentionScoreV3, MixCube, "Attention of inference, of a prompt or of the newest tokens",
          "推理注意力，覆盖全量与增量")
ACLNN(aclnnFusedInferAttentionScoreV3, FUSED_INPUTS, FUSED_ROPE, FUSED_ATTRIBUTES, FUSED_RESULTS) {
  REFUSE(keyRopeAntiquantScale);
  FUSED_PLAN(ROPE_PARTS)
}

SAMPLE(aclnnFusedInferAttentionScoreV4, FUSED_ROPE_SAMPLE " dequantScaleQuery=null learnableSink=null queryQuantMode=0")
ABOUT(aclnnFusedInferAttentionScoreV4, MixCube,
      "As aclnnFusedInferAttentionScoreV3, for queries that are not quantised",
      "同 aclnnFusedInferAttentionScoreV3，query 不量化")
ACLNN(aclnnFusedInferAttentionScoreV4, FUSED_INPUTS, FUSED_ROPE, (OptIn, dequantScaleQuery), (OptIn, learnableSink),
      FUSED_ATTRIBUTES, (Int, queryQuantMode), FUSED_RESULTS) {
  (void)queryQuantMode;  // of quantised queries, whose scales are refused
  REFUSE(dequantScaleQuery);
  REFUSE(keyRopeAntiquantScale);
  FUSED_PLAN(ROPE_PARTS a.sink = optional_view(learnableSink);)
}

// What a captured call needs at most, whatever lengths an update brings: these plans need no more for longer ones.
#define MOST_WORKSPACE(NAME)                                                        \
  extern "C" UPDRAFT_API decltype(NAME##GetWorkspaceSize) NAME##GetMaxWorkspaceSize \
      __attribute__((alias(#NAME "GetWorkspaceSize")));
MOST_WORKSPACE(aclnnFusedInferAttentionScoreV3)
MOST_WORKSPACE(aclnnFusedInferAttentionScoreV4)

}  // namespace updraft
