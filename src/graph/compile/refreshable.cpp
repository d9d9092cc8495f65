#include "graph/compile/refreshable.h"

#include <set>

#include "base/error.h"

namespace updraft::graph {
namespace {

Model named(const Model& model, const char* suffix) {
  Model made;
  made.name = model.name + suffix;
  made.graph = std::make_shared<Graph>(model.graph->name() + suffix);
  made.graph->make_net_output();
  return made;
}

/// variable = value, which nothing else of the graph waits for.
void add_assignment(Graph& graph, const std::string& name, const TensorDesc& desc, Endpoint value) {
  Node& variable = graph.add("Variable", name);
  graph.add_output(variable, "y", desc);
  Node& assign = graph.add("Assign", name + "_assign");
  graph.add_input(assign, "ref", variable.out());
  graph.add_input(assign, "value", value);
  graph.add_output(assign, "ref", desc);
  graph.add_control(assign, *graph.net_output());
}

}  // namespace

Refreshable make_refreshable(const Model& model, const std::vector<std::string>& constants) {
  Refreshable made{model, named(model, "_var_init"), named(model, "_var_update")};
  made.infer.graph = copy(*model.graph);
  std::set<std::string> seen;
  for (const std::string& name : constants) {
    if (!seen.insert(name).second)
      throw Error(code::kAclnnParamInvalid, "{} is named twice among the constants to be refreshed", name);
    Node* node = made.infer.graph->find(name);
    const Tensor* constant = node ? node->constant() : nullptr;
    if (!constant)
      throw Error(code::kAclnnParamInvalid,
                  "{} is {}: weights that can be refreshed are constants (Const) of the main graph, by their names",
                  name, node ? "a node of type " + node->type() : "no node of the graph " + model.graph->name());
    const Tensor value = *constant;
    TensorDesc desc(value.dtype, value.dims);
    desc.format = value.format;
    add_assignment(*made.init.graph, name, desc, made.init.graph->add_constant(name + "_value", value).out());
    Node& data = made.update.graph->add_data(name + "_new", static_cast<int64_t>(seen.size()) - 1, desc);
    add_assignment(*made.update.graph, name, desc, data.out());
    node->attributes.clear();
    made.infer.graph->set_type(*node, "Variable");
    node->output_desc() = desc;
  }
  return made;
}

}  // namespace updraft::graph
