#include "migrate/names/scopes.h"

#include <utility>

namespace updraft::migrate::names {

using syntax::Field;
using syntax::Kind;

namespace {

/// A dotted name may be spread over lines.
std::string plain_name(std::string_view text) {
  std::string name;
  for (const char c : text)
    if (c != ' ' && c != '\\' && c != '\n' && c != '\t' && c != '\r') name += c;
  return name;
}

}  // namespace

ScopeId Scopes::open(ScopeKind kind, NodeId node, ScopeId parent) {
  Scope scope;
  scope.kind = kind;
  scope.parent = parent;
  scope.node = node;
  scopes_.push_back(std::move(scope));
  const auto id = static_cast<ScopeId>(scopes_.size() - 1);
  opened_.emplace(node, id);
  return id;
}

ScopeId Scopes::opened_by(NodeId node) const noexcept {
  const auto found = opened_.find(node);
  return found == opened_.end() ? kNoScope : found->second;
}

Scopes::Scopes(const syntax::Tree& tree) : tree_(tree), scope_of_(tree.size(), 0) {
  open(ScopeKind::Module, 0, kNoScope);
  // Pre-order: the scope of a subtree lasts until its last node. Parts that belong outside push the outer scope again.
  std::vector<std::pair<NodeId, ScopeId>> stack = {{tree.size(), 0}};
  for (NodeId id = 0; id < tree.size(); ++id) {
    while (stack.size() > 1 && id >= stack.back().first) stack.pop_back();
    const ScopeId here = stack.back().second;
    scope_of_[id] = here;
    const syntax::Node& node = tree[id];
    const Kind above = node.parent == kNone ? Kind::Other : tree.kind(node.parent);
    if (node.parent != kNone) {
      // what a definition or a comprehension evaluates outside itself
      const bool outside =
          ((above == Kind::DefaultParameter || above == Kind::TypedDefaultParameter) && node.field != Field::Name) ||
          (above == Kind::TypedParameter && node.kind == Kind::Type) ||
          (above == Kind::Function && node.field == Field::ReturnType) ||
          (above == Kind::Class && node.field == Field::Superclasses) ||
          (above == Kind::ForInClause && node.field == Field::Right &&
           tree[tree.parent(node.parent)].kind != Kind::Other && scopes_[here].kind == ScopeKind::Comprehension &&
           tree.child(scopes_[here].node, std::size_t{1}) == node.parent);
      if (outside && scopes_[here].parent != kNoScope) {
        scope_of_[id] = scopes_[here].parent;
        if (node.last > id + 1) stack.emplace_back(node.last, scopes_[here].parent);
      }
    }
    visit(id, scope_of_[id]);
    switch (node.kind) {
      case Kind::Function: stack.emplace_back(node.last, open(ScopeKind::Function, id, scope_of_[id])); break;
      case Kind::Lambda: stack.emplace_back(node.last, open(ScopeKind::Function, id, scope_of_[id])); break;
      case Kind::Class: stack.emplace_back(node.last, open(ScopeKind::Class, id, scope_of_[id])); break;
      case Kind::ListComprehension:
      case Kind::SetComprehension:
      case Kind::DictComprehension:
      case Kind::Generator: stack.emplace_back(node.last, open(ScopeKind::Comprehension, id, scope_of_[id])); break;
      default: break;
    }
  }
}

void Scopes::bind(NodeId identifier, Binding binding, ScopeId scope) {
  const std::string_view name = tree_.text(identifier);
  if (const auto other = scopes_[scope].redirected.find(name); other != scopes_[scope].redirected.end())
    scope = other->second;
  if (binding.node == kNone) binding.node = identifier;
  scopes_[scope].names[name].push_back(std::move(binding));
}

void Scopes::bind_pattern(NodeId pattern, NodeId value, ScopeId scope, Bind how) {
  switch (tree_.kind(pattern)) {
    case Kind::Identifier: bind(pattern, {how, pattern, value, {}, {}}, scope); break;
    case Kind::Attribute: {  // self.x = value
      const NodeId object = tree_.child(pattern, Field::Object);
      const ScopeId owner =
          tree_.kind(object) == Kind::Identifier ? class_of_self(tree_.text(object), scope) : kNoScope;
      if (owner != kNoScope)
        scopes_[owner].attributes[tree_.text(tree_.child(pattern, Field::Attribute))].push_back(value);
      break;
    }
    case Kind::PatternList:
    case Kind::TuplePattern:
    case Kind::ListPattern:
    case Kind::Tuple:
    case Kind::List:
    case Kind::ExpressionList: {
      const Kind of_value = tree_.kind(value);
      const bool pairs = of_value == Kind::ExpressionList || of_value == Kind::Tuple || of_value == Kind::List;
      std::size_t n = 0, left = 0, right = 0;
      for ([[maybe_unused]] NodeId c : tree_.children(pattern)) ++left;
      if (pairs)
        for ([[maybe_unused]] NodeId c : tree_.children(value)) ++right;
      for (NodeId c : tree_.children(pattern)) {
        const NodeId one = pairs && left == right ? tree_.child(value, n) : kNone;
        bind_pattern(c, one, scope, one == kNone ? Bind::Loop : how);
        ++n;
      }
      break;
    }
    case Kind::ListSplatPattern:
    case Kind::ListSplat:
    case Kind::Parenthesized:
    case Kind::AsPatternTarget:
      for (NodeId c : tree_.children(pattern)) bind_pattern(c, kNone, scope, Bind::Loop);
      break;
    default: break;
  }
}

void Scopes::parameters(NodeId id, ScopeId scope) {
  for (NodeId p : tree_.children(id)) {
    switch (tree_.kind(p)) {
      case Kind::Identifier: bind(p, {Bind::Parameter, p, kNone, {}, {}}, scope); break;
      case Kind::DefaultParameter:
      case Kind::TypedDefaultParameter:
        if (const NodeId name = tree_.child(p, Field::Name); tree_.kind(name) == Kind::Identifier)
          bind(name, {Bind::Parameter, name, tree_.child(p, Field::Value), {}, {}}, scope);
        break;
      case Kind::TypedParameter:
      case Kind::ListSplatPattern:
      case Kind::DictionarySplatPattern:
        for (NodeId c : tree_.children(p)) {
          if (tree_.kind(c) == Kind::ListSplatPattern || tree_.kind(c) == Kind::DictionarySplatPattern)
            c = tree_.child(c, std::size_t{0});
          if (tree_.kind(c) == Kind::Identifier) bind(c, {Bind::Parameter, c, kNone, {}, {}}, scope);
          break;
        }
        break;
      case Kind::TuplePattern: bind_pattern(p, kNone, scope, Bind::Loop); break;
      default: break;
    }
  }
}

void Scopes::import(NodeId id, ScopeId scope) {
  const bool from = tree_.kind(id) == Kind::ImportFrom;
  const std::string module = from ? plain_name(tree_.text(tree_.child(id, Field::ModuleName))) : std::string();
  for (NodeId c : tree_.children(id)) {
    if (tree_.kind(c) == Kind::WildcardImport) wildcards_.push_back(module);
    if (tree_[c].field != Field::Name) continue;
    const bool aliased = tree_.kind(c) == Kind::AliasedImport;
    const NodeId dotted = aliased ? tree_.child(c, Field::Name) : c;
    Binding binding{Bind::Import, c, kNone, {}, {}};
    if (from) {
      binding.module = module;
      binding.name = plain_name(tree_.text(dotted));
    } else {
      binding.module = plain_name(aliased ? tree_.text(dotted) : tree_.text(tree_.child(dotted, std::size_t{0})));
    }
    const NodeId bound = aliased ? tree_.child(c, Field::Alias) : tree_.child(dotted, std::size_t{0});
    if (tree_.kind(bound) == Kind::Identifier) bind(bound, std::move(binding), scope);
  }
}

void Scopes::visit(NodeId id, ScopeId here) {
  switch (tree_.kind(id)) {
    case Kind::Import:
    case Kind::ImportFrom: import(id, here); break;
    case Kind::Function:
    case Kind::Class: {
      const NodeId name = tree_.child(id, Field::Name);
      if (name != kNone)
        bind(name, {tree_.kind(id) == Kind::Class ? Bind::Class : Bind::Function, id, kNone, {}, {}}, here);
      break;
    }
    case Kind::Parameters:
    case Kind::LambdaParameters: parameters(id, here); break;
    case Kind::Assignment: {
      NodeId value = tree_.child(id, Field::Right);
      while (tree_.kind(value) == Kind::Assignment) value = tree_.child(value, Field::Right);  // a = b = value
      bind_pattern(tree_.child(id, Field::Left), value, here, Bind::Assignment);
      break;
    }
    case Kind::NamedExpression: {
      // binds outside comprehensions
      ScopeId scope = here;
      while (scopes_[scope].kind == ScopeKind::Comprehension) scope = scopes_[scope].parent;
      bind_pattern(tree_.child(id, Field::Name), tree_.child(id, Field::Value), scope, Bind::Assignment);
      break;
    }
    case Kind::AugmentedAssignment:
    case Kind::For:
    case Kind::ForInClause: bind_pattern(tree_.child(id, Field::Left), kNone, here, Bind::Loop); break;
    case Kind::AsPattern: {
      const NodeId target = tree_.child(id, Field::Alias);
      const bool with = tree_.kind(tree_.parent(id)) == Kind::WithItem;
      if (const NodeId name = tree_.child(target, std::size_t{0}); tree_.kind(name) == Kind::Identifier && with)
        bind(name, {Bind::Assignment, name, tree_.child(id, std::size_t{0}), {}, {}}, here);
      else bind_pattern(target, kNone, here, Bind::Loop);
      break;
    }
    case Kind::Global:
    case Kind::Nonlocal: {
      ScopeId target = 0;
      if (tree_.kind(id) == Kind::Nonlocal) {
        target = scopes_[here].parent;
        while (target != kNoScope && scopes_[target].kind == ScopeKind::Class) target = scopes_[target].parent;
        if (target == kNoScope) target = 0;
      }
      for (NodeId c : tree_.children(id)) scopes_[here].redirected[tree_.text(c)] = target;
      break;
    }
    default: break;
  }
}

const std::vector<Binding>* Scopes::lookup(std::string_view name, ScopeId scope) const noexcept {
  for (bool first = true; scope != kNoScope; scope = scopes_[scope].parent, first = false) {
    const Scope& s = scopes_[scope];
    if (s.kind == ScopeKind::Class && !first) continue;
    if (const auto other = s.redirected.find(name); other != s.redirected.end()) {
      const auto found = scopes_[other->second].names.find(name);
      if (found != scopes_[other->second].names.end()) return &found->second;
      continue;
    }
    if (const auto found = s.names.find(name); found != s.names.end()) return &found->second;
    // a comprehension in a class body sees the class only by its first iterable, which is evaluated outside
  }
  return nullptr;
}

ScopeId Scopes::class_of_self(std::string_view name, ScopeId scope) const noexcept {
  for (; scope != kNoScope; scope = scopes_[scope].parent) {
    const Scope& s = scopes_[scope];
    if (s.kind != ScopeKind::Function || s.names.find(name) == s.names.end()) continue;
    const NodeId parameters = tree_.child(s.node, Field::Parameters);
    const NodeId first = tree_.child(parameters, std::size_t{0});
    const NodeId identifier = tree_.kind(first) == Kind::TypedParameter ? tree_.child(first, std::size_t{0}) : first;
    const bool is_self = tree_.kind(identifier) == Kind::Identifier && tree_.text(identifier) == name;
    return is_self && s.parent != kNoScope && scopes_[s.parent].kind == ScopeKind::Class ? s.parent : kNoScope;
  }
  return kNoScope;
}

}  // namespace updraft::migrate::names
