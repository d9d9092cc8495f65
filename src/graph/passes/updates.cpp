// Optimizers that frameworks write out: what they do to a variable becomes one operator that writes it in one pass.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <span>

#include <fmt/format.h>

#include "graph/passes/match.h"
#include "graph/passes/pass.h"

namespace updraft::graph {
namespace {

/// The node that makes a tensor that nobody else reads, when it has that type.
Node* made_by(Endpoint from, std::string_view type) {
  Node* node = from ? from.node : nullptr;
  return node && node->type() == type && node->outputs().size() == 1 && node->output().uses.size() == 1 ? node
                                                                                                        : nullptr;
}

bool is_number(Endpoint from) { return from && desc_of(from).rank_known() && desc_of(from).dims.empty(); }

/// Two operands of which one makes `made` hold: that one, and the other.
template <class F>
std::optional<std::pair<Node*, Endpoint>> either(const Node& node, F&& made) {
  if (node.inputs().size() != 2) return {};
  for (int i = 0; i < 2; ++i)
    if (Node* found = made(node.input(i).from)) return std::pair(found, node.input(1 - i).from);
  return {};
}

/// m + (x - m) * share, written to m.
struct Average {
  Node *update, *product, *difference;
  Endpoint memory, value;
  float share;
};

std::optional<Average> average_of(Endpoint from) {
  Node* update = made_by(from, "AssignAdd");
  Node* product = update ? made_by(update->input(1).from, "Mul") : nullptr;
  if (!product) return {};
  const auto parts = either(*product, [](Endpoint e) { return made_by(e, "Sub"); });
  if (!parts) return {};
  const auto share = number_at(parts->second);
  Node* difference = parts->first;
  if (!share || !is_number(parts->second) || difference->input(1).from != update->input(0).from) return {};
  return Average{
      update, product, difference, update->input(0).from, difference->input(0).from, static_cast<float>(*share)};
}

Tensor number(float value) { return {DType::Float, {}, Bytes::copy_of(&value, sizeof value)}; }

/// `fused` takes the place of an update and of what is computed for it alone.
void take_over(Graph& graph, Node& fused, Node& update, std::span<Node* const> taken, const char* pass) {
  Attribute::Texts origins;
  for (const Node* node : taken) origins.push_back(node->name());
  fused.attributes["OriginOp"] = origins;
  fused.attributes["PassName"] = pass;
  for (const auto& [name, value] : update.attributes)  // marks of other stages, as that its type is kept
    if (name.starts_with('_')) fused.attributes[name] = value;
  graph.replace(update.out(), fused.out(0));
  for (Node* node : taken) graph.move_controls(*node, fused);
  for (Node* node : taken) graph.remove(*node);
}

/// var -= m * rate / (sqrt(v) + epsilon) with the averages m of the gradient and v of its square.
bool fuse_adam(Graph& graph, Node& update) {
  const Endpoint var = update.input(0).from;
  Node* quotient = made_by(update.input(1).from, "RealDiv");
  Node* above = quotient ? made_by(quotient->input(0).from, "Mul") : nullptr;
  Node* below = quotient ? made_by(quotient->input(1).from, "Add") : nullptr;
  if (!above || !below) return false;
  const auto root = either(*below, [](Endpoint e) { return made_by(e, "Sqrt"); });
  if (!root || !is_number(root->second)) return false;
  std::optional<Average> m;
  const auto scaled = either(*above, [&](Endpoint e) { return (m = average_of(e)) ? m->update : nullptr; });
  const auto v = average_of(root->first->input(0).from);
  if (!scaled || !is_number(scaled->second) || !v) return false;
  Node* square = made_by(v->value, "Square");
  if (!square || square->input(0).from != m->value) return false;
  const TensorDesc& desc = desc_of(var);
  for (const Endpoint e : {m->memory, v->memory, m->value})
    if (desc_of(e).dtype != DType::Float || desc_of(e).dims != desc.dims) return false;
  if (desc.dtype != DType::Float || !desc.known()) return false;

  Node& fused = graph.add("ApplyAdam", update.name());
  auto constant = [&](const char* name, float value) {
    return graph.add_constant(update.name() + "/" + name, number(value)).out();
  };
  // `rate` has the corrections of the averages in it already
  const std::pair<const char*, Endpoint> inputs[] = {{"var", var},
                                                     {"m", m->memory},
                                                     {"v", v->memory},
                                                     {"beta1_power", constant("beta1_power", 0)},
                                                     {"beta2_power", constant("beta2_power", 0)},
                                                     {"lr", scaled->second},
                                                     {"beta1", constant("beta1", 1 - m->share)},
                                                     {"beta2", constant("beta2", 1 - v->share)},
                                                     {"epsilon", root->second},
                                                     {"grad", m->value}};
  for (const auto& [name, from] : inputs) graph.add_input(fused, name, from);
  for (const auto& [name, from] : {inputs[0], inputs[1], inputs[2]}) graph.add_output(fused, name, desc_of(from));
  Node* const taken[] = {&update,    quotient,      above,     below,      root->first,   m->update,
                         m->product, m->difference, v->update, v->product, v->difference, square};
  take_over(graph, fused, update, taken, "AdamUpdateFusionPass");
  return true;
}

/// What Keras writes -grad * lr. Where nothing is negated `negated` is null.
struct Descent {
  Node *negated, *product;
  Endpoint grad, lr;
};

std::optional<Descent> descent_of(Endpoint from) {
  Node* product = made_by(from, "Mul");
  if (!product) return {};
  const auto parts = either(*product, [](Endpoint e) { return made_by(e, "Neg"); });
  if (!parts || !is_number(parts->second)) return {};
  return Descent{parts->first, product, parts->first->input(0).from, parts->second};
}

/// accum * momentum - lr * grad. Others may read the sum.
struct Velocity {
  Node *sum, *kept;
  Descent descent;
  Endpoint accum, momentum;
};

std::optional<Velocity> velocity_of(Endpoint from) {
  Node* sum = from ? from.node : nullptr;
  if (!sum || sum->type() != "Add" || sum->outputs().size() != 1) return {};
  std::optional<Descent> descent;
  const auto parts = either(*sum, [&](Endpoint e) { return (descent = descent_of(e)) ? descent->product : nullptr; });
  Node* kept = parts ? made_by(parts->second, "Mul") : nullptr;
  if (!kept || kept->inputs().size() != 2) return {};
  const int number = is_number(kept->input(1).from) ? 1 : 0;
  if (!is_number(kept->input(number).from)) return {};
  return Velocity{sum, kept, *descent, kept->input(1 - number).from, kept->input(number).from};
}

/// The sum's value leaves the graph, and nothing else but `nodes` reads it: no reader could be needed by the update.
bool leaves(const Node& sum, std::initializer_list<const Node*> nodes) {
  return std::ranges::all_of(sum.output().uses, [&](const auto& use) {
    return use.node->type() == "NetOutput" || std::ranges::find(nodes, use.node) != nodes.end();
  });
}

/// var += accum * momentum - lr * grad, the new accum, or with Nesterov's momentum that again: as Keras 2.11 and later
/// write it. The new accum leaves the graph, which puts it into the variable.
bool fuse_momentum(Graph& graph, Node& update) {
  const Endpoint var = update.input(0).from;
  const auto outer = velocity_of(update.input(1).from);
  if (!outer) return false;
  const auto inner = velocity_of(outer->accum);
  const bool nesterov = inner && inner->descent.grad == outer->descent.grad && inner->descent.lr == outer->descent.lr &&
                        number_at(inner->momentum) && number_at(inner->momentum) == number_at(outer->momentum);
  const Velocity& v = nesterov ? *inner : *outer;
  if (nesterov ? !leaves(*v.sum, {outer->kept}) || outer->sum->output().uses.size() != 1 : !leaves(*v.sum, {&update}))
    return false;
  const TensorDesc& desc = desc_of(var);
  if (desc.dtype != DType::Float || !desc.known()) return false;
  for (const Endpoint e : {v.accum, v.descent.grad, v.sum->out()})
    if (desc_of(e).dtype != DType::Float || desc_of(e).dims != desc.dims) return false;
  for (const Endpoint e : {v.descent.lr, v.momentum})
    if (desc_of(e).dtype != DType::Float) return false;

  Node& fused = graph.add("KerasMomentumStep", update.name());
  fused.attributes["use_nesterov"] = nesterov;
  const std::pair<const char*, Endpoint> inputs[] = {
      {"var", var}, {"accum", v.accum}, {"lr", v.descent.lr}, {"grad", v.descent.grad}, {"momentum", v.momentum}};
  for (const auto& [name, from] : inputs) graph.add_input(fused, name, from);
  graph.add_output(fused, "var", desc);
  graph.add_output(fused, "new_accum", desc_of(v.sum->out()));
  std::vector<Node*> taken = {&update};
  if (nesterov) taken.insert(taken.end(), {outer->sum, outer->kept, outer->descent.product, outer->descent.negated});
  taken.insert(taken.end(), {v.sum, v.kept, v.descent.product, v.descent.negated});
  graph.replace(v.sum->out(), fused.out(1));
  take_over(graph, fused, update, taken, "MomentumUpdateFusionPass");
  return true;
}

/// grad * lr
std::optional<Descent> rise_of(Endpoint from) {
  Node* product = made_by(from, "Mul");
  if (!product || product->inputs().size() != 2) return {};
  const int number = is_number(product->input(1).from) ? 1 : 0;
  if (!is_number(product->input(number).from)) return {};
  return Descent{nullptr, product, product->input(1 - number).from, product->input(number).from};
}

/// var += -grad * lr, or var -= grad * lr.
bool fuse_descent(Graph& graph, Node& update) {
  const Endpoint var = update.input(0).from, step = update.input(1).from;
  const auto descent = update.type() == "AssignSub" ? rise_of(step) : descent_of(step);
  const TensorDesc& desc = desc_of(var);
  if (!descent || desc.dtype != DType::Float || !desc.known() || desc_of(descent->grad).dims != desc.dims ||
      desc_of(descent->grad).dtype != DType::Float || desc_of(descent->lr).dtype != DType::Float)
    return false;
  Node& fused = graph.add("ApplyGradientDescent", update.name());
  graph.add_input(fused, "var", var);
  graph.add_input(fused, "alpha", descent->lr);
  graph.add_input(fused, "delta", descent->grad);
  graph.add_output(fused, "var", desc);
  std::vector<Node*> taken = {&update, descent->product};
  if (descent->negated) taken.push_back(descent->negated);
  take_over(graph, fused, update, taken, "MomentumUpdateFusionPass");
  return true;
}

/// Calls fuse(graph, node) for the nodes of a type. What it takes over has no other node of that type.
template <class F>
int64_t each_update(Graph& graph, std::string_view type, F&& fuse) {
  std::vector<Node*> updates = graph.in_order();
  std::erase_if(updates, [&](const Node* node) { return node->type() != type; });
  return std::ranges::count_if(updates, [&](Node* node) { return fuse(graph, *node); });
}

}  // namespace

int64_t fuse_adam_updates(Graph& graph) { return each_update(graph, "AssignSub", fuse_adam); }

int64_t fuse_momentum_updates(Graph& graph) {
  return each_update(graph, "AssignAdd",
                     [](Graph& g, Node& update) { return fuse_momentum(g, update) || fuse_descent(g, update); }) +
         each_update(graph, "AssignSub", fuse_descent);
}

}  // namespace updraft::graph
