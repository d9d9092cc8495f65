// Convolutions take what follows them along: the sum with another tensor, then Relu.
#include <map>
#include <set>

#include "graph/passes/match.h"
#include "graph/passes/pass.h"

namespace updraft::graph {
namespace {

bool same_known_size(const TensorDesc& a, const TensorDesc& b) {
  return a.dtype == b.dtype && a.rank_known() && a.dims == b.dims;
}

/// Float, in NCHW, with as much padding behind as in front.
bool may_fuse(const Node& node) {
  if (node.type() != "Conv2D" || node.outputs().size() != 1 || node.output().desc.dtype != DType::Float) return false;
  const auto* pads = find<Attribute::Integers>(node.attributes, "pads");
  return find_or<std::string>(node.attributes, "data_format", "NHWC") == "NCHW" && pads && pads->size() == 4 &&
         (*pads)[0] == (*pads)[1] && (*pads)[2] == (*pads)[3] && !input_of(node, "offset_w");
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

/// What the only reader of the convolution adds for each channel; BiasAdd says itself where those are.
const Tensor* bias_of(const Node& convolution, const Node& sum, Endpoint other) {
  const TensorDesc& result = convolution.output().desc;
  const bool last = channels_last(convolution);
  if (sum.type() == "Add") return for_channels(other, result, last);
  const Tensor* constant = constant_at(other);
  const bool fits = constant && channels_last(sum) == last && sum.input(1).from == other && result.dims.size() == 4 &&
                    constant->dtype == result.dtype && constant->dims == Dims{result.dims[last ? 3 : 1]};
  return fits ? constant : nullptr;
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
    const Endpoint other = sum->input(sum->input(0).from.node == node ? 1 : 0).from;
    const Tensor* numbers = bias_of(*node, *sum, other);
    if (!numbers) continue;
    Tensor bias = *numbers;
    bias.dims = {bias.count()};
    const Endpoint from = graph.add_constant(other.node->name() + "_bias", std::move(bias)).out();
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

int64_t fuse_convolutions(Graph& graph) {
  std::map<const Node*, size_t> order;
  const std::vector<Node*> nodes = graph.in_order();
  for (size_t i = 0; i < nodes.size(); ++i) order[nodes[i]] = i;
  std::set<const Node*> gone;
  int64_t changes = 0;
  for (Node* node : nodes) {
    if (gone.contains(node) || !may_fuse(*node)) continue;
    Endpoint add;
    std::vector<Node*> taken;
    if (Node* sum = only_reader(*node, "Add"))
      if ((add = added(*node, *sum, order))) taken.push_back(sum);
    Node* relu = only_reader(taken.empty() ? *node : *taken.back(), "Relu");
    if (relu) taken.push_back(relu);
    if (taken.empty()) continue;
    Node& fused = graph.add("FusedConv2D", taken.back()->name());
    order[&fused] = order.at(node);
    for (const char* name : {"strides", "pads", "dilations", "groups"})
      if (const auto found = node->attributes.find(name); found != node->attributes.end())
        fused.attributes[name] = found->second;
    fused.attributes["relu"] = relu != nullptr;
    fused.attributes["PassName"] = "ConvEltwiseFusionPass";
    std::vector<std::string> origins = origins_of(*node);
    for (const Node* t : taken) origins.push_back(t->name());
    fused.attributes["OriginOp"] = origins;
    graph.add_input(fused, "x", node->input(0).from);
    graph.add_input(fused, "filter", node->input(1).from);
    graph.add_input(fused, "bias", input_of(*node, "bias"));
    graph.add_input(fused, "add", add);
    graph.add_output(fused, "y", taken.back()->output().desc);
    graph.replace(taken.back()->out(), fused.out());
    graph.move_controls(*node, fused);
    while (!taken.empty()) {
      graph.move_controls(*taken.back(), fused);
      gone.insert(taken.back());
      graph.remove(*taken.back());
      taken.pop_back();
    }
    for (Node* before : node->control_inputs()) graph.add_control(*before, fused);
    gone.insert(node);
    graph.remove(*node);
    ++changes;
  }
  return changes;
}

}  // namespace updraft::graph
