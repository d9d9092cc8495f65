// Mode 3: which nodes of a model cannot be compiled, all of them at once.
#include <filesystem>

#include "atc/modes.h"
#include "atc/refusal.h"
#include "base/json_text.h"
#include "frontends/caffe/conversion.h"
#include "frontends/onnx/conversion.h"
#include "frontends/onnx/model.h"
#include "frontends/tensorflow/conversion.h"
#include "graph/node_call.h"
#include "graph/proto/model_proto.h"

namespace updraft::atc {
namespace {

using Json = nlohmann::ordered_json;

struct Finding {
  std::string name, type, reason;  ///< no reason: it is supported
};

/// Why there is no converter; "" where there is one.
std::string refusal_of(const onnx::NodeProto& node, const onnx::ModelProto& model) {
  for (const auto& f : model.functions)
    if (f.name == node.type && f.domain == node.domain) return "";
  const auto set = model.opsets.find(node.domain);
  const int64_t version = set == model.opsets.end() ? 1 : set->second;
  if (onnx::find_row(node.domain, node.type, version)) return "";
  if (const int first = onnx::first_version(node.domain, node.type))
    return fmt::format("version {} of the operators, it is converted from version {} on", version, first);
  return "there is no converter for this operator";
}

std::vector<Finding> onnx_findings(const std::string& path) {
  std::vector<Finding> all;
  const auto model = onnx::read_model(graph::Bytes::of_file(path), std::filesystem::path(path).parent_path().string());
  for (const onnx::NodeProto& node : model.graph.nodes) {
    std::string_view name = node.name;
    for (size_t i = 0; name.empty() && i < node.outputs.size(); ++i) name = node.outputs[i];
    all.push_back({std::string(name), std::string(node.type), refusal_of(node, model)});
  }
  return all;
}

std::vector<Finding> tensorflow_findings(const std::string& path) {
  std::vector<Finding> all;
  const tensorflow::GraphDef model = tensorflow::read_graph(graph::Bytes::of_file(path));
  auto add = [&](const std::vector<tensorflow::NodeDef>& nodes, const std::string& prefix) {
    for (const tensorflow::NodeDef& node : nodes) {
      const bool known = node.type == "Placeholder" || tensorflow::find_row(node.type);
      all.push_back({prefix + std::string(node.name), std::string(node.type),
                     known ? "" : "there is no converter for this operator"});
    }
  };
  add(model.nodes, "");
  for (const auto& [name, function] : model.functions) add(function.nodes, std::string(name) + "/");
  return all;
}

std::vector<Finding> caffe_findings(const std::string& path) {
  std::vector<Finding> all;
  const caffe::Net net = caffe::read_net(graph::Bytes::of_file(path).text());
  for (const caffe::Layer& layer : net.layers) {
    const bool known = layer.type == "Input" || caffe::find_row(layer.type);
    all.push_back({layer.name, layer.type, known ? "" : caffe::refusal_of(layer.type)});
  }
  return all;
}

std::vector<Finding> graph_findings(const std::string& path) {
  std::vector<Finding> all;
  const graph::Model model = graph::read_model(graph::Bytes::of_file(path));
  static constexpr std::string_view kOwn[] = {"Data", "RefData", "Const", "Constant", "NetOutput", "FileConstant"};
  for (const auto& node : model.graph->nodes()) {
    const bool known = graph::operator_of(*node) || graph::is_control_flow(*node) ||
                       std::ranges::count(kOwn, std::string_view(node->type()));
    all.push_back({node->name(), node->type(), known ? "" : "the virtual NPU has no operator of this type"});
  }
  return all;
}

}  // namespace

void check_model(const Arguments& arguments, Progress& progress) {
  const std::string& framework = arguments.need("framework", kFrameworks);
  const std::string& path = arguments.need("model", "the path of a model");
  if (framework == "0") arguments.need("weight", kWeights);
  progress.stage("checking");
  std::vector<Finding> findings;
  std::string whole;  // why the model as a whole is refused
  try {
    if (framework == "5") findings = onnx_findings(path);
    else if (framework == "1") findings = graph_findings(path);
    else if (framework == "3") findings = tensorflow_findings(path);
    else if (framework == "0") findings = caffe_findings(path);
  } catch (const Error& e) { throw invalid("model", path, e.text(), "Check that the file is whole."); }
  try {
    read_source(arguments);
  } catch (const Error& e) { whole = e.text(); }
  Json report{{"result", whole.empty() ? "success" : "failed"}, {"model", path}};
  if (!whole.empty()) report["cause"] = whole;
  Json& nodes = report["op"] = Json::array();
  size_t refused = 0;
  std::string first;
  for (const Finding& f : findings) {
    std::string reason = f.reason;
    // the importer's reason for a node whose operator there is
    if (reason.empty() && whole.find(fmt::format("{} ({})", f.name, f.type)) != std::string::npos) reason = whole;
    refused += !reason.empty();
    if (first.empty() && !reason.empty()) first = fmt::format("{} ({}): {}", f.name, f.type, reason);
    Json node{{"op_name", f.name}, {"op_type", f.type}, {"result", reason.empty() ? "success" : "failed"}};
    if (!reason.empty()) node["cause"] = reason;
    nodes.push_back(std::move(node));
  }
  const std::string to = arguments.get("check_report");
  write_file(to, json_text(report, 1) + "\n", "check_report");
  if (refused)
    throw Refusal(framework == "1" ? "EZ3003" : "E19010",
                  fmt::format("{} of {} nodes cannot be compiled; the first is {}.", refused, findings.size(), first),
                  fmt::format("{} lists all of them.", to));
  if (!whole.empty()) throw Refusal("E10001", whole, fmt::format("{} has the same.", to));
  std::printf("All %zu nodes can be compiled; %s lists them.\n", findings.size(), to.c_str());
}

}  // namespace updraft::atc
