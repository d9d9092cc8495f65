// ONNX models as graphs: names, shapes, values, functions, branches, and what is refused.
#include "frontends/onnx/import.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "graph/compile/compile.h"
#include "graph/shape/known.h"
#include "onnx_message.h"

namespace updraft::onnx {
namespace {

using namespace onnx_test;
using graph::Dims;
using Floats = std::vector<float>;
using Ints = std::vector<int64_t>;

std::string refusal(auto&& f) {
  try {
    f();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), code::kAclnnParamInvalid);
    return e.text();
  }
  return "no error";
}

/// The value of the graph's output when its inputs have these.
graph::Tensor evaluated(const graph::Model& model, const std::vector<graph::Tensor>& inputs, int output = 0) {
  graph::World world;
  size_t k = 0;
  for (graph::Node* data : model.graph->inputs()) world.feed(*data, graph::Known(inputs.at(k++)));
  for (graph::Node* node : model.graph->in_order())
    if (node->type() != "Data" && node->type() != "NetOutput") world.infer(*node);
  return world.at(model.graph->net_output()->input(output).from).value.value();
}

std::string types(const graph::Model& model) {
  std::string all;
  for (const graph::Node* node : model.graph->in_order())
    if (node->type() != "Const") all += node->type() + " ";
  return all;
}

TEST(OnnxImport, NodesAndOutputsKeepTheirNames) {
  const auto m = import(model({{node("Add", {"x", "w"}, {"sum"}, {}, "adder"), node("Relu", {"sum"}, {"y"})},
                               {tensor_info("x", kFloat, {"n", "2"})},
                               {tensor_info("y", kFloat, {"n", "2"})},
                               {tensor("w", kFloat, {2}, Floats{1, -5})}}));
  EXPECT_EQ(types(m), "Data Add Relu NetOutput ");
  ASSERT_NE(m.graph->find("adder"), nullptr);
  ASSERT_NE(m.graph->find("y"), nullptr);
  EXPECT_EQ(m.graph->find("y")->output().desc.dims, (Dims{-1, 2}));
  EXPECT_EQ(*graph::find<graph::Attribute::Texts>(m.graph->attributes, "output_names"), graph::Attribute::Texts{"y"});
  EXPECT_EQ(evaluated(m, {{DType::Float, {1, 2}, graph::Bytes::copy_of(Floats{3, 4}.data(), 8)}}).reals(),
            (std::vector<double>{4, 0}));
}

TEST(OnnxImport, ShapesAreGivenByName) {
  const auto bytes =
      model({{node("Relu", {"x"}, {"y"})}, {tensor_info("x", kFloat, {"n", "2"})}, {tensor_info("y", kFloat, {})}});
  ImportOptions options;
  options.input_shapes["x"] = {5, 2};
  EXPECT_EQ(import(bytes, options).graph->find("y")->output().desc.dims, (Dims{5, 2}));
  options.input_shapes["x"] = {5, 3};
  EXPECT_EQ(refusal([&] { import(bytes, options); }), "input x is to have shape [5, 3], the model says [-1, 2]");
  options.input_shapes = {{"z", {1}}};
  EXPECT_NE(refusal([&] { import(bytes, options); }).find("z, which is no input of the model (its inputs: x)"),
            std::string::npos);
}

TEST(OnnxImport, OutputsMayBeOthers) {
  const auto bytes = model({{node("Relu", {"x"}, {"t"}, {}, "first"), node("Abs", {"t"}, {"y"})},
                            {tensor_info("x", kFloat, {"2"})},
                            {tensor_info("y", kFloat, {"2"})}});
  ImportOptions options;
  options.output_nodes = {"first:0", "y"};
  const auto m = import(bytes, options);
  ASSERT_EQ(m.graph->net_output()->inputs().size(), 2u);
  EXPECT_EQ(m.graph->net_output()->input(0).from.node->name(), "first");
  options.output_nodes = {"none"};
  EXPECT_NE(refusal([&] { import(bytes, options); }).find("output none is asked for"), std::string::npos);
}

TEST(OnnxImport, ComputedShapesAreKnown) {
  const auto m = import(model(
      {{node("Shape", {"x"}, {"s"}), node("Gather", {"s", "zero"}, {"n"}), node("Unsqueeze", {"n", "zeros"}, {"n1"}),
        node("Concat", {"n1", "rest"}, {"to"}, {Attribute::integer("axis", 0)}), node("Reshape", {"x", "to"}, {"y"})},
       {tensor_info("x", kFloat, {"batch", "4", "6"})},
       {tensor_info("y", kFloat, {})},
       {tensor("zero", kInt64, {}, Ints{0}), tensor("zeros", kInt64, {1}, Ints{0}),
        tensor("rest", kInt64, {1}, Ints{-1})}}));
  EXPECT_EQ(m.graph->net_output()->input(0).from.node->output().desc.dims, (Dims{-1, 24}));
}

TEST(OnnxImport, FunctionsTakeTheirAttributes) {
  const Message function = message([](protozero::pbf_writer& f) {
    f.add_string(1, "Leak");
    f.add_string(4, "a");
    f.add_string(5, "b");
    f.add_string(6, "slope");
    f.add_message(7, node("LeakyRelu", {"a"}, {"b"}, {Attribute::reference("alpha", "slope", 1)}));
    f.add_string(10, "mine");
  });
  const auto m = import(model({{node("Leak", {"x"}, {"y"}, {Attribute::real("slope", 0.5f)}, "call", "mine")},
                               {tensor_info("x", kFloat, {"2"})},
                               {tensor_info("y", kFloat, {"2"})}},
                              17, {function}));
  EXPECT_NE(m.graph->find("call/b"), nullptr);
  EXPECT_EQ(evaluated(m, {{DType::Float, {2}, graph::Bytes::copy_of(Floats{-4, 4}.data(), 8)}}).reals(),
            (std::vector<double>{-2, 4}));
}

TEST(OnnxImport, AConditionThatIsKnownTakesItsBranch) {
  auto body = [](const char* type) {
    return graph_message({{node(type, {"x"}, {"r"})}, {}, {tensor_info("r", kFloat, {"2"})}});
  };
  auto parts = [&](std::vector<Message> inputs, std::vector<Message> constants) {
    return GraphParts{
        {node("If", {"c"}, {"y"},
              {Attribute::body("then_branch", body("Neg")), Attribute::body("else_branch", body("Abs"))}, "if")},
        std::move(inputs),
        {tensor_info("y", kFloat, {"2"})},
        std::move(constants)};
  };
  const Message x = tensor_info("x", kFloat, {"2"});
  const auto known = import(model(parts({x}, {tensor("c", kBool, {}, std::vector<char>{0})})));
  EXPECT_EQ(types(known), "Data Abs NetOutput ");
  const auto open = import(model(parts({x, tensor_info("c", kBool, {})}, {})));
  EXPECT_NE(types(open).find("SelectV2"), std::string::npos);
  const graph::Tensor value{DType::Float, {2}, graph::Bytes::copy_of(Floats{3, -4}.data(), 8)};
  const char yes = 1, no = 0;
  EXPECT_EQ(evaluated(open, {value, {DType::Bool, {}, graph::Bytes::copy_of(&yes, 1)}}).reals(),
            (std::vector<double>{-3, 4}));
  EXPECT_EQ(evaluated(open, {value, {DType::Bool, {}, graph::Bytes::copy_of(&no, 1)}}).reals(),
            (std::vector<double>{3, 4}));
}

TEST(OnnxImport, LoopsOfKnownLengthAreWrittenOut) {
  // v = v + x, three times, and all values of v
  const Message body = graph_message(
      {{node("Add", {"v", "x"}, {"next"}), node("Identity", {"go"}, {"on"}), node("Identity", {"next"}, {"seen"})},
       {tensor_info("i", kInt64, {}), tensor_info("go", kBool, {}), tensor_info("v", kFloat, {"1"})},
       {tensor_info("on", kBool, {}), tensor_info("next", kFloat, {"1"}), tensor_info("seen", kFloat, {"1"})}});
  const auto m = import(model({{node("Loop", {"n", "", "start"}, {"last", "all"}, {Attribute::body("body", body)})},
                               {tensor_info("x", kFloat, {"1"})},
                               {tensor_info("last", kFloat, {"1"}), tensor_info("all", kFloat, {"3", "1"})},
                               {tensor("n", kInt64, {}, Ints{3}), tensor("start", kFloat, {1}, Floats{10})}}));
  const graph::Tensor x{DType::Float, {1}, graph::Bytes::copy_of(Floats{2}.data(), 4)};
  EXPECT_EQ(evaluated(m, {x}, 0).reals(), (std::vector<double>{16}));
  EXPECT_EQ(evaluated(m, {x}, 1).reals(), (std::vector<double>{12, 14, 16}));
}

TEST(OnnxImport, WhatIsMuchLargerThanItsConstantsStaysANode) {
  // 256 GB, which nobody has room for while a model is built
  const auto m = graph::compile(
      import(model({{node("ConstantOfShape", {"s"}, {"f"}, {}, "fill"), node("ReduceMax", {"f"}, {"y"}, {}, "most")},
                    {},
                    {tensor_info("y", kFloat, {})},
                    {tensor("s", kInt64, {2}, Ints{1 << 18, 1 << 18})}})),
      {});
  ASSERT_NE(m.graph->find("fill"), nullptr);
  EXPECT_EQ(m.graph->find("fill")->output().desc.dims, (Dims{1 << 18, 1 << 18}));
}

TEST(OnnxImport, RefusalsNameNodeOperatorAndReason) {
  auto text = [](const Message& n, int64_t opset = 17) {
    return refusal([&] {
      import(model({{n}, {tensor_info("x", kFloat, {"2", "3"})}, {tensor_info("y", kFloat, {})}}, opset));
    });
  };
  EXPECT_EQ(text(node("Magic", {"x"}, {"y"}, {}, "m")).find("m (Magic): there is no converter for this operator"), 0u);
  EXPECT_NE(text(node("Magic", {"x"}, {"y"}, {}, "m", "org.else")).find("of the domain org.else"), std::string::npos);
  EXPECT_EQ(text(node("Relu", {"x"}, {"y"}, {Attribute::integer("slope", 1)})),
            "y (Relu): attribute slope is not known of this operator at version 17 of its set");
  EXPECT_EQ(text(node("LeakyRelu", {"x"}, {"y"}, {Attribute::integer("alpha", 1)})),
            "y (LeakyRelu): attribute alpha is an integer, want a real number");
  EXPECT_EQ(text(node("Relu", {"q"}, {"y"})), "y (Relu): input 0, \"q\", is no tensor that a node before it gives");
  EXPECT_NE(
      text(node("Add", {"x", "x"}, {"y"}), 1).find("version 1 of the operators, it is converted from version 7 on"),
      std::string::npos);
  EXPECT_NE(text(node("Cast", {"x"}, {"y"}, {Attribute::integer("to", 17)})).find("attribute to is FLOAT8E4M3FN"),
            std::string::npos);
  EXPECT_NE(text(node("MatMul", {"x", "x"}, {"y"}, {}, "mm")).find("mm (MatMul"), std::string::npos);
}

TEST(OnnxImport, WeightsMayLieInFilesBesideTheModel) {
  const std::string folder =
      (std::filesystem::temp_directory_path() / ("onnx_import_" + std::to_string(getpid()))).string();
  std::filesystem::create_directories(folder);
  const Floats values = {7, 1, 2};
  std::ofstream(folder + "/w.bin", std::ios::binary).write(reinterpret_cast<const char*>(values.data()), 12);
  auto external = [](const std::string& place, const std::string& offset) {
    const Message w = message([&](protozero::pbf_writer& t) {
      const Ints dims = {2};
      t.add_packed_int64(1, dims.begin(), dims.end());
      t.add_int32(2, kFloat);
      t.add_string(8, "w");
      for (const auto& [key, value] : {std::pair{std::string("location"), place}, {std::string("offset"), offset}}) {
        protozero::pbf_writer entry(t, 13);
        entry.add_string(1, key);
        entry.add_string(2, value);
      }
      t.add_int32(14, 1);
    });
    return model(
        {{node("Add", {"x", "w"}, {"y"})}, {tensor_info("x", kFloat, {"2"})}, {tensor_info("y", kFloat, {"2"})}, {w}});
  };
  ImportOptions options;
  options.directory = folder;
  EXPECT_EQ(import(external("w.bin", "4"), options).graph->find("w")->constant()->reals(), (std::vector<double>{1, 2}));
  EXPECT_NE(refusal([&] { import(external("w.bin", "8"), options); }).find("bytes 8 to 16 of w.bin, which has 12"),
            std::string::npos);
  EXPECT_NE(refusal([&] { import(external("../w.bin", "0"), options); }).find("want a path below the folder"),
            std::string::npos);
  EXPECT_NE(refusal([&] { import(external("/etc/passwd", "0"), options); }).find("want a path below the folder"),
            std::string::npos);
  EXPECT_NE(refusal([&] { import(external("w.bin", "0")); }).find("came without its folder"), std::string::npos);
  std::filesystem::remove_all(folder);
}

TEST(OnnxImport, SparseAndNarrowConstantsAreWidened) {
  const Message sparse = message([](protozero::pbf_writer& s) {
    s.add_message(1, tensor("w", kFloat, {2}, Floats{5, 6}));
    s.add_message(2, tensor("", kInt64, {2}, Ints{1, 3}));
    const Ints dims = {2, 2};
    s.add_packed_int64(3, dims.begin(), dims.end());
  });
  Message g =
      graph_message({{node("Add", {"x", "w"}, {"y"}), node("Cast", {"q"}, {"z"}, {Attribute::integer("to", kFloat)})},
                     {tensor_info("x", kFloat, {"2", "2"})},
                     {tensor_info("y", kFloat, {"2", "2"}), tensor_info("z", kFloat, {"3"})},
                     {tensor("q", 22, {3}, std::vector<uint8_t>{0x7f, 0x08})}});
  protozero::pbf_writer(g).add_message(15, sparse);
  const Message text = model_text(g);
  const auto m = import(graph::Bytes::copy_of(text.data(), text.size()));
  EXPECT_EQ(m.graph->find("w")->constant()->reals(), (std::vector<double>{0, 5, 0, 6}));
  EXPECT_EQ(m.graph->find("q")->constant()->integers(), (Ints{-1, 7, -8}));
}

TEST(OnnxImport, MessagesThatAreWrongSayWhere) {
  auto text = [](const Message& message) {
    return refusal([&] { import(graph::Bytes::copy_of(message.data(), message.size())); });
  };
  EXPECT_NE(text("").find("no graph"), std::string::npos);
  EXPECT_NE(text("\xff\xff\xff").find("not a protobuf message"), std::string::npos);
  const Message whole = model_text(graph_message(
      {{node("Relu", {"x"}, {"y"}, {Attribute::integer("a", 3)}, "relu")}, {tensor_info("x", kFloat, {"2"})}, {}}));
  for (size_t n = 1; n < whole.size(); ++n) EXPECT_NE(text(whole.substr(0, n)), "");  // no crash
  const Message few = model_text(graph_message({{}, {}, {}, {tensor("w", kFloat, {3}, Floats{1})}}));
  EXPECT_EQ(text(few), "ONNX model, graph, initializer 0: tensor w: 4 bytes for FLOAT[3], want 12");
  const Message texts = model_text(graph_message({{}, {tensor_info("x", kText, {"2"})}, {}}));
  EXPECT_EQ(text(texts), "input x has texts, which the virtual NPU has not");
  EXPECT_TRUE(looks_like_onnx({reinterpret_cast<const std::byte*>(whole.data()), whole.size()}));
  EXPECT_FALSE(looks_like_onnx({reinterpret_cast<const std::byte*>("IMOD...."), 8}));
}

}  // namespace
}  // namespace updraft::onnx
