// What a project uses of its framework, and what of that each product and version has.
#pragma once
#include <string>
#include <vector>

#include "migrate/finding.h"
#include "migrate/report/language.h"
#include "migrate/report/write.h"

namespace updraft::migrate::report {

/// API,Uses,Files,Products of the chosen version…,Versions of the chosen product…,Runs On,Limits,NPU Name: one row an
/// API of torch, the most used first.
std::string api_support(const ProjectResult& result, Language language = Language::en);

/// File,API Uses,Supported,Unsupported,Unknown,Changes,Readiness: and a last row with the totals.
std::string file_readiness(const ProjectResult& result);

/// The guide's files of an analysis, and these two.
std::vector<ReportFile> analysis(const ProjectResult& result, Language language = Language::en);

}  // namespace updraft::migrate::report
