// From raw records to files: what `msprof --export` and `--analyze` do with a folder PROF_*.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace updraft::profiling {

struct ExportOptions {
  bool text = true;          ///< timeline and csv files in mindstudio_profiler_output
  bool database = false;     ///< msprof_*.db
  bool json_tables = false;  ///< each csv file once more as JSON (--summary-format=json)
  int64_t iteration = -1, model = -1;
};
/// Exports one profile. Gives the files that it wrote; throws Error.
std::vector<std::string> export_profile(const std::string& profile, const ExportOptions& options);

/// communication.json and communication_matrix.json (or their database) in PROF_*/analyze. Without collectives there
/// is nothing to write.
struct AnalysisOptions {
  bool database = false;
  bool communication = true, matrix = true;
};
std::vector<std::string> analyze_profile(const std::string& profile, const AnalysisOptions& options);

/// A line for each run of a graph and each step: device, model, iteration.
std::string query_profile(const std::string& profile);

}  // namespace updraft::profiling
