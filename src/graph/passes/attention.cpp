// Attention that exporters write out: two products with a softmax between them, scores that are scaled and masked,
// heads of keys that are repeated. It becomes one operator that keeps no scores in memory and reads its operands where
// they lie. Scores that somebody else reads stay, and so does what the operator has no word for.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>

#include "graph/passes/match.h"
#include "graph/passes/pass.h"
#include "graph/planner/program.h"
#include "graph/shape/probe.h"

namespace updraft::graph {
namespace {

constexpr const char* kPass = "ZAttentionScoreFusionPass";

bool is_product(const Node& node) {
  return node.type() == "BatchMatMulV2" || node.type() == "BatchMatMul" || node.type() == "MatMulV2" ||
         node.type() == "MatMul";
}
bool turns(const Node& product, int side) {
  const char* name = product.type().starts_with("Batch") ? side ? "adj_x2" : "adj_x1"
                     : side                              ? "transpose_x2"
                                                         : "transpose_x1";
  return find_or<bool>(product.attributes, name, false);
}
bool is_real(DType type) { return type == DType::Float || is_half(type); }
/// A cast between types of real numbers: the operator computes in float whatever its operands are.
bool is_rounding(const Node& node) {
  return node.type() == "Cast" && is_real(desc_of(node.input(0).from).dtype) && is_real(node.output().desc.dtype);
}
bool broadcasts(const Node& node) {
  return node.type() == "Expand" || node.type() == "BroadcastTo" || node.type() == "ExpandD" ||
         node.type() == "BroadcastToD";
}

/// What is known of values and sizes without the inputs' data. Inferred when somebody asks, since most graphs have no
/// attention.
class Facts {
 public:
  explicit Facts(Graph& graph) : graph_(graph) {}

  /// The number that all elements of a tensor are.
  std::optional<double> number(Endpoint from) {
    if (!from) return {};
    const Tensor* constant = constant_at(from);
    if (!constant && asks_ahead(*from.node)) constant = probe().value(from);
    if (!constant || !is_floating(constant->dtype) || constant->count() < 1) return {};
    const std::vector<double> values = constant->reals();
    if (!std::ranges::all_of(values, [&](double v) { return v == values[0]; })) return {};
    return values[0];
  }
  bool same_size(Endpoint a, size_t da, Endpoint b, size_t db) {
    const int64_t x = desc_of(a).dims[da], y = desc_of(b).dims[db];
    return x == y && (x >= 0 || probe().same_size(a, da, b, db));
  }

 private:
  /// Only computed sizes are worth the inference of the graph.
  static bool asks_ahead(const Node& node) {
    return !node.is_data() && node.outputs().size() == 1 && node.output().desc.count() == 1;
  }
  const Probe& probe() {
    if (!probe_) probe_ = probe_all(graph_);
    return *probe_;
  }

  Graph& graph_;
  std::optional<Probe> probe_;
};

/// What lies between the first product and the softmax, and what the operands are.
struct Scores {
  Node* product = nullptr;
  std::vector<Node*> nodes;  ///< from the softmax up to the product
  double scale = 1;
  std::vector<Endpoint> biases;
  Endpoint mask;
  double masked = -std::numeric_limits<double>::infinity();
  bool mask_keeps = false, mask_first = false;
  bool scaled = false;     ///< a factor was met: nothing may be masked before
  bool regrouped = false;  ///< batches and heads are one dimension in the product
};

class Matcher {
 public:
  Matcher(Graph& graph, Facts& facts, Node& softmax) : graph_(graph), facts_(facts), softmax_(softmax) {}

  /// The operator in the place of all that belongs to this softmax; nothing where that is no attention.
  std::optional<std::vector<const Node*>> fuse() {
    if (!is_last_axis() || !find_weights()) return {};
    const Endpoint from = softmax_.input(0).from;
    const auto scores = up(from, {});
    if (!scores) return {};
    return build(*scores);
  }

 private:
  bool is_last_axis() {
    if (softmax_.outputs().size() != 1 || !softmax_.control_inputs().empty() || !softmax_.input(0).from) return false;
    const TensorDesc& desc = softmax_.output().desc;
    if (!desc.rank_known() || desc.dims.size() < 2 || desc.dims.size() > 4 || !is_real(desc.dtype)) return false;
    const auto axes = find_or(softmax_.attributes, "axes", Attribute::Integers{-1});
    return axes.size() == 1 && (axes[0] == -1 || axes[0] + 1 == static_cast<int64_t>(desc.dims.size()));
  }

  /// From the softmax down to the product with the values.
  bool find_weights() {
    below_ = {&softmax_};
    Node* at = &softmax_;
    if (Node* choice = without_nan()) {
      below_.push_back(choice);
      at = choice;
      nan_as_zero_ = true;
    }
    for (Node* next = only_reader(*at); next && next->outputs().size() == 1; next = only_reader(*at)) {
      if (is_product(*next)) {
        if (next->input(0).from != at->out() || turns(*next, 0) || turns(*next, 1) || input_of(*next, "bias"))
          return false;
        values_ = next;
        below_.push_back(next);
        return is_real(next->output().desc.dtype);
      }
      const TensorDesc &x = at->output().desc, &y = next->output().desc;
      if (passes_on(*next) && same_matrices(x, y)) weights_regrouped_ = true;
      else if (!is_rounding(*next)) return false;
      below_.push_back(next);
      at = next;
    }
    return false;
  }

  /// Where(IsNaN(softmax), 0, softmax), with which exporters write that a row without keys gives zeros.
  Node* without_nan() {
    const auto& uses = softmax_.output().uses;
    if (uses.size() != 2) return nullptr;
    for (const Use& use : uses) {
      if (use.node->type() != "IsNan") continue;
      Node* choice = only_reader(*use.node);
      if (!choice || (choice->type() != "SelectV2" && choice->type() != "Select") ||
          choice->input(0).from != use.node->out() || choice->input(2).from != softmax_.out() ||
          facts_.number(choice->input(1).from) != 0.0 || choice->output().desc.dims != softmax_.output().desc.dims)
        continue;
      below_.push_back(use.node);
      return choice;
    }
    return nullptr;
  }

  /// The same matrices, with the dimensions in front of them put together or apart.
  static bool same_matrices(const TensorDesc& x, const TensorDesc& y) {
    return x.known() && y.known() && x.dims.size() >= 2 && y.dims.size() >= 2 &&
           std::equal(x.dims.end() - 2, x.dims.end(), y.dims.end() - 2) && x.count() == y.count();
  }

  /// From the softmax's input up to the product of queries and keys. Where a sum has two sides both are tried.
  std::optional<Scores> up(Endpoint at, Scores scores) {
    constexpr size_t kMostNodes = 8;
    Node& node = *at.node;
    if (node.outputs().size() != 1 || node.output().uses.size() != 1 || !node.control_inputs().empty() ||
        scores.nodes.size() > kMostNodes)
      return {};
    scores.nodes.push_back(&node);
    if (is_product(node)) {
      if (turns(node, 0) || input_of(node, "bias")) return {};
      scores.product = &node;
      return scores;
    }
    const std::string& type = node.type();
    const TensorDesc& whole = node.output().desc;
    const auto keeps_shape = [&](int side) {
      const Endpoint from = node.input(side).from;
      return from && desc_of(from).rank_known() && desc_of(from).dims == whole.dims;
    };
    if (is_rounding(node)) return up(node.input(0).from, std::move(scores));
    if (passes_on(node)) {
      const Endpoint from = node.input(0).from;
      if (scores.regrouped || !same_matrices(desc_of(from), whole)) return {};
      scores.regrouped = true;
      return up(from, std::move(scores));
    }
    if (type == "Muls") {
      scores.scale *= static_cast<double>(find_or<float>(node.attributes, "value", 1));
      scores.scaled = true;
      return up(node.input(0).from, std::move(scores));
    }
    if (type == "Mul" || type == "Div" || type == "RealDiv") {
      for (int side : {0, 1}) {
        if ((side == 1 && type != "Mul") || !keeps_shape(side)) continue;
        const auto factor = facts_.number(node.input(1 - side).from);
        if (!factor) continue;
        scores.scale = type == "Mul" ? scores.scale * *factor : scores.scale / *factor;
        scores.scaled = true;
        return up(node.input(side).from, std::move(scores));
      }
      return {};
    }
    if (scores.scaled || scores.regrouped) return {};  // a mask that is scaled with the scores, or of another rank
    if (type == "Add" || type == "AddV2") return masked_by_sum(node, scores, keeps_shape);
    return hidden(node, scores, keeps_shape);
  }

  template <class Keeps>
  std::optional<Scores> masked_by_sum(Node& node, const Scores& scores, Keeps&& keeps_shape) {
    if (scores.mask_first) return {};  // sums on either side of what hides
    for (int side : {0, 1}) {
      const Endpoint other = node.input(1 - side).from;
      if (!keeps_shape(side) || !other || !is_real(desc_of(other).dtype)) continue;
      Scores more = scores;
      more.biases.push_back(other);
      if (auto found = up(node.input(side).from, std::move(more))) return found;
    }
    return {};
  }

  /// Where(condition, scores, number) or the other way about, and masked_fill.
  template <class Keeps>
  std::optional<Scores> hidden(Node& node, Scores scores, Keeps&& keeps_shape) {
    if (scores.mask || node.inputs().size() != 3) return {};
    const bool select = node.type() == "SelectV2" || node.type() == "Select";
    if (!select && node.type() != "MaskedFill") return {};
    const int condition = select ? 0 : 1;
    scores.mask = node.input(condition).from;
    if (!scores.mask || desc_of(scores.mask).dtype != DType::Bool) return {};
    scores.mask_first = !scores.biases.empty();
    for (int side : {0, 1, 2}) {
      const int other = select ? 3 - side : 2;
      if (side == condition || other < 0 || other > 2 || (!select && side != 0) || !keeps_shape(side)) continue;
      const auto number = facts_.number(node.input(other).from);
      if (!number) continue;
      Scores more = scores;
      more.masked = *number;
      more.mask_keeps = select && side == 1;
      if (auto found = up(node.input(side).from, std::move(more))) return found;
    }
    return {};
  }

  // --- operands ---------------------------------------------------------------------------------------------------

  /// The dimensions in front of the matrices, as the softmax has them.
  Dims lead() const {
    const Dims& dims = softmax_.output().desc.dims;
    return {dims.begin(), dims.end() - 2};
  }

  /// The operand with batches and heads apart; nothing where that is not known.
  Endpoint apart(Endpoint from) {
    const TensorDesc& desc = desc_of(from);
    Dims want = lead();
    if (!desc.known() || desc.dims.size() < 2) return {};
    want.insert(want.end(), desc.dims.end() - 2, desc.dims.end());
    if (count_of(want) != desc.count()) return {};
    for (Endpoint at = from;;) {
      if (desc_of(at).dims == want) return at;
      const bool moves = passes_on(*at.node) || broadcasts(*at.node);
      if (!moves || at.node->outputs().size() != 1 || !at.node->input(0).from) break;
      const Endpoint before = at.node->input(0).from;
      if (desc_of(before).count() != desc.count()) break;
      at = before;
    }
    Node& shape = graph_.add_constant(from.node->name() + "_heads_shape", Tensor::of(want));
    Node& made = graph_.add("Reshape", from.node->name() + "_heads");
    graph_.add_input(made, "x", from);
    graph_.add_input(made, "shape", shape.out());
    graph_.add_output(made, "y", {desc.dtype, want});
    return made.out();
  }

  /// Takes factors into the scale, and says how often the last two dimensions of what is left are exchanged.
  Endpoint bare(Endpoint from, double& scale, bool& turned, bool turn) {
    for (;;) {
      Node& node = *from.node;
      if (node.outputs().size() != 1 || node.inputs().empty() || !node.input(0).from) return from;
      if (broadcasts(node) && node.output().desc.known() &&
          desc_of(node.input(0).from).dims == node.output().desc.dims) {
        from = node.input(0).from;
        continue;
      }
      if (const auto order = order_of(node); order && turn) {
        Dims exchanged(order->size());
        for (size_t d = 0; d < exchanged.size(); ++d) exchanged[d] = static_cast<int64_t>(d);
        if (exchanged.size() < 2) return from;
        std::swap(exchanged.end()[-1], exchanged.end()[-2]);
        if (*order != exchanged) return from;
        turned = !turned;
        from = node.input(0).from;
        continue;
      }
      const auto factor = factor_of(node);
      if (!factor) return from;
      scale *= factor->second;
      from = node.input(factor->first).from;
    }
  }

  /// The input that a node multiplies by a number, and the number.
  std::optional<std::pair<int, double>> factor_of(const Node& node) {
    const std::string& type = node.type();
    if (type == "Muls") return std::pair{0, static_cast<double>(find_or<float>(node.attributes, "value", 1))};
    if ((type != "Mul" && type != "Div" && type != "RealDiv") || node.inputs().size() != 2) return {};
    for (int side : {0, 1}) {
      if (side == 1 && type != "Mul") continue;
      const Endpoint from = node.input(side).from;
      if (!from || desc_of(from).dims != node.output().desc.dims || !is_real(desc_of(from).dtype)) continue;
      if (const auto number = facts_.number(node.input(1 - side).from))
        return std::pair{side, type == "Mul" ? *number : 1 / *number};
    }
    return {};
  }

  /// Each head of x [batch, heads, …] several times in turn, as models with fewer heads of keys have it: x; else what
  /// it is given.
  Endpoint unrepeated(Endpoint from) {
    const Node& flat = *from.node;
    if (!passes_on(flat) || !flat.input(0).from || desc_of(from).dims.size() != 4) return from;
    const Node& wide = *flat.input(0).from.node;
    if (!broadcasts(wide) || !wide.input(0).from) return from;
    const Endpoint wider = flat.input(0).from, narrow = wide.input(0).from;
    if (!passes_on(*narrow.node) || !narrow.node->input(0).from) return from;
    const Endpoint x = narrow.node->input(0).from;
    if (desc_of(wider).dims.size() != 5 || desc_of(narrow).dims.size() != 5 || desc_of(x).dims.size() != 4) return from;
    const Dims &all = desc_of(wider).dims, &one = desc_of(narrow).dims, &own = desc_of(x).dims;
    if (one[2] != 1 || all[1] <= 0 || all[2] <= 0 || own[1] != all[1] || desc_of(from).dims[1] != all[1] * all[2])
      return from;
    constexpr std::pair<size_t, size_t> kSame[] = {{0, 0}, {1, 1}, {3, 2}, {4, 3}};
    for (const auto& [five, four] : kSame)
      if (!facts_.same_size(narrow, five, wider, five) || !facts_.same_size(x, four, narrow, five) ||
          (four != 1 && !facts_.same_size(from, four, wider, five)))
        return from;
    return x;
  }

  std::optional<std::vector<const Node*>> build(const Scores& scores) {
    Scores s = scores;
    const DType type = values_->output().desc.dtype;
    Endpoint q = s.product->input(0).from, k = s.product->input(1).from, v = values_->input(1).from;
    if (!q || !k || !v) return {};
    bool turned = !turns(*s.product, 1);  // the key as the product reads it has its elements in rows
    bool never = false;
    q = bare(q, s.scale, never, false);
    k = bare(k, s.scale, turned, true);
    if (s.regrouped) {
      q = apart(q);
      k = apart(k);
      if (!q || !k) return {};
      q = bare(q, s.scale, never, false);
      k = bare(k, s.scale, turned, true);
    }
    if (weights_regrouped_) {
      v = apart(v);
      if (!v) return {};
    }
    const size_t rank = softmax_.output().desc.dims.size();
    for (const Endpoint& from : {q, k, v})
      if (!desc_of(from).rank_known() || desc_of(from).dims.size() != rank || desc_of(from).dtype != type) return {};
    if (desc_of(q).dims.back() == 0) return {};  // scores are sums of nothing
    if (rank == 4) {
      const int64_t heads = softmax_.output().desc.dims[1];
      const int64_t of_keys = desc_of(k).dims[1];
      if (heads <= 0 || desc_of(q).dims[1] != heads || (of_keys != heads && of_keys != 1) ||
          desc_of(v).dims[1] != of_keys)
        return {};
      const Endpoint few_keys = turned ? k : unrepeated(k), few_values = unrepeated(v);
      if (desc_of(few_keys).dims[1] == desc_of(few_values).dims[1]) k = few_keys, v = few_values;
    }
    for (const Endpoint& bias : s.biases)
      if (!desc_of(bias).rank_known() || desc_of(bias).dims.size() > rank) return {};
    if (s.mask && (!desc_of(s.mask).rank_known() || desc_of(s.mask).dims.size() > rank)) return {};
    if (!std::isfinite(s.scale)) return {};

    std::vector<Node*> nodes(s.nodes.rbegin(), s.nodes.rend());
    nodes.insert(nodes.end(), below_.begin(), below_.end());
    Node* end = values_;
    Dims plain = lead();
    plain.push_back(desc_of(values_->out()).dims.end()[-2]);
    plain.push_back(desc_of(values_->out()).dims.back());
    bool together = weights_regrouped_;
    if (Node* next = only_reader(*end); together && next && passes_on(*next) && next->output().desc.dims == plain) {
      nodes.push_back(end = next);
      together = false;
    }
    Node& made = graph_.add("FusedAttention", end->name());
    if (Node* next = only_reader(*end); !together && next)
      if (const auto order = order_of(*next); order && order->back() + 1 == static_cast<int64_t>(rank)) {
        made.attributes["perm_y"] = *order;
        nodes.push_back(end = next);
      }
    made.attributes["scale"] = static_cast<float>(s.scale);
    made.attributes["turned_key"] = turned;
    made.attributes["nan_as_zero"] = nan_as_zero_;
    if (s.mask) {
      made.attributes["masked"] = static_cast<float>(s.masked);
      made.attributes["mask_keeps"] = s.mask_keeps;
      made.attributes["mask_first"] = s.mask_first;
    }
    graph_.add_input(made, "query", q);
    graph_.add_input(made, "key", k);
    graph_.add_input(made, "value", v);
    graph_.add_input(made, "bias", sum_of(s.biases, made));
    graph_.add_input(made, "mask", s.mask);
    TensorDesc desc = end->output().desc;
    if (together) desc.dims = desc.origin_dims = plain;
    graph_.add_output(made, "y", desc);
    if (!together) return take_place(graph_, made, nodes, kPass);
    Node& shape = graph_.add_constant(end->name() + "_shape", Tensor::of(end->output().desc.dims));
    Node& flat = graph_.add("Reshape", end->name() + "_together");
    graph_.add_input(flat, "x", made.out());
    graph_.add_input(flat, "shape", shape.out());
    graph_.add_output(flat, "y", end->output().desc);
    auto gone = take_place(graph_, flat, nodes, kPass);
    for (const char* name : {"PassName", "OriginOp"}) made.attributes[name] = flat.attributes[name];
    return gone;
  }

  /// Several masks that are added, as one.
  Endpoint sum_of(const std::vector<Endpoint>& biases, const Node& made) {
    Endpoint sum;
    for (const Endpoint& bias : biases) {
      if (!sum) {
        sum = bias;
        continue;
      }
      Node& add = graph_.add("Add", made.name() + "_masks");
      graph_.add_input(add, "x1", sum);
      graph_.add_input(add, "x2", bias);
      graph_.add_output(add, "y");
      sum = add.out();
    }
    return sum;
  }

  Graph& graph_;
  Facts& facts_;
  Node& softmax_;
  std::vector<Node*> below_;
  Node* values_ = nullptr;
  bool nan_as_zero_ = false, weights_regrouped_ = false;
};

}  // namespace

int64_t fuse_attention(Graph& graph) {
  int64_t changes = 0;
  Facts facts(graph);
  std::vector<const Node*> gone;
  for (Node* node : graph.in_order()) {
    if (std::ranges::find(gone, node) != gone.end() || node->type() != "SoftmaxV2") continue;
    const auto removed = Matcher(graph, facts, *node).fuse();
    if (!removed) continue;
    gone.insert(gone.end(), removed->begin(), removed->end());
    ++changes;
  }
  return changes;
}

}  // namespace updraft::graph
