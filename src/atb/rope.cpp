// Rotary position embedding of queries and keys: RopeOperation.
#include "atb/atb_op.h"

namespace updraft::atb_ops {
namespace {

/// [tokens, heads * size], or [tokens, heads, size], as [tokens, heads, size]
TensorView as_heads(const Op& op, const char* name, const TensorView& x, const TensorView& cos) {
  const int64_t size = cos.dims[1];
  op.require((x.rank == 2 || x.rank == 3) && x.dims[0] == cos.dims[0] && size > 0 && x.dims[x.rank - 1] % size == 0,
             "{} is {}, want [{}, a multiple of {}]: cos is {}", name, describe(x), cos.dims[0], size, describe(cos));
  int64_t heads = 1;
  for (int d = 1; d < x.rank; ++d) heads *= x.dims[d];
  TensorView r = x;
  op.require(x.is_contiguous(), "{} does not lie side by side", name);
  r.rank = 3;
  r.dims[1] = heads / size, r.dims[2] = size;
  r.strides[0] = heads, r.strides[1] = size, r.strides[2] = 1;
  return r;
}

/// [tokens, size], for all heads
TensorView for_heads(const TensorView& v) {
  TensorView r = v;
  r.rank = 3;
  r.dims[1] = 1, r.dims[2] = v.dims[1];
  r.strides[1] = v.dims[1] * v.strides[1], r.strides[2] = v.strides[1];
  return r;
}

}  // namespace

ATB_OP(Rope, aclnnRotaryPositionEmbedding, (In, query), (In, key), (In, cos), (In, sin), (In, seqLen), (Out, queryOut),
       (Out, keyOut), (Int, rotaryCoeff)) {
  (void)seqLen;  // how many tokens each sequence has: cos and sin have a row for each token
  op.require(cos->rank == 2, "cos is {}, want [tokens, size]", describe(*cos));
  op.require_same_shape("cos", *cos, "sin", *sin);
  const int64_t size = cos->dims[1];
  op.require(rotaryCoeff == 2 || rotaryCoeff == size, "rotaryCoeff is {}, want 2 (halves) or {} (neighbours)",
             rotaryCoeff, size);
  for (const auto& [name, x, out] : {std::tuple("query", &query, &queryOut), {"key", &key, &keyOut}}) {
    op.result_like(name, **out, **x, (*x)->dtype);
    call(op, "aclnnRotaryPositionEmbedding", as_heads(op, name, **x, *cos), for_heads(*cos), for_heads(*sin),
         rotaryCoeff == 2 ? 0 : 1, as_heads(op, name, **out, *cos));
  }
}

}  // namespace updraft::atb_ops

template <>
atb::Status atb::CreateOperation(const infer::RopeParam& param, Operation** operation) {
  using namespace updraft;
  return atb_ops::make({"RopeOperation",
                        &atb_ops::Rope_info,
                        {"query", "key", "cos", "sin", "seqLen"},
                        {"queryOut", "keyOut"},
                        [param](OpCall& call) { call.set("rotaryCoeff", int64_t{param.rotaryCoeff}); }},
                       operation);
}
