#include "migrate/rewrite/distributed/program.h"

#include <algorithm>

#include "base/error.h"

namespace updraft::migrate::rewrite::distributed {

Finding& Source::add(const char* rule, Category category, NodeId node, Text message, std::string api) {
  Finding f;
  f.rule = rule;
  f.category = category;
  f.begin = tree()[node].begin;
  f.end = tree()[node].end;
  f.from = tree().position(f.begin);
  f.to = tree().position(f.end);
  f.api = std::move(api);
  f.message = std::move(message);
  findings.push_back(std::move(f));
  return findings.back();
}

std::string Source::name_of(const std::string& package, NodeId where) {
  const names::Scopes& scopes = module->scopes();
  const auto means = [&](const names::Binding& b) {
    return b.how == names::Bind::Import && b.name.empty() && b.module == package;
  };
  const auto seen = [&](std::string_view name) {
    const auto* found = scopes.lookup(name, scopes.of(where));
    return found && std::any_of(found->begin(), found->end(), means) &&
           std::none_of(found->begin(), found->end(), [](const auto& b) { return b.how == names::Bind::Parameter; });
  };
  if (seen(package)) return package;
  for (const auto& [name, bindings] : scopes[0].names)
    if (std::any_of(bindings.begin(), bindings.end(), means) && seen(name)) return std::string(name);
  if (scopes.lookup(package, scopes.of(where))) return {};  // something else has the name
  imports.insert(package);
  return package;
}

std::string Source::callee(NodeId call) const {
  const Value v = module->value(tree().child(call, Field::Function));
  return v.what == What::Api ? v.name : std::string();
}

NodeId function_of(const Source& source, NodeId node) { return source.tree().ancestor(node, Kind::Function); }

bool is_target(const syntax::Tree& tree, NodeId node) {
  for (NodeId up = tree.parent(node); up != kNone; node = up, up = tree.parent(up)) {
    switch (tree.kind(up)) {
      case Kind::PatternList:
      case Kind::TuplePattern:
      case Kind::ListPattern:
      case Kind::ListSplatPattern: continue;
      case Kind::Assignment:
      case Kind::AugmentedAssignment:
      case Kind::For:
      case Kind::ForInClause: return tree[node].field == Field::Left;
      case Kind::NamedExpression: return tree[node].field == Field::Name;
      case Kind::Parameters:
      case Kind::LambdaParameters: return true;
      case Kind::DefaultParameter:
      case Kind::TypedDefaultParameter: return tree[node].field == Field::Name;
      case Kind::TypedParameter: return tree.kind(node) == Kind::Identifier;
      case Kind::AsPatternTarget: return true;
      default: return false;
    }
  }
  return false;
}

Program::Program(const names::Project& project, const names::Project::Reader& read, const std::string& main)
    : project_(project) {
  std::set<std::string> seen;
  const auto open = [&](const std::string& path) {
    if (path.empty() || !seen.insert(path).second) return;
    auto source = std::make_unique<Source>();
    source->path = path;
    source->text = read(path);
    source->module = std::make_unique<names::Module>(path, source->text, &project_);
    sources_.push_back(std::move(source));
  };
  open(main);
  for (std::size_t n = 0; n < sources_.size(); ++n) {
    const names::Scopes& scopes = sources_[n]->module->scopes();
    std::set<std::string> next;
    for (names::ScopeId s = 0; s < scopes.size(); ++s)
      for (const auto& [name, bindings] : scopes[s].names)
        for (const names::Binding& b : bindings) {
          if (b.how != names::Bind::Import) continue;
          next.insert(project_.file_of(b.module, sources_[n]->path));
          const std::string dot = b.module.empty() || b.module.back() != '.' ? "." : "";
          if (!b.name.empty()) next.insert(project_.file_of(b.module + dot + b.name, sources_[n]->path));
          // through a package's re-exports
          if (const Value v = sources_[n]->module->imported(b); v.own) next.insert(v.name.substr(0, v.name.find('#')));
        }
    for (const std::string& star : scopes.wildcards()) next.insert(project_.file_of(star, sources_[n]->path));
    for (const std::string& path : next) open(path);
  }
  for (auto& source : sources_) index(*source);
}

void Program::index(Source& s) {
  const syntax::Tree& tree = s.tree();
  for (NodeId id = 0; id < tree.size(); ++id) {
    switch (tree.kind(id)) {
      case Kind::Identifier: {
        const Kind above = tree.kind(tree.parent(id));
        if (tree[id].field == Field::Attribute || above == Kind::DottedName || above == Kind::AliasedImport) break;
        if (tree[id].field == Field::Name &&
            (above == Kind::KeywordArgument || above == Kind::Function || above == Kind::Class))
          break;
        s.identifiers[tree.text(id)].push_back(id);
        break;
      }
      case Kind::Attribute: s.attributes[tree.text(tree.child(id, Field::Attribute))].push_back(id); break;
      case Kind::Call:
        s.calls.push_back(id);
        if (const std::string called = callee(s, id); !called.empty()) calls_[called].push_back({&s, id});
        break;
      case Kind::Function:
        if (const std::string name = id_of(s, id); !name.empty()) definitions_.try_emplace(name, Place{&s, id});
        break;
      default: break;
    }
  }
}

const std::vector<Place>& Program::calls_of(const std::string& function) const {
  static const std::vector<Place> none;
  const auto found = calls_.find(function);
  return found == calls_.end() ? none : found->second;
}

Place Program::definition(const std::string& id) const {
  const auto found = definitions_.find(id);
  return found == definitions_.end() ? Place{} : found->second;
}

std::string Program::id_of(const Source& s, NodeId function) const {
  if (function == kNone) return {};
  const names::Scope& scope = s.module->scopes()[s.module->scopes().of(function)];
  const std::string name(s.text_of(s.tree().child(function, Field::Name)));
  if (scope.kind != names::ScopeKind::Class) return s.path + "#" + name;
  const std::string cls = s.path + "#" + std::string(s.text_of(s.tree().child(scope.node, Field::Name)));
  return name == "__init__" ? cls : cls + "." + name;
}

std::string Program::callee(const Source& s, NodeId call) const {
  const Value v = s.module->value(s.tree().child(call, Field::Function));
  if (!v.own) return {};
  if (v.what == What::Function) return v.name;
  if (v.what == What::Class) {
    const std::string definer = project_.defines(v.name, "__init__");
    return definer.empty() ? v.name : definer;
  }
  if (v.what == What::Member) {
    const std::size_t dot = v.name.rfind('.');
    const std::string method = v.name.substr(dot + 1), definer = project_.defines(v.name.substr(0, dot), method);
    return definer.empty() ? v.name : definer + "." + method;
  }
  return {};
}

namespace {

/// The first base of a class that the project has; empty: none.
std::string base_of(const names::Project& project, const std::string& cls) {
  const names::ClassInfo* info = project.class_info(cls);
  if (!info) return {};
  for (const std::string& written : info->bases)
    if (Value v = project.resolve(cls.substr(0, cls.find('#')), written);
        v.what == What::Class && v.own && v.name != cls)
      return std::move(v.name);
  return {};
}

}  // namespace

Variable Program::variable(Source& s, NodeId node) const {
  const syntax::Tree& tree = s.tree();
  const names::Scopes& scopes = s.module->scopes();
  Variable v;
  if (tree.kind(node) == Kind::Identifier) {
    v.bindings = scopes.lookup(tree.text(node), scopes.of(node));
    if (!v.bindings) return {};
    v.source = &s;
    v.name = tree.text(node);
  } else if (tree.kind(node) == Kind::Attribute) {
    const NodeId object = tree.child(node, Field::Object);
    const Value owner = tree.kind(object) == Kind::Identifier ? s.module->value(object) : Value{};
    if (owner.what != What::Instance || !owner.own) return {};
    v.source = nullptr;  // whatever the file
    v.name = tree.text(tree.child(node, Field::Attribute));
    v.owner = owner_of(owner.name);
  }
  return v;
}

std::string Program::owner_of(const std::string& cls) const {
  std::string owner = cls;
  for (int depth = 0; depth < 16; ++depth) {
    std::string base = base_of(project_, owner);
    if (base.empty()) break;
    owner = std::move(base);
  }
  return owner;
}

std::vector<Place> Program::calls_of_method(const Source& s, NodeId function) const {
  const std::string id = id_of(s, function);
  std::vector<Place> calls = calls_of(id);
  const names::ScopeId around = s.module->scopes().of(function);
  const std::string method(s.text_of(s.tree().child(function, Field::Name)));
  if (id.empty() || s.module->scopes()[around].kind != names::ScopeKind::Class || method == "__init__") return calls;
  // self.step() of a base means the subclass's step
  std::string cls = id.substr(0, id.rfind('.'));
  for (int depth = 0; depth < 16; ++depth) {
    cls = base_of(project_, cls);
    if (cls.empty()) break;
    const std::vector<Place>& more = calls_of(cls + "." + method);
    calls.insert(calls.end(), more.begin(), more.end());
  }
  return calls;
}

std::vector<Place> Program::uses(const Variable& v) const {
  std::vector<Place> found;
  if (v.bindings) {
    const auto at = v.source->identifiers.find(v.name);
    if (at == v.source->identifiers.end()) return found;
    const names::Scopes& scopes = v.source->module->scopes();
    for (NodeId id : at->second)
      if (scopes.lookup(v.name, scopes.of(id)) == v.bindings && !is_target(v.source->tree(), id))
        found.push_back({v.source, id});
    return found;
  }
  if (v.owner.empty()) return found;
  for (const auto& s : sources_) {
    const auto at = s->attributes.find(v.name);
    if (at == s->attributes.end()) continue;
    for (NodeId id : at->second) {
      const Value owner = s->module->value(s->tree().child(id, Field::Object));
      if (owner.what == What::Instance && owner.own && owner_of(owner.name) == v.owner && !is_target(s->tree(), id))
        found.push_back({s.get(), id});
    }
  }
  return found;
}

// Where a value goes, through names, containers, parameters and results. Not a proof: what is put into a container
// later, closures over loops and what libraries return are not followed.

namespace {

constexpr int kDeepest = 64;  // of names that stand for names

}  // namespace

bool is_pass_through(std::string_view callee) noexcept {
  const std::string_view last = callee.substr(callee.rfind('.') + 1);
  return last == "tqdm" || last == "enumerate" || last == "iter";
}

void Flow::from(const Variable& v, Place skip) {
  skip_ = skip;
  variable(v);
}

void Flow::variable(const Variable& v, std::size_t item) {
  if (v.name.empty() || depth_ > kDeepest) return;
  if (!(item == Place::kWhole ? variables_.insert(v).second : containers_.emplace(v, item).second)) return;
  ++depth_;
  for (Place p : program_.uses(v)) {
    p.item = item;
    use(p);
  }
  --depth_;
}

std::size_t Flow::key_item(const std::string& key) {
  if (key_.empty()) key_ = key;
  const auto at = std::find(keys_.begin(), keys_.end(), key);
  const auto n = static_cast<std::size_t>(at - keys_.begin());
  if (at == keys_.end()) keys_.push_back(key);
  return Place::kKeys + n;
}

void Flow::selected(Place place, NodeId container, std::size_t item, bool sure) {
  if (!sure) {
    const std::string said = item >= Place::kKeys ? "\"" + keys_[item - Place::kKeys] + "\"" : std::to_string(item);
    chosen_.emplace(place, Chosen{container, said});
  }
  if (places_.insert(place).second) expression(place);
}

bool Flow::taken(Source& s, NodeId container, std::size_t item) {
  const syntax::Tree& tree = s.tree();
  const NodeId up = tree.parent(container);
  const auto means = [&](NodeId key, bool& sure) {
    std::string word;
    sure = true;
    if (s.module->plain_string(key, word)) return item >= Place::kKeys && keys_[item - Place::kKeys] == word;
    if (tree.kind(key) == Kind::Integer) return item < Place::kKeys && tree.text(key) == std::to_string(item);
    sure = false;
    return tree.kind(key) == Kind::Identifier || tree.kind(key) == Kind::Attribute;
  };
  bool sure = true;
  if (tree.kind(up) == Kind::Subscript && tree[container].field == Field::Value) {
    if (!means(tree.child(up, Field::Subscript), sure)) return false;
    selected({&s, up}, container, item, sure);
    return true;
  }
  NodeId iterated = container;
  bool pairs = false;
  if (tree.kind(up) == Kind::Attribute && tree[container].field == Field::Object) {
    const NodeId call = tree.parent(up);
    if (tree.kind(call) != Kind::Call || tree.child(call, Field::Function) != up) return false;
    const std::string_view method = tree.text(tree.child(up, Field::Attribute));
    if (method == "get" || method == "pop") {
      if (!means(tree.child(tree.child(call, Field::Arguments), std::size_t{0}), sure)) return false;
      selected({&s, call}, container, item, sure);
      return true;
    }
    if (method != "items" && method != "values") return false;
    pairs = method == "items";
    iterated = call;
  } else if (item >= Place::kKeys) {
    return false;  // walking a dictionary gives its keys
  }
  const NodeId loop = tree.parent(iterated);
  if ((tree.kind(loop) != Kind::For && tree.kind(loop) != Kind::ForInClause) || tree[iterated].field != Field::Right)
    return false;
  NodeId target = tree.child(loop, Field::Left);
  if (pairs) target = tree.child(target, std::size_t{1});
  const Variable v = tree.kind(target) == Kind::Identifier ? program_.variable(s, target) : Variable{};
  if (v.name.empty()) return false;
  for (const Place& use : program_.uses(v))
    if (use.source == &s && tree.inside(use.node, loop)) selected(use, container, item, false);
  return true;
}

void Flow::use(Place p) {
  if (skip_.source == p.source) {
    const syntax::Tree& tree = p.source->tree();
    if (tree[p.node].begin < tree[skip_.node].end &&
        function_of(*p.source, p.node) == function_of(*skip_.source, skip_.node))
      return;
  }
  if (places_.insert(p).second) expression(p);
}

void Flow::expression(Place p) {
  if (depth_ > kDeepest) return;
  ++depth_;
  Source& s = *p.source;
  const syntax::Tree& tree = s.tree();
  NodeId node = p.node;
  std::size_t item = p.item;
  for (NodeId up = tree.parent(node); up != kNone; node = up, up = tree.parent(up)) {
    const Kind kind = tree.kind(up);
    if (kind == Kind::Parenthesized || kind == Kind::Await || kind == Kind::Boolean) continue;
    if (kind == Kind::Pair && item == Place::kWhole && tree[node].field == Field::Value) {
      std::string key;
      if (!s.module->plain_string(tree.child(up, Field::Key), key) || tree.kind(tree.parent(up)) != Kind::Dictionary)
        break;
      item = key_item(key);
      up = tree.parent(up);
      continue;
    }
    if (kind == Kind::KeywordArgument && item == Place::kWhole) {  // dict(train=…)
      const NodeId call = tree.parent(tree.parent(up));
      if (tree.kind(call) == Kind::Call && tree.text(tree.child(call, Field::Function)) == "dict") {
        item = key_item(std::string(tree.text(tree.child(up, Field::Name))));
        up = call;
        continue;
      }
    }
    if (item != Place::kWhole && taken(s, node, item)) break;
    if (kind == Kind::Conditional) {
      if (tree.child(up, std::size_t{1}) == node) break;  // the condition
      continue;
    }
    if (kind == Kind::NamedExpression && tree[node].field == Field::Value) {
      bind(s, tree.child(up, Field::Name), item);
      continue;
    }
    if (kind == Kind::Assignment && tree[node].field == Field::Right) {
      bind(s, tree.child(up, Field::Left), item);
      if (tree.kind(tree.parent(up)) == Kind::Assignment) continue;  // a = b = value
      break;
    }
    if ((kind == Kind::ExpressionList || kind == Kind::Tuple || kind == Kind::List) && item == Place::kWhole) {
      item = 0;
      for (NodeId c : tree.children(up)) {
        if (c == node) break;
        ++item;
      }
      continue;
    }
    if (kind == Kind::Return) {
      const NodeId function = function_of(s, up);
      if (function == kNone) break;
      for (const Place& call : program_.calls_of_method(s, function)) {
        const Place result{call.source, call.node, item};
        if (places_.insert(result).second) expression(result);
      }
      break;
    }
    // bar = tqdm(loader): the same thing, walked with a progress bar
    if (kind == Kind::ArgumentList && tree.kind(tree.parent(up)) == Kind::Call &&
        is_pass_through(tree.text(tree.child(tree.parent(up), Field::Function)))) {
      up = tree.parent(up);
      continue;
    }
    if (kind == Kind::ArgumentList || kind == Kind::KeywordArgument) {
      argument(s, kind == Kind::KeywordArgument ? up : node, item);
      break;
    }
    break;
  }
  --depth_;
}

void Flow::bind(Source& s, NodeId target, std::size_t item) {
  const syntax::Tree& tree = s.tree();
  if (item != Place::kWhole) {
    const Kind kind = tree.kind(target);
    if (kind == Kind::PatternList || kind == Kind::TuplePattern || kind == Kind::ListPattern) {
      if (item < Place::kKeys) bind(s, tree.child(target, item), Place::kWhole);
    } else if (target != kNone) {
      variable(program_.variable(s, target), item);
    }
    return;
  }
  if (tree.kind(target) == Kind::Subscript) {  // loaders["train"] = …
    std::string key;
    if (s.module->plain_string(tree.child(target, Field::Subscript), key))
      variable(program_.variable(s, tree.child(target, Field::Value)), key_item(key));
    return;
  }
  if (target != kNone) variable(program_.variable(s, target));
}

void Flow::argument(Source& s, NodeId argument, std::size_t item) {
  const syntax::Tree& tree = s.tree();
  const NodeId list = tree.parent(argument), call = tree.parent(list);
  if (tree.kind(call) != Kind::Call) return;
  const Place definition = program_.definition(program_.callee(s, call));
  if (!definition.source) return;
  const names::Module& module = *definition.source->module;
  std::vector<std::string> parameters = module.parameters(definition.node);
  const names::ScopeId around = module.scopes().of(definition.node);
  const bool method = module.scopes()[around].kind == names::ScopeKind::Class;
  if (method && !parameters.empty()) parameters.erase(parameters.begin());  // self
  const std::string name = names::Module::parameter(tree, argument, parameters);
  const names::ScopeId inside = module.scopes().opened_by(definition.node);
  if (name.empty() || inside == names::kNoScope) return;
  const auto found = module.scopes()[inside].names.find(name);
  if (found == module.scopes()[inside].names.end()) return;
  Variable v;
  v.source = definition.source;
  v.name = name;
  v.bindings = &found->second;
  variable(v, item);
}

}  // namespace updraft::migrate::rewrite::distributed
