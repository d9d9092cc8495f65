// The files that users know from the original tools, by name and columns (docs/use/migrate-reports.md).
#pragma once
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "migrate/finding.h"
#include "migrate/report/files.h"
#include "migrate/support/tf_api.h"
#include "migrate/support/torch_api.h"

// The files that PyTorch users know from the original tools, by name and columns (docs/use/migrate-reports.md).

namespace updraft::migrate::report {

// On which products an API works: the documented facts, and what the findings say of the product that was asked for.

/// By Product, in its order.
using Products = std::array<Support, 4>;

/// None where nothing is known of any product.
std::optional<Products> products(std::string_view api, Category category, const Request& request);

// msFmkTranspltlog.txt: the run as a log, one line for each thing that happened.

std::string log(const ProjectResult& result, Language language = Language::en);

// The files that PyTorch users know from the original tools, by name and columns (docs/use/migrate-reports.md).

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

// What a project uses of its framework, and what of that each product and version has.

/// API,Uses,Files,Products of the chosen version…,Versions of the chosen product…,Runs On,Limits,NPU Name: one row an
/// API of torch, the most used first.
std::string api_support(const ProjectResult& result, Language language = Language::en);

/// File,API Uses,Supported,Unsupported,Unknown,Changes,Readiness: and a last row with the totals.
std::string file_readiness(const ProjectResult& result);

/// The guide's files of an analysis, and these two.
std::vector<ReportFile> analysis(const ProjectResult& result, Language language = Language::en);

// The files of the TensorFlow tool.

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
