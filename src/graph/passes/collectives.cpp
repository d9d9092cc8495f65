// Sums over ranks of several tensors become one of a tensor that holds them all: gradients by the segments that the
// group's strategy makes (fusion 1), others by the number that they were given (fusion 2).
#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_set>

#include "base/error.h"
#include "base/log.h"
#include "graph/executor/collective.h"
#include "graph/passes/pass.h"

namespace updraft::graph {
namespace {

constexpr int64_t kByStrategy = 1, kByNumber = 2;
constexpr const char* kPass = "HcomAllReduceFusionPass";
constexpr const char* kSeen = "_segments_told";

/// What sums must have alike to be one: the group, the type, how they are fused and the number.
using Key = std::tuple<std::string, DType, int64_t, int64_t>;

std::map<Key, std::vector<Node*>> sums_of(const Graph& graph) {
  std::map<Key, std::vector<Node*>> sums;
  for (Node* node : graph.in_order()) {
    if (node->type() != "HcomAllReduce" || find_or(node->attributes, "reduction", std::string()) != "sum") continue;
    const auto fusion = find_or<int64_t>(node->attributes, "fusion", kByStrategy);
    const auto number = find_or<int64_t>(node->attributes, "fusion_id", -1);
    const TensorDesc& desc = node->output().desc;
    if (node->attributes.contains(kSeen) || !desc.known() || count_of(desc.dims) == 0) continue;
    if (fusion != kByStrategy && (fusion != kByNumber || number < 0)) continue;
    const bool by_number = fusion == kByNumber;
    sums[{find_or(node->attributes, "group", std::string()), desc.dtype, fusion, by_number ? number : 0}].push_back(
        node);
  }
  return sums;
}

/// True when `node` needs one of `others`.
bool needs(Node* node, const std::vector<Node*>& others) {
  std::unordered_set<const Node*> seen;
  std::vector<Node*> next = {node};
  while (!next.empty()) {
    Node* at = next.back();
    next.pop_back();
    auto go = [&](Node* before) {
      if (before && seen.insert(before).second) next.push_back(before);
    };
    for (const Input& input : at->inputs()) go(input.from.node);
    for (Node* before : at->control_inputs()) go(before);
  }
  return std::ranges::any_of(others, [&](const Node* other) { return seen.contains(other); });
}

/// A node with these inputs and outputs; what is known of its tensors is inferred behind the passes.
Node& add(Graph& graph, const char* type, const std::string& name,
          const std::vector<std::pair<std::string, Endpoint>>& inputs, const std::vector<std::string>& outputs) {
  Node& node = graph.add(type, name);
  for (const auto& [input, from] : inputs) graph.add_input(node, input, from);
  for (const std::string& output : outputs) graph.add_output(node, output);
  return node;
}

Endpoint reshaped(Graph& graph, const std::string& name, Endpoint x, DType type, const Dims& dims) {
  Node& shape = graph.add_constant(name + "/shape", Tensor::of(dims));
  Node& node = add(graph, "Reshape", name, {{"x", x}, {"shape", shape.out()}}, {"y"});
  node.output_desc() = {type, dims};
  return node.out();
}

void fuse(Graph& graph, const std::vector<Node*>& sums) {
  const std::string name = sums.front()->name() + "/fused";
  const DType type = sums.front()->output().desc.dtype;
  std::vector<std::pair<std::string, Endpoint>> flat;
  std::vector<std::string> outputs;
  Dims sizes;
  int64_t whole = 0;
  Attribute::Texts origins;
  for (Node* node : sums) {
    sizes.push_back(count_of(node->output().desc.dims));
    whole += sizes.back();
    flat.emplace_back("x" + std::to_string(flat.size()),
                      reshaped(graph, node->name() + "/flat", node->input(0).from, type, {sizes.back()}));
    outputs.push_back("y" + std::to_string(outputs.size()));
    origins.push_back(node->name());
  }
  flat.emplace_back("concat_dim", graph.add_constant(name + "/axis", Tensor::of(int64_t{0})).out());
  Node& all = add(graph, "ConcatV2", name + "/all", flat, {"y"});
  all.attributes["N"] = static_cast<int64_t>(sums.size());
  all.output_desc() = {type, {whole}};
  Node& reduced = add(graph, "HcomAllReduce", name, {{"x", all.out()}}, {"y"});
  reduced.attributes = sums.front()->attributes;
  reduced.attributes["PassName"] = kPass;
  reduced.attributes["OriginOp"] = origins;
  reduced.output_desc() = {type, {whole}};
  Node& parts = add(graph, "SplitV", name + "/parts",
                    {{"x", reduced.out()},
                     {"size_splits", graph.add_constant(name + "/sizes", Tensor::of(sizes)).out()},
                     {"split_dim", graph.add_constant(name + "/dimension", Tensor::of(int64_t{0})).out()}},
                    outputs);
  parts.attributes["num_split"] = static_cast<int64_t>(sums.size());
  for (size_t i = 0; i < sums.size(); ++i) {
    Node* node = sums[i];
    const int place = static_cast<int>(i);
    parts.output_desc(place) = {type, {sizes[i]}};
    graph.replace(node->out(),
                  reshaped(graph, node->name() + "/part", parts.out(place), type, node->output().desc.dims));
    graph.move_controls(*node, reduced);
    graph.remove(*node);
  }
}

/// Those of a segment that do not wait for each other.
int64_t fuse_segment(Graph& graph, std::vector<Node*> sums) {
  int64_t changes = 0;
  while (!sums.empty()) {
    std::vector<Node*> together, rest;
    for (Node* node : sums) (needs(node, together) ? rest : together).push_back(node);
    if (together.size() > 1) {
      fuse(graph, together);
      ++changes;
    }
    if (rest.size() == sums.size()) break;
    sums = std::move(rest);
  }
  return changes;
}

}  // namespace

int64_t fuse_collectives(Graph& graph) {
  int64_t changes = 0;
  for (auto& [key, sums] : sums_of(graph)) {
    const auto& [group, type, fusion, number] = key;
    for (Node* node : sums) node->attributes[kSeen] = true;
    if (sums.size() < 2) continue;
    std::vector<size_t> ends = {sums.size() - 1};
    if (fusion == kByStrategy) {
      std::vector<uint64_t> bytes;
      for (const Node* node : sums)
        bytes.push_back(static_cast<uint64_t>(count_of(node->output().desc.dims)) * size_of(type));
      try {
        ends = segments_door()(group, bytes);
      } catch (const Error& e) {
        // the indices were made for the gradients of another graph, perhaps for those of the next one
        UPDRAFT_LOG(kWarning, "HCCL", "{} sums of group {} stay apart: {}", sums.size(), group, e.text());
        continue;
      }
    }
    size_t first = 0;
    for (const size_t end : ends) {
      changes += fuse_segment(graph, {sums.begin() + static_cast<std::ptrdiff_t>(first),
                                      sums.begin() + static_cast<std::ptrdiff_t>(end) + 1});
      first = end + 1;
    }
  }
  return changes;
}

}  // namespace updraft::graph
