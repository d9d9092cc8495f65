// Saturation mode: which elementwise work counts as an overflow, wherever the operands lie, and what fp16 keeps.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "base/half.h"
#include "base/last_level_cache.h"
#include "base/overflow.h"
#include "kernels/pipeline.h"
#include "kernels/rows/arithmetic.h"
#include "kernels/watched.h"

namespace updraft {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity(), kMost = std::numeric_limits<float>::max();
constexpr int64_t kRows = 67, kColumns = 259;

/// A matrix of ones, in memory row by row or column by column.
struct Matrix {
  std::vector<float> data = std::vector<float>(static_cast<size_t>(kRows * kColumns), 1.0f);
  TensorView view;
  explicit Matrix(bool turned) {
    const int64_t dims[] = {kRows, kColumns};
    view = TensorView::contiguous(data.data(), DType::Float, dims, 2);
    if (turned) view.strides[0] = 1, view.strides[1] = kRows;
  }
  float& last() { return view.as<float>()[(kRows - 1) * view.strides[0] + (kColumns - 1) * view.strides[1]]; }
};

/// Whether a + b into `out` (or in place of a) is an overflow where the last elements are these.
bool overflows(float x, float y, bool turned, bool in_place) {
  Matrix a(turned), b(false), out(false);
  a.last() = x;
  b.last() = y;
  std::atomic<uint32_t> flag{0};
  const OverflowScope scope(&flag);
  Params params;
  params.set(0, 1.0);
  run_elementwise(elementwise_kernel(ew::add, Compute::F32), Compute::F32, {a.view, b.view},
                  {in_place ? a.view : out.view}, params);
  const float sum = x + y, got = in_place ? a.last() : out.last();
  EXPECT_TRUE(got == sum || (std::isnan(got) && std::isnan(sum))) << got;
  return flag != 0;
}

TEST(Watched, AnInfinityThatArisesIsAnOverflow) {
  for (const bool turned : {false, true})
    for (const bool in_place : {false, true}) {
      EXPECT_TRUE(overflows(kMost, kMost, turned, in_place)) << turned << in_place;
      EXPECT_FALSE(overflows(1, 1, turned, in_place)) << turned << in_place;
      EXPECT_FALSE(overflows(kInfinity, 1, turned, in_place)) << turned << in_place;
      EXPECT_FALSE(overflows(1, -kInfinity, turned, in_place)) << turned << in_place;
      EXPECT_FALSE(overflows(NAN, 1, turned, in_place)) << turned << in_place;
      EXPECT_FALSE(overflows(kInfinity, -kInfinity, turned, in_place)) << turned << in_place;
    }
}

TEST(Watched, InfinitiesOfOtherBlocksDoNotHideOne) {
  const int64_t n = 10 * kWatchedBlock;
  std::vector<float> x(static_cast<size_t>(n), 1.0f);
  x.front() = kInfinity;
  x.back() = kMost;
  const TensorView view = TensorView::contiguous(x.data(), DType::Float, &n, 1);
  std::atomic<uint32_t> flag{0};
  const OverflowScope scope(&flag);
  Params params;
  params.set(0, 1.0);
  run_elementwise(elementwise_kernel(ew::add, Compute::F32), Compute::F32, {view, view}, {view}, params);
  EXPECT_EQ(flag, 1u);
}

TEST(Watched, ResultsOfFp16AreNotedAsTheyAreStored) {
  const int64_t n = 3000;
  std::vector<Half> x(static_cast<size_t>(n), Half(40000.0f)), y(x.size());
  const TensorView from = TensorView::contiguous(x.data(), DType::Float16, &n, 1),
                   to = TensorView::contiguous(y.data(), DType::Float16, &n, 1);
  std::atomic<uint32_t> flag{0};
  const OverflowScope scope(&flag);
  Params params;
  params.set(0, 0.5);
  run_elementwise(elementwise_kernel(ew::add, Compute::F32), Compute::F32, {from, from}, {to}, params);
  EXPECT_EQ(flag, 0u);
  params.set(0, 1.0);
  run_elementwise(elementwise_kernel(ew::add, Compute::F32), Compute::F32, {from, from}, {to}, params);
  EXPECT_EQ(flag, 1u);
  EXPECT_EQ(static_cast<float>(y[static_cast<size_t>(n) - 1]), 65504.0f);
}

// One by one and many at a time, wherever in a vector the number is.
TEST(Watched, WhatFp16CannotHoldBecomesItsLargest) {
  const float numbers[] = {65519.0f,   -65519.0f, 65520.0f, -65520.0f, kMost, kInfinity,
                           -kInfinity, NAN,       -NAN,     1e-8f,     -0.0f};
  const float want[] = {65504, -65504, 65504, -65504, 65504, 65504, -65504, 0, 0, 0, -0.0f};
  for (size_t k = 0; k < std::size(numbers); ++k)
    for (int64_t n = 1; n <= 37; ++n)
      for (int64_t at : {int64_t{0}, n / 2, n - 1}) {
        std::vector<float> x(static_cast<size_t>(n), 2.0f);
        std::vector<Half> y(x.size());
        x[static_cast<size_t>(at)] = numbers[k];
        std::atomic<uint32_t> flag{0};
        {
          const OverflowScope scope(&flag);
          copy_elements(TensorView::contiguous(y.data(), DType::Float16, &n, 1),
                        TensorView::contiguous(x.data(), DType::Float, &n, 1));
        }
        const float got = static_cast<float>(y[static_cast<size_t>(at)]);
        ASSERT_EQ(got, want[k]) << numbers[k] << " at " << at << " of " << n;
        ASSERT_EQ(std::signbit(got), std::signbit(want[k])) << numbers[k] << " at " << at << " of " << n;
        ASSERT_EQ(flag, std::abs(numbers[k]) < 65520.0f ? 0u : 1u) << numbers[k] << " at " << at << " of " << n;
        for (int64_t i = 0; i < n; ++i)
          if (i != at) { ASSERT_EQ(static_cast<float>(y[static_cast<size_t>(i)]), 2.0f); }
      }
}

// Results that are larger than the caches are written in another way.
TEST(Watched, WhatFp16CannotHoldBecomesItsLargestInLargeTensors) {
  const int64_t n = last_level_cache().value_or(int64_t{32} << 20) / 4 + 5000;
  if (n > 64 << 20) GTEST_SKIP() << "a cache that wants too large a tensor";
  std::vector<float> x(static_cast<size_t>(n), 2.0f);
  std::vector<Half> y(x.size());
  x[x.size() / 2] = 70000.0f;
  std::atomic<uint32_t> flag{0};
  const OverflowScope scope(&flag);
  copy_elements(TensorView::contiguous(y.data(), DType::Float16, &n, 1),
                TensorView::contiguous(x.data(), DType::Float, &n, 1));
  EXPECT_EQ(static_cast<float>(y[y.size() / 2]), 65504.0f);
  EXPECT_EQ(static_cast<float>(y.back()), 2.0f);
  EXPECT_EQ(flag, 1u);
}

}  // namespace
}  // namespace updraft
