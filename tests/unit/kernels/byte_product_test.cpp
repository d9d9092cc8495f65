// Products of numbers of eight bits without VNNI, against whole sums: they are exact whatever the numbers are.
#include "kernels/matmul/byte_product.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/parallel.h"
#include "kernels/constant_operand.h"
#include "kernels/convolution/convolution.h"
#include "tensor/view_algebra.h"

namespace updraft::bytes {
namespace {

using Dims = std::vector<int64_t>;

struct Case {
  std::string name;
  int spatial = 2;
  int64_t batch = 2, in = 16, out = 24, size = 9, kernel = 3, stride = 1, padding = 1, dilation = 1, groups = 1;
  int low = -128, high = 127;  ///< weights
  bool sign = false;           ///< x is INT8
  int zero = 0;
};
void PrintTo(const Case& c, std::ostream* os) { *os << c.name; }

TensorView view(void* data, DType type, const Dims& dims) {
  return TensorView::contiguous(data, type, dims.data(), static_cast<int>(dims.size()));
}

class ByteProduct : public testing::TestWithParam<Case> {
 protected:
  ByteProduct() {
    shape_.spatial = c_.spatial;
    shape_.groups = c_.groups;
    for (int d = 0; d < c_.spatial; ++d)
      shape_.stride[d] = c_.stride, shape_.padding[d] = c_.padding, shape_.dilation[d] = c_.dilation;
    if (c_.spatial) high_ = (c_.size + 2 * c_.padding - c_.dilation * (c_.kernel - 1) - 1) / c_.stride + 1;
    std::mt19937 random(7);
    x_dims_ = places(c_.batch, c_.size, c_.in), y_dims_ = places(c_.batch, high_, c_.out);
    w_dims_ = {c_.out, c_.in / c_.groups};
    w_dims_.insert(w_dims_.end(), static_cast<size_t>(c_.spatial), c_.kernel);
    const int low = c_.sign ? -128 : 0;
    for (uint8_t& v : x_ = std::vector<uint8_t>(count(x_dims_))) {
      const int any = std::uniform_int_distribution<int>(low, low + 255)(random);
      v = static_cast<uint8_t>(random() % 3 ? any : low + 255);  // many are the largest
    }
    for (int8_t& v : w_ = std::vector<int8_t>(count(w_dims_)))
      v = static_cast<int8_t>(std::uniform_int_distribution<int>(c_.low, c_.high)(random));
  }

  Dims places(int64_t first, int64_t size, int64_t last) const {
    Dims dims(static_cast<size_t>(c_.spatial) + 2, size);
    dims.front() = first, dims.back() = last;
    return dims;
  }
  static size_t count(const Dims& dims) {
    int64_t n = 1;
    for (int64_t d : dims) n *= d;
    return static_cast<size_t>(n);
  }
  int number(size_t i) const { return c_.sign ? static_cast<int8_t>(x_[i]) : x_[i]; }

  /// The sum of a place of y.
  int64_t want(size_t i) const {
    const int64_t o = static_cast<int64_t>(i) % c_.out, group = o / (c_.out / c_.groups), channels = c_.in / c_.groups;
    int64_t rest = static_cast<int64_t>(i) / c_.out, at[3] = {}, taps = 1, sum = 0;
    for (int d = c_.spatial; d-- > 0; rest /= high_) at[d] = rest % high_;
    for (int d = 0; d < c_.spatial; ++d) taps *= c_.kernel;
    for (int64_t t = 0; t < taps; ++t) {
      int64_t place = rest, left = t, step = taps;
      bool inside = true;
      for (int d = 0; d < c_.spatial; ++d) {
        step /= c_.kernel;
        const int64_t p = at[d] * c_.stride - c_.padding + left / step * c_.dilation;
        left %= step;
        inside = inside && p >= 0 && p < c_.size;
        place = place * c_.size + p;
      }
      if (!inside) continue;
      for (int64_t c = 0; c < channels; ++c)
        sum += (number(static_cast<size_t>(place * c_.in + group * channels + c)) - c_.zero) *
               w_[static_cast<size_t>((o * channels + c) * taps + t)];
    }
    return sum;
  }

  void run(const Tail& tail, void* y, DType type, ConstantOperand* constant = nullptr) {
    convolution(shape_, view(x_.data(), c_.sign ? DType::Int8 : DType::UInt8, x_dims_), c_.zero,
                view(w_.data(), DType::Int8, w_dims_), constant, tail, view(y, type, y_dims_));
  }

  const Case c_ = GetParam();
  ConvolutionShape shape_;
  int64_t high_ = 1;
  Dims x_dims_, y_dims_, w_dims_;
  std::vector<uint8_t> x_;
  std::vector<int8_t> w_;
};

TEST_P(ByteProduct, SumsAreExact) {
  const float one = 1;
  const Tail tail{.scale = &one};
  std::vector<float> y(count(y_dims_)), threads(y.size()), again(y.size());
  run(tail, y.data(), DType::Float);
  for (size_t i = 0; i < y.size(); ++i) ASSERT_EQ(y[i], static_cast<float>(want(i))) << i;
  std::thread([&] {  // as an engine of five
    set_parallel_threads(5);
    ConstantOperand constant;
    run(tail, threads.data(), DType::Float, &constant);
    run(tail, again.data(), DType::Float, &constant);
    EXPECT_EQ(constant.made(), 1);
  })
      .join();
  EXPECT_EQ(threads, y);
  EXPECT_EQ(again, y);
}

TEST_P(ByteProduct, ResultsOfEightBits) {
  std::vector<float> scale(static_cast<size_t>(c_.out)), bias(scale.size());
  for (size_t i = 0; i < scale.size(); ++i)
    scale[i] = 1e-3f * static_cast<float>(1 + i % 5), bias[i] = static_cast<float>(i % 7) - 3;
  std::vector<int8_t> addend(count(y_dims_));
  for (size_t i = 0; i < addend.size(); ++i) addend[i] = static_cast<int8_t>(i * 37);
  const Tail tail{.scale = scale.data(),
                  .each = true,
                  .bias = bias.data(),
                  .addend = addend.data(),
                  .addend_sign = true,
                  .relu = true,
                  .addend_scale = 0.25f,
                  .addend_zero = 3,
                  .result = {.scale = 0.5f, .zero = 7},
                  .type = DType::UInt8};
  std::vector<uint8_t> y(addend.size());
  run(tail, y.data(), DType::UInt8);
  for (size_t i = 0; i < y.size(); ++i) {
    const size_t o = i % scale.size();
    const float sum = static_cast<float>(want(i)) * scale[o] + bias[o];
    const float all = std::max(sum + (static_cast<float>(addend[i]) - 3) * 0.25f, 0.0f);
    ASSERT_EQ(y[i], static_cast<uint8_t>(std::clamp(std::rint(all / 0.5f) + 7, 0.0f, 255.0f))) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, ByteProduct,
    testing::Values(
        Case{.name = "product", .spatial = 0, .batch = 50, .in = 70, .out = 33},
        Case{.name = "longSums", .spatial = 0, .batch = 13, .in = 4099, .out = 40, .zero = 255},
        Case{.name = "manyRows", .spatial = 0, .batch = 500, .in = 31, .out = 700, .sign = true, .zero = -5},
        Case{.name = "one", .spatial = 0, .batch = 1, .in = 1, .out = 1},
        Case{.name = "smallWeights", .low = -64, .high = 64, .zero = 128},
        Case{.name = "smallSums", .low = 0, .high = 64}, Case{.name = "lowest", .low = -128, .high = -128},
        Case{.name = "highest", .low = 127, .high = 127},
        Case{.name = "lowestOfINT8", .low = -128, .high = -128, .sign = true, .zero = 127},
        Case{.name = "firstLayer", .in = 3, .out = 64, .size = 20, .kernel = 7, .stride = 2, .padding = 3, .zero = 114},
        Case{.name = "points", .in = 33, .out = 47, .size = 7, .kernel = 1, .padding = 0, .zero = 9},
        Case{.name = "deep", .in = 200, .out = 30, .size = 5, .sign = true, .zero = 17},
        Case{.name = "dilated", .in = 5, .out = 9, .size = 12, .stride = 2, .padding = 3, .dilation = 2},
        Case{.name = "groups", .in = 24, .out = 32, .groups = 4, .zero = 200},
        Case{.name = "line", .spatial = 1, .in = 6, .out = 17, .size = 40, .kernel = 5, .zero = 1},
        Case{.name = "volume", .spatial = 3, .batch = 1, .in = 4, .out = 18, .size = 6, .sign = true, .zero = -128},
        Case{.name = "moreThanTheInput", .in = 2, .out = 8, .size = 2, .kernel = 5, .padding = 4}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace updraft::bytes
