// What the rules of a run's findings are about, in both languages: for reports that list rules.
#pragma once
#include <vector>

#include "migrate/finding.h"
#include "migrate/rules/rule.h"

namespace updraft::migrate::run {

/// By id, one for each rule of the findings of which something is known: support/data/rules.tsv, what the TensorFlow
/// tool's rules say, or the reason in YAML, the user's included.
std::vector<RuleText> rule_texts(const std::vector<FileResult>& files, const rules::RuleSet& rules);

}  // namespace updraft::migrate::run
