// The text files of the TensorFlow tool (its table, api_analysis_report.xlsx, is written elsewhere).
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "migrate/finding.h"
#include "migrate/report/language.h"
#include "migrate/report/write.h"

namespace updraft::migrate::report {

/// The seven classes of support, and APIs that involve no operator (packages, constants).
enum class SupportClass : std::uint8_t {
  Supported,
  SupportedMigrated,    ///< works once the tool has migrated it
  RunsMigrated,         ///< trains once migrated; the API itself may do less
  UnsupportedHarmless,  ///< not there, and nobody misses it
  Unsupported,          ///< not there, and without a replacement
  Deprecated,
  Analysing,
  NotInvolved
};

/// supported, supported-after-migration, runs-after-migration, unsupported-harmless, unsupported, deprecated,
/// analysing, not-involved
std::string_view name(SupportClass support) noexcept;
/// As the guide's table calls it, 支持(无需迁移), or in English.
std::string_view title(SupportClass support, Language language) noexcept;
/// From any of the three names.
std::optional<SupportClass> support_of(std::string_view name) noexcept;

/// The class of the API that a finding is about. What no finding says is told by its category: an unsupported API is
/// unsupported, an unknown one is being analysed.
std::optional<SupportClass> support_class(const Finding& finding) noexcept;

struct SupportCounts {
  std::size_t total = 0, supported = 0, unsupported = 0, not_involved = 0, analysing = 0;
};
/// Of every use, or of every API once.
SupportCounts support_counts(const ProjectResult& result, bool once);

/// Empty where there is nothing: each line that the migration wrote, as PATH:LINE TEXT with lines of the output.
std::string success_report(const ProjectResult& result);
/// Empty where there is nothing: what could not be migrated, and APIs that the NPU does not have.
std::string failed_report(const ProjectResult& result);
/// Also what the tool prints at its end.
std::string api_brief_report(const ProjectResult& result);

std::vector<ReportFile> tensorflow_files(const ProjectResult& result);

}  // namespace updraft::migrate::report
