// Two products with an activation between them, for all tokens or for those of each expert.
#include <algorithm>
#include <cmath>

#include "kernels/matmul/matmul.h"
#include "ops/gathered.h"
#include "ops/matmul/activation.h"
#include "ops/matmul/quantised.h"
#include "ops/op.h"
#include "tensor/view_algebra.h"

namespace updraft {
namespace {

using namespace quantised;

/// Scales and offsets may be absent.
struct Layer {
  TensorView weight{}, bias{}, scale{}, antiquant_scale{}, antiquant_offset{};
  Layer of(int64_t expert, bool experts) const {
    if (!experts) return *this;
    auto part = [&](const TensorView& v) { return given(v) && v.rank > 1 ? select(v, 0, expert) : v; };
    return {select(weight, 0, expert), part(bias), part(scale), part(antiquant_scale), part(antiquant_offset)};
  }
};

/// y = x @ weight + bias in FLOAT, whatever the weights are kept in.
void multiply(const TensorView& x, const Layer& l, const TensorView& y) {
  std::vector<float> real;
  TensorView w = l.weight;
  if (is_integral(x.dtype)) {
    const std::vector<double> sum = product(matrix_of(x), matrix_of(w));
    const std::vector<float> scale = scales_of(l.scale),
                             bias = given(l.bias) ? floats_of(l.bias) : std::vector<float>();
    const auto n = static_cast<size_t>(y.dims[1]);
    std::vector<float> result(sum.size());
    for (size_t i = 0; i < sum.size(); ++i)
      result[i] = static_cast<float>((sum[i] + (bias.empty() ? 0.0 : static_cast<double>(bias[i % n]))) *
                                     static_cast<double>(scale[scale.size() == 1 ? 0 : i % n]));
    return write_all(y, result);
  }
  if (is_integral(w.dtype)) {
    Matrix m = real_weights(w, l.antiquant_scale, l.antiquant_offset);
    real = std::move(m.numbers);
    const int64_t dims[] = {m.rows, m.columns};
    w = TensorView::contiguous(real.data(), DType::Float, dims, 2);
  }
  MatmulOptions options;
  if (given(l.bias)) {
    options.beta = 1;
    options.add = &l.bias;
  }
  matmul(x, w, y, options);
}

}  // namespace

SAMPLE(aclnnFFNV2,
       "x=f32[6,M]! weight1=f32[2,M,8] weight2=f32[2,8,M] expertTokensOptional=4,2 bias1Optional=f32[2,8] "
       "bias2Optional=f32[2,M] scaleOptional=null offsetOptional=null deqScale1Optional=null deqScale2Optional=null "
       "antiquantScale1Optional=null antiquantScale2Optional=null antiquantOffset1Optional=null "
       "antiquantOffset2Optional=null activation=silu innerPrecise=0 tokensIndexFlag=false y=f32[6,M]!")
ABOUT(aclnnFFNV2, MixCube, "y = activation(x @ weight1 + bias1) @ weight2 + bias2, by experts on request",
      "y = activation(x @ weight1 + bias1) @ weight2 + bias2，可按专家分组")
ACLNN(aclnnFFNV2, (In, x), (In, weight1), (In, weight2), (OptInts, expertTokensOptional), (OptIn, bias1Optional),
      (OptIn, bias2Optional), (OptIn, scaleOptional), (OptIn, offsetOptional), (OptIn, deqScale1Optional),
      (OptIn, deqScale2Optional), (OptIn, antiquantScale1Optional), (OptIn, antiquantScale2Optional),
      (OptIn, antiquantOffset1Optional), (OptIn, antiquantOffset2Optional), (Text, activation), (Int, innerPrecise),
      (Bool, tokensIndexFlag), (Out, y)) {
  (void)innerPrecise;  // how exact the card computes: FLOAT here
  const Activation act = activation_of(op, std::string_view(activation));
  const bool experts = weight1->rank == 3;
  op.require(x->rank >= 2 && weight2->rank == weight1->rank && (experts || weight1->rank == 2),
             "x is {}, weight1 {}, weight2 {}: want [N,K] with matrices, or a matrix for each expert", describe(*x),
             describe(*weight1), describe(*weight2));
  Layer first{.weight = *weight1}, second{.weight = *weight2};
  first.bias = optional_view(bias1Optional);
  second.bias = optional_view(bias2Optional);
  first.scale = optional_view(deqScale1Optional);
  second.scale = optional_view(deqScale2Optional);
  first.antiquant_scale = optional_view(antiquantScale1Optional);
  second.antiquant_scale = optional_view(antiquantScale2Optional);
  first.antiquant_offset = optional_view(antiquantOffset1Optional);
  second.antiquant_offset = optional_view(antiquantOffset2Optional);
  TensorView scale, offset;
  scale = optional_view(scaleOptional);
  offset = optional_view(offsetOptional);
  int64_t k = 0, hidden = 0, hidden2 = 0, n = 0;
  auto dims = [](const TensorView& w, int64_t* rows, int64_t* columns) {
    *rows = w.dims[w.rank - 2];
    *columns = w.dims[w.rank - 1];
    if (is_integral(w.dtype)) matrix_dims(w, rows, columns);
  };
  dims(*weight1, &k, &hidden);
  dims(*weight2, &hidden2, &n);
  op.require(row_length(*x) == k && hidden == hidden2, "x is {}, weight1 {}, weight2 {}: their sizes do not follow",
             describe(*x), describe(*weight1), describe(*weight2));
  const bool whole = is_integral(x->dtype);
  op.require(!whole || (given(scale) && given(first.scale) && given(second.scale)),
             "x is {}: scale, deqScale1 and deqScale2 are needed", describe(*x));
  op.require(whole || is_floating(weight1->dtype) || (given(first.antiquant_scale) && given(second.antiquant_scale)),
             "weight1 is {}: antiquantScale1 and antiquantScale2 are needed", describe(*weight1));
  TensorView shape = *x;
  shape.dims[shape.rank - 1] = n;
  op.result_like("y", *y, shape, whole ? DType::Float16 : x->dtype);
  op.require(x->is_contiguous() && y->is_contiguous(), "x is {} and y {}, want rows side by side", describe(*x),
             describe(*y));
  const int64_t rows = rows_of(*x);
  std::vector<int64_t> ends;
  if (experts) {
    int64_t sum = 0;
    if (expertTokensOptional)
      for (int64_t t : *expertTokensOptional) ends.push_back(sum = tokensIndexFlag ? t : sum + t);
    op.require(static_cast<int64_t>(ends.size()) == weight1->dims[0] && std::is_sorted(ends.begin(), ends.end()) &&
                   ends.back() <= rows,
               "expertTokens has {} values that end at {}, want {} that end within {}", ends.size(), sum,
               weight1->dims[0], rows);
  } else {
    ends.push_back(rows);
  }
  if (y->empty()) return;
  op.flops(2 * rows * hidden * (k + n));
  op.work(rows * hidden * (k + n));
  op.launch([=, x = reshape(*x, {rows, k}), y = reshape(*y, {rows, n})] {
    int64_t begin = 0;
    for (size_t e = 0; e < ends.size(); ++e) {
      const int64_t count = ends[e] - begin;
      if (!count) continue;
      const Layer one = first.of(static_cast<int64_t>(e), experts), two = second.of(static_cast<int64_t>(e), experts);
      std::vector<float> hold(static_cast<size_t>(count * hidden));
      const int64_t middle[] = {count, hidden}, last[] = {count, n};
      const TensorView between = TensorView::contiguous(hold.data(), DType::Float, middle, 2);
      multiply(narrow(x, 0, begin, count), one, between);
      // Between quantised products everything is FLOAT16: what the scales give, the activation, and its next scale.
      const DType type = whole ? DType::Float16 : DType::Float;
      for (float& v : hold) v = rounded_to(activated(rounded_to(v, type), act), type);
      std::vector<float> result(static_cast<size_t>(count * n));
      const TensorView wide = TensorView::contiguous(result.data(), DType::Float, last, 2);
      if (whole) {
        const std::vector<float> s = floats_of(scale), o = given(offset) ? floats_of(offset) : std::vector<float>{0.0f};
        std::vector<int8_t> numbers(hold.size());
        const size_t shift = s.size() > 1 && experts ? e : 0;
        for (size_t i = 0; i < hold.size(); ++i)
          numbers[i] = static_cast<int8_t>(std::clamp(
              std::nearbyint(rounded_to(
                  rounded_to(hold[i] * rounded_to(s[shift], type), type) + o[o.size() > 1 && experts ? e : 0], type)),
              -128.0f, 127.0f));
        multiply(TensorView::contiguous(numbers.data(), DType::Int8, middle, 2), two, wide);
      } else {
        multiply(between, two, wide);
      }
      copy_elements(narrow(y, 0, begin, count), wide);
      begin = ends[e];
    }
    if (begin < rows) fill_zero(narrow(y, 0, begin, rows - begin));
  });
}

}  // namespace updraft
