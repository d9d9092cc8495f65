// Keys and values of tokens put into the pages of a cache.
#include <tuple>

#include "ops/attention/paged_cache.h"

namespace updraft {
namespace {

using namespace paged_cache;

void write(const Cache& c, const std::vector<int64_t>& slots) {
  for (size_t t = 0; t < slots.size(); ++t) {
    const int64_t slot = slots[t];
    if (slot < 0) continue;  // a token that pads
    if (slot >= c.places())
      fail_kernel(fmt::format("scatter_pa_kv_cache: slot {} of token {} is out of range, the cache has {} places", slot,
                              t, c.places()));
    copy_token(c.place(slot), c.token(static_cast<int64_t>(t)));
  }
}

void check_slots(const Op& op, const TensorView& slots, int64_t tokens) {
  op.require(slots.rank == 1 && slots.dims[0] == tokens && is_index(slots),
             "slotMapping is {}, want INT32 or INT64[{}]", describe(slots), tokens);
}

void refuse_compressed(const Op& op, const OptIn& lengths, const OptIn& offsets, const OptIn& sequences) {
  op.require(!lengths && !offsets && !sequences,
             "compressLens, compressSeqOffset or seqLens is given, which is not supported");
}

}  // namespace

SAMPLE(aclnnScatterPaKvCache,
       "key=f32[3,2,M] keyCacheRef=f32[2,N,2,M] slotMapping=i32[3]:0..1 value=f32[3,2,M] valueCacheRef=f32[2,N,2,M] "
       "compressLens=null compressSeqOffset=null seqLens=null cacheMode=Norm scatterMode=None strides=1,1 offsets=0,0")
ABOUT(aclnnScatterPaKvCache, Vector,
      "keyCacheRef and valueCacheRef at slotMapping = key and value of each token, by pages",
      "按 slotMapping 把各 token 的 key、value 写入分页的 keyCacheRef、valueCacheRef")
ACLNN(aclnnScatterPaKvCache, (In, key), (InOut, keyCacheRef), (In, slotMapping), (In, value), (InOut, valueCacheRef),
      (OptIn, compressLens), (OptIn, compressSeqOffset), (OptIn, seqLens), (Text, cacheMode), (Text, scatterMode),
      (OptInts, strides), (OptInts, offsets)) {
  const bool blocked = is_blocked(op, cacheMode);
  const std::string_view how = scatterMode;
  op.require(how == "None" || how.empty(), "scatterMode is \"{}\", supported is \"None\"", how);
  refuse_compressed(op, compressLens, compressSeqOffset, seqLens);
  for (const auto& [name, given, want] : {std::tuple{"strides", &strides, 1}, std::tuple{"offsets", &offsets, 0}})
    if (*given)
      for (int64_t n : **given) op.require(n == want, "{} has {}, supported is {}", name, n, want);
  const Cache keys = cache_of(op, "key", *key, "keyCacheRef", *keyCacheRef, blocked);
  const Cache values = cache_of(op, "value", *value, "valueCacheRef", *valueCacheRef, blocked);
  op.require(value->dims[0] == key->dims[0] && value->dims[1] == key->dims[1] && value->dtype == key->dtype,
             "key is {} and value {}, want as many tokens and heads of one type", describe(*key), describe(*value));
  check_slots(op, *slotMapping, key->dims[0]);
  op.work(key->numel() + value->numel());
  op.launch([keys, values, slots = *slotMapping] {
    const std::vector<int64_t> at = integers_of(slots);
    write(keys, at);
    write(values, at);
  });
}

SAMPLE(aclnnScatterPaCache,
       "key=f32[3,2,M] keyCacheRef=f32[2,N,2,M] slotMapping=i32[3]:0..1 compressLens=null compressSeqOffset=null "
       "seqLens=null cacheMode=Norm")
ABOUT(aclnnScatterPaCache, Vector, "keyCacheRef at slotMapping = key of each token, by pages",
      "按 slotMapping 把各 token 的 key 写入分页的 keyCacheRef")
ACLNN(aclnnScatterPaCache, (In, key), (InOut, keyCacheRef), (In, slotMapping), (OptIn, compressLens),
      (OptIn, compressSeqOffset), (OptIn, seqLens), (Text, cacheMode)) {
  refuse_compressed(op, compressLens, compressSeqOffset, seqLens);
  const Cache keys = cache_of(op, "key", *key, "keyCacheRef", *keyCacheRef, is_blocked(op, cacheMode));
  check_slots(op, *slotMapping, key->dims[0]);
  op.work(key->numel());
  op.launch([keys, slots = *slotMapping] { write(keys, integers_of(slots)); });
}

}  // namespace updraft
