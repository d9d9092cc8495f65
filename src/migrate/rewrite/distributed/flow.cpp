// Where a value goes. Not a proof: containers, closures over loops and what libraries return are not followed.
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

void Flow::variable(const Variable& v) {
  if (v.name.empty() || !variables_.insert(v).second || depth_ > kDeepest) return;
  ++depth_;
  for (const Place& p : program_.uses(v)) use(p);
  --depth_;
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
      for (const Place& call : program_.calls_of(program_.id_of(s, function))) {
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
      if (item == Place::kWhole) argument(s, kind == Kind::KeywordArgument ? up : node);
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
    if (kind == Kind::PatternList || kind == Kind::TuplePattern || kind == Kind::ListPattern)
      bind(s, tree.child(target, item), Place::kWhole);
    return;
  }
  if (target != kNone) variable(program_.variable(s, target));
}

void Flow::argument(Source& s, NodeId argument) {
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
  variable(v);
}

}  // namespace updraft::migrate::rewrite::distributed
