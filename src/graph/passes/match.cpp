#include "graph/passes/match.h"

#include <algorithm>

#include "graph/node_call.h"

namespace updraft::graph {

Endpoint input_of(const Node& node, std::string_view name) {
  const int i = node.find_input(name);
  return i < 0 ? Endpoint{} : node.input(i).from;
}

std::optional<double> number_at(Endpoint from) {
  const Tensor* constant = constant_at(from);
  if (!constant || constant->count() != 1 || !is_floating(constant->dtype)) return {};
  return constant->reals()[0];
}

Node* only_reader(const Node& node) {
  if (node.outputs().size() != 1 || node.output().uses.size() != 1) return nullptr;
  Node* reader = node.output().uses[0].node;
  return reader->control_inputs().empty() ? reader : nullptr;
}

Node* only_reader(const Node& node, std::string_view type) {
  Node* reader = only_reader(node);
  return reader && reader->type() == type ? reader : nullptr;
}

std::optional<Dims> order_of(const Node& node) {
  Dims order;
  if (node.type() == "TransposeD") {
    const auto* perm = find<Attribute::Integers>(node.attributes, "perm");
    if (!perm) return {};
    order = *perm;
  } else {
    const Tensor* perm =
        node.type() == "Transpose" && node.inputs().size() == 2 ? constant_at(node.input(1).from) : nullptr;
    if (!perm) return {};
    order = perm->integers();
  }
  const auto rank = static_cast<int64_t>(order.size());
  std::vector<bool> seen(order.size());
  for (int64_t& d : order) {
    if (d < 0) d += rank;
    if (d < 0 || d >= rank || seen[static_cast<size_t>(d)]) return {};
    seen[static_cast<size_t>(d)] = true;
  }
  return order;
}

std::optional<ProductFlags> product_flags(const Node& node, bool with_bias) {
  const bool batches = node.type() == "BatchMatMul" || node.type() == "BatchMatMulV2";
  if (!batches && node.type() != "MatMul" && node.type() != "MatMulV2") return {};
  if (node.inputs().size() < 2) return {};
  for (size_t i = 0; i < node.inputs().size(); ++i) {
    const Input& input = node.inputs()[i];
    if (i < 2 ? !input.from : input.from && !(with_bias && input.name == "bias")) return {};
  }
  return batches ? ProductFlags{"adj_x1", "adj_x2"} : ProductFlags{"transpose_x1", "transpose_x2"};
}

void take_along(Graph& graph, Node& product, const ProductFlags& flags, const char* kind, Node& last,
                const char* pass) {
  std::vector<std::string> origins = origins_of(product);
  origins.push_back(last.name());
  const bool turned[] = {find_or(product.attributes, flags.first, false),
                         find_or(product.attributes, flags.second, false)};
  for (const char* name : {flags.first, flags.second, "offset_x"}) product.attributes.erase(name);
  product.attributes["transpose_x1"] = turned[0];
  product.attributes["transpose_x2"] = turned[1];
  product.attributes["fused_op_type"] = kind;
  for (int i = static_cast<int>(product.inputs().size()); i-- > 2;)
    if (product.input(i).name != "bias") graph.remove_input(product, i);
  graph.set_type(product, "FusedMatMul");
  product.attributes["PassName"] = pass;
  product.attributes["OriginOp"] = std::move(origins);
  graph.replace(last.out(), last.input(0).from);
  graph.move_controls(last, product);
  graph.remove(last);
}

std::vector<std::string> origins_of(const Node& node) {
  return find_or(node.attributes, "OriginOp", std::vector<std::string>{node.name()});
}

bool is_written(Endpoint from) {
  return is_updated_input(from) || std::ranges::any_of(from.node->output(from.index).uses, [](const Use& use) {
           return updates_input(*use.node, static_cast<size_t>(use.index));
         });
}

const TensorDesc& desc_of(Endpoint from) { return from.node->output(from.index).desc; }

std::vector<const Node*> take_place(Graph& graph, Node& made, std::span<Node* const> nodes, const char* pass) {
  std::vector<std::string> origins;
  for (const Node* node : nodes) origins.push_back(node->name());
  made.attributes["PassName"] = pass;
  made.attributes["OriginOp"] = origins;
  graph.replace(nodes.back()->out(), made.out());
  std::vector<const Node*> gone;
  std::vector<Node*> left(nodes.begin(), nodes.end());
  const auto unread = [](const Node* node) {
    return std::ranges::all_of(node->outputs(), [](const Output& output) { return output.uses.empty(); });
  };
  for (auto at = std::ranges::find_if(left, unread); at != left.end(); at = std::ranges::find_if(left, unread)) {
    graph.move_controls(**at, made);
    gone.push_back(*at);
    graph.remove(**at);
    left.erase(at);
  }
  return gone;
}

}  // namespace updraft::graph
