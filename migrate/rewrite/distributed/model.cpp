// The model's variable: where it is complete, DistributedDataParallel after that, and what is asked of it later.
#include <algorithm>
#include <array>
#include <map>

#include "migrate/rewrite/distributed/conversion.h"
#include "migrate/rewrite/distributed/program.h"

namespace updraft::migrate::rewrite::distributed {
namespace {

constexpr std::array<std::string_view, 10> kMoves = {"to",       "cuda",   "npu",     "half",     "float",
                                                     "bfloat16", "double", "compile", "to_empty", "type"};

/// What DistributedDataParallel itself answers as its module would.
bool answers(std::string_view name) noexcept {
  static constexpr std::array<std::string_view, 19> known = {"module",
                                                             "forward",
                                                             "train",
                                                             "eval",
                                                             "parameters",
                                                             "zero_grad",
                                                             "no_sync",
                                                             "join",
                                                             "to",
                                                             "cuda",
                                                             "npu",
                                                             "float",
                                                             "half",
                                                             "double",
                                                             "bfloat16",
                                                             "training",
                                                             "requires_grad_",
                                                             "register_comm_hook",
                                                             "cpu"};
  return std::find(known.begin(), known.end(), name) != known.end();
}

bool is_data_parallel(std::string_view api) noexcept {
  return api == "torch.nn.DataParallel" || api == "torch.nn.parallel.DataParallel" ||
         api == "torch.nn.parallel.data_parallel.DataParallel";
}

struct Group {
  Model model;
  std::vector<NodeId> made;   // statements that assign it
  std::vector<NodeId> moved;  // statements that move it
  bool trained = false;
};

/// X.to(…), X.cuda() as a statement of its own, on the variable's own text.
bool is_move(const Source& s, NodeId use) {
  const syntax::Tree& tree = s.tree();
  const NodeId attribute = tree.parent(use), call = tree.parent(attribute);
  if (tree.kind(attribute) != Kind::Attribute || tree.kind(call) != Kind::Call) return false;
  return std::find(kMoves.begin(), kMoves.end(), tree.text(tree.child(attribute, Field::Attribute))) != kMoves.end() &&
         tree.kind(tree.parent(call)) == Kind::ExpressionStatement;
}

/// The blocks around a node, outermost first, up to the function or module.
std::vector<NodeId> blocks(const syntax::Tree& tree, NodeId node) {
  std::vector<NodeId> found;
  for (NodeId up = tree.parent(node); up != kNone; up = tree.parent(up)) {
    if (tree.kind(up) == Kind::Block || tree.kind(up) == Kind::Module) found.push_back(up);
    if (tree.kind(up) == Kind::Function) break;
  }
  std::reverse(found.begin(), found.end());
  return found;
}

bool in_other_loop(const syntax::Tree& tree, NodeId node, NodeId than) {
  for (NodeId up = tree.parent(node); up != kNone && tree.kind(up) != Kind::Function; up = tree.parent(up))
    if ((tree.kind(up) == Kind::For || tree.kind(up) == Kind::While) && !tree.inside(than, up)) return true;
  return false;
}

/// The last statement, in the innermost block that holds all of them, that holds one of them.
NodeId complete(const syntax::Tree& tree, const std::vector<NodeId>& statements) {
  std::vector<NodeId> shared = blocks(tree, statements.front());
  for (NodeId s : statements) {
    const std::vector<NodeId> around = blocks(tree, s);
    std::size_t n = 0;
    while (n < shared.size() && n < around.size() && shared[n] == around[n]) ++n;
    shared.resize(n);
  }
  if (shared.empty()) return statements.back();
  NodeId last = statements.front();
  for (NodeId s : statements)
    if (s > last) last = s;
  while (tree.parent(last) != shared.back()) last = tree.parent(last);
  return last;
}

/// The first loop in the group's function in which the variable is used: from there on it is at work.
std::uint32_t at_work(const Source& s, const Group& g, const std::vector<Place>& uses) {
  const syntax::Tree& tree = s.tree();
  std::uint32_t first = ~0U;
  for (const Place& use : uses) {
    if (use.source != &s || function_of(s, use.node) != function_of(s, g.made.front())) continue;
    for (NodeId up = tree.parent(use.node); up != kNone && tree.kind(up) != Kind::Function; up = tree.parent(up))
      if ((tree.kind(up) == Kind::For || tree.kind(up) == Kind::While) && !tree.inside(g.made.front(), up))
        first = std::min(first, tree[up].begin);
  }
  return first;
}

std::vector<Group> groups(Program& program, const std::string& name) {
  std::vector<Group> found;
  std::map<Variable, std::size_t> known;
  const bool only_self = name.starts_with("self.");
  const std::string plain = only_self ? name.substr(5) : name;
  const auto visit = [&](Source& s, NodeId node) {
    const syntax::Tree& tree = s.tree();
    if (!is_target(tree, node)) return;
    NodeId assignment = tree.parent(node);
    while (assignment != kNone && tree.kind(assignment) != Kind::Assignment) {
      const Kind kind = tree.kind(assignment);
      if (kind != Kind::PatternList && kind != Kind::TuplePattern) return;
      assignment = tree.parent(assignment);
    }
    if (assignment == kNone || tree.child(assignment, Field::Right) == kNone) return;
    if (tree.kind(tree.child(assignment, Field::Right)) == Kind::None) return;  // model = None
    const Variable v = program.variable(s, node);
    if (v.name.empty()) return;
    const auto [at, fresh] = known.try_emplace(v, found.size());
    if (fresh) {
      Group g;
      g.model.source = &s;
      g.model.variable = v;
      g.model.name = s.text_of(node);
      found.push_back(std::move(g));
    }
    Group& g = found[at->second];
    if (g.model.source == &s) g.made.push_back(tree.statement(assignment));
  };
  for (const auto& s : program.sources()) {
    if (!only_self)
      if (const auto at = s->identifiers.find(plain); at != s->identifiers.end())
        for (NodeId id : at->second) visit(*s, id);
    if (const auto at = s->attributes.find(plain); at != s->attributes.end())
      for (NodeId id : at->second) visit(*s, id);
  }
  return found;
}

/// Where a group's variable is made by more than one function (self.model), only the one in which it is moved counts.
void settle(Program& program, Group& g) {
  Source& s = *g.model.source;
  const syntax::Tree& tree = s.tree();
  const std::vector<Place> uses = program.uses(g.model.variable);
  for (const Place& use : uses) {
    if (use.source != &s) continue;
    if (is_move(s, use.node)) g.moved.push_back(tree.statement(use.node));
    const NodeId attribute = tree.parent(use.node);
    if (tree.kind(attribute) != Kind::Attribute) continue;
    const std::string_view name = tree.text(tree.child(attribute, Field::Attribute));
    if (name == "parameters" || name == "named_parameters" || name == "train") g.trained = true;
  }
  NodeId home = function_of(s, g.made.front());
  for (NodeId m : g.moved)
    if (function_of(s, m) != home && g.model.variable.bindings == nullptr) home = function_of(s, m);
  const auto elsewhere = [&](NodeId n) { return function_of(s, n) != home; };
  std::erase_if(g.made, elsewhere);
  std::erase_if(g.moved, elsewhere);
  std::vector<NodeId> all = g.made;
  if (all.empty()) {
    all = g.moved;  // made in __init__, moved in setup()
    std::swap(g.made, g.moved);
  }
  // a second life (the best checkpoint, made anew after the training) is not the training's
  const std::uint32_t work = at_work(s, g, uses);
  for (NodeId m : g.moved)
    if (!in_other_loop(tree, m, g.made.front()) && tree[m].begin < work) all.push_back(m);
  std::erase_if(all, [&](NodeId m) { return tree[m].begin >= work || in_other_loop(tree, m, g.made.front()); });
  if (all.empty()) all.push_back(g.made.front());
  g.model.last = complete(tree, all);
  for (NodeId call : s.calls) {
    const bool here = std::any_of(all.begin(), all.end(), [&](NodeId m) { return tree.inside(call, m); });
    if (here && is_data_parallel(s.callee(call))) g.model.parallel.push_back(call);
  }
}

/// if torch.cuda.device_count() > 1: model = nn.DataParallel(model): the call goes, and what it leaves empty.
void unwrap_data_parallel(const Model& model) {
  Source& s = *model.source;
  const syntax::Tree& tree = s.tree();
  for (NodeId call : model.parallel) {
    const Argument inner = argument(tree, call, "module", 0);
    if (!inner) continue;
    Finding& f = s.add("PT352", Category::Change, call, rules::told("PT352.parallel"), "torch.nn.DataParallel");
    NodeId statement = tree.statement(call);
    const NodeId assignment = tree.child(statement, std::size_t{0});
    const bool only = tree.kind(assignment) == Kind::Assignment && tree.child(assignment, Field::Right) == call &&
                      tree.text(tree.child(assignment, Field::Left)) == tree.text(inner.value);
    if (!only) {
      f.edits = {{tree[call].begin, tree[inner.value].begin, ""}, {tree[inner.value].end, tree[call].end, ""}};
      continue;
    }
    const NodeId block = tree.parent(statement), conditional = tree.parent(block);
    std::size_t branches = 0, statements = 0;
    for (NodeId c : tree.children(conditional)) branches += tree.kind(c) == Kind::Elif || tree.kind(c) == Kind::Else;
    for ([[maybe_unused]] NodeId c : tree.children(block)) ++statements;
    if (tree.kind(conditional) == Kind::If && branches == 0 && statements == 1 && conditional != model.last)
      statement = conditional;
    if (statement == model.last)
      f.edits = {{tree[statement].begin, tree[statement].end, "pass"}};  // the wrap stands after it
    else f.edits = {remove(tree, statement)};
  }
}

/// Whether a parameter is also given models that are not wrapped: evaluate(model), evaluate(teacher).
bool also_unwrapped(Program& program, Source& s, NodeId use, const Flow& flow) {
  const Variable v = program.variable(s, use);
  if (!v.bindings) return false;
  for (const names::Binding& b : *v.bindings) {
    const NodeId function = b.how == names::Bind::Parameter ? function_of(s, b.node) : kNone;
    if (function == kNone) continue;
    std::vector<std::string> parameters = s.module->parameters(function);
    const names::ScopeId around = s.module->scopes().of(function);
    if (s.module->scopes()[around].kind == names::ScopeKind::Class && !parameters.empty())
      parameters.erase(parameters.begin());  // self
    for (const Place& call : program.calls_of(program.id_of(s, function))) {
      const syntax::Tree& tree = call.source->tree();
      for (NodeId a : tree.children(tree.child(call.node, Field::Arguments))) {
        if (names::Module::parameter(tree, a, parameters) != v.name) continue;
        const NodeId given = tree.kind(a) == Kind::KeywordArgument ? tree.child(a, Field::Value) : a;
        if (!flow.has(*call.source, given)) return true;
      }
    }
  }
  return false;
}

}  // namespace

std::vector<Model> models(Program& program, const std::string& name) {
  std::vector<Group> all = groups(program, name);
  for (Group& g : all) settle(program, g);
  // what one function makes and returns to another of them is wrapped there
  std::vector<bool> dropped(all.size());
  for (std::size_t n = 0; n < all.size(); ++n) {
    Flow flow(program);
    flow.from(all[n].model.variable, {});
    bool trained = all[n].trained;
    for (const Place& p : flow.places()) {
      const syntax::Tree& tree = p.source->tree();
      const NodeId up = tree.parent(p.node);
      if (tree.kind(up) != Kind::Attribute) continue;
      const std::string_view asked = tree.text(tree.child(up, Field::Attribute));
      trained = trained || asked == "parameters" || asked == "named_parameters" || asked == "train";
    }
    all[n].trained = trained;
    for (std::size_t m = 0; m < all.size(); ++m) {
      if (m == n || dropped[m] || !flow.variables().contains(all[m].model.variable)) continue;
      const Source& s = *all[m].model.source;
      bool returned = false;
      for (NodeId made : all[m].made) {
        const NodeId assignment = s.tree().child(made, std::size_t{0});
        const NodeId right = s.tree().child(assignment, Field::Right);
        for (const Place& p : flow.places())
          returned = returned || (p.source == &s && s.tree().kind(p.node) == Kind::Call && right != kNone &&
                                  s.tree().inside(p.node, right) && !program.callee(s, p.node).empty());
      }
      // given as an argument: the one that moves it to the device, if that happens once
      bool once = !all[m].moved.empty() || all[m].made.size() > 1;
      for (const Place& call : program.calls_of(program.id_of(s, function_of(s, all[m].made.front()))))
        once = once && call.source->tree().ancestor(call.node, Kind::For) == kNone &&
               call.source->tree().ancestor(call.node, Kind::While) == kNone;
      if (returned || once) dropped[n] = true;
      else dropped[m] = true;
    }
  }
  std::vector<Model> result;
  for (const bool trained : {true, false}) {
    for (std::size_t n = 0; n < all.size(); ++n)
      if (!dropped[n] && all[n].trained == trained) result.push_back(all[n].model);
    if (!result.empty()) break;  // what is only evaluated stays as it is
  }
  return result;
}

void wrap(Program& program, const Model& model) {
  Source& s = *model.source;
  const syntax::Tree& tree = s.tree();
  const std::string torch = s.name_of("torch", model.last);
  if (torch.empty()) return;
  unwrap_data_parallel(model);
  Finding& f =
      s.add("PT352", Category::Change, model.last, rules::told("PT352"), "torch.nn.parallel.DistributedDataParallel");
  f.edits.push_back(after(tree, model.last,
                          {model.name + " = " + torch + ".nn.parallel.DistributedDataParallel(" + model.name +
                           ", device_ids=[" + torch + ".npu.current_device()])"}));

  // what is asked of the model afterwards
  Flow flow(program);
  flow.from(model.variable, {model.source, model.last});
  for (const Place& p : flow.places()) {
    Source& at = *p.source;
    const syntax::Tree& t = at.tree();
    const NodeId attribute = t.parent(p.node);
    if (p.item != Place::kWhole || t.kind(p.node) == Kind::Call) continue;
    if (t.kind(attribute) != Kind::Attribute || t.child(attribute, Field::Object) != p.node) continue;
    const std::string_view name = t.text(t.child(attribute, Field::Attribute));
    if (answers(name) || !at.unwrapped.insert(attribute).second) continue;
    Finding& asked = at.add("PT353", Category::Change, attribute, rules::told("PT353"));
    if (flow.chosen(p) || also_unwrapped(program, at, p.node, flow)) {
      const std::string name_text(t.text(p.node));
      asked.edits.push_back(
          {t[p.node].begin, t[p.node].end, "getattr(" + name_text + ", \"module\", " + name_text + ")"});
    } else {
      asked.edits.push_back({t[p.node].end, t[p.node].end, ".module"});
    }
    // a method that computes what is trained by-passes DistributedDataParallel
    const NodeId call = t.parent(attribute);
    static constexpr std::array<std::string_view, 12> known = {"state_dict",      "load_state_dict", "named_parameters",
                                                               "modules",         "named_modules",   "children",
                                                               "named_children",  "buffers",         "apply",
                                                               "register_buffer", "add_module",      "get_submodule"};
    if (t.kind(call) != Kind::Call || t.child(call, Field::Function) != attribute ||
        std::find(known.begin(), known.end(), name) != known.end())
      continue;
    const NodeId loop = t.ancestor(call, Kind::For);
    if (loop != kNone && trains(program, at, loop, 4)) at.add("PT354", Category::Note, call, rules::told("PT354"));
  }
}

}  // namespace updraft::migrate::rewrite::distributed
