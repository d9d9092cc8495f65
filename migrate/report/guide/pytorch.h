// The files that PyTorch users know from the original tools, by name and columns (docs/use/migrate-reports.md).
#pragma once
#include <string>
#include <vector>

#include "migrate/finding.h"
#include "migrate/report/language.h"
#include "migrate/report/write.h"

namespace updraft::migrate::report {

/// Of a migration: change_list.csv, unsupported_api.csv, unknown_api.csv, api_precision_advice.csv,
/// api_performance_advice.csv, affinity_api_call.csv, cuda_op_list.csv and msFmkTranspltlog.txt.
std::vector<ReportFile> pytorch_files(const ProjectResult& result, Language language = Language::en);

/// Of an analysis: full_unsupported_results.csv, framework_unsupported_op.csv, unknown_op.csv, migration_needed_op.csv,
/// cuda_op.csv, and the files of a migration that advise.
std::vector<ReportFile> analysis_files(const ProjectResult& result, Language language = Language::en);

std::string change_list(const ProjectResult& result, Language language = Language::en);
/// Findings of one category, as File,Start Line,End Line,OP,Tips.
std::string api_list(const ProjectResult& result, Category category, Language language = Language::en);
std::string affinity_api_call(const ProjectResult& result);
std::string cuda_op_list(const ProjectResult& result);

}  // namespace updraft::migrate::report
