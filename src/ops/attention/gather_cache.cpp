// Keys and values of sequences read from the pages of a cache. Facts: op-plugin's call and vLLM's use of it (chunked
// prefill).
#include "base/parallel.h"
#include "ops/attention/paged_cache.h"

namespace updraft {
using namespace paged_cache;

SAMPLE(aclnnGatherPaKvCache,
       "keyCache=f32[3,N,2,M] valueCache=f32[3,N,2,M] blockTables=i32[2,2]:0..2 seqLens=i32[2]:1..2 keyRef=f32[4,2,M] "
       "valueRef=f32[4,2,M] seqOffset=null cacheMode=Norm isSeqLensCumsum=false")
ABOUT(aclnnGatherPaKvCache, Vector,
      "keyRef and valueRef = the tokens of sequences from seqOffset on, read from their pages",
      "按 blockTables 从分页缓存取出各序列自 seqOffset 起的 key、value，依次排列")
ACLNN(aclnnGatherPaKvCache, (In, keyCache), (In, valueCache), (In, blockTables), (In, seqLens), (InOut, keyRef),
      (InOut, valueRef), (OptIn, seqOffset), (Text, cacheMode), (Bool, isSeqLensCumsum)) {
  const bool blocked = is_blocked(op, cacheMode), sums = isSeqLensCumsum;
  const Cache keys = cache_of(op, "keyRef", *keyRef, "keyCache", *keyCache, blocked);
  const Cache values = cache_of(op, "valueRef", *valueRef, "valueCache", *valueCache, blocked);
  op.require(keyRef->dims[0] == valueRef->dims[0] && keys.places() == values.places() && keys.page() == values.page(),
             "keyCache is {} and valueCache {}, keyRef {} and valueRef {}: want as many pages and tokens",
             describe(*keyCache), describe(*valueCache), describe(*keyRef), describe(*valueRef));
  op.require(blockTables->rank == 2 && is_index(*blockTables), "blockTables is {}, want INT32 [sequences, pages]",
             describe(*blockTables));
  const int64_t sequences = blockTables->dims[0], most = blockTables->dims[1];
  op.require(seqLens->rank == 1 && seqLens->dims[0] == sequences + (sums ? 1 : 0) && is_index(*seqLens),
             "seqLens is {}, want INT32 [{}]{}", describe(*seqLens), sequences + (sums ? 1 : 0),
             sums ? ", where sequences begin and the last one ends" : "");
  const TensorView offset = optional_view(seqOffset);
  op.require(!given(offset) || (offset.numel() == sequences && is_index(offset)), "seqOffset is {}, want INT32 [{}]",
             describe(offset), sequences);
  op.work(keyRef->numel() + valueRef->numel());
  op.launch([=, tables = *blockTables, lengths = *seqLens] {
    const std::vector<int64_t> pages = integers_of(tables), n = integers_of(lengths);
    const std::vector<int64_t> from = given(offset) ? integers_of(offset) : std::vector<int64_t>();
    const int64_t page = keys.page(), room = keys.tokens.dims[0];
    std::vector<int64_t> slots;  // of each token that is read
    for (int64_t s = 0; s < sequences; ++s) {
      const auto i = static_cast<size_t>(s);
      const int64_t count = sums ? n[i + 1] - n[i] : n[i], first = from.empty() ? 0 : from[i];
      if (count < 0 || first < 0 || (count && (!page || (first + count - 1) / page >= most)))
        fail_kernel(fmt::format("sequence {} has {} tokens from {} on, blockTables names {} pages of {}", s, count,
                                first, most, page));
      if (static_cast<int64_t>(slots.size()) + count > room)
        fail_kernel(fmt::format("seqLens make more than the {} tokens that keyRef holds", room));
      for (int64_t t = first; t < first + count; ++t) {
        const int64_t slot = pages[static_cast<size_t>(s * most + t / page)] * page + t % page;
        if (slot < 0 || slot >= keys.places())
          fail_kernel(fmt::format("blockTables has page {} for sequence {}, the cache has {}", slot / page, s,
                                  keys.places() / page));
        slots.push_back(slot);
      }
    }
    parallel_for(static_cast<int64_t>(slots.size()), 64, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        for (const Cache* c : {&keys, &values}) copy_token(c->token(i), c->place(slots[static_cast<size_t>(i)]));
    });
  });
}

}  // namespace updraft
