// The files of the TensorFlow tool.
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "migrate/finding.h"
#include "migrate/report/write.h"
#include "migrate/support/tf_api.h"

namespace updraft::migrate::report {

// The text files of the TensorFlow tool (its table, api_analysis_report.xlsx, is written elsewhere).

/// The class of the API that a finding is about (support/tf_api.h); none where it is about no TensorFlow or Horovod
/// API. One that a finding calls unsupported is not under analysis.
std::optional<TfClass> support_class(const Finding& finding, std::size_t version = 0);

struct SupportCounts {
  std::size_t total = 0, supported = 0, unsupported = 0, not_involved = 0, analysing = 0;
};
/// Of every use (findings of one API at one place are one), or of every API once.
SupportCounts support_counts(const ProjectResult& result, bool once);

/// Empty where there is nothing: each line that the migration wrote, as PATH:LINE TEXT with lines of the output.
std::string success_report(const ProjectResult& result);
/// Empty where there is nothing: what could not be migrated, and APIs that the NPU does not have.
std::string failed_report(const ProjectResult& result);
/// Also what the tool prints at its end.
std::string api_brief_report(const ProjectResult& result);

std::vector<ReportFile> tensorflow_files(const ProjectResult& result);

// api_analysis_report.xlsx of the TensorFlow tool.

/// The guide's columns: number, file, line, module, API, class of support; one row a use. Bytes of a spreadsheet.
std::string api_analysis_table(const ProjectResult& result);

}  // namespace updraft::migrate::report
