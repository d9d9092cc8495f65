#include "atb/attention.h"

#include <numeric>

#include "ops/gathered.h"
#include "tensor/view_algebra.h"

namespace updraft::atb_ops {

std::vector<int64_t> ends_of(const std::vector<int64_t>& lengths) {
  std::vector<int64_t> ends;
  for (int64_t n : lengths) ends.push_back((ends.empty() ? 0 : ends.back()) + n);
  return ends;
}

TensorView as_tokens(const Op& op, const char* name, const TensorView& v, int64_t heads) {
  op.require(heads > 0, "headNum is {}, want above 0", heads);
  if (v.rank == 3) return v;
  op.require(v.rank == 2 && v.dims[1] % heads == 0, "{} is {}, want [tokens, {} heads, size] or [tokens, {} * size]",
             name, describe(v), heads, heads);
  TensorView r = v;
  r.rank = 3;
  r.dims[1] = heads;
  r.dims[2] = v.dims[1] / heads;
  r.strides[2] = v.strides[1];
  r.strides[1] = r.dims[2] * v.strides[1];
  return r;
}

inference::Attention attention_of(const Op& op, const char* name, const TensorView& query, int64_t heads,
                                  int64_t kv_heads, double scale) {
  inference::Attention a{.query = as_tokens(op, name, query, heads)};
  a.layout = "TND";
  a.heads = heads;
  a.kv_heads = kv_heads ? kv_heads : heads;
  a.scale = scale;
  return a;
}

void set_lengths(Op& op, inference::Attention& a, const In& keys, const OptIn& queries, const char* queries_name) {
  a.kv_lengths = op.integers("contextLens", keys.handle);
  if (queries) {
    a.q_lengths = ends_of(op.integers(queries_name, queries.handle));
  } else {
    a.q_lengths.resize(a.kv_lengths.size());
    std::iota(a.q_lengths.begin(), a.q_lengths.end(), 1);
  }
}

TensorView as_pages(const TensorView& v) { return v.rank == 4 ? v.transpose(1, 2) : v; }

void set_mask(const Op& op, inference::Attention& a, Mask kind, const OptIn& mask) {
  if (kind == Mask::None) return;
  if (kind == Mask::Triangle) {
    a.sparse_mode = 3;  // the tensor is a triangle that all calls share: nothing is read of it
    return;
  }
  op.require(static_cast<bool>(mask), "mask is absent, which maskType wants");
  a.shift = *mask;
  const int most = kind == Mask::Alibi ? 4 : kind == Mask::ByToken ? 2 : 3, least = kind == Mask::Alibi ? 3 : 2;
  op.require(mask->rank >= least && mask->rank <= most, "mask is {}, want {}", describe(*mask),
             kind == Mask::Alibi     ? "[heads, queries, keys] or [batch, heads, queries, keys]"
             : kind == Mask::ByToken ? "[tokens, keys]"
                                     : "[queries, keys] or [batch, queries, keys]");
  if (kind == Mask::Alibi && mask->rank == 3) a.shift = unsqueeze(*mask, 0);
  a.shift_by_token = kind == Mask::ByToken;
  a.shift_flags = kind == Mask::Norm && mask->dtype == DType::BFloat16;
}

}  // namespace updraft::atb_ops
