#include "graph/compile/four_bits.h"

#include <algorithm>

namespace updraft::graph {
namespace {

/// A Bitcast to that type.
bool casts_to(const Node& node, DType wanted) {
  if (node.type() != "Bitcast" || node.inputs().size() != 1 || !node.input(0).from) return false;
  if (const auto* type = find<DType>(node.attributes, "type")) return *type == wanted;
  return find_or<int64_t>(node.attributes, "type", 0) == static_cast<int64_t>(wanted);
}

/// A Reshape to the shape of something times [1, …, 8].
bool names_eight_in_a_word(const Use& use) {
  if (use.node->type() != "Reshape" || use.index != 0 || use.node->inputs().size() < 2) return false;
  const Node* product = use.node->input(1).from.node;
  if (!product || product->type() != "Mul" || product->inputs().size() != 2) return false;
  const Tensor* factors = constant_at(product->input(1).from);
  if (!factors || factors->count() == 0) return false;
  const std::vector<int64_t> all = factors->integers();
  return all.back() == 8 && std::count(all.begin(), all.end(), 1) == static_cast<int64_t>(all.size()) - 1;
}

/// The attribute by which the operator reads its last two dimensions the other way round, else null.
const char* turning_attribute(const Use& use) {
  const std::string& type = use.node->type();
  const std::string& input = use.node->input(use.index).name;
  if (type.starts_with("QuantBatchMatmul"))
    return input == "x1" ? "transpose_x1" : input == "x2" ? "transpose_x2" : nullptr;
  if (type.starts_with("WeightQuantBatchMatmul")) return input == "weight" ? "transpose_weight" : nullptr;
  return nullptr;
}

/// A Transpose of matrices whose readers all have such an attribute.
bool turns_matrices(const Node& node) {
  if (node.type() != "Transpose" || node.inputs().size() != 2 || node.output().uses.empty()) return false;
  const Tensor* order = constant_at(node.input(1).from);
  if (!order) return false;
  std::vector<int64_t> all = order->integers();
  if (all.size() < 2) return false;
  std::swap(all[all.size() - 1], all[all.size() - 2]);
  for (size_t d = 0; d < all.size(); ++d)
    if (all[d] != static_cast<int64_t>(d)) return false;
  return std::ranges::all_of(node.output().uses, [](const Use& by) { return turning_attribute(by) != nullptr; });
}

/// The readers of a Transpose read what it reads, the other way round.
void turn_readers(Graph& graph, Node& transpose) {
  const std::vector<Use> readers = transpose.output().uses;
  for (const Use& by : readers) {
    const char* name = turning_attribute(by);
    by.node->attributes[name] = !find_or(by.node->attributes, name, false);
    graph.connect(*by.node, by.index, transpose.input(0).from);
  }
  graph.remove(transpose);
}

void read_words(Graph& graph, Node& says, Endpoint words) {
  const std::vector<Use> uses = says.output().uses;
  for (const Use& use : uses) {
    graph.connect(*use.node, use.index, words);
    if (use.index == 0 && turns_matrices(*use.node)) turn_readers(graph, *use.node);
  }
}

/// Numbers of INT4 that an operator gives, and that a client puts into words by itself: Reshape to [..., 8], `cast` to
/// INT32, Reshape. The operator gives the words here.
void give_words(Graph& graph, Node& cast) {
  Node& eights = *cast.input(0).from.node;
  if (eights.type() != "Reshape") return;
  const Endpoint words = eights.input(0).from;
  if (!words || words.node->output_desc(words.index).dtype != DType::Int4) return;
  const std::vector<Use> uses = cast.output().uses;
  for (const Use& use : uses) {
    if (use.node->type() != "Reshape" || use.index != 0) continue;
    read_words(graph, *use.node, words);
    graph.remove(*use.node);
  }
  if (!cast.output().uses.empty()) return;
  graph.remove(cast);
  if (eights.output().uses.empty()) graph.remove(eights);
}

/// INT32 that such an operator reads are words, whether or not somebody says so.
bool turns_words(const Node& node) {
  if (!turns_matrices(node)) return false;
  const Use& by = node.output().uses[0];
  return by.node->input(by.index).desc.dtype == DType::Int32 || node.output().desc.dtype == DType::Int32;
}

/// A tensor that a client says to be of INT4, as the words in which its numbers lie.
void hold_words(TensorDesc& desc) {
  if (desc.dtype != DType::Int4) return;
  if (desc.known() && (desc.dims.empty() || desc.dims.back() % 8)) return;  // operators refuse it by its type
  desc.dtype = DType::Int32;
  if (desc.known()) desc.dims.back() /= 8;
}

}  // namespace

void keep_four_bits_in_words(Graph& graph) {
  std::vector<Node*> found;
  for (const auto& node : graph.nodes())
    if (casts_to(*node, DType::Int4)) found.push_back(node.get());
  for (Node* node : found) {
    const Endpoint words = node->input(0).from;
    const std::vector<Use> uses = node->output().uses;
    for (const Use& use : uses) {
      if (!names_eight_in_a_word(use)) continue;
      read_words(graph, *use.node, words);
      graph.remove(*use.node);
    }
    if (find_or(node->attributes, "keep_dim", false)) read_words(graph, *node, words);
    if (node->output().uses.empty()) graph.remove(*node);
  }
  found.clear();
  for (const auto& node : graph.nodes())
    if (casts_to(*node, DType::Int32)) found.push_back(node.get());
  for (Node* node : found) give_words(graph, *node);
  found.clear();
  for (const auto& node : graph.nodes())
    if (turns_words(*node)) found.push_back(node.get());
  for (Node* node : found) turn_readers(graph, *node);
  for (const auto& node : graph.nodes()) {
    for (size_t i = 0; i < node->inputs().size(); ++i) hold_words(node->input_desc(static_cast<int>(i)));
    for (size_t i = 0; i < node->outputs().size(); ++i) hold_words(node->output_desc(static_cast<int>(i)));
  }
}

}  // namespace updraft::graph
