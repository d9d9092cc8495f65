// All rules of the tool in one list, whatever they are written in: YAML, tables and passes in code.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "migrate/finding.h"
#include "migrate/rules/rule.h"

namespace updraft::migrate::run {

struct RuleInfo {
  std::string id;
  std::string framework;  ///< pytorch, tensorflow; empty: both
  Category category = Category::Change;
  Text what;
  std::vector<rules::Example> examples;
};

/// Sorted by id; several entries of one id are one.
const std::vector<RuleInfo>& registry();
/// Null where there is no such rule.
const RuleInfo* find_rule(std::string_view id);
/// Throws Error, which names the nearest ids, where no rule's id begins with one of these.
void check_selection(const std::vector<std::string>& ids);

/// Runs the examples of a file of rules. What does not come out as it says: a line each, with file and line of the
/// rule.
std::vector<std::string> failed_examples(const std::string& file);

// What the rules of a run's findings are about, in both languages: for reports that list rules.

/// By id, one for each rule of the findings of which something is known: support/data/rules.tsv, or the reason in
/// YAML, the user's included.
std::vector<RuleText> rule_texts(const std::vector<FileResult>& files, const rules::RuleSet& rules);

}  // namespace updraft::migrate::run
