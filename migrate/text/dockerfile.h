// Dockerfiles: images with CUDA, variables, and the commands of RUN, CMD and ENTRYPOINT.
#pragma once
#include <string_view>
#include <vector>

#include "migrate/finding.h"
#include "migrate/text/python_findings.h"

namespace updraft::migrate::text {

std::vector<Finding> dockerfile(std::string_view text, const PythonFindings& python, int depth);

}  // namespace updraft::migrate::text
