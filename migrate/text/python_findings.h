// Texts hold Python here and there (cells, heredocs, python -c): how it is looked at is the caller's affair.
#pragma once
#include <functional>
#include <string_view>
#include <vector>

#include "migrate/finding.h"

namespace updraft::migrate::text {

/// Findings of a Python source, their bytes counted in that source. Empty: Python inside other texts is left alone.
using PythonFindings = std::function<std::vector<Finding>(std::string_view source)>;

}  // namespace updraft::migrate::text
