// Convolutions take what follows them along: normalisation by given statistics, the sum with another tensor, Relu or
// HardSwish.
#include <algorithm>
#include <map>
#include <set>

#include "graph/passes/match.h"
#include "graph/passes/pass.h"

namespace updraft::graph {
namespace {

bool same_known_size(const TensorDesc& a, const TensorDesc& b) {
  return a.dtype == b.dtype && a.rank_known() && a.dims == b.dims;
}

/// Float, with as much padding behind as in front.
bool is_fusible(const Node& node) {
  if (node.type() != "Conv2D" || node.outputs().size() != 1 || node.output().desc.dtype != DType::Float) return false;
  const auto* pads = find<Attribute::Integers>(node.attributes, "pads");
  return pads && pads->size() == 4 && (*pads)[0] == (*pads)[1] && (*pads)[2] == (*pads)[3] &&
         !input_of(node, "offset_w");
}

/// One that another pass has fused already, and that takes a sum or an activation along still.
bool takes_more(const Node& node) {
  return node.type() == "FusedConv2D" && !find_or<bool>(node.attributes, "relu", false) &&
         !find_or<bool>(node.attributes, "hard_swish", false) && !input_of(node, "add");
}

/// The layout of the images of a convolution, fused or not.
std::string format_of(const Node& node) {
  return find_or<std::string>(node.attributes, "data_format", node.type() == "FusedConv2D" ? "NCHW" : "NHWC");
}

/// Normalisation by given statistics that reads the convolution alone, in its layout; null where there is none.
Node* given_norm(const Node& convolution) {
  if (Node* norm = only_reader(convolution, "BNInfer"))
    return norm->outputs().size() == 1 && format_of(convolution) == "NCHW" ? norm : nullptr;
  Node* norm = only_reader(convolution, "BatchNorm");
  if (!norm || find_or<bool>(norm->attributes, "is_training", true) || format_of(*norm) != format_of(convolution) ||
      norm->input(0).from.node != &convolution)
    return nullptr;
  for (size_t i = 1; i < norm->outputs().size(); ++i)
    if (!norm->outputs()[i].uses.empty()) return nullptr;
  return norm;
}

constexpr const char* kStatistics[] = {"scale", "offset", "mean", "variance"};

bool is_vector(Endpoint from) {
  if (!from) return false;
  const TensorDesc& desc = from.node->output(from.index).desc;
  return desc.rank_known() && desc.dims.size() == 1;
}

/// What becomes of a convolution: `last` is the last of the nodes that it takes along. Inputs are still to be given.
Node& add_fused(Graph& graph, const Node& convolution, const Node& last, const char* pass) {
  Node& fused = graph.add("FusedConv2D", last.name());
  for (const char* name : {"strides", "pads", "dilations", "groups", "OriginOp"})
    if (const auto found = convolution.attributes.find(name); found != convolution.attributes.end())
      fused.attributes[name] = found->second;
  fused.attributes["data_format"] = format_of(convolution);
  fused.attributes["PassName"] = pass;
  return fused;
}

/// Puts `fused` in the place of a convolution and of what it takes along, which go.
void take_place(Graph& graph, Node& fused, Node& convolution, std::vector<Node*> taken, std::set<const Node*>& gone) {
  auto origins = find_or<Attribute::Texts>(convolution.attributes, "OriginOp", {convolution.name()});
  for (const Node* t : taken) origins.push_back(t->name());
  fused.attributes["OriginOp"] = origins;
  graph.add_output(fused, "y", taken.back()->output().desc);
  graph.replace(taken.back()->out(), fused.out());
  graph.move_controls(convolution, fused);
  for (; !taken.empty(); taken.pop_back()) {
    graph.move_controls(*taken.back(), fused);
    gone.insert(taken.back());
    graph.remove(*taken.back());
  }
  for (Node* before : convolution.control_inputs()) graph.add_control(*before, fused);
  gone.insert(&convolution);
  graph.remove(convolution);
}

/// What the one reader of the convolution adds to its result; nothing when that is of another size (a broadcast), or
/// is not there yet when the convolution runs.
Endpoint added(const Node& convolution, const Node& sum, const std::map<const Node*, size_t>& order) {
  if (sum.inputs().size() != 2 || sum.input(0).from == sum.input(1).from) return {};
  const Endpoint other = sum.input(sum.input(0).from.node == &convolution ? 1 : 0).from;
  if (!other || !same_known_size(other.node->output(other.index).desc, convolution.output().desc)) return {};
  return order.at(other.node) < order.at(&convolution) ? other : Endpoint{};
}

bool channels_last(const Node& node) { return find_or<std::string>(node.attributes, "data_format", "NHWC") == "NHWC"; }

/// A constant that has a number for each channel of the convolution: [1, C, 1, 1] or [C, 1, 1]; [C] where they are
/// last.
const Tensor* for_channels(Endpoint from, const TensorDesc& result, bool last) {
  const Tensor* constant = constant_at(from);
  const size_t behind = last ? 1 : 3;  // the channels and what comes behind them
  if (!constant || constant->dtype != result.dtype || result.dims.size() != 4 || constant->dims.size() < behind)
    return nullptr;
  const int64_t channels = result.dims[last ? 3 : 1];
  return constant->dims.size() <= 4 && channels > 0 && constant->dims.end()[-static_cast<int>(behind)] == channels &&
                 constant->count() == channels
             ? constant
             : nullptr;
}

/// What the only reader of the convolution adds for each channel, as a vector: a constant or an input of the graph,
/// else nothing. BiasAdd says itself where the channels are.
Endpoint bias_of(Graph& graph, const Node& convolution, const Node& sum) {
  const TensorDesc& result = convolution.output().desc;
  const bool last = channels_last(convolution);
  const Endpoint other = sum.input(sum.input(0).from.node == &convolution ? 1 : 0).from;
  if (sum.type() == "Add") {
    const Tensor* numbers = for_channels(other, result, last);
    if (!numbers) return {};
    Tensor bias = *numbers;
    bias.dims = {bias.count()};
    return graph.add_constant(other.node->name() + "_bias", std::move(bias)).out();
  }
  if (!other || !(other.node->constant() || other.node->is_data()) || sum.input(1).from != other) return {};
  const TensorDesc& bias = other.node->output(other.index).desc;
  const bool fits = channels_last(sum) == last && result.dims.size() == 4 && bias.dtype == result.dtype &&
                    bias.dims == Dims{result.dims[last ? 3 : 1]} && bias.known();
  return fits ? other : Endpoint{};
}

}  // namespace

int64_t add_biases(Graph& graph) {
  int64_t changes = 0;
  std::set<const Node*> gone;
  for (Node* node : graph.in_order()) {
    if (gone.contains(node) || node->type() != "Conv2D" || node->inputs().size() < 2 || input_of(*node, "bias"))
      continue;
    Node* sum = only_reader(*node);
    if (!sum || (sum->type() != "Add" && sum->type() != "BiasAdd") || sum->inputs().size() != 2) continue;
    const Endpoint from = bias_of(graph, *node, *sum);
    if (!from) continue;
    const int place = node->find_input("bias");
    if (place >= 0) graph.connect(*node, place, from);
    else graph.add_input(*node, "bias", from);
    std::vector<std::string> origins = origins_of(*node);
    origins.push_back(sum->name());
    node->attributes["OriginOp"] = origins;
    graph.replace(sum->out(), node->out());
    graph.move_controls(*sum, *node);
    gone.insert(sum);
    graph.remove(*sum);
    ++changes;
  }
  return changes;
}

int64_t take_batch_norms(Graph& graph) {
  std::set<const Node*> gone;
  int64_t changes = 0;
  for (Node* node : graph.in_order()) {
    if (gone.contains(node) || !is_fusible(*node)) continue;
    Node* norm = given_norm(*node);
    if (!norm) continue;
    if (!std::ranges::all_of(kStatistics, [&](const char* name) { return is_vector(input_of(*norm, name)); })) continue;
    // Constants go into the weights, when the bias has been put to the convolution.
    const auto is_constant = [](Endpoint e) { return !e || e.node->constant(); };
    if (is_constant(node->input(1).from) && is_constant(input_of(*node, "bias")) &&
        std::ranges::all_of(kStatistics, [&](const char* name) { return is_constant(input_of(*norm, name)); }))
      continue;
    Node& factors = graph.add("BNFactors", norm->name() + "_factors");
    for (const char* name : kStatistics) graph.add_input(factors, name, input_of(*norm, name));
    graph.add_input(factors, "bias", input_of(*node, "bias"));
    factors.attributes["epsilon"] = find_or<float>(norm->attributes, "epsilon", 1e-4F);
    const Endpoint scale = input_of(*norm, "scale");
    const TensorDesc channels(DType::Float, scale.node->output(scale.index).desc.dims);
    graph.add_output(factors, "factor", channels);
    graph.add_output(factors, "term", channels);
    Node& fused = add_fused(graph, *node, *norm, "ConvBatchnormFusionPass");
    graph.add_input(fused, "x", node->input(0).from);
    graph.add_input(fused, "filter", node->input(1).from);
    graph.add_input(fused, "bias", factors.out(1));
    graph.add_input(fused, "add", {});
    graph.add_input(fused, "factor", factors.out(0));
    take_place(graph, fused, *node, {norm}, gone);
    ++changes;
  }
  return changes;
}

int64_t fuse_convolutions(Graph& graph) {
  std::map<const Node*, size_t> order;
  const std::vector<Node*> nodes = graph.in_order();
  for (size_t i = 0; i < nodes.size(); ++i) order[nodes[i]] = i;
  std::set<const Node*> gone;
  int64_t changes = 0;
  for (Node* node : nodes) {
    if (gone.contains(node) || !(is_fusible(*node) || takes_more(*node))) continue;
    Endpoint add;
    std::vector<Node*> taken;
    if (Node* sum = only_reader(*node, "Add"))
      if ((add = added(*node, *sum, order))) taken.push_back(sum);
    const Node& last = taken.empty() ? *node : *taken.back();
    Node* const relu = only_reader(last, "Relu");
    Node* const swish = only_reader(last, "HardSwish");
    if (relu || swish) taken.push_back(relu ? relu : swish);
    if (taken.empty()) continue;
    Node& fused = add_fused(graph, *node, *taken.back(), "ConvEltwiseFusionPass");
    order[&fused] = order.at(node);
    fused.attributes["relu"] = relu != nullptr;
    if (swish) fused.attributes["hard_swish"] = true;
    graph.add_input(fused, "x", node->input(0).from);
    graph.add_input(fused, "filter", node->input(1).from);
    graph.add_input(fused, "bias", input_of(*node, "bias"));
    graph.add_input(fused, "add", add);
    graph.add_input(fused, "factor", input_of(*node, "factor"));
    take_place(graph, fused, *node, taken, gone);
    ++changes;
  }
  return changes;
}

}  // namespace updraft::graph
