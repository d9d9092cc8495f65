// Scopes of a Python module and what binds their names, by the language's own rules: classes are not seen from the
// functions in them, comprehensions have a scope, decorators, defaults and annotations belong outside, `global` and
// `nonlocal` redirect.
#pragma once
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "migrate/syntax/tree.h"

namespace updraft::migrate::names {

using syntax::kNone;
using syntax::NodeId;

enum class Bind : std::uint8_t {
  Import,  ///< import a.b [as c], from m import n [as c]
  Function,
  Class,
  Parameter,   ///< `value` is its default
  Assignment,  ///< `value` is what is assigned where that is one expression
  Loop,        ///< for, with, except, del, match, augmented assignment: bound, but to nothing that is followed
};

struct Binding {
  Bind how = Bind::Loop;
  NodeId node = kNone;   ///< what binds: the identifier, function_definition, class_definition, import name
  NodeId value = kNone;  ///< expression that becomes the value
  std::string module;    ///< Import: dotted path of the module, with leading dots where relative
  std::string name;      ///< Import from: the name in the module
};

using ScopeId = std::uint32_t;
inline constexpr ScopeId kNoScope = ~ScopeId{0};

enum class ScopeKind : std::uint8_t { Module, Class, Function, Comprehension };

struct Scope {
  ScopeKind kind = ScopeKind::Module;
  ScopeId parent = kNoScope;
  NodeId node = 0;
  std::unordered_map<std::string_view, std::vector<Binding>> names;
  std::unordered_map<std::string_view, std::vector<NodeId>> attributes;  ///< of classes: self.NAME = value
  std::unordered_map<std::string_view, ScopeId> redirected;              ///< global and nonlocal names
};

class Scopes {
 public:
  explicit Scopes(const syntax::Tree& tree);

  const Scope& operator[](ScopeId id) const noexcept { return scopes_[id]; }
  std::size_t size() const noexcept { return scopes_.size(); }
  /// Scope in which the names of a node are looked up.
  ScopeId of(NodeId node) const noexcept { return scope_of_[node]; }
  /// Scope that a function, class, lambda or comprehension opens; kNoScope for other nodes.
  ScopeId opened_by(NodeId node) const noexcept;
  /// What an identifier read in `scope` may be; null where nothing in the module binds it.
  const std::vector<Binding>* lookup(std::string_view name, ScopeId scope) const noexcept;
  /// The class scope whose method the scope belongs to, when `name` is that method's first parameter.
  ScopeId class_of_self(std::string_view name, ScopeId scope) const noexcept;
  /// Modules of `from m import *`.
  const std::vector<std::string>& wildcards() const noexcept { return wildcards_; }

 private:
  void visit(NodeId id, ScopeId here);
  void bind_pattern(NodeId pattern, NodeId value, ScopeId scope, Bind how);
  void bind(NodeId identifier, Binding binding, ScopeId scope);
  void import(NodeId id, ScopeId scope);
  void parameters(NodeId id, ScopeId scope);
  ScopeId open(ScopeKind kind, NodeId node, ScopeId parent);

  const syntax::Tree& tree_;
  std::vector<Scope> scopes_;
  std::vector<ScopeId> scope_of_;
  std::unordered_map<NodeId, ScopeId> opened_;
  std::vector<std::string> wildcards_;
};

}  // namespace updraft::migrate::names
