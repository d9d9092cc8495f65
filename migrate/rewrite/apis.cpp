// torch.set_default_tensor_type(torch.cuda.FloatTensor) says two things: the type and the device. torch_npu refuses its
// own tensor types there, so each is said by itself: set_default_dtype, set_default_device.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "migrate/rewrite/passes.h"
#include "migrate/rewrite/strings.h"
#include "migrate/support/torch_api.h"

namespace updraft::migrate::rewrite {
namespace {

struct TensorType {
  std::string_view dtype;  ///< of torch; empty: no type that can be a default
  bool cuda = false;
};

TensorType read(std::string_view name) {
  TensorType t;
  if (name.starts_with("torch.cuda.")) t.cuda = true, name.remove_prefix(11);
  else if (name.starts_with("torch.")) name.remove_prefix(6);
  else return t;
  if (name == "FloatTensor") t.dtype = "float32";
  if (name == "DoubleTensor") t.dtype = "float64";
  if (name == "HalfTensor") t.dtype = "float16";
  if (name == "BFloat16Tensor") t.dtype = "bfloat16";
  return t;
}

/// The types between which an argument chooses: A if condition else B.
bool leaves(const Sites& s, NodeId argument, std::vector<std::pair<NodeId, TensorType>>& found) {
  const syntax::Tree& tree = s.tree();
  switch (tree.kind(argument)) {
    case Kind::Parenthesized: return leaves(s, tree.child(argument, std::size_t{0}), found);
    case Kind::Conditional:
      return leaves(s, tree.child(argument, std::size_t{0}), found) &&
             leaves(s, tree.child(argument, std::size_t{2}), found);
    case Kind::String:
    case Kind::Attribute: {
      std::string name;
      if (!s.module.plain_string(argument, name)) {
        const Value v = s.module.value(argument);
        if (v.what == What::Api) name = v.name;
      }
      found.emplace_back(argument, read(name));
      return !found.back().second.dtype.empty();
    }
    default: return false;
  }
}

const rules::Rule& rule() { return rules::coded("PT116"); }

void convert(Sites& s, NodeId call, bool other_types) {
  const syntax::Tree& tree = s.tree();
  const NodeId callee = tree.child(call, Field::Function), statement = tree.parent(call);
  const NodeId argument = tree.child(tree.child(call, Field::Arguments), std::size_t{0});
  std::vector<std::pair<NodeId, TensorType>> types;
  if (tree.kind(statement) != Kind::ExpressionStatement || argument == kNone || tree[argument].next != kNone ||
      tree.kind(argument) == Kind::KeywordArgument || !leaves(s, argument, types) || s.kept(call) ||
      npu_has_its_own(tree, call))
    return;
  for (const auto& [node, type] : types)
    if (type.dtype != types.front().second.dtype) return;
  Finding& f = s.add(rule(), call, Confidence::Certain, "torch.set_default_tensor_type");
  if (const std::string_view dtype = types.front().second.dtype; other_types || dtype != "float32") {
    const std::string object(tree.text(tree.child(callee, Field::Object)));
    const std::string_view text = tree.text();
    const std::size_t start = text.rfind('\n', tree[statement].begin) + 1;  // npos + 1 is 0
    const std::string_view indent = text.substr(start, tree[statement].begin - start);
    const bool alone = indent.find_first_not_of(" \t") == std::string_view::npos;
    const std::string next =
        alone ? (text.find("\r\n") != std::string_view::npos ? "\r\n" : "\n") + std::string(indent) : "; ";
    f.edits.push_back({tree[statement].begin, tree[statement].begin,
                       fmt::format("{0}.set_default_dtype({0}.{1}){2}", object, dtype, next)});
  }
  f.edits.push_back(s.replace(tree.child(callee, Field::Attribute), "set_default_device"));
  for (const auto& [node, type] : types) {
    f.edits.push_back(s.replace(node, type.cuda ? "\"npu\"" : "\"cpu\""));
    for (NodeId n = node; n < tree[node].last; ++n) s.claims.take(n);
  }
  s.claims.take(callee);
}

}  // namespace

void default_tensor_type(Sites& s) {
  const syntax::Tree& tree = s.tree();
  const std::string_view text = tree.text();
  if (text.find("set_default_tensor_type") == std::string_view::npos) return;
  std::vector<NodeId> calls, plain;
  bool cuda = false;
  for (NodeId id = 0; id < tree.size(); ++id) {
    if (tree.kind(id) != Kind::Call) continue;
    const NodeId callee = tree.child(id, Field::Function);
    if (tree.kind(callee) != Kind::Attribute || !s.module.value(callee).is_api("torch.set_default_tensor_type"))
      continue;
    calls.push_back(id);
    std::vector<std::pair<NodeId, TensorType>> types;
    if (leaves(s, tree.child(tree.child(id, Field::Arguments), std::size_t{0}), types)) plain.push_back(callee);
    for (const auto& [node, type] : types) cuda = cuda || type.cuda;
  }
  if (!cuda) {  // types of the CPU may stay
    for (NodeId callee : plain) s.claims.take(callee);
    return;
  }
  const bool other_types =
      text.find("set_default_dtype") != std::string_view::npos || text.find("DoubleTensor") != std::string_view::npos ||
      text.find("HalfTensor") != std::string_view::npos || text.find("BFloat16Tensor") != std::string_view::npos;
  for (NodeId call : calls) convert(s, call, other_types);
}

// Resolved names: attribute chains such as torch.cuda.is_available and the imports that bind them.

namespace {

using Parts = std::vector<std::string>;

Parts split(std::string_view name) {
  Parts parts;
  while (true) {
    const std::size_t dot = name.find('.');
    parts.emplace_back(name.substr(0, dot));
    if (dot == std::string_view::npos) return parts;
    name.remove_prefix(dot + 1);
  }
}

std::string join(const Parts& parts, std::size_t from, std::size_t to) {
  std::string name;
  for (std::size_t i = from; i < to && i < parts.size(); ++i) name += (i > from ? "." : "") + parts[i];
  return name;
}

/// `name` after a rule: what the rule exchanges, and the rest as it is. Empty where there is nothing to take.
std::string renamed(const rules::Renaming& r, std::string_view name) {
  return r.to.empty() ? std::string() : r.to + std::string(name.substr(r.from.size()));
}

/// A rule that would change says that there is nothing to change it to.
Finding& missing(Sites& s, const rules::Rule& rule, const rules::Renaming& r, NodeId node, Confidence confidence,
                 std::string api) {
  Finding& f = s.add(rule, node, confidence, std::move(api));
  if (f.category != Category::Change) {
    if (const CudaTwin twin = cuda_twin(f.api); !twin.npu.empty()) {
      f.suggestion = twin.npu;
      f.message += rules::told("api.own", {f.suggestion});
    }
    return f;
  }
  f.category = Category::Unsupported;
  f.message = r.note.empty() ? rules::told("api.missing", {r.from}) : rules::told("api.missing_note", {r.from, r.note});
  return f;
}

/// The words of a renaming's table after those of the rule.
void annotate(Finding& f, const rules::Renaming& r) {
  if (r.note.empty()) return;
  f.message.en += "; " + r.note.en;
  f.message.zh += "；" + r.note.zh;
}

/// A dotted name by its parts alone: spaces, line ends and what the grammar does not know are not of it.
std::string dotted_name(const syntax::Tree& tree, NodeId node) {
  std::string name;
  for (NodeId part : tree.children(node))
    if (tree.kind(part) == Kind::Identifier) name += (name.empty() ? "" : ".") + std::string(tree.text(part));
  return name;
}

/// The tokens of a chain a.b.c, outermost last; empty where its base is no name.
bool tokens(const syntax::Tree& tree, NodeId chain, std::vector<NodeId>& found) {
  std::vector<NodeId> reversed;
  for (; tree.kind(chain) == Kind::Attribute; chain = tree.child(chain, Field::Object))
    reversed.push_back(tree.child(chain, Field::Attribute));
  if (tree.kind(chain) != Kind::Identifier) return false;
  reversed.push_back(chain);
  found.assign(reversed.rbegin(), reversed.rend());
  return true;
}

/// Whether an import binds a name that a rule's change has to follow at the import, not at the uses.
class Imports {
 public:
  explicit Imports(Sites& sites) : s_(sites), tree_(sites.tree()) {}

  void visit(NodeId statement) {
    if (tree_.kind(statement) == Kind::Import) {
      for (NodeId c : tree_.children(statement))
        if (tree_[c].field == Field::Name) plain(statement, c);
    } else {
      from(statement);
    }
  }

 private:
  bool own(std::string_view module) const {
    return s_.module.project() && module != "torch" && !s_.module.project()->file_of(module, s_.module.path()).empty();
  }

  /// import a.b [as c]
  void plain(NodeId statement, NodeId item) {
    const bool aliased = tree_.kind(item) == Kind::AliasedImport;
    const NodeId dotted = aliased ? tree_.child(item, Field::Name) : item;
    const std::string name = dotted_name(tree_, dotted);
    if (own(name)) return;
    package(name, item);
    const rules::Rule* rule = s_.rules.api(name);
    if (!rule || !s_.applies(*rule) || s_.kept(statement)) return;
    const rules::Renaming r = rules::renaming(*rule, name);
    if (r.to.empty()) {
      missing(s_, *rule, r, item, Confidence::Certain, name);
      return;
    }
    Finding& f = s_.add(*rule, item, r.known ? Confidence::Certain : Confidence::Likely, name);
    annotate(f, r);
    const Parts before = split(name), after = split(renamed(r, name));
    if (r.to_class) {
      const bool only = tree_.child(statement, std::size_t{1}) == kNone;
      if (aliased && only)
        f.edits.push_back(
            s_.replace(statement, import_of(r.to) + " as " + std::string(tree_.text(tree_.child(item, Field::Alias)))));
      else f.confidence = Confidence::Review;  // importing a module of this name would hide the class
    } else if (before.size() == after.size()) {
      std::size_t n = 0;
      for (NodeId part : tree_.children(dotted)) {
        if (tree_.kind(part) != Kind::Identifier) continue;
        if (before[n] != after[n]) f.edits.push_back(s_.replace(part, after[n]));
        ++n;
      }
    } else if (aliased) {
      f.edits.push_back(s_.replace(dotted, join(after, 0, after.size())));
    } else {
      f.confidence = Confidence::Review;  // the bound name would change
    }
  }

  void from(NodeId statement) {
    const NodeId module = tree_.child(statement, Field::ModuleName);
    if (tree_.kind(module) != Kind::DottedName) return;  // relative: the user's own
    const std::string name = dotted_name(tree_, module);
    if (own(name)) return;
    package(name, module);
    if (s_.kept(statement)) return;
    std::vector<NodeId> items;
    bool star = false;
    for (NodeId c : tree_.children(statement)) {
      if (tree_[c].field == Field::Name) items.push_back(c);
      star = star || tree_.kind(c) == Kind::WildcardImport;
    }
    const rules::Rule* whole = s_.rules.api(name);
    if (whole && !s_.applies(*whole)) whole = nullptr;
    if (star) {
      if (!whole) return;
      const rules::Renaming r = rules::renaming(*whole, name);
      if (r.to.empty()) missing(s_, *whole, r, module, Confidence::Certain, name);
      else change_module(s_.add(*whole, module, Confidence::Likely, name), module, name, renamed(r, name));
      return;
    }
    // where each name goes
    struct Target {
      NodeId item;
      const rules::Rule* rule;
      std::string before, after;
    };
    std::vector<Target> targets;
    for (NodeId item : items) {
      const NodeId dotted = tree_.kind(item) == Kind::AliasedImport ? tree_.child(item, Field::Name) : item;
      Target t{item, nullptr, name + "." + dotted_name(tree_, dotted), {}};
      t.rule = s_.rules.api(t.before);
      if (t.rule && (!s_.applies(*t.rule) || t.rule->arguments >= 0)) t.rule = nullptr;
      t.after = t.before;
      if (t.rule) {
        const rules::Renaming r = rules::renaming(*t.rule, t.before);
        if (r.to.empty()) missing(s_, *t.rule, r, item, Confidence::Certain, t.before);
        else t.after = renamed(r, t.before);
      }
      targets.push_back(std::move(t));
    }
    const auto changed = [](const Target& t) { return t.after != t.before; };
    if (std::none_of(targets.begin(), targets.end(), changed)) return;
    const rules::Renaming there = whole ? rules::renaming(*whole, name) : rules::Renaming{};
    if (there.to_class) {
      std::vector<std::pair<std::string, std::string>> methods;  // the name here, and the method's
      std::vector<std::string> rest;
      for (const Target& t : targets) {
        const bool aliased = tree_.kind(t.item) == Kind::AliasedImport;
        if (changed(t))
          methods.emplace_back(aliased ? tree_.text(tree_.child(t.item, Field::Alias)) : tree_.text(t.item),
                               last_of(t.after));
        else rest.emplace_back(tree_.text(t.item));
      }
      from_class(statement, *std::find_if(targets.begin(), targets.end(), changed)->rule, there, methods, rest);
      return;
    }
    const std::string first = module_of(targets.front().after);
    const bool together =
        std::all_of(targets.begin(), targets.end(), [&](const Target& t) { return module_of(t.after) == first; });
    if (together) {
      if (first != name)
        change_module(
            s_.add(*std::find_if(targets.begin(), targets.end(), changed)->rule, module, Confidence::Certain, name),
            module, name, first);
      for (const Target& t : targets)
        if (last_of(t.after) != last_of(t.before)) change_item(t.item, *t.rule, t.before, last_of(t.after));
      return;
    }
    // names part: one statement for each module
    std::vector<std::pair<std::string, std::string>> lines;
    for (const Target& t : targets) {
      std::string entry = last_of(t.after);
      if (tree_.kind(t.item) == Kind::AliasedImport)
        entry += " as " + std::string(tree_.text(tree_.child(t.item, Field::Alias)));
      else if (entry != last_of(t.before)) entry += " as " + last_of(t.before);
      const auto line =
          std::find_if(lines.begin(), lines.end(), [&](const auto& l) { return l.first == module_of(t.after); });
      if (line == lines.end()) lines.emplace_back(module_of(t.after), std::move(entry));
      else line->second += ", " + entry;
    }
    const std::string between = between_statements(statement);
    std::string written;
    for (const auto& [from_module, entries] : lines)
      written += (written.empty() ? "" : between) + "from " + from_module + " import " + entries;
    const Target& first_changed = *std::find_if(targets.begin(), targets.end(), changed);
    Finding& f = s_.add(*first_changed.rule, statement, Confidence::Likely, first_changed.before);
    f.edits.push_back(s_.replace(statement, written));
  }

  /// What parts statements that take the place of one: a new line as it is indented, or "; ".
  std::string between_statements(NodeId statement) const {
    const std::string_view text = tree_.text();
    const std::size_t start = text.rfind('\n', tree_[statement].begin) + 1;
    const std::string_view indent = text.substr(start, tree_[statement].begin - start);
    if (indent.find_first_not_of(" \t") != std::string_view::npos) return "; ";
    return (text.find("\r\n") != std::string_view::npos ? "\r\n" : "\n") + std::string(indent);
  }

  static std::string module_of(const std::string& name) { return name.substr(0, name.rfind('.')); }
  static std::string last_of(const std::string& name) { return name.substr(name.rfind('.') + 1); }
  static std::string import_of(const std::string& name) {
    return "from " + module_of(name) + " import " + last_of(name);
  }

  /// from torch.cuda.nvtx import range_push, where the twin of the module is a class: its methods, by assignments.
  void from_class(NodeId statement, const rules::Rule& rule, const rules::Renaming& there,
                  const std::vector<std::pair<std::string, std::string>>& methods,
                  const std::vector<std::string>& rest) {
    const std::string between = between_statements(statement);
    std::string kept, names, values;
    for (const std::string& item : rest) kept += (kept.empty() ? "from " + there.from + " import " : ", ") + item;
    for (const auto& [name, method] : methods) {
      names += (names.empty() ? "" : ", ") + name;
      values += (values.empty() ? "" : ", ") + last_of(there.to) + "." + method;
    }
    Finding& f = s_.add(rule, statement, Confidence::Likely, there.from);
    f.edits.push_back(s_.replace(
        statement, kept + (kept.empty() ? "" : between) + import_of(there.to) + between + names + " = " + values));
  }

  void change_module(Finding& f, NodeId module, const std::string& before, const std::string& after) {
    const Parts a = split(before), b = split(after);
    if (a.size() == b.size()) {
      std::size_t n = 0;
      for (NodeId part : tree_.children(module)) {
        if (tree_.kind(part) != Kind::Identifier) continue;
        if (a[n] != b[n]) f.edits.push_back(s_.replace(part, b[n]));
        ++n;
      }
    } else {
      f.edits.push_back(s_.replace(module, after));
    }
  }

  void change_item(NodeId item, const rules::Rule& rule, const std::string& api, const std::string& now) {
    Finding& f = s_.add(rule, item, Confidence::Certain, api);
    if (tree_.kind(item) == Kind::AliasedImport) f.edits.push_back(s_.replace(tree_.child(item, Field::Name), now));
    else f.edits.push_back(s_.replace(item, now + " as " + std::string(tree_.text(item))));  // uses keep their name
  }

  void package(const std::string& name, NodeId node) {
    for (std::string_view part = name; !part.empty();) {
      for (const rules::Rule* rule : s_.rules.imports(part))
        if (s_.applies(*rule)) {
          s_.add(*rule, node, Confidence::Certain, name);
          return;
        }
      const std::size_t dot = part.rfind('.');
      part = dot == std::string_view::npos ? std::string_view{} : part.substr(0, dot);
    }
  }

  Sites& s_;
  const syntax::Tree& tree_;
};

/// Name with the attributes around it: torch.cuda in torch.cuda.nvtx.range_push gives the whole.
std::string outermost(const syntax::Tree& tree, NodeId node, std::string name) {
  for (NodeId up = tree.parent(node);
       up != kNone && tree.kind(up) == Kind::Attribute && tree.child(up, Field::Object) == node;
       node = up, up = tree.parent(up))
    name += "." + std::string(tree.text(tree.child(up, Field::Attribute)));
  return name;
}

/// Whether a name is bound by `from … import NAME` and by nothing else.
bool imported(const Sites& s, NodeId identifier) {
  const auto* bindings = s.module.scopes().lookup(s.tree().text(identifier), s.module.scopes().of(identifier));
  return bindings && std::all_of(bindings->begin(), bindings->end(), [](const names::Binding& b) {
           return b.how == names::Bind::Import && !b.name.empty();
         });
}

/// Whether a call has so many arguments, and nothing that may be more.
bool takes(const syntax::Tree& tree, NodeId call, int wanted) {
  int n = 0;
  for (NodeId argument : tree.children(tree.child(call, Field::Arguments))) {
    const Kind kind = tree.kind(argument);
    if (kind == Kind::ListSplat || kind == Kind::DictionarySplat) return false;
    ++n;
  }
  return call != kNone && n == wanted;
}

/// Whether a call gives a parameter one of the values with which a rule does not mean it.
bool left_out(const Sites& s, NodeId call, const rules::Rule& rule) {
  if (rule.unless.empty() || call == kNone) return false;
  const syntax::Tree& tree = s.tree();
  for (NodeId argument : tree.children(tree.child(call, Field::Arguments))) {
    std::string value;
    if (tree.kind(argument) == Kind::KeywordArgument &&
        tree.text(tree.child(argument, Field::Name)) == rule.unless.front() &&
        s.module.plain_string(tree.child(argument, Field::Value), value) &&
        std::find(rule.unless.begin() + 1, rule.unless.end(), value) != rule.unless.end())
      return true;
  }
  return false;
}

/// Whether a chain is only assigned to or deleted (mock: torch.cuda.is_available = …). It is renamed like a use.
void chain(Sites& s, NodeId node) {
  const syntax::Tree& tree = s.tree();
  const auto& candidates = s.rules.apis(tree.text(tree.child(node, Field::Attribute)));
  if (candidates.empty()) return;
  const Value value = s.module.value(node);
  if (value.what != What::Api) return;
  const std::string whole = outermost(tree, node, value.name);
  const rules::Rule* rule = s.rules.api(whole);
  if (!rule || !s.applies(*rule) || std::find(candidates.begin(), candidates.end(), rule) == candidates.end()) return;
  if (std::find(rule->names.begin(), rule->names.end(), value.name) == rule->names.end()) return;
  if (rule->arguments >= 0 && !takes(tree, tree.call_of(node), rule->arguments)) return;
  if (left_out(s, tree.call_of(node), *rule)) return;
  const rules::Renaming r = rules::renaming(*rule, whole);
  // a table may exchange more than the rule names: go out to the node that is all of it
  for (std::string name = value.name; name.size() < r.from.size();) {
    node = tree.parent(node);
    name += "." + std::string(tree.text(tree.child(node, Field::Attribute)));
  }
  std::vector<NodeId> parts;
  if (!tokens(tree, node, parts)) return;
  // parts of the name that the first token stands for; helper.torch.cuda: that the tokens up to torch stand for
  std::size_t lead = 0;
  const auto upto = [&](std::size_t n) { return n == 0 ? parts.front() : tree.parent(parts[n]); };
  while (lead + 1 < parts.size() && s.module.value(upto(lead)).what != What::Api) ++lead;
  const std::size_t base = split(s.module.value(upto(lead)).name).size();
  for (NodeId n = node; tree.kind(n) == Kind::Attribute; n = tree.child(n, Field::Object)) s.claims.take(n);
  if (s.kept(node)) return;
  const Confidence sure = value.sure ? Confidence::Certain : Confidence::Likely;
  if (r.to.empty()) {
    missing(s, *rule, r, node, sure, whole);
    return;
  }
  const Confidence confidence = npu_has_its_own(tree, node) ? Confidence::Review : r.known ? sure : Confidence::Likely;
  Finding& f = s.add(*rule, node, confidence, whole);
  annotate(f, r);
  const Parts before = split(r.from), after = split(r.to);
  // what the first token stands for, after its own import has been changed: ProfilerActivity.CUDA
  std::string root = join(before, 0, base);
  if (const rules::Rule* own = base > 1 ? s.rules.api(root) : nullptr; own && s.applies(*own) && imported(s, parts[0]))
    if (std::string now = renamed(rules::renaming(*own, root), root); split(now).size() == base) root = std::move(now);
  const bool same_base = base < after.size() && root == join(after, 0, base);
  if (same_base && before.size() == after.size()) {
    for (std::size_t i = base; i < before.size(); ++i)
      if (before[i] != after[i]) f.edits.push_back(s.replace(parts[lead + i - base + 1], after[i]));
  } else {
    // another length or another root: all of the chain, unless comments stand in it
    const NodeId from = same_base ? parts[lead + 1] : parts[0];
    if (lead > 0 && !same_base) f.confidence = Confidence::Review;  // torch may have no name of its own here
    const std::string_view old = tree.text().substr(tree[from].begin, tree[node].end - tree[from].begin);
    if (old.find('#') != std::string_view::npos || old.find('\n') != std::string_view::npos)
      f.confidence = Confidence::Review;
    f.edits.push_back({tree[from].begin, tree[node].end, join(after, same_base ? base : 0, after.size())});
  }
}

/// Names that imports bound: what is to be said of their uses. Changes are made at the import, reports at each use.
void uses(Sites& s) {
  const syntax::Tree& tree = s.tree();
  std::unordered_map<std::string_view, bool> wanted;
  for (names::ScopeId scope = 0; scope < s.module.scopes().size(); ++scope)
    for (const auto& [name, bindings] : s.module.scopes()[scope].names)
      for (const names::Binding& b : bindings) {
        if (b.how != names::Bind::Import || b.module.starts_with('.')) continue;
        const rules::Rule* rule = s.rules.api(b.name.empty() ? b.module : b.module + "." + b.name);
        if (rule && (rule->to.empty() || !rule->table.empty())) wanted[name] = true;
      }
  if (wanted.empty()) return;
  for (NodeId id = 0; id < tree.size(); ++id) {
    if (tree.kind(id) != Kind::Identifier || s.claims.taken(id) || !wanted.contains(tree.text(id))) continue;
    if (!tree.is_reference(id)) continue;
    const Value value = s.module.value(id);
    if (value.what != What::Api) continue;
    const std::string whole = outermost(tree, id, value.name);
    const rules::Rule* rule = s.rules.api(whole);
    if (!rule || !s.applies(*rule)) continue;
    const rules::Renaming r = rules::renaming(*rule, whole);
    if (!r.to.empty() || !rules::under(r.from, value.name) || s.kept(id)) continue;
    missing(s, *rule, r, id, value.sure ? Confidence::Certain : Confidence::Likely, whole);
  }
}

}  // namespace

void apis(Sites& s) {
  const syntax::Tree& tree = s.tree();
  Imports imports(s);
  for (NodeId id = 0; id < tree.size(); ++id) {
    const Kind kind = tree.kind(id);
    if (kind == Kind::Import || kind == Kind::ImportFrom) imports.visit(id);
    if (kind == Kind::Attribute && !s.claims.taken(id)) chain(s, id);
  }
  uses(s);
}

}  // namespace updraft::migrate::rewrite
