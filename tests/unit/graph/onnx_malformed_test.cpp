// Models that onnx.checker refuses, given to the two functions that clients call: each ends with the client's error
// code and a sentence that names node, operator and reason, on stderr too, because clients throw the text away.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "acl/acl.h"
#include "ge/ge_ir_build.h"
#include "onnx_message.h"
#include "parser/onnx_parser.h"

namespace updraft::onnx {
namespace {

using namespace onnx_test;
using Floats = std::vector<float>;
using Ints = std::vector<int64_t>;

/// What both functions say of it; both must say the same.
std::string refusal(const Message& text) {
  ge::Graph graph("malformed");
  testing::internal::CaptureStderr();
  const ge::graphStatus status = ge::aclgrphParseONNXFromMem(text.data(), text.size(), {}, graph);
  const std::string said = testing::internal::GetCapturedStderr();
  if (status == ge::GRAPH_SUCCESS) return "taken";
  EXPECT_EQ(status, ge::GRAPH_FAILED);
  const std::string start = "updraft: aclgrphParseONNXFromMem: ";
  EXPECT_EQ(said.find(start), 0u) << said;
  const char* recent = aclGetRecentErrMsg();
  EXPECT_NE(recent, nullptr);

  const auto path = std::filesystem::temp_directory_path() / ("malformed_" + std::to_string(getpid()) + ".onnx");
  std::ofstream(path, std::ios::binary) << text;
  testing::internal::CaptureStderr();
  EXPECT_EQ(ge::aclgrphParseONNX(path.c_str(), {}, graph), ge::GRAPH_FAILED);
  const std::string again = testing::internal::GetCapturedStderr();
  std::filesystem::remove(path);
  const std::string reason =
      said.size() > start.size() ? said.substr(start.size(), said.size() - start.size() - 1) : said;
  EXPECT_NE(again.find(reason), std::string::npos) << again;
  // nothing of a model that was refused is left behind
  ge::ModelBufferData built;
  testing::internal::CaptureStderr();
  EXPECT_NE(ge::aclgrphBuildModel(graph, {}, built), ge::GRAPH_SUCCESS);
  testing::internal::GetCapturedStderr();
  return reason;
}

const Message kX = tensor_info("x", kFloat, {"2", "3"}), kY = tensor_info("y", kFloat, {"2", "3"});
std::string of_nodes(std::vector<Message> nodes, std::vector<Message> constants = {}) {
  return refusal(model_text(graph_message({std::move(nodes), {kX}, {kY}, std::move(constants)})));
}

TEST(OnnxMalformed, NodesInACircleOrOutOfOrder) {
  EXPECT_EQ(of_nodes({node("Add", {"x", "b"}, {"a"}, {}, "first"), node("Relu", {"a"}, {"b"}, {}, "second"),
                      node("Abs", {"b"}, {"y"})}),
            "first (Add): input 1, \"b\", is no tensor that a node before it gives");
  EXPECT_EQ(of_nodes({node("Add", {"x", "y"}, {"y"}, {}, "own")}),
            "own (Add): input 1, \"y\", is no tensor that a node before it gives");
}

TEST(OnnxMalformed, InputsThatAreMissingOrTooMany) {
  EXPECT_EQ(of_nodes({node("Add", {"x"}, {"y"}, {}, "sum")}).find("sum (Add"), 0u);
  EXPECT_EQ(of_nodes({node("MatMul", {"x"}, {"y"}, {}, "mm")}), "mm (MatMul): input 1 is absent");
  EXPECT_EQ(of_nodes({node("MatMul", {"x", ""}, {"y"}, {}, "mm")}), "mm (MatMul): input 1 is absent");
  EXPECT_EQ(of_nodes({node("Relu", {}, {"y"}, {}, "r")}).find("r (Relu"), 0u);
  EXPECT_EQ(of_nodes({node("LeakyRelu", {"x", "x"}, {"y"}, {}, "r")}),
            "r (LeakyRelu): input 1, \"x\", is not known of this operator at version 17 of its set");
  EXPECT_EQ(of_nodes({node("If", {"x"}, {"y"}, {}, "choice")}).find("choice (If): attribute then_branch is missing"),
            0u);
  EXPECT_EQ(of_nodes({}), "output y is given by no node");
}

TEST(OnnxMalformed, TypesThatAreWrong) {
  EXPECT_EQ(of_nodes({node("LeakyRelu", {"x"}, {"y"}, {Attribute::integer("alpha", 1)}, "r")}),
            "r (LeakyRelu): attribute alpha is an integer, want a real number");
  EXPECT_EQ(of_nodes({node("And", {"x", "x"}, {"y"}, {}, "both")}), "both (And): input 0, \"x\", is FLOAT, want BOOL");
  EXPECT_EQ(of_nodes({node("Add", {"x", "w"}, {"y"}, {}, "sum")}, {tensor("w", kInt64, {3}, Ints{1, 2, 3})}),
            "sum (Add): input 1, \"w\", is INT64, and the inputs before it are FLOAT: want one type");
  EXPECT_EQ(of_nodes({node("Cast", {"x"}, {"y"}, {Attribute::integer("to", 4711)}, "c")}),
            "c (Cast): attribute to is 4711, a type of elements that the virtual NPU has not");
  EXPECT_NE(of_nodes({node("Relu", {"x"}, {"y"})}, {tensor("w", 4711, {1}, Floats{1})}).find("elements of type 4711"),
            std::string::npos);
  EXPECT_EQ(refusal(model_text(graph_message({{}, {tensor_info("x", 4711, {"2"})}, {kY}}))),
            "input x has elements of type 4711, which the virtual NPU has not");
}

TEST(OnnxMalformed, NamesThatStandForTwoThings) {
  EXPECT_EQ(
      of_nodes({node("Relu", {"x"}, {"t"}, {}, "a"), node("Abs", {"x"}, {"t"}, {}, "b"), node("Neg", {"t"}, {"y"})}),
      "b (Abs): output 0, \"t\", is the name of an input, an initializer or an earlier node's output");
  EXPECT_EQ(of_nodes({node("Relu", {"x"}, {"x"}, {}, "a")}),
            "a (Relu): output 0, \"x\", is the name of an input, an initializer or an earlier node's output");
  EXPECT_EQ(of_nodes({node("Relu", {"x"}, {"y"})},
                     {tensor("w", kFloat, {1}, Floats{1}), tensor("w", kFloat, {1}, Floats{2})}),
            "w is an initializer, and the graph has another tensor of that name");
  EXPECT_EQ(refusal(model_text(graph_message({{node("Relu", {"x"}, {"y"})}, {kX, kX}, {kY}}))),
            "x is an input, and the graph has another tensor of that name");
}

TEST(OnnxMalformed, SizesThatNoTensorHas) {
  const int64_t huge = int64_t{1} << 62;
  auto initializer = [](const Ints& dims) {
    return of_nodes({node("Add", {"x", "w"}, {"y"})}, {tensor("w", kFloat, dims, Floats{1})});
  };
  EXPECT_NE(initializer({huge, huge}).find("has more elements than 63 bits count"), std::string::npos);
  EXPECT_NE(initializer({huge}).find("initializer 0: tensor w: shape [4611686018427387904] is too large"),
            std::string::npos)
      << initializer({huge});
  EXPECT_NE(initializer({1 << 30}).find("4 bytes for FLOAT[1073741824], want 4294967296"), std::string::npos);
  EXPECT_NE(initializer({-1}).find("shape [-1], want sizes of 0 or more"), std::string::npos);
  EXPECT_NE(initializer(Ints(65, 1)).find("65 dimensions"), std::string::npos);
  // shapes that attributes and constants ask for
  const std::string fill = of_nodes({node("ConstantOfShape", {"s"}, {"t"}, {}, "fill"), node("Add", {"x", "t"}, {"y"})},
                                    {tensor("s", kInt64, {2}, Ints{huge, huge})});
  EXPECT_EQ(fill.find("fill (ConstantOfShape"), 0u) << fill;
  const std::string tile =
      of_nodes({node("Tile", {"x", "s"}, {"y"}, {}, "tile")}, {tensor("s", kInt64, {2}, Ints{huge, huge})});
  EXPECT_EQ(tile.find("tile (Tile"), 0u) << tile;
  const std::string wide =
      of_nodes({node("MaxPool", {"x4"}, {"y"}, {Attribute::integers("kernel_shape", {huge, huge})}, "pool")},
               {tensor("x4", kFloat, {1, 1, 1, 1}, Floats{1})});
  EXPECT_EQ(wide.find("pool (MaxPool"), 0u) << wide;
  const std::string many = of_nodes({node("Split", {"x"}, {"y"}, {Attribute::integer("num_outputs", huge)}, "split")});
  EXPECT_EQ(many.find("split (Split"), 0u) << many;
  const std::string input = refusal(model_text(graph_message(
      {{node("Relu", {"x"}, {"y"})}, {tensor_info("x", kFloat, {std::to_string(huge), std::to_string(huge)})}, {kY}})));
  EXPECT_NE(input.find("[4611686018427387904"), std::string::npos) << input;
}

TEST(OnnxMalformed, MessagesThatAreCutOff) {
  const Message whole = model_text(graph_message({{node("Relu", {"x"}, {"y"}, {}, "r")}, {kX}, {kY}}));
  EXPECT_NE(refusal(whole.substr(0, whole.size() - 9)).find("not a protobuf message, or one that is cut off"),
            std::string::npos);
  EXPECT_NE(refusal(whole.substr(0, 1)).find("not a protobuf message"), std::string::npos);
  EXPECT_NE(refusal("no model at all").find("ONNX model"), std::string::npos);
  EXPECT_EQ(refusal(model_text(graph_message({{node("Relu", {"x"}, {"y"})}, {kX}, {kY}})).substr(0, 2)),
            "ONNX model, outermost message: no graph: is this an ONNX model?");
}

TEST(OnnxMalformed, OperatorSetsAndOperatorsThatThereAreNot) {
  const Message none = message([](protozero::pbf_writer& m) {
    m.add_int64(1, 8);
    m.add_message(7, graph_message({{node("Relu", {"x"}, {"y"}, {}, "r")}, {kX}, {kY}}));
  });
  EXPECT_EQ(refusal(none), "r (Relu): the model imports no version of ONNX's operators");
  EXPECT_EQ(of_nodes({node("Magic", {"x"}, {"y"}, {}, "m")}).find("m (Magic): there is no converter for this operator"),
            0u);
  EXPECT_NE(of_nodes({node("", {"x"}, {"y"}, {}, "m")}).find("node 0 (m): no operator"), std::string::npos);
}

TEST(OnnxMalformed, FunctionsThatCallThemselvesOrGrowWithoutEnd) {
  auto function = [](const std::string& name, std::vector<Message> nodes) {
    return message([&](protozero::pbf_writer& f) {
      f.add_string(1, name);
      f.add_string(4, "a");
      f.add_string(5, "b");
      for (const Message& n : nodes) f.add_message(7, n);
      f.add_string(10, "mine");
    });
  };
  auto called = [](std::vector<Message> functions) {
    return refusal(
        model_text(graph_message({{node("F0", {"x"}, {"y"}, {}, "call", "mine")}, {kX}, {kY}}), 17, functions));
  };
  EXPECT_NE(
      called({function("F0", {node("F0", {"a"}, {"b"}, {}, "self", "mine")})}).find("lie deeper in each other than"),
      std::string::npos);
  std::vector<Message> doubling;  // each calls the next one twice
  for (int i = 0; i < 40; ++i) {
    const std::string next = "F" + std::to_string(i + 1);
    doubling.push_back(function("F" + std::to_string(i), {node(next, {"a"}, {"c"}, {}, "l", "mine"),
                                                          node(next, {"c"}, {"b"}, {}, "r", "mine")}));
  }
  doubling.push_back(function("F40", {node("Relu", {"a"}, {"b"})}));
  EXPECT_NE(called(doubling).find("functions and loops make more than 262144 nodes"), std::string::npos);
}

TEST(OnnxMalformed, WeightsInFilesOutsideOfTheFolder) {
  const auto folder = std::filesystem::temp_directory_path() / ("malformed_" + std::to_string(getpid()));
  std::filesystem::create_directories(folder / "model");
  std::ofstream(folder / "secret.bin", std::ios::binary) << "12345678";
  auto refused = [&](const std::string& location, const std::string& offset = "0") {
    const Message w = message([&](protozero::pbf_writer& t) {
      const Ints dims = {2};
      t.add_packed_int64(1, dims.begin(), dims.end());
      t.add_int32(2, kFloat);
      t.add_string(8, "w");
      for (const auto& [key, value] : {std::pair{std::string("location"), location}, {std::string("offset"), offset}}) {
        protozero::pbf_writer entry(t, 13);
        entry.add_string(1, key);
        entry.add_string(2, value);
      }
      t.add_int32(14, 1);
    });
    const Message text =
        model_text(graph_message({{node("Add", {"x", "w"}, {"y"})}, {tensor_info("x", kFloat, {"2"})}, {kY}, {w}}));
    std::ofstream(folder / "model" / "m.onnx", std::ios::binary) << text;
    ge::Graph graph("escape");
    testing::internal::CaptureStderr();
    EXPECT_EQ(ge::aclgrphParseONNX((folder / "model" / "m.onnx").c_str(), {}, graph), ge::GRAPH_FAILED);
    return testing::internal::GetCapturedStderr();
  };
  for (const char* location : {"../secret.bin", "a/../../secret.bin", "/etc/passwd", ""})
    EXPECT_NE(refused(location).find("want a path below the folder of the model"), std::string::npos) << location;
  EXPECT_NE(refused("none.bin").find("which cannot be read: No such file"), std::string::npos);
  EXPECT_NE(refused(".").find("which is no file"), std::string::npos);
  std::ofstream(folder / "model" / "w.bin", std::ios::binary) << "12345678";
  EXPECT_NE(refused("w.bin", "18446744073709551615").find("of w.bin, which has 8"), std::string::npos);
  EXPECT_NE(refused("w.bin", "-1").find("external_data has offset \"-1\", want a number"), std::string::npos);
  std::filesystem::remove_all(folder);
}

TEST(OnnxMalformed, NullsAndFilesThatThereAreNot) {
  ge::Graph graph("null");
  testing::internal::CaptureStderr();
  EXPECT_EQ(ge::aclgrphParseONNX(nullptr, {}, graph), ge::GRAPH_PARAM_INVALID);
  EXPECT_EQ(ge::aclgrphParseONNXFromMem(nullptr, 4, {}, graph), ge::GRAPH_PARAM_INVALID);
  EXPECT_NE(ge::aclgrphParseONNX("/nowhere/model.onnx", {}, graph), ge::GRAPH_SUCCESS);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("/nowhere/model.onnx"), std::string::npos);
}

}  // namespace
}  // namespace updraft::onnx
