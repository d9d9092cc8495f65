// Any file that is no Python source: looked at as what its name says it is.
#pragma once
#include <string_view>
#include <vector>

#include "migrate/finding.h"
#include "migrate/text/python_findings.h"

namespace updraft::migrate::text {

/// `path` may be a name alone. Texts inside texts (a notebook's cell that writes a script with a here-document …) are
/// followed three levels deep. Python sources go to `python`; files that are nothing known have no findings.
std::vector<Finding> file_findings(std::string_view path, std::string_view text, const PythonFindings& python,
                                   int depth = 0);
inline constexpr int kDeepest = 3;

}  // namespace updraft::migrate::text
