// Settings that mean a GPU (support/settings.h) as Python gives them: keywords, entries of dictionaries, attributes and
// variables that are set, options of argparse.
#include <optional>
#include <string>

#include "migrate/rewrite/passes.h"
#include "migrate/rewrite/strings.h"
#include "migrate/support/settings.h"

namespace updraft::migrate::rewrite {
namespace {

class Settings {
 public:
  explicit Settings(Sites& sites) : s_(sites), tree_(sites.tree()) {}

  void visit(NodeId id) {
    switch (tree_.kind(id)) {
      case Kind::KeywordArgument: {
        const std::string_view name = tree_.text(tree_.child(id, Field::Name));
        if (name == "default" || name == "const") option(id);
        else look(name, tree_.child(id, Field::Value));
        break;
      }
      case Kind::Pair: {
        std::string key;
        if (s_.module.plain_string(tree_.child(id, Field::Key), key)) look(key, tree_.child(id, Field::Value));
        break;
      }
      case Kind::Assignment: {
        const NodeId left = tree_.child(id, Field::Left);
        const Kind kind = tree_.kind(left);
        std::string key;
        if (kind == Kind::Identifier) look(tree_.text(left), tree_.child(id, Field::Right));
        else if (kind == Kind::Attribute)
          look(tree_.text(tree_.child(left, Field::Attribute)), tree_.child(id, Field::Right));
        else if (kind == Kind::Subscript && s_.module.plain_string(tree_.child(left, Field::Subscript), key))
          look(key, tree_.child(id, Field::Right));
        break;
      }
      case Kind::Call: {  // pipe.enable_xformers_memory_efficient_attention()
        const NodeId callee = tree_.child(id, Field::Function);
        if (tree_.kind(callee) != Kind::Attribute) break;
        const NodeId method = tree_.child(callee, Field::Attribute);
        if (tree_.text(method).starts_with("enable_") && is_setting(tree_.text(method))) asked(method);
        break;
      }
      case Kind::DefaultParameter:
      case Kind::TypedDefaultParameter:
        look(tree_.text(tree_.child(id, Field::Name)), tree_.child(id, Field::Value));
        break;
      default: break;
    }
  }

 private:
  /// parser.add_argument("--attn_implementation", default="flash_attention_2")
  void option(NodeId keyword) {
    for (NodeId a : tree_.children(tree_.parent(keyword))) {
      std::string name;
      if (s_.module.plain_string(a, name) && name.starts_with("--")) {
        look(name, tree_.child(keyword, Field::Value));
        return;
      }
    }
  }

  /// A method whose call is the setting.
  void asked(NodeId method) {
    const std::string_view name = tree_.text(method);
    for (const Setting& setting : lookup_setting(name, "True")) {
      if (setting.category == Category::Change || !setting.where.empty() || s_.kept(method)) continue;
      report(setting, method, "True");
      return;
    }
  }

  Finding& report(const Setting& setting, NodeId at, std::string_view value) {
    rules::Rule rule;
    rule.id = setting.rule;
    rule.category = setting.category;
    rule.suggestion = setting.replacement;
    rule.message = sentence(setting, value);
    return s_.add(rule, at, Confidence::Likely);
  }

  void look(std::string_view name, NodeId value) {
    std::string text;
    const Kind kind = tree_.kind(value);
    if ((kind != Kind::True && kind != Kind::String) || (!name.starts_with("--") && !is_setting(name))) return;
    if (kind == Kind::True) text = "True";
    else if (kind != Kind::String || !s_.module.plain_string(value, text)) return;
    if (s_.claims.taken(value) || name.size() > 60) return;
    for (const Setting& setting : lookup_setting(plain_setting(name), text)) {
      if (!setting.where.empty() || s_.kept(value)) continue;
      // torch.backends.….allow_tf32 and its like have rules of their own
      if (of_torch(value)) return;
      Finding& f = report(setting, value, text);
      if (setting.category == Category::Change)
        for (NodeId c : tree_.children(value))
          if (tree_.kind(c) == Kind::StringContent) f.edits.push_back(s_.replace(c, std::string(setting.replacement)));
      s_.claims.take(value);
      return;
    }
  }

  bool of_torch(NodeId value) const {
    const NodeId assignment = tree_.parent(value);
    if (tree_.kind(assignment) != Kind::Assignment) return false;
    const Value v = s_.module.local(tree_.child(assignment, Field::Left));
    return v.what == What::Api && rules::under(v.name, "torch");
  }

  Sites& s_;
  const syntax::Tree& tree_;
};

}  // namespace

void settings(Sites& s) {
  if (!s.about_torch) return;
  Settings all(s);
  for (NodeId id = 0; id < s.tree().size(); ++id) all.visit(id);
}

// Environment variables by name: os.environ["CUDA_VISIBLE_DEVICES"], os.getenv, dict(os.environ, NCCL_DEBUG="INFO").

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
    if (tree.kind(id) == Kind::String && !s.claims.taken(id) && s.module.plain_string(id, name)) {
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
      s.claims.take(id);
      break;
    }
  }
}

}  // namespace updraft::migrate::rewrite
