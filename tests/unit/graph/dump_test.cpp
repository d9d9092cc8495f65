// Models as JSON and text, and back.
#include "graph/proto/dump.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "graph/proto/model_proto.h"

namespace updraft::graph {
namespace {

using Json = nlohmann::ordered_json;

std::string message() {
  Model model;
  model.name = "m";
  model.graph = std::make_shared<Graph>("g");
  Node& x = model.graph->add_data("x", 0, TensorDesc(DType::Float16, {2, -1}, Format::NCHW));
  Node& relu = model.graph->add("Relu", "r \"1\"\n");
  model.graph->add_input(relu, "x", x.out());
  model.graph->add_output(relu, "y", TensorDesc(DType::Float16, {2, -1}));
  relu.attributes["bits"] = Attribute(Attribute::Value(Bytes::copy_of("\xff\x00\x01", 3)));
  relu.attributes["reals"] = std::vector<float>{1.5F, -INFINITY};
  relu.attributes["lists"] = Attribute::IntegerLists{{1, 2}, {}};
  model.graph->add_input(model.graph->make_net_output(), "x0", relu.out());
  return write_model(model);
}

TEST(Dump, a_message_is_json_by_names) {
  const Json json = message_to_json(message());
  EXPECT_EQ(json["name"], "m");
  const Json& relu = json["graph"][0]["op"][1];
  EXPECT_EQ(relu["name"], "r \"1\"\n");
  EXPECT_EQ(relu["input"], Json::array({"x:0"}));
  EXPECT_EQ(relu["output_desc"][0]["dtype"], "DT_FLOAT16");
  EXPECT_EQ(relu["output_desc"][0]["shape"]["dim"], Json::array({2, -1}));
  std::map<std::string, Json> attributes;
  for (const Json& entry : relu["attr"]) attributes[entry["key"]] = entry["value"];
  EXPECT_EQ(attributes["bits"]["bt"], "/wAB");  // base64
  EXPECT_EQ(attributes["reals"]["list"]["f"], Json::array({1.5, "-inf"}));
  EXPECT_EQ(attributes["lists"]["list_list_int"]["list_list_i"][0]["list_i"], Json::array({1, 2}));
}

TEST(Dump, text_and_back) {
  const Json json = message_to_json(message());
  const std::string text = json_to_text(json);
  EXPECT_NE(text.find("dtype: DT_FLOAT16"), std::string::npos) << text;
  EXPECT_EQ(text_to_json(text), json);
}

TEST(Dump, a_graph_alone_becomes_a_model) {
  const Json json = text_to_json("name: 'g' op { name: 'a' 'b' type: \"T\\x41\\101\" }");
  EXPECT_EQ(json["graph"][0]["op"][0]["name"], "ab");
  EXPECT_EQ(json["graph"][0]["op"][0]["type"], "TAA");
}

TEST(Dump, damage_is_named) {
  const auto refusal = [](auto&& f) -> std::string {
    try {
      f();
    } catch (const Error& e) { return e.text(); }
    return "nothing was refused";
  };
  const std::string whole = message();
  EXPECT_NE(refusal([&] { message_to_json(std::string_view(whole).substr(0, whole.size() - 1)); }).find("cut off"),
            std::string::npos);
  EXPECT_NE(refusal([] { text_to_json("graph {\n op { name: \"x }"); }).find("line 2"), std::string::npos);
  EXPECT_NE(refusal([] { text_to_json("graph { op { id: many } }"); }).find("many is no value of id"),
            std::string::npos);
  EXPECT_NE(refusal([] { text_to_json("name: \"x\""); }).find("no graph"), std::string::npos);
  EXPECT_NE(refusal([] { text_to_json("graph { op { id: \"7\" } }"); }).find("id wants a number"), std::string::npos);
  EXPECT_NE(refusal([] { text_to_json("graph { op { name: seven } }"); }).find("name wants a text"), std::string::npos);
  std::string deep;
  for (int i = 0; i < 100000; ++i) deep += "a{";
  EXPECT_NE(refusal([&] { parse_text_format(deep); }).find("too deeply"), std::string::npos);
}

}  // namespace
}  // namespace updraft::graph
