// What multiplies and raises each channel of a convolution or a product with constant weights goes into the weights and
// the bias: batch normalisation with constant statistics, and constants for each channel.
#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "base/half.h"
#include "graph/passes/match.h"
#include "graph/passes/pass.h"

namespace updraft::graph {
namespace {

/// y = factor[c] * x + summand[c]
struct Affine {
  std::vector<double> factor, summand;
};

/// A node with weights, and where its channels are.
struct Weighted {
  Node* node;
  int weights;     ///< its input
  size_t axis;     ///< of the weights: the channels of the result
  size_t channel;  ///< of the result
  int64_t channels;
  bool product;
};

bool is_real(DType type) { return type == DType::Float || is_half(type); }

std::optional<Weighted> weighted(Node& node) {
  const TensorDesc* y = node.outputs().size() == 1 ? &node.output().desc : nullptr;
  if (!y || !y->rank_known() || !is_real(y->dtype)) return {};
  const std::string& type = node.type();
  Weighted w{&node, 0, 0, 0, 0, false};
  if (type == "Conv2D" || type == "Conv3D" || type == "Conv2DTranspose" || type == "Conv3DTranspose") {
    const size_t rank = type.starts_with("Conv2D") ? 4 : 5;
    const bool last = !find_or<std::string>(node.attributes, "data_format", "NHWC").starts_with("NC");
    const bool transposed = type.ends_with("Transpose");
    if (transposed && find_or<int64_t>(node.attributes, "groups", 1) != 1) return {};
    w.weights = node.find_input("filter");
    w.channel = last ? rank - 1 : 1;
    // Filters are outputs, inputs, … or …, inputs, outputs; those of transposed convolutions the other way about.
    w.axis = last ? rank - (transposed ? 2 : 1) : transposed ? 1 : 0;
    if (y->dims.size() != rank) return {};
  } else if (type == "MatMulV2" || type == "MatMul" || type == "BatchMatMulV2") {
    if (y->dims.size() < 2) return {};
    w.product = true;
    w.weights = 1;
    w.channel = y->dims.size() - 1;
    w.axis = find_or<bool>(node.attributes, type == "BatchMatMulV2" ? "adj_x2" : "transpose_x2", false) ? 0 : 1;
  } else {
    return {};
  }
  const Tensor* weights = w.weights < 0 ? nullptr : constant_at(node.input(w.weights).from);
  if (!weights || !is_real(weights->dtype) || weights->dims.size() != (w.product ? 2 : y->dims.size())) return {};
  if (weights->data.size() < static_cast<size_t>(weights->count()) * size_of(weights->dtype)) return {};  // in a file
  if (w.product && node.input(w.weights).from.node->output().uses.size() != 1) return {};  // a second copy of them
  w.channels = weights->dims[w.axis];
  const Endpoint bias = input_of(node, "bias");
  if (w.channels < 1 || y->dims[w.channel] != w.channels || (bias && !bias.node->constant())) return {};
  if (bias && (bias.node->constant()->count() != w.channels || !is_real(bias.node->constant()->dtype))) return {};
  return w;
}

/// The numbers of a constant: one for each channel.
std::optional<std::vector<double>> vector_at(const Node& node, const char* name, int64_t channels) {
  const Tensor* constant = constant_at(input_of(node, name));
  if (!constant || !is_floating(constant->dtype) || constant->count() != channels) return {};
  return constant->reals();
}

std::optional<Affine> normalisation(const Node& node, const Weighted& w) {
  const bool first = node.type() == "BNInfer";
  if (!first && node.type() != "BatchNorm" && node.type() != "FusedBatchNormV2") return {};
  const bool last = !first && !find_or<std::string>(node.attributes, "data_format", "NHWC").starts_with("NC");
  const size_t rank = w.node->output().desc.dims.size();
  if (rank < 2 || (last ? rank - 1 : 1) != w.channel) return {};
  if (!first && find_or<bool>(node.attributes, "is_training", true)) return {};
  for (size_t i = 1; i < node.outputs().size(); ++i)
    if (!node.outputs()[i].uses.empty()) return {};
  const auto scale = vector_at(node, "scale", w.channels), offset = vector_at(node, "offset", w.channels),
             mean = vector_at(node, "mean", w.channels), variance = vector_at(node, "variance", w.channels);
  if (!scale || !offset || !mean || !variance) return {};
  const double epsilon = find_or<float>(node.attributes, "epsilon", 1e-4F);
  Affine affine;
  for (size_t c = 0; c < scale->size(); ++c) {
    affine.factor.push_back((*scale)[c] / std::sqrt((*variance)[c] + epsilon));
    affine.summand.push_back((*offset)[c] - (*mean)[c] * affine.factor[c]);
  }
  return affine;
}

/// A constant that is multiplied: a number, or one for each channel.
std::optional<Affine> product_with_constant(const Node& node, const Weighted& w) {
  const bool divides = node.type() == "Div" || node.type() == "RealDiv";
  if ((!divides && node.type() != "Mul") || node.inputs().size() != 2) return {};
  const int own = node.input(0).from.node == w.node ? 0 : 1;
  const Tensor* constant = constant_at(node.input(1 - own).from);
  const TensorDesc &x = w.node->output().desc, &y = node.output().desc;
  if (!constant || !is_real(constant->dtype) || (divides && own == 1) || y.dims != x.dims) return {};
  if (constant->dims.size() > x.dims.size()) return {};
  const size_t behind = x.dims.size() - 1 - w.channel;  // dimensions behind that of the channels
  const bool for_channels = constant->dims.size() > behind && constant->count() == w.channels &&
                            constant->dims[constant->dims.size() - 1 - behind] == w.channels;
  if (constant->count() != 1 && !for_channels) return {};
  Affine affine;
  const std::vector<double> numbers = constant->reals();
  for (int64_t c = 0; c < w.channels; ++c) {
    const double number = numbers[numbers.size() == 1 ? 0 : static_cast<size_t>(c)];
    affine.factor.push_back(divides ? 1 / number : number);
    affine.summand.push_back(0);
  }
  return affine;
}

/// Numbers in the type of another constant; nothing where one of them has no place in it.
std::optional<Tensor> rounded(const Tensor& like, const std::vector<double>& numbers) {
  Tensor made{like.dtype, like.dims, {}, like.format};
  bool fits = true;
  std::vector<float> floats;
  std::vector<uint16_t> halves;
  for (const double number : numbers) {
    const auto value = static_cast<float>(number);
    fits = fits && std::isfinite(value) && (like.dtype != DType::Float16 || std::abs(value) < 65504);
    if (like.dtype == DType::Float) floats.push_back(value);
    else halves.push_back(like.dtype == DType::Float16 ? float_to_half(value) : float_to_bfloat16(value));
  }
  if (!fits) return {};
  made.data = like.dtype == DType::Float ? Bytes::copy_of(floats.data(), floats.size() * sizeof(float))
                                         : Bytes::copy_of(halves.data(), halves.size() * sizeof(uint16_t));
  return made;
}

/// The weights and the bias with the factors and summands of channels in them; false where they do not fit their type.
bool fold(Graph& graph, const Weighted& w, const Affine& affine) {
  Node& node = *w.node;
  const Endpoint from = node.input(w.weights).from, old_bias = input_of(node, "bias");
  const Tensor& weights = *from.node->constant();
  std::vector<double> numbers = weights.reals();
  size_t inner = 1;
  for (size_t d = w.axis + 1; d < weights.dims.size(); ++d) inner *= static_cast<size_t>(weights.dims[d]);
  const auto channels = static_cast<size_t>(w.channels);
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] *= affine.factor[i / inner % channels];
  std::vector<double> bias = old_bias ? old_bias.node->constant()->reals() : std::vector<double>(channels);
  for (size_t c = 0; c < channels; ++c) bias[c] = bias[c] * affine.factor[c] + affine.summand[c];
  const Tensor none{weights.dtype, {w.channels}, {}};
  auto new_weights = rounded(weights, numbers), new_bias = rounded(old_bias ? *old_bias.node->constant() : none, bias);
  if (!new_weights || !new_bias) return false;
  graph.connect(node, w.weights, graph.add_constant(from.node->name() + "_scaled", std::move(*new_weights)).out());
  if (!old_bias && std::ranges::all_of(bias, [](double v) { return v == 0; })) return true;
  const Endpoint to = graph.add_constant(node.name() + "_bias", std::move(*new_bias)).out();
  if (const int place = node.find_input("bias"); place >= 0) graph.connect(node, place, to);
  else graph.add_input(node, "bias", to);
  return true;
}

}  // namespace

int64_t fold_batch_norms(Graph& graph) {
  int64_t changes = 0;
  std::set<const Node*> gone;
  for (Node* node : graph.in_order()) {
    if (gone.contains(node)) continue;
    for (auto w = weighted(*node); w; w = weighted(*node)) {
      Node* reader = only_reader(*node);
      if (!reader || reader->inputs().empty()) break;
      auto affine = reader->input(0).from.node == node ? normalisation(*reader, *w) : std::nullopt;
      if (!affine) affine = product_with_constant(*reader, *w);
      if (!affine || !fold(graph, *w, *affine)) break;
      std::vector<std::string> origins = origins_of(*node);
      origins.push_back(reader->name());
      node->attributes["OriginOp"] = origins;
      node->attributes["PassName"] = "ConvBatchnormFusionPass";
      graph.replace(reader->out(), node->out());
      graph.move_controls(*reader, *node);
      gone.insert(reader);
      graph.remove(*reader);
      ++changes;
    }
  }
  return changes;
}

}  // namespace updraft::graph
