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

// Results of float are added up where they belong, with what follows: the same as through the sums of a block.
TEST_P(Packed, WhatFollowsTheSums) {
  const auto [m, n, k] = GetParam();
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  const auto some = [&](int64_t count) {
    std::vector<float> v(static_cast<size_t>(count));
    for (float& x : v) x = normal(random);
    return v;
  };
  // Lines of the left side that are 4 KiB apart are not read where they lie.
  const int64_t line = k > 256 ? 2048 : k;
  std::vector<float> a = some(m * line), b = some(k * n), add = some(m * n), scale = some(n), bias = some(n);
  const auto matrix = [](std::vector<float>& v, int64_t rows, int64_t columns) {
    const int64_t dims[] = {rows, columns};
    return TensorView::contiguous(v.data(), DType::Float, dims, 2);
  };
  TensorView left = matrix(a, m, k);
  left.strides[0] = line;
  for (const bool swish : {false, true})
    for (const bool own : {false, true}) {  // what is added is what the result holds
      std::vector<float> direct = add, kept = add, through(static_cast<size_t>(2 * m * n));
      TensorView apart = matrix(through, m, n);  // not in rows
      apart.strides[0] = 2 * n, apart.strides[1] = 2;
      Product p{.a = left,
                .b = matrix(b, k, n),
                .c = matrix(direct, m, n),
                .add = matrix(own ? direct : add, m, n),
                .alpha = 2,
                .beta = 0.5,
                .scale = scale.data(),
                .bias = bias.data(),
                .relu = !swish,
                .hard_swish = swish};
      multiply(p);
      std::vector<float> right(static_cast<size_t>(right_floats(p)));
      pack_right(p, right.data());
      p.right = right.data();
      p.c = matrix(kept, m, n), p.add = matrix(own ? kept : add, m, n);
      multiply(p);
      EXPECT_EQ(direct, kept);
      p.c = apart, p.add = matrix(add, m, n);
      multiply(p);
      for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < n; ++j) {
          const auto at = static_cast<size_t>(i * n + j), column = static_cast<size_t>(j);
          EXPECT_EQ(direct[at], through[static_cast<size_t>(2 * (i * n + j))]);
          double sum = 0, size = 1;
          for (int64_t x = 0; x < k; ++x) {
            const double term = static_cast<double>(a[static_cast<size_t>(i * line + x)]) *
                                static_cast<double>(b[static_cast<size_t>(x * n + j)]);
            sum += term, size += std::abs(term);
          }
          sum = 2 * sum * static_cast<double>(scale[column]) + static_cast<double>(bias[column]) +
                0.5 * static_cast<double>(add[at]);
          sum = swish ? sum * std::clamp(sum / 6 + 0.5, 0.0, 1.0) : std::max(sum, 0.0);
          ASSERT_NEAR(direct[at], sum, 1e-6 * (size * (1 + std::abs(static_cast<double>(scale[column]))) + sum * sum));
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Shapes, Packed,
                         testing::Values(Case{1, 1, 1}, Case{7, 33, 5}, Case{24, 32, 256}, Case{385, 96, 257},
                                         Case{100, 400, 520}, Case{3, 1000, 64}, Case{500, 31, 300}));

}  // namespace
}  // namespace updraft::packed
