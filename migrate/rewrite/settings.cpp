// Settings that mean a GPU (support/settings.h) as Python gives them: keywords, entries of dictionaries, attributes and
// variables that are set, options of argparse.
#include "migrate/support/settings.h"

#include "migrate/rewrite/sites.h"

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

  void look(std::string_view name, NodeId value) {
    std::string text;
    const Kind kind = tree_.kind(value);
    if ((kind != Kind::True && kind != Kind::String) || (!name.starts_with("--") && !is_setting(name))) return;
    if (kind == Kind::True) text = "True";
    else if (kind != Kind::String || !s_.module.plain_string(value, text)) return;
    if (s_.done[value] || name.size() > 60) return;
    for (const Setting& setting : lookup_setting(plain_setting(name), text)) {
      if (!setting.where.empty() || s_.kept(value)) continue;
      // torch.backends.….allow_tf32 and its like have rules of their own
      if (of_torch(value)) return;
      rules::Rule rule;
      rule.id = setting.rule;
      rule.category = setting.category;
      rule.suggestion = setting.replacement;
      rule.message = sentence(setting, text);
      Finding& f = s_.add(rule, value, Confidence::Likely);
      if (setting.category == Category::Change)
        for (NodeId c : tree_.children(value))
          if (tree_.kind(c) == Kind::StringContent) f.edits.push_back(s_.replace(c, std::string(setting.replacement)));
      s_.done[value] = true;
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

}  // namespace updraft::migrate::rewrite
