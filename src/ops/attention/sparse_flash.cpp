// Facts: op-plugin's pages and tests of npu_sparse_flash_attention.
#include "ops/attention/sparse_flash.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/matmul/matmul.h"
#include "tensor/view_algebra.h"

namespace updraft {
namespace sparse_flash {

Problem checked(const Op& op, const Arguments& a, const Tokens& tokens) {
  const TensorView &query = *a.query, &key = *a.key, &indices = *a.indices;
  const TensorView value = a.value && !a.value->empty() ? *a.value : key;
  op.require_same_shape("value", value, "key", key);
  op.require(value.dtype == key.dtype, "value is {}, want {}", describe(value), name_of(key.dtype));
  op.require(static_cast<bool>(a.query_rope) == static_cast<bool>(a.key_rope),
             "query_rope and key_rope belong together");
  if (a.query_rope) {
    const TensorView &q = *a.query_rope, &k = *a.key_rope;
    op.require(q.rank == query.rank && k.rank == key.rank && row_length(q) == row_length(k) &&
                   rows_of(q) == rows_of(query) && rows_of(k) == rows_of(key) && q.dtype == query.dtype &&
                   k.dtype == query.dtype,
               "query_rope is {} and key_rope {}, want the shapes of query and key but for their last dimension",
               describe(q), describe(k));
  }
  op.require(indices.rank == query.rank && indices.dtype == DType::Int32 &&
                 rows_of(indices) * query.dims[query.rank - 2] == rows_of(query) && indices.dims[indices.rank - 2] == 1,
             "sparse_indices is {}, want INT32 of as many tokens as query, one head", describe(indices));
  op.require(a.block >= 1 && a.block <= 128 && (a.block & (a.block - 1)) == 0,
             "sparse_block_size is {}, want a power of two up to 128", a.block);
  check_mask(op, a.mode, a.before, a.behind);
  return {query,
          key,
          value,
          indices,
          optional_view(a.query_rope),
          optional_view(a.key_rope),
          tokens,
          static_cast<float>(a.scale),
          a.block,
          a.mode == 3,
          {}};
}

Reader::Reader(const Problem& p)
    : at(p.tokens, p.rows(), rows_of(p.key)),
      p_(p),
      index_(integers_of(p.indices)),
      queries_(p.query, p.size()),
      keys_(p.key, row_length(p.key)),
      values_(p.value, row_length(p.value)) {
  if (!p.rope()) return;
  q_rope_ = Matrix(p.query_rope, p.rope());
  k_rope_ = Matrix(p.key_rope, p.rope());
}

namespace {
/// The numbers of a row, and behind them its rope where there is room for more than the numbers.
void read_tiles(const char* row, const Tiles& t, DType type, float* to, int64_t room) {
  const auto* numbers = reinterpret_cast<const int8_t*>(row);
  const char* scales = row + t.numbers + 2 * t.rope;
  for (int64_t c = 0; c < t.numbers; ++c) {
    float by;
    std::memcpy(&by, scales + c / t.tile * static_cast<int64_t>(sizeof by), sizeof by);
    to[c] = static_cast<float>(numbers[c]) * by;
  }
  if (room > t.numbers)
    gather_to(to + t.numbers, DType::Float,
              TensorView::contiguous(const_cast<char*>(row + t.numbers), type, &t.rope, 1));
}
}  // namespace

bool Reader::read(int64_t batch, int64_t query) {
  const int64_t d = p_.size(), dr = p_.rope(), width = d + dr, dv = p_.value_size(), heads = p_.heads();
  const int64_t named = row_length(p_.indices), count = at.key_count(batch), seen = at.seen(batch, query, p_.causal);
  row = at.query_row(batch, query);
  key_rows.clear();
  for (int64_t j = 0; j < named; ++j) {
    const int64_t n = index_[static_cast<size_t>(row * named + j)];
    if (n == -1) break;
    if (n < 0 || n * p_.block >= count)
      fail_kernel(
          fmt::format("sparse_indices has {} for query {} of batch {}, which has {} keys", n, query, batch, count));
    for (int64_t s = n * p_.block; s < std::min({(n + 1) * p_.block, count, seen}); ++s)
      key_rows.push_back(at.key_row(batch, s));
  }
  const auto n = static_cast<int64_t>(key_rows.size());
  if (!n) return false;
  q_own_.resize(static_cast<size_t>(heads * width)), k_own_.resize(static_cast<size_t>(n * width));
  v_own_.resize(static_cast<size_t>(n * dv));
  for (int64_t j = 0; j < n; ++j) {
    const int64_t from = key_rows[static_cast<size_t>(j)];
    if (p_.tiles.tile) {
      read_tiles(keys_.row(from), p_.tiles, p_.query.dtype, k_own_.data() + j * width, width);
      read_tiles(values_.row(from), p_.tiles, p_.query.dtype, v_own_.data() + j * dv, dv);
      continue;
    }
    keys_.read(from, k_own_.data() + j * width);
    if (dr) k_rope_.read(from, k_own_.data() + j * width + d);
    values_.read(from, v_own_.data() + j * dv);
  }
  for (int64_t h = 0; h < heads; ++h) {
    queries_.read(row * heads + h, q_own_.data() + h * width);
    if (dr) q_rope_.read(row * heads + h, q_own_.data() + h * width + d);
  }
  const int64_t q_dims[] = {heads, width}, k_dims[] = {n, width}, v_dims[] = {n, dv};
  q = TensorView::contiguous(q_own_.data(), DType::Float, q_dims, 2);
  k = TensorView::contiguous(k_own_.data(), DType::Float, k_dims, 2);
  v = TensorView::contiguous(v_own_.data(), DType::Float, v_dims, 2);
  return true;
}

namespace {
/// softmax(scale * q k^T) v of all queries.
void attend(const Problem& p, const TensorView& sinks_of, const TensorView& to, const TensorView& to_most,
            const TensorView& to_sum) {
  const int64_t heads = p.heads(), dv = p.value_size(), all = p.rows();
  const std::vector<float> sinks = given(sinks_of) ? floats_of(sinks_of) : std::vector<float>();
  std::vector<float> out(static_cast<size_t>(all * heads * dv)), most(static_cast<size_t>(all * heads)),
      sum(static_cast<size_t>(all * heads)), scores;
  Reader in(p);
  for (int64_t b = 0; b < p.tokens.batches; ++b) {
    for (int64_t i = 0; i < in.at.query_count(b); ++i) {
      if (!in.read(b, i)) continue;
      const auto n = static_cast<int64_t>(in.key_rows.size());
      scores.resize(static_cast<size_t>(heads * n));
      const int64_t s_dims[] = {heads, n}, o_dims[] = {heads, dv};
      const TensorView s_view = TensorView::contiguous(scores.data(), DType::Float, s_dims, 2);
      MatmulOptions scaled;
      scaled.alpha = static_cast<double>(p.scale);
      matmul(in.q, turned(in.k), s_view, scaled);
      for (int64_t h = 0; h < heads; ++h) {
        float* const s = scores.data() + h * n;
        float top = *std::max_element(s, s + n);
        if (!sinks.empty()) top = std::max(top, sinks[static_cast<size_t>(h)]);
        double total = sinks.empty() ? 0 : std::exp(static_cast<double>(sinks[static_cast<size_t>(h)] - top));
        for (int64_t j = 0; j < n; ++j) total += s[j] = std::exp(s[j] - top);
        for (int64_t j = 0; j < n; ++j) s[j] = static_cast<float>(s[j] / total);
        most[static_cast<size_t>(in.row * heads + h)] = top;
        sum[static_cast<size_t>(in.row * heads + h)] = static_cast<float>(total);
      }
      matmul(s_view, in.v, TensorView::contiguous(out.data() + in.row * heads * dv, DType::Float, o_dims, 2));
    }
  }
  write_all(to, out);
  // [B, 1, S, N] and [1, T, N]: the order of the rows above
  if (given(to_most)) write_all(to_most, most);
  if (given(to_sum)) write_all(to_sum, sum);
}
}  // namespace

void launch(Op& op, const Problem& p, const OptIn& sinks, const TensorView& out, const TensorView& most,
            const TensorView& sum) {
  if (sinks)
    op.require(sinks->numel() == p.heads() && is_floating(sinks->dtype), "sinks is {}, want {} values",
               describe(*sinks), p.heads());
  if (out.empty()) return;
  const int64_t keys = row_length(p.indices) * p.block;
  op.flops(2 * p.query.numel() * keys * 2);
  op.work(p.query.numel() * keys / 4);
  op.launch([=, of_sinks = optional_view(sinks)] { attend(p, of_sinks, out, most, sum); });
}

namespace {

void plan(Op& op, const In& query, const In& key, const OptIn& value, const In& indices, const OptIn& table,
          const OptIn& q_lengths, const OptIn& k_lengths, const OptIn& q_rope, const OptIn& k_rope, const OptIn& sinks,
          double scale, int64_t block, const char* q_layout, const char* k_layout, int64_t mode, int64_t before,
          int64_t behind, int64_t attention_mode, bool sums, const Out& out, const OptOut& most, const OptOut& sum) {
  const Tokens tokens(op, layout_of(op, "layout_query", q_layout, false), layout_of(op, "layout_kv", k_layout, true),
                      *query, *key, q_lengths, k_lengths, table);
  const Problem p =
      checked(op, {query, key, value, indices, q_rope, k_rope, scale, block, mode, before, behind}, tokens);
  op.require(attention_mode == 0 || attention_mode == 2, "attention_mode is {}, want 0 or 2 (MLA)", attention_mode);
  const int64_t heads = p.heads();
  op.result_like("attention_out", *out, *query, query->dtype);
  TensorView to_most{}, to_sum{};
  for (const auto& [name, of, to] : {std::tuple("softmax_max", &most, &to_most), {"softmax_sum", &sum, &to_sum}}) {
    if (!sums) {
      if (*of) op.suggest(**of, {0}, DType::Float);
      continue;
    }
    op.require(static_cast<bool>(*of), "{} is null, which return_softmax_lse needs", name);
    if (tokens.query.packed) op.result(name, **of, {1, query->dims[0], heads}, DType::Float);
    else op.result(name, **of, {query->dims[0], 1, query->dims[1], heads}, DType::Float);
    *to = **of;
  }
  launch(op, p, sinks, *out, to_most, to_sum);
}

}  // namespace
}  // namespace sparse_flash

using namespace sparse_flash;

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
