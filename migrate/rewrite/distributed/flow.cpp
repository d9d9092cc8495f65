// Where a value goes, through names, containers, parameters and results. Not a proof: what is put into a container
// later, closures over loops and what libraries return are not followed.
#include <algorithm>

#include "migrate/rewrite/distributed/program.h"

namespace updraft::migrate::rewrite::distributed {
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
