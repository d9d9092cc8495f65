// Jupyter notebooks (nbformat 3 and 4): the cells' Python as one module, their commands as shell, and edits that change
// exactly the bytes of the JSON that hold them. Outputs and metadata are not touched.
#pragma once
#include <string_view>
#include <vector>

#include "migrate/finding.h"
#include "migrate/text/file.h"

namespace updraft::migrate::text {

std::vector<Finding> notebook(std::string_view json, const PythonFindings& python, int depth = 0);

}  // namespace updraft::migrate::text
