#include "graph/compile/compile.h"

#include <algorithm>
#include <charconv>

#include "base/error.h"
#include "graph/node_call.h"
#include "graph/passes/pass.h"
#include "graph/planner/program.h"
#include "graph/shape/probe.h"

namespace updraft::graph {
namespace {

std::string_view trim(std::string_view s) {
  while (!s.empty() && s.front() == ' ') s.remove_prefix(1);
  while (!s.empty() && s.back() == ' ') s.remove_suffix(1);
  return s;
}

/// Calls f with each part; no parts in an empty text.
template <class F>
void split(std::string_view text, char at, F&& f) {
  while (!text.empty()) {
    const size_t end = text.find(at);
    f(trim(text.substr(0, end)));
    if (end == std::string_view::npos) return;
    text.remove_prefix(end + 1);
  }
}

const std::string* option(const OptionTexts& options, std::initializer_list<const char*> names) {
  for (const char* name : names)
    if (const auto found = options.find(name); found != options.end() && !found->second.empty()) return &found->second;
  return nullptr;
}

/// The Data nodes have these sizes from now on.
void set_input_shapes(const Graph& graph, const std::map<std::string, Dims>& shapes) {
  std::string names;
  for (const Node* node : graph.inputs()) names += (names.empty() ? "" : ", ") + node->name();
  for (const auto& [name, dims] : shapes) {
    Node* node = graph.find(name);
    if (!node || (node->type() != "Data" && node->type() != "RefData"))
      throw Error(code::kAclInvalidParam, "input_shape names {}, which is no input; the inputs are {}", name, names);
    TensorDesc& desc = node->output_desc();
    bool fits = !desc.rank_known() || desc.dims.size() == dims.size();
    for (size_t d = 0; fits && desc.rank_known() && d < dims.size(); ++d)
      fits = desc.dims[d] < 0 || dims[d] < 0 || desc.dims[d] == dims[d];
    if (!fits)
      throw Error(code::kAclInvalidParam, "input_shape gives {} the shape {}, the model says {}", name, describe(dims),
                  describe(desc));
    if (!desc.rank_known()) desc.dims = dims;
    for (size_t d = 0; d < dims.size(); ++d)
      if (desc.dims[d] < 0) desc.dims[d] = dims[d];
    desc.origin_dims = desc.dims;
    if (!node->inputs().empty()) node->input_desc(0) = desc;
  }
}

/// Writes into every description what is known of the tensor.
void infer_all(const Graph& graph) {
  Probe probe;
  for (Node* node : needed_in_order(graph)) {
    if (node->type() == "Data" || node->type() == "RefData") probe.feed(*node);
    else if (is_control_flow(*node)) probe.leave(*node);
    else if (node->type() != "NetOutput") probe.infer(*node);
  }
}

}  // namespace

std::map<std::string, Dims> parse_input_shapes(const std::string& text) {
  std::map<std::string, Dims> shapes;
  split(text, ';', [&](std::string_view part) {
    if (part.empty()) return;
    const size_t colon = part.rfind(':');
    Dims& dims = shapes[std::string(trim(part.substr(0, colon)))];
    if (colon == std::string_view::npos) return;
    split(part.substr(colon + 1), ',', [&](std::string_view number) {
      int64_t size = 0;
      const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), size);
      if (error != std::errc() || end != number.data() + number.size() || size < -1)
        throw Error(code::kAclInvalidParam,
                    "input_shape: '{}' in '{}' is no size, want numbers and -1, as in x:1,3,-1,224", number, part);
      dims.push_back(size);
    });
  });
  return shapes;
}

void check_options(const OptionTexts& options) {
  static constexpr std::string_view kPrecision[] = {"force_fp16",
                                                    "force_fp32",
                                                    "cube_fp16in_fp32out",
                                                    "allow_fp32_to_fp16",
                                                    "must_keep_origin_dtype",
                                                    "allow_mix_precision",
                                                    "allow_mix_precision_fp16",
                                                    "allow_mix_precision_bf16",
                                                    "allow_fp32_to_bf16"};
  if (const auto* mode = option(options, {"ge.exec.precision_mode", "precision_mode"}))
    if (std::ranges::find(kPrecision, std::string_view(*mode)) == std::end(kPrecision))
      throw Error(code::kAclInvalidParam, "precision_mode is {}, want one of {}", *mode, fmt::join(kPrecision, ", "));
  static constexpr std::string_view kImplementation[] = {"high_precision", "high_performance", "high_precision_for_all",
                                                         "high_performance_for_all"};
  if (const auto* mode = option(options, {"ge.opSelectImplmode", "op_select_implmode"}))
    if (std::ranges::find(kImplementation, std::string_view(*mode)) == std::end(kImplementation))
      throw Error(code::kAclInvalidParam, "op_select_implmode is {}, want one of {}", *mode,
                  fmt::join(kImplementation, ", "));
}

Model compile(const Model& model, const OptionTexts& options) {
  check_options(options);
  Model compiled = model;
  compiled.graph = copy(*model.graph);
  for (auto& [name, subgraph] : compiled.subgraphs) subgraph = copy(*subgraph);
  Graph& graph = *compiled.graph;
  if (const auto* shapes = option(options, {"input_shape", "ge.inputShape"}))
    set_input_shapes(graph, parse_input_shapes(*shapes));
  infer_all(graph);
  run_passes(graph);
  infer_all(graph);
  if (const auto* soc = option(options, {"ge.socVersion", "soc_version"})) compiled.attributes["soc_version"] = *soc;
  return compiled;
}

}  // namespace updraft::graph
