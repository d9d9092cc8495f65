// C++ and CUDA sources: which operators and kernels a project has of its own, and what each needs on NPU.
#pragma once
#include <string_view>
#include <vector>

#include "migrate/finding.h"

namespace updraft::migrate::text {

/// Nothing is changed. A C++ source without CUDA and without operators for PyTorch or TensorFlow has no findings.
std::vector<Finding> cuda_source(std::string_view text);
/// CMakeLists.txt and *.cmake: where CUDA is asked for.
std::vector<Finding> cmake(std::string_view text);

}  // namespace updraft::migrate::text
