// SARIF 2.1.0, as code scanning services and editors read it: results with regions, and changes as fixes.
#pragma once
#include <span>
#include <string>

#include "migrate/finding.h"

namespace updraft::migrate::report {

/// What a rule says of itself. Rules without one are described by their first finding.
struct RuleText {
  std::string id;
  Text title, help;
};

/// Columns are UTF-16 code units; where the source is not at hand (files without changes), regions have bytes and
/// lines.
std::string sarif(const ProjectResult& result, std::span<const RuleText> rules = {});

}  // namespace updraft::migrate::report
