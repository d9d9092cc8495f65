// Gradients of the sums by which aclnnLightningIndexer chooses keys: of those that were chosen. Facts: op-plugin's
// call.
#include <algorithm>

#include "ops/attention/sparse_tokens.h"

namespace updraft {
namespace {

using namespace sparse_tokens;

struct IndexerGrad {
  TensorView query, key, weights, slopes, indices;
  Tokens tokens;
  TensorView dquery, dkey, dweights;
};

void run(const IndexerGrad& w) {
  const int64_t heads = w.query.dims[w.query.rank - 2], d = row_length(w.query), named = row_length(w.indices);
  const Rows at(w.tokens, rows_of(w.query) / std::max<int64_t>(1, heads), rows_of(w.key));
  const std::vector<float> q = floats_of(w.query), k = floats_of(w.key), weights = floats_of(w.weights),
                           slopes = floats_of(w.slopes);
  const std::vector<int64_t> index = integers_of(w.indices);
  std::vector<float> dq(q.size()), dk(k.size()), dw(weights.size());
  for (int64_t b = 0; b < w.tokens.batches; ++b)
    for (int64_t i = 0; i < at.query_count(b); ++i) {
      const int64_t row = at.query_row(b, i);
      for (int64_t j = 0; j < named; ++j) {
        const int64_t n = index[static_cast<size_t>(row * named + j)];
        if (n == -1) break;
        if (n < 0 || n >= at.key_count(b))
          fail_kernel(fmt::format("sparse_indices has {} for query {} of batch {}, which has {} keys", n, i, b,
                                  at.key_count(b)));
        const int64_t key_row = at.key_row(b, n);
        const float* const of_key = k.data() + key_row * d;
        float* const to_key = dk.data() + key_row * d;
        const float slope = slopes[static_cast<size_t>(row * named + j)];
        for (int64_t h = 0; h < heads; ++h) {
          const auto head = static_cast<size_t>(row * heads + h);
          const float* const of_query = q.data() + (row * heads + h) * d;
          float product = 0;
          for (int64_t c = 0; c < d; ++c) product += of_query[c] * of_key[c];
          if (!(product > 0)) continue;
          dw[head] += slope * product;
          const float by = slope * weights[head];
          float* const to_query = dq.data() + (row * heads + h) * d;
          for (int64_t c = 0; c < d; ++c) {
            to_query[c] += by * of_key[c];
            to_key[c] += by * of_query[c];
          }
        }
      }
    }
  write_all(w.dquery, dq);
  write_all(w.dkey, dk);
  write_all(w.dweights, dw);
}

}  // namespace

SAMPLE(aclnnLightningIndexerGrad,
       "query=f16[2,3,4,M] key=f16[2,5,1,M] dy=f16[2,3,1,2] sparseIndices=i32[2,3,1,2]:0..3 weights=f16[2,3,4] "
       "actualSeqLengthsQueryOptional=null actualSeqLengthsKeyOptional=null headNum=4 layout=BSND sparseMode=3 "
       "preTokens=9223372036854775807 nextTokens=9223372036854775807 deterministic=true dQuery=f16[2,3,4,M] "
       "dKey=f16[2,5,1,M] dWeights=f16[2,3,4]")
ABOUT(aclnnLightningIndexerGrad, MixCube, "Gradients of the sums of aclnnLightningIndexer for query, key and weights",
      "aclnnLightningIndexer 得分对 query、key 与 weights 的梯度")
ACLNN(aclnnLightningIndexerGrad, (In, query), (In, key), (In, dy), (In, sparseIndices), (In, weights),
      (OptIn, actualSeqLengthsQueryOptional), (OptIn, actualSeqLengthsKeyOptional), (Int, headNum), (Text, layout),
      (Int, sparseMode), (Int, preTokens), (Int, nextTokens), (Bool, deterministic), (Out, dQuery), (Out, dKey),
      (Out, dWeights)) {
  (void)deterministic;  // it always is
  const Layout both = layout_of(op, "layout", layout, false);
  const Tokens tokens(op, both, both, *query, *key, actualSeqLengthsQueryOptional, actualSeqLengthsKeyOptional, {});
  const int64_t heads = query->dims[query->rank - 2];
  op.require(headNum == 0 || headNum == heads, "head_num is {}, query {} has {} heads", int64_t{headNum},
             describe(*query), heads);
  // The indices say what was seen.
  check_mask(op, sparseMode, preTokens, nextTokens);
  op.require(weights->numel() * row_length(*query) == query->numel() && row_length(*weights) == heads &&
                 is_floating(weights->dtype),
             "weights is {}, want a real number for each head of query {}", describe(*weights), describe(*query));
  op.require(sparseIndices->dtype == DType::Int32 &&
                 sparseIndices->numel() * heads == rows_of(*query) * row_length(*sparseIndices),
             "sparse_indices is {}, want INT32 of as many tokens as query, one head", describe(*sparseIndices));
  op.require(
      dy->numel() == sparseIndices->numel() && row_length(*dy) == row_length(*sparseIndices) && is_floating(dy->dtype),
      "dy is {}, want a real number for each of sparse_indices {}", describe(*dy), describe(*sparseIndices));
  op.result_like("d_query", *dQuery, *query, query->dtype);
  op.result_like("d_key", *dKey, *key, key->dtype);
  op.result_like("d_weights", *dWeights, *weights, weights->dtype);
  const int64_t keys = row_length(*sparseIndices);
  op.flops(2 * query->numel() * keys * 3);
  op.work(query->numel() * keys * 3);
  op.launch(
      [w = IndexerGrad{*query, *key, *weights, *dy, *sparseIndices, tokens, *dQuery, *dKey, *dWeights}] { run(w); });
}

}  // namespace updraft
