// Attention of latent keys and values (MLA), whose rotary parts stand beside them: to keys in pages (AtbMLA), and to a
// block of keys, brought together with the result of other blocks (AtbRingMLA).
#include <cmath>

#include "atb/attention.h"
#include "base/parallel.h"
#include "ops/gathered.h"
#include "tensor/view_algebra.h"

namespace updraft::atb_ops {
namespace {

constexpr int32_t kKeysInTwoParts = 1;  // cacheMode krope_ctkv

/// Result and logarithm of the sum of one block of keys: out is [tokens, heads, size], lse [heads, tokens].
struct Block {
  TensorView out, lse;
};

/// to = the softmax over the keys of both.
void bring_together(const Block& a, const Block& b, const Block& to) {
  const int64_t tokens = a.out.dims[0], heads = a.out.dims[1], size = a.out.dims[2];
  const std::vector<float> x = floats_of(a.out), y = floats_of(b.out), x_lse = floats_of(a.lse),
                           y_lse = floats_of(b.lse);
  std::vector<float> out(x.size()), lse(x_lse.size());
  parallel_for(tokens, 16, [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t)
      for (int64_t h = 0; h < heads; ++h) {
        const auto at = static_cast<size_t>(h * tokens + t), row = static_cast<size_t>((t * heads + h) * size);
        // Without keys there is no sum: such a block says infinity, and has no part in the result.
        const bool has_x = std::isfinite(x_lse[at]), has_y = std::isfinite(y_lse[at]);
        const double u = static_cast<double>(x_lse[at]), v = static_cast<double>(y_lse[at]), most = std::max(u, v);
        const double both = has_x && has_y ? most + std::log(std::exp(u - most) + std::exp(v - most)) : has_x ? u : v;
        const double by_x = has_x ? std::exp(u - both) : 0, by_y = has_y ? std::exp(v - both) : 0;
        for (size_t i = 0; i < static_cast<size_t>(size); ++i)
          out[row + i] = static_cast<float>((has_x ? by_x * static_cast<double>(x[row + i]) : 0) +
                                            (has_y ? by_y * static_cast<double>(y[row + i]) : 0));
        lse[at] = static_cast<float>(both);
      }
  });
  write_all(to.out, out);
  write_all(to.lse, lse);
}

}  // namespace

ATB_FUNCTIONS(AtbMLA, MLA, aclnnFusedInferAttentionScoreV3, (In, qNope), (In, qRope), (In, ctKV), (In, kRope),
              (In, blockTables), (In, contextLens), (OptIn, mask), (OptIn, qSeqLen), (OptIn, qkDescale),
              (OptIn, pvDescale), (Int, headNum), (Float, qkScale), (Int, kvHeadNum), (Int32, maskType),
              (Int32, calcType), (Int32, cacheMode), (Out, out), (OptOut, lse)) {
  op.require(cacheMode == kKeysInTwoParts,
             "cacheMode is {}: quantised and blocked caches are not supported, want 1 (krope_ctkv)", cacheMode);
  op.require(!qkDescale && !pvDescale, "qkDescale or pvDescale is given, which belong to quantised caches");
  op.require(maskType >= 0 && maskType <= 2, "maskType is {}, want 0 (none), 1 (spec) or 2 (free)", maskType);
  op.require(calcType >= 0 && calcType <= 2, "calcType is {}, want 0 to 2", calcType);
  inference::Attention a = attention_of(op, "qNope", *qNope, headNum, kvHeadNum, static_cast<double>(qkScale));
  a.keys = a.values = {as_pages(*ctKV)};
  a.query_rope = as_tokens(op, "qRope", *qRope, headNum);
  a.key_rope = as_pages(*kRope);
  a.table = *blockTables;
  set_lengths(op, a, contextLens, qSeqLen, "qSeqLen");
  set_mask(op, a, maskType == 0 ? Mask::None : maskType == 1 ? Mask::ByToken : Mask::Triangle, mask);
  plan_attention(op, a, as_tokens(op, "out", *out, headNum), lse ? &*lse : nullptr);
}

ATB_FUNCTIONS(AtbRingMLA, RingMLA, aclnnFusedInferAttentionScoreV3, (In, qNope), (In, qRope), (In, kNope), (In, kRope),
              (In, value), (OptIn, mask), (In, seqLen), (OptIn, prevOut), (OptIn, prevLse), (Int, headNum),
              (Int, kvHeadNum), (Float, qkScale), (Int32, kernelType), (Int32, maskType), (Int32, inputLayout),
              (Int32, calcType), (Out, out), (Out, softmaxLse)) {
  (void)kernelType;  // how exact the card computes: FLOAT here
  (void)mask;        // where maskType says so a triangle: query i sees the keys up to i
  op.require(maskType == 0 || maskType == 1, "maskType is {}, want 0 (none) or 1 (triu)", maskType);
  op.require(inputLayout == 0, "inputLayout is {}, supported is 0 (BSND)", inputLayout);
  op.require(calcType == 0 || calcType == 1, "calcType is {}, want 0 (default) or 1 (first ring)", calcType);
  // [sequences], or the lengths of queries and those of keys: [2, sequences]
  std::vector<int64_t> lengths = op.integers("seqLen", seqLen.handle), key_lengths = lengths;
  if (seqLen->rank == 2) {
    op.require(seqLen->dims[0] == 2, "seqLen is {}, want [sequences] or [2, sequences]", describe(*seqLen));
    lengths.resize(lengths.size() / 2);
    key_lengths.erase(key_lengths.begin(), key_lengths.begin() + static_cast<int64_t>(lengths.size()));
  }
  const TensorView q = as_tokens(op, "qNope", *qNope, headNum);
  const int64_t tokens = q.dims[0], kv_heads = kvHeadNum ? kvHeadNum : headNum;
  const TensorView v = as_tokens(op, "value", *value, kv_heads), result = as_tokens(op, "out", *out, headNum);
  op.result("softmaxLse", *softmaxLse, {headNum, tokens}, DType::Float);
  const bool first = calcType == 1;
  op.require(first || (prevOut && prevLse), "prevOut or prevLse is absent, which calcType 0 wants");
  if (!first) {
    op.require_same_shape("prevOut", *prevOut, "out", *out);
    op.require_same_shape("prevLse", *prevLse, "softmaxLse", *softmaxLse);
  }
  // What this block of keys gives, where it is not the whole result.
  const Block own = first
                        ? Block{result, *softmaxLse}
                        : Block{op.temporary(q.dtype, result.dims, 3), op.temporary(DType::Float, softmaxLse->dims, 2)};
  const TensorView k = as_tokens(op, "kNope", *kNope, kv_heads), q_rope = as_tokens(op, "qRope", *qRope, headNum),
                   k_rope = as_tokens(op, "kRope", *kRope, kv_heads);
  constexpr int64_t kFar = int64_t{1} << 31;
  TensorView lse = own.lse.transpose(0, 1);  // [tokens, heads, 1]
  append_dim(lse, 1, 1);
  call(op, "aclnnFusedInferAttentionScoreV3", q, std::vector<const TensorView*>{&k}, std::vector<const TensorView*>{&v},
       nullptr, nullptr, ends_of(lengths), ends_of(key_lengths), nullptr, nullptr, nullptr, nullptr, nullptr, nullptr,
       nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, q_rope,
       k_rope, nullptr, headNum, static_cast<double>(qkScale), kFar, kFar, "TND", kv_heads, maskType ? 2 : 0, 0, 0, 0,
       true, 0, 0, own.out, lse);
  if (first) return;
  op.launch([before = Block{*prevOut, *prevLse}, own, all = Block{result, *softmaxLse}] {
    bring_together(before, own, all);
  });
}

}  // namespace updraft::atb_ops
