// Members of tensors and modules: x.cuda(), Tensor.cuda as a value, x.is_cuda, and the user's own methods of that name.
#include <algorithm>
#include <array>

#include "migrate/rewrite/passes.h"
#include "migrate/rewrite/sites.h"
#include "migrate/rewrite/strings.h"

namespace updraft::migrate::rewrite {
namespace {

/// The choice, in parentheses or not, that a value stands in: x.cuda if fast else x.cpu.
NodeId choice_of(const syntax::Tree& tree, NodeId node) {
  for (NodeId up = tree.parent(node); up != kNone; node = up, up = tree.parent(up)) {
    const Kind kind = tree.kind(up);
    if (kind == Kind::Conditional && tree.child(up, std::size_t{1}) == node) return node;  // the condition
    if (kind != Kind::Conditional && kind != Kind::Parenthesized) return node;
  }
  return node;
}

/// Whether a method is called without its name: f = x.cuda; f(), (x.cuda if fast else x.cpu)().
bool called_later(const Sites& s, NodeId node) {
  const syntax::Tree& tree = s.tree();
  const NodeId whole = choice_of(tree, node);
  if (whole != node && tree.call_of(whole) != kNone) return true;
  const NodeId assignment = tree.parent(whole);
  if (tree.kind(assignment) != Kind::Assignment || tree[whole].field != Field::Right) return false;
  const std::string_view name = tree.text(tree.child(assignment, Field::Left));
  for (NodeId id = whole; id < tree.size(); ++id)
    if (tree.kind(id) == Kind::Call && tree.text(tree.child(id, Field::Function)) == name) return true;
  return false;
}

/// Whether a reference that nobody calls by name can be meant as a method: where nothing of the project is a flag of
/// that name, x.cuda that is passed on, kept or collected is one.
bool passed_on(const syntax::Tree& tree, NodeId node) {
  const NodeId up = tree.parent(choice_of(tree, node));
  switch (tree.kind(up)) {
    case Kind::ArgumentList: {
      const std::string_view callee = tree.text(tree.child(tree.parent(up), Field::Function));
      return callee != "print" && callee != "str" && callee != "bool" && callee != "len" && callee != "int";
    }
    case Kind::KeywordArgument:
    case Kind::Assignment:
    case Kind::ListComprehension:
    case Kind::SetComprehension:
    case Kind::Generator:
    case Kind::List:
    case Kind::Tuple:
    case Kind::Lambda:
    case Kind::Return: return true;
    default: return false;
  }
}

/// Whether a value is only asked whether it holds: a method always does, so this is a flag.
bool asked(const syntax::Tree& tree, NodeId node) {
  NodeId mine = node, up = tree.parent(node);
  while (tree.kind(up) == Kind::Parenthesized) mine = up, up = tree.parent(up);
  switch (tree.kind(up)) {
    case Kind::Not:
    case Kind::Comparison:
    case Kind::Assert: return true;
    case Kind::Boolean: return tree.child(up, std::size_t{0}) == mine || asked(tree, up);
    case Kind::Conditional: return tree.child(up, std::size_t{1}) == mine;
    case Kind::If:
    case Kind::Elif:
    case Kind::While: return tree[mine].field == Field::Condition;
    default: return false;
  }
}

/// model.cuda = warn(model.cuda): both sides are the same method.
bool patched(const syntax::Tree& tree, NodeId node) {
  const NodeId assignment = tree.ancestor(node, Kind::Assignment);
  return assignment != kNone && tree.inside(node, tree.child(assignment, Field::Right)) &&
         tree.text(tree.child(assignment, Field::Left)) == tree.text(node);
}

/// Whether something is assigned to x.NAME anywhere.
bool sets(const syntax::Tree& tree, std::string_view name) {
  for (NodeId id = 0; id < tree.size(); ++id)
    if (tree.kind(id) == Kind::Attribute && tree[id].field == Field::Left &&
        tree.kind(tree.parent(id)) == Kind::Assignment && tree.text(tree.child(id, Field::Attribute)) == name)
      return true;
  return false;
}

/// Whether a value of this kind is no method.
bool is_flag(Kind kind) noexcept {
  return kind == Kind::True || kind == Kind::False || kind == Kind::None || kind == Kind::Comparison ||
         kind == Kind::Not || kind == Kind::Boolean || kind == Kind::Integer || kind == Kind::String;
}

/// Functions and classes of a source that torch.jit.script compiles: TorchScript knows no x.npu() and no x.is_npu.
class Scripted {
 public:
  explicit Scripted(const Sites& s) : tree_(s.tree()) {
    if (tree_.text().find("jit") == std::string_view::npos) return;
    for (NodeId id = 0; id < tree_.size(); ++id) {
      if (tree_.kind(id) == Kind::Decorator) {
        const Value v = s.module.local(tree_.child(id, std::size_t{0}));
        if (compiles(v) || v.is_api("torch.jit.script_method") || v.is_api("torch.jit.export"))
          found_.push_back(tree_.parent(id));
      } else if (tree_.kind(id) == Kind::Call && compiles(s.module.local(tree_.child(id, Field::Function)))) {
        compiled(s, tree_.child(tree_.child(id, Field::Arguments), std::size_t{0}));
      }
    }
  }

  bool holds(NodeId node) const {
    return std::any_of(found_.begin(), found_.end(), [&](NodeId f) { return tree_.inside(node, f); });
  }

 private:
  static bool compiles(const Value& v) {
    return v.is_api("torch.jit.script") || v.is_api("torch.jit.script_if_tracing");
  }

  /// torch.jit.script(f), torch.jit.script(Model())
  void compiled(const Sites& s, NodeId argument) {
    if (argument == kNone) return;
    if (tree_.kind(argument) == Kind::Call) argument = tree_.child(argument, Field::Function);
    if (tree_.kind(argument) != Kind::Identifier) return;
    const auto* bindings = s.module.scopes().lookup(tree_.text(argument), s.module.scopes().of(argument));
    if (!bindings) return;
    for (const names::Binding& b : *bindings) {
      if (b.how == names::Bind::Function || b.how == names::Bind::Class) found_.push_back(b.node);
      else if (b.how == names::Bind::Assignment && tree_.kind(b.value) == Kind::Call && b.value != argument &&
               !tree_.inside(argument, b.value))  // model = Model()
        compiled(s, tree_.child(b.value, Field::Function));
    }
  }

  const syntax::Tree& tree_;
  std::vector<NodeId> found_;
};

/// x.cuda() and x.is_cuda in code that is compiled by torch.jit.script: x.to("npu"), x.device.type == "npu".
void in_script(const Sites& s, NodeId node, Finding& f) {
  const syntax::Tree& tree = s.tree();
  const NodeId name = tree.child(node, Field::Attribute), call = tree.call_of(node), up = tree.parent(node);
  f.message = rules::told("script");
  if (call == kNone) {
    const Kind kind = tree.kind(up);
    if (kind == Kind::Comparison || kind == Kind::Binary || kind == Kind::Attribute) f.confidence = Confidence::Review;
    f.edits = {s.replace(name, "device.type == \"npu\"")};
    return;
  }
  const NodeId list = tree.child(call, Field::Arguments), first = tree.child(list, std::size_t{0});
  const std::uint32_t at = tree[list].begin + 1;
  for (NodeId argument : tree.children(list))
    if (tree.kind(argument) != Kind::KeywordArgument || tree.text(tree.child(argument, Field::Name)) == "device")
      f.confidence = Confidence::Review;  // the number of a card
  f.edits = {s.replace(name, "to"), {at, at, first == kNone ? "\"npu\"" : "\"npu\", "}};
}

void member(Sites& s, NodeId node, const rules::Rule& rule, const Scripted& scripted) {
  const syntax::Tree& tree = s.tree();
  const NodeId object = tree.child(node, Field::Object), name_node = tree.child(node, Field::Attribute);
  const std::string name(tree.text(name_node));
  const NodeId up = tree.parent(node);
  const bool call = tree.call_of(node) != kNone;
  if ((rule.call == rules::Call::Only && !call) || (rule.call == rules::Call::Never && call)) return;
  const names::Project* project = s.module.project();
  const Value owner = project && project->has(name) ? s.module.value(object) : s.module.local(object);
  const bool of_torch =
      owner.own ? (owner.what == What::Class || owner.what == What::Instance) && project &&
                      project->derives(owner.name, names::is_module_or_tensor)
                : (owner.what == What::Api || owner.what == What::Instance) && names::is_module_or_tensor(owner.name);
  // assigned to, deleted: x.cuda = True is a flag, torch.Tensor.cuda = f replaces the method that others call
  if ((tree[node].field == Field::Left &&
       (tree.kind(up) == Kind::Assignment || tree.kind(up) == Kind::AugmentedAssignment)) ||
      tree.kind(up) == Kind::Delete) {
    if (!of_torch || tree.text(object) == "self" || is_flag(tree.kind(tree.child(up, Field::Right)))) return;
  }
  if (!call && rule.call == rules::Call::Any && asked(tree, node)) return;

  Confidence confidence = Confidence::Likely;
  switch (owner.what) {
    case What::Api:
      // torch.Tensor.cuda, nn.Module.cuda; any other name outside is no tensor
      if (!names::is_module_or_tensor(owner.name)) return;
      confidence = owner.sure ? Confidence::Certain : Confidence::Likely;
      break;
    case What::Instance:
      if (owner.own) {
        const std::string definer = project ? project->defines(owner.name, name) : std::string();
        if (project && !definer.empty()) {
          if (!project->follows(definer, name)) return;
          confidence = Confidence::Certain;
        } else {
          confidence = project && project->derives(owner.name, names::is_module_or_tensor) ? Confidence::Certain
                                                                                           : Confidence::Likely;
          // self.is_cuda of a class that is no Module: the class's own attribute
          if (!call && confidence != Confidence::Certain) return;
        }
      } else if (names::is_module_or_tensor(owner.name)) {
        confidence = Confidence::Certain;
      }
      break;
    case What::Module:
    case What::Function:
    case What::String: return;
    case What::Class:
      if (!project || !project->derives(owner.name, names::is_module_or_tensor)) return;
      confidence = Confidence::Certain;
      break;
    case What::Member:
    case What::Unknown: {
      if (!call && rule.call == rules::Call::Any) {
        if (names_options(tree.text(object))) return;
        if (!called_later(s, node)) {
          if (!passed_on(tree, node)) return;
          if (!s.about_torch || !project || project->has_flag(name)) confidence = Confidence::Review;
        }
      }
      if (!call && rule.call == rules::Call::Never && names_options(tree.text(object))) return;
      break;
    }
  }
  if (!s.about_torch && owner.what == What::Unknown && !call) confidence = Confidence::Review;
  // a source that sets an attribute of that name has one of its own
  if (name != "is_cuda" && rule.call == rules::Call::Never && sets(tree, name)) confidence = Confidence::Review;
  if (!of_torch && patched(tree, node)) confidence = Confidence::Review;
  if (!owner.sure) confidence = lower(confidence, Confidence::Likely);
  s.claims.take(node);
  if (s.kept(node)) return;
  Finding& f = s.add(
      rule, node, confidence,
      (owner.what == What::Instance || owner.what == What::Api) && !owner.own ? owner.name + "." + name : "." + name);
  if (rule.to.empty()) return;
  if ((name == "cuda" || name == "is_cuda") && (call || rule.call == rules::Call::Never) && scripted.holds(node))
    in_script(s, node, f);
  else f.edits.push_back(s.replace(name_node, rule.to));
}

/// A method of that name that moves nothing: x.cuda() of an unknown x becomes x.npu(), so that it answers to both.
void answers_to_both(Sites& s, NodeId function, NodeId scope_node, const rules::Rule& rule) {
  const syntax::Tree& tree = s.tree();
  const std::string name(tree.text(tree.child(function, Field::Name)));
  const NodeId body = tree.child(scope_node, Field::Body);
  NodeId last = kNone;
  for (NodeId n = body; body != kNone && n < tree[body].last; ++n) {
    const bool here = tree.parent(n) == body || tree.kind(tree.parent(n)) == Kind::Decorated;
    if (tree.kind(n) == Kind::Function && here) {
      const std::string_view defined = tree.text(tree.child(n, Field::Name));
      if (defined == rule.to) return;
      if (defined == name) last = n;
    }
    if (tree.kind(n) == Kind::Assignment && tree.text(tree.child(n, Field::Left)) == rule.to) return;
  }
  if (last != function || s.kept(tree.child(function, Field::Name))) return;
  NodeId whole = function;
  if (tree.kind(tree.parent(whole)) == Kind::Decorated) whole = tree.parent(whole);
  static const rules::Rule& own = rules::coded("PT118");
  Finding& f = s.add(own, tree.child(function, Field::Name), Confidence::Likely, "." + name);
  f.message = rules::told("PT118", {name, rule.to});
  f.edits.push_back(insert_line(tree, whole, rule.to + " = " + name, false));
}

/// def cuda(self, …) of the user's own classes.
void definition(Sites& s, NodeId function, const rules::Rule& rule) {
  const syntax::Tree& tree = s.tree();
  const NodeId name = tree.child(function, Field::Name);
  const names::ScopeId scope = s.module.scopes().of(function);
  if (s.module.scopes()[scope].kind != names::ScopeKind::Class || rule.to.empty()) return;
  const NodeId cls = s.module.scopes()[scope].node;
  const names::Project* project = s.module.project();
  std::string path = s.module.path();
  if (path.ends_with(".pyi")) path.pop_back();  // a stub says what its module does
  const std::string id = path + "#" + std::string(tree.text(tree.child(cls, Field::Name)));
  if (!project) return;
  if (!project->follows(id, std::string(tree.text(name)))) {
    if (project->doubtful(tree.text(name))) answers_to_both(s, function, cls, rule);
    return;
  }
  if (s.kept(name)) return;
  Finding& f = s.add(rule, name, Confidence::Likely, "." + std::string(tree.text(name)));
  f.message = rules::told("own_method", {rule.to});
  f.edits.push_back(s.replace(name, rule.to));
}

/// How sure it is that a member asked for by name is torch's.
Confidence of_member(const Sites& s, const std::string& name, std::string_view function, NodeId object, NodeId call,
                     const Value& owner) {
  const syntax::Tree& tree = s.tree();
  const names::Project* project = s.module.project();
  if (owner.own && !owner.name.empty()) {
    if (!project || (owner.what != What::Instance && owner.what != What::Class)) return Confidence::Review;
    const std::string definer = project->defines(owner.name, name);
    const bool of_torch = project->derives(owner.name, names::is_module_or_tensor);
    return of_torch || (!definer.empty() && project->follows(definer, name)) ? Confidence::Likely : Confidence::Review;
  }
  if (owner.what == What::Api || owner.what == What::Instance)
    return names::is_module_or_tensor(owner.name) ? Confidence::Certain : Confidence::Review;
  if (!s.about_torch || npu_has_its_own(tree, object)) return Confidence::Review;
  if (function == "setattr" || function == "delattr" || names_options(tree.text(object))) return Confidence::Review;
  if (name.starts_with("is_")) return Confidence::Likely;  // a name that only torch has
  if (function == "hasattr")                               // where the method is what comes next
    return tree.text().find(std::string(tree.text(object)) + "." + name + "(") != std::string_view::npos
               ? Confidence::Likely
               : Confidence::Review;
  if (tree.call_of(call) != kNone) return Confidence::Likely;
  const bool otherwise = tree.child(tree.child(call, Field::Arguments), std::size_t{2}) != kNone;
  return otherwise || (project && project->has_flag(name)) ? Confidence::Review : Confidence::Likely;
}

/// The name of a member as a string: getattr(x, "is_cuda", False), hasattr(batch, "cuda"), methodcaller("cuda"),
/// attrgetter("is_cuda"), getattr(x, "cuda" if fast else "cpu")().
void by_name(Sites& s, NodeId id) {
  const syntax::Tree& tree = s.tree();
  std::string name;
  if (!s.module.plain_string(id, name)) return;
  const auto& rules = s.rules.members(name);
  if (rules.empty()) return;
  NodeId mine = id, list = tree.parent(id);
  for (; tree.kind(list) == Kind::Conditional || tree.kind(list) == Kind::Parenthesized;
       mine = list, list = tree.parent(list))
    if (tree.kind(list) == Kind::Conditional && tree.child(list, std::size_t{1}) == mine) return;
  const NodeId call = tree.parent(list);
  if (tree.kind(list) != Kind::ArgumentList || tree.kind(call) != Kind::Call) return;
  const NodeId callee = tree.child(call, Field::Function);
  const std::string_view function =
      tree.text(tree.kind(callee) == Kind::Attribute ? tree.child(callee, Field::Attribute) : callee);
  const bool caller = function == "methodcaller" || function == "attrgetter";
  if (!caller && ((function != "getattr" && function != "hasattr" && function != "setattr" && function != "delattr") ||
                  tree.child(list, std::size_t{1}) != mine))
    return;
  const NodeId object = caller ? kNone : tree.child(list, std::size_t{0});
  const Value owner = caller ? Value{} : s.module.value(object);
  if (owner.what == What::Api && !names::is_module_or_tensor(owner.name)) return;
  for (const rules::Rule* rule : rules) {
    if (!s.applies(*rule) || rule->to.empty()) continue;
    s.claims.take(id);
    if (s.kept(id)) return;
    const Confidence confidence =
        caller ? lower(Confidence::Likely, s.about_torch ? Confidence::Likely : Confidence::Review)
               : of_member(s, name, function, object, call, owner);
    Finding& f = s.add(*rule, id, confidence, "." + name);
    for (NodeId c : tree.children(id))
      if (tree.kind(c) == Kind::StringContent) f.edits.push_back(s.replace(c, rule->to));
    return;
  }
}

}  // namespace

bool names_options(std::string_view name) noexcept {
  static constexpr std::array<std::string_view, 20> known = {
      "args",  "arg",   "opt",      "opts",   "options",   "cfg",      "config",      "conf",     "params", "hparams",
      "flags", "FLAGS", "settings", "parser", "self.args", "self.opt", "self.config", "self.cfg", "kwargs", "self"};
  return std::find(known.begin(), known.end(), name) != known.end();
}

bool calls_unknown(const names::Module& module, std::string_view method) {
  const syntax::Tree& tree = module.tree();
  for (NodeId id = 0; id < tree.size(); ++id) {
    if (tree.kind(id) != Kind::Attribute || tree.text(tree.child(id, Field::Attribute)) != method) continue;
    const What what = module.value(tree.child(id, Field::Object)).what;
    if (what == What::Unknown || what == What::Member) return true;
  }
  return false;
}

void members(Sites& s) {
  const syntax::Tree& tree = s.tree();
  const Scripted scripted(s);
  for (NodeId id = 0; id < tree.size(); ++id) {
    if (tree.kind(id) == Kind::Attribute && !s.claims.taken(id)) {
      for (const rules::Rule* rule : s.rules.members(tree.text(tree.child(id, Field::Attribute))))
        if (s.applies(*rule) && !s.claims.taken(id)) member(s, id, *rule, scripted);
    } else if (tree.kind(id) == Kind::Function) {
      for (const rules::Rule* rule : s.rules.members(tree.text(tree.child(id, Field::Name))))
        if (s.applies(*rule)) definition(s, id, *rule);
    } else if (tree.kind(id) == Kind::String && !s.claims.taken(id)) {
      by_name(s, id);
    }
  }
}

}  // namespace updraft::migrate::rewrite
