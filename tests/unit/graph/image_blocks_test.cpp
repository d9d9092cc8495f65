// Batches of which a few images at a time go through several steps.
#include "graph/planner/image_blocks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/parallel.h"
#include "device/observer.h"
#include "models.h"

namespace updraft::graph {
namespace {

constexpr int64_t kChannels = 8, kSize = 224, kPlane = kSize * kSize;
constexpr size_t kImage = static_cast<size_t>(kChannels * kPlane);

float number(size_t i, size_t seed) { return static_cast<float>((i + seed) * 40503 % 997) / 498 - 1; }
Floats numbers(size_t count, size_t seed) {
  Floats x(count);
  for (size_t i = 0; i < count; ++i) x[i] = number(i, seed);
  return x;
}

struct ImageBlocks : Models {
  void TearDown() override {
    set_deterministic(false);
    Models::TearDown();
  }

  static Attributes convolution() {
    return {{"strides", Dims{1, 1, 1, 1}}, {"pads", Dims{0, 0, 0, 0}}, {"data_format", std::string("NCHW")}};
  }
  static Attributes halves() {
    return {{"ksize", Dims{1, 1, 2, 2}}, {"strides", Dims{1, 1, 2, 2}}, {"padding_mode", std::string("VALID")}};
  }

  /// A residual block with a tensor from before it, one that outlives it, a factor for each image, and means behind the
  /// large steps: with r = relu(w1 -x) and s = w2 r - x the means of half of relu([s * f, s]), and r.
  static void residual(Graph& g, int64_t batch) {
    Builder build(g);
    const Endpoint x = build("Neg", "before", {build.input("x", 0, {DType::Float, {batch, kChannels, kSize, kSize}})});
    const Endpoint f = build.input("f", 1, {DType::Float, {batch, kChannels, 1, 1}});
    const auto weight = [&](const char* name, size_t seed) {
      Tensor w = Tensor::of(numbers(kChannels * kChannels, seed));
      w.dims = {kChannels, kChannels, 1, 1};
      return build.constant(name, w);
    };
    const Endpoint first = build("Relu", "first", {build("Conv2D", "c1", {x, weight("w1", 3)}, convolution())});
    const Endpoint second = build("Conv2D", "c2", {first, weight("w2", 11)}, convolution());
    const Endpoint added = build("Add", "added", {second, x});
    const Endpoint both = build(
        "ConcatV2", "both",
        {std::vector<Endpoint>{build("Mul", "scaled", {added, f}), added}, build.constant("axis", Tensor::of(Ints{1}))},
        {{"N", int64_t{2}}});
    const Endpoint half = build("MaxPoolV3", "half", {build("Relu", "last", {both})}, halves());
    build.outputs({build("GlobalAveragePool", "mean", {half}), first});
  }

  /// What residual() gives, in double.
  static void reference(const Floats& x, const Floats& f, int64_t batch, std::vector<double>& mean,
                        std::vector<double>& first) {
    mean.assign(static_cast<size_t>(2 * batch * kChannels), 0);
    first.assign(static_cast<size_t>(batch) * kImage, 0);
    std::vector<double> last(2 * kImage);  // of one image
    for (int64_t n = 0; n < batch; ++n) {
      const float* in = &x[static_cast<size_t>(n) * kImage];
      double* one = &first[static_cast<size_t>(n) * kImage];
      for (int64_t p = 0; p < kPlane; ++p) {
        for (int64_t o = 0; o < kChannels; ++o) {
          double sum = 0;
          for (int64_t c = 0; c < kChannels; ++c)
            sum -= double{number(static_cast<size_t>(o * kChannels + c), 3)} * in[c * kPlane + p];
          one[o * kPlane + p] = std::max(sum, 0.0);
        }
        for (int64_t o = 0; o < kChannels; ++o) {
          double sum = -in[o * kPlane + p];
          for (int64_t c = 0; c < kChannels; ++c)
            sum += double{number(static_cast<size_t>(o * kChannels + c), 11)} * one[c * kPlane + p];
          const auto at = static_cast<size_t>(o * kPlane + p);
          last[at] = std::max(sum * f[static_cast<size_t>(n * kChannels + o)], 0.0);
          last[kImage + at] = std::max(sum, 0.0);
        }
      }
      for (int64_t o = 0; o < 2 * kChannels; ++o) {
        double sum = 0;
        for (int64_t r = 0; r < kSize; r += 2)
          for (int64_t c = 0; c < kSize; c += 2) {
            const double* at = &last[static_cast<size_t>(o * kPlane + r * kSize + c)];
            sum += std::max(std::max(at[0], at[1]), std::max(at[kSize], at[kSize + 1]));
          }
        mean[static_cast<size_t>(2 * n * kChannels + o)] = sum / static_cast<double>(kPlane / 4);
      }
    }
  }

  void check(const PlannedRun& ready, int64_t batch, size_t seed) {
    const Floats x = numbers(static_cast<size_t>(batch) * kImage, seed),
                 f = numbers(static_cast<size_t>(batch * kChannels), seed + 5);
    void* const inputs[] = {device(x), device(f)};
    void* const outputs[] = {device(2 * f.size() * sizeof(float)), device(x.size() * sizeof(float))};
    for (size_t i : {0, 1}) ASSERT_EQ(aclrtMemset(outputs[i], 64, 0xA5, 64), 0);
    ready->run(inputs, outputs, {});
    std::vector<double> mean, first;
    reference(x, f, batch, mean, first);
    const Floats got_mean = values<float>(outputs[0], mean.size()), got_first = values<float>(outputs[1], x.size());
    for (size_t i = 0; i < mean.size(); ++i) ASSERT_NEAR(got_mean[i], mean[i], 1e-4) << i << " of batch " << batch;
    for (size_t i = 0; i < first.size(); ++i) ASSERT_NEAR(got_first[i], first[i], 1e-5) << i << " of batch " << batch;
  }

  /// How often the steps with these nodes run.
  static size_t times(const Program& program, std::string_view node) {
    size_t count = 0;
    for (size_t time = 0; time < program.times(); ++time) {
      const Step& step = program.steps[program.step_at(time)];
      count += step.node && step.node->name() == node;
    }
    return count;
  }
};

TEST_F(ImageBlocks, GiveWhatWholeStepsGive) {
  for (const int64_t batch : {6, 7}) {  // two at a time, and one
    Graph g("residual");
    residual(g, batch);
    const PlannedRun ready(g, 2);
    const size_t rounds = batch == 6 ? 3 : 7;
    ASSERT_TRUE(ready.program->whole);
    EXPECT_EQ(times(*ready.program, "c1"), rounds);
    EXPECT_EQ(times(*ready.program, "half"), rounds);
    EXPECT_EQ(times(*ready.program, "mean"), rounds);  // small, but it makes less than it reads
    EXPECT_EQ(times(*ready.program->whole, "c1"), 1u);
    // what only steps of the block read has memory for one round, and its steps are the same in all rounds
    EXPECT_LT(ready.program->arena_bytes, ready.program->whole->arena_bytes * 2 / 3);
    EXPECT_LT(ready.program->steps.size(), ready.program->times());
    check(ready, batch, 1);
    check(ready, batch, 400);  // at other addresses
  }
}

TEST_F(ImageBlocks, AreWholeWhereTheSameBitsAreWanted) {
  Graph g("residual");
  residual(g, 6);
  const PlannedRun ready(g, 2);
  set_deterministic(true);
  check(ready, 6, 9);
  set_deterministic(false);
  check(ready, 6, 9);
}

TEST_F(ImageBlocks, WhoeverObservesSeesWholeTensors) {
  struct Look final : Observer {
    void task_ended(const TaskEvent& event) override {
      if (*event.node) nodes.push_back(event.node);
    }
    std::vector<std::string> nodes;
  };
  Graph g("residual");
  residual(g, 6);
  const PlannedRun ready(g, 2);
  check(ready, 6, 2);
  const auto look = std::make_shared<Look>();
  subscribe(look, watch::kTasks);
  check(ready, 6, 3);
  unsubscribe(look.get());
  EXPECT_EQ(look->nodes.size(), ready.program->whole->steps.size());
  EXPECT_EQ(std::set(look->nodes.begin(), look->nodes.end()).size(), look->nodes.size());
  check(ready, 6, 4);
}

TEST_F(ImageBlocks, InMemoryOfTheClient) {
  Graph g("residual");
  residual(g, 6);
  const PlannedRun ready(g, 2);
  const size_t bytes = ready.program->most_bytes();
  ready->use_arena({static_cast<std::byte*>(device(bytes)), bytes});
  check(ready, 6, 2);
  set_deterministic(true);
  check(ready, 6, 2);
}

TEST_F(ImageBlocks, WholeStepsDoNotOutgrowAnArenaThatIsSmallerNow) {
  Graph g("residual");
  residual(g, 6);
  const PlannedRun ready(g, 2);
  const size_t most = ready.program->most_bytes(), least = ready.program->arena_bytes;
  ASSERT_LT(least, most);
  auto* block = static_cast<std::byte*>(device(most));
  set_deterministic(true);
  ready->use_arena({block, most});
  check(ready, 6, 2);
  ready->use_arena({block, least});  // the same address: what lies behind is somebody else's
  ASSERT_EQ(aclrtMemset(block + least, most - least, 0x5A, most - least), 0);
  check(ready, 6, 3);
  const auto behind = values<uint8_t>(block + least, most - least);
  EXPECT_TRUE(std::ranges::all_of(behind, [](uint8_t byte) { return byte == 0x5A; }));
  ready->use_arena({block, most});
  check(ready, 6, 4);
}

/// x goes through steps of one type, and `more` reads the last of them.
std::optional<Program> planned(const Dims& dims, int threads, const std::function<Endpoint(Builder&, Endpoint)>& more) {
  Graph g("chain");
  Builder build(g);
  const Endpoint x = build.input("x", 0, {DType::Float, dims});
  build.outputs({more(build, build("Relu", "second", {build("Neg", "before", {build("Relu", "first", {x})})}))});
  const std::vector<Known> inputs = {Known(DType::Float, dims)};
  auto program = plan(*copy(g), inputs, {}, threads);
  for (Step& step : program->steps) step.node = nullptr;  // the graph is gone
  return program;
}

TEST_F(ImageBlocks, AreNotMadeWhereTheyDoNotPay) {
  const auto sigmoid = [](Builder& build, Endpoint x) {
    return build("Tanh", "c", {build("Sigmoid", "b", {build("Relu6", "a", {x})})});
  };
  const auto is_divided = [](const std::optional<Program>& program) { return program->whole != nullptr; };
  EXPECT_TRUE(is_divided(planned({8, 16, 128, 128}, 2, sigmoid)));
  EXPECT_FALSE(is_divided(planned({1, 128, 128, 128}, 2, sigmoid))) << "one image";
  EXPECT_FALSE(is_divided(planned({8, 16, 64, 64}, 2, sigmoid))) << "all of it stays in the caches";
  EXPECT_FALSE(is_divided(planned({4, 64, 256, 256}, 2, sigmoid))) << "an image does not";
  EXPECT_FALSE(is_divided(planned({8, 16, 128, 128}, 64, sigmoid))) << "no work for so many threads";
  EXPECT_FALSE(is_divided(planned({8, 16, 16384}, 2, sigmoid))) << "no images";
  EXPECT_TRUE(is_divided(planned({128, 16, 128, 128}, 64, sigmoid)));
}

TEST_F(ImageBlocks, SmallStepsBesideTheLargeOnesComeAlong) {
  constexpr int64_t kBatch = 8;
  const Dims dims = {kBatch, 4, 128, 128};
  Graph g("neighbours");
  Builder build(g);
  const Endpoint x = build("Relu", "first", {build.input("x", 0, {DType::Float, dims})});
  const Endpoint grown =
      build("ConcatV2", "grown", {std::vector<Endpoint>(5, x), build.constant("axis", Tensor::of(Ints{1}))},
            {{"N", int64_t{5}}});
  const Endpoint large = build("Tanh", "large", {build("Neg", "apart", {grown})});
  build.outputs({build("MaxPoolV3", "small", {build("Sigmoid", "also", {large})}, halves())});
  const std::vector<Known> inputs = {Known(DType::Float, dims)};
  const auto program = plan(g, inputs, {}, 2);
  ASSERT_TRUE(program->whole);
  // 10 MiB and 12 MiB are large; what makes as much as it reads comes along in front, and what makes less behind
  EXPECT_EQ(times(*program, "first"), 4u);
  EXPECT_EQ(times(*program, "small"), 4u);
}

TEST_F(ImageBlocks, WhatDiffersAlongTheBatchGoesWithItsImages) {
  constexpr int64_t kBatch = 8, kOne = 16 * 128 * 128;
  const Dims dims = {kBatch, 16, 128, 128};
  Floats least(kBatch);
  for (size_t n = 0; n < least.size(); ++n) least[n] = -0.1F * static_cast<float>(n);
  Tensor constant = Tensor::of(least);
  constant.dims = {kBatch, 1, 1, 1};
  for (const bool computed : {false, true}) {
    Graph g("bounds");
    Builder build(g);
    const Endpoint x = build.input("x", 0, {DType::Float, dims});
    Endpoint low = build.constant("low", constant);
    if (computed) low = build.input("bounds", 1, {DType::Float, constant.dims});
    const Endpoint one = build.constant("one", Tensor::of(Floats{1}));
    const Endpoint clipped = build("ClipByValueV2", "clip", {build("Relu6", "six", {x}), low, one});
    const Endpoint again = build("ClipByValueV2", "again", {build("Sub", "down", {clipped, one}), low, one});
    build.outputs({build("Tanh", "last", {build("Maximum", "max", {again, low})})});
    const PlannedRun ready(g, 2);
    EXPECT_EQ(times(*ready.program, "clip"), computed ? 4u : 1u);
    const Floats from = numbers(kBatch * kOne, 7);
    void* const inputs[] = {device(from), device(least)};
    void* y = device(from.size() * sizeof(float));
    ready->run(std::span(inputs, computed ? 2 : 1), std::span(&y, 1), {});
    const Floats got = values<float>(y, from.size());
    for (size_t i = 0; i < from.size(); ++i) {
      const double bound = least[i / kOne], one_less = std::clamp<double>(from[i], 0, 1) - 1;
      ASSERT_NEAR(got[i], std::tanh(std::clamp(one_less, bound, 1.0)), 1e-6) << i;
    }
  }
}

TEST_F(ImageBlocks, ScalesAlongTheBatchAreForWholeSteps) {
  const Dims dims = {8, 16, 128, 128};
  for (const int64_t axis : {0, 1}) {
    Graph g("scales");
    Builder build(g);
    const Endpoint x = build.input("x", 0, {DType::Float, dims});
    const Endpoint scale = build.constant("scale", Tensor::of(Floats(static_cast<size_t>(dims[axis ? 1 : 0]), 0.1F)));
    const Endpoint bytes =
        build("QuantizeLinear", "q", {build("Relu", "first", {x}), scale}, {{"axis", axis}, {"dtype", int64_t{4}}});
    build.outputs({build("DequantizeLinear", "d", {bytes, scale}, {{"axis", axis}})});
    const std::vector<Known> inputs = {Known(DType::Float, dims)};
    const auto program = plan(g, inputs, {}, 2);
    EXPECT_EQ(times(*program, "q"), axis ? 4u : 1u);
  }
}

TEST_F(ImageBlocks, WeightsThatAreMadeOfImagesAreReadWhole) {
  // as many filters as images: the tensor looks like a batch, but a convolution wants all of it
  Graph g("filters");
  Builder build(g);
  const Dims dims = {8, 32, 96, 96};
  const Endpoint x = build.input("x", 0, {DType::Float, dims});
  const Endpoint filters = build("Relu6", "filters", {build("Relu", "positive", {x})});
  build.outputs({build("Relu", "last", {build("Conv2D", "c", {filters, filters}, convolution())})});
  const std::vector<Known> inputs = {Known(DType::Float, dims)};
  const auto program = plan(g, inputs, {}, 2);
  EXPECT_EQ(times(*program, "c"), 1u);
}

}  // namespace
}  // namespace updraft::graph
