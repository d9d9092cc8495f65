// Environment variables by name: os.environ["CUDA_VISIBLE_DEVICES"], os.getenv, dict(os.environ, NCCL_DEBUG="INFO").
#include <optional>
#include <string>

#include "migrate/rewrite/sites.h"
#include "migrate/rewrite/strings.h"
#include "migrate/support/variables.h"

namespace updraft::migrate::rewrite {
namespace {

bool of_environ(const Sites& s, NodeId literal) {
  const syntax::Tree& tree = s.tree();
  NodeId up = tree.parent(literal);
  if (tree.kind(up) == Kind::Subscript) return s.module.value(tree.child(up, Field::Value)).is_api("os.environ");
  if (tree.kind(up) != Kind::ArgumentList) return false;
  const Value callee = s.module.value(tree.child(tree.parent(up), Field::Function));
  return callee.what == What::Api && (callee.name == "os.getenv" || callee.name == "os.putenv" ||
                                      callee.name == "os.unsetenv" || callee.name.starts_with("os.environ."));
}

/// What a variable is set to where that is written out: os.environ["NAME"] = "0", setdefault("NAME", "0"), NAME="0".
std::string value_of(const Sites& s, NodeId name) {
  const syntax::Tree& tree = s.tree();
  NodeId value = kNone;
  const NodeId up = tree.parent(name);
  if (tree.kind(name) == Kind::KeywordArgument) {
    value = tree.child(name, Field::Value);
  } else if (tree.kind(up) == Kind::Subscript && tree.kind(tree.parent(up)) == Kind::Assignment) {
    value = tree.child(tree.parent(up), Field::Right);
  } else if (tree.kind(up) == Kind::Pair) {
    value = tree.child(up, Field::Value);
  } else if (tree.kind(up) == Kind::ArgumentList) {
    bool next = false;
    for (NodeId c : tree.children(up)) {
      if (next) {
        value = c;
        break;
      }
      next = c == name;
    }
  }
  std::string text;
  return value != kNone && value != name && tree.kind(value) == Kind::String && s.module.plain_string(value, text)
             ? text
             : std::string();
}

}  // namespace

void environment(Sites& s) {
  const syntax::Tree& tree = s.tree();
  for (NodeId id = 0; id < tree.size(); ++id) {
    std::string name;
    NodeId target = kNone;
    if (tree.kind(id) == Kind::String && !s.done[id] && s.module.plain_string(id, name)) {
      for (NodeId c : tree.children(id))
        if (tree.kind(c) == Kind::StringContent) target = c;
    } else if (tree.kind(id) == Kind::KeywordArgument) {
      target = tree.child(id, Field::Name);
      name = tree.text(target);
    }
    if (target == kNone) continue;
    for (const rules::Rule* rule : s.rules.environment(name)) {
      if (!s.applies(*rule) || is_docstring(tree, id) || s.kept(id)) continue;
      const Confidence confidence = !rule->to.empty() && npu_has_its_own(tree, id) ? Confidence::Review
                                    : of_environ(s, id)                            ? Confidence::Certain
                                                                                   : Confidence::Likely;
      const std::optional<Variable> row = rule->table.empty() ? std::nullopt : lookup_variable(name);
      const bool fits = !row || row->replacement.empty() || value_fits(*row, value_of(s, id));
      Finding& f = s.add(*rule, id, fits ? confidence : Confidence::Review, name);
      if (row) f.message = {sentence(*row, name, Language::en), sentence(*row, name, Language::zh)};
      if (!fits) {
        f.message.en += "; its values are not those of " + name;
        f.message.zh += "；其取值与 " + name + " 不同";
      }
      if (!rule->to.empty()) f.edits.push_back(s.replace(target, rule->to));
      s.done[id] = true;
      break;
    }
  }
}

}  // namespace updraft::migrate::rewrite
