// Files become whole or not at all: they are written beside their place and renamed into it.
#pragma once
#include <sys/types.h>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace updraft::migrate {

// Files become whole or not at all: they are written beside their place and renamed into it.

/// 0, or the errno of what failed: then what stood there before is untouched. Without a mode it is that of new files.
int replace_whole(const std::filesystem::path& path, std::string_view text, std::optional<mode_t> mode = {});

}  // namespace updraft::migrate

namespace updraft::migrate::report {

// Reports become files whole or not at all: they are written beside their place and renamed into it.

struct ReportFile {
  std::string name;  ///< within the folder of the reports
  std::string text;
  /// Its absence says something (failed_report.txt): with no text, a file that an earlier run left is taken away.
  bool only_with_text = false;
};

/// Throws Error, which says what could not be done to which path and why; then what stood there before is untouched.
void write_file(const std::filesystem::path& path, std::string_view text);

/// Makes the folder where it is absent.
void write_files(const std::filesystem::path& folder, std::span<const ReportFile> files);

}  // namespace updraft::migrate::report
