// Products of halves: the bits depend on the operands alone, and a packed constant gives the same ones.
#include "kernels/matmul/packed.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <thread>
#include <vector>

#include "base/half.h"
#include "base/parallel.h"
#include "tensor/view_algebra.h"

namespace updraft::packed {
namespace {

struct Matrix {
  std::vector<uint16_t> bits;
  TensorView view;
  Matrix(int64_t rows, int64_t cols, unsigned seed) : bits(static_cast<size_t>(rows * cols)) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    for (uint16_t& b : bits) b = float_to_half(normal(random));
    const int64_t dims[] = {rows, cols};
    view = TensorView::contiguous(bits.data(), DType::Float16, dims, 2);
  }
  double at(int64_t i, int64_t j) const {
    return static_cast<double>(half_to_float(bits[static_cast<size_t>(i * view.dims[1] + j)]));
  }
};

struct Case {
  int64_t m, n, k;
};
class Packed : public testing::TestWithParam<Case> {};

TEST_P(Packed, BitsDependOnTheOperandsAlone) {
  const auto [m, n, k] = GetParam();
  Matrix a(m, k, 1), b(k, n, 2), serial(m, n, 3), threads(m, n, 4), constant(m, n, 5);
  auto product = [&](Matrix& c) { return Product{.a = a.view, .b = b.view, .c = c.view, .add = c.view}; };
  {
    const SerialSection one;
    multiply(product(serial));
  }
  std::thread([&] {  // as an engine of five
    set_parallel_threads(5);
    multiply(product(threads));
  })
      .join();
  EXPECT_EQ(serial.bits, threads.bits);
  std::vector<float> right(static_cast<size_t>(right_floats(product(constant))));
  pack_right(product(constant), right.data());
  Product p = product(constant);
  p.right = right.data();
  multiply(p);
  EXPECT_EQ(serial.bits, constant.bits);
  for (int64_t i = 0; i < m; i += std::max<int64_t>(1, m / 7))
    for (int64_t j = 0; j < n; ++j) {
      double sum = 0, size = 0;
      for (int64_t x = 0; x < k; ++x) {
        sum += a.at(i, x) * b.at(x, j);
        size += std::abs(a.at(i, x) * b.at(x, j));
      }
      ASSERT_NEAR(serial.at(i, j), sum, std::abs(sum) * 0x1p-10 + size * 0x1p-20 + 0x1p-24) << i << " " << j;
    }
}

// A left side that lies in columns is packed in another way. The right side is of float, which no CPU's tiles take.
TEST_P(Packed, ALeftSideInColumnsGivesTheSameBits) {
  const auto [m, n, k] = GetParam();
  Matrix rows(m, k, 1), columns(k, m, 1), by_rows(m, n, 3), by_columns(m, n, 4);
  for (int64_t i = 0; i < m; ++i)
    for (int64_t x = 0; x < k; ++x)
      columns.bits[static_cast<size_t>(x * m + i)] = rows.bits[static_cast<size_t>(i * k + x)];
  Matrix right(k, n, 2);
  std::vector<float> wide(right.bits.size());
  std::ranges::transform(right.bits, wide.begin(), [](uint16_t h) { return half_to_float(h); });
  const TensorView b = TensorView::contiguous(wide.data(), DType::Float, right.view.dims, 2);
  multiply({.a = rows.view, .b = b, .c = by_rows.view, .add = by_rows.view});
  multiply({.a = columns.view.transpose(0, 1), .b = b, .c = by_columns.view, .add = by_columns.view});
  EXPECT_EQ(by_rows.bits, by_columns.bits);
}

INSTANTIATE_TEST_SUITE_P(Shapes, Packed,
                         testing::Values(Case{1, 1, 1}, Case{7, 33, 5}, Case{24, 32, 256}, Case{385, 96, 257},
                                         Case{100, 400, 520}, Case{3, 1000, 64}, Case{500, 31, 300}));

}  // namespace
}  // namespace updraft::packed
