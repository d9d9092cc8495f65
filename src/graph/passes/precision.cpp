// The pass that changes types: casts are put where a node reads another type than its producer gives, once for each
// tensor and type; constants are converted here. What an operator accepts its own plan says, for the sizes at hand.
#include "graph/passes/precision.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/half.h"
#include "graph/compile/aipp.h"
#include "graph/compile/option_error.h"
#include "graph/node_call.h"
#include "graph/passes/match.h"
#include "graph/shape/known.h"

namespace updraft::graph {
namespace {

bool is_real(DType type) { return type == DType::Float || type == DType::Float16 || type == DType::BFloat16; }

/// Types whose tensors say how, and are not what is computed with; their numbers would lose their meaning.
bool keeps_type(const Node& node) {
  static constexpr std::string_view kTypes[] = {"Cast",   "CastLike", "Bitcast",           "Range",    "LinSpace",
                                                "OneHot", "OneHotD",  "NonMaxSuppression", "Bucketize"};
  static constexpr std::string_view kBegins[] = {
      "NonMaxSuppression", "Ascend", "Random", "Stateless", "Apply", "Quant", "Dequant"};
  return std::ranges::count(kTypes, std::string_view(node.type())) ||
         std::ranges::any_of(kBegins, [&](std::string_view b) { return node.type().starts_with(b); });
}

/// A convolution, or a product, that took something along is one for the lists still.
std::string_view name_in_lists(const Node& node) {
  if (node.type() == "FusedMatMul") return "MatMulV2";
  return node.type() == "FusedConv2D" ? "Conv2D" : std::string_view(node.type());
}

/// A cast in front of what is updated in place would be updated in its stead.
bool updates(const Node& node) {
  for (size_t i = 0; i < node.inputs().size(); ++i)
    if (updates_input(node, i)) return true;
  return false;
}

/// Inputs that say how, of types whose other inputs change.
bool keeps_input(const Node& node, const Input& input) {
  if (node.type().starts_with("Resize")) return input.name != "x" && input.name != "images";
  if (node.type() == "FusedConv2D") return input.name == "factor";
  static constexpr std::string_view kStatistics[] = {"scale", "offset", "mean", "variance"};
  const bool batch_norm = node.type().starts_with("BN") || node.type().find("BatchNorm") != std::string::npos;
  return batch_norm && std::ranges::count(kStatistics, std::string_view(input.name));
}

/// Numbers of a constant in another type; numbers that FLOAT16 has not become its largest ones.
Tensor converted(const Tensor& from, DType to, int64_t& saturated) {
  constexpr float kLargestHalf = 65504;
  const auto count = static_cast<size_t>(from.count());
  auto read = [&](size_t i) -> float {
    if (from.dtype == DType::Float) return from.as<float>()[i];
    return from.dtype == DType::Float16 ? half_to_float(from.as<uint16_t>()[i])
                                        : bfloat16_to_float(from.as<uint16_t>()[i]);
  };
  Tensor made{to, from.dims, {}, from.format};
  made.data = Bytes::make(count * size_of(to), [&](std::byte* data) {
    for (size_t i = 0; i < count; ++i) {
      float value = read(i);
      if (to == DType::Float16 && std::isfinite(value) && std::abs(value) > kLargestHalf) {
        value = std::copysign(kLargestHalf, value);
        ++saturated;
      }
      if (to == DType::Float) std::memcpy(data + 4 * i, &value, 4);
      else {
        const uint16_t bits = to == DType::Float16 ? float_to_half(value) : float_to_bfloat16(value);
        std::memcpy(data + 2 * i, &bits, 2);
      }
    }
  });
  return made;
}

class Rewriter {
 public:
  Rewriter(Graph& graph, const Precision& precision) : graph_(graph), precision_(precision) {}

  PrecisionReport run() {
    const auto order = graph_.in_order();
    survey(order);
    note_names(order);
    for (Node* node : order) visit(*node);
    return std::move(report_);
  }

 private:
  using Key = std::pair<int64_t, int>;  ///< of an endpoint
  static Key key(Endpoint e) { return {e.node->id(), e.index}; }

  /// What every tensor is when unknown sizes are certain ones; nodes behind one that refuses them stay unknown.
  void survey(const std::vector<Node*>& order) {
    for (const int64_t size : {int64_t{128}, int64_t{1}, int64_t{320}}) {
      World world;
      std::set<int64_t> known;
      bool all = true;
      for (Node* node : order) {
        if (node->type() == "NetOutput") continue;
        try {
          if (node->is_data()) feed(world, *node, size);
          else if (is_control_flow(*node)) leave(world, *node);
          else if (std::ranges::all_of(node->inputs(),
                                       [&](const Input& i) { return !i.from || known.contains(i.from.node->id()); }))
            world.infer(*node);
          else continue;
          known.insert(node->id());
        } catch (const Error&) { all = false; }
      }
      if (known.size() > known_.size()) {
        world_ = std::move(world);
        known_ = std::move(known);
      }
      if (all) return;
    }
  }

  static void feed(World& world, const Node& data, int64_t size) {
    const TensorDesc& desc = data.output().desc;
    Known known;
    known.dtype = desc.dtype;
    if (desc.rank_known()) {
      Dims dims = desc.dims;
      for (size_t d = 0; d < dims.size(); ++d) {
        if (dims[d] >= 0) continue;
        dims[d] = d < desc.ranges.size() ? std::max(size, desc.ranges[d].first) : size;
        if (d < desc.ranges.size() && desc.ranges[d].second > 0) dims[d] = std::min(dims[d], desc.ranges[d].second);
      }
      known.dims = std::move(dims);
    }
    world.feed(data, std::move(known));
  }

  static void leave(World& world, const Node& node) {
    std::vector<Known> outputs;
    for (const Output& output : node.outputs()) {
      Known& known = outputs.emplace_back();
      known.dtype = output.desc.dtype;
      if (output.desc.known()) known.dims = output.desc.dims;
    }
    world.feed(node, std::move(outputs));
  }

  void note_names(const std::vector<Node*>& order) {
    if (precision_.keep_nodes.empty() && precision_.custom_nodes.empty()) return;
    std::set<std::string> names, taken;
    for (const Node* node : order) {
      names.insert(node->name());
      for (const std::string& name : origins_of(*node)) taken.insert(name);
    }
    for (const std::string& name : precision_.keep_nodes)
      if (!names.contains(name) && !taken.contains(name)) report_.unknown.push_back(name);
    for (const auto& [name, types] : precision_.custom_nodes)
      if (!names.contains(name)) report_.unknown.push_back(name);
  }

  /// The model's name of a node that another took along is good still.
  bool kept(const Node& node) const {
    const auto listed = [&](const std::string& name) { return precision_.keep_nodes.contains(name); };
    return !precision_.keep_nodes.empty() && (listed(node.name()) || std::ranges::any_of(origins_of(node), listed));
  }

  DType original(Endpoint from) const { return from.node->output(from.index).desc.dtype; }
  DType now(Endpoint from) const {
    const auto found = types_.find(key(from));
    return found == types_.end() ? original(from) : found->second;
  }
  /// Where readers of the endpoint find it: behind a cast that was put there.
  Endpoint source(Endpoint from) const {
    const auto found = moved_.find(key(from));
    return found == moved_.end() ? from : found->second;
  }

  /// The type in which the node's mode wants it; nothing: the model's.
  std::optional<DType> wanted(const Node& node) const {
    if (kept(node) || precision_.keep_types.contains(name_in_lists(node)) || keeps_type(node) || updates(node) ||
        node.attributes.contains(kKeepsType))
      return {};
    const bool cube = is_cube(node.type());
    switch (precision_.mode) {
      case PrecisionMode::Low: return precision_.low;
      case PrecisionMode::CubeLow: return cube ? std::optional(precision_.low) : std::nullopt;
      case PrecisionMode::CubeLowInput: return DType::Float;
      case PrecisionMode::Mixed: break;
      default: return {};
    }
    const std::string_view type = name_in_lists(node);
    if (precision_.white.contains(type)) return precision_.low;
    if (precision_.black.contains(type)) return {};
    for (const Input& input : node.inputs())
      if (input.from && is_real(original(input.from)) && !input.from.node->constant()) return now(input.from);
    return {};
  }

  const CustomTypes* custom(const Node& node) const {
    if (const auto own = precision_.custom_nodes.find(node.name()); own != precision_.custom_nodes.end())
      return &own->second;
    const auto of_type = precision_.custom_types.find(node.type());
    return of_type == precision_.custom_types.end() ? nullptr : &of_type->second;
  }

  void visit(Node& node) {
    if (node.constant() || node.inputs().empty() || node.is_data()) return;
    std::vector<DType> types = types_of(node);
    std::vector<DType> outputs;
    const CustomTypes* customised = custom(node);
    bool changed = false;
    if (node.type() == "Cast" || node.type() == "CastLike") {
      // reads what is there, and gives what the model says
      for (size_t i = 0; i < types.size(); ++i)
        if (node.inputs()[i].from && i == 0 && is_real(types[i])) types[i] = now(node.inputs()[i].from);
    } else if (customised && operator_of(node)) {
      for (size_t i = 0; i < customised->inputs.size() && i < types.size(); ++i)
        if (customised->inputs[i] != DType::Undefined) types[i] = customised->inputs[i];
      outputs = tried(node, types);
      if (outputs.empty()) refuse(node, types);
      changed = true;
    } else if (const auto type = wanted(node); type && operator_of(node) && !is_control_flow(node)) {
      changed = choose(node, *type, types, outputs);
    }
    const bool rounds =
        precision_.mode == PrecisionMode::CubeLowInput && is_cube(node.type()) && wanted(node) && !customised;
    for (size_t i = 0; i < types.size(); ++i) {
      const Endpoint from = node.inputs()[i].from;
      if (!from) continue;
      Endpoint read = as_type(from, types[i]);
      const std::string& name = node.inputs()[i].name;  // what is added behind a convolution is no operand of it
      if (rounds && original(from) == DType::Float && types[i] == DType::Float && name != "add" && name != "factor")
        read = rounded(from);
      if (read != from) graph_.connect(node, static_cast<int>(i), read);
    }
    for (size_t i = 0; i < outputs.size(); ++i) types_[key(node.out(static_cast<int>(i)))] = outputs[i];
    if (customised) cast_outputs(node, *customised);
    report_.changed += changed;
  }

  std::vector<DType> types_of(const Node& node) const {
    std::vector<DType> types;
    for (const Input& input : node.inputs()) types.push_back(input.from ? original(input.from) : DType::Undefined);
    return types;
  }

  /// Gives the real inputs the type, as many of them as the operator accepts. False where nothing changes.
  bool choose(const Node& node, DType type, std::vector<DType>& types, std::vector<DType>& outputs) {
    const std::vector<DType> before = types;
    std::vector<size_t> real;
    for (size_t i = 0; i < types.size(); ++i)
      if (is_real(types[i]) && !keeps_input(node, node.inputs()[i])) real.push_back(i);
    if (real.empty()) return false;
    for (const size_t i : real) types[i] = type;
    if (types == before) return false;
    outputs = tried(node, types);
    if (outputs.empty() && real.size() > 1) {
      for (size_t k = 1; k < real.size(); ++k) types[real[k]] = before[real[k]];
      outputs = tried(node, types);
    }
    if (!outputs.empty()) return true;
    types = before;
    ++report_.kept;
    return false;
  }

  /// The outputs' types when the node reads these; empty where it refuses them, or where nobody can tell.
  std::vector<DType> tried(const Node& node, const std::vector<DType>& types) const {
    std::vector<Known> inputs;
    for (size_t i = 0; i < types.size(); ++i) {
      const Endpoint from = node.inputs()[i].from;
      if (!from) {
        inputs.emplace_back();
        continue;
      }
      if (!known_.contains(from.node->id())) return {};
      Known known = world_.at(from);
      if (!known.dims) return {};
      if (known.dtype != types[i]) {
        known.value.reset();
        known.dtype = types[i];
      }
      known.open.clear();
      inputs.push_back(std::move(known));
    }
    std::vector<DType> outputs;
    try {
      for (const Known& output : infer_node(node, inputs, 0)) outputs.push_back(output.dtype);
    } catch (const Error&) { return {}; }
    return outputs;
  }

  [[noreturn]] static void refuse(const Node& node, const std::vector<DType>& types) {
    std::vector<std::string> names;
    for (const DType t : types) names.emplace_back(name_of(t));
    throw OptionError("customize_dtypes", node.name(),
                      fmt::format("{} has no kernel for inputs of {}", node.type(), fmt::join(names, ", ")));
  }

  void cast_outputs(Node& node, const CustomTypes& types) {
    for (size_t i = 0; i < types.outputs.size() && i < node.outputs().size(); ++i) {
      const Endpoint out = node.out(static_cast<int>(i));
      if (types.outputs[i] == DType::Undefined || types.outputs[i] == now(out)) continue;
      moved_[key(out)] = as_type(out, types.outputs[i]);
      types_[key(out)] = types.outputs[i];
    }
  }

  Endpoint as_type(Endpoint from, DType type) {
    const Endpoint at = source(from);
    if (!is_real(type) || now(from) == type || !is_real(now(from))) return at;
    Endpoint& made = casts_[{key(at), type}];
    if (!made) made = cast(at, type);
    return made;
  }

  /// The numbers that the low type has, as FLOAT.
  Endpoint rounded(Endpoint from) {
    Endpoint& made = rounded_[key(from)];
    if (!made) made = cast(cast(as_type(from, DType::Float), precision_.low), DType::Float);
    return made;
  }

  Endpoint cast(Endpoint from, DType type) {
    const std::string name = fmt::format("{}_{}_{}", from.node->name(), from.index, name_of(type));
    if (const Tensor* constant = from.node->constant(); constant && !constant->data.empty())
      return graph_.add_constant(name, converted(*constant, type, report_.saturated)).out();
    Node& node = graph_.add("Cast", name);
    node.attributes["dst_type"] = static_cast<int64_t>(type);
    node.attributes["_by_precision"] = true;
    graph_.add_input(node, "x", from);
    TensorDesc desc = from.node->output(from.index).desc;
    desc.dtype = type;
    graph_.add_output(node, "y", std::move(desc));
    return node.out();
  }

  Graph& graph_;
  const Precision& precision_;
  World world_;
  std::set<int64_t> known_;  ///< nodes that the world has
  std::map<Key, DType> types_;
  std::map<Key, Endpoint> moved_, rounded_;
  std::map<std::pair<Key, DType>, Endpoint> casts_;
  PrecisionReport report_;
};

}  // namespace

bool is_cube(const std::string& type) {
  static constexpr std::string_view kTypes[] = {"Conv2D",
                                                "Conv3D",
                                                "Conv2DTranspose",
                                                "Conv3DTranspose",
                                                "MatMul",
                                                "MatMulV2",
                                                "BatchMatMul",
                                                "BatchMatMulV2",
                                                "GEMM",
                                                "Dot",
                                                "TransposeBatchMatMul",
                                                "FusedAttention",
                                                "FusedConv2D",
                                                "FusedMatMul",
                                                "FullyConnection",
                                                "DynamicRNN",
                                                "DynamicRNNV2",
                                                "DynamicGRUV2",
                                                "DepthwiseConv2D",
                                                "Conv2DTransposeD",
                                                "Conv3DTransposeD",
                                                "DeformableConv2D",
                                                "Einsum"};
  return std::ranges::count(kTypes, std::string_view(type)) > 0;
}

PrecisionReport apply_precision(Graph& graph, const Precision& precision) { return Rewriter(graph, precision).run(); }

}  // namespace updraft::graph
