#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "frontends/caffe/net.h"
#include "graph/proto/dump.h"

namespace updraft::caffe {
namespace {

/// Types of `layers { … }`, the form of 2013 and 2014, as `layer { … }` names them.
std::string modern_type(const std::string& older) {
  static constexpr std::pair<std::string_view, const char*> kNames[] = {
      {"ABSVAL", "AbsVal"},
      {"ACCURACY", "Accuracy"},
      {"ARGMAX", "ArgMax"},
      {"BNLL", "BNLL"},
      {"CONCAT", "Concat"},
      {"CONTRASTIVE_LOSS", "ContrastiveLoss"},
      {"CONVOLUTION", "Convolution"},
      {"DATA", "Data"},
      {"DECONVOLUTION", "Deconvolution"},
      {"DROPOUT", "Dropout"},
      {"DUMMY_DATA", "DummyData"},
      {"ELTWISE", "Eltwise"},
      {"EUCLIDEAN_LOSS", "EuclideanLoss"},
      {"EXP", "Exp"},
      {"FLATTEN", "Flatten"},
      {"HDF5_DATA", "HDF5Data"},
      {"HDF5_OUTPUT", "HDF5Output"},
      {"HINGE_LOSS", "HingeLoss"},
      {"IM2COL", "Im2col"},
      {"IMAGE_DATA", "ImageData"},
      {"INFOGAIN_LOSS", "InfogainLoss"},
      {"INNER_PRODUCT", "InnerProduct"},
      {"LRN", "LRN"},
      {"MEMORY_DATA", "MemoryData"},
      {"MULTINOMIAL_LOGISTIC_LOSS", "MultinomialLogisticLoss"},
      {"MVN", "MVN"},
      {"POOLING", "Pooling"},
      {"POWER", "Power"},
      {"RELU", "ReLU"},
      {"SIGMOID", "Sigmoid"},
      {"SIGMOID_CROSS_ENTROPY_LOSS", "SigmoidCrossEntropyLoss"},
      {"SILENCE", "Silence"},
      {"SLICE", "Slice"},
      {"SOFTMAX", "Softmax"},
      {"SOFTMAX_LOSS", "SoftmaxWithLoss"},
      {"SPLIT", "Split"},
      {"TANH", "TanH"},
      {"THRESHOLD", "Threshold"},
      {"WINDOW_DATA", "WindowData"},
  };
  const auto* found = std::ranges::find(kNames, older, &std::pair<std::string_view, const char*>::first);
  return found == std::end(kNames) ? older : found->second;
}

/// What a net is tested with; rules of layers are compared with it.
struct State {
  int64_t level = 0;
  std::vector<std::string> stages;

  bool has(const std::string& stage) const { return std::ranges::find(stages, stage) != stages.end(); }
};

bool meets(const Message& rule, const State& state) {
  static constexpr std::string_view kPhases[] = {"TRAIN", "TEST"};
  const bool test = rule.choice("phase", kPhases, 1) == 1;
  const int64_t level = state.level;
  bool met = test && rule.integer("min_level", level) <= level && rule.integer("max_level", level) >= level;
  for (const std::string& stage : rule.texts("stage")) met = met && state.has(stage);
  for (const std::string& stage : rule.texts("not_stage")) met = met && !state.has(stage);
  rule.check();
  return met;
}

bool included(const Message& layer, const State& state) {
  const auto include = layer.messages("include"), exclude = layer.messages("exclude");
  if (!include.empty() && !exclude.empty())
    throw Error(code::kAclnnParamInvalid, "it has rules to include and to exclude it, want one kind");
  const auto met = [&](const Message& rule) { return meets(rule, state); };
  return include.empty() ? std::ranges::none_of(exclude, met) : std::ranges::any_of(include, met);
}

graph::Dims shape_of(const Message& shape) {
  graph::Dims dims = shape.integers("dim");
  for (const int64_t d : dims)
    if (d < -1) throw Error(code::kAclnnParamInvalid, "the shape {} has a negative size", graph::describe(dims));
  shape.check();
  return dims;
}

/// `input: "data"` with input_shape, or with four numbers input_dim for each.
void add_inputs(const Message& message, Net& net) {
  const auto names = message.texts("input");
  const auto shapes = message.messages("input_shape");
  const auto numbers = message.integers("input_dim");
  if (names.empty()) {
    if (!shapes.empty() || !numbers.empty())
      throw Error(code::kAclnnParamInvalid, "input_shape and input_dim are of no input: the field input is missing");
    return;
  }
  if (!shapes.empty() && !numbers.empty())
    throw Error(code::kAclnnParamInvalid, "inputs have input_shape and input_dim, want one of them");
  if (!shapes.empty() && shapes.size() != names.size())
    throw Error(code::kAclnnParamInvalid, "{} inputs have {} input_shape", names.size(), shapes.size());
  if (!numbers.empty() && numbers.size() != 4 * names.size())
    throw Error(code::kAclnnParamInvalid, "{} inputs have {} numbers input_dim, want four for each", names.size(),
                numbers.size());
  for (size_t i = 0; i < names.size(); ++i) {
    Layer layer{names[i], "Input", {}, {names[i]}, {}, {{graph::kUnknownRank}}};
    if (!shapes.empty()) layer.shapes = {shape_of(shapes[i])};
    if (!numbers.empty()) {
      const auto at = numbers.begin() + static_cast<std::ptrdiff_t>(4 * i);
      layer.shapes = {graph::Dims(at, at + 4)};
    }
    net.layers.push_back(std::move(layer));
  }
}

/// Input layers have a shape for all tops, one for each, or none.
void read_input(Layer& layer) {
  const Message param = layer.message.message("input_param");
  const auto shapes = param.messages("shape");
  if (shapes.size() > 1 && shapes.size() != layer.tops.size())
    throw Error(code::kAclnnParamInvalid, "{} tops have {} shapes, want one or one for each", layer.tops.size(),
                shapes.size());
  if (layer.tops.empty()) throw Error(code::kAclnnParamInvalid, "it has no top");
  if (!layer.bottoms.empty()) throw Error(code::kAclnnParamInvalid, "an input has no bottoms");
  for (size_t i = 0; i < layer.tops.size(); ++i)
    layer.shapes.push_back(shapes.empty() ? graph::Dims{graph::kUnknownRank}
                                          : shape_of(shapes[shapes.size() > 1 ? i : 0]));
}

/// What says how a net is trained, and what is read here.
void pass_over_general(const Message& layer) {
  for (const char* field : {"name", "type", "bottom", "top", "phase", "loss_weight", "param", "blobs_lr",
                            "weight_decay", "blob_share_mode", "propagate_down", "include", "exclude"})
    layer.ignore(field);
}

}  // namespace

Net read_net(std::string_view prototxt) {
  if (prototxt.starts_with("\xEF\xBB\xBF")) prototxt.remove_prefix(3);
  const auto document = std::make_shared<const Message::Json>(graph::parse_text_format(prototxt, "prototxt"));
  const Message message{document};
  Net net;
  net.name = message.text("name", "");
  for (const char* field : {"force_backward", "debug_info"}) message.ignore(field);
  State state;
  const Message given = message.message("state");
  given.ignore("phase");  // a model is made to be used
  state.level = given.integer("level", 0);
  state.stages = given.texts("stage");
  add_inputs(message, net);
  const bool older = message.has("layers");
  if (older && message.has("layer"))
    throw Error(code::kAclnnParamInvalid, "the prototxt has layer { … } and layers { … }, want one of these forms");
  size_t place = 0;
  for (const Message& one : message.messages(older ? "layers" : "layer", true)) {
    Layer layer;
    const size_t here = place++;
    try {
      if (older && one.has("layer"))
        throw Error(code::kAclnnParamInvalid,
                    "layers { layer { … } } is Caffe's form before 2014: convert it with its upgrade_net_proto_text");
      layer.name = one.text("name", "");
      layer.type = one.text("type");
      if (older) layer.type = modern_type(layer.type);
      layer.bottoms = one.texts("bottom");
      layer.tops = one.texts("top");
      if (!included(one, state)) continue;
      layer.message = one;
      pass_over_general(one);
      if (layer.name.empty()) layer.name = layer.tops.empty() ? fmt::format("layer{}", here) : layer.tops[0];
      if (layer.type == "Input") {
        read_input(layer);
        one.check();
      }
    } catch (const Error& e) { throw Error(code::kAclnnParamInvalid, "layer {} ({}): {}", here, layer.name, e.text()); }
    net.layers.push_back(std::move(layer));
  }
  message.ignore("layer");
  message.ignore("layers");
  message.check();
  if (net.layers.empty())
    throw Error(code::kAclnnParamInvalid, "the prototxt has no layers: want the text of a net, as deploy.prototxt");
  return net;
}

}  // namespace updraft::caffe
