// What multiplies and raises channels goes into the weights of the convolution or product before.
#include "passes_fixture.h"

namespace updraft::graph {
namespace {

/// Convolutions of one pixel, of which every layout is a product: y[n][o][p] = sum of x[n][c][p] w[o][c].
struct BatchNormPass : Passes {
  static constexpr int64_t kN = 2, kC = 5, kO = 6, kH = 3, kW = 4;
  static constexpr float kEpsilon = 1e-3F;
  const Floats x_ = random(kN * kC * kH * kW, 1), w_ = random(kO * kC, 2), bias_ = random(kO, 3),
               scale_ = random(kO, 4), offset_ = random(kO, 5), mean_ = random(kO, 6);
  Floats variance_ = random(kO, 7);

  void SetUp() override {
    Passes::SetUp();
    for (float& v : variance_) v = std::abs(v) + 0.1F;
  }
  static Attributes window(const char* format) {
    return {{"strides", Ints{1, 1, 1, 1}}, {"pads", Ints{0, 0, 0, 0}}, {"data_format", format}};
  }
  std::vector<Operand> with_statistics(Endpoint y) {
    return {y, constant("scale", {kO}, scale_), constant("offset", {kO}, offset_), constant("mean", {kO}, mean_),
            constant("variance", {kO}, variance_)};
  }
  Endpoint normalised(Endpoint y) { return build("BNInfer", "norm", with_statistics(y), {{"epsilon", kEpsilon}}); }
  double normalised(double y, size_t o) const {
    return (y - mean_[o]) / std::sqrt(static_cast<double>(variance_[o]) + kEpsilon) * scale_[o] + offset_[o];
  }
  /// [o][c] as another order.
  Floats turned() const {
    Floats t(w_.size());
    for (size_t o = 0; o < kO; ++o)
      for (size_t c = 0; c < kC; ++c) t[c * kO + o] = w_[o * kC + c];
    return t;
  }
  /// change(sum, channel) for each pixel of each image, channels second.
  template <class Change>
  Doubles convolved(Change&& change) const {
    Doubles y;
    constexpr size_t pixels = kH * kW;
    for (size_t n = 0; n < kN; ++n)
      for (size_t o = 0; o < kO; ++o)
        for (size_t p = 0; p < pixels; ++p) {
          double sum = 0;
          for (size_t c = 0; c < kC; ++c) sum += static_cast<double>(x_[(n * kC + c) * pixels + p]) * w_[o * kC + c];
          y.push_back(change(sum, o));
        }
    return y;
  }
  /// [n][channels][pixel] with the channels last.
  template <class T>
  static std::vector<T> last(const std::vector<T>& from, size_t channels) {
    std::vector<T> to(from.size());
    constexpr size_t pixels = kH * kW;
    for (size_t n = 0; n < kN; ++n)
      for (size_t c = 0; c < channels; ++c)
        for (size_t p = 0; p < pixels; ++p) to[(n * pixels + p) * channels + c] = from[(n * channels + c) * pixels + p];
    return to;
  }
  const Dims first_ = {kN, kC, kH, kW}, last_ = {kN, kH, kW, kC};
};

TEST_F(BatchNormPass, OfAConvolutionWithBias) {
  const Endpoint x = build.input("x", 0, {DType::Float, {-1, kC, kH, kW}});
  const Endpoint y =
      build("Conv2D", "conv", {x, constant("w", {kO, kC, 1, 1}, w_), constant("b", {kO}, bias_)}, window("NCHW"));
  build.outputs({build("Relu", "relu", {normalised(y)})});
  const Model model = compiled();
  EXPECT_EQ(types(model), std::vector<std::string>{"FusedConv2D"});
  for (const Node* node : model.graph->in_order()) {
    if (node->type() != "FusedConv2D") continue;
    EXPECT_EQ(find_or(node->attributes, "OriginOp", std::vector<std::string>()),
              (std::vector<std::string>{"conv", "norm", "relu"}));
  }
  expect_near(run(model, {{first_, x_}}),
              convolved([&](double y, size_t o) { return std::max(0.0, normalised(y + bias_[o], o)); }), 1e-5);
}

TEST_F(BatchNormPass, OfFactorsAndSummandsOfChannels) {
  const Endpoint x = build.input("x", 0, {DType::Float, first_});
  const Endpoint y = build("Conv2D", "conv", {x, constant("w", {kO, kC, 1, 1}, w_)}, window("NCHW"));
  const Endpoint factor =
      build("Mul", "factor", {constant("f", {kO, 1, 1}, scale_), build("Div", "half", {y, number(2)})});
  build.outputs({build("Add", "sum", {factor, constant("s", {1, kO, 1, 1}, offset_)})});
  const Model model = compiled();
  EXPECT_EQ(types(model), std::vector<std::string>{"Conv2D"});
  expect_near(run(model, {{first_, x_}}), convolved([&](double y, size_t o) { return y / 2 * scale_[o] + offset_[o]; }),
              1e-5);
}

/// Frozen graphs of TensorFlow: channels last, filters with the outputs last.
TEST_F(BatchNormPass, WithTheChannelsLast) {
  const Endpoint x = build.input("x", 0, {DType::Float, last_});
  const Endpoint y = build("Conv2D", "conv", {x, constant("w", {1, 1, kC, kO}, turned())}, window("NHWC"));
  const Endpoint raised = build("BiasAdd", "raised", {y, constant("b", {kO}, bias_)}, {{"data_format", "NHWC"}});
  build.outputs({build
                     .node("BatchNorm", "norm", with_statistics(raised),
                           {{"epsilon", kEpsilon}, {"data_format", "NHWC"}, {"is_training", false}})
                     .out()});
  const Model model = compiled();
  EXPECT_EQ(types(model), std::vector<std::string>{"Conv2D"});
  expect_near(run(model, {{last_, last(x_, kC)}}),
              last(convolved([&](double y, size_t o) { return normalised(y + bias_[o], o); }), kO), 1e-5);
}

/// In training the bias is a variable, an input of the graph.
TEST_F(BatchNormPass, ABiasThatIsAnInput) {
  const Endpoint x = build.input("x", 0, {DType::Float, last_}), b = build.input("b", 1, {DType::Float, {kO}});
  const Endpoint y = build("Conv2D", "conv", {x, constant("w", {1, 1, kC, kO}, turned())}, window("NHWC"));
  build.outputs({build("BiasAdd", "raised", {y, b}, {{"data_format", "NHWC"}})});
  const Model model = compiled();
  EXPECT_EQ(types(model), std::vector<std::string>{"Conv2D"});
  expect_near(run(model, {{last_, last(x_, kC)}, {{kO}, bias_}}),
              last(convolved([&](double v, size_t o) { return v + bias_[o]; }), kO), 1e-5);
}
TEST_F(BatchNormPass, ABiasThatIsComputedStays) {
  const Endpoint x = build.input("x", 0, {DType::Float, last_}), b = build.input("b", 1, {DType::Float, {kO}});
  const Endpoint y = build("Conv2D", "conv", {x, constant("w", {1, 1, kC, kO}, turned())}, window("NHWC"));
  build.outputs({build("BiasAdd", "raised", {y, build("Neg", "minus", {b})}, {{"data_format", "NHWC"}})});
  EXPECT_EQ(types(compiled()), (std::vector<std::string>{"Conv2D", "Neg", "BiasAdd"}));
}

TEST_F(BatchNormPass, OfATransposedConvolution) {
  const Endpoint x = build.input("x", 0, {DType::Float, first_});
  const Endpoint size = build.constant("size", Tensor::of(Ints{kN, kO, kH, kW}));
  const Endpoint y =
      build("Conv2DTranspose", "conv", {size, x, constant("w", {kC, kO, 1, 1}, turned())}, window("NCHW"));
  build.outputs({normalised(y)});
  const Model model = compiled();
  EXPECT_EQ(types(model), std::vector<std::string>{"Conv2DTranspose"});
  expect_near(run(model, {{first_, x_}}), convolved([&](double y, size_t o) { return normalised(y, o); }), 1e-5);
}

TEST_F(BatchNormPass, OfProducts) {
  constexpr int64_t kRows = kN * kH * kW;
  const Floats rows = last(x_, kC);
  const Doubles want = last(convolved([&](double y, size_t o) { return normalised(y + bias_[o], o) * scale_[o]; }), kO);
  for (const bool turn : {false, true}) {
    Graph graph;
    Builder b(graph);
    const auto vector = [&](const char* name, const Floats& values) {
      return b.constant(name, {DType::Float, {kO}, Tensor::of(values).data});
    };
    const Endpoint x = b.input("x", 0, {DType::Float, {kRows, kC}});
    const Endpoint w =
        b.constant("w", {DType::Float, turn ? Dims{kO, kC} : Dims{kC, kO}, Tensor::of(turn ? w_ : turned()).data});
    const Endpoint y = b("MatMulV2", "product", {x, w, vector("b", bias_)}, {{"transpose_x2", turn}});
    const Endpoint norm =
        b("BNInfer", "norm",
          {y, vector("scale", scale_), vector("offset", offset_), vector("mean", mean_), vector("variance", variance_)},
          {{"epsilon", kEpsilon}});
    b.outputs({b("Mul", "scaled", {norm, vector("by", scale_)})});
    Model source;
    source.graph = copy(graph);
    const Model model = compile(source, {});
    EXPECT_EQ(types(model), std::vector<std::string>{"MatMulV2"});
    expect_near(run(model, {{{kRows, kC}, rows}}), want, 1e-5);
  }
}

// --- what stays ------------------------------------------------------------------------------------------------------

TEST_F(BatchNormPass, StatisticsThatAreInputsLeaveTheWeights) {
  const Endpoint x = build.input("x", 0, {DType::Float, first_}), mean = build.input("mean", 1, {DType::Float, {kO}});
  const Endpoint y = build("Conv2D", "conv", {x, constant("w", {kO, kC, 1, 1}, w_)}, window("NCHW"));
  auto operands = with_statistics(y);
  operands[3] = mean;
  build.outputs({build("BNInfer", "norm", operands, {{"epsilon", kEpsilon}})});
  EXPECT_EQ(types(compiled()), (std::vector<std::string>{"BNFactors", "FusedConv2D"}));
}
TEST_F(BatchNormPass, WhatOthersReadStays) {
  const Endpoint x = build.input("x", 0, {DType::Float, first_});
  const Endpoint y = build("Conv2D", "conv", {x, constant("w", {kO, kC, 1, 1}, w_)}, window("NCHW"));
  build.outputs({build("Add", "both", {normalised(y), y})});
  EXPECT_EQ(types(compiled()), (std::vector<std::string>{"Conv2D", "BNInfer", "Add"}));
}
TEST_F(BatchNormPass, FactorsOfPixelsStay) {
  const Endpoint x = build.input("x", 0, {DType::Float, first_});
  const Endpoint y = build("Conv2D", "conv", {x, constant("w", {kO, kC, 1, 1}, w_)}, window("NCHW"));
  build.outputs({build("Mul", "by", {y, constant("columns", {kW}, random(kW, 8))})});
  EXPECT_EQ(types(compiled()), (std::vector<std::string>{"Conv2D", "Mul"}));
}
TEST_F(BatchNormPass, ChannelsOfAnotherDimensionStay) {
  const Endpoint x = build.input("x", 0, {DType::Float, {2, kO, kC}});
  const Endpoint y = build("BatchMatMulV2", "product", {x, constant("w", {kC, kO}, turned())});
  build.outputs({normalised(y)});  // of the second dimension
  EXPECT_EQ(types(compiled()), (std::vector<std::string>{"BatchMatMulV2", "BNInfer"}));
}
TEST_F(BatchNormPass, WeightsThatAnotherProductReadsStay) {
  const Endpoint x = build.input("x", 0, {DType::Float, {kO, kO}}), w = constant("w", {kO, kO}, random(kO * kO, 8));
  const Endpoint other = build.input("other", 1, {DType::Float, {kO, kO}});
  const Endpoint y = build("MatMulV2", "one", {x, w}), z = build("MatMulV2", "two", {other, w});
  build.outputs({build("Add", "both", {normalised(y), z})});
  EXPECT_EQ(types(compiled()), (std::vector<std::string>{"MatMulV2", "MatMulV2", "BNInfer", "Add"}));
}

}  // namespace
}  // namespace updraft::graph
