#include "migrate/rewrite/tensorflow/script.h"

#include <algorithm>
#include <map>
#include <utility>

namespace updraft::migrate::rewrite::tensorflow {
namespace {

constexpr int kDeepest = 8;  // of expressions within expressions

bool strip(std::string_view& name, std::string_view prefix) noexcept {
  if (!rules::under(name, prefix)) return false;
  name.remove_prefix(std::min(name.size(), prefix.size() + 1));
  return true;
}

}  // namespace

const Argument* Call::find(std::string_view parameter) const noexcept {
  const auto found = std::find_if(arguments.begin(), arguments.end(),
                                  [&](const Argument& argument) { return argument.name == parameter; });
  return found == arguments.end() ? nullptr : &*found;
}

Script::Script(Sites& s, const TensorFlowOptions& o, Confidence l) : sites(s), options(o), least(l) {
  find_names();
  find_entry();
}

void Script::find_names() {
  const names::Scopes& scopes = sites.module.scopes();
  bool npu_taken = false;
  for (names::ScopeId scope = 0; scope < scopes.size(); ++scope) {
    for (const auto& [name, bindings] : scopes[scope].names) {
      for (const names::Binding& b : bindings) {
        if (b.how == names::Bind::Import && of_tensorflow(b.module)) about_ = true;
        const Value v = b.how == names::Bind::Import ? sites.module.imported(b) : Value{};
        if (v.what == What::Api && of_tensorflow(v.name)) about_ = true;
        if (name == "npu" && !(v.what == What::Api && v.name == "npu_device")) npu_taken = true;
        if (scope != 0 || v.what != What::Api) continue;
        if (v.name == "npu_device" && name != "npu_device") npu_ = name;
        // tensorflow.compat.v1 and v2 hold whatever tensorflow does that is written here
        if (v.name == "tensorflow" && (tf_.empty() || name == "tf")) tf_ = name;
        if (rules::under(v.name, "tensorflow.compat") && v.name.size() == 20 && tf_.empty()) tf_ = name;
      }
    }
  }
  for (const std::string& module : scopes.wildcards()) about_ = about_ || of_tensorflow(module);
  if (npu_ == "npu" && npu_taken) npu_ = "npu_device";
}

bool Script::wildcard(std::string_view package, std::string& module) const {
  for (const std::string& m : sites.module.scopes().wildcards())
    if (rules::under(m, package)) {
      module = m;
      return true;
    }
  return false;
}

Value Script::value(NodeId expression, int depth) const {
  Value v = sites.module.value(expression);
  if (v || expression == kNone || depth > kDeepest) return v;
  if (tree().kind(expression) == Kind::Identifier) {
    const std::string_view name = text(expression);
    if (sites.module.scopes().lookup(name, sites.module.scopes().of(expression))) return v;
    std::string module;
    if (wildcard("tensorflow", module) || wildcard("horovod", module))
      return {What::Api, module + "." + std::string(name), false, false};
  } else if (tree().kind(expression) == Kind::Attribute) {
    const Value base = value(tree().child(expression, Field::Object), depth + 1);
    if (base.what == What::Api && !base.sure)
      return {What::Api, base.name + "." + std::string(text(tree().child(expression, Field::Attribute))), false, false};
  }
  return v;
}

std::string Script::api(const Value& v) const {
  if (v.what != What::Api) return {};
  std::string_view name = v.name;
  if (!strip(name, "tensorflow")) return {};
  while (strip(name, "compat.v1") || strip(name, "compat.v2")) {}
  if (strip(name, "optimizers")) return "keras.optimizers" + (name.empty() ? "" : "." + std::string(name));
  if (strip(name, "python.keras") || strip(name, "_api.v2.keras")) return "keras." + std::string(name);
  if (strip(name, "keras._tf_keras.keras")) return "keras." + std::string(name);
  return std::string(name);
}

std::string Script::horovod(const Value& v) const {
  if (v.what != What::Api) return {};
  std::string_view name = v.name;
  if (!strip(name, "horovod")) return {};
  // horovod.common, horovod.torch and others are not what the tool replaces
  if (!strip(name, "tensorflow.keras") && !strip(name, "tensorflow") && !strip(name, "keras")) return {};
  return std::string(name);
}

bool Script::of_v1(const Value& v) noexcept { return v.name.find("compat.v1") != std::string::npos; }

Call Script::call(NodeId node, std::initializer_list<std::string_view> parameters) const {
  Call c;
  c.node = node;
  c.callee = tree().child(node, Field::Function);
  c.list = tree().child(node, Field::Arguments);
  if (tree().kind(c.list) != Kind::ArgumentList) {  // f(x for x in y)
    c.splat = true;
    return c;
  }
  std::size_t position = 0;
  for (NodeId a : tree().children(c.list)) {
    switch (tree().kind(a)) {
      case Kind::ListSplat:
      case Kind::DictionarySplat:
        c.splat = true;
        c.arguments.push_back({{}, a, kNone});
        break;
      case Kind::KeywordArgument:
        c.arguments.push_back({std::string(text(tree().child(a, Field::Name))), a, tree().child(a, Field::Value)});
        break;
      default: {
        const bool known = !c.splat && position < parameters.size();
        c.arguments.push_back({known ? std::string(parameters.begin()[position]) : std::string(), a, a});
        ++position;
      }
    }
  }
  return c;
}

bool Script::is_statement(NodeId expression) const noexcept {
  return tree().kind(tree().parent(expression)) == Kind::ExpressionStatement;
}

bool Script::inside_call_of(NodeId expression, std::string_view name) const noexcept {
  NodeId up = tree().parent(expression);
  while (up != kNone && (tree().kind(up) == Kind::KeywordArgument || tree().kind(up) == Kind::Parenthesized))
    up = tree().parent(up);
  if (up == kNone || tree().kind(up) != Kind::ArgumentList) return false;
  const std::string_view callee = text(tree().child(tree().parent(up), Field::Function));
  return callee == name || (callee.ends_with(name) && callee[callee.size() - name.size() - 1] == '.');
}

std::string Script::shown(std::string_view resolved) {
  if (rules::under(resolved, "tensorflow")) return "tf" + std::string(resolved.substr(10));
  for (std::string_view prefix : {"horovod.tensorflow.keras", "horovod.tensorflow", "horovod.keras"})
    if (rules::under(resolved, prefix)) return "hvd" + std::string(resolved.substr(prefix.size()));
  return std::string(resolved);
}

Finding& Script::add(std::string_view id, NodeId node, Confidence confidence, std::string api, unsigned needs) {
  Finding& f = sites.add(rule(id), node, confidence, shown(api));
  if (sites.kept(node)) {
    f.confidence = Confidence::Review;
    kept_.insert(sites.findings.size() - 1);
  }
  if (needs) needs_.emplace_back(sites.findings.size() - 1, needs);
  return f;
}

bool Script::will(const Finding& finding) const noexcept {
  return finding.confidence >= least && !kept_.contains(static_cast<std::size_t>(&finding - sites.findings.data()));
}

void Script::hold_back() {
  if (!test_) return;
  for (Finding& f : sites.findings)
    if (!f.edits.empty()) f.confidence = Confidence::Review;
}

void Script::settle() {
  for (const std::size_t index : kept_) sites.findings[index].edits.clear();
  // removals of each block that are carried out
  std::map<NodeId, std::vector<std::pair<NodeId, Edit*>>> gone;
  for (const Removal& removal : removals_)
    for (Finding& f : sites.findings)
      if (will(f))
        if (const auto edit = std::find(f.edits.begin(), f.edits.end(), removal.edit); edit != f.edits.end())
          gone[removal.block].emplace_back(removal.statement, &*edit);
  for (const auto& [block, edits] : gone) {
    std::size_t all = 0;
    for ([[maybe_unused]] NodeId c : tree().children(block)) ++all;
    if (edits.size() < all || tree().kind(block) == Kind::Module) continue;
    const auto& [statement, edit] = edits.front();
    *edit = {tree()[statement].begin, tree()[statement].end, "pass"};
  }
}

unsigned Script::needs() const {
  unsigned all = 0;
  for (const auto& [index, needs] : needs_) {
    const Finding& f = sites.findings[index];
    if (!f.edits.empty() && will(f)) all |= needs;
  }
  return all;
}

Edit Script::remove_statement(NodeId statement) const {
  const std::string_view source = tree().text();
  const NodeId block = tree().parent(statement);
  std::size_t others = 0;
  if (tree().kind(block) == Kind::Block || tree().kind(block) == Kind::Module)
    for (NodeId c : tree().children(block)) others += c != statement;
  const std::uint32_t begin = tree()[statement].begin, end = tree()[statement].end;
  const std::size_t start = begin == 0 ? 0 : source.rfind('\n', begin - 1) + 1;  // npos + 1 is 0
  const std::size_t stop = std::min(source.find('\n', end), source.size());
  const bool alone = source.substr(start, begin - start).find_first_not_of(" \t\f") == std::string_view::npos &&
                     source.substr(end, stop - end).find_first_not_of(" \t\r") == std::string_view::npos;
  const bool module = tree().kind(block) == Kind::Module;
  if (!alone || (others == 0 && !module)) return {begin, end, "pass"};
  const Edit edit{static_cast<std::uint32_t>(start), static_cast<std::uint32_t>(std::min(stop + 1, source.size())), ""};
  removals_.push_back({block, statement, edit});
  return edit;
}

Edit Script::add_argument(const Call& c, const std::string& written) const {
  if (c.arguments.empty()) {
    const std::uint32_t at = tree()[c.list].begin + 1;
    return {at, at, written};
  }
  const std::uint32_t at = tree()[c.arguments.back().node].end;
  return {at, at, ", " + written};
}

std::vector<Edit> Script::remove_arguments(const Call& c, const std::vector<NodeId>& gone) const {
  std::vector<Edit> edits;
  const auto is_gone = [&](std::size_t i) {
    return std::find(gone.begin(), gone.end(), c.arguments[i].node) != gone.end();
  };
  const std::size_t n = c.arguments.size();
  for (std::size_t i = 0; i < n;) {
    if (!is_gone(i)) {
      ++i;
      continue;
    }
    std::size_t after = i;
    while (after < n && is_gone(after)) ++after;
    const syntax::Node& first = tree()[c.arguments[i].node];
    const syntax::Node& last = tree()[c.arguments[after - 1].node];
    if (after < n) edits.push_back({first.begin, tree()[c.arguments[after].node].begin, ""});
    else if (i > 0) edits.push_back({tree()[c.arguments[i - 1].node].end, last.end, ""});
    else edits.push_back({tree()[c.list].begin + 1, tree()[c.list].end - 1, ""});
    i = after;
  }
  return edits;
}

std::string Script::tf(std::string_view rest) const { return (tf_.empty() ? "tf" : tf_) + "." + std::string(rest); }

void Script::convert(NodeId subtree) {
  for (NodeId id = subtree; id < tree()[subtree].last; ++id)
    if (tree().kind(id) == Kind::Identifier) converted.insert(id);
}

std::string operand(const Script& script, NodeId expression) {
  const std::string written(script.text(expression));
  switch (script.tree().kind(expression)) {
    case Kind::Identifier:
    case Kind::Attribute:
    case Kind::Call:
    case Kind::Subscript:
    case Kind::Integer:
    case Kind::Parenthesized: return written;
    default: break;
  }
  if (written.find_first_not_of("0123456789.eE_") == std::string::npos) return written;
  return "(" + written + ")";
}

NodeId enclosing_function(const syntax::Tree& tree, NodeId node) noexcept {
  return tree.ancestor(node, Kind::Function);
}

}  // namespace updraft::migrate::rewrite::tensorflow

namespace updraft::migrate::rewrite {

void tensorflow_script(Sites& sites, const TensorFlowOptions& options, Confidence least) {
  tensorflow::Script script(sites, options, least);
  if (script.about_tensorflow()) {
    tensorflow::datasets(script);
    tensorflow::keras(script);
    tensorflow::strategies(script);
    tensorflow::devices(script);
    tensorflow::sessions(script);
    tensorflow::estimators(script);
    tensorflow::dropout(script);
    tensorflow::hints(script);
    tensorflow::horovod(script);  // after the others: what they removed is not needed any more
  }
  script.hold_back();
  script.settle();
  tensorflow::header(script);
  tensorflow::api_uses(script);
}

}  // namespace updraft::migrate::rewrite
