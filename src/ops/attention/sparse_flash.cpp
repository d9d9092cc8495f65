// Attention to the keys that an index names for each query (as aclnnLightningIndexer gives it), by blocks of keys.
// Query and key may have a second part behind their own, turned by position (rope), as MLA has it.
#include <algorithm>
#include <cmath>

#include "kernels/matmul/matmul.h"
#include "ops/attention/sparse_tokens.h"
#include "tensor/view_algebra.h"

namespace updraft {
namespace {

using namespace sparse_tokens;

struct SparseFlash {
  TensorView query, key, value, indices;
  TensorView query_rope, key_rope, sinks;  // may be absent
  Tokens tokens;
  float scale;
  int64_t block;
  bool causal;
  TensorView out, most, sum;  // the last two may be absent
};

void attend(const SparseFlash& w) {
  const int64_t heads = w.query.dims[w.query.rank - 2], d = w.query.dims[w.query.rank - 1], dv = row_length(w.value),
                dr = given(w.query_rope) ? row_length(w.query_rope) : 0, width = d + dr;
  const int64_t all = w.query.numel() / (heads * d), rows = w.key.numel() / d, named = row_length(w.indices);
  const Rows at(w.tokens, all, rows);
  const std::vector<int64_t> index = integers_of(w.indices);
  const std::vector<float> sinks = given(w.sinks) ? floats_of(w.sinks) : std::vector<float>();
  const Matrix queries(w.query, d), keys(w.key, d), values(w.value, dv);
  const Matrix q_rope = dr ? Matrix(w.query_rope, dr) : Matrix(), k_rope = dr ? Matrix(w.key_rope, dr) : Matrix();
  std::vector<float> out(static_cast<size_t>(all * heads * dv)), most(static_cast<size_t>(all * heads)),
      sum(static_cast<size_t>(all * heads));
  std::vector<float> q(static_cast<size_t>(heads * width)), k, v, scores;
  std::vector<int64_t> read;
  for (int64_t b = 0; b < w.tokens.batches; ++b) {
    for (int64_t i = 0; i < at.query_count(b); ++i) {
      const int64_t row = at.query_row(b, i), seen = at.seen(b, i, w.causal), count = at.key_count(b);
      read.clear();
      for (int64_t j = 0; j < named; ++j) {
        const int64_t n = index[static_cast<size_t>(row * named + j)];
        if (n == -1) break;
        if (n < 0 || n * w.block >= count)
          fail_kernel(fmt::format("sparse_indices has {} for query {} of batch {}, which has {} keys", n, i, b, count));
        for (int64_t s = n * w.block; s < std::min({(n + 1) * w.block, count, seen}); ++s)
          read.push_back(at.key_row(b, s));
      }
      const auto n = static_cast<int64_t>(read.size());
      if (!n) continue;
      k.resize(static_cast<size_t>(n * width)), v.resize(static_cast<size_t>(n * dv));
      scores.resize(static_cast<size_t>(heads * n));
      for (int64_t j = 0; j < n; ++j) {
        const int64_t from = read[static_cast<size_t>(j)];
        keys.read(from, k.data() + j * width);
        if (dr) k_rope.read(from, k.data() + j * width + d);
        values.read(from, v.data() + j * dv);
      }
      for (int64_t h = 0; h < heads; ++h) {
        queries.read(row * heads + h, q.data() + h * width);
        if (dr) q_rope.read(row * heads + h, q.data() + h * width + d);
      }
      const int64_t q_dims[] = {heads, width}, k_dims[] = {n, width}, v_dims[] = {n, dv}, s_dims[] = {heads, n},
                    o_dims[] = {heads, dv};
      const TensorView s_view = TensorView::contiguous(scores.data(), DType::Float, s_dims, 2);
      MatmulOptions scaled;
      scaled.alpha = static_cast<double>(w.scale);
      matmul(TensorView::contiguous(q.data(), DType::Float, q_dims, 2),
             turned(TensorView::contiguous(k.data(), DType::Float, k_dims, 2)), s_view, scaled);
      for (int64_t h = 0; h < heads; ++h) {
        float* const s = scores.data() + h * n;
        float top = *std::max_element(s, s + n);
        if (!sinks.empty()) top = std::max(top, sinks[static_cast<size_t>(h)]);
        double total = sinks.empty() ? 0 : std::exp(static_cast<double>(sinks[static_cast<size_t>(h)] - top));
        for (int64_t j = 0; j < n; ++j) total += s[j] = std::exp(s[j] - top);
        for (int64_t j = 0; j < n; ++j) s[j] = static_cast<float>(s[j] / total);
        most[static_cast<size_t>(row * heads + h)] = top;
        sum[static_cast<size_t>(row * heads + h)] = static_cast<float>(total);
      }
      matmul(s_view, TensorView::contiguous(v.data(), DType::Float, v_dims, 2),
             TensorView::contiguous(out.data() + row * heads * dv, DType::Float, o_dims, 2));
    }
  }
  write_all(w.out, out);
  // [B, 1, S, N] and [1, T, N]: the order of the rows above
  if (given(w.most)) write_all(w.most, most);
  if (given(w.sum)) write_all(w.sum, sum);
}

void plan(Op& op, const In& query, const In& key, const OptIn& value, const In& indices, const OptIn& table,
          const OptIn& q_lengths, const OptIn& k_lengths, const OptIn& q_rope, const OptIn& k_rope, const OptIn& sinks,
          double scale, int64_t block, const char* q_layout, const char* k_layout, int64_t mode, int64_t before,
          int64_t behind, int64_t attention_mode, bool sums, const Out& out, const OptOut& most, const OptOut& sum) {
  const Tokens tokens(op, layout_of(op, "layout_query", q_layout, false), layout_of(op, "layout_kv", k_layout, true),
                      *query, *key, q_lengths, k_lengths, table);
  const TensorView v = value && !value->empty() ? *value : *key;
  op.require_same_shape("value", v, "key", *key);
  op.require(v.dtype == key->dtype, "value is {}, want {}", describe(v), name_of(key->dtype));
  op.require(static_cast<bool>(q_rope) == static_cast<bool>(k_rope), "query_rope and key_rope belong together");
  if (q_rope) {
    const TensorView &q = *q_rope, &k = *k_rope;
    op.require(q.rank == query->rank && k.rank == key->rank && row_length(q) == row_length(k) &&
                   rows_of(q) == rows_of(*query) && rows_of(k) == rows_of(*key) && q.dtype == query->dtype &&
                   k.dtype == query->dtype,
               "query_rope is {} and key_rope {}, want the shapes of query and key but for their last dimension",
               describe(q), describe(k));
  }
  op.require(indices->rank == query->rank && indices->dtype == DType::Int32 &&
                 rows_of(*indices) * query->dims[query->rank - 2] == rows_of(*query) &&
                 indices->dims[indices->rank - 2] == 1,
             "sparse_indices is {}, want INT32 of as many tokens as query, one head", describe(*indices));
  op.require(block >= 1 && block <= 128 && (block & (block - 1)) == 0,
             "sparse_block_size is {}, want a power of two up to 128", block);
  op.require(mode == 0 || mode == 3, "sparse_mode is {}, want 0 (all) or 3 (causal)", mode);
  op.require(before >= kAllTokens && behind >= kAllTokens, "pre_tokens is {} and next_tokens {}, want 2^63 - 1", before,
             behind);
  op.require(attention_mode == 0 || attention_mode == 2, "attention_mode is {}, want 0 or 2 (MLA)", attention_mode);
  const int64_t heads = query->dims[query->rank - 2];
  if (sinks)
    op.require(sinks->numel() == heads && is_floating(sinks->dtype), "sinks is {}, want {} values", describe(*sinks),
               heads);
  op.result_like("attention_out", *out, *query, query->dtype);
  SparseFlash w{*query,
                *key,
                v,
                *indices,
                optional_view(q_rope),
                optional_view(k_rope),
                optional_view(sinks),
                tokens,
                static_cast<float>(scale),
                block,
                mode == 3,
                *out,
                {},
                {}};
  for (const auto& [name, of, to] : {std::tuple("softmax_max", &most, &w.most), {"softmax_sum", &sum, &w.sum}}) {
    if (!sums) {
      if (*of) op.suggest(**of, {0}, DType::Float);
      continue;
    }
    op.require(static_cast<bool>(*of), "{} is null, which return_softmax_lse needs", name);
    if (tokens.query.packed) op.result(name, **of, {1, query->dims[0], heads}, DType::Float);
    else op.result(name, **of, {query->dims[0], 1, query->dims[1], heads}, DType::Float);
    *to = **of;
  }
  if (out->empty()) return;
  const int64_t keys = row_length(*indices) * block;
  op.flops(2 * query->numel() * keys * 2);
  op.work(query->numel() * keys / 4);
  op.launch([w] { attend(w); });
}

}  // namespace

SAMPLE(aclnnSparseFlashAttention,
       "query=f16[2,3,4,M] key=f16[2,5,1,M] value=f16[2,5,1,M] sparseIndices=i32[2,3,1,2]:0..3 blockTableOptional=null "
       "actualSeqLengthsQueryOptional=null actualSeqLengthsKvOptional=null queryRopeOptional=null keyRopeOptional=null "
       "scaleValue=0.5 sparseBlockSize=1 layoutQueryOptional=BSND layoutKvOptional=BSND sparseMode=0 "
       "preTokens=9223372036854775807 nextTokens=9223372036854775807 attentionMode=2 returnSoftmaxLse=false "
       "attentionOut=f16[2,3,4,M] softmaxMaxOut=f32[0] softmaxSumOut=f32[0]")
ABOUT(aclnnSparseFlashAttention, MixCube, "Attention of each query to the blocks of keys that sparseIndices names",
      "每个 query 只对 sparseIndices 指定的 key 块做注意力")
ACLNN(aclnnSparseFlashAttention, (In, query), (In, key), (OptIn, value), (In, sparseIndices),
      (OptIn, blockTableOptional), (OptIn, actualSeqLengthsQueryOptional), (OptIn, actualSeqLengthsKvOptional),
      (OptIn, queryRopeOptional), (OptIn, keyRopeOptional), (Double, scaleValue), (Int, sparseBlockSize),
      (Text, layoutQueryOptional), (Text, layoutKvOptional), (Int, sparseMode), (Int, preTokens), (Int, nextTokens),
      (Int, attentionMode), (Bool, returnSoftmaxLse), (Out, attentionOut), (OptOut, softmaxMaxOut),
      (OptOut, softmaxSumOut)) {
  plan(op, query, key, value, sparseIndices, blockTableOptional, actualSeqLengthsQueryOptional,
       actualSeqLengthsKvOptional, queryRopeOptional, keyRopeOptional, {}, scaleValue, sparseBlockSize,
       layoutQueryOptional, layoutKvOptional, sparseMode, preTokens, nextTokens, attentionMode, returnSoftmaxLse,
       attentionOut, softmaxMaxOut, softmaxSumOut);
}
SAMPLE(
    aclnnSparseFlashAttentionV2,
    "query=f16[2,3,4,M] key=f16[2,5,1,M] value=f16[2,5,1,M] sparseIndices=i32[2,3,1,2]:0..3 blockTableOptional=null "
    "actualSeqLengthsQueryOptional=null actualSeqLengthsKvOptional=null queryRopeOptional=null keyRopeOptional=null "
    "sinksOptional=f32[4] scaleValue=0.5 sparseBlockSize=1 layoutQueryOptional=BSND layoutKvOptional=BSND sparseMode=0 "
    "preTokens=9223372036854775807 nextTokens=9223372036854775807 attentionMode=2 returnSoftmaxLse=false "
    "attentionOut=f16[2,3,4,M] softmaxMaxOut=f32[0] softmaxSumOut=f32[0]")
ABOUT(aclnnSparseFlashAttentionV2, MixCube, "As aclnnSparseFlashAttention; sinks take a share of each head's softmax",
      "同 aclnnSparseFlashAttention，sinks 参与各头的 softmax 归一化")
ACLNN(aclnnSparseFlashAttentionV2, (In, query), (In, key), (OptIn, value), (In, sparseIndices),
      (OptIn, blockTableOptional), (OptIn, actualSeqLengthsQueryOptional), (OptIn, actualSeqLengthsKvOptional),
      (OptIn, queryRopeOptional), (OptIn, keyRopeOptional), (OptIn, sinksOptional), (Double, scaleValue),
      (Int, sparseBlockSize), (Text, layoutQueryOptional), (Text, layoutKvOptional), (Int, sparseMode),
      (Int, preTokens), (Int, nextTokens), (Int, attentionMode), (Bool, returnSoftmaxLse), (Out, attentionOut),
      (OptOut, softmaxMaxOut), (OptOut, softmaxSumOut)) {
  plan(op, query, key, value, sparseIndices, blockTableOptional, actualSeqLengthsQueryOptional,
       actualSeqLengthsKvOptional, queryRopeOptional, keyRopeOptional, sinksOptional, scaleValue, sparseBlockSize,
       layoutQueryOptional, layoutKvOptional, sparseMode, preTokens, nextTokens, attentionMode, returnSoftmaxLse,
       attentionOut, softmaxMaxOut, softmaxSumOut);
}

}  // namespace updraft
