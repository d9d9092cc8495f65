// Convolutions of each channel by itself, against sums in double.
#include "kernels/convolution/depthwise.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/parallel.h"
#include "images.h"
#include "kernels/constant_operand.h"

namespace updraft {
namespace {

using Floats = std::vector<float>;

struct Case {
  int64_t n, channels, height, width, high, wide, stride, dilation, padding, behind;
};

class Depthwise : public testing::TestWithParam<Case> {
 protected:
  Depthwise() {
    const Case c = GetParam();
    shape_.spatial = 2;
    shape_.groups = c.channels;
    for (int d = 0; d < 2; ++d) {
      shape_.stride[d] = c.stride;
      shape_.dilation[d] = c.dilation;
      shape_.padding[d] = c.padding;
      shape_.behind[d] = c.behind;
    }
    rows_ = convolution_size(shape_, 0, c.height, c.high, 0);
    columns_ = convolution_size(shape_, 1, c.width, c.wide, 0);
    x_ = random_floats(c.n * c.channels * c.height * c.width, 1);
    w_ = random_floats(c.channels * c.high * c.wide, 2);
    bias_ = random_floats(c.channels, 3);
    factor_ = random_floats(c.channels, 4);
    add_ = random_floats(c.n * c.channels * rows_ * columns_, 5);
  }

  TensorView images() const {
    const Case c = GetParam();
    return channels_innermost(x_, c.n, c.channels, c.height, c.width);
  }
  TensorView results(const Floats& y) const {
    return channels_innermost(y, GetParam().n, GetParam().channels, rows_, columns_);
  }
  TensorView weight() {
    const int64_t dims[] = {GetParam().channels, 1, GetParam().high, GetParam().wide};
    return TensorView::contiguous(w_.data(), DType::Float, dims, 4);
  }
  static TensorView row(Floats& v) {
    const int64_t dims[] = {static_cast<int64_t>(v.size())};
    return TensorView::contiguous(v.data(), DType::Float, dims, 1);
  }

  /// The sum of result `at`, and the size of its terms.
  double sum(size_t at, double* size) const {
    const Case c = GetParam();
    const auto place = static_cast<int64_t>(at) / c.channels, channel = static_cast<int64_t>(at) % c.channels;
    const int64_t image = place / (rows_ * columns_), row = place / columns_ % rows_, column = place % columns_;
    double total = 0;
    *size = 1;
    for (int64_t k = 0; k < c.high * c.wide; ++k) {
      const int64_t y = row * c.stride + k / c.wide * c.dilation - c.padding,
                    z = column * c.stride + k % c.wide * c.dilation - c.padding;
      if (y < 0 || y >= c.height || z < 0 || z >= c.width) continue;
      const double product =
          double{x_[static_cast<size_t>(((image * c.height + y) * c.width + z) * c.channels + channel)]} *
          w_[static_cast<size_t>(channel * c.high * c.wide + k)];
      total += product;
      *size += product * product;
    }
    return total;
  }

  ConvolutionShape shape_;
  int64_t rows_ = 0, columns_ = 0;
  Floats x_, w_, bias_, factor_, add_;
};

TEST_P(Depthwise, GivesTheSumsWithWhatFollows) {
  ASSERT_TRUE(depthwise::takes(shape_, images(), weight(), results(add_), DType::Float, true));
  const TensorView bias = row(bias_), factor = row(factor_), add = results(add_);
  enum { kSums, kTail, kHardSwish, kKinds };
  for (int kind = 0; kind < kKinds; ++kind) {
    shape_.relu = kind == kTail;
    shape_.hard_swish = kind == kHardSwish;
    std::vector<Floats> found;
    ConstantOperand constant;
    for (const bool kept : {false, true, true}) {
      // what lies behind the results stays as it is
      Floats y(add_.size() + 32, -7);
      const TensorView* const terms = kind == kSums ? nullptr : &bias;
      const ConvolutionTail tail = kind == kTail ? ConvolutionTail{&factor, &add} : ConvolutionTail{};
      if (kept) prepare_convolution(shape_, images(), weight(), terms, results(y), constant, tail);
      convolution(shape_, images(), weight(), terms, results(y), kept ? &constant : nullptr, tail);
      EXPECT_TRUE(std::all_of(y.end() - 32, y.end(), [](float v) { return v == -7; }));
      found.push_back(y);
    }
    {
      const SerialSection one;
      Floats y(add_.size() + 32, -7);
      convolution(shape_, images(), weight(), kind == kSums ? nullptr : &bias, results(y), nullptr,
                  kind == kTail ? ConvolutionTail{&factor, &add} : ConvolutionTail{});
      found.push_back(y);
    }
    EXPECT_EQ(constant.made(), 1);
    for (const Floats& y : found) EXPECT_EQ(y, found[0]);
    for (size_t i = 0; i < add_.size(); ++i) {
      double size = 1, want = sum(i, &size);
      const size_t channel = i % bias_.size();
      if (kind == kTail) want = std::max(0.0, want * factor_[channel] + bias_[channel] + add_[i]);
      if (kind == kHardSwish) want += bias_[channel], want *= std::clamp(want / 6 + 0.5, 0.0, 1.0);
      ASSERT_NEAR(found[0][i], want, 3e-6 * size) << i;
    }
  }
}

TEST_P(Depthwise, WhatIsNotANumberStaysWhereItIs) {
  const Case c = GetParam();
  Floats y(add_.size()), z(add_.size());
  convolution(shape_, images(), weight(), nullptr, results(y));
  x_[static_cast<size_t>(c.channels / 2)] = std::numeric_limits<float>::quiet_NaN();  // of the first place
  convolution(shape_, images(), weight(), nullptr, results(z));
  for (size_t i = 0; i < y.size(); ++i) {
    double size = 0;
    const bool reached = std::isnan(sum(i, &size));
    ASSERT_EQ(std::isnan(z[i]), reached) << i;
    if (!reached) { ASSERT_EQ(y[i], z[i]) << i; }
  }
}

// Channels that fill vectors and that do not; filters and strides with kernels of their own and without; windows that
// lie in the image, partly, and not at all.
INSTANTIATE_TEST_SUITE_P(Sizes, Depthwise,
                         testing::Values(Case{1, 16, 12, 21, 3, 3, 1, 1, 1, 0}, Case{2, 72, 9, 9, 3, 3, 2, 1, 1, 0},
                                         Case{1, 120, 7, 19, 5, 5, 1, 1, 2, 0}, Case{3, 24, 11, 10, 5, 5, 2, 1, 2, -1},
                                         Case{1, 33, 9, 8, 7, 7, 1, 1, 3, 0}, Case{1, 8, 5, 6, 3, 3, 1, 1, 0, 0},
                                         Case{2, 19, 6, 7, 3, 3, 1, 1, 4, 0}, Case{1, 40, 13, 12, 3, 3, 1, 2, 2, 0},
                                         Case{1, 20, 10, 23, 4, 2, 3, 1, 1, 1}, Case{1, 64, 3, 2, 5, 5, 1, 1, 2, 0},
                                         Case{1, 17, 1, 2, 3, 3, 1, 1, 1, 0}, Case{1, 50, 9, 30, 2, 9, 1, 1, 4, 0},
                                         Case{1, 960, 7, 7, 5, 5, 1, 1, 2, 0}, Case{1, 28, 8, 9, 3, 3, 2, 1, 5, 3}));

}  // namespace
}  // namespace updraft
