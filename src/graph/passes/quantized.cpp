// Models with QuantizeLinear and DequantizeLinear around their operators: where both sides of a convolution, product or
// sum are numbers of eight bits, it is computed of these as they are.
#include <algorithm>
#include <set>

#include "graph/passes/match.h"
#include "graph/passes/pass.h"

namespace updraft::graph {
namespace {

/// One scale and zero point for a whole tensor of eight bits.
struct Quantized {
  float scale = 1;
  int64_t zero = 0;
  DType type = DType::Undefined;
  bool operator==(const Quantized&) const = default;
};

bool is_byte(DType t) { return t == DType::Int8 || t == DType::UInt8; }

/// Of a node QuantizeLinear or DequantizeLinear; `type` is that of the whole numbers.
std::optional<Quantized> of_tensor(const Node& node, DType type) {
  const Tensor* scale = constant_at(input_of(node, "scale"));
  if (!is_byte(type) || !scale || scale->count() != 1 || !is_floating(scale->dtype)) return {};
  Quantized q{static_cast<float>(scale->reals()[0]), 0, type};
  if (const Endpoint zero = input_of(node, "zero_point")) {
    const Tensor* constant = constant_at(zero);
    if (!constant || constant->count() != 1) return {};
    q.zero = constant->integers()[0];
  }
  return q.scale > 0 ? std::optional(q) : std::nullopt;
}

/// The node that makes real numbers of these, when that is what the endpoint is.
Node* dequantizer(Endpoint from) {
  return from && from.node->type() == "DequantizeLinear" && from.index == 0 ? from.node : nullptr;
}
std::optional<Quantized> quantized_at(Endpoint from) {
  const Node* node = dequantizer(from);
  return node ? of_tensor(*node, desc_of(node->input(0).from).dtype) : std::nullopt;
}

/// Constant weights of INT8 around zero, with a scale for all or for each place of `axis`.
struct Weights {
  Endpoint numbers;
  std::vector<double> scales;
};
std::optional<Weights> weights_at(Endpoint from, int64_t axis) {
  const Node* node = dequantizer(from);
  if (!node) return {};
  const Endpoint numbers = node->input(0).from;
  const Tensor *values = constant_at(numbers), *scale = constant_at(input_of(*node, "scale"));
  if (!values || values->dtype != DType::Int8 || !scale || !is_floating(scale->dtype) || scale->count() < 1) return {};
  const auto rank = static_cast<int64_t>(values->dims.size());
  int64_t along = find_or<int64_t>(node->attributes, "axis", 1);
  if (along < 0) along += rank;
  if (scale->count() > 1 && along != axis) return {};
  if (const Endpoint zero = input_of(*node, "zero_point")) {
    const Tensor* constant = constant_at(zero);
    if (!constant || std::ranges::any_of(constant->integers(), [](int64_t z) { return z != 0; })) return {};
  }
  return Weights{numbers, scale->reals()};
}

/// What follows a node: its result as numbers of eight bits, perhaps of its positive part alone.
struct Tail {
  std::optional<Quantized> result;  ///< nothing: real numbers
  std::vector<Node*> taken;
  bool relu = false;
};
Tail tail_of(const Node& node) {
  Tail tail;
  const Node* last = &node;
  if (Node* relu = only_reader(*last, "Relu")) {
    tail.taken.push_back(relu);
    tail.relu = true;
    last = relu;
  }
  Node* quantizer = only_reader(*last, "QuantizeLinear");
  if (quantizer && quantizer->input(0).from.node == last)
    tail.result = of_tensor(*quantizer, quantizer->output().desc.dtype);
  if (!tail.result) return {};
  tail.taken.push_back(quantizer);
  return tail;
}
/// Numbers of eight bits that do not go below what zero is have the positive part as it is.
bool keeps_positive(const Quantized& q) { return q.zero == (q.type == DType::Int8 ? -128 : 0); }

constexpr std::string_view kMoves[] = {"Reshape",   "Transpose",   "TransposeD",  "Squeeze", "SqueezeV2", "SqueezeV3",
                                       "Unsqueeze", "UnsqueezeV2", "UnsqueezeV3", "Flatten", "FlattenV2", "ExpandDims"};

class Fusion {
 public:
  explicit Fusion(Graph& graph) : graph_(graph) {}

  int64_t run() {
    for (Node* node : graph_.in_order()) {
      if (gone_.contains(node)) continue;
      const std::string& type = node->type();
      if (type == "Conv2D") convolution(*node);
      else if (type == "MatMulV2" || type == "MatMul" || type == "BatchMatMulV2" || type == "BatchMatMul")
        product(*node);
      else if (type == "Add") sum(*node);
      else if (type == "GatherV2") rows(*node);
      else if (std::ranges::find(kMoves, type) != std::end(kMoves)) move(*node);
    }
    return changes_;
  }

 private:
  void convolution(Node& node) {
    const auto* pads = find<Attribute::Integers>(node.attributes, "pads");
    if (find_or<std::string>(node.attributes, "data_format", "NHWC") != "NCHW" || !pads || pads->size() != 4 ||
        input_of(node, "offset_w"))
      return;
    const auto x = quantized_at(node.input(0).from);
    const auto weights = weights_at(node.input(1).from, 0);
    if (!x || !weights || !is_vector(input_of(node, "bias"))) return;
    Node& made = start(node, "RequantConv2D", tail_of(node));
    for (const char* name : {"strides", "pads", "dilations", "groups"})
      if (const auto found = node.attributes.find(name); found != node.attributes.end())
        made.attributes[name] = found->second;
    finish(node, made, "x", "filter", *x, *weights);
  }

  void product(Node& node) {
    for (const char* name : {"transpose_x1", "adj_x1"})
      if (find_or<bool>(node.attributes, name, false)) return;
    const bool turned =
        find_or<bool>(node.attributes, "transpose_x2", false) || find_or<bool>(node.attributes, "adj_x2", false);
    const auto x = quantized_at(node.input(0).from);
    const auto weights = weights_at(node.input(1).from, turned ? 0 : 1);
    if (!x || !weights || !is_vector(input_of(node, "bias")) || desc_of(weights->numbers).dims.size() != 2 ||
        input_of(node, "offset_w") || desc_of(node.input(0).from).dims.size() < 2 ||
        !desc_of(node.input(0).from).rank_known())
      return;
    Node& made = start(node, "RequantMatMul", tail_of(node));
    made.attributes["transpose_x2"] = turned;
    finish(node, made, "x1", "x2", *x, *weights);
  }

  void sum(Node& node) {
    if (node.inputs().size() != 2) return;
    const Endpoint a = node.input(0).from, b = node.input(1).from;
    const auto x = quantized_at(a), y = quantized_at(b);
    const Tail tail = tail_of(node);
    if (!x || !y || !tail.result || x->type != y->type || x->type != tail.result->type || !desc_of(a).known() ||
        desc_of(a).dims != desc_of(b).dims)
      return;
    if (add_to_convolution(node, a, *y, b, tail) || add_to_convolution(node, b, *x, a, tail)) return;
    Node& made = start(node, "RequantAdd", tail, true);
    graph_.add_input(made, "a", a.node->input(0).from);
    graph_.add_input(made, "b", b.node->input(0).from);
    made.attributes["a_scale"] = x->scale;
    made.attributes["a_zero"] = x->zero;
    made.attributes["b_scale"] = y->scale;
    made.attributes["b_zero"] = y->zero;
    made.attributes["relu"] = tail.relu;
    take(node, made, {a.node, b.node});
  }

  /// The convolution that only this sum reads adds the other operand itself, before its own result is rounded. Not
  /// where the rounding cuts off what is below zero: that may stand for a Relu.
  bool add_to_convolution(Node& node, Endpoint from, const Quantized& other, Endpoint addend, const Tail& tail) {
    Node* const real = from.node;
    const Endpoint numbers = real->input(0).from;
    Node* const convolution = numbers.node;
    const auto rounded = quantized_at(from);
    if (convolution->type() != "RequantConv2D" || input_of(*convolution, "addend") || !rounded ||
        keeps_positive(*rounded) || only_reader(*convolution, "DequantizeLinear") != real ||
        only_reader(*real, node.type()) != &node)
      return false;
    Node& made = start(node, "RequantConv2D", tail, true);
    made.attributes.insert(convolution->attributes.begin(),
                           convolution->attributes.end());  // but for what start() says
    for (const Input& input : convolution->inputs())
      if (input.name != "addend") graph_.add_input(made, input.name, input.from);
    graph_.add_input(made, "addend", addend.node->input(0).from);
    made.attributes["addend_scale"] = other.scale;
    made.attributes["addend_zero"] = other.zero;
    made.attributes["relu"] = tail.relu;
    take(node, made, {addend.node, real, convolution});
    return true;
  }

  /// What only moves elements moves numbers of eight bits, when its result is by the same scale.
  void move(Node& node) {
    const Endpoint from = node.input(0).from;
    const auto x = quantized_at(from);
    Node* quantizer = only_reader(node, "QuantizeLinear");
    if (!x || !quantizer || of_tensor(*quantizer, quantizer->output().desc.dtype) != x) return;
    Node& made = graph_.add(node.type(), quantizer->name());
    made.attributes = node.attributes;
    for (int i = 0; i < static_cast<int>(node.inputs().size()); ++i)
      graph_.add_input(made, node.input(i).name, i == 0 ? from.node->input(0).from : node.input(i).from);
    graph_.add_output(made, node.outputs()[0].name, quantizer->output().desc);
    tail_ = {x, {quantizer}, false};
    take(node, made, {from.node});
  }

  /// Rows of a table are taken out before they become real numbers: they are fewer.
  void rows(Node& node) {
    const Endpoint from = node.input(0).from;
    const Node* const table = dequantizer(from);
    if (!quantized_at(from) || !constant_at(table->input(0).from) || node.outputs().size() != 1) return;
    Node& taken = graph_.add(node.type(), node.name() + "_quantized");
    taken.attributes = node.attributes;
    for (int i = 0; i < static_cast<int>(node.inputs().size()); ++i)
      graph_.add_input(taken, node.input(i).name, i == 0 ? table->input(0).from : node.input(i).from);
    TensorDesc desc = node.output().desc;
    desc.dtype = desc_of(table->input(0).from).dtype;
    graph_.add_output(taken, "y", desc);
    Node& made = graph_.add("DequantizeLinear", node.name());
    graph_.add_input(made, "x", taken.out());
    for (const char* name : {"scale", "zero_point"})
      if (const Endpoint value = input_of(*table, name)) graph_.add_input(made, name, value);
    graph_.add_output(made, "y", node.output().desc);
    tail_ = {};
    take(node, made, {from.node});
  }

  bool is_vector(Endpoint bias) const {
    return !bias ||
           (desc_of(bias).rank_known() && desc_of(bias).dims.size() == 1 && desc_of(bias).dtype == DType::Float);
  }

  /// A node for `node` and what follows it; inputs are still to be given. `has_relu`: the operator itself gives the
  /// positive part where that is wanted.
  Node& start(const Node& node, const char* type, Tail tail, bool has_relu = false) {
    tail_ = std::move(tail);
    if (tail_.relu && !has_relu && !keeps_positive(*tail_.result)) tail_ = {};
    const Node& last = tail_.taken.empty() ? node : *tail_.taken.back();
    Node& made = graph_.add(type, last.name());
    graph_.add_output(made, "y", last.output().desc);
    if (tail_.result) {
      made.attributes["y_scale"] = tail_.result->scale;
      made.attributes["y_zero"] = tail_.result->zero;
    }
    if (std::string_view(type) != "RequantAdd")
      made.attributes["dtype"] = static_cast<int64_t>(tail_.result ? tail_.result->type : DType::Float);
    return made;
  }

  void finish(Node& node, Node& made, const char* left, const char* right, const Quantized& x, const Weights& weights) {
    Node *const of_x = node.input(0).from.node, *const of_weights = node.input(1).from.node;
    std::vector<float> scales;
    for (const double s : weights.scales) scales.push_back(x.scale * static_cast<float>(s));
    graph_.add_input(made, left, of_x->input(0).from);
    graph_.add_input(made, right, weights.numbers);
    graph_.add_input(made, "scale", graph_.add_constant(made.name() + "_scale", Tensor::of(scales)).out());
    graph_.add_input(made, "bias", input_of(node, "bias"));
    made.attributes["x_zero"] = x.zero;
    take(node, made, {of_x, of_weights});
  }

  void take(Node& node, Node& made, std::set<Node*> feeders) {
    std::vector<Node*> nodes(feeders.begin(), feeders.end());
    nodes.push_back(&node);
    nodes.insert(nodes.end(), tail_.taken.begin(), tail_.taken.end());
    for (const Node* gone : take_place(graph_, made, nodes, "RequantFusionPass")) gone_.insert(gone);
    ++changes_;
  }

  Graph& graph_;
  Tail tail_;
  std::set<const Node*> gone_;
  int64_t changes_ = 0;
};

}  // namespace

int64_t fuse_quantized(Graph& graph) { return Fusion(graph).run(); }

}  // namespace updraft::graph
