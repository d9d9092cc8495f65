#include "migrate/run/rule_texts.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "migrate/rewrite/tensorflow/script.h"
#include "migrate/support/table.h"

namespace updraft::migrate::run {
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
    else if (const Text* of_tool = reason(rewrite::tensorflow::code_rules(), id))
      texts.push_back({std::string(id), *of_tool});
    else if (const Text* of_yaml = reason(rules.all(), id)) texts.push_back({std::string(id), *of_yaml});
  }
  return texts;
}

}  // namespace updraft::migrate::run
