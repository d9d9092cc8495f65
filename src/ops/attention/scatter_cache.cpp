// Keys and values of tokens put into the pages of a cache.
#include <string_view>
#include <tuple>

#include "base/scratch.h"
#include "ops/gathered.h"
#include "ops/op.h"
#include "tensor/view_algebra.h"

namespace updraft {
namespace {

/// A cache, and what goes into it: [tokens, heads, size].
struct Cache {
  TensorView from, to;
  bool blocked;  ///< [pages, heads * size / part, page, part]; else [pages, page, heads, size]
  int64_t page() const { return to.dims[blocked ? 2 : 1]; }
};

void write(const Cache& c, const std::vector<int64_t>& slots) {
  const int64_t page = c.page(), places = c.to.dims[0] * page;
  for (size_t t = 0; t < slots.size(); ++t) {
    const int64_t slot = slots[t];
    if (slot < 0) continue;  // a token that pads
    if (slot >= places)
      fail_kernel(fmt::format("scatter_pa_kv_cache: slot {} of token {} is out of range, the cache has {} places", slot,
                              t, places));
    const TensorView to = select(select(c.to, 0, slot / page), c.blocked ? 1 : 0, slot % page);
    TensorView from = select(c.from, 0, static_cast<int64_t>(t));
    ScratchScope scratch;
    if (c.blocked) {
      void* dense = scratch.take(from.bytes());
      gather_to(dense, from.dtype, from);
      from = TensorView::contiguous(dense, from.dtype, to.dims, to.rank);
    }
    copy_elements(to, from);
  }
}

Cache cache_of(const Op& op, const char* name, const TensorView& x, const char* cache, const TensorView& to,
               bool blocked) {
  op.require(x.rank == 3, "{} is {}, supported is [tokens, heads, size] (not the compressed form)", name, describe(x));
  op.require(to.rank == 4 && to.dtype == x.dtype, "{} is {}, want four dimensions of {} as {}", cache, describe(to),
             name_of(x.dtype), name);
  const int64_t wide = x.dims[1] * x.dims[2];
  op.require(
      blocked ? to.dims[3] > 0 && to.dims[1] * to.dims[3] == wide : to.dims[2] == x.dims[1] && to.dims[3] == x.dims[2],
      "{} is {}, want {} for {} {}", cache, describe(to),
      blocked ? "[pages, heads * size / part, page, part]" : "[pages, page, heads, size]", name, describe(x));
  return {x, to, blocked};
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
  const std::string_view mode = cacheMode, how = scatterMode;
  op.require(mode == "Norm" || mode.empty() || mode == "PA_NZ", "cacheMode is \"{}\", want \"Norm\" or \"PA_NZ\"",
             mode);
  op.require(how == "None" || how.empty(), "scatterMode is \"{}\", supported is \"None\"", how);
  op.require(!compressLens && !compressSeqOffset && !seqLens,
             "compressLens, compressSeqOffset or seqLens is given, which is not supported");
  for (const auto& [name, given, want] : {std::tuple{"strides", &strides, 1}, std::tuple{"offsets", &offsets, 0}})
    if (*given)
      for (int64_t n : **given) op.require(n == want, "{} has {}, supported is {}", name, n, want);
  const Cache keys = cache_of(op, "key", *key, "keyCacheRef", *keyCacheRef, mode == "PA_NZ");
  const Cache values = cache_of(op, "value", *value, "valueCacheRef", *valueCacheRef, mode == "PA_NZ");
  op.require(value->dims[0] == key->dims[0] && value->dims[1] == key->dims[1] && value->dtype == key->dtype,
             "key is {} and value {}, want as many tokens and heads of one type", describe(*key), describe(*value));
  op.require(slotMapping->rank == 1 && slotMapping->dims[0] == key->dims[0] &&
                 (slotMapping->dtype == DType::Int32 || slotMapping->dtype == DType::Int64),
             "slotMapping is {}, want INT32 or INT64[{}]", describe(*slotMapping), key->dims[0]);
  op.work(key->numel() + value->numel());
  op.launch([keys, values, slots = *slotMapping] {
    const std::vector<int64_t> at = integers_of(slots);
    write(keys, at);
    write(values, at);
  });
}

}  // namespace updraft
