// Which keys each query of sparse attention reads: those with the largest sums over the heads of weights * relu(q k^T).
// Whole numbers have a scale for each token (and head). Facts: op-plugin's pages of npu_(quant_)lightning_indexer.
#include <algorithm>
#include <numeric>

#include "kernels/matmul/matmul.h"
#include "ops/attention/sparse_tokens.h"
#include "tensor/view_algebra.h"

namespace updraft {
namespace {

using namespace sparse_tokens;

struct Indexer {
  TensorView query, key, weights;
  Tokens tokens;
  int64_t count;
  bool causal;
  TensorView indices, values;             // values may be absent
  TensorView query_scale{}, key_scale{};  // of INT8
};

void select_keys(const Indexer& w) {
  const int64_t heads = w.query.dims[w.query.rank - 2], d = w.query.dims[w.query.rank - 1];
  const int64_t all = w.query.numel() / (heads * d), rows = w.key.numel() / d;
  const Rows at(w.tokens, all, rows);
  const std::vector<float> q = floats_of(w.query), weights = floats_of(w.weights);
  std::vector<int32_t> indices(static_cast<size_t>(all * w.count), -1);
  std::vector<float> values(static_cast<size_t>(given(w.values) ? all * w.count : 0));
  const Matrix keys(w.key, d);
  const bool scaled = given(w.query_scale);
  const std::vector<float> query_scale = scaled ? floats_of(w.query_scale) : std::vector<float>(),
                           key_scale = scaled ? floats_of(w.key_scale) : std::vector<float>();
  for (int64_t b = 0; b < w.tokens.batches; ++b) {
    const int64_t n = at.key_count(b);
    if (!n || !at.query_count(b)) continue;
    std::vector<float> k(static_cast<size_t>(n * d)), products(static_cast<size_t>(heads * n));
    for (int64_t s = 0; s < n; ++s) keys.read(at.key_row(b, s), k.data() + s * d);
    const int64_t k_dims[] = {n, d}, q_dims[] = {heads, d}, p_dims[] = {heads, n};
    const TensorView k_view = TensorView::contiguous(k.data(), DType::Float, k_dims, 2);
    const TensorView p_view = TensorView::contiguous(products.data(), DType::Float, p_dims, 2);
    std::vector<float> score(static_cast<size_t>(n));
    std::vector<int32_t> order(static_cast<size_t>(n));
    for (int64_t i = 0; i < at.query_count(b); ++i) {
      const int64_t row = at.query_row(b, i), seen = std::min(n, at.seen(b, i, w.causal));
      matmul(TensorView::contiguous(const_cast<float*>(q.data()) + row * heads * d, DType::Float, q_dims, 2),
             turned(k_view), p_view);
      std::ranges::fill(score, 0.0f);
      for (int64_t h = 0; h < heads; ++h) {
        const float by = weights[static_cast<size_t>(row * heads + h)];
        float* const p = products.data() + h * n;
        for (int64_t s = 0; scaled && s < seen; ++s)
          p[s] *= query_scale[static_cast<size_t>(row * heads + h)] * key_scale[static_cast<size_t>(at.key_row(b, s))];
        for (int64_t s = 0; s < seen; ++s) score[static_cast<size_t>(s)] += by * std::max(p[s], 0.0f);
      }
      // NaN stands behind all numbers; of equal ones the first comes first.
      const int64_t kept = std::min(w.count, seen);
      std::iota(order.begin(), order.end(), 0);
      auto before = [&](int32_t a, int32_t c) {
        const float x = score[static_cast<size_t>(a)], y = score[static_cast<size_t>(c)];
        return x > y || (x == x && y != y) || (!(y > x) && !(y == y && x != x) && a < c);
      };
      std::partial_sort(order.begin(), order.begin() + kept, order.begin() + seen, before);
      std::copy_n(order.begin(), kept, indices.begin() + row * w.count);
      if (values.empty()) continue;
      for (int64_t j = 0; j < kept; ++j)
        values[static_cast<size_t>(row * w.count + j)] = score[static_cast<size_t>(order[static_cast<size_t>(j)])];
    }
  }
  write_all(w.indices, indices);
  if (!values.empty()) write_all(w.values, values);
}

void check(const Op& op, const TensorView& query, const TensorView& weights, int64_t count, int64_t mode,
           int64_t before, int64_t behind) {
  op.require(count > 0, "sparse_count is {}, want 1 or more", count);
  check_mask(op, mode, before, behind);
  op.require_same_shape("weights", weights, "query without its last dimension", first_dims(query, query.rank - 1));
  op.require(is_floating(weights.dtype), "weights is {}, want a floating-point type", describe(weights));
}

/// `count` keys for each query.
TensorView chosen(const TensorView& query, int64_t count) {
  TensorView to = query;
  to.dims[to.rank - 2] = 1;
  to.dims[to.rank - 1] = count;
  return to;
}

void launch(Op& op, const Indexer& w) {
  if (w.indices.empty()) return;
  const TensorView& key = w.key;
  const int64_t keys =
      key.numel() / std::max<int64_t>(1, key.dims[key.rank - 1] * std::max<int64_t>(1, w.tokens.batches));
  op.flops(2 * w.query.numel() * keys);
  op.work(w.query.numel() * keys / 8);
  op.launch([w] { select_keys(w); });
}

}  // namespace

SAMPLE(aclnnLightningIndexer,
       "query=f16[2,3,4,M] key=f16[2,5,1,M] weights=f16[2,3,4] actualSeqLengthsQueryOptional=null "
       "actualSeqLengthsKeyOptional=null blockTableOptional=null layoutQueryOptional=BSND layoutKeyOptional=BSND "
       "sparseCount=3 sparseMode=3 preTokens=9223372036854775807 nextTokens=9223372036854775807 returnValues=false "
       "sparseIndicesOut=i32[2,3,1,3] sparseValuesOut=f16[0]")
ABOUT(aclnnLightningIndexer, MixCube,
      "The sparseCount keys of each query with the largest sums over heads of weights * relu(query @ key)",
      "为每个 query 选出 weights * relu(query @ key) 按头求和最大的 sparseCount 个 key")
ACLNN(aclnnLightningIndexer, (In, query), (In, key), (In, weights), (OptIn, actualSeqLengthsQueryOptional),
      (OptIn, actualSeqLengthsKeyOptional), (OptIn, blockTableOptional), (Text, layoutQueryOptional),
      (Text, layoutKeyOptional), (Int, sparseCount), (Int, sparseMode), (Int, preTokens), (Int, nextTokens),
      (Bool, returnValues), (Out, sparseIndicesOut), (OptOut, sparseValuesOut)) {
  const Tokens tokens(op, layout_of(op, "layout_query", layoutQueryOptional, false),
                      layout_of(op, "layout_key", layoutKeyOptional, true), *query, *key, actualSeqLengthsQueryOptional,
                      actualSeqLengthsKeyOptional, blockTableOptional);
  check(op, *query, *weights, sparseCount, sparseMode, preTokens, nextTokens);
  const TensorView to = chosen(*query, sparseCount);
  op.result_like("sparse_indices", *sparseIndicesOut, to, DType::Int32);
  Indexer w{*query, *key, *weights, tokens, sparseCount, sparseMode == 3, *sparseIndicesOut, {}};
  if (returnValues) {
    op.require(static_cast<bool>(sparseValuesOut), "sparse_values is null, which return_value needs");
    op.result_like("sparse_values", *sparseValuesOut, to, query->dtype);
    w.values = *sparseValuesOut;
  } else if (sparseValuesOut) {
    op.suggest(*sparseValuesOut, {0}, query->dtype);
  }
  launch(op, w);
}

SAMPLE(aclnnQuantLightningIndexer,
       "query=i8[2,3,4,M] key=i8[2,5,1,M] weights=f16[2,3,4] queryDequantScale=f16[2,3,4] keyDequantScale=f16[2,5,1] "
       "actualSeqLengthsQueryOptional=null actualSeqLengthsKeyOptional=null blockTableOptional=null queryQuantMode=0 "
       "keyQuantMode=0 layoutQueryOptional=BSND layoutKeyOptional=BSND sparseCount=3 sparseMode=3 "
       "preTokens=9223372036854775807 nextTokens=9223372036854775807 sparseIndicesOut=i32[2,3,1,3]")
ABOUT(aclnnQuantLightningIndexer, MixCube, "As aclnnLightningIndexer, of INT8 with a scale for each token and head",
      "同 aclnnLightningIndexer，输入为 INT8，每个 token 与头各有反量化系数")
ACLNN(aclnnQuantLightningIndexer, (In, query), (In, key), (In, weights), (In, queryDequantScale), (In, keyDequantScale),
      (OptIn, actualSeqLengthsQueryOptional), (OptIn, actualSeqLengthsKeyOptional), (OptIn, blockTableOptional),
      (Int, queryQuantMode), (Int, keyQuantMode), (Text, layoutQueryOptional), (Text, layoutKeyOptional),
      (Int, sparseCount), (Int, sparseMode), (Int, preTokens), (Int, nextTokens), (Out, sparseIndicesOut)) {
  const Tokens tokens(op, layout_of(op, "layout_query", layoutQueryOptional, false),
                      layout_of(op, "layout_key", layoutKeyOptional, true), *query, *key, actualSeqLengthsQueryOptional,
                      actualSeqLengthsKeyOptional, blockTableOptional, {DType::Int8, DType::Int8});
  check(op, *query, *weights, sparseCount, sparseMode, preTokens, nextTokens);
  op.require(queryQuantMode == 0 && keyQuantMode == 0,
             "query_quant_mode is {} and key_quant_mode {}, want 0: a scale for each token and head",
             int64_t{queryQuantMode}, int64_t{keyQuantMode});
  op.require_same_shape("query_dequant_scale", *queryDequantScale, "query without its last dimension",
                        first_dims(*query, query->rank - 1));
  op.require_same_shape("key_dequant_scale", *keyDequantScale, "key without its last dimension",
                        first_dims(*key, key->rank - 1));
  for (const In* scale : {&queryDequantScale, &keyDequantScale})
    op.require(is_floating((*scale)->dtype), "a scale is {}, want a floating-point type", describe(**scale));
  op.result_like("sparse_indices", *sparseIndicesOut, chosen(*query, sparseCount), DType::Int32);
  launch(op, {*query,
              *key,
              *weights,
              tokens,
              sparseCount,
              sparseMode == 3,
              *sparseIndicesOut,
              {},
              *queryDequantScale,
              *keyDequantScale});
}

}  // namespace updraft
