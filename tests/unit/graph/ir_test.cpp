// Graphs: what connects nodes stays the same on both sides.
#include "graph/ir/graph.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace updraft::graph {
namespace {

Node& unary(Graph& g, const char* type, const char* name, Endpoint x) {
  Node& node = g.add(type, name);
  g.add_input(node, "x", x);
  g.add_output(node, "y", {DType::Float, {2, 3}});
  return node;
}

std::string names(const std::vector<Node*>& nodes) {
  std::string all;
  for (const Node* n : nodes) all += n->name() + " ";
  return all;
}

TEST(Graphs, ReplaceMovesReadersAndRemoveForgetsThem) {
  Graph g;
  Node& x = g.add_data("x", 0, {DType::Float, {2, 3}});
  Node& a = unary(g, "Relu", "a", x.out());
  Node& b = unary(g, "Abs", "b", a.out());
  Node& c = unary(g, "Neg", "c", a.out());
  ASSERT_EQ(a.output().uses.size(), 2u);
  EXPECT_THROW(g.remove(a), Error);
  g.replace(a.out(), x.out());
  EXPECT_TRUE(a.output().uses.empty());
  EXPECT_EQ(b.input(0).from, x.out());
  EXPECT_EQ(c.input(0).from, x.out());
  g.remove(a);
  EXPECT_EQ(x.output().uses, (std::vector<Use>{{&b, 0}, {&c, 0}}));
  EXPECT_EQ(g.find("a"), nullptr);
  EXPECT_EQ(g.size(), 3u);
}

TEST(Graphs, ReplaceLeavesTheExceptedReader) {
  Graph g;
  Node& x = g.add_data("x", 0, {DType::Float, {2, 3}});
  Node& a = unary(g, "Relu", "a", x.out());
  Node& b = unary(g, "Abs", "b", x.out());
  g.replace(x.out(), a.out(), &a);
  EXPECT_EQ(a.input(0).from, x.out());
  EXPECT_EQ(b.input(0).from, a.out());
}

TEST(Graphs, RemovingAnInputMovesTheOnesBehindIt) {
  Graph g;
  Node& x = g.add_data("x", 0, {DType::Float, {1}});
  Node& y = g.add_data("y", 1, {DType::Float, {1}});
  Node& sum = g.add("AddN", "sum");
  for (Node* n : {&x, &y, &x}) g.add_input(sum, "x", n->out());
  g.remove_input(sum, 0);
  ASSERT_EQ(sum.inputs().size(), 2u);
  EXPECT_EQ(y.output().uses, (std::vector<Use>{{&sum, 0}}));
  EXPECT_EQ(x.output().uses, (std::vector<Use>{{&sum, 1}}));
}

TEST(Graphs, NamesThatAreTakenGetNumbers) {
  Graph g;
  EXPECT_EQ(g.add("Relu", "r").name(), "r");
  EXPECT_EQ(g.add("Relu", "r_1").name(), "r_1");
  EXPECT_EQ(g.add("Relu", "r").name(), "r_2");
  EXPECT_EQ(g.add("Relu", "r").name(), "r_3");
}

TEST(Graphs, OrderFollowsTensorsAndControlEdges) {
  Graph g;
  Node& late = g.add("Neg", "late");
  Node& x = g.add_data("x", 0, {DType::Float, {1}});
  Node& first = unary(g, "Relu", "first", x.out());
  Node& other = unary(g, "Abs", "other", x.out());
  g.add_input(late, "x", first.out());
  g.add_control(other, first);
  EXPECT_EQ(names(g.in_order()), "x other first late ");
  g.remove_control(other, first);
  EXPECT_EQ(names(g.in_order()), "x first late other ");
}

TEST(Graphs, ACycleIsRefusedByName) {
  Graph g;
  Node& a = g.add("Relu", "a");
  g.add_output(a, "y");
  Node& b = unary(g, "Abs", "b", a.out());
  g.add_input(a, "x", b.out());
  try {
    g.in_order();
    FAIL() << "no error";
  } catch (const Error& e) { EXPECT_NE(e.text().find("cycle through a (Relu)"), std::string::npos) << e.text(); }
}

TEST(Graphs, CopiesAreSeparateAndShareConstants) {
  Graph g("net");
  Node& x = g.add_data("x", 0, {DType::Float, {2}});
  Node& c = g.add_constant("c", Tensor::of(std::vector<float>{1, 2}));
  Node& sum = g.add("Add", "sum");
  g.add_input(sum, "x1", x.out());
  g.add_input(sum, "x2", c.out());
  g.add_output(sum, "y", {DType::Float, {2}});
  sum.attributes["k"] = int64_t{3};
  g.add_control(x, sum);
  const auto twin = copy(g);
  g.remove(sum);
  const Node* copied = twin->find("sum");
  ASSERT_NE(copied, nullptr);
  EXPECT_EQ(copied->input(1).from.node, twin->find("c"));
  EXPECT_EQ(find_or<int64_t>(copied->attributes, "k", 0), 3);
  EXPECT_EQ(copied->control_inputs().size(), 1u);
  EXPECT_EQ(twin->find("c")->constant()->data.data(), c.constant()->data.data());
}

}  // namespace
}  // namespace updraft::graph
