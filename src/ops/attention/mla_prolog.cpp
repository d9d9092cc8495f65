#include "ops/attention/mla_prolog.h"

#include <cmath>
#include <string_view>

#include "base/parallel.h"
#include "kernels/matmul/matmul.h"
#include "ops/gathered.h"
#include "tensor/view_algebra.h"

namespace updraft {
namespace {

/// Memory of a step, of the tokens' own type: each step rounds to it.
struct Rounded {
  std::vector<std::byte> bytes;
  TensorView view;
  Rounded(DType type, std::initializer_list<int64_t> dims) {
    view = TensorView::contiguous(nullptr, type, dims.begin(), static_cast<int>(dims.size()));
    bytes.resize(static_cast<size_t>(view.numel()) * size_of(type));
    view.data = bytes.data();
  }
};

/// Rows of x over the root of the mean of their squares, times gamma.
void normalise(std::vector<float>& x, int64_t width, int64_t apart, const std::vector<float>& gamma, float epsilon) {
  parallel_for(
      static_cast<int64_t>(x.size()) / apart, std::max<int64_t>(1, 8192 / apart), [&](int64_t begin, int64_t end) {
        for (int64_t r = begin; r < end; ++r) {
          float* row = x.data() + r * apart;
          double squares = 0;
          for (int64_t c = 0; c < width; ++c) squares += static_cast<double>(row[c]) * static_cast<double>(row[c]);
          const auto root =
              static_cast<float>(1 / std::sqrt(squares / static_cast<double>(width) + static_cast<double>(epsilon)));
          for (int64_t c = 0; c < width; ++c) row[c] *= root * gamma[static_cast<size_t>(c)];
        }
      });
}

/// to = a head turned: its even elements come before its odd ones, and these halves turn against each other.
void turn(const float* head, const float* cos, const float* sin, int64_t width, float* to) {
  const int64_t half = width / 2;
  for (int64_t c = 0; c < half; ++c) {
    const float a = head[2 * c], b = head[2 * c + 1];
    to[c] = a * cos[c] - b * sin[c];
    to[half + c] = b * cos[half + c] + a * sin[half + c];
  }
}

void run(const MlaProlog& p) {
  const int64_t tokens = rows_of(p.x), latent = p.weight_dq.dims[1], heads = p.weight_uk.dims[0],
                plain = p.weight_uk.dims[1], kept = p.weight_uk.dims[2], turned = row_length(p.sin);
  const DType type = p.x.dtype;
  Rounded dense(type, {tokens, row_length(p.x)});
  copy_elements(TensorView::contiguous(dense.view.data, type, p.x.dims, p.x.rank), p.x);
  const TensorView& x = dense.view;
  Rounded narrow_query(type, {tokens, latent}), wide(type, {tokens, heads * (plain + turned)}),
      queries(type, {tokens, heads, kept});
  matmul(x, p.weight_dq, narrow_query.view);
  std::vector<float> numbers = floats_of(narrow_query.view);
  normalise(numbers, latent, latent, floats_of(p.gamma_cq), p.epsilon_cq);
  write_all(narrow_query.view, numbers);
  if (given(p.query_norm)) write_all(p.query_norm, numbers);
  matmul(narrow_query.view, p.weight_uq_qr, wide.view);
  const TensorView by_head = reshape(wide.view, {tokens, heads, plain + turned});
  matmul(permute(narrow(by_head, 2, 0, plain), {1, 0, 2}), p.weight_uk, permute(queries.view, {1, 0, 2}));
  copy_elements(p.query, TensorView::contiguous(queries.view.data, type, p.query.dims, p.query.rank));

  const std::vector<float> cos = floats_of(p.cos), sin = floats_of(p.sin),
                           before = floats_of(narrow(by_head, 2, plain, turned));
  std::vector<float> after(before.size());
  parallel_for(tokens * heads, std::max<int64_t>(1, 4096 / turned), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      turn(before.data() + i * turned, cos.data() + i / heads * turned, sin.data() + i / heads * turned, turned,
           after.data() + i * turned);
  });
  write_all(p.query_rope, after);

  // Keys and values are rounded once, when the caches get them.
  const int64_t row = kept + turned, dims[] = {tokens, row};
  std::vector<float> keys(static_cast<size_t>(tokens * row)), key(static_cast<size_t>(turned));
  matmul(x, p.weight_dkv_kr, TensorView::contiguous(keys.data(), DType::Float, dims, 2));
  normalise(keys, kept, row, floats_of(p.gamma_ckv), p.epsilon_ckv);
  const std::vector<int64_t> places = integers_of(p.places);
  const int64_t room = p.kv_cache.dims[0] * p.kv_cache.dims[1];
  if (room == 0) return;
  auto place = [&](const TensorView& cache, int64_t at) {
    return select(select(cache, 0, at / cache.dims[1]), 0, at % cache.dims[1]);
  };
  for (int64_t t = 0; t < tokens; ++t) {
    const int64_t at = places[static_cast<size_t>(t)];
    if (at < 0 || at >= room)
      fail_kernel(fmt::format("mla_prolog: cache_index has {} for token {}, want 0 to {}", at, t, room - 1));
    float* from = keys.data() + t * row;
    turn(from + kept, cos.data() + t * turned, sin.data() + t * turned, turned, key.data());
    const TensorView value = place(p.kv_cache, at), turn_of = place(p.kr_cache, at);
    copy_elements(value, TensorView::contiguous(from, DType::Float, value.dims, value.rank));
    copy_elements(turn_of, TensorView::contiguous(key.data(), DType::Float, turn_of.dims, turn_of.rank));
  }
}

}  // namespace

void plan_mla_prolog(Op& op, MlaProlog p, const char* cache_mode, const Out& query, const Out& query_rope) {
  op.require(std::string_view(cache_mode) == "PA_BSND", "cache_mode is \"{}\", supported is \"PA_BSND\"", cache_mode);
  const TensorView& x = p.x;
  op.require((x.rank == 2 || x.rank == 3) && compute_of(x.dtype) == Compute::F32,
             "token_x is {}, want FLOAT, FLOAT16 or BFLOAT16 of [tokens, size] or [batch, length, size]", describe(x));
  auto matrix = [&](const char* name, const TensorView& v, int rank) {
    op.require(v.rank == rank && v.dtype == x.dtype,
               "{} is {}, want {} dimensions of {}: quantised ones are not supported", name, describe(v), rank,
               name_of(x.dtype));
  };
  matrix("weight_dq", p.weight_dq, 2), matrix("weight_uq_qr", p.weight_uq_qr, 2);
  matrix("weight_uk", p.weight_uk, 3), matrix("weight_dkv_kr", p.weight_dkv_kr, 2);
  matrix("kv_cache", p.kv_cache, 4), matrix("kr_cache", p.kr_cache, 4);
  const int64_t size = row_length(x), tokens = x.numel() / std::max<int64_t>(1, size), latent = p.weight_dq.dims[1],
                heads = p.weight_uk.dims[0], plain = p.weight_uk.dims[1], kept = p.weight_uk.dims[2],
                turned = row_length(p.sin);
  op.require(turned > 0 && turned % 2 == 0, "rope_sin is {}, want rows of an even number", describe(p.sin));
  const int64_t down[] = {size, latent}, up[] = {latent, heads * (plain + turned)}, both[] = {size, kept + turned};
  op.require_shape("weight_dq", p.weight_dq, down, 2);
  op.require_shape("weight_uq_qr", p.weight_uq_qr, up, 2);
  op.require_shape("weight_dkv_kr", p.weight_dkv_kr, both, 2);
  const int64_t values[] = {p.kv_cache.dims[0], p.kv_cache.dims[1], 1, kept},
                turns[] = {p.kv_cache.dims[0], p.kv_cache.dims[1], 1, turned};
  op.require_shape("kv_cache", p.kv_cache, values, 4);
  op.require_shape("kr_cache", p.kr_cache, turns, 4);
  op.require(p.gamma_cq.numel() == latent && p.gamma_ckv.numel() == kept,
             "rmsnorm_gamma_cq is {} and rmsnorm_gamma_ckv {}, want {} and {} numbers", describe(p.gamma_cq),
             describe(p.gamma_ckv), latent, kept);
  op.require(p.sin.numel() == tokens * turned, "rope_sin is {}, want a row for each of {} tokens", describe(p.sin),
             tokens);
  op.require_same_shape("rope_cos", p.cos, "rope_sin", p.sin);
  op.require(is_integral(p.places.dtype) && p.places.numel() == tokens,
             "cache_index is {}, want a whole number for each of {} tokens", describe(p.places), tokens);
  std::vector<int64_t> dims(x.dims, x.dims + x.rank - 1);
  dims.insert(dims.end(), {heads, kept});
  op.result("query", *query, dims.data(), static_cast<int>(dims.size()), x.dtype);
  dims.back() = turned;
  op.result("query_rope", *query_rope, dims.data(), static_cast<int>(dims.size()), x.dtype);
  if (tokens == 0) return;
  p.query = *query, p.query_rope = *query_rope;
  op.flops(2 * tokens *
           (size * latent + latent * heads * (plain + turned) + heads * plain * kept + size * (kept + turned)));
  op.work(tokens * (size * (latent + kept + turned) + latent * heads * (plain + turned) + heads * plain * kept));
  op.launch([p] { run(p); });
}

namespace {
void refuse(const Op& op, std::initializer_list<std::pair<const char*, const OptIn*>> absent) {
  for (const auto& [name, v] : absent)
    op.require(!*v || (*v)->numel() == 0, "{} is given: quantised operands are not supported", name);
}
}  // namespace

// What both versions have alike; only the place of the cache's indices among the operands differs.
#define MLA_SAMPLE                                                                                            \
  "tokenX=f32[N,12] weightDq=f32[12,10] weightUqQr=f32[10,20] weightUk=f32[2,6,8] weightDkvKr=f32[12,12] "    \
  "rmsnormGammaCq=f32[10] rmsnormGammaCkv=f32[8] ropeSin=f32[N,4] ropeCos=f32[N,4] cacheIndex=i64[N]:0..15 "  \
  "kvCacheRef=f32[2,8,1,8] krCacheRef=f32[2,8,1,4] dequantScaleX=null dequantScaleWDq=null "                  \
  "dequantScaleWUqQr=null dequantScaleWDkvKr=null quantScaleCkv=null quantScaleCkr=null smoothScalesCq=null " \
  "rmsnormEpsilonCq=1e-5 rmsnormEpsilonCkv=1e-5 cacheMode=PA_BSND query=f32[N,2,8] queryRope=f32[N,2,4] "     \
  "dequantScaleQNope=null"
#define MLA_FRONT                                                                                          \
  (In, tokenX), (In, weightDq), (In, weightUqQr), (In, weightUk), (In, weightDkvKr), (In, rmsnormGammaCq), \
      (In, rmsnormGammaCkv), (In, ropeSin), (In, ropeCos)
#define MLA_CACHES (InOut, kvCacheRef), (InOut, krCacheRef)
#define MLA_SCALES                                                                                           \
  (OptIn, dequantScaleX), (OptIn, dequantScaleWDq), (OptIn, dequantScaleWUqQr), (OptIn, dequantScaleWDkvKr), \
      (OptIn, quantScaleCkv), (OptIn, quantScaleCkr), (OptIn, smoothScalesCq)
#define MLA_EPSILONS (Double, rmsnormEpsilonCq), (Double, rmsnormEpsilonCkv), (Text, cacheMode)
#define MLA_RESULTS (Out, query), (Out, queryRope), (OptOut, dequantScaleQNope)
#define MLA_REFUSE                                         \
  refuse(op, {{"dequantScaleX", &dequantScaleX},           \
              {"dequantScaleWDq", &dequantScaleWDq},       \
              {"dequantScaleWUqQr", &dequantScaleWUqQr},   \
              {"dequantScaleWDkvKr", &dequantScaleWDkvKr}, \
              {"quantScaleCkv", &quantScaleCkv},           \
              {"quantScaleCkr", &quantScaleCkr},           \
              {"smoothScalesCq", &smoothScalesCq}})
#define MLA_OPERANDS                                                                                            \
  {                                                                                                             \
    .x = *tokenX, .weight_dq = *weightDq, .weight_uq_qr = *weightUqQr, .weight_uk = *weightUk,                  \
    .weight_dkv_kr = *weightDkvKr, .gamma_cq = *rmsnormGammaCq, .gamma_ckv = *rmsnormGammaCkv, .sin = *ropeSin, \
    .cos = *ropeCos, .places = *cacheIndex, .kv_cache = *kvCacheRef, .kr_cache = *krCacheRef,                   \
    .epsilon_cq = static_cast<float>(rmsnormEpsilonCq), .epsilon_ckv = static_cast<float>(rmsnormEpsilonCkv)    \
  }

SAMPLE(aclnnMlaPrologV2WeightNz, MLA_SAMPLE)
ABOUT(aclnnMlaPrologV2WeightNz, MixCube,
      "Queries of attention with one latent head, and its keys and values into the caches",
      "MLA 前处理：计算 query，并将 key、value 写入缓存")
ACLNN(aclnnMlaPrologV2WeightNz, MLA_FRONT, (In, cacheIndex), MLA_CACHES, MLA_SCALES, MLA_EPSILONS, MLA_RESULTS) {
  MLA_REFUSE;
  if (dequantScaleQNope) op.suggest(*dequantScaleQNope, {1}, DType::Float);
  plan_mla_prolog(op, MLA_OPERANDS, cacheMode, query, queryRope);
}
SAMPLE(aclnnMlaPrologV3WeightNz, MLA_SAMPLE
       " actualSeqLen=null kNopeClipAlpha=null weightQuantMode=0 kvCacheQuantMode=0 queryQuantMode=0 "
       "ckvkrRepoMode=0 quantScaleRepoMode=0 tileSize=128 qcQrScale=1 kcScale=1 queryNorm=f32[N,10] "
       "dequantScaleQNorm=null")
ABOUT(aclnnMlaPrologV3WeightNz, MixCube, "As aclnnMlaPrologV2WeightNz; queryNorm is what the queries are made of",
      "同 aclnnMlaPrologV2WeightNz，另可输出归一化后的低秩 query")
ACLNN(aclnnMlaPrologV3WeightNz, MLA_FRONT, MLA_CACHES, (OptIn, cacheIndex), MLA_SCALES, (OptIn, actualSeqLen),
      (OptIn, kNopeClipAlpha), MLA_EPSILONS, (Int, weightQuantMode), (Int, kvCacheQuantMode), (Int, queryQuantMode),
      (Int, ckvkrRepoMode), (Int, quantScaleRepoMode), (Int, tileSize), (Double, qcQrScale), (Double, kcScale),
      MLA_RESULTS, (OptOut, queryNorm), (OptOut, dequantScaleQNorm)) {
  (void)tileSize, (void)quantScaleRepoMode;  // of quantised caches
  MLA_REFUSE;
  refuse(op, {{"kNopeClipAlpha", &kNopeClipAlpha}});
  op.require(weightQuantMode == 0 && kvCacheQuantMode == 0 && queryQuantMode == 0,
             "weightQuantMode, kvCacheQuantMode and queryQuantMode are {}, {} and {}, supported is 0", weightQuantMode,
             kvCacheQuantMode, queryQuantMode);
  op.require(ckvkrRepoMode == 0, "ckvkrRepoMode is {}, supported is 0 (two caches)", ckvkrRepoMode);
  op.require(qcQrScale == 1 && kcScale == 1, "qcQrScale and kcScale are {} and {}, supported is 1", qcQrScale, kcScale);
  op.require(!actualSeqLen, "actualSeqLen is given, want none: cache_index says where each token goes");
  op.require(static_cast<bool>(cacheIndex), "cacheIndex is null, want a place for each token");
  if (dequantScaleQNope) op.suggest(*dequantScaleQNope, {0}, DType::Float);
  if (dequantScaleQNorm) op.suggest(*dequantScaleQNorm, {0}, DType::Float);
  MlaProlog p = MLA_OPERANDS;
  if (queryNorm) {
    if (op.inferring()) {
      TensorView shape = *tokenX;
      shape.dims[shape.rank - 1] = weightDq->dims[weightDq->rank - 1];
      op.suggest_like(*queryNorm, shape, tokenX->dtype);
    }
    if (queryNorm->numel() > 0) p.query_norm = *queryNorm;
    op.require(!given(p.query_norm) || p.query_norm.numel() == rows_of(p.x) * p.weight_dq.dims[1],
               "queryNorm is {}, want a row of weight_dq's columns for each token", describe(*queryNorm));
  }
  plan_mla_prolog(op, p, cacheMode, query, queryRope);
}

}  // namespace updraft
