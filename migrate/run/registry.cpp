#include "migrate/run/registry.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "migrate/rules/rule.h"
#include "migrate/run/pipeline.h"
#include "migrate/run/walk.h"
#include "migrate/support/table.h"

namespace updraft::migrate::run {
namespace {

std::string framework_of_id(std::string_view id) {
  return id.starts_with("PT") ? "pytorch" : id.starts_with("TF") ? "tensorflow" : "";
}

std::vector<RuleInfo> make() {
  std::map<std::string, RuleInfo> all;
  const auto table = support::Table::of("rules.tsv");
  for (support::Row row = table.first(); row; row = row.next()) {
    RuleInfo& info = all[std::string(row.key())];
    info.what = {std::string(row.cell(1)), std::string(row.cell(2))};
    info.category = category_of(row.cell(3));
  }
  const auto add = [&](const rules::Rule& rule) {
    const auto [at, fresh] = all.try_emplace(rule.id);
    RuleInfo& info = at->second;
    if (fresh) {
      info.what = rule.message;
      info.category = rule.category;
    }
    info.examples.insert(info.examples.end(), rule.examples.begin(), rule.examples.end());
  };
  for (const char* framework : {"pytorch", "tensorflow"}) {
    rules::RuleSet set;
    rules::add_builtin(set, framework);
    for (const rules::Rule& rule : set.all()) add(rule);
  }
  std::vector<RuleInfo> list;
  list.reserve(all.size());
  for (auto& [id, info] : all) {
    info.id = id;
    info.framework = framework_of_id(id);
    list.push_back(std::move(info));
  }
  return list;
}

}  // namespace

const std::vector<RuleInfo>& registry() {
  static const std::vector<RuleInfo> all = make();
  return all;
}

const RuleInfo* find_rule(std::string_view id) {
  const auto& all = registry();
  const auto at =
      std::lower_bound(all.begin(), all.end(), id, [](const RuleInfo& r, std::string_view i) { return r.id < i; });
  return at != all.end() && at->id == id ? &*at : nullptr;
}

void check_selection(const std::vector<std::string>& ids) {
  for (const std::string& id : ids) {
    const auto& all = registry();
    if (std::any_of(all.begin(), all.end(), [&](const RuleInfo& r) { return r.id.starts_with(id); })) continue;
    if (id.starts_with("USER")) continue;
    std::string near;
    for (const RuleInfo& r : all)
      if (r.id.substr(0, 3) == id.substr(0, 3) && near.size() < 80) near += (near.empty() ? "" : ", ") + r.id;
    throw Error(code::kAclInvalidParam, "no rule's id begins with {}{}; updraft migrate --list-rules shows all", id,
                near.empty() ? "" : ": there are " + near + " …");
  }
}

std::vector<std::string> failed_examples(const std::string& file) {
  std::vector<std::string> failed;
  for (const rules::Rule& rule : rules::load(read_file(file), file)) {
    if (rule.examples.empty()) failed.push_back(fmt::format("{}: {} has no examples", rule.source, rule.id));
    std::size_t n = 0;
    for (const rules::Example& example : rule.examples) {
      ++n;
      Options options;
      options.rules = {file};
      options.framework = rule.framework.empty() ? "pytorch" : rule.framework;
      const FileResult result = migrate_text("example.py", example.before, options);
      const std::string& got = result.changed ? result.after : example.before;
      if (got != example.after)
        failed.push_back(
            fmt::format("{}: {}: example {} gives\n{}\nand not\n{}", rule.source, rule.id, n, got, example.after));
      const std::string wanted = !example.finds.empty()            ? example.finds
                                 : example.before != example.after ? rule.id
                                                                   : "";
      if (!wanted.empty() && std::none_of(result.findings.begin(), result.findings.end(),
                                          [&](const Finding& f) { return f.rule == wanted; }))
        failed.push_back(fmt::format("{}: {}: example {}: {} finds nothing", rule.source, rule.id, n, wanted));
    }
  }
  return failed;
}

namespace {

const Text* reason(const std::vector<rules::Rule>& rules, std::string_view id) {
  const auto found = std::find_if(rules.begin(), rules.end(), [&](const rules::Rule& r) { return r.id == id; });
  return found == rules.end() || found->message.empty() ? nullptr : &found->message;
}

}  // namespace

std::vector<RuleText> rule_texts(const std::vector<FileResult>& files, const rules::RuleSet& rules) {
  std::set<std::string_view> ids;
  for (const FileResult& file : files)
    for (const Finding& finding : file.findings) ids.insert(finding.rule);
  const auto table = support::Table::of("rules.tsv");
  std::vector<RuleText> texts;
  for (const std::string_view id : ids) {
    if (const support::Row row = table.find(id))
      texts.push_back({std::string(id), {std::string(row.cell(1)), std::string(row.cell(2))}});
    else if (const Text* of_yaml = reason(rules.all(), id)) texts.push_back({std::string(id), *of_yaml});
  }
  return texts;
}

}  // namespace updraft::migrate::run
