// Normalisations of rows that are written out become one operator, however they are spelt.
#include "passes_fixture.h"

namespace updraft::graph {
namespace {

struct NormPass : Passes {
  static constexpr int64_t kRows = 6, kWidth = 40;
  static constexpr double kEpsilon = 1e-5;
  const Floats x_ = random(kRows * kWidth, 1), gamma_ = random(kWidth, 2), beta_ = random(kWidth, 3);
  Endpoint x, gamma, beta;
  int n_ = 0;

  void SetUp() override {
    Passes::SetUp();
    x = build.input("x", 0, {DType::Float, {2, 3, kWidth}});
    gamma = constant("gamma", {kWidth}, gamma_);
    beta = constant("beta", {kWidth}, beta_);
  }
  Endpoint op(const char* type, const std::vector<Operand>& operands, Attributes attributes = {}) {
    return build(type, std::string(type) + std::to_string(n_++), operands, std::move(attributes));
  }
  Endpoint mean(Endpoint of, bool keep = true) {
    return op("ReduceMean", {of, build.constant("axes" + std::to_string(n_++), Tensor::of(Ints{-1}))},
              {{"keep_dims", keep}});
  }
  Endpoint root(Endpoint variance, double epsilon = kEpsilon) {
    return op("Sqrt", {op("Add", {variance, number(epsilon)})});
  }
  /// Rows less their mean, or not, over the root of their mean square; small ones, where epsilon decides, too.
  void expect(Endpoint end, const char* type, bool centred, bool scaled, bool raised) {
    build.outputs({end});
    const Model model = compiled();
    EXPECT_EQ(types(model), (std::vector<std::string>{type}));
    Floats values = x_;
    for (size_t i = 0; i < kWidth; ++i) values[i] *= 1e-3F;
    Doubles want;
    for (size_t r = 0; r < kRows; ++r) {
      const float* row = values.data() + r * kWidth;
      double average = 0, square = 0;
      for (size_t i = 0; centred && i < kWidth; ++i) average += row[i] / static_cast<double>(kWidth);
      for (size_t i = 0; i < kWidth; ++i) square += (row[i] - average) * (row[i] - average) / kWidth;
      for (size_t i = 0; i < kWidth; ++i)
        want.push_back((row[i] - average) / std::sqrt(square + kEpsilon) * (scaled ? gamma_[i] : 1.0F) +
                       (raised ? beta_[i] : 0.0F));
    }
    expect_near(run(model, {{{2, 3, kWidth}, values}}), want, 2e-6);
  }
};

TEST_F(NormPass, AsPyTorchExportsIt) {
  const Endpoint from = op("Sub", {x, mean(x)});
  const Endpoint plain = op("Div", {from, root(mean(op("Pow", {from, number(2)})))});
  expect(op("Add", {op("Mul", {plain, gamma}), beta}), "LayerNormV3", true, true, true);
}
TEST_F(NormPass, WithTwoDifferencesAndOtherOrders) {
  const Endpoint m = mean(x), square = op("Sub", {x, m});
  const Endpoint plain = op("RealDiv", {op("Sub", {x, m}), root(mean(op("Mul", {square, square})))});
  expect(op("Add", {beta, op("Mul", {gamma, plain})}), "LayerNormV3", true, true, true);
}
/// x * (gamma / root) + (beta - mean * (gamma / root)): batch_normalization of TensorFlow over the last dimension.
TEST_F(NormPass, AsTensorFlowHasIt) {
  const Endpoint m = mean(x);
  const Endpoint inverse = op("Rsqrt", {op("Add", {mean(op("SquaredDifference", {x, m})), number(kEpsilon)})});
  const Endpoint factor = op("Mul", {inverse, gamma});
  const Endpoint shift = op("Sub", {beta, op("Mul", {m, factor})});
  expect(op("Add", {op("Mul", {x, factor}), shift}), "LayerNormV3", true, true, true);
}
TEST_F(NormPass, WithoutScaleAndBias) {
  const Endpoint from = op("Sub", {x, mean(x)});
  expect(op("Div", {from, root(mean(op("Square", {from})))}), "LayerNormV3", true, false, false);
}
TEST_F(NormPass, WithScaleAlone) {
  const Endpoint from = op("Sub", {x, mean(x)});
  expect(op("Mul", {op("Div", {from, root(mean(op("Square", {from})))}), gamma}), "LayerNormV3", true, true, false);
}
TEST_F(NormPass, ByTheRootOfTheMeanSquare) {
  const Endpoint inverse = op("Reciprocal", {root(mean(op("Pow", {x, number(2)})))});
  expect(op("Mul", {gamma, op("Mul", {x, inverse})}), "RmsNorm", false, true, false);
}
TEST_F(NormPass, ByTheRootWithCastsAndAWeightThatIsAnInput) {
  const auto as = [&](Endpoint from, DType type) {
    return op("Cast", {from}, {{"dst_type", static_cast<int64_t>(type)}});
  };
  const Endpoint weight = build.input("weight", 1, {DType::Float, {kWidth}});
  const Endpoint half = as(x, DType::Float16), wide = as(half, DType::Float);
  const Endpoint inverse = op("Rsqrt", {op("Adds",
                                           {
                                               mean(op("Mul", {wide, wide})),
                                           },
                                           {{"value", 1e-5F}})});
  const Endpoint y = op("Mul", {as(weight, DType::Float16), as(op("Mul", {wide, inverse}), DType::Float16)});
  build.outputs({as(y, DType::Float)});
  const Model model = compiled();
  EXPECT_EQ(types(model), (std::vector<std::string>{"Cast", "Cast", "RmsNorm", "Cast"}));
  Doubles want;
  for (size_t r = 0; r < kRows; ++r) {
    double square = 0;
    for (size_t i = 0; i < kWidth; ++i) square += std::pow(static_cast<double>(x_[r * kWidth + i]), 2) / kWidth;
    for (size_t i = 0; i < kWidth; ++i) want.push_back(x_[r * kWidth + i] / std::sqrt(square + kEpsilon) * gamma_[i]);
  }
  expect_near(run(model, {{{2, 3, kWidth}, x_}, {{kWidth}, gamma_}}), want, 4e-3);
}

TEST_F(NormPass, SaysWhatItStandsFor) {
  const Endpoint from = op("Sub", {x, mean(x)});
  build.outputs({op("Div", {from, root(mean(op("Square", {from})))})});
  const Model model = compiled();
  for (const Node* node : model.graph->in_order()) {
    if (node->type() != "LayerNormV3") continue;
    EXPECT_EQ(find_or<std::string>(node->attributes, "PassName", ""), "LayerNormONNXFusionPass");
    EXPECT_EQ(find_or(node->attributes, "OriginOp", std::vector<std::string>()).size(), 7u);
  }
  EXPECT_EQ(types(compiled({{"optimization_switch", "LayerNormONNXFusionPass:off;RmsNormFusionPass:off"}})).size(), 7u);
}

// --- what stays ------------------------------------------------------------------------------------------------------

TEST_F(NormPass, EpsilonBesideTheRootStays) {
  const Endpoint from = op("Sub", {x, mean(x)});
  const Endpoint deviation = op("Add", {op("Sqrt", {mean(op("Square", {from}))}), number(kEpsilon)});
  build.outputs({op("Div", {from, deviation})});
  EXPECT_EQ(types(compiled()).size(), 7u);
}
TEST_F(NormPass, TheVarianceOfASampleStays) {
  const Endpoint from = op("Sub", {x, mean(x)});
  const Endpoint variance = op("Mul", {mean(op("Square", {from})), number(kWidth / (kWidth - 1.0))});
  build.outputs({op("Div", {from, root(variance)})});
  EXPECT_EQ(types(compiled()).size(), 8u);
}
TEST_F(NormPass, WhatOthersReadStays) {
  const Endpoint m = mean(x), from = op("Sub", {x, m});
  build.outputs({op("Add", {op("Div", {from, root(mean(op("Square", {from})))}), m})});
  EXPECT_EQ(types(compiled()), (std::vector<std::string>{"ReduceMean", "Sub", "RmsNorm", "Add"}));
}
TEST_F(NormPass, AWeightForEachRowStays) {
  const Endpoint from = op("Sub", {x, mean(x)});
  const Endpoint rows = constant("rows", {2, 3, kWidth}, random(6 * kWidth, 9));
  build.outputs({op("Mul", {op("Div", {from, root(mean(op("Square", {from})))}), rows})});
  EXPECT_EQ(types(compiled()), (std::vector<std::string>{"LayerNormV3", "Mul"}));
}

}  // namespace
}  // namespace updraft::graph
