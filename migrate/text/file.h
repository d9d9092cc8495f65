// Which reader looks at a file, by its name and its first bytes.
#pragma once
#include <functional>
#include <string_view>
#include <vector>

#include "migrate/finding.h"

namespace updraft::migrate::text {

// Texts hold Python here and there (cells, heredocs, python -c): how it is looked at is the caller's affair.

/// Findings of a Python source, their bytes counted in that source. Empty: Python inside other texts is left alone.
using PythonFindings = std::function<std::vector<Finding>(std::string_view source)>;

// What a file is, by its name and its first bytes, and what is not looked into.

/// Folders whose files are nobody's sources: repositories, environments, caches, what builds make. `name` without the
/// folders above it.
bool is_skipped_folder(std::string_view name) noexcept;

/// `head` is the beginning of the file (4 KiB are enough); it decides where the name does not (#! lines) and keeps
/// binary files out.
FileKind kind_of(std::string_view path, std::string_view head) noexcept;

/// NUL bytes, or the signature of a format that is no text. UTF-16 counts as binary: nothing here reads it.
bool is_binary(std::string_view head) noexcept;

bool is_makefile(std::string_view path) noexcept;
bool is_cmake(std::string_view path) noexcept;

// Any file that is no Python source: looked at as what its name says it is.

/// `path` may be a name alone. Texts inside texts (a notebook's cell that writes a script with a here-document …) are
/// followed three levels deep. Python sources go to `python`; files that are nothing known have no findings.
std::vector<Finding> file_findings(std::string_view path, std::string_view text, const PythonFindings& python,
                                   int depth = 0);
inline constexpr int kDeepest = 3;

}  // namespace updraft::migrate::text
