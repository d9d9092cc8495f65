// Chains of elementwise nodes that compute a function for which there is one operator: GELU, SiLU, Mish and their kin,
// which exporters write out. The chain is not compared with a pattern, because there are as many spellings as
// exporters: it is computed for some numbers in double precision, and the function that gives the same is the one.
#include <algorithm>
#include <cmath>
#include <optional>
#include <unordered_map>

#include "graph/passes/match.h"
#include "graph/passes/pass.h"

namespace updraft::graph {
namespace {

constexpr size_t kMostNodes = 12;
constexpr double kSame = 2e-6;  // of what is compared: constants of the chain were rounded to float or to a few digits
constexpr double kSamples[] = {-7.5, -4.2, -3.1, -2.6, -1.9, -1.3, -0.8, -0.31, -0.05, 0.0,
                               0.07, 0.4,  0.95, 1.45, 2.1,  2.8,  3.3,  4.6,   5.9,   8.25};
constexpr size_t kCount = std::size(kSamples);
using Values = std::array<double, kCount>;

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double gelu_tanh(double x) {
  return 0.5 * x * (1 + std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));  // sqrt(2 / pi)
}

struct Function {
  const char* type;
  const char* attribute;  ///< null: none
  Attribute (*value)();
  double (*of)(double);
};
const Function kFunctions[] = {
    {"GeluV2", "approximate", [] { return Attribute("none"); },
     [](double x) { return 0.5 * x * (1 + std::erf(x * 0.7071067811865476)); }},
    {"GeluV2", "approximate", [] { return Attribute("tanh"); }, gelu_tanh},
    {"Swish", "scale", [] { return Attribute(1.0f); }, [](double x) { return x * sigmoid(x); }},
    {"Swish", "scale", [] { return Attribute(1.702f); }, [](double x) { return x * sigmoid(1.702 * x); }},
    {"Mish", nullptr, nullptr, [](double x) { return x * std::tanh(std::log1p(std::exp(x))); }},
    {"HardSwish", nullptr, nullptr, [](double x) { return x * std::clamp(x / 6 + 0.5, 0.0, 1.0); }},
};

double unary(std::string_view type, double x, bool& known) {
  if (type == "Erf") return std::erf(x);
  if (type == "Tanh") return std::tanh(x);
  if (type == "Sigmoid") return sigmoid(x);
  if (type == "Exp") return std::exp(x);
  if (type == "Neg") return -x;
  if (type == "Square") return x * x;
  if (type == "Softplus") return std::log1p(std::exp(x));
  if (type == "Relu6") return std::clamp(x, 0.0, 6.0);
  known = false;
  return 0;
}
double binary(std::string_view type, double x, double y, bool& known) {
  if (type == "Add") return x + y;
  if (type == "Sub") return x - y;
  if (type == "Mul") return x * y;
  if (type == "Div" || type == "RealDiv") return x / y;
  if (type == "Pow") return std::pow(x, y);
  known = false;
  return 0;
}

/// A node that is computed number by number, from one or two inputs.
bool is_elementwise(const Node& node) {
  if (node.outputs().size() != 1 || node.output().desc.dtype == DType::Undefined || !node.control_inputs().empty())
    return false;
  bool known = true;
  if (node.inputs().size() == 1) unary(node.type(), 1, known);
  else if (node.inputs().size() == 2) binary(node.type(), 1, 1, known);
  else return false;
  return known;
}

/// Nodes that end in one, of which nothing else is read, with the one tensor that they are computed from.
class Chain {
 public:
  explicit Chain(Node& end) { nodes_.push_back(&end); }

  const std::vector<Node*>& nodes() const { return nodes_; }

  /// The tensors that come from outside.
  std::vector<Endpoint> sources() const {
    std::vector<Endpoint> all;
    for (const Node* node : nodes_)
      for (const Input& input : node->inputs())
        if (!number_at(input.from) && !contains(input.from.node) && std::ranges::find(all, input.from) == all.end())
          all.push_back(input.from);
    return all;
  }

  /// Takes a node in that only the chain reads; false where there is none.
  bool grow() {
    for (const Endpoint& from : sources()) {
      if (!from || !is_elementwise(*from.node) || contains(from.node)) continue;
      const auto& uses = from.node->output().uses;
      if (!std::ranges::all_of(uses, [&](const Use& use) { return contains(use.node); })) continue;
      nodes_.push_back(from.node);
      return true;
    }
    return false;
  }

  /// What the end is for the samples of `source`; nothing where something is not a number of them.
  std::optional<Values> compute(Endpoint source) const {
    Values values;
    for (size_t i = 0; i < kCount; ++i) {
      const auto value = at(nodes_[0]->type(), *nodes_[0], source, kSamples[i]);
      if (!value || !std::isfinite(*value)) return {};
      values[i] = *value;
    }
    return values;
  }

 private:
  bool contains(const Node* node) const { return std::ranges::find(nodes_, node) != nodes_.end(); }

  std::optional<double> at(std::string_view type, const Node& node, Endpoint source, double sample) const {
    double x[2] = {};
    for (size_t i = 0; i < node.inputs().size(); ++i) {
      const Endpoint from = node.input(static_cast<int>(i)).from;
      std::optional<double> value = from == source ? sample : number_at(from);
      if (!value && contains(from.node)) value = at(from.node->type(), *from.node, source, sample);
      if (!value) return {};
      x[i] = *value;
    }
    bool known = true;
    return node.inputs().size() == 1 ? unary(type, x[0], known) : binary(type, x[0], x[1], known);
  }

  std::vector<Node*> nodes_;
};

const Function* function_of(const Values& values) {
  for (const Function& f : kFunctions) {
    bool same = true;
    for (size_t i = 0; same && i < kCount; ++i)
      same = std::abs(values[i] - f.of(kSamples[i])) <= kSame * (1 + std::abs(kSamples[i]));
    if (same) return &f;
  }
  return nullptr;
}

/// The constants must not change shape or type of what they are combined with.
bool keeps_description(const Node& end, Endpoint source) {
  const TensorDesc &x = source.node->output(source.index).desc, &y = end.output().desc;
  return x.dtype == y.dtype && is_floating(x.dtype) && x.rank_known() && x.dims == y.dims;
}

}  // namespace

int64_t recognise_functions(Graph& graph) {
  int64_t changes = 0;
  std::vector<Node*> nodes = graph.in_order();
  std::vector<const Node*> gone;
  // From the end, so that the longest chain is found first.
  for (auto it = nodes.rbegin(); it != nodes.rend(); ++it) {
    Node& end = **it;
    if (std::ranges::find(gone, &end) != gone.end() || !is_elementwise(end)) continue;
    Chain chain(end), found(end);
    const Function* function = nullptr;
    Endpoint source;
    do {
      const std::vector<Endpoint> sources = chain.sources();
      if (chain.nodes().size() < 2 || sources.size() != 1 || !sources[0] || !keeps_description(end, sources[0]))
        continue;
      const auto values = chain.compute(sources[0]);
      if (const Function* f = values ? function_of(*values) : nullptr) {
        function = f;
        source = sources[0];
        found = chain;
      }
    } while (chain.nodes().size() < kMostNodes && chain.grow());
    if (!function) continue;
    Node& node = graph.add(function->type, end.name());
    if (function->attribute) node.attributes[function->attribute] = function->value();
    graph.add_input(node, "x", source);
    graph.add_output(node, "y", end.output().desc);
    std::vector<Node*> origins(found.nodes().rbegin(), found.nodes().rend());
    const auto removed = take_place(graph, node, origins, "FunctionFusionPass");
    gone.insert(gone.end(), removed.begin(), removed.end());
    ++changes;
  }
  return changes;
}

}  // namespace updraft::graph
