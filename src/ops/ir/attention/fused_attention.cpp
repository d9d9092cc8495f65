// Attention as graphs spell it, in one operator: no scores in memory, and nothing that training would keep.
#include "ops/attention/attention.h"
#include "ops/ir/shapes.h"

namespace updraft {
namespace {

using attention::Extra;
using attention::Heads;
using attention::Problem;

/// As [batch, heads, …, …]: three dimensions have one head, two have one batch as well.
TensorView with_heads(const TensorView& v, int rank) {
  TensorView four = v;
  if (rank == 3 && v.rank == 3) four = unsqueeze(four, 1);
  while (four.rank < 4) four = unsqueeze(four, 0);
  return four;
}

/// Scores and operands may have one batch for all.
void widen(Op& op, const char* name, Heads& h, int64_t batches) {
  op.require(h.batches == batches || h.batches == 1, "{} has {} batches, want 1 or {}", name, h.batches, batches);
  if (h.batches == 1) h.batch = 0;
  h.batches = batches;
}

/// A mask or a bias as [batch, heads, queries, keys], with strides of 0 where one serves all.
Extra extra(Op& op, const char* name, const TensorView& v, const Problem& p, int rank) {
  op.require(v.rank <= rank, "{} is {}, want {} dimensions at most", name, describe(v), rank);
  const int64_t dims[] = {p.q.batches, p.q.heads, p.q.positions, p.k.positions};
  const TensorView four = with_heads(v, rank);
  for (int d = 0; d < 4; ++d)
    op.require(four.dims[d] == 1 || four.dims[d] == dims[d], "{} is {}, want what broadcasts to the scores {}", name,
               describe(v), describe_shape(dims, 4));
  return attention::extra_of(four.expand(dims, 4));
}

}  // namespace

// A type of our own: graphs get it from the pass for attention.
ABOUT(FusedAttention, MixCube, "y = softmax(scale * query @ key^T + bias, masked) @ value",
      "y = softmax(scale * query @ key^T + bias，带掩码) @ value")
IR_OP(FusedAttention, FusedAttention, (In, query), (In, key), (In, value), (OptIn, bias), (OptIn, mask), (Out, y),
      (Float, scale, 1), (Bool, turned_key, false), (Ints, perm_y, nullptr), (Float, masked, -3.40282347e38),
      (Bool, mask_keeps, false), (Bool, mask_first, false), (Bool, nan_as_zero, false)) {
  const int rank = query->rank;
  op.require(rank >= 2 && rank <= 4 && key->rank == rank && value->rank == rank,
             "query is {}, key is {} and value is {}: want 2 to 4 dimensions, as many in each", describe(*query),
             describe(*key), describe(*value));
  op.require(key->dtype == query->dtype && value->dtype == query->dtype,
             "query is {}, key is {} and value is {}: want one type", describe(*query), describe(*key),
             describe(*value));
  Problem p;
  p.q = attention::heads_of(op, "query", with_heads(*query, rank), "BNSD", 0);
  p.k = attention::heads_of(op, "key", with_heads(turned_key ? turned(*key) : *key, rank), "BNSD", 0);
  p.v = attention::heads_of(op, "value", with_heads(*value, rank), "BNSD", 0);
  int64_t batches = p.q.batches;
  for (const Heads* h : {&p.k, &p.v})
    if (h->batches != 1) batches = h->batches;
  for (const OptIn* v : {&bias, &mask})
    if (*v && (*v)->rank == rank && rank > 2 && (*v)->dims[0] != 1) batches = (*v)->dims[0];
  widen(op, "query", p.q, batches);
  widen(op, "key", p.k, batches);
  widen(op, "value", p.v, batches);
  op.require(p.k.heads == p.v.heads && (p.q.heads == p.k.heads || (p.k.heads > 0 && p.q.heads % p.k.heads == 0)),
             "query is {}, key is {} and value is {}: heads of keys and values must divide those of queries",
             describe(*query), describe(*key), describe(*value));
  op.require(p.k.width == p.q.width && p.q.width > 0 && p.k.positions == p.v.positions,
             "query is {}, key is {} and value is {}: sizes do not match", describe(*query), describe(*key),
             describe(*value));
  const ir::Dims four = {batches, p.q.heads, p.q.positions, p.v.width};
  ir::Dims plain(four.end() - rank, four.end());
  if (rank == 3) plain[0] = batches;
  const ir::Dims order = perm_y.size() ? *perm_y : ir::all_axes(rank);
  op.require(ir::axes_of(op, "perm_y", order, rank).size() == static_cast<size_t>(rank),
             "perm_y has {} values, want {}", order.size(), rank);
  ir::Dims dims(plain.size()), back(plain.size());
  for (size_t d = 0; d < plain.size(); ++d) {
    dims[d] = plain[static_cast<size_t>(order[d])];
    back[static_cast<size_t>(order[d])] = static_cast<int64_t>(d);
  }
  ir::result(op, "y", *y, dims, query->dtype);
  if (bias) {
    op.require(bias->dtype == DType::Float || is_half(bias->dtype), "bias is {}, want FLOAT, FLOAT16 or BFLOAT16",
               describe(*bias));
    p.pse = extra(op, "bias", *bias, p, rank);
  }
  if (mask) {
    op.require(mask->dtype == DType::Bool || mask->dtype == DType::UInt8, "mask is {}, want BOOL or UINT8",
               describe(*mask));
    p.mask = extra(op, "mask", *mask, p, rank);
    p.dense = true;
    p.masked = masked;
    p.mask_keeps = mask_keeps;
    p.mask_first = mask_first;
  }
  if (y->empty()) return;
  p.group = p.q.heads / p.k.heads;
  p.scale = scale;
  p.nan_as_zero = nan_as_zero;
  if (p.k.positions > 0) p.unseen = std::numeric_limits<float>::quiet_NaN();
  for (int64_t b = 0; b < batches; ++b)
    p.sequences.push_back({b, 0, p.q.positions, 0, p.k.positions, 0, 0, b == 0, b + 1 == batches});
  p.scores = batches * p.q.heads * p.q.positions * p.k.positions;
  op.work(p.scores * p.q.width / 4 + 1);
  op.flops(2 * p.scores * (p.q.width + p.v.width));
  const Heads out = attention::heads_of(op, "y", with_heads(permute(*y, back), rank), "BNSD", 0);
  op.launch([p = std::move(p), out] { attention::forward(p, out); });
}

}  // namespace updraft
