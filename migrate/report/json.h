// The whole result for programs: JSON of our own, and SARIF.
#pragma once
#include <string>

#include "migrate/finding.h"

namespace updraft::migrate::report {

// The whole result as one JSON document (docs/use/migrate-report.schema.json). The same result gives the same bytes.

/// Grows with changes that readers of the last version would misread; new members alone do not change it.
inline constexpr int kJsonVersion = 1;

/// Each file is one line, so that a document of a large project can be read by lines, too.
std::string json(const ProjectResult& result);

// SARIF 2.1.0, as code scanning services and editors read it: results with regions, and changes as fixes.

/// Rules of which the result has no text are described by their first finding. Columns are UTF-16 code units; where the
/// source is not at hand (files without changes), regions have bytes and lines.
std::string sarif(const ProjectResult& result);

}  // namespace updraft::migrate::report
