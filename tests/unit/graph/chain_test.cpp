// Steps of a program that work element by element are run together, a piece at a time.
#include <gtest/gtest.h>

#include <cmath>

#include "device/device.h"
#include "device/observer.h"
#include "models.h"

namespace updraft::graph {
namespace {

struct Chains : Models {
  static constexpr int64_t kRows = 515, kWide = 257;  // not whole pieces
  static constexpr size_t kCount = kRows * kWide, kBytes = kCount * sizeof(float);
  static Floats numbers(size_t count, size_t seed) {
    Floats x(count);
    for (size_t i = 0; i < count; ++i) x[i] = static_cast<float>((i + seed) * 40503 % 997) / 498 - 1;
    return x;
  }
};

TEST_F(Chains, NumbersRowsAndColumnsGoAlong) {
  Graph g("chain");
  Builder build(g);
  const Endpoint x = build.input("x", 0, {DType::Float, {kRows, kWide}});
  const Endpoint column = build.input("column", 1, {DType::Float, {kRows, 1}});
  const Endpoint number = build.constant("number", Tensor::of(Floats{0.75F}));
  const Endpoint row = build.constant("row", Tensor::of(numbers(kWide, 5)));
  const Endpoint scaled = build("Mul", "scaled", {x, number});
  const Endpoint moved = build("Add", "moved", {scaled, row});
  const Endpoint centred = build("Sub", "centred", {moved, column});
  const Endpoint kept = build("Relu", "kept", {centred});
  build.outputs({build("Maximum", "larger", {kept, x})});
  PlannedRun ready(g);
  const Floats weight = numbers(kWide, 5);
  void* y = device(kBytes);
  // Other memory the second time, and then again that of the first.
  void* const xs[] = {device(numbers(kCount, 1)), device(numbers(kCount, 77))};
  void* const columns[] = {device(numbers(kRows, 3)), device(numbers(kRows, 900))};
  for (const size_t turn : {0, 1, 0}) {
    ASSERT_EQ(aclrtMemset(y, kBytes, 0xA5, kBytes), 0);
    void* const inputs[] = {xs[turn], columns[turn]};
    ready->run(inputs, std::span(&y, 1), {});
    EXPECT_EQ(ready->chained(), 5u);
    const Floats from = numbers(kCount, turn ? 77 : 1), less = numbers(kRows, turn ? 900 : 3),
                 got = values<float>(y, kCount);
    for (size_t i = 0; i < kCount; ++i) {
      const double centred_ = from[i] * 0.75 + weight[i % kWide] - less[i / kWide];
      ASSERT_NEAR(got[i], std::max(std::max(centred_, 0.0), double{from[i]}), 1e-6) << i << " of turn " << turn;
    }
  }
}

TEST_F(Chains, WhatReadsOtherElementsEndsAChain) {
  // The row that is added is the sum of what the chain itself makes, and a sum along rows stands between.
  Graph g("broken");
  Builder build(g);
  const Endpoint x = build.input("x", 0, {DType::Float, {kRows, kWide}});
  const Endpoint twice = build("Add", "twice", {x, x});
  const Endpoint some = build("Relu", "some", {twice});
  const Endpoint axes = build.constant("axes", Tensor::of(Ints{0}));
  const Endpoint sum = build("ReduceSum", "sum", {some, axes});
  const Endpoint less = build("Sub", "less", {some, sum});
  build.outputs({build("Neg", "negative", {less})});
  PlannedRun ready(g);
  void* y = device(kBytes);
  void* const inputs[] = {device(numbers(kCount, 9))};
  ready->run(inputs, std::span(&y, 1), {});
  EXPECT_EQ(ready->chained(), 4u);  // two and two
  const Floats from = numbers(kCount, 9), got = values<float>(y, kCount);
  std::vector<double> sums(kWide);
  for (size_t i = 0; i < kCount; ++i) sums[i % kWide] += std::max(2.0 * from[i], 0.0);
  for (size_t i = 0; i < kCount; ++i) ASSERT_NEAR(got[i], sums[i % kWide] - std::max(2.0 * from[i], 0.0), 1e-3) << i;
}

TEST_F(Chains, SmallStepsAreByThemselves) {
  Graph g("small");
  Builder build(g);
  const Endpoint x = build.input("x", 0, {DType::Float, {64, 64}});
  build.outputs({build("Relu", "relu", {build("Neg", "less", {x})})});
  PlannedRun ready(g);
  void* y = device(64 * 64 * sizeof(float));
  void* const inputs[] = {device(numbers(64 * 64, 2))};
  ready->run(inputs, std::span(&y, 1), {});
  EXPECT_EQ(ready->chained(), 0u);
}

}  // namespace
}  // namespace updraft::graph
