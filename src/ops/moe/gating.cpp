// Which experts a token goes to: the largest of its scores, as probabilities.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "base/half.h"
#include "base/parallel.h"
#include "ops/gathered.h"
#include "ops/moe/largest.h"
#include "ops/op.h"

namespace updraft {

void moe::largest(const float* x, int64_t n, int64_t k, std::vector<int64_t>& order) {
  order.resize(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  std::partial_sort(order.begin(), order.begin() + k, order.end(),
                    [x](int64_t a, int64_t b) { return x[a] > x[b] || (x[a] == x[b] && a < b); });
  order.resize(static_cast<size_t>(k));
}

namespace {

using moe::largest;

constexpr float kNone = -std::numeric_limits<float>::infinity();

void softmax_row(const float* x, int64_t n, float* y) {
  const float most = *std::max_element(x, x + n);
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += static_cast<double>(y[i] = std::exp(x[i] - most));
  for (int64_t i = 0; i < n; ++i) y[i] = static_cast<float>(static_cast<double>(y[i]) / sum);
}

float rounded_to(float x, DType t) {
  return t == DType::Float16 ? static_cast<float>(Half(x)) : t == DType::BFloat16 ? static_cast<float>(BFloat16(x)) : x;
}

void check(Op& op, const TensorView& x, const OptIn& finished, int64_t k, const TensorView& y,
           const TensorView& experts) {
  op.require(x.rank >= 2 && compute_of(x.dtype) == Compute::F32, "x is {}, want scores [N,E] in FLOAT or a half",
             describe(x));
  op.require(k > 0 && k <= row_length(x), "k is {}, want 1 to {}", k, row_length(x));
  TensorView shape = x;
  shape.dims[shape.rank - 1] = k;
  op.result_like("y", y, shape, x.dtype);
  op.result_like("expertIdx", experts, shape, DType::Int32);
  if (finished)
    op.require(finished->numel() == rows_of(x), "finished is {}, want {} values", describe(*finished), rows_of(x));
  op.work(x.numel() * 16);
}

/// A row of scores: what is chosen by, and what the chosen ones are worth.
template <class Choose>
void each_row(const TensorView& x, const TensorView& finished, int64_t k, const TensorView& y,
              const TensorView& experts, Choose&& choose) {
  const int64_t rows = rows_of(x), n = row_length(x);
  const std::vector<float> scores = floats_of(x);
  const std::vector<uint8_t> done = finished.data ? gathered<uint8_t>(finished) : std::vector<uint8_t>();
  std::vector<float> values(static_cast<size_t>(rows * k));
  std::vector<int32_t> chosen(values.size());
  parallel_for(rows, std::max<int64_t>(1, 2048 / n), [&](int64_t begin, int64_t end) {
    std::vector<float> hold(static_cast<size_t>(n));
    std::vector<int64_t> order;
    for (int64_t i = begin; i < end; ++i) {
      choose(scores.data() + i * n, n, i, hold.data(), order, values.data() + i * k);
      for (int64_t j = 0; j < k; ++j)
        chosen[static_cast<size_t>(i * k + j)] =
            static_cast<int32_t>(!done.empty() && done[static_cast<size_t>(i)] ? n : order[static_cast<size_t>(j)]);
    }
  });
  write_all(y, values);
  write_all(experts, chosen);
}

}  // namespace

SAMPLE(aclnnMoeGatingTopKSoftmax,
       "x=f32[N,M] finishedOptional=bool[N] k=2 yOut=f32[N,2] expertIdxOut=i32[N,2] "
       "rowIdxOut=i32[N,2]")
ABOUT(aclnnMoeGatingTopKSoftmax, Vector, "The k largest of softmax(x) with their experts; finished rows get expert E",
      "softmax(x) 的前 k 大及其专家序号，finished 行的专家记为 E")
ACLNN(aclnnMoeGatingTopKSoftmax, (In, x), (OptIn, finishedOptional), (Int, k), (Out, yOut), (Out, expertIdxOut),
      (Out, rowIdxOut)) {
  check(op, *x, finishedOptional, k, *yOut, *expertIdxOut);
  op.result_like("rowIdxOut", *rowIdxOut, *expertIdxOut, DType::Int32);
  if (x->empty()) return;
  TensorView finished;
  if (finishedOptional) finished = *finishedOptional;
  op.launch([=, x = *x, y = *yOut, experts = *expertIdxOut, row_idx = *rowIdxOut] {
    each_row(x, finished, k, y, experts,
             [&](const float* row, int64_t n, int64_t, float* p, std::vector<int64_t>& order, float* to) {
               softmax_row(row, n, p);
               // Experts are told apart by what y can say: those with equal probabilities stand in their order.
               for (int64_t c = 0; c < n; ++c) p[c] = rounded_to(p[c], y.dtype);
               largest(p, n, k, order);
               for (int64_t j = 0; j < k; ++j) to[j] = p[order[static_cast<size_t>(j)]];
             });
    const int64_t rows = rows_of(x);
    std::vector<int32_t> numbers(static_cast<size_t>(rows * k));
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < k; ++j) numbers[static_cast<size_t>(i * k + j)] = static_cast<int32_t>(j * rows + i);
    write_all(row_idx, numbers);
  });
}

SAMPLE(aclnnMoeGatingTopKSoftmaxV2,
       "x=f32[N,M] finishedOptional=bool[N] k=2 renorm=0 softmaxResultFlag=true yOut=f32[N,2] expertIdxOut=i32[N,2] "
       "softmaxOutOptional=f32[N,M]")
ABOUT(aclnnMoeGatingTopKSoftmaxV2, Vector, "The k largest of softmax(x); with renorm the softmax of the k largest",
      "softmax(x) 的前 k 大；renorm 时先取前 k 再做 softmax")
ACLNN(aclnnMoeGatingTopKSoftmaxV2, (In, x), (OptIn, finishedOptional), (Int, k), (Int, renorm),
      (Bool, softmaxResultFlag), (Out, yOut), (Out, expertIdxOut), (OptOut, softmaxOutOptional)) {
  check(op, *x, finishedOptional, k, *yOut, *expertIdxOut);
  op.require(renorm == 0 || renorm == 1, "renorm is {}, want 0 or 1", renorm);
  TensorView finished, whole;
  if (finishedOptional) finished = *finishedOptional;
  if (softmaxResultFlag && !renorm && softmaxOutOptional) {
    op.result_like("softmaxOut", *softmaxOutOptional, *x, DType::Float);
    whole = *softmaxOutOptional;
  }
  if (x->empty()) return;
  op.launch([=, x = *x, y = *yOut, experts = *expertIdxOut] {
    std::vector<float> all(static_cast<size_t>(whole.data ? x.numel() : 0));
    each_row(x, finished, k, y, experts,
             [&](const float* row, int64_t n, int64_t i, float* p, std::vector<int64_t>& order, float* to) {
               if (renorm) {
                 largest(row, n, k, order);
                 for (int64_t j = 0; j < k; ++j) p[j] = row[order[static_cast<size_t>(j)]];
                 softmax_row(p, k, to);
                 return;
               }
               softmax_row(row, n, p);
               largest(p, n, k, order);
               for (int64_t j = 0; j < k; ++j) to[j] = p[order[static_cast<size_t>(j)]];
               if (!all.empty()) std::copy_n(p, n, all.begin() + i * n);
             });
    if (whole.data) write_all(whole, all);
  });
}

SAMPLE(aclnnMoeGatingTopK,
       "x=f32[N,8]:-1..1 biasOptional=f32[8] k=3 kGroup=2 groupCount=4 groupSelectMode=1 renorm=0 normType=1 "
       "outFlag=true routedScalingFactor=1.5 eps=1e-20 yOut=f32[N,3] expertIdxOut=i32[N,3] outOut=f32[N,8]")
ABOUT(aclnnMoeGatingTopK, Vector, "The k largest scores within the kGroup best groups of experts, scaled",
      "在最优的 kGroup 组专家内取前 k 大的得分并缩放")
ACLNN(aclnnMoeGatingTopK, (In, x), (OptIn, biasOptional), (Int, k), (Int, kGroup), (Int, groupCount),
      (Int, groupSelectMode), (Int, renorm), (Int, normType), (Bool, outFlag), (Double, routedScalingFactor),
      (Double, eps), (Out, yOut), (Out, expertIdxOut), (OptOut, outOut)) {
  check(op, *x, OptIn{nullptr}, k, *yOut, *expertIdxOut);
  const int64_t n = row_length(*x);
  op.require(groupCount > 0 && n % groupCount == 0, "groupCount is {}, want a divisor of {}", groupCount, n);
  op.require(kGroup > 0 && kGroup <= groupCount, "kGroup is {}, want 1 to {}", kGroup, groupCount);
  const int64_t size = n / groupCount;
  op.require(groupSelectMode == 0 || groupSelectMode == 1, "groupSelectMode is {}, want 0 (largest) or 1 (two largest)",
             groupSelectMode);
  op.require(groupSelectMode == 0 || groupCount == 1 || size >= 2, "groups of {} have no two largest", size);
  op.require(normType == 0 || normType == 1, "normType is {}, want 0 (softmax) or 1 (sigmoid)", normType);
  op.require(k <= kGroup * size, "k is {}, want at most {}, the experts of kGroup groups", k, kGroup * size);
  if (biasOptional) op.require(biasOptional->numel() == n, "bias is {}, want {} values", describe(*biasOptional), n);
  TensorView bias, whole;
  if (biasOptional) bias = *biasOptional;
  if (outFlag && outOut) {
    op.result_like("out", *outOut, *x, DType::Float);
    whole = *outOut;
  }
  if (x->empty()) return;
  op.launch([=, x = *x, y = *yOut, experts = *expertIdxOut] {
    const std::vector<float> add = bias.data ? floats_of(bias) : std::vector<float>(static_cast<size_t>(n), 0.0f);
    std::vector<float> all(static_cast<size_t>(whole.data ? x.numel() : 0));
    each_row(x, {}, k, y, experts,
             [&](const float* row, int64_t, int64_t i, float* p, std::vector<int64_t>& order, float* to) {
               if (normType == 0) softmax_row(row, n, p);
               else
                 for (int64_t c = 0; c < n; ++c) p[c] = 1.0f / (1.0f + std::exp(-row[c]));
               if (!all.empty()) std::copy_n(p, n, all.begin() + i * n);
               std::vector<float> by(static_cast<size_t>(n));
               for (size_t c = 0; c < by.size(); ++c) by[c] = p[c] + add[c];
               if (groupCount > 1) {
                 std::vector<float> best(static_cast<size_t>(groupCount));
                 for (int64_t g = 0; g < groupCount; ++g) {
                   float first = kNone, second = kNone;
                   for (int64_t c = g * size; c < (g + 1) * size; ++c) {
                     const float v = by[static_cast<size_t>(c)];
                     if (v > first) second = std::exchange(first, v);
                     else second = std::max(second, v);
                   }
                   best[static_cast<size_t>(g)] = groupSelectMode ? first + second : first;
                 }
                 largest(best.data(), groupCount, kGroup, order);
                 std::vector<bool> kept(static_cast<size_t>(groupCount));
                 for (int64_t g : order) kept[static_cast<size_t>(g)] = true;
                 for (int64_t c = 0; c < n; ++c)
                   if (!kept[static_cast<size_t>(c / size)]) by[static_cast<size_t>(c)] = kNone;
               }
               largest(by.data(), n, k, order);
               double sum = eps;
               for (int64_t j = 0; j < k; ++j) sum += static_cast<double>(to[j] = p[order[static_cast<size_t>(j)]]);
               const double scale = routedScalingFactor / (normType == 1 || renorm == 1 ? sum : 1.0);
               for (int64_t j = 0; j < k; ++j) to[j] = static_cast<float>(static_cast<double>(to[j]) * scale);
             });
    if (whole.data) write_all(whole, all);
  });
}

}  // namespace updraft
