// What Caffe's two files say, and what is refused of them before any layer is converted.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <protozero/pbf_writer.hpp>

#include "base/error.h"
#include "frontends/caffe/conversion.h"
#include "frontends/caffe/import.h"
#include "ge/ge_ir_build.h"
#include "parser/caffe_parser.h"

namespace updraft::caffe {
namespace {

template <class F>
std::string refusal(F&& f) {
  try {
    f();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), code::kAclnnParamInvalid);
    return e.text();
  }
  return "taken";
}

std::string refused_net(const std::string& text) {
  return refusal([&] { read_net(text); });
}

template <class F>
std::string message(F&& fill) {
  std::string data;
  protozero::pbf_writer writer(data);
  fill(writer);
  return data;
}

/// One layer of the newer form with these blobs.
std::string layer(const std::string& name, const std::vector<std::string>& blobs) {
  return message([&](protozero::pbf_writer& net) {
    protozero::pbf_writer one(net, 100);
    one.add_string(1, name);
    for (const std::string& blob : blobs) one.add_message(7, blob);
  });
}

Weights weights_of(const std::string& bytes) { return read_weights(graph::Bytes::copy_of(bytes.data(), bytes.size())); }

constexpr const char* kInput = "input: \"x\" input_shape { dim: 2 dim: 3 }\n";

TEST(CaffeNet, LayersOfBothForms) {
  const Net newer = read_net(
      "name: 'n' # comment\n"
      "layer { name: \"x\" type: \"Input\" top: \"x\" top: \"y\" input_param: { shape { dim: [2, 3] } } }\n"
      "layer < name: \"r\"; type: 'ReLU', bottom: \"x\" top: \"x\" relu_param { negative_slope: 1e-1f } >");
  EXPECT_EQ(newer.name, "n");
  ASSERT_EQ(newer.layers.size(), 2u);
  EXPECT_EQ(newer.layers[0].shapes, (std::vector<graph::Dims>{{2, 3}, {2, 3}}));
  EXPECT_EQ(newer.layers[1].type, "ReLU");
  EXPECT_EQ(newer.layers[1].bottoms, newer.layers[1].tops);
  EXPECT_FLOAT_EQ(static_cast<float>(newer.layers[1].message.message("relu_param").real("negative_slope")), 0.1f);

  const Net older = read_net(
      "input: 'a' input: 'b' input_dim: 1 input_dim: 2 input_dim: 3 input_dim: 4 input_dim: [5, 6, 7, 8]\n"
      "layers { name: 'p' type: INNER_PRODUCT bottom: 'a' top: 'p' blobs_lr: 1 }");
  ASSERT_EQ(older.layers.size(), 3u);
  EXPECT_EQ(older.layers[1].shapes[0], (graph::Dims{5, 6, 7, 8}));
  EXPECT_EQ(older.layers[2].type, "InnerProduct");
}

TEST(CaffeNet, EveryOlderTypeHasANewerOne) {
  for (const char* type :
       {"ABSVAL",  "ARGMAX",  "BNLL",          "CONCAT",  "CONVOLUTION", "DECONVOLUTION", "DROPOUT",  "ELTWISE",
        "EXP",     "FLATTEN", "INNER_PRODUCT", "LRN",     "MVN",         "POOLING",       "POWER",    "RELU",
        "SIGMOID", "SILENCE", "SLICE",         "SOFTMAX", "SPLIT",       "TANH",          "THRESHOLD"}) {
    const Net net = read_net(fmt::format("layers {{ name: 'l' type: {} }}", type));
    EXPECT_NE(find_row(net.layers.at(0).type), nullptr) << type;
  }
}

TEST(CaffeNet, RulesSayWhichLayersAreTested) {
  auto kept = [](const std::string& rules, const std::string& state = "") {
    return read_net(state + kInput + "layer { name: 'l' type: 'ReLU' bottom: 'x' top: 'y' " + rules + " }")
               .layers.size() == 2;
  };
  EXPECT_TRUE(kept(""));
  EXPECT_TRUE(kept("include { phase: TEST }"));
  EXPECT_FALSE(kept("include { phase: TRAIN }"));
  EXPECT_TRUE(kept("include { phase: TRAIN } include { }"));
  EXPECT_FALSE(kept("exclude { phase: TEST }"));
  EXPECT_TRUE(kept("exclude { phase: TRAIN }"));
  EXPECT_FALSE(kept("include { stage: 'deploy' }"));
  EXPECT_TRUE(kept("include { stage: 'deploy' }", "state { phase: TRAIN stage: 'deploy' } "));
  EXPECT_FALSE(kept("include { not_stage: 'deploy' }", "state { stage: 'deploy' } "));
  EXPECT_FALSE(kept("include { min_level: 1 }"));
  EXPECT_TRUE(kept("include { min_level: 1 max_level: 2 }", "state { level: 2 } "));
  EXPECT_FALSE(kept("include { max_level: 1 }", "state { level: 2 } "));
  EXPECT_NE(
      refused_net("layer { name: 'l' type: 'ReLU' include { faze: TEST } }").find("include.faze is not known here"),
      std::string::npos);
}

TEST(CaffeNet, Refusals) {
  EXPECT_EQ(refused_net("layer { name: 'l'\ntype: }"),
            "line 2 of the prototxt: a name or a value is wanted, there is '}'");
  EXPECT_NE(refused_net("").find("has no layers"), std::string::npos);
  EXPECT_EQ(refused_net("layer { name: 'l' }"), "layer 0 (l): type is missing");
  EXPECT_EQ(
      refused_net("layer { name: 'l' type: 'a' type: 'b' }").find("layer 0 (l): type is [\"a\",\"b\"], want one value"),
      0u);
  EXPECT_EQ(refused_net("layer { type: 'Input' top: 'x' input_param { shape { dim: -2 } } }"),
            "layer 0 (x): the shape [-2] has a negative size");
  EXPECT_EQ(refused_net("layer { type: 'Input' top: 'x' input_param { shape { dim: 5000000000 } } }"),
            "layer 0 (x): input_param.shape.dim is 5000000000, want a whole number of 32 bits");
  EXPECT_EQ(refused_net("input: 'x' input_dim: 1"), "1 inputs have 1 numbers input_dim, want four for each");
  EXPECT_NE(refused_net("layer: 3").find("layer is 3, want a message"), std::string::npos);
  EXPECT_NE(refused_net("a: 1 a: [2] a { b: 3 }").find("a is not known here"), std::string::npos);
}

TEST(CaffeWeights, AllFormsOfNumbers) {
  const std::vector<float> values = {1, 2, 3, 4, 5, 6};
  const std::vector<int64_t> dims = {2, 3};
  auto shape = [&](protozero::pbf_writer& b) {
    protozero::pbf_writer s(b, 7);
    s.add_packed_int64(1, dims.begin(), dims.end());
  };
  const std::string packed = message([&](auto& b) { shape(b), b.add_packed_float(5, values.begin(), values.end()); });
  const std::string parts = message([&](auto& b) {
    shape(b), b.add_packed_float(5, values.begin(), values.begin() + 2), b.add_float(5, 3);
    b.add_packed_float(5, values.begin() + 3, values.end());
  });
  const std::string doubles = message([&](auto& b) { shape(b), b.add_packed_double(8, values.begin(), values.end()); });
  const std::string single = message([&](auto& b) {
    shape(b);
    for (float v : values) b.add_float(5, v);
  });
  const std::string older = message([&](auto& b) {
    b.add_int32(1, 1), b.add_int32(2, 1), b.add_int32(3, 2), b.add_int32(4, 3);
    b.add_packed_float(5, values.begin(), values.end());
  });
  const Weights found = weights_of(layer("l", {packed, parts, doubles, single, older}));
  const Blobs& blobs = found.layers.at("l");
  ASSERT_EQ(blobs.size(), 5u);
  for (const graph::Tensor& blob : blobs) {
    EXPECT_EQ(blob.reals(), std::vector<double>(values.begin(), values.end()));
    EXPECT_EQ(blob.dims, &blob == &blobs[4] ? (graph::Dims{1, 1, 2, 3}) : dims);
  }
}

TEST(CaffeWeights, Refusals) {
  const std::string short_blob = message([](auto& b) {
    protozero::pbf_writer s(b, 7);
    const int64_t dims[] = {int64_t{1} << 40, int64_t{1} << 40};
    s.add_packed_int64(1, std::begin(dims), std::end(dims));
  });
  EXPECT_NE(refusal([&] { weights_of(layer("l", {short_blob})); }).find("63 bits"), std::string::npos);
  const std::string negative = message([](auto& b) { b.add_int32(1, -1); });
  EXPECT_EQ(refusal([&] { weights_of(layer("l", {negative})); }),
            "Caffe weights, layer 0 (l), blob 0: the shape is [-1, 0, 0, 0], want sizes of 0 or more");
  const std::string odd = message([](auto& b) { b.add_bytes(5, "12345"); });
  EXPECT_NE(refusal([&] { weights_of(layer("l", {odd})); }).find("layer 0 (l), blob 0"), std::string::npos);
  const std::string v0 = message([](auto& net) { protozero::pbf_writer(net, 2).add_message(1, std::string()); });
  EXPECT_NE(refusal([&] { weights_of(v0); }).find("upgrade_net_proto_binary"), std::string::npos);
  EXPECT_NE(refusal([&] { weights_of("\x07garbage"); }).find("the bytes are no message of the format"),
            std::string::npos);
  EXPECT_NE(refusal([&] { weights_of(""); }).find("there are no layers"), std::string::npos);
}

TEST(CaffeImport, ErrorsNameTheLayer) {
  auto import_of = [](const std::string& layers, const std::string& weights) {
    return refusal([&] {
      const std::string text = kInput + layers;
      import(graph::Bytes::copy_of(text.data(), text.size()), graph::Bytes::copy_of(weights.data(), weights.size()));
    });
  };
  const std::string none = layer("none", {});
  // "pool" is also the beginning of its parameter's name
  EXPECT_EQ(import_of("layer { name: 'pool' type: 'Pooling' bottom: 'x' top: 'y' pooling_param { pool: 7 } }", none),
            "pool (Pooling): pooling_param.pool is 7, want a text");
  EXPECT_EQ(import_of("layer { name: 'pool' type: 'Pooling' bottom: 'x' top: 'y' }", none),
            "pool (Pooling): bottom is FLOAT[2, 3], want 4 dimensions");
  EXPECT_EQ(import_of("layer { name: 'ip' type: 'InnerProduct' bottom: 'x' top: 'y' }", none),
            "ip (InnerProduct): inner_product_param.num_output is missing");
  const std::string one = message(
      [](auto& b) { b.add_int32(1, 1), b.add_int32(2, 1), b.add_int32(3, 1), b.add_int32(4, 1), b.add_float(5, 2); });
  EXPECT_EQ(import_of("layer { name: 'p' type: 'PReLU' bottom: 'x' top: 'y' prelu_param { channel_shared: true } }"
                      "layer { name: 'p' type: 'PReLU' bottom: 'x' top: 'z' prelu_param { channel_shared: true } }",
                      layer("p", {one}))
                .find("p (PReLU): a layer before it has the same name"),
            0u);
}

TEST(CaffeParser, RefusesWithTheCodesOfTheInterface) {
  ge::Graph graph("caffe");
  testing::internal::CaptureStderr();
  EXPECT_EQ(ge::aclgrphParseCaffe(nullptr, "w", graph), ge::GRAPH_PARAM_INVALID);
  EXPECT_EQ(ge::aclgrphParseCaffe("n", nullptr, {}, graph), ge::GRAPH_PARAM_INVALID);
  EXPECT_NE(ge::aclgrphParseCaffe("/nowhere.prototxt", "/nowhere.caffemodel", graph), ge::GRAPH_SUCCESS);
  const auto folder = std::filesystem::temp_directory_path() / ("caffe_" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  const std::string net = folder / "n.prototxt", weights = folder / "n.caffemodel";
  std::ofstream(weights, std::ios::binary) << layer("none", {});
  std::ofstream(net) << kInput << "layer { name: 'l' type: 'Warp' bottom: 'x' top: 'y' }";
  EXPECT_EQ(ge::aclgrphParseCaffe(net.c_str(), weights.c_str(), graph), ge::GRAPH_FAILED);
  ge::ModelBufferData built;
  EXPECT_NE(ge::aclgrphBuildModel(graph, {}, built), ge::GRAPH_SUCCESS);
  std::ofstream(net) << kInput << "layer { name: 'l' type: 'ReLU' bottom: 'x' top: 'y' }";
  EXPECT_EQ(ge::aclgrphParseCaffe(net.c_str(), weights.c_str(), {{"input_shape", "x:4,5"}}, graph), ge::GRAPH_SUCCESS);
  EXPECT_EQ(ge::aclgrphBuildModel(graph, {}, built), ge::GRAPH_SUCCESS);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("updraft: aclgrphParseCaffe: l (Warp): there is no converter for this layer"), std::string::npos)
      << said;
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace updraft::caffe
