// Caches in pages and the tokens that go into them (scatter_cache.cpp) or come from them (gather_cache.cpp).
#pragma once
#include <string_view>

#include "base/scratch.h"
#include "ops/gathered.h"
#include "ops/op.h"
#include "tensor/view_algebra.h"

namespace updraft::paged_cache {

inline bool is_index(const TensorView& v) { return v.dtype == DType::Int32 || v.dtype == DType::Int64; }

/// A cache and tokens: [tokens, heads, size].
struct Cache {
  TensorView tokens, pages;
  bool blocked;  ///< [pages, heads * size / part, page, part]; else [pages, page, heads, size]
  int64_t page() const { return pages.dims[blocked ? 2 : 1]; }
  int64_t places() const { return pages.dims[0] * page(); }
  /// Where a token lies: [heads, size], or [heads * size / part, part].
  TensorView place(int64_t slot) const {
    return select(select(pages, 0, slot / page()), blocked ? 1 : 0, slot % page());
  }
  TensorView token(int64_t t) const { return select(tokens, 0, t); }
};

/// to = from, which has as many elements in the same order.
inline void copy_token(const TensorView& to, TensorView from) {
  ScratchScope scratch;
  if (to.rank != from.rank || to.dims[0] != from.dims[0]) {
    void* dense = scratch.take(from.bytes());
    gather_to(dense, from.dtype, from);
    from = TensorView::contiguous(dense, from.dtype, to.dims, to.rank);
  }
  copy_elements(to, from);
}

/// Whether the mode is that of blocked pages; refuses other words.
inline bool is_blocked(const Op& op, const char* mode) {
  const std::string_view word = mode;
  op.require(word == "Norm" || word.empty() || word == "PA_NZ", "cacheMode is \"{}\", want \"Norm\" or \"PA_NZ\"",
             word);
  return word == "PA_NZ";
}

inline Cache cache_of(const Op& op, const char* name, const TensorView& x, const char* cache, const TensorView& pages,
                      bool blocked) {
  op.require(x.rank == 3, "{} is {}, supported is [tokens, heads, size] (not the compressed form)", name, describe(x));
  op.require(pages.rank == 4 && pages.dtype == x.dtype, "{} is {}, want four dimensions of {} as {}", cache,
             describe(pages), name_of(x.dtype), name);
  const int64_t wide = x.dims[1] * x.dims[2];
  op.require(blocked ? pages.dims[3] > 0 && pages.dims[1] * pages.dims[3] == wide
                     : pages.dims[2] == x.dims[1] && pages.dims[3] == x.dims[2],
             "{} is {}, want {} for {} {}", cache, describe(pages),
             blocked ? "[pages, heads * size / part, page, part]" : "[pages, page, heads, size]", name, describe(x));
  return {x, pages, blocked};
}

}  // namespace updraft::paged_cache
