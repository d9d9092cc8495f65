// api_analysis_report.xlsx of the TensorFlow tool.
#pragma once
#include <string>

#include "migrate/finding.h"

namespace updraft::migrate::report {

/// The guide's columns: number, file, line, module, API, class of support; one row a use. Bytes of a spreadsheet.
std::string api_analysis_table(const ProjectResult& result);

}  // namespace updraft::migrate::report
