// The pass for attention: what exporters write out becomes one operator that gives what the nodes gave.
#include <functional>
#include <limits>

#include "graph/planner/program.h"
#include "passes_fixture.h"

namespace updraft::graph {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr int64_t kBatch = 2, kHeads = 3, kQueries = 5, kKeys = 7, kWidth = 4;

/// What becomes of a score: (batch, head, query, key, score).
using Change = std::function<double(size_t, size_t, size_t, size_t, double)>;

/// softmax(change(q @ k^T)) @ v of [batch, length, heads, width], in that layout; heads of keys may be fewer.
Doubles attention(const Floats& q, const Floats& k, const Floats& v, size_t key_heads, const Change& change,
                  bool nan_as_zero = false) {
  constexpr size_t b = kBatch, n = kHeads, s = kQueries, t = kKeys, d = kWidth;
  Doubles out(b * s * n * d);
  const auto at = [=](size_t batch, size_t position, size_t length, size_t head, size_t heads, size_t e) {
    return ((batch * length + position) * heads + head) * d + e;
  };
  for (size_t x = 0; x < b; ++x)
    for (size_t h = 0; h < n; ++h)
      for (size_t i = 0; i < s; ++i) {
        const size_t key_head = h / (n / key_heads);
        Doubles score(t);
        for (size_t j = 0; j < t; ++j) {
          for (size_t e = 0; e < d; ++e)
            score[j] += static_cast<double>(q[at(x, i, s, h, n, e)]) * k[at(x, j, t, key_head, key_heads, e)];
          score[j] = change(x, h, i, j, score[j]);
        }
        const double most = *std::max_element(score.begin(), score.end());
        double sum = 0;
        for (double& p : score) sum += p = std::exp(p - most);
        for (size_t e = 0; e < d; ++e) {
          double y = 0;
          for (size_t j = 0; j < t; ++j) y += score[j] / sum * v[at(x, j, t, key_head, key_heads, e)];
          out[at(x, i, s, h, n, e)] = nan_as_zero && std::isnan(sum) ? 0 : y;
        }
      }
  return out;
}

struct AttentionPass : Passes {
  const Floats q_ = random(kBatch * kQueries * kHeads * kWidth, 1), k_ = random(kBatch * kKeys * kHeads * kWidth, 2),
               v_ = random(kBatch * kKeys * kHeads * kWidth, 3);
  const Dims q_dims_ = {kBatch, kQueries, kHeads* kWidth}, k_dims_ = {kBatch, kKeys, kHeads* kWidth};
  std::unique_ptr<Graph> graph;
  std::unique_ptr<Builder> make;
  int n_ = 0;

  void SetUp() override {
    Passes::SetUp();
    restart();
  }
  void restart() {
    graph = std::make_unique<Graph>();
    make = std::make_unique<Builder>(*graph);
  }
  Model compiled(const OptionTexts& options = {}) {
    Model model;
    model.graph = copy(*graph);
    return compile(model, options);
  }
  Endpoint constant(const char* what, Dims dims, const Floats& values) {
    return make->constant(what, {DType::Float, std::move(dims), Tensor::of(values).data});
  }
  Endpoint number(double value) { return make->constant(name("number"), Tensor::of(static_cast<float>(value))); }
  std::string name(const char* type) { return std::string(type) + std::to_string(n_++); }
  Endpoint op(const char* type, const std::vector<Operand>& operands, Attributes attributes = {}) {
    return (*make)(type, name(type), operands, std::move(attributes));
  }
  Endpoint ints(const Ints& values) { return make->constant(name("ints"), Tensor::of(values)); }
  Endpoint transposed(Endpoint from, const Ints& order) { return op("Transpose", {from, ints(order)}); }
  Endpoint shaped(Endpoint from, const Ints& dims) { return op("Reshape", {from, ints(dims)}); }
  Endpoint input(const char* what, int64_t index, Dims dims, bool any_batch = false) {
    if (any_batch) dims[0] = -1;
    return make->input(what, index, {DType::Float, dims});
  }
  /// [batch, length, heads * width] as [batch, heads, length, width], or with the last two exchanged.
  Endpoint heads(Endpoint from, int64_t count = kHeads, bool turned = false) {
    const Endpoint apart = shaped(from, {0, 0, count, kWidth});
    return transposed(apart, turned ? Ints{0, 2, 3, 1} : Ints{0, 2, 1, 3});
  }
  Endpoint together(Endpoint from) { return shaped(transposed(from, {0, 2, 1, 3}), {0, 0, kHeads * kWidth}); }
  Endpoint softmax(Endpoint scores) { return op("SoftmaxV2", {scores}, {{"axes", Ints{-1}}}); }
  Endpoint product(Endpoint a, Endpoint b) { return op("BatchMatMulV2", {a, b}); }

  static int64_t count(const Model& model, const char* type) {
    const auto all = types(model);
    return std::count(all.begin(), all.end(), type);
  }
  static const Node* fused(const Model& model) {
    for (const Node* node : model.graph->in_order())
      if (node->type() == "FusedAttention") return node;
    return nullptr;
  }
  /// One operator, and nothing that is moved beside it.
  void expect_alone(const Model& model, const std::vector<Dims>& sizes) {
    EXPECT_EQ(count(model, "FusedAttention"), 1);
    for (const char* type : {"SoftmaxV2", "BatchMatMulV2", "BatchMatMul", "Mul", "Div", "Add", "SelectV2"})
      EXPECT_EQ(count(model, type), 0) << type;
    std::vector<Known> known;
    for (const Dims& dims : sizes) known.emplace_back(DType::Float, dims);
    const auto program = plan(*model.graph, known);
    ASSERT_TRUE(program);
    EXPECT_EQ(program->steps.size(), 1u);
  }
  std::vector<std::pair<Dims, Floats>> feeds() const { return {{q_dims_, q_}, {k_dims_, k_}, {k_dims_, v_}}; }
  std::vector<Dims> sizes() const { return {q_dims_, k_dims_, k_dims_}; }
};

TEST_F(AttentionPass, AsBertHasIt) {
  const Floats mask = {0, 0, -1e4f, 0, 0, 0, 0, 0, -1e4f, 0, 0, 0, -1e4f, -1e4f};
  for (const bool any_batch : {false, true}) {
    restart();
    const Endpoint q = input("q", 0, q_dims_, any_batch), k = input("k", 1, k_dims_, any_batch),
                   v = input("v", 2, k_dims_, any_batch), m = input("mask", 3, {kBatch, 1, 1, kKeys}, any_batch);
    const Endpoint scores = op("Div", {product(heads(q), heads(k, kHeads, true)), number(2)});
    make->outputs({together(product(softmax(op("Add", {scores, m})), heads(v)))});
    const Model model = compiled();
    if (!any_batch) expect_alone(model, {q_dims_, k_dims_, k_dims_, {kBatch, 1, 1, kKeys}});
    const Node* node = fused(model);
    ASSERT_TRUE(node);
    EXPECT_EQ(find_or<std::string>(node->attributes, "PassName", ""), "ZAttentionScoreFusionPass");
    const auto origins = find_or(node->attributes, "OriginOp", std::vector<std::string>());
    EXPECT_EQ(origins.size(), 6u);  // product, division, sum, softmax, product, transposition
    EXPECT_EQ(find_or<float>(node->attributes, "scale", 0), 0.5F);
    auto all = feeds();
    all.emplace_back(Dims{kBatch, 1, 1, kKeys}, mask);
    expect_near(run(model, all),
                attention(q_, k_, v_, kHeads,
                          [&](size_t b, size_t, size_t, size_t j, double s) { return s / 2 + mask[b * kKeys + j]; }),
                1e-6);
  }
}

TEST_F(AttentionPass, FactorsOnBothOperandsAndAKeyThatIsTurnedApart) {
  const Endpoint q = heads(input("q", 0, q_dims_)), k = heads(input("k", 1, k_dims_)),
                 v = heads(input("v", 2, k_dims_));
  const Endpoint turned = transposed(op("Mul", {k, number(0.25)}), {0, 1, 3, 2});
  make->outputs(
      {together(product(softmax(product(op("Mul", {number(0.5), q}), op("Div", {turned, number(0.2)}))), v))});
  const Model model = compiled();
  expect_alone(model, sizes());
  expect_near(run(model, feeds()),
              attention(q_, k_, v_, kHeads, [](size_t, size_t, size_t, size_t, double s) { return s * 0.625; }), 1e-6);
}

/// A factor that PyTorch's exporter computes from the size of the query.
TEST_F(AttentionPass, AFactorThatIsComputedOfSizes) {
  const Endpoint q = heads(input("q", 0, q_dims_, true)), k = heads(input("k", 1, k_dims_, true), kHeads, true),
                 v = heads(input("v", 2, k_dims_, true));
  const Endpoint size = op("GatherV2", {op("Shape", {q}), ints({3}), ints({0})});
  const Endpoint factor = op("Sqrt", {op("Cast", {size}, {{"dst_type", static_cast<int64_t>(DType::Float)}})});
  make->outputs({together(product(softmax(op("Div", {product(q, k), factor})), v))});
  const Model model = compiled();
  ASSERT_TRUE(fused(model));
  EXPECT_EQ(find_or<float>(fused(model)->attributes, "scale", 0), 0.5F);
  expect_near(run(model, feeds()),
              attention(q_, k_, v_, kHeads, [](size_t, size_t, size_t, size_t, double s) { return s / 2; }), 1e-6);
}

TEST_F(AttentionPass, HiddenByAConditionWithRowsThatSeeNothing) {
  Floats shown(kQueries * kKeys);
  for (size_t i = 0; i < kQueries; ++i)
    for (size_t j = 0; j < kKeys; ++j) shown[i * kKeys + j] = i > 0 && j <= i + 2 ? 1 : 0;  // query 0 sees no key
  for (const double number_of_hidden : {-kInfinity, -1e9})
    for (const bool keeps : {true, false}) {
      restart();
      const Endpoint q = heads(input("q", 0, q_dims_)), k = heads(input("k", 1, k_dims_), kHeads, true),
                     v = heads(input("v", 2, k_dims_));
      const Endpoint condition = op(keeps ? "Greater" : "Less", {input("shown", 3, {kQueries, kKeys}), number(0.5)});
      const Endpoint scores = product(q, k), hidden = number(number_of_hidden);
      const Endpoint masked =
          keeps ? op("SelectV2", {condition, scores, hidden}) : op("SelectV2", {condition, hidden, scores});
      make->outputs({together(product(softmax(masked), v))});
      const Model model = compiled();
      EXPECT_EQ(count(model, "FusedAttention"), 1);
      EXPECT_EQ(count(model, "SelectV2"), 0);
      auto all = feeds();
      all.emplace_back(Dims{kQueries, kKeys}, shown);
      expect_near(run(model, all),
                  attention(q_, k_, v_, kHeads,
                            [&](size_t, size_t, size_t i, size_t j, double s) {
                              return shown[i * kKeys + j] > 0.5F ? s : number_of_hidden;
                            }),
                  1e-6);
    }
}

/// GPT-2: what is not seen becomes the smallest number, and then the mask of the batch is added.
TEST_F(AttentionPass, HiddenByAConditionAndThenMasked) {
  constexpr double kLowest = -3.4028234663852886e38;
  Floats shown(kQueries * kKeys), mask(kBatch * kKeys);
  for (size_t i = 0; i < kQueries; ++i)
    for (size_t j = 0; j < kKeys; ++j) shown[i * kKeys + j] = j <= i + 2 ? 1 : 0;
  for (size_t j = 0; j < 3; ++j) mask[kKeys + j] = static_cast<float>(kLowest);  // what query 0 sees of the second one
  const Endpoint q = heads(input("q", 0, q_dims_)), k = heads(input("k", 1, k_dims_), kHeads, true),
                 v = heads(input("v", 2, k_dims_));
  const Endpoint condition = op("Greater", {constant("shown", {1, 1, kQueries, kKeys}, shown), number(0.5)});
  const Endpoint hidden = op("SelectV2", {condition, product(q, k), number(kLowest)});
  const Endpoint masked = op("Add", {hidden, input("mask", 3, {kBatch, 1, 1, kKeys})});
  make->outputs({together(product(softmax(masked), v))});
  const Model model = compiled();
  expect_alone(model, {q_dims_, k_dims_, k_dims_, {kBatch, 1, 1, kKeys}});
  auto all = feeds();
  all.emplace_back(Dims{kBatch, 1, 1, kKeys}, mask);
  expect_near(run(model, all),
              attention(q_, k_, v_, kHeads,
                        [&](size_t b, size_t, size_t i, size_t j, double s) {
                          // in float, as the nodes compute it: what is hidden twice becomes minus infinity
                          const auto score = static_cast<float>(shown[i * kKeys + j] > 0.5F ? s : kLowest);
                          return static_cast<double>(score + mask[b * kKeys + j]);
                        }),
              1e-6);
}

TEST_F(AttentionPass, RowsThatAreNoNumbersAsZeros) {
  Floats mask(kQueries * kKeys);
  std::fill_n(mask.begin() + kKeys, kKeys, -std::numeric_limits<float>::infinity());
  mask[3] = -std::numeric_limits<float>::infinity();
  const Endpoint q = heads(input("q", 0, q_dims_)), k = heads(input("k", 1, k_dims_), kHeads, true),
                 v = heads(input("v", 2, k_dims_));
  const Endpoint weights = softmax(op("Add", {product(q, k), input("mask", 3, {kQueries, kKeys})}));
  const Endpoint numbers = op("SelectV2", {op("IsNan", {weights}), constant("zero", {1}, {0}), weights});
  make->outputs({together(product(numbers, v))});
  const Model model = compiled();
  expect_alone(model, {q_dims_, k_dims_, k_dims_, {kQueries, kKeys}});
  auto all = feeds();
  all.emplace_back(Dims{kQueries, kKeys}, mask);
  expect_near(run(model, all),
              attention(
                  q_, k_, v_, kHeads,
                  [&](size_t, size_t, size_t i, size_t j, double s) { return s + mask[i * kKeys + j]; }, true),
              1e-6);
}

/// LLaMA: each head of keys and values serves several of the queries.
TEST_F(AttentionPass, HeadsThatAreRepeated) {
  for (const bool any_batch : {false, true}) {
    restart();
    const Dims few = {kBatch, kKeys, kWidth};
    const Floats k1(k_.begin(), k_.begin() + kBatch * kKeys * kWidth),
        v1(v_.begin(), v_.begin() + kBatch * kKeys * kWidth);
    const auto repeated = [&](Endpoint from) {
      const Endpoint one = op("Unsqueeze", {heads(from, 1)}, {{"axes", Ints{2}}});
      const Endpoint wide = op("Expand", {one, ints({1, 1, kHeads, 1, 1})});
      return shaped(wide, {0, kHeads, kKeys, kWidth});
    };
    const Endpoint q = heads(input("q", 0, q_dims_, any_batch)), k = repeated(input("k", 1, few, any_batch)),
                   v = repeated(input("v", 2, few, any_batch));
    make->outputs({together(product(softmax(product(q, transposed(k, {0, 1, 3, 2}))), v))});
    const Model model = compiled();
    EXPECT_EQ(count(model, "FusedAttention"), 1);
    EXPECT_EQ(count(model, "Expand"), 0);
    if (!any_batch) expect_alone(model, {q_dims_, few, few});
    expect_near(run(model, {{q_dims_, q_}, {few, k1}, {few, v1}}),
                attention(q_, k1, v1, 1, [](size_t, size_t, size_t, size_t, double s) { return s; }), 1e-6);
  }
}

/// TorchAir: batches and heads are one dimension in the products.
TEST_F(AttentionPass, ProductsOfThreeDimensions) {
  const Endpoint mask = constant("mask", {1, 1, 1, kKeys}, {0, -1, 2, 0, 0.5, 0, -3});
  const auto flat = [&](Endpoint from, int64_t rows, int64_t columns) {
    const Endpoint same = op("BroadcastTo", {from, ints({kBatch, kHeads, rows, columns})});
    return shaped(same, {kBatch * kHeads, rows, columns});
  };
  const Endpoint q = flat(heads(input("q", 0, q_dims_)), kQueries, kWidth),
                 k = flat(transposed(heads(input("k", 1, k_dims_)), {0, 1, 3, 2}), kWidth, kKeys),
                 v = flat(heads(input("v", 2, k_dims_)), kKeys, kWidth);
  const Endpoint scores = shaped(op("BatchMatMul", {q, k}), {kBatch, kHeads, kQueries, kKeys});
  const Endpoint weights = softmax(op("Add", {op("Muls", {scores}, {{"value", 0.5F}}), mask}));
  const Endpoint y = op("BatchMatMul", {flat(weights, kQueries, kKeys), v});
  make->outputs({together(shaped(y, {kBatch, kHeads, kQueries, kWidth}))});
  const Model model = compiled();
  expect_alone(model, sizes());
  const Doubles added = {0, -1, 2, 0, 0.5, 0, -3};
  expect_near(
      run(model, feeds()),
      attention(q_, k_, v_, kHeads, [&](size_t, size_t, size_t, size_t j, double s) { return s / 2 + added[j]; }),
      1e-6);
}

/// torch.nn.MultiheadAttention: [length, batch * heads, width], batches of heads first in the products.
TEST_F(AttentionPass, HeadsAmongTheBatches) {
  constexpr int64_t kAll = kBatch * kHeads;
  const auto flat = [&](const char* what, int64_t index, int64_t length, const Ints& order) {
    return transposed(input(what, index, {length, kAll, kWidth}), order);
  };
  const Endpoint q = flat("q", 0, kQueries, {1, 0, 2}), k = flat("k", 1, kKeys, {1, 2, 0}),
                 v = flat("v", 2, kKeys, {1, 0, 2});
  const Endpoint masked = op("Add", {product(q, k), input("mask", 3, {kAll, 1, kKeys})});
  make->outputs({shaped(transposed(product(softmax(masked), v), {1, 0, 2}), {kQueries * kBatch, kHeads * kWidth})});
  const Model model = compiled();
  const std::vector<Dims> all = {
      {kQueries, kAll, kWidth}, {kKeys, kAll, kWidth}, {kKeys, kAll, kWidth}, {kAll, 1, kKeys}};
  expect_alone(model, all);
  // The same numbers as [batch, length, heads, width].
  const auto by_length = [](const Floats& from, int64_t length) {
    Floats to(from.size());
    for (int64_t b = 0; b < kBatch; ++b)
      for (int64_t i = 0; i < length; ++i)
        for (int64_t e = 0; e < kHeads * kWidth; ++e)
          to[static_cast<size_t>((i * kBatch + b) * kHeads * kWidth + e)] =
              from[static_cast<size_t>((b * length + i) * kHeads * kWidth + e)];
    return to;
  };
  const Floats mask = random(kAll * kKeys, 4);
  const Doubles want = attention(q_, k_, v_, kHeads, [&](size_t b, size_t h, size_t, size_t j, double s) {
    return s + mask[(b * kHeads + h) * kKeys + j];
  });
  const Floats want_by_length = by_length(Floats(want.begin(), want.end()), kQueries);
  expect_near(run(model, {{all[0], by_length(q_, kQueries)},
                          {all[1], by_length(k_, kKeys)},
                          {all[2], by_length(v_, kKeys)},
                          {all[3], mask}}),
              Doubles(want_by_length.begin(), want_by_length.end()), 1e-6);
}

TEST_F(AttentionPass, HalfPrecision) {
  for (const DType type : {DType::Float16, DType::BFloat16}) {
    restart();
    const auto as = [&](Endpoint from, DType to) {
      return op("Cast", {from}, {{"dst_type", static_cast<int64_t>(to)}});
    };
    const Endpoint q = heads(as(input("q", 0, q_dims_), type)),
                   k = heads(as(input("k", 1, k_dims_), type), kHeads, true),
                   v = heads(as(input("v", 2, k_dims_), type));
    // the softmax in float, as transformers have it
    const Endpoint weights = as(softmax(as(product(q, k), DType::Float)), type);
    make->outputs({as(together(product(weights, v)), DType::Float)});
    const Model model = compiled();
    EXPECT_EQ(count(model, "FusedAttention"), 1);
    EXPECT_EQ(count(model, "Cast"), 4);
    expect_near(run(model, feeds()),
                attention(q_, k_, v_, kHeads, [](size_t, size_t, size_t, size_t, double s) { return s; }),
                type == DType::Float16 ? 4e-3 : 4e-2);
  }
}

TEST_F(AttentionPass, KeysThatAreNone) {
  const Dims none = {kBatch, 0, kHeads * kWidth};
  const Endpoint q = heads(input("q", 0, q_dims_)), k = input("k", 1, none), v = input("v", 2, none);
  const auto parts = [&](Endpoint from, const Ints& order) {
    return transposed(shaped(from, {kBatch, 0, kHeads, kWidth}), order);
  };
  make->outputs({together(product(softmax(product(q, parts(k, {0, 2, 3, 1}))), parts(v, {0, 2, 1, 3})))});
  const Model model = compiled();
  EXPECT_EQ(count(model, "FusedAttention"), 1);
  expect_near(run(model, {{q_dims_, q_}, {none, {}}, {none, {}}}), Doubles(q_.size()), 0);
}

TEST_F(AttentionPass, ItsSwitch) {
  const Endpoint q = heads(input("q", 0, q_dims_)), k = heads(input("k", 1, k_dims_), kHeads, true),
                 v = heads(input("v", 2, k_dims_));
  make->outputs({together(product(softmax(product(q, k)), v))});
  EXPECT_EQ(count(compiled(), "FusedAttention"), 1);
  const Model off = compiled({{"optimization_switch", "ZAttentionScoreFusionPass:off"}});
  EXPECT_EQ(count(off, "FusedAttention"), 0);
  expect_near(run(off, feeds()),
              attention(q_, k_, v_, kHeads, [](size_t, size_t, size_t, size_t, double s) { return s; }), 1e-6);
}

// --- what stays ------------------------------------------------------------------------------------------------------

struct AttentionThatStays : AttentionPass {
  Endpoint q, k, v;
  void SetUp() override {
    AttentionPass::SetUp();
    q = heads(input("q", 0, q_dims_));
    k = heads(input("k", 1, k_dims_), kHeads, true);
    v = heads(input("v", 2, k_dims_));
  }
  void expect_left() {
    const Model model = compiled();
    EXPECT_EQ(count(model, "FusedAttention"), 0);
    EXPECT_EQ(count(model, "BatchMatMulV2"), 2);
    EXPECT_EQ(count(model, "SoftmaxV2"), 1);
  }
};

TEST_F(AttentionThatStays, WeightsThatTheUserWants) {
  const Endpoint weights = softmax(product(q, k));
  make->outputs({together(product(weights, v)), weights});
  expect_left();
}
TEST_F(AttentionThatStays, ScoresThatSomebodyElseReads) {
  const Endpoint scores = product(q, k);
  make->outputs({together(product(softmax(scores), v)), op("ReduceSum", {scores, ints({3})})});
  expect_left();
}
TEST_F(AttentionThatStays, SoftmaxAlongAnotherDimension) {
  make->outputs({together(product(op("SoftmaxV2", {product(q, k)}, {{"axes", Ints{2}}}), v))});
  expect_left();
}
TEST_F(AttentionThatStays, MasksThatAreScaledWithTheScores) {
  const Endpoint mask = input("mask", 3, {kBatch, 1, 1, kKeys});
  make->outputs({together(product(softmax(op("Mul", {op("Add", {product(q, k), mask}), number(0.5)})), v))});
  expect_left();
}
TEST_F(AttentionThatStays, MasksThatMakeMoreOfTheScores) {
  const Endpoint mask = input("mask", 3, {2, 1, 1, 1, kKeys});
  const Endpoint y = product(softmax(op("Add", {product(q, k), mask})), v);
  make->outputs({shaped(y, {2, kBatch, kHeads, kQueries * kWidth})});
  expect_left();
}
TEST_F(AttentionThatStays, ASoftmaxThatIsTheResult) {
  make->outputs({softmax(product(q, k))});
  EXPECT_EQ(count(compiled(), "FusedAttention"), 0);
}
TEST_F(AttentionThatStays, FactorsOfEachHead) {
  const Endpoint factor = constant("factor", {kHeads, 1, 1}, {1, 2, 3});
  make->outputs({together(product(softmax(op("Mul", {product(q, k), factor})), v))});
  expect_left();
}

}  // namespace
}  // namespace updraft::graph
