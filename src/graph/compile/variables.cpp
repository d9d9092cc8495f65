#include "graph/compile/variables.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "base/error.h"
#include "graph/node_call.h"
#include "graph/planner/program.h"

namespace updraft::graph {
namespace {

bool is_variable(const Node& node) { return node.type() == "Variable"; }
bool is_assignment(const Node& node) { return node.type() == "Assign"; }

/// The nodes of a graph, numbered in their order, with what runs behind each: by the graph's edges, and by those that
/// were added since.
class Order {
 public:
  explicit Order(const Graph& graph) : nodes_(graph.needed_in_order()), added_(nodes_.size()) {
    for (size_t i = 0; i < nodes_.size(); ++i) numbers_[nodes_[i]] = i;
  }
  const std::vector<Node*>& nodes() const { return nodes_; }
  size_t number(const Node& node) const { return numbers_.at(&node); }
  bool needed(const Node& node) const { return numbers_.contains(&node); }

  using Set = std::vector<bool>;
  Set behind(const Node& node, bool with_added) const {
    Set seen(nodes_.size());
    std::vector<size_t> open = {number(node)};
    const auto visit = [&](size_t i) {
      if (!seen[i]) open.push_back(i);
      seen[i] = true;
    };
    while (!open.empty()) {
      const size_t i = open.back();
      open.pop_back();
      for (const Output& output : nodes_[i]->outputs())
        for (const Use& use : output.uses)
          if (needed(*use.node)) visit(number(*use.node));
      for (const Node* after : nodes_[i]->control_outputs())
        if (needed(*after)) visit(number(*after));
      if (with_added)
        for (size_t after : added_[i]) visit(after);
    }
    return seen;
  }
  void add(const Node& before, const Node& after) { added_[number(before)].push_back(number(after)); }
  void write(Graph& graph) const {
    for (size_t i = 0; i < added_.size(); ++i)
      for (size_t after : added_[i]) graph.add_control(*nodes_[i], *nodes_[after]);
  }

 private:
  std::vector<Node*> nodes_;
  std::unordered_map<const Node*, size_t> numbers_;
  std::vector<std::vector<size_t>> added_;
};

/// A read of a variable's memory: input `input` of `reader`. `view` is the first of the nodes between them that only
/// pass the memory on, or the reader: it is what says when the read is meant.
struct Read {
  Node* reader;
  int input;
  Node* view;
  int view_input;
};

struct Uses {
  std::vector<Read> reads;
  std::vector<Node*> writers;
};

/// Everybody who has to do with the memory of `variable`.
Uses uses_of(Node& variable, const Order& order) {
  struct Open {
    Endpoint memory;
    Node* view;
    int view_input;
  };
  Uses uses;
  std::vector<Open> open = {{variable.out(), nullptr, 0}};
  while (!open.empty()) {
    const auto [memory, view, view_input] = open.back();
    open.pop_back();
    for (const Use& use : memory.node->output(memory.index).uses) {
      if (!order.needed(*use.node)) continue;
      Node* const first = view ? view : use.node;
      const int first_input = view ? view_input : use.index;
      if (updates_input(*use.node, static_cast<size_t>(use.index))) {
        if (std::ranges::find(uses.writers, use.node) == uses.writers.end()) uses.writers.push_back(use.node);
        const std::string& name = use.node->input(use.index).name;
        for (int i = 0; i < static_cast<int>(use.node->outputs().size()); ++i)
          if (use.node->output(i).name == name) open.push_back({use.node->out(i), nullptr, 0});
      } else if (passes_on(*use.node) && use.index == 0) {
        open.push_back({use.node->out(), first, first_input});
      } else if (use.node->type() != "NetOutput" || view) {  // outputs are read at the end anyway
        uses.reads.push_back({use.node, use.index, first, first_input});
      }
    }
  }
  std::ranges::sort(uses.writers, {}, [](const Node* n) { return n->id(); });
  std::ranges::sort(uses.reads, {}, [](const Read& r) { return std::pair(r.reader->id(), r.input); });
  return uses;
}

/// The memory as it is now, for a read that must not see a later write.
void copy_before(Graph& graph, const Read& read, const std::vector<Node*>& writers) {
  Node& view = *read.view;
  Node& copy = graph.add("TensorMove", view.name() + "_before");
  graph.add_input(copy, "x", view.input(read.view_input).from);
  graph.add_output(copy, "y", view.input(read.view_input).desc);
  for (Node* before : view.control_inputs()) graph.add_control(*before, copy);
  graph.connect(view, read.view_input, copy.out());
  for (Node* writer : writers) graph.add_control(copy, *writer);
}

/// Orders the uses of one variable. False where a copy was put in: then everything is to be looked at again.
bool settle(Graph& graph, const Uses& uses, Order& order) {
  for (size_t b = 1; b < uses.writers.size(); ++b)
    for (size_t a = 0; a < b; ++a) {
      const Node &first = *uses.writers[a], &second = *uses.writers[b];
      if (order.behind(first, false)[order.number(second)] || order.behind(second, false)[order.number(first)])
        continue;
      if (order.behind(second, true)[order.number(first)])
        throw Error(code::kAclnnParamInvalid,
                    "{} ({}) and {} ({}) write the same variable, and nothing says which of them is first: say so by a "
                    "control input",
                    first.name(), first.type(), second.name(), second.type());
      order.add(first, second);
    }
  for (Node* writer : uses.writers) {
    const Order::Set behind = order.behind(*writer, false);
    for (const Read& read : uses.reads) {
      if (read.reader == writer || behind[order.number(*read.view)]) continue;
      // It wants what was there before the write: it runs before, or has a copy.
      if (read.reader->type() == "NetOutput" || order.behind(*writer, true)[order.number(*read.reader)]) {
        std::vector<Node*> later;
        for (Node* other : uses.writers)
          if (!order.behind(*other, false)[order.number(*read.view)]) later.push_back(other);
        std::erase(later, read.view);
        copy_before(graph, read, later);
        return false;
      }
      order.add(*read.reader, *writer);
    }
  }
  return true;
}

/// Puts the edges into the graph that settle the order of reads and writes.
void settle_order(Graph& graph, const std::vector<Node*>& variables) {
  // Each copy takes a read away, so this ends.
  for (bool settled = false; !settled;) {
    Order order(graph);
    settled = true;
    for (Node* variable : variables) {
      const Uses uses = uses_of(*variable, order);
      if (!uses.writers.empty()) settled = settled && settle(graph, uses, order);
      if (!settled) break;
    }
    if (settled) order.write(graph);
  }
}

/// Who reads the variable before it is assigned, and whether it is assigned, in the order that is settled.
void note_uses(const Node& node, const Order& order, Variable& variable) {
  const Uses uses = uses_of(const_cast<Node&>(node), order);
  std::vector<Order::Set> behind;
  for (const Node* writer : uses.writers)
    if (is_assignment(*writer)) behind.push_back(order.behind(*writer, false));
  variable.assigned = !behind.empty();
  const auto reads = [&](const Node& reader) {
    return std::ranges::none_of(behind, [&](const Order::Set& set) { return set[order.number(reader)]; });
  };
  for (const Read& read : uses.reads) variable.read = variable.read || reads(*read.reader);
  for (const Node* writer : uses.writers) variable.read = variable.read || (!is_assignment(*writer) && reads(*writer));
  for (const Use& use : node.output().uses)
    variable.read = variable.read || (use.node->type() == "NetOutput" && behind.empty());
}

Variable described(const Node& node) {
  Variable variable{node.name(), node.output().desc, {}};
  const TensorDesc& desc = variable.desc;
  if (!desc.known() || size_of(desc.dtype) == 0)
    throw Error(code::kAclnnParamInvalid, "{} (Variable) is {}: a variable needs a type and sizes that are known",
                node.name(), describe(desc));
  if (!node.inputs().empty() && node.input(0).from)
    throw Error(code::kAclnnParamInvalid, "{} (Variable) reads {}: give it a value by Assign", node.name(),
                node.input(0).from.node->name());
  for (const char* name : {"container", "shared_name"})
    if (const auto* text = find<std::string>(node.attributes, name); text && !text->empty())
      throw Error(code::kAclnnParamInvalid,
                  "{} (Variable): attribute {} is \"{}\": a variable is known by its own name", node.name(), name,
                  *text);
  if (const Tensor* value = find<Tensor>(node.attributes, "value"); value && !value->data.empty()) {
    if (value->dtype != desc.dtype || value->dims != desc.dims)
      throw Error(code::kAclnnParamInvalid, "{} (Variable) is {}, and its value {}", node.name(), describe(desc),
                  describe(TensorDesc(value->dtype, value->dims)));
    variable.value = *value;
  }
  return variable;
}

}  // namespace

bool has_variables(const Model& model) {
  return std::ranges::any_of(model.graphs(), [](const Graph* graph) {
    return std::ranges::any_of(graph->nodes(), [](const auto& node) { return is_variable(*node); });
  });
}

std::vector<Variable> bind_variables(const Model& model) {
  for (const auto& [name, subgraph] : model.subgraphs)
    for (const auto& node : subgraph->nodes())
      if (is_variable(*node))
        throw Error(code::kAclnnParamInvalid,
                    "{} (Variable) is in the subgraph {}: make it in the main graph, and an input of the subgraph",
                    node->name(), name);
  Graph& graph = *model.graph;
  std::vector<Node*> nodes;
  for (const auto& node : graph.nodes())
    if (is_variable(*node)) nodes.push_back(node.get());
  std::vector<Variable> variables;
  for (const Node* node : nodes) variables.push_back(described(*node));
  settle_order(graph, nodes);
  const Order order(graph);
  for (size_t i = 0; i < nodes.size(); ++i)
    if (order.needed(*nodes[i])) note_uses(*nodes[i], order, variables[i]);
  auto index = static_cast<int64_t>(graph.inputs().size());
  for (Node* node : nodes) {
    node->attributes.clear();
    node->attributes["index"] = index++;
    graph.set_type(*node, "RefData");
    if (node->inputs().empty()) graph.add_input(*node, "x", {});
    node->input_desc(0) = node->output().desc;
  }
  return variables;
}

void refuse_variables(const Model& model) {
  if (!model.graph) return;
  for (const auto& node : model.graph->nodes())
    if (is_variable(*node))
      throw Error(code::kAclnnParamInvalid,
                  "{} (Variable): a model that is alone in a file keeps no variables: build a bundle "
                  "(aclgrphBundleBuildModel), run the graph in a session, or make it a Const",
                  node->name());
}

namespace {
constexpr const char *kRead = "_variable_read", *kAssigned = "_variable_assigned", *kBegin = "_variable_value";
}

void note_variables(Graph& graph, const std::vector<Variable>& variables) {
  for (const Variable& v : variables) {
    Node* node = graph.find(v.name);
    if (!node) throw Error(code::kAclnnParamInvalid, "the graph has no input for the variable {}", v.name);
    node->attributes[kRead] = v.read;
    node->attributes[kAssigned] = v.assigned;
    if (v.value) node->attributes[kBegin] = *v.value;
  }
}

bool is_noted_variable(const Node& input) { return find<bool>(input.attributes, kRead) != nullptr; }

std::vector<Variable> noted_variables(const Graph& graph) {
  std::vector<Variable> variables;
  for (const Node* node : graph.inputs()) {
    if (!is_noted_variable(*node)) continue;
    Variable v{node->name(), node->output().desc, {}};
    v.read = find_or(node->attributes, kRead, false);
    v.assigned = find_or(node->attributes, kAssigned, false);
    if (const Tensor* value = find<Tensor>(node->attributes, kBegin)) v.value = *value;
    variables.push_back(std::move(v));
  }
  return variables;
}

}  // namespace updraft::graph
