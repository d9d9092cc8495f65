#include "migrate/rules/rule.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <iterator>
#include <string>
#include <utility>

#include "base/error.h"
#include "migrate/support/settings.h"
#include "migrate/support/torch_api.h"

namespace updraft::migrate::rules {
namespace {

std::string last_of(const std::string& name) { return name.substr(name.rfind('.') + 1); }

/// The part of a dotted name that a source must have to mean it, and that few sources have by chance: load is
/// everywhere, cpp_extension is not.
std::string telling_part(const std::string& name) {
  std::string last = last_of(name);
  for (std::string_view common : {"load", "gather", "scatter", "reduce", "broadcast", "replicate", "schedule",
                                  "profile", "comm", "is_available", "version", "is_built"})
    if (last == common && last.size() < name.size()) return last_of(name.substr(0, name.size() - last.size() - 1));
  return last;
}

}  // namespace

bool under(std::string_view name, std::string_view prefix) noexcept {
  return name.starts_with(prefix) && (name.size() == prefix.size() || name[prefix.size()] == '.');
}

Renaming renaming(const Rule& rule, std::string_view name) {
  Renaming r;
  for (const std::string& from : rule.names)
    if (under(name, from) && from.size() > r.from.size()) r.from = from;
  // .NAME exchanges the last part alone, whatever the name that it has here
  r.to = rule.to.starts_with('.') && !r.from.empty() ? r.from.substr(0, r.from.rfind('.')) + rule.to : rule.to;
  if (rule.table.empty()) return r;
  for (std::string_view part = name; part.size() > r.from.size(); part = part.substr(0, part.rfind('.'))) {
    const CudaTwin twin = cuda_twin(part);
    if (!twin.known) continue;
    r.from = part;
    r.to = twin.npu;
    r.note = {std::string(twin.note.en), std::string(twin.note.zh)};
    r.to_class = twin.is_class;
    return r;
  }
  r.known = name.size() == r.from.size();
  return r;
}

namespace {

std::unordered_map<std::string_view, Rule> coded_rules() {
  std::unordered_map<std::string_view, Rule> all;
  static const support::Table table = support::Table::of("rules.tsv");
  for (support::Row row = table.first(); row; row = row.next()) {
    Rule r;
    r.id = row.key();
    r.framework = r.id.starts_with("PT") ? "pytorch" : r.id.starts_with("TF") ? "tensorflow" : "";
    r.category = category_of(row.cell(3));
    if (!row.cell(4).empty()) r.confidence = confidence_of(row.cell(4));
    r.suggestion = row.cell(5);
    Bilingual said{row.cell(1), row.cell(2)};
    // a sentence with parts is for the pass to fill in
    if (support::has_message(r.id))
      if (const Bilingual own = support::message(r.id); own.en.find("{0}") == std::string_view::npos) said = own;
    r.message = {std::string(said.en), std::string(said.zh)};
    r.source = "support/data/rules.tsv";
    all.emplace(row.key(), std::move(r));
  }
  return all;
}

}  // namespace

const Rule& coded(std::string_view id) {
  static const std::unordered_map<std::string_view, Rule> all = coded_rules();
  const auto found = all.find(id);
  if (found == all.end()) throw Error(code::kAclInternal, "{} is no rule of support/data/rules.tsv", id);
  return found->second;
}

void RuleSet::add(std::vector<Rule> rules) {
  rules.insert(rules.end(), std::make_move_iterator(rules_.begin()), std::make_move_iterator(rules_.end()));
  rules_ = std::move(rules);
  index();
}

void RuleSet::index() {
  for (Index* i : {&apis_, &members_, &arguments_, &keywords_, &environment_, &imports_, &strings_, &commands_})
    i->clear();
  names_.clear();
  beginnings_.clear();
  for (const Rule& rule : rules_) {
    if (rule.match == Match::String) strings_[rule.context].push_back(&rule);
    for (const std::string& name : rule.names) {
      switch (rule.match) {
        case Match::Api:
          if (Found& found = apis_[last_of(name)]; found.empty() || found.back() != &rule) found.push_back(&rule);
          names_.emplace(name, &rule);
          break;
        case Match::Member: members_[name].push_back(&rule); break;
        case Match::Argument:
          if (Found& found = arguments_[last_of(name)]; found.empty() || found.back() != &rule) found.push_back(&rule);
          break;
        case Match::Keyword: keywords_[name].push_back(&rule); break;
        case Match::Environment:
          if (name.ends_with('*') && !environment_.contains(name)) beginnings_.push_back(name);
          environment_[name].push_back(&rule);
          break;
        case Match::Import: imports_[name].push_back(&rule); break;
        case Match::Command: commands_[name].push_back(&rule); break;
        case Match::String: break;
      }
    }
  }
}

const RuleSet::Found& RuleSet::find(const Index& index, std::string_view key) noexcept {
  static const Found none;
  const auto found = index.find(std::string(key));
  return found == index.end() ? none : found->second;
}

const RuleSet::Found& RuleSet::environment(std::string_view name) const noexcept {
  const Found& exact = find(environment_, name);
  if (!exact.empty()) return exact;
  for (const std::string& beginning : beginnings_) {
    const std::string_view stem = std::string_view(beginning).substr(0, beginning.size() - 1);
    if (name.starts_with(stem) && name.size() > stem.size()) return find(environment_, beginning);
  }
  return exact;
}

const Rule* RuleSet::string(Value value, std::string_view context) const noexcept {
  for (const Rule* rule : find(strings_, context))
    if (rule->value == value) return rule;
  return nullptr;
}

const Rule* RuleSet::api(std::string_view name) const noexcept {
  for (std::string_view part = name; !part.empty();) {
    if (const auto found = names_.find(std::string(part)); found != names_.end()) {
      const Rule& rule = *found->second;
      const bool left_out =
          std::any_of(rule.except.begin(), rule.except.end(), [&](const std::string& e) { return under(name, e); });
      if (!left_out && (!rule.exact || part.size() == name.size())) return &rule;
    }
    const std::size_t dot = part.rfind('.');
    part = dot == std::string_view::npos ? std::string_view{} : part.substr(0, dot);
  }
  return nullptr;
}

Triggers RuleSet::triggers(std::string_view framework) const {
  Triggers words;
  // every use of an API is reported, and the entry file may import TensorFlow by way of others
  if (framework == "tensorflow") words.anywhere.emplace_back("import");
  for (const Rule& rule : rules_) {
    if (!rule.framework.empty() && rule.framework != framework) continue;
    switch (rule.match) {
      case Match::Api:
        for (const std::string& name : rule.names)
          // re.compile is everywhere: whole, by its usual name
          if (last_of(name) == "compile") words.anywhere.push_back(name);
          else words.names.push_back(telling_part(name));
        break;
      case Match::Command: words.names.insert(words.names.end(), rule.names.begin(), rule.names.end()); break;
      case Match::Member:
      case Match::Import:
        for (const std::string& name : rule.names) words.names.push_back(last_of(name));
        break;
      case Match::Environment:
        for (const std::string& name : rule.names) words.anywhere.push_back(name.substr(0, name.find('*')));
        break;
      case Match::Argument:
      case Match::Keyword:
      case Match::String:
        if (rule.value == Value::Device) words.anywhere.emplace_back("cuda");
        if (rule.value == Value::Backend) words.anywhere.emplace_back("nccl");
        if (rule.value == Value::Literal && rule.literal != "*") words.anywhere.push_back(rule.literal);
        // num_gpus is rarer than what takes it: .options
        if (rule.category != Category::Change) {
          // what is said of calls without the parameter is looked for where something else is to be found
          if (rule.absent.empty()) words.names.push_back(rule.parameter);
        } else if (!rule.absent.empty() || (rule.value == Value::Literal && rule.literal == "*")) {
          for (const std::string& name : rule.names) words.names.push_back(last_of(name));
        }
        break;
    }
  }
  return words;
}
namespace {

bool any(const std::vector<std::string>& list, std::string_view id) noexcept {
  return std::any_of(list.begin(), list.end(), [&](const std::string& item) { return id.starts_with(item); });
}

/// Whether a line says keep[…] with the rule among what stands in the brackets.
bool kept(std::string_view lines, std::string_view id) {
  for (std::size_t at = 0; (at = lines.find("updraft: keep[", at)) != std::string_view::npos;) {
    at += 14;
    std::string_view list = lines.substr(at, lines.find(']', at) - at);
    while (!list.empty()) {
      const std::size_t comma = list.find(',');
      std::string_view item = list.substr(0, comma);
      while (item.starts_with(' ')) item.remove_prefix(1);
      while (item.ends_with(' ')) item.remove_suffix(1);
      if (!item.empty() && id.starts_with(item)) return true;
      if (comma == std::string_view::npos) break;
      list.remove_prefix(comma + 1);
    }
  }
  return false;
}

}  // namespace

bool Selection::has(std::string_view id) const noexcept {
  return (select.empty() || any(select, id)) && !any(ignore, id);
}

void select(std::vector<Finding>& findings, std::string_view text, const Selection& selection) {
  const bool comments = text.find("updraft: keep[") != std::string_view::npos;
  if (selection.empty() && !comments) return;
  std::erase_if(findings, [&](const Finding& f) {
    if (f.category == Category::Failure) return false;
    if (!selection.has(f.rule)) return true;
    if (!comments || f.end > text.size()) return false;
    const std::size_t start = f.begin == 0 ? 0 : text.rfind('\n', f.begin - 1) + 1;  // npos + 1 is 0
    const std::size_t stop = std::min(text.find('\n', f.end), text.size());
    return kept(text.substr(start, stop - start), f.rule);
  });
}

namespace {

class Reader {
 public:
  explicit Reader(std::string source) : source_(std::move(source)) {}

  std::vector<Rule> read(const YAML::Node& root) {
    if (!root.IsMap()) fail(root, "a mapping with the key rules is wanted");
    if (root["rules"] && root["rules"].IsMap()) return original(root["rules"]);
    only(root, {"schema", "framework", "rules"});
    if (const auto schema = root["schema"]; schema && schema.as<std::string>() != "1")
      fail(schema, "schema 1 is the only one, not " + schema.as<std::string>());
    const std::string framework = root["framework"] ? text(root["framework"], "framework") : "";
    if (!framework.empty() && framework != "pytorch" && framework != "tensorflow")
      fail(root["framework"], "framework is pytorch or tensorflow, not " + framework);
    if (!root["rules"] || !root["rules"].IsSequence()) fail(root, "rules: a list is wanted");
    std::vector<Rule> rules;
    for (const auto& node : root["rules"]) {
      Rule rule = one(node, framework);
      if (rule.match == Match::Environment && !rule.table.empty()) of_variables(rule, rules);
      else rules.push_back(std::move(rule));
    }
    return rules;
  }

 private:
  [[noreturn]] void fail(const YAML::Node& node, const std::string& what) const {
    const auto mark = node.Mark();
    throw Error(code::kAclInvalidParam, "{}{}: {}", source_, mark.is_null() ? "" : fmt::format(":{}", mark.line + 1),
                what);
  }

  void only(const YAML::Node& node, std::initializer_list<std::string_view> keys) const {
    for (const auto& entry : node) {
      const auto key = entry.first.as<std::string>();
      if (std::find(keys.begin(), keys.end(), key) == keys.end()) {
        std::string list;
        for (auto k : keys) list += (list.empty() ? "" : ", ") + std::string(k);
        fail(entry.first, "no key " + key + " is known here; known: " + list);
      }
    }
  }

  std::string text(const YAML::Node& node, const char* what) const {
    if (!node || !node.IsScalar()) fail(node, std::string(what) + ": a text is wanted");
    return node.Scalar();
  }

  std::vector<std::string> list(const YAML::Node& node, const char* what) const {
    std::vector<std::string> result;
    if (!node) return result;
    if (node.IsScalar()) {
      result.push_back(node.Scalar());
    } else if (node.IsSequence()) {
      for (const auto& n : node) result.push_back(text(n, what));
    } else {
      fail(node, std::string(what) + ": a text or a list of texts is wanted");
    }
    for (const std::string& s : result)
      if (s.empty()) fail(node, std::string(what) + " is empty");
    return result;
  }

  template <class E, std::size_t N>
  E choice(const YAML::Node& node, const char* what, const std::array<const char*, N>& names) const {
    const std::string value = text(node, what);
    std::string known;
    for (std::size_t i = 0; i < N; ++i) {
      if (value == names[i]) return static_cast<E>(i);
      known += (i ? ", " : "") + std::string(names[i]);
    }
    fail(node, std::string(what) + ": one of " + known + " is wanted, not " + value);
  }

  Rule one(const YAML::Node& node, const std::string& framework) const {
    if (!node.IsMap()) fail(node, "a rule is a mapping");
    only(node, {"id",      "match",     "name",       "except",   "to",         "table",    "exact",
                "call",    "arguments", "parameter",  "position", "value",      "literal",  "absent",
                "context", "category",  "confidence", "reason",   "suggestion", "examples", "unless"});
    Rule rule;
    rule.framework = framework;
    rule.source = fmt::format("{}:{}", source_, node.Mark().line + 1);
    rule.id = text(node["id"], "id");
    rule.match =
        choice<Match>(node["match"], "match",
                      std::array{"api", "member", "argument", "keyword", "environment", "import", "string", "command"});
    rule.names = list(node["name"], "name");
    rule.except = list(node["except"], "except");
    rule.unless = list(node["unless"], "unless");
    if (node["to"]) rule.to = text(node["to"], "to");
    if (node["table"]) rule.table = text(node["table"], "table");
    if (node["exact"]) rule.exact = text(node["exact"], "exact") == "true";
    if (node["call"]) rule.call = choice<Call>(node["call"], "call", std::array{"any", "only", "never"});
    if (node["parameter"]) rule.parameter = text(node["parameter"], "parameter");
    if (node["position"]) try {
        rule.position = node["position"].as<int>();
      } catch (const YAML::Exception&) { fail(node["position"], "position: a number from 0 is wanted"); }
    if (node["arguments"]) try {
        rule.arguments = node["arguments"].as<int>();
      } catch (const YAML::Exception&) { fail(node["arguments"], "arguments: a number from 0 is wanted"); }
    if (node["value"])
      rule.value = choice<Value>(node["value"], "value", std::array{"none", "device", "backend", "literal"});
    if (node["literal"]) rule.literal = text(node["literal"], "literal");
    if (node["absent"]) rule.absent = text(node["absent"], "absent");
    if (node["context"]) rule.context = text(node["context"], "context");
    try {
      if (node["category"]) rule.category = category_of(text(node["category"], "category"));
      if (node["confidence"]) rule.confidence = confidence_of(text(node["confidence"], "confidence"));
    } catch (const Error& error) { fail(node, error.text()); }
    if (const auto reason = node["reason"]; reason && reason.IsScalar()) {
      rule.message = {reason.Scalar(), reason.Scalar()};
    } else if (reason && reason.IsMap()) {
      only(reason, {"en", "zh"});
      rule.message.en = reason["en"] ? text(reason["en"], "reason.en") : "";
      rule.message.zh = reason["zh"] ? text(reason["zh"], "reason.zh") : rule.message.en;
    } else {
      fail(node, "reason: a text, or en and zh, is wanted");
    }
    if (node["suggestion"]) rule.suggestion = text(node["suggestion"], "suggestion");
    for (const auto& example : node["examples"]) {
      only(example, {"before", "after", "keep", "finds"});
      Example e;
      e.before = text(example["keep"] ? example["keep"] : example["before"], "examples: before or keep");
      e.after = example["after"] ? text(example["after"], "examples: after") : e.before;
      if (example["finds"]) e.finds = text(example["finds"], "examples: finds");
      rule.examples.push_back(std::move(e));
    }
    check(node, rule);
    return rule;
  }

  /// One rule for each row of support/data/variables.tsv: those with a replacement for a rule that changes, the rest
  /// for one that reports. The first has the examples.
  static void of_variables(const Rule& rule, std::vector<Rule>& rules) {
    const bool changes = rule.category == Category::Change;
    std::vector<Example> examples = rule.examples;
    for (const Variable& row : known_variables()) {
      if (row.replacement.empty() == changes) continue;
      Rule one = rule;
      one.names = {std::string(row.name)};
      one.to = row.replacement;
      if (changes) one.confidence = row.confidence;
      const std::string_view shown = row.name.substr(0, row.name.find('*'));
      one.message = sentence(row, shown);
      one.examples = std::exchange(examples, {});
      rules.push_back(std::move(one));
    }
  }

  void check(const YAML::Node& node, const Rule& rule) const {
    if (!rule.table.empty() &&
        (rule.table == "torch_cuda" ? rule.match != Match::Api
                                    : rule.table != "variables" || rule.match != Match::Environment))
      fail(node, "the tables are torch_cuda, for match: api, and variables, for match: environment");
    if (rule.table == "variables") return;
    if (rule.match != Match::String && rule.names.empty()) fail(node, "name is missing");
    if (rule.match == Match::String &&
        (rule.context.empty() || (rule.value != Value::Device && rule.value != Value::Backend)))
      fail(node, "a rule on strings needs a context, and value: device or backend");
    if (rule.match == Match::Argument && rule.parameter.empty())
      fail(node, "a rule on arguments needs the parameter's name");
    if (rule.arguments >= 0 && rule.match != Match::Api) fail(node, "arguments is for rules on APIs");
    if (rule.match == Match::Command && !rule.to.empty()) fail(node, "a rule on commands only reports: it has no to");
    if (!rule.absent.empty() && rule.match != Match::Argument) fail(node, "absent is for rules on arguments");
    if ((rule.match == Match::Argument || rule.match == Match::Keyword) && rule.value == Value::None)
      fail(node, "value is missing: device, backend or literal");
    if (rule.value == Value::Literal &&
        (rule.literal.empty() || (rule.to.empty() && rule.category == Category::Change)))
      fail(node, "value: literal needs literal and to");
    const bool writes = rule.match == Match::Api || rule.match == Match::Member || rule.match == Match::Environment ||
                        rule.match == Match::Command;
    if (writes && rule.category == Category::Change && rule.to.empty() && rule.table.empty())
      fail(node, "a rule that changes needs to; one that reports needs another category");
    if (rule.category != Category::Change && !rule.to.empty()) fail(node, "a rule with to has the category change");
  }

  /// rules.json of the original tool: ArgsModifyRule, FuncNameModifyRule, ModuleNameModifyRule.
  std::vector<Rule> original(const YAML::Node& node) const {
    only(node, {"ArgsModifyRule", "FuncNameModifyRule", "ModuleNameModifyRule"});
    std::vector<Rule> rules;
    const auto start = [&](const YAML::Node& n, const char* kind) {
      Rule rule;
      rule.id = fmt::format("USER-{}-{}", kind, rules.size() + 1);
      rule.source = fmt::format("{}:{}", source_, n.Mark().line + 1);
      rule.message = told("rule.user");
      return rule;
    };
    for (const auto& n : node["FuncNameModifyRule"]) {
      only(n, {"old_name", "new_name"});
      Rule rule = start(n, "FUNC");
      rule.names = {text(n["old_name"], "old_name")};
      rule.to = text(n["new_name"], "new_name");
      rules.push_back(std::move(rule));
    }
    for (const auto& n : node["ModuleNameModifyRule"]) {
      only(n, {"old_name", "new_name", "parent_module"});
      Rule rule = start(n, "MODULE");
      const std::string parent = n["parent_module"] ? text(n["parent_module"], "parent_module") + "." : "";
      rule.names = {parent + text(n["old_name"], "old_name")};
      rule.to = parent + text(n["new_name"], "new_name");
      rules.push_back(std::move(rule));
    }
    for (const auto& n : node["ArgsModifyRule"]) {
      only(n, {"func_name", "arg_idx", "arg_new"});
      Rule rule = start(n, "ARG");
      rule.match = Match::Argument;
      rule.names = {text(n["func_name"], "func_name")};
      try {
        rule.position = n["arg_idx"].as<int>();
      } catch (const YAML::Exception&) { fail(n, "arg_idx: a number from 0 is wanted"); }
      rule.parameter = "?";
      rule.value = Value::Literal;
      rule.literal = "*";  // whatever stands there
      rule.to = text(n["arg_new"], "arg_new");
      rules.push_back(std::move(rule));
    }
    return rules;
  }

  std::string source_;
};

}  // namespace

std::vector<Rule> load(std::string_view text, const std::string& source) {
  try {
    return Reader(source).read(YAML::Load(std::string(text)));
  } catch (const YAML::Exception& error) {
    throw Error(code::kAclInvalidParam, "{}:{}: this is no YAML: {}", source, error.mark.line + 1, error.msg);
  }
}

void add_builtin(RuleSet& rules, std::string_view framework) {
  std::vector<Rule> all;
  for (std::string_view name : embedded_names()) {
    if (!name.starts_with(framework) || !name.ends_with(".yaml")) continue;
    std::vector<Rule> some = load(embedded(name), std::string(name));
    all.insert(all.end(), std::make_move_iterator(some.begin()), std::make_move_iterator(some.end()));
  }
  rules.add(std::move(all));
}

}  // namespace updraft::migrate::rules
