#include "ge/subgraphs.h"

#include <algorithm>
#include <functional>
#include <optional>

#include "base/error.h"
#include "ge/graph_impl.h"
#include "graph/shape/probe.h"

namespace ge {

using updraft::Error;
namespace code = updraft::code;
namespace ir = updraft::graph;

namespace {

template <class... A>
[[noreturn]] void refuse(const OperatorImpl& op, fmt::format_string<A...> text, A&&... values) {
  throw Error(code::kAclInvalidParam, "{}: {}", op.text(), fmt::format(text, std::forward<A>(values)...));
}

/// A branch may take some of what its node gives, by their index: the others become inputs that nobody reads.
void take_all(const OperatorImpl& op, ir::Graph& graph) {
  const std::vector<Slot>& given = op.inputs.back().slots;
  const std::vector<ir::Node*> data = graph.inputs();
  if (op.type == "While" || data.size() >= given.size()) return;
  const auto index = [](const ir::Node* node) {
    return ir::find_or<int64_t>(node->attributes, kParentIndex, ir::find_or<int64_t>(node->attributes, "index", 0));
  };
  if (std::ranges::adjacent_find(data, std::ranges::greater_equal(), index) != data.end()) return;
  if (!data.empty() && (index(data.front()) < 0 || index(data.back()) >= static_cast<int64_t>(given.size()))) return;
  size_t next = 0;
  for (size_t i = 0; i < given.size(); ++i) {
    const auto number = static_cast<int64_t>(i);
    if (next < data.size() && index(data[next]) == number) {
      data[next++]->attributes["index"] = number;
      continue;
    }
    std::optional<ir::TensorDesc> desc = given[i].desc;
    if (const OutputOf& from = given[i].from; !desc && from.op)
      desc = from.op->outputs.at(from.port).slots.at(from.item).desc;
    graph.add_data(fmt::format("{}_unread_{}", graph.name(), i), number, desc.value_or(ir::TensorDesc()));
  }
}

/// The graph that the builder makes, with the graphs that it calls itself, under names that the whole model has once.
ir::Graph& add(const OperatorImpl& op, const std::string& which, const ir::Node& node, ir::Model& model) {
  const auto builder = op.builders.find(which);
  if (builder == op.builders.end()) refuse(op, "graph {} is missing: set_subgraph_builder_{}", which, which);
  const Graph made = builder->second();
  const GraphImpl* impl = graph_impl(made);
  const std::string name = model.name + "/" + node.name() + "/" + which;
  ir::Model sub = !impl ? ir::Model() : impl->operators.empty() ? impl->model : compose(name, impl->operators);
  if (!sub.graph) refuse(op, "graph {} has no nodes", which);
  sub.graph = ir::copy(*sub.graph);  // a graph that was read may be in several places
  sub.graph->rename(name);
  take_all(op, *sub.graph);
  for (auto& [inner, graph] : sub.subgraphs)
    if (!model.subgraphs.emplace(inner, graph).second)
      refuse(op, "graph {} brings a graph {} that is there already", which, inner);
  return *(model.subgraphs[name] = sub.graph);
}

/// What is known of both.
ir::TensorDesc joined(const OperatorImpl& op, size_t i, const ir::TensorDesc& a, const ir::TensorDesc& b) {
  if (a.dtype != b.dtype)
    refuse(op, "output {} is {} by one of its graphs and {} by another", i, ir::describe(a), ir::describe(b));
  ir::TensorDesc both(a.dtype, a.dims, a.format);
  if (!a.rank_known() || !b.rank_known() || a.dims.size() != b.dims.size()) both.dims = {ir::kUnknownRank};
  else
    for (size_t d = 0; d < a.dims.size(); ++d)
      if (a.dims[d] != b.dims[d]) both.dims[d] = ir::kUnknownDim;
  both.origin_dims = both.dims;
  return both;
}

/// Descriptions of what the graph gives.
std::vector<ir::TensorDesc> results_of(const ir::Graph& graph) {
  ir::infer_all(graph);
  std::vector<ir::TensorDesc> descs;
  for (const ir::Input& input : graph.net_output()->inputs())
    descs.push_back(input.from.node->output(input.from.index).desc);
  return descs;
}

void want(const OperatorImpl& op, const std::string& which, const char* what, size_t has, size_t wants) {
  if (has != wants) refuse(op, "graph {} has {} {}, want {}", which, has, what, wants);
}

}  // namespace

void add_subgraphs(const OperatorImpl& op, ir::Node& node, ir::Model& model) {
  const size_t inputs = op.inputs.back().slots.size(), outputs = op.outputs[0].slots.size();
  const bool loop = op.type == "While";
  if (loop && inputs != outputs)
    refuse(op, "{} inputs and {} outputs: what a turn begins with the next one gets", inputs, outputs);
  std::vector<std::string> names;
  for (const IrGraph& graph : op.ir->graphs) {
    const auto count = op.graph_counts.find(graph.name);
    if (graph.list && count == op.graph_counts.end())
      refuse(op, "graphs {} are missing: create_dynamic_subgraph_{}", graph.name, graph.name);
    if (!graph.list) names.emplace_back(graph.name);
    else
      for (unsigned i = 0; i < count->second; ++i) names.push_back(graph.name + std::to_string(i));
  }
  std::vector<ir::TensorDesc> known;
  for (size_t g = 0; g < names.size(); ++g) {
    const std::string& which = names[g];
    const ir::Graph& graph = add(op, which, node, model);
    node.subgraphs.push_back(graph.name());
    const std::vector<ir::Node*> data = graph.inputs();
    want(op, which, "inputs", data.size(), inputs);
    const bool condition = loop && g == 0;
    std::vector<ir::TensorDesc> results = results_of(graph);
    want(op, which, "outputs", results.size(), condition ? 1 : outputs);
    if (condition) {  // what the state is before the first turn
      results.clear();
      for (const ir::Node* input : data) results.push_back(input->output().desc);
    }
    for (size_t i = 0; i < outputs && g > 0; ++i) results[i] = joined(op, i, known[i], results[i]);
    known = std::move(results);
  }
  for (size_t i = 0; i < outputs; ++i) node.output_desc(static_cast<int>(i)) = known[i];
}

}  // namespace ge
