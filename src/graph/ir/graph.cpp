#include "graph/ir/graph.h"

#include <algorithm>
#include <unordered_map>

#include "base/error.h"

namespace updraft::graph {

int Node::find_input(std::string_view name) const {
  for (size_t i = 0; i < inputs_.size(); ++i)
    if (inputs_[i].name == name) return static_cast<int>(i);
  return -1;
}

namespace {

/// All that the node waits for was made before it.
bool follows_ids(const Node& node) {
  return std::ranges::all_of(node.inputs(),
                             [&](const Input& input) { return !input.from || input.from.node->id() < node.id(); }) &&
         std::ranges::all_of(node.control_inputs(), [&](const Node* before) { return before->id() < node.id(); });
}

}  // namespace

const Tensor* Node::constant() const {
  return type_ == "Const" || type_ == "Constant" ? graph::find<Tensor>(attributes, "value") : nullptr;
}

const Tensor* constant_at(const Endpoint& from) { return from.node ? from.node->constant() : nullptr; }

Node& Graph::add(std::string_view type, std::string name) {
  if (by_name_.contains(name)) {
    int64_t& next = suffixes_[name];
    std::string other;
    do other = name + "_" + std::to_string(++next);
    while (by_name_.contains(other));
    name = std::move(other);
  }
  changed();
  nodes_.emplace_back(new Node(*this, next_id_++, std::move(name), std::string(type)));
  Node& node = *nodes_.back();
  node.place_ = std::prev(nodes_.end());
  by_name_.emplace(node.name_, &node);
  return node;
}

Node& Graph::add_constant(std::string name, Tensor value) {
  Node& node = add("Const", std::move(name));
  add_output(node, "y", {value.dtype, value.dims, value.format});
  node.attributes["value"] = std::move(value);
  return node;
}

Node& Graph::add_data(std::string name, int64_t index, TensorDesc desc) {
  Node& node = add("Data", std::move(name));
  node.attributes["index"] = index;
  add_input(node, "x", {});
  node.input_desc(0) = desc;
  add_output(node, "y", std::move(desc));
  return node;
}

int Graph::add_input(Node& node, std::string name, Endpoint from) {
  const int index = static_cast<int>(node.inputs_.size());
  node.inputs_.push_back({std::move(name), {}, {}});
  connect(node, index, from);
  return index;
}

int Graph::add_output(Node& node, std::string name, TensorDesc desc) {
  node.outputs_.push_back({std::move(name), std::move(desc), {}});
  return static_cast<int>(node.outputs_.size()) - 1;
}

void Graph::unlink(Node& node, int input) {
  Endpoint& from = node.inputs_[static_cast<size_t>(input)].from;
  if (!from) return;
  changed();
  auto& uses = from.node->outputs_[static_cast<size_t>(from.index)].uses;
  uses.erase(std::find(uses.begin(), uses.end(), Use{&node, input}));
  from = {};
}

void Graph::connect(Node& node, int input, Endpoint from) {
  unlink(node, input);
  if (!from) return;
  changed();
  Output& output = from.node->outputs_.at(static_cast<size_t>(from.index));
  Input& to = node.inputs_.at(static_cast<size_t>(input));
  output.uses.push_back({&node, input});
  to.from = from;
  to.desc = output.desc;
}

void Graph::remove_input(Node& node, int input) {
  unlink(node, input);
  node.inputs_.erase(node.inputs_.begin() + input);
  for (size_t i = static_cast<size_t>(input); i < node.inputs_.size(); ++i) {
    const Endpoint from = node.inputs_[i].from;
    if (!from) continue;
    auto& uses = from.node->outputs_[static_cast<size_t>(from.index)].uses;
    *std::find(uses.begin(), uses.end(), Use{&node, static_cast<int>(i) + 1}) = {&node, static_cast<int>(i)};
  }
}

void Graph::add_control(Node& before, Node& after) {
  if (std::find(after.control_inputs_.begin(), after.control_inputs_.end(), &before) != after.control_inputs_.end())
    return;
  changed();
  after.control_inputs_.push_back(&before);
  before.control_outputs_.push_back(&after);
}

void Graph::remove_control(Node& before, Node& after) {
  changed();
  std::erase(after.control_inputs_, &before);
  std::erase(before.control_outputs_, &after);
}

void Graph::replace(Endpoint from, Endpoint to, const Node* except) {
  Output& old = from.node->outputs_.at(static_cast<size_t>(from.index));
  Output& output = to.node->outputs_.at(static_cast<size_t>(to.index));
  if (&old == &output) return;
  changed();
  std::vector<Use> kept;
  for (const Use& use : old.uses) {
    if (use.node == except) {
      kept.push_back(use);
      continue;
    }
    Input& input = use.node->inputs_[static_cast<size_t>(use.index)];
    input.from = to;
    input.desc = output.desc;
    output.uses.push_back(use);
  }
  old.uses = std::move(kept);
}

void Graph::move_controls(Node& from, Node& to) {
  for (Node* before : std::vector(from.control_inputs_)) {
    remove_control(*before, from);
    if (before != &to) add_control(*before, to);
  }
  for (Node* after : std::vector(from.control_outputs_)) {
    remove_control(from, *after);
    if (after != &to) add_control(to, *after);
  }
}

void Graph::remove(Node& node) {
  for (const Output& output : node.outputs_)
    if (!output.uses.empty())
      throw Error(code::kAclInternal, "{} ({}) cannot be removed: {} reads it", node.name_, node.type_,
                  output.uses[0].node->name());
  for (size_t i = 0; i < node.inputs_.size(); ++i) unlink(node, static_cast<int>(i));
  for (Node* before : std::vector(node.control_inputs_)) remove_control(*before, node);
  for (Node* after : std::vector(node.control_outputs_)) remove_control(node, *after);
  changed();
  by_name_.erase(node.name_);
  nodes_.erase(node.place_);
}

Node* Graph::find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : found->second;
}

std::vector<Node*> Graph::in_order() const {
  std::lock_guard lock(order_mutex_);
  if (!order_.known) order_.nodes = find_order();
  order_.known = true;
  return order_.nodes;
}

std::vector<Node*> Graph::find_order() const {
  // The smallest id first among those that may come: a graph that is in order stays as it is. Nodes stand by their ids.
  std::vector<Node*> order;
  order.reserve(nodes_.size());
  if (std::ranges::all_of(nodes_, [](const auto& node) { return follows_ids(*node); })) {
    for (const auto& node : nodes_) order.push_back(node.get());
    return order;
  }
  std::vector<size_t> waits(static_cast<size_t>(next_id_));  // by id
  const auto waits_of = [&](const Node* node) -> size_t& { return waits[static_cast<size_t>(node->id())]; };
  auto later = [](const Node* a, const Node* b) { return a->id() > b->id(); };
  std::vector<Node*> ready;
  for (const auto& node : nodes_) {
    size_t count = node->control_inputs_.size();
    for (const Input& input : node->inputs_) count += input.from ? 1 : 0;
    if (count) waits_of(node.get()) = count;
    else ready.push_back(node.get());
  }
  std::make_heap(ready.begin(), ready.end(), later);
  auto done = [&](Node* node) {
    if (--waits_of(node) > 0) return;
    ready.push_back(node);
    std::push_heap(ready.begin(), ready.end(), later);
  };
  while (!ready.empty()) {
    std::pop_heap(ready.begin(), ready.end(), later);
    Node* node = ready.back();
    ready.pop_back();
    order.push_back(node);
    for (const Output& output : node->outputs_)
      for (const Use& use : output.uses) done(use.node);
    for (Node* after : node->control_outputs_) done(after);
  }
  if (order.size() != nodes_.size()) {
    for (const auto& node : nodes_)
      if (waits_of(node.get()) > 0)
        throw Error(code::kAclnnParamInvalid,
                    "graph {} has a cycle through {} ({}): nodes must not wait for themselves", name_, node->name(),
                    node->type());
  }
  return order;
}

std::vector<Node*> Graph::needed_in_order() const {
  std::lock_guard lock(order_mutex_);
  if (!order_.known) order_.nodes = find_order();
  order_.known = true;
  if (!needed_.known) needed_.nodes = find_needed();
  needed_.known = true;
  return needed_.nodes;
}

std::vector<Node*> Graph::find_needed() const {
  std::vector<bool> needed(static_cast<size_t>(next_id_));  // by id
  std::vector<const Node*> open;
  auto need = [&](const Node* node) {
    if (needed[static_cast<size_t>(node->id())]) return;
    needed[static_cast<size_t>(node->id())] = true;
    open.push_back(node);
  };
  if (const Node* end = net_output()) need(end);
  while (!open.empty()) {
    const Node* node = open.back();
    open.pop_back();
    for (const Input& input : node->inputs())
      if (input.from) need(input.from.node);
    for (const Node* before : node->control_inputs()) need(before);
  }
  std::vector<Node*> order = order_.nodes;
  std::erase_if(order, [&](const Node* node) { return !needed[static_cast<size_t>(node->id())]; });
  return order;
}

std::vector<Node*> Graph::inputs() const {
  std::vector<Node*> data;
  for (const auto& node : nodes_)
    if (node->is_data()) data.push_back(node.get());
  std::stable_sort(data.begin(), data.end(), [](const Node* a, const Node* b) {
    return find_or<int64_t>(a->attributes, "index", 0) < find_or<int64_t>(b->attributes, "index", 0);
  });
  return data;
}

Node* Graph::net_output() const {
  for (auto node = nodes_.rbegin(); node != nodes_.rend(); ++node)
    if ((*node)->type() == "NetOutput") return node->get();
  return nullptr;
}

Node& Graph::make_net_output() {
  if (Node* there = net_output()) return *there;
  return add("NetOutput", "Node_Output");
}

std::vector<Graph*> Model::graphs() const {
  std::vector<Graph*> all;
  if (graph) all.push_back(graph.get());
  for (const auto& [name, subgraph] : subgraphs)
    if (subgraph) all.push_back(subgraph.get());
  return all;
}

std::shared_ptr<Graph> copy(const Graph& graph) {
  auto made = std::make_shared<Graph>(graph.name());
  made->attributes = graph.attributes;
  std::unordered_map<const Node*, Node*> twins;
  for (const auto& node : graph.nodes()) {
    Node& twin = made->add(node->type(), node->name());
    twin.attributes = node->attributes;
    twin.subgraphs = node->subgraphs;
    for (const Output& output : node->outputs()) made->add_output(twin, output.name, output.desc);
    twins[node.get()] = &twin;
  }
  for (const auto& node : graph.nodes()) {
    Node& twin = *twins[node.get()];
    for (const Input& input : node->inputs()) {
      const int i = made->add_input(twin, input.name,
                                    input.from ? Endpoint{twins[input.from.node], input.from.index} : Endpoint{});
      twin.input_desc(i) = input.desc;
    }
    for (const Node* before : node->control_inputs()) made->add_control(*twins[before], twin);
  }
  return made;
}

}  // namespace updraft::graph
