#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "migrate/rewrite/options/options.h"
#include "migrate/rewrite/sites.h"
#include "migrate/support/torch_api.h"

namespace updraft::migrate::rewrite {

// -a: NPU-affine APIs in place of the framework's where the result is the same. Optimizers that update all parameters
// by fused operators take fewer arguments than torch's: they are taken where a call gives no others.
namespace {

struct Optimizer {
  std::string_view api;
  std::size_t positions;  ///< of torch's parameters, those that stand at the same place
  std::span<const std::string_view> parameters;
  bool needs_lr = false;
};

using Names = std::string_view;
constexpr Names kAdam[] = {"params", "lr", "betas", "eps", "weight_decay", "amsgrad"};
constexpr Names kSgd[] = {"params", "lr", "momentum", "dampening", "weight_decay", "nesterov"};
constexpr Names kRmsprop[] = {"params", "lr", "alpha", "eps", "weight_decay", "momentum", "centered"};
constexpr Names kAdadelta[] = {"params", "lr", "rho", "eps", "weight_decay"};
// as torch_npu 2.13 has them; tests/migrate/test_options.py holds them against the wheel
constexpr Optimizer kOptimizers[] = {{"torch.optim.Adam", 6, kAdam},
                                     {"torch.optim.AdamW", 6, kAdam},
                                     {"torch.optim.SGD", 6, kSgd, true},
                                     {"torch.optim.RMSprop", 7, kRmsprop},
                                     {"torch.optim.Adadelta", 5, kAdadelta}};

Text lacks(std::string_view argument) { return rules::told("PT831.lacks", {argument}); }

/// What the fused optimizer does not have; empty where it has them all.
Text unknown_argument(const syntax::Tree& tree, NodeId call, const Optimizer& known) {
  std::size_t position = 0;
  bool lr = false;
  for (NodeId argument : tree.children(tree.child(call, Field::Arguments))) {
    const Kind kind = tree.kind(argument);
    if (kind == Kind::ListSplat || kind == Kind::DictionarySplat) return lacks(tree.text(argument));
    if (kind == Kind::KeywordArgument) {
      const std::string_view name = tree.text(tree.child(argument, Field::Name));
      if (std::find(known.parameters.begin(), known.parameters.end(), name) == known.parameters.end())
        return lacks(name);
      lr = lr || name == "lr";
    } else if (++position > known.positions) {
      return lacks(tree.text(argument));
    }
  }
  return known.needs_lr && !lr && position < 2 ? rules::told("PT831.lr") : Text();
}

const rules::Rule& rule() { return rules::coded("PT831"); }

bool sets_to_none(std::string_view text) {
  const std::size_t at = text.find("set_to_none");
  return at != std::string_view::npos && text.substr(at, 24).find("True") != std::string_view::npos;
}

/// An optimizer that was exchanged: optimizer = torch.optim.SGD(model.parameters(), …).
struct Made {
  NodeId target = kNone, model = kNone;
};

/// MODEL of MODEL.parameters(); kNone for anything else.
NodeId model_of(const syntax::Tree& tree, NodeId call) {
  const NodeId callee = tree.child(call, Field::Function);
  if (tree.kind(call) != Kind::Call || tree.kind(callee) != Kind::Attribute ||
      tree.text(tree.child(callee, Field::Attribute)) != "parameters" ||
      tree.child(tree.child(call, Field::Arguments), std::size_t{0}) != kNone)
    return kNone;
  const NodeId object = tree.child(callee, Field::Object);
  const Kind kind = tree.kind(object);
  return kind == Kind::Identifier || kind == Kind::Attribute ? object : kNone;
}

/// Whether two expressions are one variable that is bound once: the same name of one scope, or the same attribute of
/// self in one class.
bool same_variable(const Sites& s, NodeId a, NodeId b, bool once) {
  const syntax::Tree& tree = s.tree();
  if (tree.text(a) != tree.text(b)) return false;
  const names::Scopes& scopes = s.module.scopes();
  NodeId base_a = a, base_b = b;
  while (tree.kind(base_a) == Kind::Attribute) base_a = tree.child(base_a, Field::Object);
  while (tree.kind(base_b) == Kind::Attribute) base_b = tree.child(base_b, Field::Object);
  if (tree.kind(base_a) != Kind::Identifier || tree.kind(base_b) != Kind::Identifier) return false;
  if (base_a != a) {
    const names::ScopeId cls = scopes.class_of_self(tree.text(base_a), scopes.of(base_a));
    if (cls == names::kNoScope || cls != scopes.class_of_self(tree.text(base_b), scopes.of(base_b))) return false;
    if (tree.kind(tree.child(a, Field::Object)) != Kind::Identifier) return false;
    const auto set = scopes[cls].attributes.find(tree.text(tree.child(a, Field::Attribute)));
    return set != scopes[cls].attributes.end() && (!once || set->second.size() == 1);
  }
  const auto* bindings = scopes.lookup(tree.text(a), scopes.of(a));
  if (!bindings || bindings != scopes.lookup(tree.text(b), scopes.of(b))) return false;
  return !once || bindings->size() == 1;
}

/// torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0): a fused optimizer of the same parameters has them in one
/// piece, and clips them in one.
void clip(Sites& s, const Use& use, const std::vector<Made>& made, const std::string& model) {
  const syntax::Tree& tree = s.tree();
  const NodeId list = tree.child(use.call, Field::Arguments), first = tree.child(list, std::size_t{0}),
               second = tree.child(list, std::size_t{1});
  const NodeId clipped = model_of(tree, first);
  if (use.call == kNone || clipped == kNone || second == kNone) return;
  for (NodeId a : tree.children(list)) {
    const Kind kind = tree.kind(a);
    if (kind == Kind::ListSplat || kind == Kind::DictionarySplat) return;
    if (kind != Kind::KeywordArgument) continue;
    const std::string_view name = tree.text(tree.child(a, Field::Name));
    if (name != "max_norm" && name != "norm_type") return;
  }
  for (const Made& optimizer : made) {
    if (!same_variable(s, optimizer.model, clipped, false)) continue;
    // where the optimizer is known by its name
    const names::Scopes& scopes = s.module.scopes();
    const bool attribute = tree.kind(optimizer.target) == Kind::Attribute;
    if (attribute) {
      const NodeId self = tree.child(optimizer.target, Field::Object);
      const names::ScopeId cls = scopes.class_of_self(tree.text(self), scopes.of(self));
      if (cls == names::kNoScope || cls != scopes.class_of_self(tree.text(self), scopes.of(use.node))) continue;
    } else if (scopes.lookup(tree.text(optimizer.target), scopes.of(use.node)) !=
               scopes.lookup(tree.text(optimizer.target), scopes.of(optimizer.target))) {
      continue;
    }
    if (!same_variable(s, optimizer.target, optimizer.target, true)) continue;
    Finding& f = s.add(rule(), use.node, Confidence::Likely, use.value.name);
    f.suggestion = std::string(tree.text(optimizer.target)) + ".clip_grad_norm_fused_";
    f.message = rules::told("PT831.clip", {f.suggestion, model});
    f.edits = {s.replace(use.node, f.suggestion), {tree[first].begin, tree[second].begin, ""}};
    s.claims.take(use.node);
    return;
  }
}

}  // namespace

void affine(Sites& s, const std::string& model) {
  const syntax::Tree& tree = s.tree();
  std::vector<Made> made;
  const bool to_none = sets_to_none(tree.text());
  for (const Use& use : uses_under(s, {"torch"})) {
    if (s.claims.taken(use.node) || s.kept(use.node)) continue;
    const Affinity row = lookup_affinity(use.value.name);
    if (row.npu.empty() || row.npu == use.value.name) continue;
    const auto known = std::find_if(std::begin(kOptimizers), std::end(kOptimizers),
                                    [&](const Optimizer& o) { return o.api == use.value.name; });
    const bool optimizer = known != std::end(kOptimizers);
    if (!optimizer && !row.certain) continue;
    Text hindrance;
    if (optimizer && use.call == kNone) hindrance = rules::told("PT831.called");
    else if (optimizer) hindrance = unknown_argument(tree, use.call, *known);
    if (hindrance.empty() && optimizer && to_none) hindrance = lacks("zero_grad(set_to_none=True)");
    const Confidence sure = !hindrance.empty() ? Confidence::Review
                            : optimizer        ? Confidence::Likely
                                               : Confidence::Certain;
    Finding& f = s.add(rule(), use.node, use.value.sure ? sure : lower(sure, Confidence::Likely), use.value.name);
    f.suggestion = row.npu;
    f.message = hindrance.empty() ? rules::told("PT831.fused", {row.npu, model})
                                  : rules::told("PT831.hindered", {row.npu, model, hindrance});
    if (hindrance.empty()) {
      f.edits.push_back(s.replace(use.node, std::string(row.npu)));
      s.claims.take(use.node);
      const NodeId assignment = tree.parent(use.call);
      const NodeId parameters = model_of(tree, tree.child(tree.child(use.call, Field::Arguments), std::size_t{0}));
      if (tree.kind(assignment) == Kind::Assignment && tree[use.call].field == Field::Right && parameters != kNone) {
        const NodeId target = tree.child(assignment, Field::Left);
        const bool plain =
            tree.kind(target) == Kind::Identifier ||
            (tree.kind(target) == Kind::Attribute && tree.kind(tree.child(target, Field::Object)) == Kind::Identifier);
        if (plain) made.push_back({target, parameters});
      }
    }
  }
  if (made.empty()) return;
  for (const Use& use : uses_under(s, {"torch"}))
    if (!s.claims.taken(use.node) && !s.kept(use.node) &&
        (use.value.is_api("torch.nn.utils.clip_grad_norm_") ||
         use.value.is_api("torch.nn.utils.clip_grad.clip_grad_norm_")))
      clip(s, use, made, model);
}

// --mixed-precision: autocast around the forward pass and a GradScaler, in a loop that is plainly forward,
// loss.backward(), optimizer.step().
namespace {

/// A statement of the form OBJECT.METHOD(…).
struct MethodCall {
  NodeId call = kNone, object = kNone;
  std::string_view method;

  explicit operator bool() const noexcept { return call != kNone; }
};

MethodCall method_call(const syntax::Tree& tree, NodeId statement) {
  if (tree.kind(statement) != Kind::ExpressionStatement) return {};
  const NodeId call = tree.child(statement, std::size_t{0});
  if (tree.kind(call) != Kind::Call) return {};
  const NodeId function = tree.child(call, Field::Function);
  if (tree.kind(function) != Kind::Attribute) return {};
  return {call, tree.child(function, Field::Object), tree.text(tree.child(function, Field::Attribute))};
}

bool compound(Kind kind) noexcept {
  return kind == Kind::If || kind == Kind::For || kind == Kind::While || kind == Kind::With || kind == Kind::Try ||
         kind == Kind::Function || kind == Kind::Class || kind == Kind::Decorated;
}

/// What a statement assigns to, and from what: a, b = f(x).
struct Assigned {
  std::set<std::string_view> names;
  NodeId value = kNone;
};

Assigned assigned(const syntax::Tree& tree, NodeId statement) {
  Assigned a;
  if (tree.kind(statement) != Kind::ExpressionStatement) return a;
  const NodeId inner = tree.child(statement, std::size_t{0});
  if (tree.kind(inner) != Kind::Assignment && tree.kind(inner) != Kind::AugmentedAssignment) return a;
  a.value = tree.child(inner, Field::Right);
  const NodeId left = tree.child(inner, Field::Left);
  for (NodeId id = left; id != kNone && id < tree[left].last; ++id)
    if (tree.kind(id) == Kind::Identifier && tree[id].field != Field::Attribute) a.names.insert(tree.text(id));
  return a;
}

/// Moves and changes of shape say nothing about a model.
bool moves(std::string_view method) noexcept {
  static constexpr std::array<std::string_view, 14> known = {
      "cuda", "npu",  "to",    "cpu",       "view", "reshape",    "long",
      "int",  "size", "float", "unsqueeze", "item", "contiguous", "requires_grad_"};
  return std::find(known.begin(), known.end(), method) != known.end();
}

bool computes(const syntax::Tree& tree, NodeId value) {
  for (NodeId id = value; id != kNone && id < tree[value].last; ++id) {
    if (tree.kind(id) != Kind::Call) continue;
    const NodeId function = tree.child(id, Field::Function);
    if (tree.kind(function) != Kind::Attribute || !moves(tree.text(tree.child(function, Field::Attribute))))
      return true;
  }
  return tree.kind(value) == Kind::Binary;
}

bool is_optimizer(const Sites& s, NodeId object) {
  const Value v = s.module.value(object);
  if (v.what == What::Instance || v.what == What::Api) return v.name.find("optim") != std::string::npos;
  std::string name(s.tree().text(object));
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
  return v.what == What::Unknown && (name.find("optim") != std::string::npos || name == "opt");
}

std::size_t line_start(std::string_view text, std::size_t at) {
  return at == 0 ? 0 : text.rfind('\n', at - 1) + 1;  // npos + 1 is 0
}

class Loop {
 public:
  Loop(const Sites& s, NodeId backward) : s_(s), tree_(s.tree()), backward_(backward) {
    const NodeId block = tree_.parent(backward);
    for (NodeId id : tree_.children(block)) statements_.push_back(id);
    at_ = static_cast<std::size_t>(std::find(statements_.begin(), statements_.end(), backward) - statements_.begin());
  }

  /// Why the loop is not plain, as a key of messages.tsv; empty where it is.
  std::string_view look() {
    const MethodCall call = method_call(tree_, backward_);
    loss_ = call.object;
    if (tree_.kind(loss_) != Kind::Identifier) return "PT821.loss.name";
    NodeId loop = kNone;
    for (NodeId up = tree_.parent(backward_); up != kNone && tree_.kind(up) != Kind::Function; up = tree_.parent(up))
      if (tree_.kind(up) == Kind::For || tree_.kind(up) == Kind::While) loop = up;
    if (loop == kNone) return "PT821.loop";
    if (const std::string_view problem = find_step(); !problem.empty()) return problem;
    return find_forward();
  }

  std::vector<Edit> edits(const std::string& scaler) const {
    const std::string_view text = tree_.text();
    const std::string newline = text.find("\r\n") != std::string_view::npos ? "\r\n" : "\n";
    const std::size_t start = line_start(text, tree_[first_].begin);
    const std::string indent(text.substr(start, tree_[first_].begin - start));
    const std::string unit = indent.find('\t') != std::string::npos ? "\t" : "    ";
    std::vector<Edit> edits;
    edits.push_back({tree_[first_].begin, tree_[first_].begin,
                     "with torch.autocast(\"npu\", dtype=torch.float16):" + newline + indent + unit});
    for (std::size_t line = text.find('\n', tree_[first_].begin) + 1; line != 0 && line < tree_[last_].end;
         line = text.find('\n', line) + 1) {
      if (text[line] == '\n' || text[line] == '\r' || within_string(line)) continue;
      const auto place = static_cast<std::uint32_t>(line);
      edits.push_back({place, place, unit});
    }
    edits.push_back(s_.replace(loss_, scaler + ".scale(" + std::string(tree_.text(loss_)) + ")"));
    const std::string optimizer(tree_.text(method_call(tree_, step_).object));
    for (NodeId clip : clips_)
      edits.push_back(
          {tree_[clip].begin, tree_[clip].begin, scaler + ".unscale_(" + optimizer + ")" + newline + indent});
    edits.push_back(s_.replace(method_call(tree_, step_).call,
                               scaler + ".step(" + optimizer + ")" + newline + indent + scaler + ".update()"));
    return edits;
  }

 private:
  std::string_view find_step() {
    for (std::size_t i = at_ + 1; i < statements_.size(); ++i) {
      const NodeId id = statements_[i];
      const std::string_view text = tree_.text(id);
      const MethodCall call = method_call(tree_, id);
      if (call && call.method == "step" && is_optimizer(s_, call.object)) {
        if (tree_.child(tree_.child(call.call, Field::Arguments), std::size_t{0}) != kNone) return "PT821.closure";
        step_ = id;
        break;
      }
      if (text.find("clip_grad_") != std::string_view::npos && !compound(tree_.kind(id))) {
        if (clips_.empty()) clips_.push_back(id);  // unscaled once
        continue;
      }
      if (compound(tree_.kind(id))) return "PT821.block";
      if (text.find("grad") != std::string_view::npos) return "PT821.gradients";
      if (call && call.method == "backward") return "PT821.second";
    }
    if (step_ == kNone) return "PT821.step";
    for (NodeId id : {backward_, step_})
      if (!alone(id)) return "statement.line";
    return clips_.empty() || alone(clips_[0]) ? "" : "statement.line";
  }

  /// The statements from which the loss comes, back to the model's call.
  std::string_view find_forward() {
    std::set<std::string_view> wanted = {tree_.text(loss_)};
    std::size_t from = at_, to = at_;
    for (std::size_t i = at_; i-- > 0;) {
      const NodeId id = statements_[i];
      if (compound(tree_.kind(id))) {
        if (to == at_) return "PT821.loss.block";
        break;
      }
      const Assigned a = assigned(tree_, id);
      if (a.value == kNone ||
          std::none_of(a.names.begin(), a.names.end(), [&](std::string_view n) { return wanted.contains(n); }))
        continue;
      if (!computes(tree_, a.value)) continue;
      from = i;
      if (to == at_) to = i;
      for (NodeId n = a.value; n < tree_[a.value].last; ++n)
        if (tree_.kind(n) == Kind::Identifier && tree_[n].field != Field::Attribute) wanted.insert(tree_.text(n));
    }
    if (to == at_) return "PT821.loss.elsewhere";
    first_ = statements_[from];
    last_ = statements_[to];
    for (std::size_t i = from; i <= to; ++i)
      if (!alone(statements_[i])) return "statement.line";
    return "";
  }

  /// Nothing but blanks before it on its line, nothing but a comment behind it.
  bool alone(NodeId id) const {
    const std::string_view text = tree_.text();
    const std::size_t start = line_start(text, tree_[id].begin);
    if (text.substr(start, tree_[id].begin - start).find_first_not_of(" \t") != std::string_view::npos) return false;
    const std::size_t next = text.find_first_not_of(" \t\r", tree_[id].end);
    return next == std::string_view::npos || text[next] == '\n' || text[next] == '#';
  }

  bool within_string(std::size_t at) const {
    for (NodeId id = first_; id < tree_[last_].last; ++id)
      if (tree_.kind(id) == Kind::String && tree_[id].begin < at && at < tree_[id].end) return true;
    return false;
  }

  const Sites& s_;
  const syntax::Tree& tree_;
  NodeId backward_, loss_ = kNone, step_ = kNone, first_ = kNone, last_ = kNone;
  std::vector<NodeId> statements_, clips_;
  std::size_t at_ = 0;
};

bool has_mixed_precision(std::string_view text) {
  for (std::string_view word : {"autocast", "GradScaler", "amp.initialize", "amp.scale_loss", "accelerator.backward",
                                "deepspeed", ".half()", "torch.bfloat16", "scaler.scale("})
    if (text.find(word) != std::string_view::npos) return true;
  return false;
}

/// `torch` is torch where the loop stands.
bool torch_is_torch(const Sites& s, NodeId node) {
  const auto* bindings = s.module.scopes().lookup("torch", s.module.scopes().of(node));
  return bindings && std::all_of(bindings->begin(), bindings->end(), [](const names::Binding& b) {
           return b.how == names::Bind::Import && b.name.empty() && rules::under(b.module, "torch");
         });
}

/// The new object is made once, at module level: behind the imports, or before the loop where that stands there.
Edit make_scaler(const Sites& s, NodeId backward, const std::string& name) {
  const syntax::Tree& tree = s.tree();
  NodeId top = backward;
  while (tree.parent(top) != 0) top = tree.parent(top);
  const std::string line = name + " = torch.amp.GradScaler(\"npu\")";
  if (tree.kind(top) != Kind::Function && tree.kind(top) != Kind::Class && tree.kind(top) != Kind::Decorated)
    return insert_line(tree, top, line, true);
  NodeId last = kNone;
  for (NodeId id : tree.children(0)) {
    if (id >= top) break;
    const Kind kind = tree.kind(id);
    if (kind == Kind::Import || kind == Kind::ImportFrom) last = id;
  }
  return last == kNone ? insert_line(tree, top, line, true) : insert_line(tree, last, "\n" + line, false);
}

}  // namespace

void mixed_precision(Sites& s) {
  const syntax::Tree& tree = s.tree();
  if (!s.about_torch || has_mixed_precision(tree.text())) return;
  std::vector<NodeId> found;
  for (NodeId id = 0; id < tree.size(); ++id)
    if (const MethodCall call = method_call(tree, id); call && call.method == "backward") found.push_back(id);
  static const rules::Rule& rule = rules::coded("PT821");
  for (NodeId id : found) {
    if (s.kept(id)) continue;
    Loop loop(s, id);
    std::string_view hindrance = found.size() > 1 ? "PT821.several" : loop.look();
    if (hindrance.empty() && !torch_is_torch(s, id)) hindrance = "PT821.torch";
    Finding& f = s.add(rule, id, hindrance.empty() ? Confidence::Likely : Confidence::Review, "torch.autocast");
    if (!hindrance.empty()) {
      f.message = rules::told("PT821.hindered", {rules::told(hindrance)});
      continue;
    }
    f.message = rules::told("PT821");
    std::string scaler = "scaler";
    while (tree.text().find(scaler) != std::string_view::npos) scaler = "amp_" + scaler;
    f.edits = loop.edits(scaler);
    f.edits.push_back(make_scaler(s, id, scaler));
  }
}

}  // namespace updraft::migrate::rewrite
