// Tokens in the order of their experts and back: what mixtures of experts do before and after the experts' products.
#include <algorithm>
#include <numeric>

#include "base/parallel.h"
#include "ops/gathered.h"
#include "ops/op.h"
#include "tensor/view_algebra.h"

namespace updraft {
namespace {

/// Where each of the entries goes when they are sorted, equal ones in their order.
std::vector<int64_t> sorted_places(const std::vector<int64_t>& keys) {
  std::vector<int64_t> order(keys.size()), place(keys.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return keys[static_cast<size_t>(a)] < keys[static_cast<size_t>(b)]; });
  for (size_t i = 0; i < order.size(); ++i) place[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
  return place;
}

void require_tokens(const Op& op, const char* name, const TensorView& v) {
  op.require(v.rank == 2 && is_floating(v.dtype), "{} is {}, want floating-point tokens [N,H]", name, describe(v));
}
void refuse_padded(const Op& op, bool padded) { op.require(!padded, "paddedMode is true, supported is false"); }

/// The places of the rows; one that is out of range was dropped.
struct Places {
  std::vector<int64_t> of;
  int64_t rows;
  Places(const TensorView& sorted, int64_t count) : of(integers_of(sorted)), rows(count) {}
  bool has(int64_t entry) const {
    const int64_t p = of[static_cast<size_t>(entry)];
    return p >= 0 && p < rows;
  }
  int64_t operator[](int64_t entry) const { return of[static_cast<size_t>(entry)]; }
};

/// to[token] = the sum over the token's k rows, each times its probability, in FLOAT.
void combine(const TensorView& rows, const TensorView& sorted, const TensorView& probs, int64_t k,
             const TensorView& to) {
  const Places place(sorted, rows.dims[0]);
  const std::vector<float> weight = probs.data ? floats_of(probs) : std::vector<float>();
  const int64_t width = to.dims[1];
  parallel_for(to.dims[0], std::max<int64_t>(1, 8192 / std::max<int64_t>(1, width * k)),
               [&](int64_t begin, int64_t end) {
                 std::vector<float> sum(static_cast<size_t>(width)), row(static_cast<size_t>(width));
                 for (int64_t n = begin; n < end; ++n) {
                   std::fill(sum.begin(), sum.end(), 0.0f);
                   for (int64_t j = 0; j < k; ++j) {
                     if (!place.has(n * k + j)) continue;
                     gather_to(row.data(), DType::Float, select(rows, 0, place[n * k + j]));
                     const float w = weight.empty() ? 1.0f : weight[static_cast<size_t>(n * k + j)];
                     for (size_t c = 0; c < row.size(); ++c) sum[c] += w * row[c];
                   }
                   write_all(select(to, 0, n), sum);
                 }
               });
}

}  // namespace

SAMPLE(aclnnMoeTokenPermute,
       "tokens=f32[N,M] indices=i64[N,2] numOutTokens=0 paddedMode=false permuteTokensOut=f32[2N,M] "
       "sortedIndicesOut=i32[2N]")
ABOUT(aclnnMoeTokenPermute, Vector,
      "Rows of tokens in the order of their experts; sortedIndicesOut is each one's place",
      "按专家序号排列 token，sortedIndicesOut 为每个条目的新位置")
ACLNN(aclnnMoeTokenPermute, (In, tokens), (In, indices), (Int, numOutTokens), (Bool, paddedMode),
      (Out, permuteTokensOut), (Out, sortedIndicesOut)) {
  refuse_padded(op, paddedMode);
  require_tokens(op, "tokens", *tokens);
  op.require(
      is_integral(indices->dtype) && (indices->rank == 1 || indices->rank == 2) && indices->dims[0] == tokens->dims[0],
      "indices is {}, want integers [{}] or [{},K]", describe(*indices), tokens->dims[0], tokens->dims[0]);
  const int64_t k = indices->rank == 2 ? indices->dims[1] : 1, entries = indices->numel();
  // 0: all; a negative number: all but so many.
  int64_t count = numOutTokens > 0 ? std::min<int64_t>(numOutTokens, entries) : entries + numOutTokens;
  count = std::max<int64_t>(0, count);
  op.result("permuteTokensOut", *permuteTokensOut, {count, tokens->dims[1]}, tokens->dtype);
  op.result("sortedIndicesOut", *sortedIndicesOut, {entries}, DType::Int32);
  op.work(permuteTokensOut->numel() * 2);
  op.launch([=, from = *tokens, keys = *indices, to = *permuteTokensOut, places = *sortedIndicesOut] {
    const std::vector<int64_t> place = sorted_places(integers_of(keys));
    write_all(places, place);
    if (to.empty()) return;
    parallel_for(entries, 16, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        if (place[static_cast<size_t>(i)] < count)
          copy_elements(select(to, 0, place[static_cast<size_t>(i)]), select(from, 0, i / k));
    });
  });
}

SAMPLE(aclnnMoeTokenPermuteGrad,
       "permutedTokensOutputGrad=f32[6,M] sortedIndices=i32[6] numTopk=2 paddedMode=false out=f32[3,M]")
ABOUT(aclnnMoeTokenPermuteGrad, Vector, "Gradient of aclnnMoeTokenPermute: the sum over the rows of each token",
      "aclnnMoeTokenPermute 的反向梯度：对每个 token 的各行求和")
ACLNN(aclnnMoeTokenPermuteGrad, (In, permutedTokensOutputGrad), (In, sortedIndices), (Int, numTopk), (Bool, paddedMode),
      (Out, out)) {
  refuse_padded(op, paddedMode);
  require_tokens(op, "permutedTokensOutputGrad", *permutedTokensOutputGrad);
  op.require(numTopk > 0 && sortedIndices->numel() % numTopk == 0, "numTopk is {}, want a divisor of {}", numTopk,
             sortedIndices->numel());
  op.result("out", *out, {sortedIndices->numel() / numTopk, permutedTokensOutputGrad->dims[1]},
            permutedTokensOutputGrad->dtype);
  if (out->empty()) return;
  op.work(permutedTokensOutputGrad->numel() * 2);
  op.launch([rows = *permutedTokensOutputGrad, sorted = *sortedIndices, k = numTopk, to = *out] {
    combine(rows, sorted, {}, k, to);
  });
}

SAMPLE(aclnnMoeTokenUnpermute,
       "permutedTokens=f32[6,M] sortedIndices=i32[6] probsOptional=f32[3,2] paddedMode=false restoreShapeOptional=null "
       "out=f32[3,M]")
ABOUT(aclnnMoeTokenUnpermute, Vector, "out[n] = the sum of the token's rows, each times its probability",
      "out[n] = 该 token 各行按概率加权求和")
ACLNN(aclnnMoeTokenUnpermute, (In, permutedTokens), (In, sortedIndices), (OptIn, probsOptional), (Bool, paddedMode),
      (OptInts, restoreShapeOptional), (Out, out)) {
  (void)restoreShapeOptional;  // of the padded mode
  refuse_padded(op, paddedMode);
  require_tokens(op, "permutedTokens", *permutedTokens);
  const int64_t k = probsOptional && probsOptional->rank == 2 ? probsOptional->dims[1] : 1;
  if (probsOptional)
    op.require(probsOptional->numel() == sortedIndices->numel(), "probs is {}, want {} values",
               describe(*probsOptional), sortedIndices->numel());
  op.result("out", *out, {k ? sortedIndices->numel() / k : 0, permutedTokens->dims[1]}, permutedTokens->dtype);
  if (out->empty()) return;
  TensorView probs;
  if (probsOptional) probs = *probsOptional;
  op.work(permutedTokens->numel() * 3);
  op.launch([=, rows = *permutedTokens, sorted = *sortedIndices, to = *out] { combine(rows, sorted, probs, k, to); });
}

SAMPLE(aclnnMoeTokenUnpermuteGrad,
       "permuteTokens=f32[1,M] unpermutedTokensGrad=f32[1,M] sortedIndices=i32[1]:0..1 probsOptional=f32[1,1] "
       "paddedMode=false restoreShapeOptional=null permutedTokensGradOut=f32[1,M] probsGradOut=f32[1,1]")
ABOUT(aclnnMoeTokenUnpermuteGrad, Vector, "Gradients of aclnnMoeTokenUnpermute for the rows and the probabilities",
      "aclnnMoeTokenUnpermute 对各行与概率的反向梯度")
ACLNN(aclnnMoeTokenUnpermuteGrad, (OptIn, permuteTokens), (In, unpermutedTokensGrad), (In, sortedIndices),
      (OptIn, probsOptional), (Bool, paddedMode), (OptInts, restoreShapeOptional), (Out, permutedTokensGradOut),
      (OptOut, probsGradOut)) {
  (void)restoreShapeOptional;  // of the padded mode
  refuse_padded(op, paddedMode);
  require_tokens(op, "unpermutedTokensGrad", *unpermutedTokensGrad);
  const int64_t entries = sortedIndices->numel(), k = probsOptional ? probsOptional->dims[probsOptional->rank - 1] : 1;
  if (probsOptional && probsGradOut)
    op.result_like("probsGradOut", *probsGradOut, *probsOptional, probsOptional->dtype);
  op.require(k > 0 && unpermutedTokensGrad->dims[0] * k == entries, "unpermutedTokensGrad is {}, want {} rows",
             describe(*unpermutedTokensGrad), k ? entries / k : 0);
  // torch_npu keeps the rows only where the probabilities want a gradient.
  if (permuteTokens) {
    require_tokens(op, "permuteTokens", *permuteTokens);
    op.result_like("permutedTokensGradOut", *permutedTokensGradOut, *permuteTokens, permuteTokens->dtype);
  } else {
    op.require(!probsOptional || !probsGradOut, "permuteTokens is null: the gradient of the probabilities needs them");
    op.suggest(*permutedTokensGradOut, {entries, unpermutedTokensGrad->dims[1]}, unpermutedTokensGrad->dtype);
    op.require(permutedTokensGradOut->rank == 2 && permutedTokensGradOut->dims[1] == unpermutedTokensGrad->dims[1],
               "permutedTokensGradOut is {}, want rows of {}", describe(*permutedTokensGradOut),
               unpermutedTokensGrad->dims[1]);
  }
  if (permutedTokensGradOut->empty()) return;
  TensorView probs, to_probs, tokens;
  if (permuteTokens) tokens = *permuteTokens;
  if (probsOptional) probs = *probsOptional;
  if (probsOptional && probsGradOut) to_probs = *probsGradOut;
  op.work(permutedTokensGradOut->numel() * 4);
  op.launch([=, grad = *unpermutedTokensGrad, sorted = *sortedIndices, to = *permutedTokensGradOut] {
    const Places place(sorted, to.dims[0]);
    const std::vector<float> weight = probs.data ? floats_of(probs) : std::vector<float>();
    std::vector<float> slopes(static_cast<size_t>(entries), 0.0f);
    const auto width = static_cast<size_t>(to.dims[1]);
    if (entries < to.dims[0]) fill_zero(to);
    parallel_for(entries / k, 4, [&](int64_t begin, int64_t end) {
      std::vector<float> g(width), row(width);
      for (int64_t n = begin; n < end; ++n) {
        gather_to(g.data(), DType::Float, select(grad, 0, n));
        for (int64_t i = n * k; i < (n + 1) * k; ++i) {
          if (!place.has(i)) continue;
          const float w = weight.empty() ? 1.0f : weight[static_cast<size_t>(i)];
          if (to_probs.data) {
            gather_to(row.data(), DType::Float, select(tokens, 0, place[i]));
            double sum = 0;
            for (size_t c = 0; c < width; ++c) sum += static_cast<double>(g[c]) * static_cast<double>(row[c]);
            slopes[static_cast<size_t>(i)] = static_cast<float>(sum);
          }
          for (size_t c = 0; c < width; ++c) row[c] = w * g[c];
          write_all(select(to, 0, place[i]), row);
        }
      }
    });
    if (to_probs.data) write_all(to_probs, slopes);
  });
}

}  // namespace updraft
