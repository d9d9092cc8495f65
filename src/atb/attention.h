// What the attentions of libatb.so have in common: tokens of all sequences in one row, keys in pages, masks that are
// added to scores.
#pragma once
#include "atb/atb_op.h"
#include "ops/attention/inference.h"

namespace updraft::atb_ops {

/// Where each one ends.
std::vector<int64_t> ends_of(const std::vector<int64_t>& lengths);

/// [tokens, heads * size] or [tokens, heads, size], as the latter.
TensorView as_tokens(const Op& op, const char* name, const TensorView& v, int64_t heads);
/// An attention of these queries; `kv_heads` 0: as many as `heads`. Keys, values, lengths and mask are still to be
/// given.
inference::Attention attention_of(const Op& op, const char* name, const TensorView& query, int64_t heads,
                                  int64_t kv_heads, double scale);
/// The lengths of sequences whose keys lie in pages; without lengths of queries each sequence has one.
void set_lengths(Op& op, inference::Attention& a, const In& keys, const OptIn& queries, const char* queries_name);
/// [pages, page, heads, size] as attention wants it, [pages, heads, page, size]; of three dimensions as it is.
TensorView as_pages(const TensorView& v);

/// How masks are given. The two attentions number them differently.
enum class Mask : uint8_t {
  None,
  Norm,      ///< [queries, keys] or [batch, queries, keys], added; of BFLOAT16 what is above 0 hides
  Alibi,     ///< [heads, queries, keys] or [batch, heads, queries, keys], added
  ByToken,   ///< [tokens, keys], added
  Triangle,  ///< the last query of a sequence stands at its last key, and each one sees no later key
};
/// Gives `a` the mask; refuses one that is absent or has another shape.
void set_mask(const Op& op, inference::Attention& a, Mask kind, const OptIn& mask);

}  // namespace updraft::atb_ops
