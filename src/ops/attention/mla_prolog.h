// What goes before attention of one latent head (MLA): queries, and what the caches keep of keys and values.
#pragma once
#include "ops/op.h"

namespace updraft {

struct MlaProlog {
  TensorView x{}, weight_dq{}, weight_uq_qr{}, weight_uk{}, weight_dkv_kr{}, gamma_cq{}, gamma_ckv{};
  TensorView sin{}, cos{}, places{}, kv_cache{}, kr_cache{};
  TensorView query{}, query_rope{}, query_norm{};  // the last may be absent
  float epsilon_cq = 0, epsilon_ckv = 0;
};
/// Checks the operands, gives `query` and `query_rope` their shapes and leaves the work.
void plan_mla_prolog(Op& op, MlaProlog p, const char* cache_mode, const Out& query, const Out& query_rope);

}  // namespace updraft
