// Shapes that depend on data, and types that the cube units do not have.
#include <array>

#include "migrate/rewrite/hints/hints.h"
#include "migrate/source/among.h"
#include "migrate/support/affinity.h"

namespace updraft::migrate::rewrite::hint {
namespace {

using source::among;

/// x > 0, mask & other, ~mask, torch.isnan(x), x.eq(y): what gives a boolean tensor.
bool condition(const Walk& w, NodeId node) {
  const syntax::Tree& tree = w.tree;
  switch (tree.kind(node)) {
    case Kind::Parenthesized: return condition(w, tree.child(node, std::size_t{0}));
    case Kind::Comparison: {
      const std::string_view text = tree.text(node);
      if (text.find(" in ") != std::string_view::npos || text.find(" is ") != std::string_view::npos) return false;
      const NodeId left = tree.child(node, std::size_t{0});
      return tree.kind(left) != Kind::Integer && tree.kind(left) != Kind::String;
    }
    case Kind::Binary: {
      const std::string_view op = w.operator_of(node);
      return (op == "&" || op == "|") &&
             (condition(w, tree.child(node, Field::Left)) || condition(w, tree.child(node, Field::Right)));
    }
    case Kind::Call: {
      static constexpr std::array<std::string_view, 15> known = {
          "isnan", "isinf", "isfinite", "logical_and", "logical_or", "logical_not", "eq",         "ne",
          "gt",    "lt",    "ge",       "le",          "bool",       "isin",        "logical_xor"};
      return among(known, w.callee(node)) && tree.kind(tree.child(node, Field::Function)) == Kind::Attribute;
    }
    case Kind::Other: {  // ~mask
      const std::string_view text = tree.text(node);
      return text.starts_with('~');
    }
    default: return false;
  }
}

/// The condition that a variable was set to; kNone where it is another thing.
NodeId condition_behind(const Walk& w, NodeId index) {
  if (condition(w, index)) return index;
  if (w.tree.kind(index) != Kind::Identifier) return kNone;
  const auto* bindings = w.s.module.scopes().lookup(w.tree.text(index), w.s.module.scopes().of(index));
  if (!bindings) return kNone;
  for (const names::Binding& b : *bindings)
    if (b.how == names::Bind::Assignment && b.value != kNone && condition(w, b.value)) return b.value;
  return kNone;
}

}  // namespace

void shape_subscript(Walk& w, NodeId node) {
  const syntax::Tree& tree = w.tree;
  const NodeId object = tree.child(node, Field::Value), index = tree.child(node, Field::Subscript);
  const Kind kind = tree.kind(index);
  if (kind != Kind::Identifier && kind != Kind::Comparison && kind != Kind::Parenthesized && kind != Kind::Binary &&
      kind != Kind::Call && kind != Kind::Other)
    return;
  const NodeId mask = condition_behind(w, index);
  if (mask == kNone) return;
  // x[x > 0]: only arrays are compared and indexed so; of others the object must be a tensor
  const Value v = w.s.module.local(object);
  const bool known = v.what == What::Instance && v.name == "torch.Tensor";
  if (!known && !w.tensor(object)) return;
  const NodeId up = tree.parent(node);
  const bool written = (tree.kind(up) == Kind::Assignment || tree.kind(up) == Kind::AugmentedAssignment) &&
                       tree[node].field == Field::Left;
  if (written) w.affinity("pattern:boolean_index_put", node, Confidence::Likely);
  else w.advise("pattern:boolean_index", node, known ? Confidence::Likely : Confidence::Review);
}

void shape_call(Walk& w, NodeId call) {
  static constexpr std::array<std::string_view, 16> known = {
      "nonzero", "argwhere", "unique",      "unique_consecutive", "masked_select", "bincount",   "repeat_interleave", "one_hot",
      "where",   "scatter",  "scatter_add", "scatter_",           "scatter_add_",  "index_put_", "index_put",         "nms"};
  const syntax::Tree& tree = w.tree;
  const std::string_view last = w.callee(call);
  if (!among(known, last)) return;
  const std::string name = w.resolved(call);
  std::size_t arguments = 0;
  for ([[maybe_unused]] NodeId a : tree.children(tree.child(call, Field::Arguments))) ++arguments;
  if (name == "torch.where") {
    if (arguments == 1 && !w.has_stars(call)) w.advise("pattern:where_one_argument", call, Confidence::Certain);
    return;
  }
  if (last == "one_hot" && w.argument(call, "num_classes", 1) != kNone) return;
  if (last == "bincount" && w.argument(call, "minlength", 2) != kNone) return;
  if (last == "repeat_interleave") {
    if (w.argument(call, "output_size", 3) != kNone) return;
    const NodeId repeats = w.argument(call, "repeats", name.starts_with("torch.Tensor.") || name.empty() ? 0 : 1);
    if (repeats == kNone || tree.kind(repeats) == Kind::Integer) return;
    if (w.s.module.local(repeats).name != "torch.Tensor") return;  // a number, most of the time
  }
  if (name.starts_with("torch.") || name.starts_with("torchvision.")) {
    // of functions that depend on no argument, fused_call speaks
    if (advised_by_case(name) || name.starts_with("torch.Tensor.")) w.advise(name, call, Confidence::Certain);
    return;
  }
  const NodeId function = tree.child(call, Field::Function);
  if (!name.empty() || tree.kind(function) != Kind::Attribute || last == "one_hot" || last == "nms") return;
  if (w.tensor(tree.child(function, Field::Object)))
    w.advise("torch.Tensor." + std::string(last), call, Confidence::Likely);
}

void dtype(Walk& w, NodeId attribute) {
  static constexpr std::array<std::string_view, 12> known = {
      "float64",      "double",        "complex64",   "complex128", "cfloat", "cdouble",
      "DoubleTensor", "float8_e4m3fn", "float8_e5m2", "bfloat16",   "int64",  "long"};
  const syntax::Tree& tree = w.tree;
  const std::string_view last = tree.text(tree.child(attribute, Field::Attribute));
  if (!among(known, last)) return;
  const NodeId up = tree.parent(attribute);
  const bool called = tree.call_of(attribute) != kNone;
  const Value v = w.s.module.local(attribute);
  if (v.what == What::Api) {
    if (last == "int64" || last == "long") w.once(v.name, attribute, Confidence::Review);
    else if (v.name.starts_with("torch.")) w.advise(v.name, attribute, Confidence::Certain);
    return;
  }
  if (!called || (last != "double" && last != "bfloat16")) return;
  const NodeId object = tree.child(attribute, Field::Object);
  const Value owner = w.s.module.local(object);
  const bool module = owner.what == What::Instance && owner.own && w.s.module.project() &&
                      w.s.module.project()->derives(owner.name, names::is_module_or_tensor);
  const bool theirs = owner.what == What::Instance && !owner.own && names::is_module_or_tensor(owner.name);
  if (!module && !theirs && !w.tensor(object)) return;
  const bool of_module = module || (theirs && !owner.name.ends_with("Tensor"));
  w.advise((of_module ? "torch.nn.Module." : "torch.Tensor.") + std::string(last), up, Confidence::Likely);
}

void setting(Walk& w, NodeId attribute) {
  if (w.tree[attribute].field != Field::Left || !may_be_known(w.tree.text(w.tree.child(attribute, Field::Attribute)))) return;
  const Value v = w.s.module.local(attribute);
  if (v.what == What::Api && v.name.starts_with("torch.backends.")) w.advise(v.name, attribute, Confidence::Certain);
}

void tensor_condition(Walk& w, NodeId statement) {
  const syntax::Tree& tree = w.tree;
  NodeId condition = tree.child(statement, Field::Condition);
  while (tree.kind(condition) == Kind::Parenthesized || tree.kind(condition) == Kind::Not)
    condition = tree.child(condition, std::size_t{0});
  const std::string_view text = tree.text(condition);
  if (tree.kind(condition) == Kind::Comparison) {
    if (text.find(" is ") != std::string_view::npos || text.find(" in ") != std::string_view::npos) return;
    condition = tree.child(condition, std::size_t{0});
  }
  const Value v = w.s.module.local(condition);
  if (v.what == What::Instance && !v.own && v.name == "torch.Tensor")
    w.advise("pattern:tensor_condition", statement, Confidence::Likely);
}

bool advised_by_case(std::string_view name) noexcept {
  static constexpr std::array<std::string_view, 20> known = {
      "torch.DoubleTensor",    "torch.cuda.DoubleTensor",     "torch.where",           "torch.nn.functional.one_hot", "torch.bincount",         "torch.repeat_interleave",
      "torch.hann_window",     "torch.hamming_window",        "torch.blackman_window",  "torch.bartlett_window",
      "torch.equal",           "torch.allclose",              "torch.cuda.synchronize", "torch.cuda.empty_cache",
      "torch.npu.synchronize", "torch.npu.empty_cache",       "torch.nonzero",          "torch.utils.data.DataLoader",
      "torch.unique",          "torch.masked_select"};
  return among(known, name);
}

void window(Walk& w, NodeId call) {
  static constexpr std::array<std::string_view, 4> known = {"bartlett_window", "blackman_window", "hamming_window",
                                                            "hann_window"};
  if (!among(known, w.callee(call)) || w.has_stars(call)) return;
  if (w.argument(call, "device", -1) == kNone || w.argument(call, "dtype", -1) != kNone) return;
  if (const std::string name = w.resolved(call); name.starts_with("torch.")) w.advise(name, call, Confidence::Likely);
}

}  // namespace updraft::migrate::rewrite::hint
