// Attention of steps to keys in pages: PagedAttentionOperation.
#include "atb/attention.h"
#include "tensor/view_algebra.h"

namespace updraft::atb_ops {
namespace {

Mask mask_of(const Op& op, int64_t type) {
  switch (type) {
    case 0: return Mask::None;
    case 1: return Mask::Norm;
    case 2: return Mask::Alibi;
    case 3: return Mask::ByToken;   // MASK_TYPE_SPEC
    case 4:                         // MASK_TYPE_MASK_FREE
    case 5: return Mask::Triangle;  // MASK_TYPE_NORM_COMPRESS
    default: op.refuse("maskType is {}, want 0 to 5", type);
  }
}

}  // namespace

ATB_OP(PagedAttention, aclnnIncreFlashAttentionV4, (In, query), (In, keyCache), (OptIn, valueCache), (In, blockTables),
       (In, contextLens), (OptIn, mask), (OptIn, qSeqLens), (OptIn, kDescale), (OptIn, vDescale), (Out, out),
       (Int, headNum), (Int, kvHeadNum), (Double, qkScale), (Int, maskType), (Int, quantType), (Int, compressType),
       (Int, mlaVHeadSize)) {
  op.require(quantType == 0 && !kDescale && !vDescale,
             "quantType is {}: quantised keys and values are not supported, want 0", quantType);
  op.require(compressType == 0, "compressType is {}, supported is 0", compressType);
  inference::Attention a = attention_of(op, "query", *query, headNum, kvHeadNum, qkScale);
  a.keys = {as_pages(*keyCache)};
  if (mlaVHeadSize) {
    op.require(keyCache->rank == 4 && mlaVHeadSize > 0 && mlaVHeadSize <= keyCache->dims[3],
               "mlaVHeadSize is {}, want a part of keyCache, which is {}", mlaVHeadSize, describe(*keyCache));
    a.values = {narrow(a.keys[0], 3, 0, mlaVHeadSize)};
  } else {
    op.require(static_cast<bool>(valueCache), "valueCache is absent, want the values of keyCache");
    a.values = {as_pages(*valueCache)};
  }
  a.table = *blockTables;
  set_lengths(op, a, contextLens, qSeqLens, "qSeqLens");
  set_mask(op, a, mask_of(op, maskType), mask);
  plan_attention(op, a, as_tokens(op, "out", *out, headNum), nullptr);
}

}  // namespace updraft::atb_ops

template <>
atb::Status atb::CreateOperation(const infer::PagedAttentionParam& param, Operation** operation) {
  using namespace updraft;
  std::vector<const char*> inputs{"query", "keyCache"};
  if (param.mlaVHeadSize == 0) inputs.push_back("valueCache");
  inputs.insert(inputs.end(), {"blockTables", "contextLens"});
  if (param.maskType != 0) inputs.push_back("mask");
  if (param.calcType == 1) inputs.push_back("qSeqLens");
  if (param.quantType != 0) inputs.insert(inputs.end(), {"kDescale", "vDescale"});
  return atb_ops::make({"PagedAttentionOperation",
                        &atb_ops::PagedAttention_info,
                        std::move(inputs),
                        {"out"},
                        [param](OpCall& call) {
                          call.set("headNum", int64_t{param.headNum});
                          call.set("kvHeadNum", int64_t{param.kvHeadNum});
                          call.set("qkScale", static_cast<double>(param.qkScale));
                          call.set("maskType", int64_t{param.maskType});
                          call.set("quantType", int64_t{param.quantType});
                          call.set("compressType", int64_t{param.compressType});
                          call.set("mlaVHeadSize", int64_t{param.mlaVHeadSize});
                        }},
                       operation);
}
