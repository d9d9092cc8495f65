#include "frontends/tensorflow/import.h"

#include <algorithm>
#include <functional>
#include <unordered_map>
#include <unordered_set>

#include "frontends/tensorflow/conversion.h"

namespace updraft::tensorflow {
namespace {

constexpr int kDeepest = 64;            ///< functions that call each other
constexpr size_t kMostNodes = 1 << 18;  ///< converted in all

/// Outputs of operators that have names of several: where a function's node says "node:name:0".
int first_of(std::string_view type, std::string_view output) {
  static constexpr std::tuple<std::string_view, std::string_view, int> kOutputs[] = {
      {"FusedBatchNorm", "batch_mean", 1},
      {"FusedBatchNorm", "batch_variance", 2},
      {"FusedBatchNorm", "reserve_space_1", 3},
      {"FusedBatchNorm", "reserve_space_2", 4},
      {"FusedBatchNorm", "reserve_space_3", 5},
      {"TopK", "indices", 1},
      {"Unique", "idx", 1},
      {"SparseSoftmaxCrossEntropyWithLogits", "backprop", 1},
      {"SoftmaxCrossEntropyWithLogits", "backprop", 1},
      {"NonMaxSuppressionV4", "valid_outputs", 1},
      {"NonMaxSuppressionV5", "selected_scores", 1},
      {"NonMaxSuppressionV5", "valid_outputs", 2},
  };
  for (const auto& [begin, name, place] : kOutputs)
    if (type.starts_with(begin) && output == name) return place;
  return 0;
}

bool is_input(const NodeDef& node) { return node.type == "Placeholder"; }

class Importer : public Functions {
 public:
  Importer(GraphDef def, const ImportOptions& options) : def_(std::move(def)), options_(options) {}

  graph::Model run() {
    model_.name = "graph";
    model_.graph = std::make_shared<graph::Graph>(model_.name);
    graph::Builder build(*model_.graph);
    Frame frame{build, def_.nodes, "", nullptr};
    index(frame);
    inputs(frame);
    outputs(frame);
    return std::move(model_);
  }

  std::vector<Endpoint> inlined(Conversion& of, std::string_view name, const std::vector<Endpoint>& inputs) override {
    const FunctionDef& f = function(of, name);
    of.require(f.inputs.size() == inputs.size(), "function {} has {} inputs, the call gives {}", name, f.inputs.size(),
               inputs.size());
    Frame frame{of.build, f.nodes, of.name + "/", &f};
    if (++depth_ > kDeepest) of.refuse("functions lie deeper in each other than {}", kDeepest);
    index(frame);
    for (size_t i = 0; i < inputs.size(); ++i) frame.known[f.inputs[i].name] = {inputs[i]};
    std::vector<Endpoint> results;
    for (const ArgDef& output : f.outputs) {
      const auto found = f.results.find(output.name);
      of.require(found != f.results.end(), "output {} of function {} is given by no node", output.name, name);
      results.push_back(tensor(frame, found->second, name));
    }
    --depth_;
    return results;
  }

  Body body(Conversion& of, std::string_view name, const std::vector<graph::TensorDesc>& inputs) override {
    std::string own(name);
    for (int n = 1; model_.subgraphs.contains(own); ++n) own = fmt::format("{}_{}", name, n);
    Body made{own, {}};
    auto graph = std::make_shared<graph::Graph>(own);
    model_.subgraphs[own] = graph;
    graph::Builder build(*graph);
    Conversion inside(of.proto, of.row, build, *this, of.name, {});
    std::vector<Endpoint> fed;
    for (size_t i = 0; i < inputs.size(); ++i)
      fed.push_back(build.input("input" + std::to_string(i), static_cast<int64_t>(i), inputs[i]));
    std::vector<Endpoint> results = inlined(inside, name, fed);
    // An output that is an input is a node of its own: outputs are written, inputs are not.
    for (Endpoint& e : results)
      if (std::ranges::any_of(fed, [&](const Endpoint& f) { return f.node == e.node; }))
        e = inside.emit("Identity", {e});
    for (const Endpoint e : results) made.outputs.push_back(build.desc(e));
    build.outputs(results);
    return made;
  }

  void drop(const Body& body) override { model_.subgraphs.erase(body.name); }

 private:
  /// The graph, or a function at one place where it is called.
  struct Frame {
    graph::Builder& build;
    const std::vector<NodeDef>& nodes;
    std::string prefix;  ///< before the names of nodes
    const FunctionDef* function;
    std::unordered_map<std::string_view, const NodeDef*> by_name = {};
    std::unordered_map<std::string_view, std::vector<Endpoint>> known = {};  ///< outputs of what is converted
  };

  [[noreturn]] static void refuse(const Frame& frame, const NodeDef& node, const std::string& why) {
    throw Error(code::kAclnnParamInvalid, "{}{} ({}): {}", frame.prefix, node.name, node.type, why);
  }

  const FunctionDef& function(const Conversion& of, std::string_view name) const {
    const auto found = def_.functions.find(name);
    of.require(found != def_.functions.end(), "function {} is not in the graph's library", name);
    return found->second;
  }

  static void index(Frame& frame) {
    for (const NodeDef& node : frame.nodes)
      if (!frame.by_name.emplace(node.name, &node).second)
        refuse(frame, node, "another node of the graph has that name");
  }

  void inputs(Frame& frame) {
    int64_t place = 0;
    std::vector<std::string_view> names;
    for (const NodeDef& node : frame.nodes) {
      if (!is_input(node)) continue;
      const std::string name(node.name);
      names.push_back(node.name);
      graph::TensorDesc desc;
      const auto type = node.attributes.find("dtype");
      if (type == node.attributes.end() || type->second.kind != AttrValue::Kind::Type)
        refuse(frame, node, "attribute dtype is missing");
      desc.dtype = dtype_of(type->second.type);
      if (desc.dtype == DType::Undefined)
        refuse(frame, node, fmt::format("its type is {}, which the virtual NPU has not", name_of(type->second.type)));
      const auto shape = node.attributes.find("shape");
      const bool known = shape != node.attributes.end() && shape->second.shape.rank_known;
      desc.dims = known ? shape->second.shape.dims : Dims{graph::kUnknownRank};
      frontends::set_shape(options_, name, known, desc);
      frame.known[node.name] = {frame.build.input(name, place++, std::move(desc))};
    }
    frontends::require_inputs(options_, names);
  }

  void outputs(Frame& frame) {
    std::vector<std::string> wanted = options_.output_nodes;
    if (wanted.empty()) wanted = unread(frame);
    std::vector<Endpoint> results;
    graph::Attribute::Texts names;
    for (const std::string& name : wanted) {
      const Reference r = reference_of(name);
      if (!frame.by_name.contains(r.node))
        throw Error(code::kAclnnParamInvalid,
                    "output {} is asked for; no node and no tensor of the model has that name", name);
      results.push_back(tensor(frame, name, "the outputs"));
      names.push_back(fmt::format("{}:{}", r.node, r.index));
    }
    if (results.empty()) throw Error(code::kAclnnParamInvalid, "the graph has no nodes that give anything");
    frame.build.outputs(results);
    model_.graph->attributes["output_names"] = names;
  }

  /// Nodes that nobody reads, and that are no side effects.
  static std::vector<std::string> unread(const Frame& frame) {
    std::unordered_set<std::string_view> read;
    for (const NodeDef& node : frame.nodes)
      for (const std::string_view input : node.inputs)
        read.insert(reference_of(input.starts_with('^') ? input.substr(1) : input).node);
    static constexpr std::string_view kNothing[] = {"NoOp", "Const", "Placeholder", "Assert"};
    std::vector<std::string> names;
    for (const NodeDef& node : frame.nodes)
      if (!read.contains(node.name) && std::ranges::find(kNothing, node.type) == std::end(kNothing))
        names.emplace_back(node.name);
    return names;
  }

  /// A tensor by its reference; nodes on the way are converted.
  Endpoint tensor(Frame& frame, std::string_view text, std::string_view reader) {
    const Reference r = reference_of(text);
    need(frame, r.node, reader);
    const std::vector<Endpoint>& given = frame.known.at(r.node);
    int index = r.index;
    if (!r.output.empty())
      if (const auto node = frame.by_name.find(r.node); node != frame.by_name.end())
        index += first_of(node->second->type, r.output);
    if (index < 0 || static_cast<size_t>(index) >= given.size() || !given[static_cast<size_t>(index)])
      throw Error(code::kAclnnParamInvalid, "{}{}: {} reads its output {}, which is not implemented", frame.prefix,
                  r.node, reader, index);
    return given[static_cast<size_t>(index)];
  }

  /// Converts a node and, before it, all that it reads: without recursion, since graphs are deep.
  void need(Frame& frame, std::string_view wanted, std::string_view reader) {
    if (frame.known.contains(wanted)) return;
    std::vector<std::pair<const NodeDef*, size_t>> stack;
    std::unordered_set<std::string_view> open;
    auto push = [&](std::string_view name, std::string_view by) {
      const auto found = frame.by_name.find(name);
      if (found == frame.by_name.end())
        throw Error(code::kAclnnParamInvalid, "{}{}: reads {}, which is no node of the graph", frame.prefix, by, name);
      if (!open.insert(name).second)
        refuse(
            frame, *found->second,
            "the graph has a cycle: loops of TensorFlow 1 (Enter, NextIteration) are not converted; freeze the model "
            "with convert_variables_to_constants_v2(function, lower_control_flow=False)");
      stack.emplace_back(found->second, 0);
    };
    push(wanted, reader);
    while (!stack.empty()) {
      auto& [node, next] = stack.back();
      if (next < node->inputs.size()) {
        const std::string_view input = node->inputs[next++];
        if (input.starts_with('^')) continue;  // order only: what is converted has no side effects
        const std::string_view name = reference_of(input).node;
        const std::string_view by = node->name;
        if (!frame.known.contains(name)) push(name, by);
        continue;
      }
      const NodeDef& ready = *node;
      stack.pop_back();
      convert(frame, ready);
      open.erase(ready.name);
    }
  }

  void convert(Frame& frame, const NodeDef& node) {
    const std::string name = frame.prefix + std::string(node.name);
    if (++converted_ > kMostNodes) refuse(frame, node, fmt::format("functions make more than {} nodes", kMostNodes));
    std::vector<Endpoint> inputs;
    if (find_row(node.type))
      for (const std::string_view input : node.inputs)
        if (!input.starts_with('^')) inputs.push_back(tensor(frame, input, node.name));
    frame.known[node.name] = Conversion::convert(node, name, std::move(inputs), frame.build, *this);
  }

  const GraphDef def_;
  const ImportOptions& options_;
  graph::Model model_;
  size_t converted_ = 0;
  int depth_ = 0;
};

}  // namespace

graph::Model import(graph::Bytes model, const ImportOptions& options) {
  return Importer(read_graph(std::move(model)), options).run();
}

bool looks_like_graph(std::span<const std::byte> bytes) {
  // The first field is a node (1), whose first field is its name (1).
  if (bytes.size() < 4 || bytes[0] != std::byte{0x0a}) return false;
  size_t at = 1;
  while (at < bytes.size() && (bytes[at] & std::byte{0x80}) != std::byte{0}) ++at;
  return at + 1 < bytes.size() && bytes[at + 1] == std::byte{0x0a};
}

}  // namespace updraft::tensorflow
