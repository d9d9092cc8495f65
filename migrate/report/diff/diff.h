// Unified diffs as `git apply` and `patch` take them: applied to the input's root they give the output, byte for byte.
#pragma once
#include <string>
#include <string_view>

#include "migrate/finding.h"

namespace updraft::migrate::report {

/// Empty for a file that is not changed.
std::string unified_diff(const FileResult& file);
std::string unified_diff(const ProjectResult& result);

/// The path as a diff's header has it: in quotes, with octal escapes, where it holds control characters, quotes, \ or
/// bytes that are no UTF-8.
std::string quoted_path(std::string_view prefix, std::string_view path);

}  // namespace updraft::migrate::report
