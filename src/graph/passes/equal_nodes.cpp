// Nodes that compute the same of the same are one: frameworks cast, reshape and slice a tensor anew for each reader.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <variant>

#include "graph/node_call.h"
#include "graph/passes/match.h"
#include "graph/passes/pass.h"

namespace updraft::graph {
namespace {

/// Types whose results depend on nothing but their inputs and attributes, and that do nothing else.
// clang-format off
const std::unordered_set<std::string_view> kPure = {
    "Abs", "Add", "AddV2", "AvgPoolV2", "BatchMatMul", "BatchMatMulV2", "BroadcastTo", "BroadcastToD", "Cast", "Ceil",
    "ClipByValue", "ClipByValueV2", "Concat", "ConcatD", "ConcatV2", "ConcatV2D", "Conv2D", "Cos", "Div", "Equal",
    "Erf", "Exp", "Expand", "ExpandD", "ExpandDims", "Fill", "FillD", "Floor", "FloorDiv", "FloorMod", "FusedMatMul", "Gather",
    "GatherD", "GatherElements", "GatherNd", "GatherV2", "GatherV2D", "Gelu", "GeluV2", "Greater", "GreaterEqual",
    "LayerNormV3", "LayerNormV4", "Less", "LessEqual", "Log", "LogSoftmaxV2", "LogicalAnd", "LogicalNot", "LogicalOr",
    "MatMul", "MatMulV2", "Maximum", "Minimum", "Mod", "Mul", "Muls", "Neg", "NotEqual", "Pack", "Pad", "PadV3",
    "Pow", "Range", "RangeD", "Rank", "RealDiv", "Reciprocal", "ReduceMax", "ReduceMean", "ReduceMeanD", "ReduceMin",
    "ReduceSum", "ReduceSumD", "Relu", "Reshape", "RmsNorm", "Round", "Rsqrt", "Select", "SelectV2", "Shape",
    "ShapeN", "Sigmoid", "Sign", "Sin", "Size", "Slice", "SliceD", "SoftmaxV2", "Split", "SplitD", "SplitV",
    "SplitVD", "Sqrt", "Square", "Squeeze", "SqueezeV2", "SqueezeV3", "StridedSlice", "StridedSliceD",
    "StridedSliceV2", "StridedSliceV3", "Sub", "Swish", "Tanh", "Tile", "TileD", "Transpose", "TransposeD", "Tril",
    "Triu", "Unpack", "Unsqueeze", "UnsqueezeV2", "UnsqueezeV3", "ZerosLike",
};
// clang-format on

/// What a client and passes note of a node, which changes no result.
bool is_note(std::string_view attribute) {
  return attribute == "OriginOp" || attribute == "PassName" || attribute.starts_with("_readable") ||
         attribute.starts_with("_datadump") || attribute == "_output_name_key" || attribute == "_output_name_value" ||
         attribute == "_input_name_key" || attribute == "_input_name_value";
}

template <class T, class... Of>
constexpr bool kOneOf = (std::is_same_v<T, Of> || ...);
template <class T>
constexpr bool kComparable =
    kOneOf<T, std::monostate, int64_t, float, bool, std::string, DType, Attribute::Integers, std::vector<float>,
           std::vector<bool>, Attribute::Texts, std::vector<DType>, Attribute::IntegerLists, Attribute::RealLists>;

bool same(const Attribute& a, const Attribute& b) {
  return std::visit(
      [&]<class T>(const T& value) {
        if constexpr (kComparable<T>) {
          const T* other = b.get<T>();
          return other && *other == value;
        } else {
          return false;  // tensors, graphs and functions are taken for different ones
        }
      },
      a.value());
}

bool same_attributes(const Node& a, const Node& b) {
  const auto covers = [](const Attributes& these, const Attributes& those) {
    return std::ranges::all_of(these, [&](const auto& entry) {
      if (is_note(entry.first)) return true;
      const auto other = those.find(entry.first);
      return other != those.end() && same(entry.second, other->second);
    });
  };
  return covers(a.attributes, b.attributes) && covers(b.attributes, a.attributes);
}

/// A constant as a text, by its value where it is small, so that those that a client makes for each node are one.
std::string constant_key(const Tensor& value) {
  constexpr size_t kSmall = 256;
  const size_t bytes = static_cast<size_t>(value.count()) * size_of(value.dtype);
  if (bytes == 0 || bytes > kSmall) return {};
  return fmt::format("={}[{}]{}", static_cast<int>(value.dtype), fmt::join(value.dims, ","),
                     std::string_view(value.data.text()).substr(0, bytes));
}

bool may_merge(Node& node) {
  if (!kPure.contains(node.type()) || node.outputs().empty() || !node.control_inputs().empty() ||
      !node.subgraphs.empty())
    return false;
  // What it reads may be written: variables.cpp says by control edges who reads the new value.
  for (int i = 0; i < static_cast<int>(node.outputs().size()); ++i)
    if (is_written(node.out(i))) return false;
  return true;
}

bool is_number(const Node& node) {
  return node.outputs().size() == 1 && node.output().desc.known() && node.output().desc.dims.empty();
}

/// `numbers`: those alone that give one number.
int64_t merge(Graph& graph, bool numbers) {
  int64_t changes = 0;
  std::unordered_map<std::string, std::vector<Node*>> seen;
  std::unordered_map<int64_t, std::string> constants;  // keys, by the id of the node
  for (Node* node : graph.in_order()) {
    if (node->constant()) {
      std::string key = constant_key(*node->constant());
      if (!key.empty()) constants.emplace(node->id(), std::move(key));
      continue;
    }
    if ((numbers && !is_number(*node)) || !may_merge(*node)) continue;
    std::string key = node->type();
    for (const Output& output : node->outputs()) key += fmt::format(" {}", static_cast<int>(output.desc.dtype));
    for (const Input& input : node->inputs()) {
      if (!input.from) {
        key += ";-";
        continue;
      }
      const auto constant = constants.find(input.from.node->id());
      if (constant != constants.end()) key += ";" + constant->second;
      else key += fmt::format(";{}:{}", input.from.node->id(), input.from.index);
    }
    std::vector<Node*>& others = seen[key];
    const auto first = std::ranges::find_if(others, [&](const Node* other) {
      return other->outputs().size() == node->outputs().size() && same_attributes(*other, *node);
    });
    if (first == others.end()) {
      others.push_back(node);
      continue;
    }
    for (int i = 0; i < static_cast<int>(node->outputs().size()); ++i) graph.replace(node->out(i), (*first)->out(i));
    graph.move_controls(*node, **first);
    graph.remove(*node);
    ++changes;
  }
  return changes;
}

}  // namespace

int64_t merge_equal_numbers(Graph& graph) { return merge(graph, true); }
int64_t merge_equal_nodes(Graph& graph) { return merge(graph, false); }

}  // namespace updraft::graph
