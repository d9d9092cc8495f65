// Winograd's algorithm on images with the channels innermost, against sums in double precision.
#include "kernels/convolution/winograd.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "images.h"
#include "kernels/constant_operand.h"
#include "kernels/convolution/convolution.h"
#include "tensor/view_algebra.h"

namespace updraft {
namespace {

using Floats = std::vector<float>;

struct Case {
  int64_t n, in, out, height, width, padding;
};

class WinogradLast : public testing::TestWithParam<Case> {
 protected:
  static constexpr int64_t kSize = 3;
  const Case c_ = GetParam();
  const int64_t high_ = c_.height + 2 * c_.padding - 2, wide_ = c_.width + 2 * c_.padding - 2;
  Floats x_ = random_floats(c_.n * c_.in * c_.height * c_.width, 1), w_ = random_floats(c_.out * c_.in * 9, 2),
         bias_ = random_floats(c_.out, 3), add_ = random_floats(c_.n * c_.out * high_ * wide_, 4),
         factor_ = random_floats(c_.out, 5);

  double want(int64_t n, int64_t o, int64_t y, int64_t x, bool scaled, double& size) const {
    double sum = 0;
    for (int64_t ky = 0; ky < kSize; ++ky)
      for (int64_t kx = 0; kx < kSize; ++kx) {
        const int64_t iy = y + ky - c_.padding, ix = x + kx - c_.padding;
        if (iy < 0 || iy >= c_.height || ix < 0 || ix >= c_.width) continue;
        for (int64_t i = 0; i < c_.in; ++i) {
          const double product =
              static_cast<double>(x_[static_cast<size_t>(((n * c_.height + iy) * c_.width + ix) * c_.in + i)]) *
              w_[static_cast<size_t>(((o * c_.in + i) * kSize + ky) * kSize + kx)];
          sum += product;
          size += product * product;
        }
      }
    return sum * (scaled ? factor_[static_cast<size_t>(o)] : 1) + bias_[static_cast<size_t>(o)];
  }

  void expect_right(bool constant, bool scaled) {
    ConvolutionShape s;
    s.spatial = 2;
    s.padding[0] = s.padding[1] = c_.padding;
    s.reduced = s.relu = true;
    const int64_t dims[] = {c_.out, c_.in, kSize, kSize};
    const TensorView in = channels_innermost(x_, c_.n, c_.in, c_.height, c_.width),
                     add = channels_innermost(add_, c_.n, c_.out, high_, wide_),
                     weight = TensorView::contiguous(w_.data(), DType::Float, dims, 4),
                     bias = TensorView::contiguous(bias_.data(), DType::Float, dims, 1),
                     factor = TensorView::contiguous(factor_.data(), DType::Float, dims, 1);
    const ConvolutionTail tail{scaled ? &factor : nullptr, &add};
    Floats result(add_.size(), -1);
    const TensorView out = channels_innermost(result, c_.n, c_.out, high_, wide_);
    ConstantOperand operand;
    if (constant) {
      prepare_convolution(s, in, weight, true, out, operand, tail);
      EXPECT_EQ(operand.made(), 1);
    }
    convolution(s, in, weight, &bias, out, constant ? &operand : nullptr, tail);
    if (constant) { EXPECT_GE(operand.bytes(), w_.size() * sizeof(float) * 4) << "36 points of 9 elements"; }
    double worst = 0;
    for (int64_t n = 0; n < c_.n; ++n)
      for (int64_t y = 0; y < high_; ++y)
        for (int64_t x = 0; x < wide_; ++x)
          for (int64_t o = 0; o < c_.out; ++o) {
            const auto at = static_cast<size_t>(((n * high_ + y) * wide_ + x) * c_.out + o);
            double size = 1;
            const double sum = want(n, o, y, x, scaled, size) + add_[at], got = result[at];
            if (!std::isfinite(sum)) {
              EXPECT_EQ(got, std::isnan(sum) ? 0 : std::max(sum, 0.0));
              continue;
            }
            worst = std::max(worst, std::abs(got - std::max(sum, 0.0)) / std::sqrt(size));
          }
    EXPECT_LE(worst, 2e-5) << "a result at an edge has fewer products than its tile, whose size decides the error";
  }
};

TEST_P(WinogradLast, GivesTheSumsWithWhatFollows) {
  const winograd::Shape shape{c_.n, c_.in, c_.out, {c_.height, c_.width}, {high_, wide_}, {c_.padding, c_.padding}};
  ASSERT_TRUE(winograd::pays_last(shape, true));
  for (const bool scaled : {false, true}) {
    expect_right(true, scaled);
    expect_right(false, scaled);
  }
}

class WinogradFilters : public WinogradLast {};

// They lie as PyTorch's do, and as TensorFlow's.
TEST_P(WinogradFilters, GivesTheSums) {
  const winograd::Shape shape{c_.n, c_.in, c_.out, {c_.height, c_.width}, {high_, wide_}, {c_.padding, c_.padding}};
  ASSERT_TRUE(winograd::pays_filters_last(shape));
  ConvolutionShape s;
  s.spatial = 2;
  s.padding[0] = s.padding[1] = c_.padding;
  s.reduced = true;
  const TensorView in = channels_innermost(x_, c_.n, c_.in, c_.height, c_.width),
                   grad = channels_innermost(add_, c_.n, c_.out, high_, wide_);
  const int64_t dims[] = {c_.out, c_.in, kSize, kSize}, apart[] = {kSize, kSize, c_.in, c_.out};
  Floats plain(w_.size(), -1), turned(w_.size(), -1), direct(w_.size());
  const TensorView as_given = TensorView::contiguous(plain.data(), DType::Float, dims, 4),
                   taps_apart = permute(TensorView::contiguous(turned.data(), DType::Float, apart, 4), {3, 2, 0, 1}),
                   by_sums = TensorView::contiguous(direct.data(), DType::Float, dims, 4);
  convolution_backward(s, grad, in, as_given, nullptr, &as_given, nullptr);
  convolution_backward(s, grad, in, taps_apart, nullptr, &taps_apart, nullptr);
  s.reduced = false;
  convolution_backward(s, grad, in, by_sums, nullptr, &by_sums, nullptr);
  EXPECT_NE(plain, direct) << "it went another way";
  double worst = 0;
  for (int64_t o = 0; o < c_.out; ++o)
    for (int64_t i = 0; i < c_.in; ++i)
      for (int64_t k = 0; k < kSize * kSize; ++k) {
        double sum = 0, size = 1;
        for (int64_t n = 0; n < c_.n; ++n)
          for (int64_t y = 0; y < high_; ++y)
            for (int64_t x = 0; x < wide_; ++x) {
              const int64_t iy = y + k / kSize - c_.padding, ix = x + k % kSize - c_.padding;
              if (iy < 0 || iy >= c_.height || ix < 0 || ix >= c_.width) continue;
              const double product =
                  static_cast<double>(x_[static_cast<size_t>(((n * c_.height + iy) * c_.width + ix) * c_.in + i)]) *
                  add_[static_cast<size_t>(((n * high_ + y) * wide_ + x) * c_.out + o)];
              sum += product;
              size += product * product;
            }
        const auto at = static_cast<size_t>((o * c_.in + i) * kSize * kSize + k);
        worst = std::max(worst, std::abs(plain[at] - sum) / std::sqrt(size));
        EXPECT_EQ(plain[at], turned[static_cast<size_t>((k * c_.in + i) * c_.out + o)]);
      }
  EXPECT_LE(worst, 2e-5);

  add_[static_cast<size_t>((2 * wide_ + 3) * c_.out + 5)] = std::numeric_limits<float>::infinity();
  s.reduced = true;
  convolution_backward(s, grad, in, as_given, nullptr, &as_given, nullptr);
  const int64_t wrong = std::ranges::count_if(plain, [](float v) { return !std::isfinite(v); });
  EXPECT_EQ(wrong, 9 * c_.in) << "those of one channel of the output";
}

// One infinite element would spoil the tiles that it lies in.
TEST_P(WinogradLast, InfinitiesStayWhereTheyBelong) {
  x_[static_cast<size_t>((5 * c_.width + 6) * c_.in + 3)] = std::numeric_limits<float>::infinity();
  ConvolutionShape s;
  s.spatial = 2;
  s.padding[0] = s.padding[1] = c_.padding;
  s.reduced = true;
  const int64_t dims[] = {c_.out, c_.in, kSize, kSize};
  Floats result(add_.size());
  ConstantOperand operand;
  convolution(s, channels_innermost(x_, c_.n, c_.in, c_.height, c_.width),
              TensorView::contiguous(w_.data(), DType::Float, dims, 4), nullptr,
              channels_innermost(result, c_.n, c_.out, high_, wide_), &operand);
  int64_t infinite = 0;
  for (float v : result) infinite += !std::isfinite(v);
  EXPECT_EQ(infinite, 9 * c_.out);
}

INSTANTIATE_TEST_SUITE_P(Sizes, WinogradLast,
                         testing::Values(Case{1, 32, 48, 19, 22, 1}, Case{2, 64, 32, 16, 16, 0},
                                         Case{3, 32, 32, 14, 14, 1}, Case{1, 32, 32, 56, 61, 1}));
INSTANTIATE_TEST_SUITE_P(Sizes, WinogradFilters,
                         testing::Values(Case{4, 32, 48, 19, 22, 1}, Case{5, 64, 32, 16, 16, 0},
                                         Case{7, 32, 32, 14, 14, 1}, Case{3, 48, 32, 56, 61, 2}));

}  // namespace
}  // namespace updraft
