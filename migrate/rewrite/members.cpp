// Members of tensors and modules: x.cuda(), Tensor.cuda as a value, x.is_cuda, and the user's own methods of that name.
#include <algorithm>
#include <array>

#include "migrate/rewrite/sites.h"

namespace updraft::migrate::rewrite {
namespace {

/// Namespaces of options: args.cuda is a flag, not the method.
bool options(std::string_view name) noexcept {
  static constexpr std::array<std::string_view, 20> known = {
      "args",  "arg",   "opt",      "opts",   "options",   "cfg",      "config",      "conf",     "params", "hparams",
      "flags", "FLAGS", "settings", "parser", "self.args", "self.opt", "self.config", "self.cfg", "kwargs", "self"};
  return std::find(known.begin(), known.end(), name) != known.end();
}

/// Whether the name to which a method is bound is called somewhere: f = x.cuda; f().
bool called_later(const Sites& s, NodeId node) {
  const syntax::Tree& tree = s.tree();
  const NodeId assignment = tree.parent(node);
  if (tree.kind(assignment) != Kind::Assignment || tree[node].field != Field::Right) return false;
  const std::string_view name = tree.text(tree.child(assignment, Field::Left));
  for (NodeId id = node; id < tree.size(); ++id)
    if (tree.kind(id) == Kind::Call && tree.text(tree.child(id, Field::Function)) == name) return true;
  return false;
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

void member(Sites& s, NodeId node, const rules::Rule& rule) {
  const syntax::Tree& tree = s.tree();
  const NodeId object = tree.child(node, Field::Object), name_node = tree.child(node, Field::Attribute);
  const std::string name(tree.text(name_node));
  const NodeId up = tree.parent(node);
  const bool call = tree.call_of(node) != kNone;
  if ((rule.call == rules::Call::Only && !call) || (rule.call == rules::Call::Never && call)) return;
  // assigned to, deleted: x.cuda = True
  if (tree[node].field == Field::Left &&
      (tree.kind(up) == Kind::Assignment || tree.kind(up) == Kind::AugmentedAssignment))
    return;
  if (tree.kind(up) == Kind::Delete) return;
  if (!call && rule.call == rules::Call::Any && asked(tree, node)) return;

  const names::Project* project = s.module.project();
  const Value owner = project && project->has(name) ? s.module.value(object) : s.module.local(object);
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
      if (project && project->keeps(name)) confidence = Confidence::Review;
      if (!call && rule.call == rules::Call::Any) {
        if (options(tree.text(object))) return;
        if (!called_later(s, node)) {
          // passed on (map(x.cuda, …)) or a flag: nobody knows
          const Kind above = tree.kind(up);
          if (above != Kind::ArgumentList && above != Kind::Assignment) return;
          confidence = Confidence::Review;
        }
      }
      if (!call && rule.call == rules::Call::Never && options(tree.text(object))) return;
      break;
    }
  }
  if (!s.about_torch && owner.what == What::Unknown && !call) confidence = Confidence::Review;
  if (patched(tree, node)) confidence = Confidence::Review;
  if (!owner.sure) confidence = lower(confidence, Confidence::Likely);
  s.done[node] = true;
  if (s.kept(node)) return;
  Finding& f = s.add(
      rule, node, confidence,
      (owner.what == What::Instance || owner.what == What::Api) && !owner.own ? owner.name + "." + name : "." + name);
  if (!rule.to.empty()) f.edits.push_back(s.replace(name_node, rule.to));
}

/// def cuda(self, …) of the user's own classes.
void definition(Sites& s, NodeId function, const rules::Rule& rule) {
  const syntax::Tree& tree = s.tree();
  const NodeId name = tree.child(function, Field::Name);
  const names::ScopeId scope = s.module.scopes().of(function);
  if (s.module.scopes()[scope].kind != names::ScopeKind::Class || rule.to.empty()) return;
  const NodeId cls = s.module.scopes()[scope].node;
  const names::Project* project = s.module.project();
  const std::string id = s.module.path() + "#" + std::string(tree.text(tree.child(cls, Field::Name)));
  if (!project || !project->follows(id, std::string(tree.text(name))) || s.kept(name)) return;
  Finding& f = s.add(rule, name, Confidence::Likely, "." + std::string(tree.text(name)));
  f.message = {"this method of a class of yours moves tensors; its calls become ." + rule.to +
                   "(), so it takes that name as well",
               "该类的此方法用于搬移张量；对它的调用会改为 ." + rule.to + "()，因此方法名同步修改"};
  f.edits.push_back(s.replace(name, rule.to));
}

}  // namespace

void members(Sites& s) {
  const syntax::Tree& tree = s.tree();
  for (NodeId id = 0; id < tree.size(); ++id) {
    if (tree.kind(id) == Kind::Attribute && !s.done[id]) {
      for (const rules::Rule* rule : s.rules.members(tree.text(tree.child(id, Field::Attribute))))
        if (s.applies(*rule) && !s.done[id]) member(s, id, *rule);
    } else if (tree.kind(id) == Kind::Function) {
      for (const rules::Rule* rule : s.rules.members(tree.text(tree.child(id, Field::Name))))
        if (s.applies(*rule)) definition(s, id, *rule);
    }
  }
}

}  // namespace updraft::migrate::rewrite
