// Casts that go along with the step beside them.
#include <cstring>

#include "base/half.h"
#include "graph/planner/program.h"
#include "passes_fixture.h"

namespace updraft::graph {
namespace {

using Names = std::vector<std::string>;

struct CastPasses : Passes {};

Names steps_of(const Model& model, const std::vector<Known>& sizes) {
  const auto program = plan(*model.graph, sizes);
  EXPECT_TRUE(program);
  Names steps;
  for (const Step& step : program->steps) steps.push_back(step.node ? step.node->type() : "copy");
  return steps;
}

TEST_F(CastPasses, OneStepCastsAndTransposes) {
  for (const bool before : {false, true}) {  // the cast comes first, or the transpose does
    Graph graph;
    Builder b(graph);
    const Dims dims = {3, 70, 33};
    const Ints order = {2, 0, 1};
    const Endpoint x = b.input("x", 0, {DType::Float, dims});
    const auto as_int = [&](Endpoint from) {
      return b("Cast", "whole", {from}, {{"dst_type", static_cast<int64_t>(DType::Int32)}});
    };
    const auto turned = [&](Endpoint from) {
      return b("Transpose", "turned", {from, b.constant("order", Tensor::of(order))});
    };
    b.outputs({before ? turned(as_int(x)) : as_int(turned(x))});
    Model source;
    source.graph = copy(graph);
    const Model model = compile(source, {});
    EXPECT_EQ(types(model), (Names{"Transpose", "Cast"}));
    EXPECT_EQ(steps_of(model, {{DType::Float, dims}}), Names{"Cast"});
    Floats given = random(3 * 70 * 33, 1);
    for (float& v : given) v *= 100;
    const Floats bits = run(model, {{dims, given}});
    std::vector<int32_t> got(bits.size()), want;
    std::memcpy(got.data(), bits.data(), bits.size() * 4);
    for (size_t k = 0; k < 33; ++k)
      for (size_t i = 0; i < 3; ++i)
        for (size_t j = 0; j < 70; ++j) want.push_back(static_cast<int32_t>(given[(i * 70 + j) * 33 + k]));
    EXPECT_EQ(got, want);
  }
}

TEST_F(CastPasses, CastsThatOthersReadStayBeforeTransposes) {
  const Endpoint x = build.input("x", 0, {DType::Float, {4, 6}});
  const Endpoint whole = cast("whole", x, DType::Int32);
  build.outputs({transposed("turned", whole, {1, 0}), whole});
  EXPECT_EQ(types(compiled()), (Names{"Cast", "Transpose"}));
}

TEST_F(CastPasses, TransposesForProductsStayBehindCasts) {
  const Endpoint x = build.input("x", 0, {DType::Float, {4, 6}}), w = build.input("w", 1, {DType::Float16, {4, 5}});
  build.outputs({build("MatMulV2", "product", {transposed("turned", cast("half", x, DType::Float16), {1, 0}), w})});
  const Model model = compiled();
  EXPECT_EQ(types(model), (Names{"Cast", "Transpose", "MatMulV2"}));
  EXPECT_EQ(steps_of(model, {{DType::Float, {4, 6}}, {DType::Float16, {4, 5}}}), (Names{"Cast", "MatMulV2"}));
}

/// A transposed tensor that a cast and somebody else want is made once, row-major.
TEST_F(CastPasses, TransposedTensorsOfSeveralReadersAreMade) {
  const Endpoint x = build.input("x", 0, {DType::Float, {4, 6}});
  const Endpoint turned = transposed("turned", x, {1, 0});
  build.outputs({cast("whole", turned, DType::Int32), build("Relu", "relu", {turned})});
  EXPECT_EQ(steps_of(compiled(), {{DType::Float, {4, 6}}}), (Names{"Transpose", "Cast", "Relu"}));
}

/// Without the pass a result is off by half a step of bf16, 2^-9 of it.
TEST_F(CastPasses, ProductsOfBf16GiveFloat) {
  for (const bool batches : {false, true})
    for (const bool turned : {false, true}) {
      Graph graph;
      Builder b(graph);
      const int64_t n = batches ? 2 : 1, rows = 5, depth = 64, columns = 7;
      const Dims left = turned ? Dims{n, depth, rows} : Dims{n, rows, depth}, right = {n, depth, columns};
      const auto sizes = [&](const Dims& d) { return batches ? d : Dims(d.begin() + 1, d.end()); };
      const Endpoint x = b.input("x", 0, {DType::Float, sizes(left)}),
                     y = b.input("y", 1, {DType::Float, sizes(right)});
      const auto to = [&](const char* name, Endpoint from, DType type) {
        return b("Cast", name, {from}, {{"dst_type", static_cast<int64_t>(type)}});
      };
      const Endpoint product = b(batches ? "BatchMatMulV2" : "MatMulV2", "product",
                                 {to("x16", x, DType::BFloat16), to("y16", y, DType::BFloat16)},
                                 {{batches ? "adj_x1" : "transpose_x1", turned}});
      b.outputs({to("wide", product, DType::Float)});
      Model source;
      source.graph = copy(graph);
      const Model model = compile(source, {});
      EXPECT_EQ(types(model), (Names{"Cast", "Cast", "FusedMatMul"}));
      Floats a = random(static_cast<size_t>(count_of(left)), 1), c = random(static_cast<size_t>(count_of(right)), 2);
      for (Floats* v : {&a, &c})
        for (float& f : *v) f = bfloat16_to_float(float_to_bfloat16(f));
      Doubles want;
      for (int64_t i = 0; i < n; ++i)
        for (int64_t r = 0; r < rows; ++r)
          for (int64_t j = 0; j < columns; ++j) {
            double sum = 0;
            for (int64_t k = 0; k < depth; ++k)
              sum += double{a[static_cast<size_t>((i * rows * depth) + (turned ? k * rows + r : r * depth + k))]} *
                     double{c[static_cast<size_t>((i * depth + k) * columns + j)]};
            want.push_back(sum);
          }
      expect_near(run(model, {{sizes(left), a}, {sizes(right), c}}), want, 2e-6);
    }
}

TEST_F(CastPasses, OtherProductsAreRounded) {
  const Endpoint x = build.input("x", 0, {DType::Float16, {4, 6}}), w = build.input("w", 1, {DType::Float16, {6, 5}});
  const Endpoint half = build("MatMulV2", "half", {x, w});  // infinity of fp16 is what a loss scaler looks for
  const Endpoint b = build.input("b", 2, {DType::BFloat16, {4, 6}}), c = build.input("c", 3, {DType::BFloat16, {6, 5}});
  const Endpoint kept = build("MatMulV2", "kept", {b, c});
  build.outputs({cast("wide", half, DType::Float), cast("also", kept, DType::Float), kept});
  const Names made = types(compiled());
  EXPECT_EQ(std::ranges::count(made, "MatMulV2"), 2);
  EXPECT_EQ(std::ranges::count(made, "Cast"), 2);
}

}  // namespace
}  // namespace updraft::graph
