// Convolutions with the channels innermost whose weights are inputs, and what follows their sums.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/parallel.h"
#include "base/scratch.h"
#include "images.h"
#include "kernels/constant_operand.h"
#include "kernels/convolution/convolution.h"
#include "kernels/pipeline.h"
#include "tensor/view_algebra.h"

namespace updraft {
namespace {

using Floats = std::vector<float>;

struct Case {
  int64_t n, in, out, height, width, high, wide, stride;  ///< high, wide: of the filter
};

class ConvolutionLast : public testing::TestWithParam<Case> {};

// Outputs fill their blocks or not, inputs end within a piece or not.
TEST_P(ConvolutionLast, GivesTheSumsWithWhatFollows) {
  const Case c = GetParam();
  ConvolutionShape s;
  s.spatial = 2;
  s.stride[0] = s.stride[1] = c.stride;
  s.padding[0] = c.high / 2;
  s.padding[1] = c.wide / 2;
  const int64_t rows = convolution_size(s, 0, c.height, c.high, 0),
                columns = convolution_size(s, 1, c.width, c.wide, 0);
  const Floats x = random_floats(c.n * c.in * c.height * c.width, 1),
               w = random_floats(c.out * c.in * c.high * c.wide, 2), b = random_floats(c.out, 3),
               f = random_floats(c.out, 4), a = random_floats(c.n * c.out * rows * columns, 5);
  const int64_t dims[] = {c.out, c.in, c.high, c.wide};
  const TensorView in = channels_innermost(x, c.n, c.in, c.height, c.width),
                   add = channels_innermost(a, c.n, c.out, rows, columns),
                   weight = TensorView::contiguous(const_cast<float*>(w.data()), DType::Float, dims, 4),
                   bias = TensorView::contiguous(const_cast<float*>(b.data()), DType::Float, dims, 1),
                   factor = TensorView::contiguous(const_cast<float*>(f.data()), DType::Float, dims, 1);
  enum { kSums, kTail, kHardSwish, kKinds };
  for (int kind = 0; kind < kKinds; ++kind) {
    s.relu = kind == kTail;
    s.hard_swish = kind == kHardSwish;
    Floats result(a.size(), -1), kept = result;
    ConstantOperand constant;
    for (Floats* to : {&result, &kept}) {
      const TensorView out = channels_innermost(*to, c.n, c.out, rows, columns);
      ConstantOperand* const by = to == &kept ? &constant : nullptr;
      if (kind == kTail) convolution(s, in, weight, &bias, out, by, {&factor, &add});
      else convolution(s, in, weight, kind == kHardSwish ? &bias : nullptr, out, by);
    }
    EXPECT_EQ(result, kept);
    double worst = 0;
    for (int64_t i = 0; i < c.n * rows * columns; ++i)
      for (int64_t o = 0; o < c.out; ++o) {
        const int64_t image = i / (rows * columns), row = i / columns % rows, column = i % columns;
        double sum = 0, size = 1;
        for (int64_t k = 0; k < c.in * c.high * c.wide; ++k) {
          const int64_t channel = k / (c.high * c.wide), y = row * c.stride + k / c.wide % c.high - s.padding[0],
                        z = column * c.stride + k % c.wide - s.padding[1];
          if (y < 0 || y >= c.height || z < 0 || z >= c.width) continue;
          const double product =
              static_cast<double>(x[static_cast<size_t>(((image * c.height + y) * c.width + z) * c.in + channel)]) *
              static_cast<double>(w[static_cast<size_t>(o * c.in * c.high * c.wide + k)]);
          sum += product;
          size += product * product;
        }
        const auto at = static_cast<size_t>(i * c.out + o);
        if (kind == kHardSwish) {
          sum += static_cast<double>(b[static_cast<size_t>(o)]);
          sum *= std::clamp(sum / 6 + 0.5, 0.0, 1.0);
        }
        if (kind == kTail)
          sum = std::max(0.0, sum * static_cast<double>(f[static_cast<size_t>(o)]) +
                                  static_cast<double>(b[static_cast<size_t>(o)]) + static_cast<double>(a[at]));
        worst = std::max(worst, std::abs(static_cast<double>(result[at]) - sum) / std::sqrt(size));
      }
    EXPECT_LE(worst, 1e-5);
  }
}

// Filters that lie as TensorFlow has them go to the same primitives, without a copy in between.
TEST_P(ConvolutionLast, FiltersLieInAnyOrder) {
  const Case c = GetParam();
  ConvolutionShape s;
  s.spatial = 2;
  s.stride[0] = s.stride[1] = c.stride;
  s.padding[0] = c.high / 2;
  s.padding[1] = c.wide / 2;
  const int64_t rows = convolution_size(s, 0, c.height, c.high, 0),
                columns = convolution_size(s, 1, c.width, c.wide, 0);
  const Floats x = random_floats(c.n * c.in * c.height * c.width, 1),
               g = random_floats(c.n * c.out * rows * columns, 2);
  Floats w = random_floats(c.out * c.in * c.high * c.wide, 3), v(w.size());
  const int64_t dims[] = {c.out, c.in, c.high, c.wide}, apart[] = {c.high, c.wide, c.in, c.out};
  const TensorView plain = TensorView::contiguous(w.data(), DType::Float, dims, 4),
                   turned = permute(TensorView::contiguous(v.data(), DType::Float, apart, 4), {3, 2, 0, 1}),
                   in = channels_innermost(x, c.n, c.in, c.height, c.width),
                   grad = channels_innermost(g, c.n, c.out, rows, columns);
  copy_elements(turned, plain);
  std::vector<Floats> found;
  for (const TensorView& weight : {plain, turned}) {
    Floats out(g.size(), -1), kept(g.size(), -1), to_in(x.size(), -1), to_weight(w.size(), -1);
    const TensorView result = channels_innermost(out, c.n, c.out, rows, columns),
                     of_kept = channels_innermost(kept, c.n, c.out, rows, columns),
                     grad_in = channels_innermost(to_in, c.n, c.in, c.height, c.width);
    TensorView grad_weight = weight;
    grad_weight.data = to_weight.data();
    convolution(s, in, weight, nullptr, result);
    ConstantOperand constant;
    prepare_convolution(s, in, weight, false, of_kept, constant);
    convolution(s, in, weight, nullptr, of_kept, &constant);
    EXPECT_LE(constant.made(), 1);
    EXPECT_EQ(out, kept);
    const size_t said = convolution_backward_scratch(s, grad, in, weight, &grad_in, &grad_weight);
    for (int i = 0; i < 3; ++i) {
      reset_scratch_peak();
      const SerialSection serial;
      convolution_backward(s, grad, in, weight, &grad_in, &grad_weight, nullptr);
    }
    EXPECT_LE(scratch_peak(), said + 1024);
    Floats sums(w.size());
    copy_elements(TensorView::contiguous(sums.data(), DType::Float, dims, 4), grad_weight);
    if (found.empty()) found = {out, to_in, sums};
    else EXPECT_EQ(found, (std::vector<Floats>{out, to_in, sums}));
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, ConvolutionLast,
                         testing::Values(Case{1, 64, 256, 7, 5, 1, 1, 1}, Case{2, 300, 100, 6, 6, 1, 1, 1},
                                         Case{1, 257, 48, 5, 9, 1, 1, 2}, Case{1, 1024, 40, 4, 5, 1, 1, 1},
                                         Case{3, 40, 208, 15, 15, 1, 1, 1}, Case{1, 35, 72, 6, 7, 3, 3, 1},
                                         Case{2, 32, 64, 9, 8, 3, 3, 2}, Case{1, 19, 130, 8, 6, 3, 2, 1}));

}  // namespace
}  // namespace updraft
