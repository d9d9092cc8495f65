// Settings that mean a GPU (support/settings.h) as Python gives them: keywords, entries of dictionaries, attributes and
// variables that are set, options of argparse.
#include <array>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "migrate/rewrite/passes.h"
#include "migrate/rewrite/strings.h"
#include "migrate/source/words.h"
#include "migrate/support/settings.h"
#include "migrate/text/config/config.h"
#include "migrate/text/sheet.h"

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
  /// parser.add_argument("--attn_implementation", default="flash_attention_2"), and a field of a dataclass:
  /// attn_implementation: str = field(default="flash_attention_2")
  void option(NodeId keyword) {
    const NodeId call = tree_.parent(tree_.parent(keyword)), assignment = tree_.parent(call);
    if (tree_.kind(call) == Kind::Call && tree_.kind(assignment) == Kind::Assignment) {
      const NodeId left = tree_.child(assignment, Field::Left), callee = tree_.child(call, Field::Function);
      const std::string_view called =
          tree_.text(tree_.kind(callee) == Kind::Attribute ? tree_.child(callee, Field::Attribute) : callee);
      if (tree_.kind(left) == Kind::Identifier && (called == "field" || called == "Field"))
        return look(tree_.text(left), tree_.child(keyword, Field::Value));
    }
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
      if (!stands(setting.where, value) || s_.kept(value)) continue;
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

  /// Whether a setting of the table means this place: a dictionary may be a configuration of DeepSpeed's.
  bool stands(std::string_view where, NodeId value) const {
    if (where.empty()) return true;
    if (!where.starts_with("deepspeed:") || tree_.kind(tree_.parent(value)) != Kind::Pair ||
        (!source::says(tree_.text(), "train_micro_batch_size_per_gpu") &&
         !source::says(tree_.text(), "zero_optimization")))
      return false;
    const NodeId outer = tree_.parent(tree_.parent(tree_.parent(value)));
    std::string key;
    return tree_.kind(outer) == Kind::Pair && s_.module.plain_string(tree_.child(outer, Field::Key), key) &&
           key == where.substr(10);
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

// Configurations that a string holds: yaml.safe_load("""device: cuda""").

/// Functions that read a configuration, and in which form.
text::ConfigForm form_read_by(std::string_view api) noexcept {
  struct Reader {
    std::string_view api;
    text::ConfigForm form;
  };
  using enum text::ConfigForm;
  static constexpr auto known = std::to_array<Reader>({{"yaml.safe_load", Yaml},
                                                       {"yaml.load", Yaml},
                                                       {"yaml.full_load", Yaml},
                                                       {"yaml.unsafe_load", Yaml},
                                                       {"yaml.load_all", Yaml},
                                                       {"json.loads", Json},
                                                       {"yaml.safe_load_all", Yaml},
                                                       {"orjson.loads", Json},
                                                       {"ujson.loads", Json},
                                                       {"tomllib.loads", Toml},
                                                       {"tomli.loads", Toml},
                                                       {"tomlkit.parse", Toml},
                                                       {"toml.loads", Toml},
                                                       {"tomlkit.loads", Toml},
                                                       {"omegaconf.OmegaConf.create", Yaml},
                                                       {"rtoml.loads", Toml}});
  for (const Reader& r : known)
    if (r.api == api) return r.form;
  return None;
}

class HeldConfigurations {
 public:
  explicit HeldConfigurations(Sites& sites) : s_(sites), tree_(sites.tree()) {}

  void call(NodeId call) {
    const Value callee = s_.module.local(tree_.child(call, Field::Function));
    const text::ConfigForm form = callee.what == What::Api ? form_read_by(callee.name) : text::ConfigForm::None;
    if (form == text::ConfigForm::None) return;
    std::vector<NodeId> found;
    s_.module.sources(given(tree_.child(tree_.child(call, Field::Arguments), std::size_t{0})), found);
    for (const NodeId id : found)
      if (tree_.kind(id) == Kind::String && !s_.claims.taken(id) && !s_.kept(id) && read_.insert(id).second)
        read(id, form);
  }

 private:
  /// textwrap.dedent("…"), "…".strip(): the string within.
  NodeId given(NodeId argument) const {
    for (int depth = 0; depth < 3 && tree_.kind(argument) == Kind::Call; ++depth) {
      const NodeId callee = tree_.child(argument, Field::Function);
      const std::string_view method = tree_.kind(callee) == Kind::Attribute
                                          ? tree_.text(tree_.child(callee, Field::Attribute))
                                          : std::string_view();
      if (s_.module.local(callee).is_api("textwrap.dedent") || s_.module.local(callee).is_api("inspect.cleandoc"))
        argument = tree_.child(tree_.child(argument, Field::Arguments), std::size_t{0});
      else if (method == "strip" || method == "lstrip" || method == "encode" || method == "format")
        argument = tree_.child(callee, Field::Object);
      else break;
    }
    return argument;
  }

  /// The bytes of a part of a string, escapes followed; false where one is not known here.
  static bool content(std::string_view text, std::uint32_t begin, bool raw, bool formatted, text::Embedded& embedded) {
    std::size_t from = 0;
    const auto flush = [&](std::size_t to) {
      if (from < to) embedded.same(text.substr(from, to - from), begin + from);
    };
    for (std::size_t at = 0; at + 1 < text.size();) {
      const char c = text[at], next = text[at + 1];
      const bool brace = formatted && (c == '{' || c == '}') && next == c;
      if (!brace && (raw || c != '\\')) {
        ++at;
        continue;
      }
      flush(at);
      if (brace || next == '\\' || next == '"' || next == '\'') embedded.unit({&next, 1}, begin + at, begin + at + 2);
      else if (next == 'n') embedded.unit("\n", begin + at, begin + at + 2);
      else if (next == 't') embedded.unit("\t", begin + at, begin + at + 2);
      else if (next != '\n') return false;
      from = at += 2;
    }
    flush(text.size());
    return true;
  }

  void read(NodeId string, text::ConfigForm form) {
    const std::string_view all = tree_.text();
    const std::string_view prefix =
        all.substr(tree_[string].begin, all.find_first_of("\"'", tree_[string].begin) - tree_[string].begin);
    const bool raw = prefix.find_first_of("rR") != std::string_view::npos,
               formatted = prefix.find_first_of("fF") != std::string_view::npos;
    text::Embedded embedded;
    for (const NodeId c : tree_.children(string)) {
      if (tree_.kind(c) == Kind::Interpolation) embedded.filler("0");
      if (tree_.kind(c) == Kind::StringContent && !content(tree_.text(c), tree_[c].begin, raw, formatted, embedded))
        return;
    }
    embedded.encode_by([](std::string_view t, std::uint32_t, std::uint32_t) -> std::optional<std::string> {
      if (t.find_first_of("\"'\\\n{}%") != std::string_view::npos) return std::nullopt;
      return std::string(t);
    });
    text::Sheet sheet(all);
    const Confidence most = npu_has_its_own(tree_, string) ? Confidence::Review : Confidence::Likely;
    sheet.adopt(text::config(form, embedded.text(), {}, 1, most), embedded);
    std::vector<Finding> found = sheet.take();
    // what is said about devices and settings alone: commands and packages in there have readers of their own
    std::erase_if(found, [](const Finding& f) {
      return f.category == Category::Failure ||
             !(f.rule.starts_with("TX20") || f.rule.starts_with("TX21") || f.rule.starts_with("TX22"));
    });
    if (found.empty()) return;
    s_.claims.take(string);
    std::move(found.begin(), found.end(), std::back_inserter(s_.findings));
  }

  Sites& s_;
  const syntax::Tree& tree_;
  std::set<NodeId> read_;
};

}  // namespace

void settings(Sites& s) {
  if (!s.about_torch) return;
  Settings all(s);
  for (NodeId id = 0; id < s.tree().size(); ++id) all.visit(id);
  const std::string_view text = s.tree().text();
  if (!source::says(text, "load") && !source::says(text, "OmegaConf") && !source::says(text, "tomlkit")) return;
  HeldConfigurations held(s);
  for (NodeId id = 0; id < s.tree().size(); ++id)
    if (s.tree().kind(id) == Kind::Call) held.call(id);
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
      if (row) f.message = sentence(*row, name);
      if (!fits) f.message += rules::told("variable.values", {name});
      if (!rule->to.empty()) f.edits.push_back(s.replace(target, rule->to));
      s.claims.take(id);
      break;
    }
  }
}

}  // namespace updraft::migrate::rewrite
