// Chains of elementwise nodes between DequantizeLinear and QuantizeLinear, however many such pairs are inside: what
// they give is a function of one number of eight bits, so it is a table of 256 numbers. The operators themselves
// compute it here, so results are the same bits.
#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "base/error.h"
#include "graph/passes/match.h"
#include "graph/passes/pass.h"
#include "graph/shape/known.h"

namespace updraft::graph {
namespace {

constexpr size_t kMostNodes = 40;
constexpr int64_t kNumbers = 256;

bool is_byte(DType t) { return t == DType::Int8 || t == DType::UInt8; }

/// One scale and zero point for the whole tensor.
bool is_of_tensor(const Node& node) {
  const auto one = [&](const char* name) {
    const Endpoint from = input_of(node, name);
    const Tensor* constant = constant_at(from);
    return !from || (constant && constant->count() == 1);
  };
  return input_of(node, "scale") && one("scale") && one("zero_point");
}

bool is_elementwise(const Node& node) {
  static constexpr std::string_view kTypes[] = {
      "Abs",     "Add",     "Div",  "Elu",      "Erf",    "Exp",   "GeluV2",  "HardSigmoid", "HardSwish", "Log",
      "Maximum", "Minimum", "Mish", "Mul",      "Neg",    "Pow",   "RealDiv", "Reciprocal",  "Relu",      "Relu6",
      "Sigmoid", "Sqrt",    "Sub",  "Softplus", "Square", "Swish", "Tanh",    "LeakyRelu"};
  if (node.outputs().size() != 1 || !node.control_inputs().empty() || !node.control_outputs().empty()) return false;
  if (node.type() == "QuantizeLinear" || node.type() == "DequantizeLinear") return is_of_tensor(node);
  return std::ranges::find(kTypes, std::string_view(node.type())) != std::end(kTypes);
}

/// A number of the model, as it is or as numbers of eight bits.
bool is_number(Endpoint from) {
  if (const Tensor* constant = constant_at(from)) return constant->count() == 1;
  return from && from.node->type() == "DequantizeLinear" && is_of_tensor(*from.node) &&
         is_number(from.node->input(0).from);
}

/// Nodes that end in one, of which nothing else is read but numbers of eight bits that become real ones.
class Cone {
 public:
  explicit Cone(Node& end) { nodes_.push_back(&end); }

  /// The last one first.
  const std::vector<Node*>& nodes() const { return nodes_; }

  std::vector<Endpoint> sources() const {
    std::vector<Endpoint> all;
    for (const Node* node : nodes_)
      for (const Input& input : node->inputs())
        if (input.from && !is_number(input.from) && !contains(input.from.node) &&
            std::ranges::find(all, input.from) == all.end())
          all.push_back(input.from);
    return all;
  }

  /// Takes the node of a source in, the one that is computed last, so that what all paths lead to comes at the end.
  bool grow(const std::unordered_map<const Node*, size_t>& order) {
    const std::vector<Endpoint> all = sources();
    if (all.empty()) return false;
    const Endpoint from = *std::ranges::max_element(all, {}, [&](const Endpoint& e) { return order.at(e.node); });
    if (from.index != 0 || !is_elementwise(*from.node)) return false;
    const bool shared = from.node->type() == "DequantizeLinear";  // others may read it as well: it is cheap to repeat
    if (!shared && !std::ranges::all_of(from.node->output().uses, [&](const Use& use) { return contains(use.node); }))
      return false;
    nodes_.push_back(from.node);
    return true;
  }

  /// What the end is for all numbers that the source may be; nothing where an operator refuses.
  std::optional<Tensor> table(Endpoint source) const {
    const DType type = desc_of(source).dtype;
    Tensor all{type, {kNumbers}, Bytes::make(kNumbers, [](std::byte* to) {
                 for (int64_t i = 0; i < kNumbers; ++i) to[i] = static_cast<std::byte>(i);
               })};
    std::map<const Node*, Tensor> known;  // what the nodes give
    auto found = value(Endpoint{nodes_[0], 0}, source, all, known);
    if (!found || found->count() != kNumbers || !is_byte(found->dtype)) return {};
    found->dims = {kNumbers};
    return found;
  }

 private:
  bool contains(const Node* node) const { return std::ranges::find(nodes_, node) != nodes_.end(); }

  std::optional<Tensor> value(Endpoint at, Endpoint source, const Tensor& all,
                              std::map<const Node*, Tensor>& found) const {
    if (at == source) return all;
    if (const Tensor* constant = constant_at(at)) return *constant;
    if (const auto before = found.find(at.node); before != found.end()) return before->second;
    std::vector<Known> inputs;
    for (const Input& input : at.node->inputs()) {
      if (!input.from) {
        inputs.emplace_back();
        continue;
      }
      auto known = value(input.from, source, all, found);
      if (!known) return {};
      inputs.emplace_back(*known);
    }
    try {
      const auto outputs = infer_node(*at.node, inputs, kNumbers * 64);
      if (outputs.size() == 1 && outputs[0].value) return found[at.node] = *outputs[0].value;
    } catch (const Error&) {}  // it is refused when the graph runs, if it ever does
    return {};
  }

  std::vector<Node*> nodes_;
};

bool same_sizes(Endpoint a, Endpoint b) {
  return desc_of(a).rank_known() && desc_of(b).rank_known() && desc_of(a).dims == desc_of(b).dims;
}

}  // namespace

int64_t make_byte_tables(Graph& graph) {
  int64_t changes = 0;
  std::vector<Node*> nodes = graph.in_order();
  std::unordered_map<const Node*, size_t> order;
  for (size_t i = 0; i < nodes.size(); ++i) order[nodes[i]] = i;
  std::unordered_set<const Node*> gone;
  for (auto it = nodes.rbegin(); it != nodes.rend(); ++it) {
    Node& end = **it;
    if (gone.contains(&end)) continue;
    if (end.type() != "QuantizeLinear" || !is_elementwise(end)) continue;
    Cone cone(end), found(end);
    Endpoint source;
    do {
      const std::vector<Endpoint> sources = cone.sources();
      if (cone.nodes().size() < 3 || sources.size() != 1 || !is_byte(desc_of(sources[0]).dtype) ||
          !same_sizes(sources[0], end.out()))
        continue;
      source = sources[0];
      found = cone;
    } while (cone.nodes().size() < kMostNodes && cone.grow(order));
    auto table = source ? found.table(source) : std::nullopt;
    if (!table) continue;
    Node& node = graph.add("ByteTable", end.name());
    node.attributes["dtype"] = static_cast<int64_t>(table->dtype);
    graph.add_input(node, "x", source);
    graph.add_input(node, "table", graph.add_constant(end.name() + "_table", std::move(*table)).out());
    graph.add_output(node, "y", end.output().desc);
    std::vector<Node*> origins(found.nodes().rbegin(), found.nodes().rend());
    const auto removed = take_place(graph, node, origins, "ByteTableFusionPass");
    gone.insert(removed.begin(), removed.end());
    ++changes;
  }
  return changes;
}

}  // namespace updraft::graph
