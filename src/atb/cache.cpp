// Keys and values put into pages and read from them: ReshapeAndCacheOperation, AtbPagedCacheLoad.
#include "atb/atb_op.h"

namespace updraft::atb_ops {
namespace {
constexpr int32_t kKeysAlone = 1, kBlocked = 2;  // kvCacheCfg
}

ATB_OP(ReshapeAndCache, aclnnScatterPaKvCache, (In, key), (OptIn, value), (InOut, keyCache), (OptInOut, valueCache),
       (In, slots), (Int, compressType), (Int, kvCacheCfg)) {
  op.require(compressType == 0, "compressType is {}, supported is 0", compressType);
  op.require(kvCacheCfg >= 0 && kvCacheCfg <= kBlocked, "kvCacheCfg is {}, want 0 to 2", kvCacheCfg);
  const char* mode = kvCacheCfg == kBlocked ? "PA_NZ" : "Norm";
  call(op, "aclnnScatterPaCache", key, keyCache, slots, nullptr, nullptr, nullptr, mode);
  if (kvCacheCfg == kKeysAlone) return;
  op.require(value && valueCache, "value or valueCache is absent, which kvCacheCfg {} wants", kvCacheCfg);
  // Keys and values may be of different types.
  call(op, "aclnnScatterPaCache", value, valueCache, slots, nullptr, nullptr, nullptr, mode);
}

ATB_FUNCTIONS(AtbPagedCacheLoad, PagedCacheLoad, aclnnGatherPaKvCache, (In, keyCache), (In, valueCache),
              (In, blockTables), (In, contextLens), (InOut, key), (InOut, value), (OptIn, seqStarts),
              (Int8, kvCacheCfg), (Bool, isSeqLensCumsum), (Bool, hasSeqStarts)) {
  op.require(hasSeqStarts == static_cast<bool>(seqStarts), "hasSeqStarts is {}, seqStarts {}", hasSeqStarts,
             seqStarts ? "given" : "absent");
  const bool blocked = kvCacheCfg == 0;
  op.require(keyCache->rank == 4, "keyCache is {}, want four dimensions", describe(*keyCache));
  StepArgument begins = seqStarts;
  Temp pages(DType::Int32), first(DType::Int32);
  if (seqStarts) {  // reading begins with a whole page
    const int64_t page = keyCache->dims[blocked ? 2 : 1];
    call(op, "aclnnFloorDivides", seqStarts, page, pages);
    call(op, "aclnnMuls", *pages, page, first);
    begins = *first;
  }
  call(op, "aclnnGatherPaKvCache", keyCache, valueCache, blockTables, contextLens, key, value, begins,
       blocked ? "PA_NZ" : "Norm", isSeqLensCumsum);
}

}  // namespace updraft::atb_ops

template <>
atb::Status atb::CreateOperation(const infer::ReshapeAndCacheParam& param, Operation** operation) {
  using namespace updraft;
  const bool keys_alone = param.kvCacheCfg == atb_ops::kKeysAlone;
  std::vector<const char*> inputs = keys_alone
                                        ? std::vector<const char*>{"key", "keyCache", "slots"}
                                        : std::vector<const char*>{"key", "value", "keyCache", "valueCache", "slots"};
  std::vector<const char*> outputs =
      keys_alone ? std::vector<const char*>{"keyCache"} : std::vector<const char*>{"keyCache", "valueCache"};
  return atb_ops::make(
      {"ReshapeAndCacheOperation", &atb_ops::ReshapeAndCache_info, std::move(inputs), std::move(outputs),
       [param](OpCall& call) {
         call.set("compressType", int64_t{param.compressType});
         call.set("kvCacheCfg", int64_t{param.kvCacheCfg});
       }},
      operation);
}
