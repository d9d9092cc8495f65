// Attention of prompts: SelfAttentionOperation without keys of earlier tokens (PA_ENCODER) and with them in pages
// (PREFIX_ENCODER, which is a C function, too).
#include "atb/attention.h"

namespace updraft::atb_ops {
namespace {

constexpr int64_t kEncoder = 3, kPrefixEncoder = 4;

Mask mask_of(const Op& op, int64_t type) {
  switch (type) {
    case 0: return Mask::None;
    case 1: return Mask::Norm;
    case 2: return Mask::Alibi;
    case 3:                         // MASK_TYPE_NORM_COMPRESS
    case 9: return Mask::Triangle;  // MASK_TYPE_CAUSAL_MASK
    default: break;
  }
  op.refuse(
      "maskType is {}, supported are 0 (none), 1 (norm), 2 (alibi), 3 (norm compress) and 9 (causal); give a "
      "compressed "
      "alibi mask as a whole, as type 2",
      type);
}

void plan_prefix(Op& op, const In& query, const In& key, const In& value, const In& tables, const OptIn& mask,
                 const In& lengths, const In& key_lengths, int64_t mask_type, int64_t heads, int64_t kv_heads,
                 double scale, const Out& out) {
  inference::Attention a = attention_of(op, "query", *query, heads, kv_heads, scale);
  a.keys = {as_pages(*key)};
  a.values = {as_pages(*value)};
  a.table = *tables;
  a.q_lengths = ends_of(op.integers("seqLen", lengths.handle));
  a.kv_lengths = op.integers("kvSeqLen", key_lengths.handle);
  set_mask(op, a, mask_of(op, mask_type), mask);
  plan_attention(op, a, as_tokens(op, "out", *out, heads), nullptr);
}

}  // namespace

ATB_OP(SelfAttention, aclnnPromptFlashAttentionV3, (In, query), (In, key), (In, value), (OptIn, blockTables),
       (OptIn, mask), (In, seqLen), (OptIn, kvSeqLen), (OptIn, slopes), (Out, out), (Int, calcType), (Int, maskType),
       (Int, headNum), (Int, kvHeadNum), (Double, qkScale), (Int, quantType), (Int, clampType)) {
  op.require(calcType == kEncoder || calcType == kPrefixEncoder,
             "calcType is {}, supported are 3 (PA_ENCODER) and 4 (PREFIX_ENCODER)", calcType);
  op.require(clampType == 0, "clampType is {}, supported is 0", clampType);
  if (calcType == kPrefixEncoder)
    return plan_prefix(op, query, key, value, In{blockTables.handle}, mask, seqLen, In{kvSeqLen.handle}, maskType,
                       headNum, kvHeadNum, qkScale, out);
  op.require(quantType == 0, "quantType is {}, supported is 0", quantType);
  inference::Attention a = attention_of(op, "query", *query, headNum, kvHeadNum, qkScale);
  a.keys = {as_tokens(op, "key", *key, a.kv_heads)};
  a.values = {as_tokens(op, "value", *value, a.kv_heads)};
  a.q_lengths = a.kv_lengths = ends_of(op.integers("seqLen", seqLen.handle));
  const Mask kind = mask_of(op, maskType);
  (void)slopes;  // of compressed alibi masks, which are refused
  set_mask(op, a, kind, mask);
  plan_attention(op, a, as_tokens(op, "out", *out, headNum), nullptr);
}

ATB_FUNCTIONS(AtbSelfAttentionPrefixEncoder, SelfAttentionPrefixEncoder, aclnnPromptFlashAttentionV3, (In, query),
              (In, key), (In, value), (In, blockTables), (OptIn, mask), (In, seqLen), (In, kvSeqLen), (OptIn, slopes),
              (Int32, maskType), (Int, headNum), (Int, kvHeadNum), (Float, qkScale), (Out, out)) {
  (void)slopes;  // of compressed alibi masks, which are refused
  plan_prefix(op, query, key, value, blockTables, mask, seqLen, kvSeqLen, maskType, headNum, kvHeadNum,
              static_cast<double>(qkScale), out);
}

}  // namespace updraft::atb_ops

template <>
atb::Status atb::CreateOperation(const infer::SelfAttentionParam& param, Operation** operation) {
  using namespace updraft;
  std::vector<const char*> inputs{"query", "key", "value"};
  if (param.calcType == atb_ops::kPrefixEncoder) inputs.push_back("blockTables");
  if (param.maskType != 0) inputs.push_back("mask");
  inputs.push_back("seqLen");
  if (param.calcType == atb_ops::kPrefixEncoder) inputs.push_back("kvSeqLen");
  if (param.maskType >= 4 && param.maskType <= 6) inputs.push_back("slopes");
  return atb_ops::make({"SelfAttentionOperation",
                        &atb_ops::SelfAttention_info,
                        std::move(inputs),
                        {"out"},
                        [param](OpCall& call) {
                          call.set("calcType", int64_t{param.calcType});
                          call.set("maskType", int64_t{param.maskType});
                          call.set("headNum", int64_t{param.headNum});
                          call.set("kvHeadNum", int64_t{param.kvHeadNum});
                          call.set("qkScale", static_cast<double>(param.qkScale));
                          call.set("quantType", int64_t{param.quantType});
                          call.set("clampType", int64_t{param.clampType});
                        }},
                       operation);
}
