// Passes: the graph before and after, and that both give the same numbers as a computation in double precision.
#include <functional>

#include "graph/planner/program.h"
#include "passes_fixture.h"

namespace updraft::graph {
namespace {

// --- convolutions
// ----------------------------------------------------------------------------------------------------------

struct Image {
  int64_t n, c, h, w;
  Doubles values;
  double at(int64_t i, int64_t k, int64_t y, int64_t x) const {
    return y < 0 || y >= h || x < 0 || x >= w ? 0 : values[static_cast<size_t>(((i * c + k) * h + y) * w + x)];
  }
};

/// Step 1, with half of the window's size around.
Image convolve(const Image& in, const Floats& weight, int64_t channels, int64_t size) {
  Image out{in.n, channels, in.h, in.w, {}};
  for (int64_t i = 0; i < in.n; ++i)
    for (int64_t o = 0; o < channels; ++o)
      for (int64_t y = 0; y < in.h; ++y)
        for (int64_t x = 0; x < in.w; ++x) {
          double sum = 0;
          for (int64_t c = 0; c < in.c; ++c)
            for (int64_t ky = 0; ky < size; ++ky)
              for (int64_t kx = 0; kx < size; ++kx)
                sum += static_cast<double>(weight[static_cast<size_t>(((o * in.c + c) * size + ky) * size + kx)]) *
                       in.at(i, c, y + ky - size / 2, x + kx - size / 2);
          out.values.push_back(sum);
        }
  return out;
}

Attributes window(int64_t pad) {
  return {{"strides", Ints{1, 1, 1, 1}}, {"pads", Ints{pad, pad, pad, pad}}, {"data_format", "NCHW"}};
}

struct ConvolutionPasses : Passes {
  static constexpr int64_t kN = 2, kC = 16, kH = 9, kW = 11;
  const Floats x_ = random(kN * kC * kH * kW, 1), bias_ = random(kC, 2), w3_ = random(kC * kC * 9, 3),
               w1_ = random(kC * kC, 4);
  const Dims dims_ = {kN, kC, kH, kW};
};

TEST_F(ConvolutionPasses, TakeBiasSumAndReluAlong) {
  for (const int64_t batch : {kN, int64_t{-1}}) {  // known sizes, and some that are not
    Graph graph;
    Builder b(graph);
    const Endpoint x = b.input("x", 0, {DType::Float, {batch, kC, kH, kW}});
    const Endpoint w3 = b.constant("w3", {DType::Float, {kC, kC, 3, 3}, Tensor::of(w3_).data}),
                   w1 = b.constant("w1", {DType::Float, {kC, kC, 1, 1}, Tensor::of(w1_).data}),
                   row = b.constant("row", {DType::Float, {1, kC, 1, 1}, Tensor::of(bias_).data});
    const Endpoint first = b("Relu", "relu1", {b("Add", "biased", {b("Conv2D", "conv1", {x, w3}, window(1)), row})});
    const Endpoint second =
        b("Relu", "relu2", {b("Add", "sum", {first, b("Conv2D", "conv2", {first, w1}, window(0))})});
    b.outputs({b("MaxPoolV3", "pool", {second},
                 {{"ksize", Ints{1, 1, 3, 3}}, {"strides", Ints{1, 1, 2, 2}}, {"pads", Ints{1, 1, 1, 1}}})});
    Model model;
    model.graph = copy(graph);
    const Model after = compile(model, {});
    EXPECT_EQ(types(after), (std::vector<std::string>{"FusedConv2D", "FusedConv2D", "MaxPoolV3"}));
    std::vector<std::string> origins;
    for (const Node* node : after.graph->in_order())
      if (node->type() == "FusedConv2D")
        origins = *updraft::graph::find<Attribute::Texts>(node->attributes, "OriginOp");
    EXPECT_EQ(origins, (std::vector<std::string>{"conv2", "sum", "relu2"}));

    Image a = convolve({kN, kC, kH, kW, Doubles(x_.begin(), x_.end())}, w3_, kC, 3);
    for (size_t i = 0; i < a.values.size(); ++i) a.values[i] = std::max(0.0, a.values[i] + bias_[i / (kH * kW) % kC]);
    Image c = convolve(a, w1_, kC, 1);
    for (size_t i = 0; i < c.values.size(); ++i) c.values[i] = std::max(0.0, c.values[i] + a.values[i]);
    Doubles want;
    for (int64_t i = 0; i < kN * kC; ++i)
      for (int64_t y = 0; y < (kH + 1) / 2; ++y)
        for (int64_t column = 0; column < (kW + 1) / 2; ++column) {
          double most = 0;  // nothing is smaller behind relu
          for (int64_t k = 0; k < 9; ++k)
            most = std::max(most, c.at(i / kC, i % kC, 2 * y - 1 + k / 3, 2 * column - 1 + k % 3));
          want.push_back(most);
        }
    expect_near(run(after, {{dims_, x_}}), want, 2e-5);
  }
}

// Statistics that are inputs of the graph, as torch.compile gives them.
TEST_F(ConvolutionPasses, TakeNormalisationAlong) {
  const Floats scale = random(kC, 5), offset = random(kC, 6), mean = random(kC, 7);
  Floats variance = random(kC, 8);
  for (float& v : variance) v = std::abs(v) + 0.1F;
  const Endpoint x = build.input("x", 0, {DType::Float, dims_});
  std::vector<Endpoint> statistics;
  for (const char* name : {"scale", "offset", "mean", "variance"})
    statistics.push_back(build.input(name, static_cast<int64_t>(statistics.size()) + 1, {DType::Float, {kC}}));
  const auto norm = [&](const char* name, Endpoint of) {
    return build("BNInfer", name, {of, statistics[0], statistics[1], statistics[2], statistics[3]},
                 {{"epsilon", 0.5F}});
  };
  const Endpoint w3 = constant("w3", {kC, kC, 3, 3}, w3_), w1 = constant("w1", {kC, kC, 1, 1}, w1_),
                 bias = constant("bias", {kC}, bias_);
  const Endpoint first = build("Relu", "relu1", {norm("norm1", build("Conv2D", "conv1", {x, w3, bias}, window(1)))});
  const Endpoint second = norm("norm2", build("Conv2D", "conv2", {first, w1}, window(0)));
  build.outputs({build("Relu", "relu2", {build("Add", "sum", {first, second})})});
  const Model after = compiled();
  EXPECT_EQ(types(after), (std::vector<std::string>{"BNFactors", "BNFactors", "FusedConv2D", "FusedConv2D"}));
  EXPECT_EQ(*updraft::graph::find<Attribute::Texts>(after.graph->in_order().back()->input(0).from.node->attributes,
                                                    "OriginOp"),
            (std::vector<std::string>{"conv2", "norm2", "sum", "relu2"}));

  const auto normalise = [&](Image& image) {
    for (size_t i = 0; i < image.values.size(); ++i) {
      const size_t c = i / (kH * kW) % kC;
      image.values[i] = (image.values[i] - mean[c]) / std::sqrt(variance[c] + 0.5) * scale[c] + offset[c];
    }
  };
  Image a = convolve({kN, kC, kH, kW, Doubles(x_.begin(), x_.end())}, w3_, kC, 3);
  for (size_t i = 0; i < a.values.size(); ++i) a.values[i] += bias_[i / (kH * kW) % kC];
  normalise(a);
  for (double& v : a.values) v = std::max(0.0, v);
  Image c = convolve(a, w1_, kC, 1);
  normalise(c);
  for (size_t i = 0; i < c.values.size(); ++i) c.values[i] = std::max(0.0, c.values[i] + a.values[i]);
  expect_near(run(after, {{dims_, x_}, {{kC}, scale}, {{kC}, offset}, {{kC}, mean}, {{kC}, variance}}), c.values, 5e-5);
}

TEST_F(ConvolutionPasses, MaximaWithoutReadersOfTheirPlaces) {
  const Attributes pooling = {{"ksize", Ints{1, 3, 2, 1}}, {"strides", Ints{1, 2, 1, 1}}, {"pads", Ints{1, 1, 0, 1}}};
  const Endpoint x = build.input("x", 0, {DType::Float, dims_});
  Node& pool = build.node("MaxPoolWithArgmaxV1", "pool", {x}, pooling, 2);
  build.outputs({pool.out()});
  EXPECT_EQ(types(compiled()), (std::vector<std::string>{"MaxPoolV3"}));
  const Image image{kN, kC, kH, kW, Doubles(x_.begin(), x_.end())};
  Doubles want;
  for (int64_t i = 0; i < kN * kC; ++i)
    for (int64_t y = 0; y < (kH + 1) / 2; ++y)
      for (int64_t column = 0; column < kW - 1; ++column) {
        double most = -100;
        for (int64_t k = 0; k < 6; ++k) {
          const int64_t row = 2 * y - 1 + k / 2;
          if (row >= 0 && row < kH) most = std::max(most, image.at(i / kC, i % kC, row, column + k % 2));
        }
        want.push_back(most);
      }
  expect_near(run(compiled(), {{dims_, x_}}), want, 1e-7);
}

TEST_F(ConvolutionPasses, MaximaWithReadersOfTheirPlacesStay) {
  const Attributes pooling = {{"ksize", Ints{1, 3, 3, 1}}, {"strides", Ints{1, 2, 2, 1}}, {"pads", Ints{1, 1, 1, 1}}};
  const Endpoint x = build.input("x", 0, {DType::Float, dims_});
  Node& pool = build.node("MaxPoolWithArgmaxV1", "pool", {x}, pooling, 2);
  build.outputs({pool.out(), pool.out(1)});
  EXPECT_EQ(types(compiled()), (std::vector<std::string>{"MaxPoolWithArgmaxV1"}));
}

TEST_F(ConvolutionPasses, LeaveWhatOthersReadAlone) {
  const Endpoint x = build.input("x", 0, {DType::Float, dims_});
  const Endpoint y = build("Conv2D", "conv", {x, constant("w3", {kC, kC, 3, 3}, w3_)}, window(1));
  const Endpoint relu = build("Relu", "relu", {y});
  build.outputs({build("Mul", "both", {y, relu})});
  EXPECT_EQ(types(compiled()), (std::vector<std::string>{"Conv2D", "Relu", "Mul"}));
  const Image a = convolve({kN, kC, kH, kW, Doubles(x_.begin(), x_.end())}, w3_, kC, 3);
  Doubles want;
  for (const double v : a.values) want.push_back(v * std::max(0.0, v));
  expect_near(run(compiled(), {{dims_, x_}}), want, 2e-5);
}

// 1x1 goes by a primitive, 3x3 of so many channels by Winograd's algorithm, and a first one reads the graph's input.
TEST_F(ConvolutionPasses, TakeHardSwishAlong) {
  const Endpoint x = build.input("x", 0, {DType::Float, dims_});
  const Endpoint w3 = constant("w3", {kC, kC, 3, 3}, w3_), w1 = constant("w1", {kC, kC, 1, 1}, w1_);
  const Endpoint first = build("HardSwish", "swish1", {build("Conv2D", "conv1", {x, w3}, window(1))});
  const Endpoint second =
      build("HardSwish", "swish2", {build("Add", "sum", {first, build("Conv2D", "conv2", {first, w1}, window(0))})});
  build.outputs({build("HardSwish", "swish3", {build("Conv2D", "conv3", {second, w3}, window(1))})});
  const Model after = compiled();
  EXPECT_EQ(types(after), (std::vector<std::string>{"FusedConv2D", "FusedConv2D", "FusedConv2D"}));
  const auto swish = [](Image& image) {
    for (double& v : image.values) v *= std::clamp(v + 3, 0.0, 6.0) / 6;
  };
  Image a = convolve({kN, kC, kH, kW, Doubles(x_.begin(), x_.end())}, w3_, kC, 3);
  swish(a);
  Image b = convolve(a, w1_, kC, 1);
  for (size_t i = 0; i < b.values.size(); ++i) b.values[i] += a.values[i];
  swish(b);
  Image c = convolve(b, w3_, kC, 3);
  swish(c);
  double largest = 1;
  for (const double v : c.values) largest = std::max(largest, std::abs(v));
  expect_near(run(after, {{dims_, x_}}), c.values, 2e-5 * largest);
}

// What a convolution takes along does not hide it from the modes that ask for fewer bits in convolutions.
TEST_F(ConvolutionPasses, FusedOnesAreConvolutionsForPrecision) {
  const Endpoint x = build.input("x", 0, {DType::Float, dims_});
  const Endpoint y =
      build("Relu", "relu", {build("Conv2D", "conv", {x, constant("w1", {kC, kC, 1, 1}, w1_)}, window(0))});
  build.outputs({build("Exp", "end", {y})});
  for (const char* mode : {"allow_mix_precision_bf16", "allow_fp32_to_bf16"}) {
    const Model after = compiled({{"ge.exec.precision_mode", mode}});
    const Node* fused = nullptr;
    for (const Node* node : after.graph->in_order())
      if (node->type() == "FusedConv2D") fused = node;
    ASSERT_NE(fused, nullptr) << mode;
    EXPECT_EQ(fused->output().desc.dtype, DType::BFloat16) << mode;
    EXPECT_EQ(after.graph->net_output()->input(0).from.node->output().desc.dtype, DType::Float) << mode;
  }
}

TEST_F(ConvolutionPasses, SumsThatComeLaterOrAreBroadcastStay) {
  const Endpoint x = build.input("x", 0, {DType::Float, dims_}),
                 plane = build.input("plane", 1, {DType::Float, {kH, kW}});
  const Endpoint w = constant("w1", {kC, kC, 1, 1}, w1_);
  // conv1 is read by conv2 and by the sum: only conv2 may take the sum.
  const Endpoint one = build("Conv2D", "conv1", {x, w}, window(0)), two = build("Conv2D", "conv2", {one, w}, window(0));
  const Endpoint three = build("Conv2D", "conv3", {build("Add", "sum", {one, two}), w}, window(0));
  build.outputs({build("Add", "raised", {three, plane})});
  EXPECT_EQ(types(compiled()), (std::vector<std::string>{"Conv2D", "FusedConv2D", "Conv2D", "Add"}));
  const Floats p = random(kH * kW, 9);
  const Image a = convolve({kN, kC, kH, kW, Doubles(x_.begin(), x_.end())}, w1_, kC, 1);
  Image sum = convolve(a, w1_, kC, 1);
  for (size_t i = 0; i < sum.values.size(); ++i) sum.values[i] += a.values[i];
  Image end = convolve(sum, w1_, kC, 1);
  for (size_t i = 0; i < end.values.size(); ++i) end.values[i] += p[i % (kH * kW)];
  expect_near(run(compiled(), {{dims_, x_}, {{kH, kW}, p}}), end.values, 2e-5);
}

// --- functions
// -------------------------------------------------------------------------------------------------------------

struct FunctionPasses : Passes {
  Endpoint x_;
  void SetUp() override {
    Passes::SetUp();
    x_ = build.input("x", 0, {DType::Float, {3, 50}});
  }
  int n_ = 0;
  Endpoint op(const char* type, const std::vector<Operand>& operands) {
    return build(type, std::string(type) + std::to_string(n_++), operands);
  }
  void expect(Endpoint end, const char* type, const std::function<double(double)>& of) {
    build.outputs({end});
    const Model model = compiled();
    EXPECT_EQ(types(model), (std::vector<std::string>{type}));
    Floats values = random(150, 5);
    for (float& v : values) v *= 4;
    Doubles want;
    for (const float v : values) want.push_back(of(v));
    expect_near(run(model, {{{3, 50}, values}}), want, 1e-6);
  }
};

double exact_gelu(double x) { return 0.5 * x * std::erfc(-x / std::sqrt(2.0)); }

TEST_F(FunctionPasses, GeluAsPyTorchExportsIt) {
  const Endpoint inner = op("Add", {op("Erf", {op("Div", {x_, number(std::sqrt(2.0))})}), number(1)});
  expect(op("Mul", {op("Mul", {x_, inner}), number(0.5)}), "GeluV2", exact_gelu);
}
TEST_F(FunctionPasses, GeluHalvedFirst) {
  const Endpoint inner = op("Add", {number(1), op("Erf", {op("Mul", {number(std::sqrt(0.5)), x_})})});
  expect(op("Mul", {op("Mul", {number(0.5), x_}), inner}), "GeluV2", exact_gelu);
}
TEST_F(FunctionPasses, GeluByTanh) {
  const Endpoint cube = op("Mul", {x_, op("Mul", {x_, x_})});
  const Endpoint inner = op("Mul", {number(std::sqrt(2 / M_PI)), op("Add", {x_, op("Mul", {number(0.044715), cube})})});
  const Endpoint end = op("Mul", {number(0.5), op("Mul", {x_, op("Add", {number(1), op("Tanh", {inner})})})});
  expect(end, "GeluV2",
         [](double x) { return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))); });
}
TEST_F(FunctionPasses, Silu) {
  expect(op("Mul", {x_, op("Sigmoid", {x_})}), "Swish", [](double x) { return x / (1 + std::exp(-x)); });
}
TEST_F(FunctionPasses, Mish) {
  expect(op("Mul", {x_, op("Tanh", {op("Softplus", {x_})})}), "Mish",
         [](double x) { return x * std::tanh(std::log1p(std::exp(x))); });
}
TEST_F(FunctionPasses, WhatIsNearlyOneStays) {
  const Endpoint inner = op("Add", {op("Erf", {op("Div", {x_, number(1.414)})}), number(1)});
  build.outputs({op("Mul", {op("Mul", {x_, inner}), number(0.5)})});
  EXPECT_EQ(types(compiled()), (std::vector<std::string>{"Div", "Erf", "Add", "Mul", "Mul"}));
}
TEST_F(FunctionPasses, WhatOthersReadStays) {
  const Endpoint gate = op("Sigmoid", {x_});
  build.outputs({op("Add", {op("Mul", {x_, gate}), op("Exp", {gate})})});
  EXPECT_EQ(types(compiled()), (std::vector<std::string>{"Sigmoid", "Mul", "Exp", "Add"}));
}
TEST_F(FunctionPasses, AConstantThatWidensTheResultStays) {
  const Endpoint wide = constant("wide", {1, 1, 1}, {1});
  build.outputs({op("Mul", {op("Mul", {x_, wide}), op("Sigmoid", {x_})})});
  const auto left = types(compiled());
  EXPECT_EQ(left.size(), 3u) << "the result has three dimensions, x has two";
}

// --- products
// ----------------------------------------------------------------------------------------------------------------

TEST_F(Passes, ProductsTakeARowAlong) {
  constexpr int64_t kB = 3, kM = 5, kK = 7, kN = 4;
  const Floats a = random(kB * kM * kK, 1), w = random(kK * kN, 2), row = random(kN, 3);
  const Endpoint x = build.input("x", 0, {DType::Float, {kB, kM, kK}});
  const Endpoint product = build("BatchMatMulV2", "product", {x, constant("w", {kK, kN}, w)});
  build.outputs({build("Add", "sum", {constant("row", {kN}, row), product})});
  EXPECT_EQ(types(compiled()), (std::vector<std::string>{"BatchMatMulV2"}));
  Doubles want;
  for (int64_t i = 0; i < kB * kM; ++i)
    for (int64_t j = 0; j < kN; ++j) {
      double sum = row[static_cast<size_t>(j)];
      for (int64_t k = 0; k < kK; ++k)
        sum += static_cast<double>(a[static_cast<size_t>(i * kK + k)]) * w[static_cast<size_t>(k * kN + j)];
      want.push_back(sum);
    }
  expect_near(run(compiled(), {{{kB, kM, kK}, a}}), want, 1e-6);
}

TEST_F(Passes, ProductsTakeARowThatIsAnInputAndNoFactorOfOne) {
  const Floats a = random(5 * 7, 1), w = random(4 * 7, 2), row = random(4, 3);
  const Endpoint x = build.input("x", 0, {DType::Float, {5, 7}}), by = build.input("w", 1, {DType::Float, {4, 7}}),
                 bias = build.input("row", 2, {DType::Float, {4}});
  const Endpoint turned = build("Transpose", "turned", {by, build.constant("order", Tensor::of(Ints{1, 0}))});
  const Endpoint product = build("MatMulV2", "product", {x, turned});
  build.outputs({build("Add", "sum", {build("Mul", "one", {product, number(1)}), bias})});
  const Model model = compiled();
  EXPECT_EQ(types(model), (std::vector<std::string>{"Transpose", "MatMulV2"}));
  Doubles want;
  for (size_t i = 0; i < 5; ++i)
    for (size_t j = 0; j < 4; ++j) {
      double sum = row[j];
      for (size_t k = 0; k < 7; ++k) sum += static_cast<double>(a[i * 7 + k]) * w[j * 7 + k];
      want.push_back(sum);
    }
  expect_near(run(model, {{{5, 7}, a}, {{4, 7}, w}, {{4}, row}}), want, 1e-6);
}

/// Products read transposed tensors where they lie; who wants them row-major gets a copy, and only then is there one.
TEST_F(Passes, TransposedOperandsOfProductsAreNotCopied) {
  for (const int64_t batch : {1, 2})
    for (const bool copied : {false, true}) {
      const int64_t heads = 3, rows = 5, columns = 6, depth = 4;
      Graph graph;
      Builder b(graph);
      auto transposed = [&](const char* name, Endpoint from, Ints order) {
        return b("Transpose", name, {from, b.constant(std::string(name) + "_order", Tensor::of(order))});
      };
      auto shaped = [&](const char* name, Endpoint from, Ints dims) {
        return b("Reshape", name, {from, b.constant(std::string(name) + "_dims", Tensor::of(dims))});
      };
      const Endpoint x = b.input("x", 0, {DType::Float, {batch, rows, heads, depth}}),
                     y = b.input("y", 1, {DType::Float, {batch, columns, heads, depth}});
      const Endpoint q = transposed("q", x, {0, 2, 1, 3});
      // of a batch of one the first two dimensions lie as one
      const Endpoint k = shaped("k3", transposed("k", y, {0, 2, 3, 1}), {batch * heads, depth, columns});
      const Endpoint product = b("BatchMatMulV2", "product", {shaped("q3", q, {batch * heads, rows, depth}), k});
      if (copied) {
        const Endpoint part =
            b("BatchMatMulV2", "part", {shaped("p3", b("Relu", "part_of_q", {q}), {batch * heads, rows, depth}), k});
        b.outputs({b("Add", "both", {product, part})});
      } else {
        b.outputs({product});
      }
      Model source;
      source.graph = copy(graph);
      const Model model = compile(source, {});
      const std::vector<Known> sizes = {{DType::Float, {batch, rows, heads, depth}},
                                        {DType::Float, {batch, columns, heads, depth}}};
      const auto program = plan(*model.graph, sizes);
      ASSERT_TRUE(program);
      int64_t copies = 0;
      for (const Step& step : program->steps) copies += !step.node || step.node->type() == "Transpose";
      EXPECT_EQ(copies, batch == 1 ? copied : 2) << batch;
      const Floats a = random(static_cast<size_t>(batch * rows * heads * depth), 1),
                   c = random(static_cast<size_t>(batch * columns * heads * depth), 2);
      Doubles want;
      for (int64_t n = 0; n < batch; ++n)
        for (int64_t h = 0; h < heads; ++h)
          for (int64_t i = 0; i < rows; ++i)
            for (int64_t j = 0; j < columns; ++j) {
              double sum = 0;
              for (int64_t d = 0; d < depth; ++d) {
                const double left = a[static_cast<size_t>(((n * rows + i) * heads + h) * depth + d)],
                             right = c[static_cast<size_t>(((n * columns + j) * heads + h) * depth + d)];
                sum += (left + (copied ? std::max(left, 0.0) : 0.0)) * right;
              }
              want.push_back(sum);
            }
      expect_near(run(model, {{*sizes[0].dims, a}, {*sizes[1].dims, c}}), want, 1e-5);
    }
}

TEST_F(Passes, TransposedProductsAreProductsTheOtherWayRound) {
  const Floats x = random(12, 1), dy = random(20, 2);
  const Endpoint a = build.input("x", 0, {DType::Float, {4, 3}}), b = build.input("dy", 1, {DType::Float, {4, 5}});
  const Endpoint order = build.constant("order", Tensor::of(Ints{1, 0}));
  const Endpoint product = build("MatMulV2", "product", {build("Transpose", "t", {a, order}), b});
  build.outputs({build("Transpose", "gradient", {product, order})});
  const Model model = compiled();
  EXPECT_EQ(types(model), (std::vector<std::string>{"Transpose", "MatMulV2"}));
  const Floats y = run(model, {{{4, 3}, x}, {{4, 5}, dy}});
  for (size_t o = 0; o < 5; ++o)
    for (size_t i = 0; i < 3; ++i) {
      double want = 0;
      for (size_t n = 0; n < 4; ++n) want += double{dy[n * 5 + o]} * double{x[n * 3 + i]};
      EXPECT_NEAR(y[o * 3 + i], want, 1e-5);
    }
}

TEST_F(Passes, TransposedProductsThatProductsReadStay) {
  const Endpoint a = build.input("x", 0, {DType::Float, {4, 3}}), b = build.input("y", 1, {DType::Float, {3, 5}});
  const Endpoint order = build.constant("order", Tensor::of(Ints{1, 0}));
  const Endpoint transposed = build("Transpose", "t", {build("MatMulV2", "product", {a, b}), order});
  build.outputs({build("MatMulV2", "second", {transposed, a})});
  const auto made = compiled();
  EXPECT_EQ(types(made), (std::vector<std::string>{"MatMulV2", "Transpose", "MatMulV2"}));
}

TEST_F(Passes, ProductsTakeReluAlong) {
  for (const bool constant : {false, true})
    for (const bool biased : {false, true})
      for (const bool batches : {false, true})
        for (const int64_t rows : {1, 5, 70}) {
          const int64_t n = batches ? 3 : 1, depth = 40, columns = 33;
          Graph graph;
          Builder b(graph);
          const auto sizes = [&](int64_t r, int64_t c) { return batches ? Dims{n, r, c} : Dims{r, c}; };
          const Floats weight = random(static_cast<size_t>(n * depth * columns), 2),
                       bias = random(static_cast<size_t>(columns), 3),
                       given = random(static_cast<size_t>(n * rows * depth), 1);
          const Endpoint x = b.input("x", 0, {DType::Float, sizes(rows, depth)});
          const Endpoint w = constant ? b.constant("w", {DType::Float, sizes(depth, columns), Tensor::of(weight).data})
                                      : b.input("w", 1, {DType::Float, sizes(depth, columns)});
          Endpoint y = b(batches ? "BatchMatMulV2" : "MatMulV2", "product", {x, w});
          if (biased) y = b("Add", "biased", {y, b.constant("bias", {DType::Float, {columns}, Tensor::of(bias).data})});
          b.outputs({b("Relu", "relu", {y})});
          Model source;
          source.graph = copy(graph);
          const Model model = compile(source, {});
          const char* const type = batches ? "BatchMatMulV2" : "MatMulV2";
          if (constant) {
            EXPECT_EQ(types(model), (std::vector<std::string>{"FusedMatMul"}));
            EXPECT_TRUE(model.graph->find("product"));
          } else if (!biased) {
            EXPECT_EQ(types(model), (std::vector<std::string>{type, "Relu"}));
          }
          std::vector<std::pair<Dims, Floats>> inputs = {{sizes(rows, depth), given}};
          if (!constant) inputs.emplace_back(sizes(depth, columns), weight);
          Doubles want;
          for (int64_t i = 0; i < n; ++i)
            for (int64_t r = 0; r < rows; ++r)
              for (int64_t c = 0; c < columns; ++c) {
                double sum = biased ? bias[static_cast<size_t>(c)] : 0;
                for (int64_t k = 0; k < depth; ++k)
                  sum += double{given[static_cast<size_t>((i * rows + r) * depth + k)]} *
                         double{weight[static_cast<size_t>((i * depth + k) * columns + c)]};
                want.push_back(std::max(sum, 0.0));
              }
          expect_near(run(model, inputs), want, 1e-5);
        }
}

TEST_F(Passes, ProductsThatOthersReadLeaveRelu) {
  const Endpoint x = build.input("x", 0, {DType::Float, {4, 4}}), y = build.input("y", 1, {DType::Float, {4, 4}});
  const Endpoint product = build("MatMulV2", "product", {x, y});
  build.outputs({build("Relu", "relu", {product}), product});
  EXPECT_EQ(types(compiled()), (std::vector<std::string>{"MatMulV2", "Relu"}));
}

TEST_F(Passes, WeightsBelowTheNormalRangeBecomeZero) {
  const Endpoint x = build.input("x", 0, {DType::Float, {1, 2}});
  const Endpoint w = constant("w", {2, 3}, {1, 1e-41f, -1e-40f, 2, 1.2e-38f, 3});
  build.outputs({build("Add", "sum", {build("MatMulV2", "product", {x, w}), constant("row", {3}, {0, 1e-39f, 1})})});
  EXPECT_EQ(run(compiled(), {{{1, 2}, {1e30f, 1}}}), (Floats{1e30f + 2, 1.2e-38f, 4}));
}

TEST_F(Passes, ProductsLeaveOtherSums) {
  const Endpoint x = build.input("x", 0, {DType::Float, {5, 7}});
  const Endpoint product = build("MatMulV2", "product", {x, constant("w", {7, 4}, random(28, 2))});
  build.outputs({build("Add", "sum", {product, constant("all", {5, 4}, random(20, 3))})});
  EXPECT_EQ(types(compiled()), (std::vector<std::string>{"MatMulV2", "Add"}));
}

}  // namespace
}  // namespace updraft::graph
