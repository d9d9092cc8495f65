// The whole result as one JSON document (docs/use/migrate-report.schema.json). The same result gives the same bytes.
#pragma once
#include <string>

#include "migrate/finding.h"

namespace updraft::migrate::report {

/// Grows with changes that readers of the last version would misread; new members alone do not change it.
inline constexpr int kJsonVersion = 1;

/// Each file is one line, so that a document of a large project can be read by lines, too.
std::string json(const ProjectResult& result);

}  // namespace updraft::migrate::report
