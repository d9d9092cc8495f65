// What reports are made of: sentences in the report's language, UTF-8 from sources and names, which are bytes, and
// files that become whole or not at all.
#pragma once
#include <sys/types.h>

#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "migrate/finding.h"
#include "migrate/support/table.h"

// Files become whole or not at all: they are written beside their place and renamed into it.

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

// Texts of reports: sentences in the report's language; UTF-8 from sources and file names, which are bytes.

// Sentences of findings in the language that a plain-text report is written in. JSON and the page carry both.

/// The sentence in that language, or in the other where it has none.
inline const std::string& in(const Text& text, Language language) noexcept {
  if (language == Language::zh) return text.zh.empty() ? text.en : text.zh;
  return text.en.empty() ? text.zh : text.en;
}

// Sources and file names are bytes; reports are UTF-8.

/// Bytes of the well-formed code point (RFC 3629) that stands at `at`; 0 where there is none.
std::size_t code_point_at(std::string_view text, std::size_t at) noexcept;

bool is_utf8(std::string_view text) noexcept;

/// Each byte that is part of no code point becomes U+FFFD.
std::string repaired(std::string_view text);

/// As repaired(), and control characters become \n, \t or \x1b, so that a hostile name cannot start a line of its own.
std::string one_line(std::string_view text);

/// UTF-16 code units that the text takes. A byte that is part of no code point counts as one, like its U+FFFD.
std::size_t utf16_length(std::string_view text) noexcept;

std::string base64(std::string_view bytes);

}  // namespace updraft::migrate::report
