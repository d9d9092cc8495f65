// SARIF 2.1.0, as code scanning services and editors read it: results with regions, and changes as fixes.
#pragma once
#include <string>

#include "migrate/finding.h"

namespace updraft::migrate::report {

/// Rules of which the result has no text are described by their first finding. Columns are UTF-16 code units; where the
/// source is not at hand (files without changes), regions have bytes and lines.
std::string sarif(const ProjectResult& result);

}  // namespace updraft::migrate::report
