// What several lines of PyTorch compute and one operator of the NPU does.
#include <algorithm>
#include <array>

#include "migrate/rewrite/hints/hints.h"
#include "migrate/support/torch_api.h"

namespace updraft::migrate::rewrite::hint {
namespace {

bool is_softmax(const Walk& w, NodeId call) {
  if (w.callee(call) != "softmax" && w.callee(call) != "Softmax") return false;
  const std::string name = w.resolved(call);
  return name.empty()
             ? w.tree.kind(w.tree.child(call, Field::Function)) == Kind::Attribute
             : name == "torch.softmax" || name == "torch.nn.functional.softmax" || name == "torch.Tensor.softmax";
}

NodeId unwrap(const syntax::Tree& tree, NodeId node) {
  while (tree.kind(node) == Kind::Parenthesized) node = tree.child(node, std::size_t{0});
  return node;
}

/// A call of an activation, by whatever name: F.silu(x), self.act(x) of nn.SiLU.
bool activation(const Walk& w, NodeId node, std::string_view function, std::string_view module) {
  const syntax::Tree& tree = w.tree;
  node = unwrap(tree, node);
  if (tree.kind(node) != Kind::Call) return false;
  const NodeId callee = tree.child(node, Field::Function);
  if (tree.kind(callee) != Kind::Attribute && tree.kind(callee) != Kind::Identifier) return false;
  const std::string name = w.resolved(node);
  return name == function || name == module;
}

/// What a function's body calls, by last names.
struct Body {
  bool rsqrt = false, sqrt = false, mean = false, square = false, weight = false, variance = false,
       subtracts_mean = false;
  NodeId softmax = kNone;
  bool product_before = false, transposed = false, product_after = false;
};

Body read(const Walk& w, NodeId function) {
  const syntax::Tree& tree = w.tree;
  Body b;
  for (NodeId id = tree.child(function, Field::Body); id != kNone && id < tree[function].last; ++id) {
    const Kind kind = tree.kind(id);
    if (kind == Kind::Call) {
      const std::string_view name = w.callee(id);
      b.rsqrt = b.rsqrt || name == "rsqrt";
      b.sqrt = b.sqrt || name == "sqrt";
      b.mean = b.mean || name == "mean";
      b.square = b.square || name == "pow" || name == "square";
      b.variance = b.variance || name == "var" || name == "std";
      const bool product = name == "matmul" || name == "bmm" || name == "einsum" || name == "baddbmm";
      if (product) {
        if (b.softmax == kNone) {
          b.product_before = true;
          const std::string_view text = tree.text(id);
          b.transposed = b.transposed || name == "einsum" || text.find("transpose") != std::string_view::npos ||
                         text.find("permute") != std::string_view::npos || text.find(".T") != std::string_view::npos ||
                         text.find(".mT") != std::string_view::npos;
        } else {
          b.product_after = true;
        }
      }
      if ((name == "transpose" || name == "permute") && b.softmax == kNone) b.transposed = true;
      if (is_softmax(w, id) && b.softmax == kNone) b.softmax = id;
    } else if (kind == Kind::Binary) {
      const std::string_view op = w.operator_of(id);
      if (op == "@") (b.softmax == kNone ? b.product_before : b.product_after) = true;
      b.square = b.square || (op == "**" && tree.text(tree.child(id, Field::Right)) == "2");
      if (op == "-") {
        const std::string_view right = tree.text(tree.child(id, Field::Right));
        b.subtracts_mean = b.subtracts_mean || right.find("mean") != std::string_view::npos || right == "mu";
      }
    } else if (kind == Kind::Attribute) {
      const std::string_view name = tree.text(tree.child(id, Field::Attribute));
      b.weight = b.weight || name == "weight" || name == "scale" || name == "gamma" || name == "g";
    }
  }
  return b;
}

bool is_module(const Walk& w, NodeId cls) {
  for (NodeId base : w.tree.children(w.tree.child(cls, Field::Superclasses))) {
    const Value v = w.s.module.local(base);
    if (v.what == What::Api && names::is_module_or_tensor(v.name)) return true;
  }
  return false;
}

bool within_function_of(const Walk& w, NodeId node, std::string_view word) {
  const NodeId function = w.tree.ancestor(node, Kind::Function);
  return function != kNone && w.tree.text(function).find(word) != std::string_view::npos;
}

/// y.transpose(-2, -1), y.t(), y.mT: the last two dimensions change places.
bool transposed(const Walk& w, NodeId node) {
  const syntax::Tree& tree = w.tree;
  node = unwrap(tree, node);
  if (tree.kind(node) == Kind::Attribute) return tree.text(tree.child(node, Field::Attribute)) == "mT";
  if (tree.kind(node) != Kind::Call || w.callee(node) != "transpose") return false;
  const std::string_view given = tree.text(tree.child(node, Field::Arguments));
  return given == "(-2, -1)" || given == "(-1, -2)" || given == "(1, 2)" || given == "(2, 3)";
}

/// Idioms of one call and what stands in it. True: nothing else is to be looked for.
bool recognised(Walk& w, NodeId call, std::string_view last) {
  const syntax::Tree& tree = w.tree;
  const NodeId first = w.argument(call, "input", 0);
  if (last == "LSTM") {
    const NodeId layers = w.argument(call, "num_layers", 2);
    if (tree.kind(w.argument(call, "bidirectional", 6)) == Kind::True && w.resolved(call) == "torch.nn.LSTM" &&
        (layers == kNone || tree.text(layers) == "1"))
      w.affinity("pattern:bidirectional_lstm", call, Confidence::Likely);
    return true;
  }
  if (last == "dropout" || last == "Dropout") {
    // dropout(softmax(x + mask))
    const NodeId inner = unwrap(tree, first);
    if (tree.kind(inner) == Kind::Call && is_softmax(w, inner)) {
      const NodeId sum = unwrap(tree, w.argument(inner, "input", 0));
      if (tree.kind(sum) == Kind::Binary && w.operator_of(sum) == "+")
        w.affinity("pattern:dropout_add_softmax", call, Confidence::Review);
    }
    return false;
  }
  if (last == "silu" || last == "Sequential") {
    // silu(group_norm(x)), Sequential(GroupNorm(…), SiLU())
    const auto norm = [&](NodeId node) {
      node = unwrap(tree, node);
      if (tree.kind(node) != Kind::Call) return false;
      const std::string name = w.resolved(node);
      return name == "torch.nn.GroupNorm" || name == "torch.nn.functional.group_norm";
    };
    bool found = last == "silu" && norm(first), before = false;
    if (last == "Sequential")
      for (NodeId a : tree.children(tree.child(call, Field::Arguments))) {
        found = found || (before && tree.kind(a) == Kind::Call && w.resolved(a) == "torch.nn.SiLU");
        before = norm(a);
      }
    if (found) w.affinity("pattern:group_norm_silu", call, Confidence::Likely);
    return false;
  }
  if (last == "matmul" || last == "bmm") {
    if (transposed(w, w.argument(call, "other", 1)) && !within_function_of(w, call, "softmax"))
      w.affinity("pattern:matmul_transpose", call, Confidence::Review);
    return true;
  }
  if (last == "argsort" || last == "scatter_add_" || last == "index_add_") {
    if (within_function_of(w, call, "expert"))
      w.affinity(last == "argsort" ? "pattern:moe_permute" : "pattern:moe_unpermute", call, Confidence::Review);
    return true;
  }
  return false;
}

}  // namespace

void fused_call(Walk& w, NodeId call) {
  const syntax::Tree& tree = w.tree;
  const std::string_view last = w.callee(call);
  if (last.empty()) return;
  if (may_be_known(last)) {
    const std::string name = w.resolved(call);
    // modules and functions that are everywhere are named once a file
    if (!name.empty() && !name.starts_with("torch_npu.") && !name.starts_with("torch.Tensor."))
      w.once(name, call, Confidence::Likely);
  }
  if (recognised(w, call, last)) return;
  if (last == "rotate_half") {
    // x * cos + rotate_half(x) * sin
    NodeId product = tree.parent(call);
    while (tree.kind(product) == Kind::Parenthesized) product = tree.parent(product);
    if (tree.kind(product) != Kind::Binary || w.operator_of(product) != "*") return;
    NodeId sum = tree.parent(product);
    while (tree.kind(sum) == Kind::Parenthesized) sum = tree.parent(sum);
    if (tree.kind(sum) == Kind::Binary && w.operator_of(sum) == "+")
      w.affinity("pattern:rotate_half", sum, Confidence::Likely);
    return;
  }
  if ((last == "reshape" || last == "view" || last == "flatten") &&
      tree.kind(tree.child(call, Field::Function)) == Kind::Attribute) {
    // x.permute(…).contiguous().view(…)
    NodeId inner = tree.child(tree.child(call, Field::Function), Field::Object);
    if (tree.kind(inner) == Kind::Call && w.callee(inner) == "contiguous")
      inner = tree.child(tree.child(inner, Field::Function), Field::Object);
    if (last != "flatten" && tree.kind(inner) == Kind::Call && w.callee(inner) == "permute")
      w.affinity("pattern:permute_reshape", call, Confidence::Review);
    return;
  }
  if (is_softmax(w, call)) {
    const NodeId first = w.argument(call, "input", 0);
    const NodeId function = tree.child(call, Field::Function);
    const bool method = w.resolved(call).empty() || w.resolved(call) == "torch.Tensor.softmax";
    const NodeId input = unwrap(tree, method ? tree.child(function, Field::Object) : first);
    if (tree.kind(input) == Kind::Call && w.callee(input) == "masked_fill")
      w.affinity("pattern:scaled_masked_softmax", call, Confidence::Review);
    return;
  }
  // norm(x + y) of a LayerNorm
  const NodeId only = w.argument(call, "", 0);
  if (tree.kind(only) == Kind::Binary && w.operator_of(only) == "+" && last.find("norm") != std::string_view::npos &&
      w.argument(call, "", 1) == kNone) {
    const std::string name = w.resolved(call);
    if (name == "torch.nn.LayerNorm") w.affinity("pattern:add_layer_norm", call, Confidence::Likely);
    if (name == "torch.nn.RMSNorm") w.affinity("pattern:add_rms_norm", call, Confidence::Likely);
  }
}

void fused_product(Walk& w, NodeId node) {
  if (w.operator_of(node) == "@") {
    if (transposed(w, w.tree.child(node, Field::Right)) && !within_function_of(w, node, "softmax"))
      w.affinity("pattern:matmul_transpose", node, Confidence::Review);
    return;
  }
  if (w.operator_of(node) != "*") return;
  const syntax::Tree& tree = w.tree;
  const NodeId left = tree.child(node, Field::Left), right = tree.child(node, Field::Right);
  for (const auto& [a, b] : {std::pair{left, right}, std::pair{right, left}}) {
    const NodeId call = unwrap(tree, a);
    if (tree.kind(call) != Kind::Call) continue;
    const std::string sigmoid = w.callee(call) == "sigmoid" ? w.resolved(call) : "another";
    if (sigmoid.empty() || sigmoid == "torch.sigmoid" || sigmoid == "torch.nn.functional.sigmoid" ||
        sigmoid == "torch.Tensor.sigmoid") {
      // x * sigmoid(1.702 * x)
      const NodeId function = tree.child(call, Field::Function);
      const NodeId given = w.argument(call, "input", 0);
      const std::string_view scaled =
          given != kNone ? tree.text(given) : tree.text(tree.child(function, Field::Object));
      if (scaled.find("1.702") != std::string_view::npos &&
          scaled.find(tree.text(unwrap(tree, b))) != std::string_view::npos) {
        w.affinity("pattern:quick_gelu", node, Confidence::Certain);
        return;
      }
    }
    const Kind other = tree.kind(unwrap(tree, b));
    if (other == Kind::Integer || other == Kind::Other) continue;  // a number
    if (activation(w, a, "torch.nn.functional.silu", "torch.nn.SiLU")) {
      w.affinity("pattern:swiglu", node, Confidence::Likely);
      return;
    }
    if (activation(w, a, "torch.nn.functional.gelu", "torch.nn.GELU")) {
      w.affinity("pattern:geglu", node, Confidence::Likely);
      return;
    }
  }
}

void fused_definition(Walk& w, NodeId node) {
  const syntax::Tree& tree = w.tree;
  const NodeId name = tree.child(node, Field::Name);
  if (tree.kind(node) == Kind::Class) {
    if (tree.text(name) == "DropPath" && is_module(w, node))
      w.affinity("timm.layers.DropPath", name, Confidence::Likely);
    // a class that copies the next batch on a stream of its own
    const std::string_view whole = tree.text(node);
    if (tree.text(name).find("refetch") != std::string_view::npos && whole.find("Stream(") != std::string_view::npos &&
        whole.find("non_blocking") != std::string_view::npos)
      w.affinity("pattern:data_prefetcher", name, Confidence::Likely);
    return;
  }
  if (tree.text(name) == "channel_shuffle" && tree.text(node).find("transpose") != std::string_view::npos)
    w.affinity("pattern:channel_shuffle", name, Confidence::Likely);
  const names::Scope& scope = w.s.module.scopes()[w.s.module.scopes().of(node)];
  const std::string_view text = tree.text(node);
  const bool norm = text.find("sqrt") != std::string_view::npos && text.find("mean") != std::string_view::npos;
  const bool attention = text.find("softmax") != std::string_view::npos;
  if (!norm && !attention) return;
  // functions in functions are read by themselves: their lines count for the outer one too, which does no harm here
  const Body b = read(w, node);
  if (norm && scope.kind == names::ScopeKind::Class && is_module(w, scope.node)) {
    const std::string_view cls = tree.text(tree.child(scope.node, Field::Name));
    const bool named = cls.find("RMS") != std::string_view::npos || cls.find("Rms") != std::string_view::npos ||
                       cls.find("T5LayerNorm") != std::string_view::npos;
    if ((b.rsqrt || b.sqrt) && b.mean && b.square && !b.variance && !b.subtracts_mean && (named || b.weight))
      w.affinity("pattern:rms_norm", name, named ? Confidence::Certain : Confidence::Likely);
  }
  if (attention && b.softmax != kNone && b.product_before && b.transposed && b.product_after)
    w.affinity("pattern:softmax_attention", b.softmax, Confidence::Likely);
}

}  // namespace updraft::migrate::rewrite::hint
