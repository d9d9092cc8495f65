#include "graph/compile/prints.h"

#include <vector>

#include "graph/passes/match.h"

namespace updraft::graph {

void join_prints(Graph& graph) {
  std::vector<Node*> prints;
  for (const auto& node : graph.nodes())
    if (node->type() == "PrintV2") prints.push_back(node.get());
  for (Node* print : prints) {
    const Endpoint text = input_of(*print, "x");
    if (!text || text.node->type() != "StringFormat" || text.node->output().uses.size() != 1) continue;
    Node& format = *text.node;
    Node& made = graph.add("PrintTensors", print->name());
    made.attributes["format"] = find_or<std::string>(format.attributes, "template", "%s");
    made.attributes["placeholder"] = find_or<std::string>(format.attributes, "placeholder", "%s");
    made.attributes["summarize"] = find_or<int64_t>(format.attributes, "summarize", 3);
    made.attributes["OriginOp"] = std::vector<std::string>{format.name(), print->name()};
    for (const Input& input : format.inputs()) graph.add_input(made, input.name, input.from);
    for (Node* node : {print, &format}) {
      graph.move_controls(*node, made);
      graph.remove(*node);
    }
  }
}

}  // namespace updraft::graph
