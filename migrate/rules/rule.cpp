#include "migrate/rules/rule.h"

#include <algorithm>
#include <iterator>

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
    return r;
  }
  r.known = name.size() == r.from.size();
  return r;
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
        if (rule.value == Value::Literal && rule.literal == "*")
          for (const std::string& name : rule.names) words.names.push_back(last_of(name));
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

}  // namespace updraft::migrate::rules
