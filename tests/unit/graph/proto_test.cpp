// Graphs as messages and back, and messages that are none.
#include <gtest/gtest.h>

#include <protozero/pbf_writer.hpp>

#include "base/error.h"
#include "graph/builder.h"
#include "graph/compile/compile.h"
#include "graph/proto/fields.h"
#include "graph/proto/model_proto.h"
#include "om/om_file.h"

namespace updraft::graph {
namespace {

using Ints = std::vector<int64_t>;

Model sample() {
  Model model;
  model.name = "model";
  model.graph = std::make_shared<Graph>("net");
  Builder build(*model.graph);
  const Endpoint x = build.input("x", 0, {DType::Float16, {-1, 4}});
  const Endpoint c = build.constant("c", {DType::Float16, {4}, Bytes::copy_of("\0<\0<\0<\0<", 8)});
  Node& sum = build.node("Add", "sum", {x, c});
  Attributes& a = sum.attributes;
  a["int"] = int64_t{-3};
  a["float"] = 0.5f;
  a["bool"] = true;
  a["text"] = "words";
  a["type"] = DType::BFloat16;
  a["ints"] = Ints{1, -2, 1LL << 40};
  a["floats"] = std::vector<float>{1.5f, -2};
  a["texts"] = std::vector<std::string>{"a", ""};
  a["bools"] = Attribute(Attribute::Value(std::vector<bool>{true, false}));
  a["types"] = Attribute(Attribute::Value(std::vector<DType>{DType::Float, DType::Int64}));
  a["lists"] = Attribute::IntegerLists{{1, 2}, {}, {3}};
  a["tensor"] = Tensor::of(Ints{7, 8});
  a["function"] = Attribute(Attribute::Value(NamedAttributes{"f", {{"inner", int64_t{4}}}}));
  a["empty"] = Attribute(Ints{});
  a["nothing"] = Attribute();
  Node& relu = build.node("Relu", "relu", {sum});
  model.graph->add_control(*c.node, relu);
  build.outputs({relu.out()});
  model.graph->attributes["output_names"] = std::vector<std::string>{"y"};
  model.attributes["soc_version"] = "Ascend910B2";
  auto body = std::make_shared<Graph>("body");
  body->add_data("z", 0, {DType::Float, {}});
  model.subgraphs["body"] = body;
  return model;
}

void same(const Model& a, const Model& b) {
  ASSERT_EQ(a.graph->size(), b.graph->size());
  EXPECT_EQ(a.graph->name(), b.graph->name());
  for (const auto& node : a.graph->nodes()) {
    const Node* twin = b.graph->find(node->name());
    ASSERT_NE(twin, nullptr) << node->name();
    EXPECT_EQ(twin->type(), node->type());
    ASSERT_EQ(twin->inputs().size(), node->inputs().size()) << node->name();
    for (size_t i = 0; i < node->inputs().size(); ++i) {
      const Input &x = node->inputs()[i], &y = twin->inputs()[i];
      EXPECT_EQ(x.name, y.name);
      ASSERT_EQ(x.from.node == nullptr, y.from.node == nullptr);
      if (x.from) { EXPECT_EQ(x.from.node->name(), y.from.node->name()); }
    }
    ASSERT_EQ(twin->outputs().size(), node->outputs().size());
    for (size_t i = 0; i < node->outputs().size(); ++i) {
      EXPECT_EQ(twin->outputs()[i].name, node->outputs()[i].name);
      EXPECT_EQ(twin->outputs()[i].desc.dtype, node->outputs()[i].desc.dtype);
      EXPECT_EQ(twin->outputs()[i].desc.dims, node->outputs()[i].desc.dims);
    }
    EXPECT_EQ(twin->control_inputs().size(), node->control_inputs().size());
    ASSERT_EQ(twin->attributes.size(), node->attributes.size()) << node->name();
    for (const auto& [name, value] : node->attributes) {
      const auto found = twin->attributes.find(name);
      ASSERT_NE(found, twin->attributes.end()) << name;
      EXPECT_STREQ(found->second.kind(), value.kind()) << name;
    }
  }
  EXPECT_EQ(a.subgraphs.size(), b.subgraphs.size());
}

TEST(ModelMessages, ComeBackAsTheyWere) {
  const Model model = sample();
  const std::string message = write_model(model);
  const Model read = read_model(Bytes::copy_of(message.data(), message.size()));
  same(model, read);
  const Attributes& a = read.graph->find("sum")->attributes;
  EXPECT_EQ(find_or<int64_t>(a, "int", 0), -3);
  EXPECT_EQ(find_or<float>(a, "float", 0), 0.5f);
  EXPECT_EQ(find_or<std::string>(a, "text", ""), "words");
  EXPECT_EQ(find_or(a, "type", DType::Undefined), DType::BFloat16);
  EXPECT_EQ(find_or(a, "ints", Ints{}), (Ints{1, -2, 1LL << 40}));
  EXPECT_EQ(find_or(a, "bools", std::vector<bool>{}), (std::vector<bool>{true, false}));
  EXPECT_EQ(find_or(a, "lists", Attribute::IntegerLists{}), (Attribute::IntegerLists{{1, 2}, {}, {3}}));
  EXPECT_EQ(find<Tensor>(a, "tensor")->integers(), (Ints{7, 8}));
  EXPECT_EQ(find_or<int64_t>(find<NamedAttributes>(a, "function")->values, "inner", 0), 4);
  EXPECT_EQ(write_model(read), message);
}

TEST(ModelMessages, OfflineModelsKeepConstantsBeside) {
  const Model model = sample();
  const Bytes file = om::write(model);
  EXPECT_TRUE(om::looks_like_om(file.span()));
  const Model read = om::read(file);
  same(model, read);
  const Tensor* c = read.graph->find("c")->constant();
  EXPECT_EQ(c->reals(), (std::vector<double>{1, 1, 1, 1}));
  EXPECT_GE(c->data.data(), file.data());  // it lies in the file
  EXPECT_LT(c->data.data(), file.data() + file.size());
  EXPECT_EQ(find_or<std::string>(read.attributes, "soc_version", ""), "Ascend910B2");
}

TEST(ModelMessages, TypesHaveOneNumberEach) {
  for (int number = 1; number <= 40; ++number) EXPECT_EQ(proto_type(type_of_proto(number)), number);
  EXPECT_EQ(proto_type(DType::Int32), 7);
  EXPECT_EQ(proto_type(DType::Int64), 8);
  EXPECT_EQ(proto_type(DType::Double), 12);
  EXPECT_EQ(type_of_proto(99), DType::Undefined);
}

std::string refusal(const std::string& message) {
  try {
    read_model(Bytes::copy_of(message.data(), message.size()));
  } catch (const Error& e) { return e.text(); }
  return "no error";
}

TEST(ModelMessages, TensorsOfMoreBytesThanThereAreAreRefused) {
  Model model;
  model.graph = std::make_shared<Graph>("net");
  model.graph->add_data("x", 0, {DType::Float, {int64_t{1} << 62}});
  EXPECT_THROW(write_model(model), Error);
}

TEST(ModelMessages, FieldsOfAnotherKindAreRefused) {
  auto with = [](auto&& fill) {
    std::string message;
    protozero::pbf_writer model(message);
    fill(model);
    return refusal(message);
  };
  EXPECT_EQ(with([](auto& m) { m.add_int64(field::kModelGraph, 3); }),
            fmt::format("field {} of the message has wire type 0, want 2", static_cast<int>(field::kModelGraph)));
  EXPECT_EQ(with([](auto& m) { m.add_fixed32(field::kModelName, 3); }),
            fmt::format("field {} of the message has wire type 5, want 2", static_cast<int>(field::kModelName)));
}

TEST(ModelMessages, WhatIsNoModelIsRefused) {
  EXPECT_NE(refusal("").find("has no graph"), std::string::npos);
  EXPECT_NE(refusal("\x3a\xff\xff").find("is no model of the Ascend IR"), std::string::npos);
  std::string message;
  {
    protozero::pbf_writer model(message);
    protozero::pbf_writer graph(model, field::kModelGraph);
    graph.add_string(field::kGraphName, "net");
    protozero::pbf_writer op(graph, field::kGraphOp);
    op.add_string(field::kOpName, "relu");
    op.add_string(field::kOpType, "Relu");
    op.add_string(field::kOpInput, "x:0");
  }
  EXPECT_NE(refusal(message).find("relu (Relu) of graph net reads x:0, which is not there"), std::string::npos);
  std::string nested;  // a graph in an attribute of a graph, and so on
  for (int i = 0; i < 2000; ++i) {
    std::string outer;
    {
      protozero::pbf_writer graph(outer);
      protozero::pbf_writer entry(graph, field::kGraphAttr);
      protozero::pbf_writer value(entry, field::kValue);
      value.add_message(field::kAttrGraph, nested);
    }
    nested = std::move(outer);
  }
  std::string model;
  protozero::pbf_writer(model).add_message(field::kModelGraph, nested);
  EXPECT_NE(refusal(model).find("nested more than 64 deep"), std::string::npos);
}

TEST(ModelMessages, AGraphThatGivesNothingIsNotCompiled) {
  const auto refusal = [](const Model& model) {
    try {
      compile(read_model(Bytes::copy_of(write_model(model).data(), write_model(model).size())), {});
    } catch (const Error& e) { return std::string(e.what()); }
    return std::string();
  };
  Model model;
  model.graph = std::make_shared<Graph>("net");
  const Endpoint x = model.graph->add_data("x", 0, {DType::Float, {2}}).out();
  EXPECT_EQ(refusal(model), "graph net has no outputs: give it a node NetOutput");
  Node& end = model.graph->make_net_output();
  EXPECT_EQ(refusal(model), "");
  model.graph->add_input(end, "x0", x);
  model.graph->add_input(end, "x1", {});
  try {
    compile(model, {});
    FAIL() << "an output that is not connected";
  } catch (const Error& e) { EXPECT_STREQ(e.what(), "output 1 of graph net is not connected"); }
}

TEST(ModelMessages, EveryCutOfAModelIsRefusedOrAModel) {
  const std::string message = write_model(sample());
  for (size_t size = 0; size < message.size(); ++size) {
    try {
      read_model(Bytes::copy_of(message.data(), size));
    } catch (const Error&) {}
  }
}

}  // namespace
}  // namespace updraft::graph
