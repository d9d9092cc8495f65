// The whole way: files are found, looked through, rewritten, written.
#pragma once
#include "migrate/finding.h"
#include "migrate/run/options.h"

namespace updraft::migrate::run {

/// pytorch or tensorflow: which of them more of the input's sources import; `both`: whether some import the other one.
std::string framework_of(const std::filesystem::path& input, bool* both = nullptr);

/// Rewrites in memory; writes nothing. Failures of single files are findings.
ProjectResult migrate(const Options& options);

/// One source without a file: stdin.
FileResult migrate_text(const std::string& path, std::string text, const Options& options);

/// Copy: makes the output tree. InPlace: replaces what changed. Throws Error before anything is written where that
/// cannot work (output within input, a folder that is in use).
void write_output(const Options& options, ProjectResult& result);

}  // namespace updraft::migrate::run
