// Attention of inference: queries of a step or of a prompt against keys and values that may lie in pages.
#pragma once
#include <cstdint>
#include <vector>

#include "ops/op.h"

namespace updraft::inference {

struct Attention {
  TensorView query{}, out{};
  std::vector<TensorView> keys{}, values{};    ///< one for all sequences, or one for each
  TensorView mask{}, shift{}, table{}, lse{};  ///< may be absent; table names the pages of each sequence
  TensorView query_rope{}, key_rope{};         ///< may be absent: what stands behind each row of query and key
  TensorView sink{};                           ///< may be absent: a score of each head that has no value
  bool shift_by_token = false;                 ///< a row of shift belongs to a token of TND, not of its sequence
  bool shift_flags = false;                    ///< what is above 0 in shift hides its score
  /// Of each sequence; empty: as long as the tensors. In TND where each one ends, but for keys in pages.
  std::vector<int64_t> q_lengths{}, kv_lengths{};
  const char* layout = "BNSD";
  int64_t heads = 1, kv_heads = 0, sparse_mode = 0, before = 0, after = 0, page = 0;
  double scale = 1;
};

/// Checks, infers and launches; `a` is without `out` and `lse`, which are filled in. `lse` is null where nobody asks.
void plan_attention(Op& op, Attention a, const TensorView& out, const TensorView* lse);

/// Refuses a tensor that is given where nothing may be.
void refuse_given(const Op& op, const char* name, const OptIn& tensor);

}  // namespace updraft::inference
