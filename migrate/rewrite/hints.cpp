#include "migrate/rewrite/hints.h"

#include <algorithm>
#include <array>
#include <set>

#include "migrate/source/words.h"
#include "migrate/support/torch_api.h"

namespace updraft::migrate::rewrite {
namespace hint {

void Walk::report(const char* id, NodeId node, Confidence confidence, std::string_view name,
                  std::string_view suggestion, Text text) {
  if (s.kept(node)) return;
  Finding& f =
      s.add(rules::coded(id), node, confidence, name.starts_with("pattern:") ? std::string() : std::string(name));
  f.suggestion = suggestion;
  f.message = std::move(text);
}

void Walk::affinity(std::string_view name, NodeId node, Confidence confidence) {
  const Affinity known = lookup_affinity(name);
  if (known.npu.empty()) return;
  const std::string npu(known.npu);
  report(known.kind == "optimizer" ? "PT701"
         : known.kind == "pattern" ? "PT703"
                                   : "PT702",
         node, confidence, name, known.npu,
         {npu + (known.note.en.empty() ? "" : ": " + std::string(known.note.en)),
          npu + (known.note.zh.empty() ? "" : "：" + std::string(known.note.zh))});
}

void Walk::advise(std::string_view name, NodeId node, Confidence confidence) {
  for (const Advice& a : lookup_advice(name, facts_.product)) {
    const char* id = a.kind == AdviceKind::dynamic_shape ? "PT710"
                     : a.kind == AdviceKind::performance ? "PT711"
                     : a.kind == AdviceKind::precision   ? "PT712"
                                                         : "PT713";
    report(id, node, confidence, name, "", {std::string(a.note.en), std::string(a.note.zh)});
  }
}

void Walk::once(std::string_view name, NodeId node, Confidence confidence) {
  if (!said_.emplace(name).second) return;
  affinity(name, node, confidence);
  if (!advised_by_case(name)) advise(name, node, confidence);
}

std::string_view Walk::callee(NodeId call) const {
  const NodeId f = tree.child(call, Field::Function);
  if (tree.kind(f) == Kind::Attribute) return tree.text(tree.child(f, Field::Attribute));
  if (tree.kind(f) != Kind::Identifier) return {};
  // from torch.optim import SGD as S
  if (const auto* bindings = s.module.scopes().lookup(tree.text(f), s.module.scopes().of(f)))
    for (const names::Binding& b : *bindings)
      if (b.how == names::Bind::Import && !b.name.empty()) return b.name;
  return tree.text(f);
}

std::string Walk::resolved(NodeId call) const {
  const Value v = s.module.local(tree.child(call, Field::Function));
  if (v.what == What::Api || (v.what == What::Instance && !v.own)) return v.name;
  if (v.what == What::Member && !v.own && v.name.starts_with("torch.Tensor.")) return v.name;
  return {};
}

bool Walk::tensor(NodeId expression) const {
  const Value v = s.module.local(expression);
  if (v.what == What::Instance) return names::is_module_or_tensor(v.name) && v.name.ends_with("Tensor");
  if (v.what != What::Unknown) return false;
  // inside forward() of a module everything that is asked for its nonzero() is a tensor
  const NodeId function = tree.ancestor(expression, Kind::Function);
  if (function == kNone || tree.text(tree.child(function, Field::Name)) != "forward") return false;
  const names::Scope& scope = s.module.scopes()[s.module.scopes().of(function)];
  return scope.kind == names::ScopeKind::Class;
}

NodeId Walk::argument(NodeId call, std::string_view keyword, int position) const {
  int n = 0;
  for (NodeId a : tree.children(tree.child(call, Field::Arguments))) {
    if (tree.kind(a) == Kind::KeywordArgument) {
      if (tree.text(tree.child(a, Field::Name)) == keyword) return tree.child(a, Field::Value);
    } else if (n++ == position) {
      return a;
    }
  }
  return kNone;
}

bool Walk::has_stars(NodeId call) const {
  for (NodeId a : tree.children(tree.child(call, Field::Arguments)))
    if (tree.kind(a) == Kind::ListSplat || tree.kind(a) == Kind::DictionarySplat) return true;
  return false;
}

std::string_view Walk::operator_of(NodeId binary) const {
  const NodeId left = tree.child(binary, Field::Left), right = tree.child(binary, Field::Right);
  if (left == kNone || right == kNone) return {};
  std::string_view between = tree.text().substr(tree[left].end, tree[right].begin - tree[left].end);
  while (!between.empty() && (between.front() == ' ' || between.front() == '\n' || between.front() == '\r' ||
                              between.front() == '\t' || between.front() == '\\'))
    between.remove_prefix(1);
  return between.substr(0, between.find_first_of(" \n\t\r\\#"));
}

void Walk::run() {
  Waits waits;
  for (NodeId id = 0; id < tree.size(); ++id) {
    switch (tree.kind(id)) {
      case Kind::Call:
        fused_call(*this, id);
        shape_call(*this, id);
        window(*this, id);
        loader(*this, id);
        waits.call(*this, id);
        break;
      case Kind::Binary: fused_product(*this, id); break;
      case Kind::Function:
      case Kind::Class: fused_definition(*this, id); break;
      case Kind::Subscript: shape_subscript(*this, id); break;
      case Kind::Attribute:
        dtype(*this, id);
        setting(*this, id);
        break;
      case Kind::If:
      case Kind::Elif:
      case Kind::While: tensor_condition(*this, id); break;
      default: break;
    }
  }
  waits.tell(*this);
}

}  // namespace hint

void hints(Sites& s, const Facts& facts) {
  if (s.about_torch) hint::Walk(s, facts).run();
}

}  // namespace updraft::migrate::rewrite

// Shapes that depend on data, and types that the cube units do not have.
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
      "nonzero",   "argwhere", "unique",  "unique_consecutive", "masked_select", "bincount",     "repeat_interleave",
      "one_hot",   "where",    "scatter", "scatter_add",        "scatter_",      "scatter_add_", "index_put_",
      "index_put", "nms"};
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
  static constexpr std::array<std::string_view, 12> known = {"float64",     "double",   "complex64",    "complex128",
                                                             "cfloat",      "cdouble",  "DoubleTensor", "float8_e4m3fn",
                                                             "float8_e5m2", "bfloat16", "int64",        "long"};
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
  if (w.tree[attribute].field != Field::Left || !may_be_known(w.tree.text(w.tree.child(attribute, Field::Attribute))))
    return;
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
      "torch.DoubleTensor",     "torch.cuda.DoubleTensor",     "torch.where",           "torch.nn.functional.one_hot",
      "torch.bincount",         "torch.repeat_interleave",     "torch.hann_window",     "torch.hamming_window",
      "torch.blackman_window",  "torch.bartlett_window",       "torch.equal",           "torch.allclose",
      "torch.cuda.synchronize", "torch.cuda.empty_cache",      "torch.npu.synchronize", "torch.npu.empty_cache",
      "torch.nonzero",          "torch.utils.data.DataLoader", "torch.unique",          "torch.masked_select"};
  return among(known, name);
}

void window(Walk& w, NodeId call) {
  static constexpr std::array<std::string_view, 4> known = {"bartlett_window", "blackman_window", "hamming_window",
                                                            "hann_window"};
  if (!among(known, w.callee(call)) || w.has_stars(call)) return;
  if (w.argument(call, "device", -1) == kNone || w.argument(call, "dtype", -1) != kNone) return;
  if (const std::string name = w.resolved(call); name.starts_with("torch.")) w.advise(name, call, Confidence::Likely);
}

// What makes the host wait in a training loop, and loaders that keep the device waiting.

namespace {

NodeId loop_around(const syntax::Tree& tree, NodeId node) {
  for (NodeId up = tree.parent(node); up != kNone; node = up, up = tree.parent(up)) {
    const Kind kind = tree.kind(up);
    if (kind == Kind::Function || kind == Kind::Lambda) return kNone;
    if ((kind == Kind::For || kind == Kind::While) && tree[node].field == Field::Body) return up;
  }
  return kNone;
}

/// if step % 100 == 0: what waits there waits seldom.
bool seldom(const syntax::Tree& tree, NodeId node, NodeId loop) {
  for (NodeId up = tree.parent(node); up != kNone && up != loop; up = tree.parent(up)) {
    if (tree.kind(up) != Kind::If && tree.kind(up) != Kind::Elif && tree.kind(up) != Kind::Else) continue;
    const std::string_view condition = tree.text(tree.child(up, Field::Condition));
    if (tree.kind(up) == Kind::Else || condition.find('%') != std::string_view::npos ||
        condition.find("log") != std::string_view::npos || condition.find("print") != std::string_view::npos ||
        condition.find("debug") != std::string_view::npos)
      return true;
  }
  return false;
}

}  // namespace

void Waits::call(Walk& w, NodeId call) {
  static constexpr std::array<std::string_view, 9> known = {
      "item", "tolist", "cpu", "numpy", "synchronize", "empty_cache", "equal", "allclose", "contiguous"};
  const syntax::Tree& tree = w.tree;
  const std::string_view last = w.callee(call);
  if (last == "backward") {
    if (const NodeId loop = loop_around(tree, call); loop != kNone) trained_.push_back(loop);
    return;
  }
  if (last == "zero_grad") {
    if (const NodeId keep = w.argument(call, "set_to_none", 0); tree.kind(keep) == Kind::False) {
      if (!w.s.kept(call))
        w.s.add(rules::coded("PT711"), call, Confidence::Likely, "torch.optim.Optimizer.zero_grad").message =
            rules::told("PT711.zero_grad");
    }
    return;
  }
  if (std::find(known.begin(), known.end(), last) == known.end()) return;
  const NodeId function = tree.child(call, Field::Function);
  if (tree.kind(function) != Kind::Attribute) return;
  const Value v = w.s.module.local(function);
  std::string name;
  if (v.what == What::Api) {
    name = v.name;
    if (name != "torch.cuda.synchronize" && name != "torch.cuda.empty_cache" && name != "torch.npu.synchronize" &&
        name != "torch.npu.empty_cache" && name != "torch.equal" && name != "torch.allclose")
      return;
  } else {
    if (last != "item" && last != "tolist" && last != "cpu" && last != "numpy" && last != "contiguous") return;
    // x.cpu().numpy(), x.cpu().item(): once is enough
    const NodeId up = tree.parent(call);
    if (tree.kind(up) == Kind::Attribute && tree.kind(tree.parent(up)) == Kind::Call) {
      const std::string_view next = tree.text(tree.child(up, Field::Attribute));
      if (next == "numpy" || next == "item" || next == "tolist" || next == "cpu" || next == "view") return;
    }
    name = "torch.Tensor." + std::string(last);
  }
  waiting_.emplace_back(call, std::move(name));
}

void Waits::tell(Walk& w) const {
  std::set<std::pair<NodeId, std::string>> said;
  for (const auto& [call, name] : waiting_) {
    const NodeId loop = loop_around(w.tree, call);
    // loops inside the training step count as well
    bool trains = false;
    NodeId outer = loop;
    for (; outer != kNone && !trains; outer = trains ? outer : loop_around(w.tree, outer)) {
      trains = std::find(trained_.begin(), trained_.end(), outer) != trained_.end();
      if (trains) break;
    }
    if (!trains || seldom(w.tree, call, outer) || !said.emplace(outer, name).second) continue;
    w.advise(name, call, Confidence::Likely);
  }
}

void loader(Walk& w, NodeId call) {
  if (w.callee(call) != "DataLoader" || w.has_stars(call)) return;
  const std::string name = w.resolved(call);
  if (name != "torch.utils.data.DataLoader" && name != "torch.utils.data.dataloader.DataLoader") return;
  const NodeId workers = w.argument(call, "num_workers", 5), pinned = w.argument(call, "pin_memory", 7);
  if (workers == kNone || w.tree.text(workers) == "0")
    w.advise("pattern:dataloader_num_workers", call, Confidence::Likely);
  else if (w.argument(call, "persistent_workers", -1) == kNone)
    w.advise("pattern:dataloader_persistent_workers", call, Confidence::Review);
  // a loader that shuffles is one that trains
  if (w.tree.kind(w.argument(call, "shuffle", 2)) == Kind::True && w.argument(call, "drop_last", 8) == kNone &&
      w.argument(call, "batch_sampler", 4) == kNone)
    w.advise("torch.utils.data.DataLoader", call, Confidence::Likely);
  if (pinned == kNone || w.tree.kind(pinned) == Kind::False)
    w.advise("pattern:dataloader_pin_memory", call, Confidence::Likely);
}

// What several lines of PyTorch compute and one operator of the NPU does.

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
