// What is computed twice, or there and back: equal nodes, casts and transposes behind each other.
#include "base/half.h"
#include "passes_fixture.h"

namespace updraft::graph {
namespace {

using Names = std::vector<std::string>;

struct EqualNodes : Passes {};

TEST_F(EqualNodes, AreOne) {
  const Endpoint x = build.input("x", 0, {DType::Float, {3, 5}});
  const Endpoint a = build("Exp", "a", {transposed("turned", x, {1, 0})}),
                 b = build("Exp", "b", {transposed("also", x, {1, 0})});
  build.outputs({build("Sub", "none", {build("Add", "twice", {a, b}), a})});
  const Model model = compiled();
  EXPECT_EQ(types(model), (Names{"Transpose", "Exp", "Add", "Sub"}));
  const Floats given = random(15, 1), got = run(model, {{{3, 5}, given}});
  for (size_t i = 0; i < 3; ++i)
    for (size_t j = 0; j < 5; ++j) EXPECT_NEAR(got[j * 3 + i], std::exp(given[i * 5 + j]), 1e-5);
}

TEST_F(EqualNodes, OfOtherAttributesStay) {
  const Endpoint x = build.input("x", 0, {DType::Float, {3, 5}});
  const Endpoint a = build("SoftmaxV2", "a", {x}, {{"axes", Ints{0}}}),
                 b = build("SoftmaxV2", "b", {x}, {{"axes", Ints{1}}});
  build.outputs({build("Add", "sum", {a, b})});
  EXPECT_EQ(types(compiled()), (Names{"SoftmaxV2", "SoftmaxV2", "Add"}));
}

TEST_F(EqualNodes, OfOtherConstantsStay) {
  const Endpoint x = build.input("x", 0, {DType::Float, {3}});
  build.outputs({build("Add", "sum", {build("Mul", "a", {x, number(2)}), build("Mul", "b", {x, number(3)})})});
  EXPECT_EQ(run(compiled(), {{{3}, {1, 2, 3}}}), (Floats{5, 10, 15}));
}

TEST_F(EqualNodes, ThatDrawNumbersStay) {
  const Endpoint shape = build.constant("shape", Tensor::of(Ints{64}));
  const auto draw = [&](const char* name) {
    return build("RandomUniform", name, {shape},
                 {{"dtype", static_cast<int64_t>(DType::Float)}, {"seed", int64_t{0}}, {"seed2", int64_t{0}}});
  };
  build.outputs({build("Sub", "difference", {draw("a"), draw("b")})});
  const Model model = compiled();
  EXPECT_EQ(types(model), (Names{"RandomUniform", "RandomUniform", "Sub"}));
  const Floats got = run(model, {});
  EXPECT_GT(*std::ranges::max_element(got), 0.1f);
}

/// Both sums are written in place afterwards: one for both would have both updates.
TEST_F(EqualNodes, ThatAreWrittenStay) {
  const Endpoint x = build.input("x", 0, {DType::Float, {2}});
  const Endpoint a = build("Add", "a", {x, number(1)}), b = build("Add", "b", {x, number(1)});
  const Endpoint one = build("AssignAdd", "one", {a, constant("u", {2}, {10, 20})}),
                 two = build("AssignAdd", "two", {b, constant("v", {2}, {100, 200})});
  build.outputs({build("Add", "both", {one, two})});
  EXPECT_EQ(run(compiled(), {{{2}, {1, 2}}}), (Floats{114, 226}));
}

TEST_F(EqualNodes, CastsOverAWiderTypeAreOneCast) {
  const Endpoint x = build.input("x", 0, {DType::Float, {4}});
  const Endpoint half = cast("half", x, DType::Float16);
  build.outputs({cast("last", cast("half_again", cast("wide", half, DType::Float), DType::BFloat16), DType::Float)});
  const Model model = compiled();
  EXPECT_EQ(types(model), (Names{"Cast", "Cast", "Cast"}));
  const Floats given = {1.0009766f, 0.3333f, -70000.0f, 3e-8f}, got = run(model, {{{4}, given}});
  for (size_t i = 0; i < 4; ++i)
    EXPECT_EQ(got[i], bfloat16_to_float(float_to_bfloat16(half_to_float(float_to_half(given[i]))))) << i;
}

TEST_F(EqualNodes, CastsThereAndBackAreNone) {
  const Endpoint x = build.input("x", 0, {DType::Int32, {4}});
  build.outputs({cast("back", cast("wide", x, DType::Int64), DType::Int32)});
  EXPECT_EQ(types(compiled()), Names{});
}

TEST_F(EqualNodes, CastsThatRoundStay) {
  const Endpoint x = build.input("x", 0, {DType::Float, {2}});
  build.outputs({cast("back", cast("half", x, DType::Float16), DType::Float)});
  const Model model = compiled();
  EXPECT_EQ(types(model), (Names{"Cast", "Cast"}));
  EXPECT_EQ(run(model, {{{2}, {1.0001f, 70000.0f}}}), (Floats{1.0f, INFINITY}));
}

TEST_F(EqualNodes, SumsOfHalvesAreTakenOfHalves) {
  const int64_t rows = 300, columns = 7;
  const Endpoint x = build.input("x", 0, {DType::Float, {rows, columns}});
  const Endpoint wide = cast("wide", cast("half", x, DType::BFloat16), DType::Float);
  const Endpoint sum =
      build("ReduceSum", "sum", {wide, build.constant("axes", Tensor::of(Ints{0}))}, {{"keep_dims", true}});
  const Endpoint flat = build("Reshape", "flat", {sum, build.constant("dims", Tensor::of(Ints{columns}))});
  build.outputs({cast("last", cast("rounded", flat, DType::BFloat16), DType::Float)});
  const Model model = compiled();
  EXPECT_EQ(types(model), (Names{"Cast", "ReduceSum", "Reshape", "Cast"}));
  Floats given = random(static_cast<size_t>(rows * columns), 3);
  for (float& v : given) v = bfloat16_to_float(float_to_bfloat16(v + 1));
  const Floats got = run(model, {{{rows, columns}, given}});
  for (size_t j = 0; j < static_cast<size_t>(columns); ++j) {
    double want = 0;
    for (size_t i = 0; i < static_cast<size_t>(rows); ++i) want += given[i * static_cast<size_t>(columns) + j];
    EXPECT_NEAR(got[j], want, std::abs(want) / 256);  // half a step of bf16
  }
}

TEST_F(EqualNodes, SumsOfHalvesThatSomebodyWantsInFloatStay) {
  const Endpoint x = build.input("x", 0, {DType::BFloat16, {4, 3}});
  const Endpoint sum =
      build("ReduceSum", "sum", {cast("wide", x, DType::Float), build.constant("axes", Tensor::of(Ints{0}))});
  build.outputs({cast("rounded", sum, DType::BFloat16), sum});
  EXPECT_EQ(types(compiled()), (Names{"Cast", "ReduceSum", "Cast"}));
}

TEST_F(EqualNodes, TransposesThereAndBackAreNone) {
  const Endpoint x = build.input("x", 0, {DType::Float, {2, 3, 4}});
  build.outputs({build("Neg", "minus", {transposed("back", transposed("there", x, {2, 0, 1}), {1, 2, 0})})});
  EXPECT_EQ(types(compiled()), Names{"Neg"});
}

TEST_F(EqualNodes, TransposesBehindEachOtherAreOne) {
  const Endpoint x = build.input("x", 0, {DType::Float, {2, 3, 4}});
  build.outputs({build("Neg", "minus", {transposed("second", transposed("first", x, {1, 2, 0}), {0, 2, 1})})});
  const Model model = compiled();
  EXPECT_EQ(types(model), (Names{"Transpose", "Neg"}));
  const Floats given = random(24, 5), got = run(model, {{{2, 3, 4}, given}});
  for (size_t i = 0; i < 2; ++i)
    for (size_t j = 0; j < 3; ++j)
      for (size_t k = 0; k < 4; ++k) EXPECT_EQ(got[(j * 2 + i) * 4 + k], -given[(i * 3 + j) * 4 + k]);
}

TEST_F(EqualNodes, TransposesThatOthersReadStay) {
  const Endpoint x = build.input("x", 0, {DType::Float, {2, 3, 4}});
  const Endpoint first = transposed("first", x, {1, 2, 0});
  build.outputs({transposed("second", first, {0, 2, 1}), first});
  EXPECT_EQ(types(compiled()), (Names{"Transpose", "Transpose"}));
}

}  // namespace
}  // namespace updraft::graph
