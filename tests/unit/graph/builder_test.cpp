// Shapes and values while a graph is made, also where sizes are unknown.
#include "graph/builder.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"

namespace updraft::graph {
namespace {

using Ints = std::vector<int64_t>;

struct Builds : testing::Test {
  Graph g;
  Builder build{g};
  Dims dims(Endpoint e) { return build.desc(e).dims; }
  std::string refusal(auto&& f) {
    try {
      f();
    } catch (const Error& e) { return e.text(); }
    return "no error";
  }
};

TEST_F(Builds, KnownSizesGiveKnownShapes) {
  const Endpoint x = build.input("x", 0, {DType::Float16, {4, 1, 6}});
  const Endpoint y = build.input("y", 1, {DType::Float16, {5, 1}});
  const Endpoint z = build("Add", "z", {x, y});
  EXPECT_EQ(dims(z), (Dims{4, 5, 6}));
  EXPECT_EQ(build.desc(z).dtype, DType::Float16);
}

TEST_F(Builds, UnknownSizesStayUnknownWhereTheyMatter) {
  const Endpoint x = build.input("x", 0, {DType::Float, {-1, 3, -1, 32}}, {"n", "h"});
  const Endpoint w = build.constant("w", {DType::Float, {8, 3, 3, 3}, Bytes::copy_of(std::string(864, 0).data(), 864)});
  const Endpoint y = build("Conv2D", "conv", {x, w},
                           {{"strides", Ints{1, 1, 2, 2}}, {"pads", Ints{1, 1, 1, 1}}, {"data_format", "NCHW"}});
  EXPECT_EQ(dims(y), (Dims{-1, 8, -1, 16}));
  EXPECT_EQ(dims(build("ReduceMean", "mean", {y, build.constant("axes", Tensor::of(Ints{2, 3}))})), (Dims{-1, 8}));
}

TEST_F(Builds, ComputedShapesPassThroughArithmetic) {
  const Endpoint x = build.input("x", 0, {DType::Float, {-1, -1, 64}}, {"batch", "length"});
  const Endpoint shape = build("Shape", "shape", {x}, {{"dtype", DType::Int64}});
  EXPECT_EQ(build.value(shape), nullptr);
  const Endpoint batch =
      build("StridedSliceV2", "batch",
            {shape, build.constant("b", Tensor::of(Ints{0})), build.constant("e", Tensor::of(Ints{1}))});
  const Endpoint rest = build.constant("rest", Tensor::of(Ints{-1, 4, 16}));
  const Endpoint target = build("ConcatV2", "target",
                                {std::vector{batch, rest}, build.constant("axis", Tensor::of(int64_t{0}))}, {{"N", 2}});
  const Endpoint y = build("Reshape", "y", {x, target});
  EXPECT_EQ(dims(y), (Dims{-1, -1, 4, 16}));
  // What does not depend on the sizes has a value.
  const Endpoint last =
      build("StridedSliceV2", "last",
            {shape, build.constant("b2", Tensor::of(Ints{2})), build.constant("e2", Tensor::of(Ints{3}))});
  ASSERT_NE(build.value(last), nullptr);
  EXPECT_EQ(build.value(last)->integers(), (Ints{64}));
}

TEST_F(Builds, SizesThatValuesDecideAreUnknown) {
  const Endpoint x = build.input("x", 0, {DType::Float, {4, 6}});
  const Endpoint shape = build.input("shape", 1, {DType::Int64, {2}});
  const Endpoint y = build("Reshape", "y", {x, shape});
  EXPECT_FALSE(build.desc(y).rank_known());
  const std::string text = refusal([&] { build.rank(y); });
  EXPECT_NE(text.find("y has a number of dimensions"), std::string::npos) << text;
}

TEST_F(Builds, RefusalsNameTheNode) {
  const Endpoint x = build.input("x", 0, {DType::Float, {4, 6}});
  EXPECT_EQ(refusal([&] { build("NoSuchType", "n", {x}); }).find("n (NoSuchType): the virtual NPU has no such"), 0u);
  const std::string missing = refusal([&] { build("Add", "sum", {x}); });
  EXPECT_NE(missing.find("sum (Add): input x2 is missing"), std::string::npos) << missing;
  const size_t before = g.size();
  const std::string shapes = refusal([&] { build("Add", "sum", {x, build.input("z", 1, {DType::Float, {5, 6}})}); });
  EXPECT_EQ(shapes.find("sum (Add): "), 0u) << shapes;
  EXPECT_EQ(g.size(), before + 1);  // z stays, sum does not
  const std::string kind = refusal([&] { build("Softmax", "s", {x}); });
  EXPECT_NE(kind.find("no such operator"), std::string::npos);
  EXPECT_NE(refusal([&] {
              build("SoftmaxV2", "s", {x}, {{"axes", "text"}});
            }).find("attribute axes is a text"),
            std::string::npos);
}

TEST_F(Builds, ListsWhoseNamesEndWithNumbersAreToldApart) {
  std::vector<Endpoint> a, b;
  for (int i = 0; i < 12; ++i) {
    a.push_back(build.input("a" + std::to_string(i), i, {DType::Float, {i + 1}}));
    b.push_back(build.input("b" + std::to_string(i), 12 + i, {DType::Float, {i + 1}}));
  }
  Node& product = build.node("ForeachMulList", "product", {a, b}, {}, 12);
  EXPECT_EQ(product.input(13).name, "x21");
  for (int i = 0; i < 12; ++i) EXPECT_EQ(dims(product.out(i)), Dims{i + 1});
}

TEST_F(Builds, ValuesOfSmallConstantsAreComputed) {
  const Endpoint a = build.constant("a", Tensor::of(Ints{1, 2, 3})),
                 b = build.constant("b", Tensor::of(Ints{10, 20, 30}));
  const Endpoint c = build("Mul", "c", {build("Add", "sum", {a, b}), a});
  ASSERT_NE(build.value(c), nullptr);
  EXPECT_EQ(build.value(c)->integers(), (Ints{11, 44, 99}));
}

TEST(GraphTensor, NumbersThatAreNoIntegersKeepToTheEnds) {
  const float values[] = {NAN, INFINITY, -1e30F, -2.5F};
  const Tensor t{DType::Float, {4}, Bytes::copy_of(values, sizeof values)};
  EXPECT_EQ(t.integers(), (Ints{0, INT64_MAX, INT64_MIN, -2}));
}

}  // namespace
}  // namespace updraft::graph
