// Linear attention by the gated delta rule: for each head a matrix S [Dv, Dk] that fades and takes in each token,
//   S = S * exp(g);  S = S + beta * (v - S k) k^T;  out = S (scale * q)
// in FLOAT, whatever the matrix is kept in. Facts: op-plugin's tests of npu_recurrent_gated_delta_rule and
// npu_chunk_gated_delta_rule.
#include <algorithm>
#include <cmath>

#include "base/parallel.h"
#include "ops/gathered.h"
#include "ops/op.h"
#include "tensor/view_algebra.h"

namespace updraft {
namespace {

struct DeltaRule {
  TensorView query, key, value;  // [T, Nk, Dk] twice, [T, Nv, Dv]
  TensorView beta, g;            // [T, Nv]; may be absent
  TensorView lengths;            // of the sequences, which lie one behind the other
  float scale;
  TensorView out;  // as value
};

void check(const Op& op, const DeltaRule& r, const TensorView& state) {
  const TensorView &q = r.query, &k = r.key, &v = r.value;
  op.require(
      q.rank == 3 && k.rank == 3 && v.rank == 3 && is_floating(q.dtype) && k.dtype == q.dtype && v.dtype == q.dtype,
      "query is {}, key {} and value {}, want [tokens, heads, size] of one floating-point type", describe(q),
      describe(k), describe(v));
  op.require_same_shape("key", k, "query", q);
  op.require(v.dims[0] == q.dims[0] && q.dims[1] > 0 && v.dims[1] % q.dims[1] == 0,
             "query is {} and value {}: want as many tokens, and as many heads of value for each of query", describe(q),
             describe(v));
  op.require(state.rank == 4 && is_floating(state.dtype) && state.dims[1] == v.dims[1] && state.dims[2] == v.dims[2] &&
                 state.dims[3] == q.dims[2],
             "state is {}, want [matrices, {}, {}, {}]", describe(state), v.dims[1], v.dims[2], q.dims[2]);
  for (const auto& [name, t] : {std::pair("beta", r.beta), {"g", r.g}}) {
    if (!given(t)) continue;
    op.require(t.rank == 2 && t.dims[0] == v.dims[0] && t.dims[1] == v.dims[1] && is_floating(t.dtype),
               "{} is {}, want [{}, {}]", name, describe(t), v.dims[0], v.dims[1]);
  }
  op.require(r.lengths.rank == 1 && is_integral(r.lengths.dtype), "actualSeqLengths is {}, want integers",
             describe(r.lengths));
}

/// Where each sequence begins, and the end of the last.
std::vector<int64_t> begins(const TensorView& lengths, int64_t tokens) {
  std::vector<int64_t> at = {0};
  for (const int64_t n : integers_of(lengths)) {
    if (n < 0 || at.back() + n > tokens)
      fail_kernel(fmt::format("actualSeqLengths has {} after {} of {} tokens", n, at.back(), tokens));
    at.push_back(at.back() + n);
  }
  return at;
}

/// All numbers in FLOAT.
struct Inputs {
  std::vector<float> q, k, v, beta, g;
  explicit Inputs(const DeltaRule& r) : q(floats_of(r.query)), k(floats_of(r.key)), v(floats_of(r.value)) {
    if (given(r.beta)) beta = floats_of(r.beta);
    if (given(r.g)) g = floats_of(r.g);
  }
};

/// The tokens of one sequence, one head. s: the matrix before them, turned, so that sums run beside each other; keep(t)
/// is told of each token, when s is the matrix after it.
template <class Keep>
void run_head(const DeltaRule& r, const Inputs& in, int64_t begin, int64_t end, int64_t head, std::vector<float>& s,
              std::vector<float>& out, Keep&& keep) {
  const int64_t nk = r.query.dims[1], dk = r.query.dims[2], nv = r.value.dims[1], dv = r.value.dims[2];
  const int64_t of = head / (nv / nk);
  std::vector<float> step(static_cast<size_t>(dv));
  for (int64_t t = begin; t < end; ++t) {
    const float* const q = in.q.data() + (t * nk + of) * dk;
    const float* const k = in.k.data() + (t * nk + of) * dk;
    const float* const v = in.v.data() + (t * nv + head) * dv;
    const auto at = static_cast<size_t>(t * nv + head);
    const float fade = in.g.empty() ? 1.0f : std::exp(in.g[at]), beta = in.beta.empty() ? 1.0f : in.beta[at];
    float* const o = out.data() + (t * nv + head) * dv;
    float* const seen = step.data();
    std::fill_n(seen, dv, 0.0f);
    for (int64_t c = 0; c < dk; ++c) {
      float* const row = s.data() + c * dv;
      for (int64_t i = 0; i < dv; ++i) {
        row[i] *= fade;
        seen[i] += row[i] * k[c];
      }
    }
    for (int64_t i = 0; i < dv; ++i) seen[i] = (v[i] - seen[i]) * beta;
    std::fill_n(o, dv, 0.0f);
    for (int64_t c = 0; c < dk; ++c) {
      float* const row = s.data() + c * dv;
      const float by = q[c] * r.scale;
      for (int64_t i = 0; i < dv; ++i) {
        row[i] += seen[i] * k[c];
        o[i] += row[i] * by;
      }
    }
    keep(t);
  }
}

/// The matrix, turned.
TensorView matrix(const TensorView& state, int64_t n, int64_t head) {
  return turned(select(select(state, 0, n), 0, head));
}

void count_work(Op& op, const DeltaRule& r) {
  const int64_t all = r.value.numel() * r.query.dims[2];
  op.flops(7 * all);
  op.work(4 * all);
}

}  // namespace

SAMPLE(aclnnRecurrentGatedDeltaRule,
       "query=f32[3,1,4] key=f32[3,1,4] value=f32[3,2,M] beta=f32[3,2] state=f32[3,2,M,4] actualSeqLengths=i32[1]:3..4 "
       "ssmStateIndices=i32[3]:0..1 g=f32[3,2] gk=null numAcceptedTokens=null scaleValue=0.5 out=f32[3,2,M]")
ABOUT(aclnnRecurrentGatedDeltaRule, Vector,
      "Linear attention by the gated delta rule, token by token; state keeps the matrix after each",
      "门控 delta 规则的线性注意力，逐 token 更新并写回 state")
ACLNN(aclnnRecurrentGatedDeltaRule, (In, query), (In, key), (In, value), (OptIn, beta), (InOut, state),
      (In, actualSeqLengths), (In, ssmStateIndices), (OptIn, g), (OptIn, gk), (OptIn, numAcceptedTokens),
      (Float, scaleValue), (Out, out)) {
  op.require(!gk, "gk is given, which is not supported: leave it out");
  DeltaRule r{*query, *key, *value, optional_view(beta), optional_view(g), *actualSeqLengths, scaleValue, *out};
  check(op, r, *state);
  op.require(
      ssmStateIndices->rank == 1 && ssmStateIndices->dims[0] == value->dims[0] && is_integral(ssmStateIndices->dtype),
      "ssmStateIndices is {}, want {} integers", describe(*ssmStateIndices), value->dims[0]);
  if (numAcceptedTokens)
    op.require(numAcceptedTokens->numel() == actualSeqLengths->numel() && is_integral(numAcceptedTokens->dtype),
               "numAcceptedTokens is {}, want {} integers", describe(*numAcceptedTokens), actualSeqLengths->numel());
  op.result_like("out", *out, *value, value->dtype);
  r.out = *out;
  if (out->empty()) return;
  count_work(op, r);
  op.launch([r, kept = *state, indices = *ssmStateIndices, accepted = optional_view(numAcceptedTokens)] {
    const Inputs in(r);
    const std::vector<int64_t> at = begins(r.lengths, r.value.dims[0]), slot = integers_of(indices),
                               taken = given(accepted) ? integers_of(accepted) : std::vector<int64_t>();
    for (const int64_t n : slot)
      if (n < 0 || n >= kept.dims[0])
        fail_kernel(fmt::format("ssmStateIndices has {}, state has {} matrices", n, kept.dims[0]));
    const auto sequences = static_cast<int64_t>(at.size()) - 1;
    for (size_t i = 0; i < taken.size(); ++i)
      if (taken[i] < 1 || at[i] + taken[i] > at[i + 1])
        fail_kernel(fmt::format("numAcceptedTokens has {} for a sequence of {}", taken[i], at[i + 1] - at[i]));
    const int64_t heads = r.value.dims[1];
    std::vector<float> made(static_cast<size_t>(r.value.numel()));
    // Sequences may share matrices, which are written in the order of tokens: heads are what is independent.
    parallel_for(heads, 1, [&](int64_t first, int64_t last) {
      std::vector<float> s(static_cast<size_t>(kept.dims[2] * kept.dims[3]));
      for (int64_t head = first; head < last; ++head)
        for (int64_t i = 0; i < sequences; ++i) {
          const auto n = static_cast<size_t>(i);
          if (at[n] == at[n + 1]) continue;
          const int64_t from = at[n] + (taken.empty() ? 0 : taken[n] - 1);
          gather_to(s.data(), DType::Float, matrix(kept, slot[static_cast<size_t>(from)], head));
          run_head(r, in, at[n], at[n + 1], head, s, made,
                   [&](int64_t t) { write_all(matrix(kept, slot[static_cast<size_t>(t)], head), s); });
        }
    });
    write_all(r.out, made);
  });
}

SAMPLE(aclnnChunkGatedDeltaRule,
       "query=f32[3,1,4] key=f32[3,1,4] value=f32[3,2,M] beta=f32[3,2] initialState=f32[1,2,M,4] "
       "actualSeqLengths=i32[1]:3..4 scaleValue=0.5 gOptional=f32[3,2] out=f32[3,2,M] finalState=f32[1,2,M,4]")
ABOUT(aclnnChunkGatedDeltaRule, MixCube,
      "Linear attention by the gated delta rule over whole sequences; finalState: the matrices behind them",
      "门控 delta 规则的线性注意力（整段序列），finalState 为各序列末状态")
ACLNN(aclnnChunkGatedDeltaRule, (In, query), (In, key), (In, value), (In, beta), (In, initialState),
      (In, actualSeqLengths), (Float, scaleValue), (OptIn, gOptional), (Out, out), (Out, finalState)) {
  DeltaRule r{*query, *key, *value, *beta, optional_view(gOptional), *actualSeqLengths, scaleValue, *out};
  check(op, r, *initialState);
  op.require(initialState->dims[0] == actualSeqLengths->numel(), "initialState is {}, want {} matrices",
             describe(*initialState), actualSeqLengths->numel());
  op.result_like("out", *out, *value, value->dtype);
  op.result_like("finalState", *finalState, *initialState, initialState->dtype);
  r.out = *out;
  if (finalState->empty()) return;
  count_work(op, r);
  op.launch([r, from = *initialState, to = *finalState] {
    const Inputs in(r);
    const std::vector<int64_t> at = begins(r.lengths, r.value.dims[0]);
    const int64_t heads = r.value.dims[1];
    std::vector<float> made(static_cast<size_t>(r.value.numel()));
    parallel_for(from.dims[0] * heads, 1, [&](int64_t first, int64_t last) {
      std::vector<float> s(static_cast<size_t>(from.dims[2] * from.dims[3]));
      for (int64_t i = first; i < last; ++i) {
        const int64_t n = i / heads, head = i % heads;
        gather_to(s.data(), DType::Float, matrix(from, n, head));
        run_head(r, in, at[static_cast<size_t>(n)], at[static_cast<size_t>(n) + 1], head, s, made, [](int64_t) {});
        write_all(matrix(to, n, head), s);
      }
    });
    write_all(r.out, made);
  });
}

}  // namespace updraft
