// The readers that stand in one file each: Dockerfiles, lists of packages, C++ and CUDA.
#pragma once
#include <cstddef>
#include <string_view>
#include <vector>

#include "migrate/finding.h"
#include "migrate/text/file.h"

namespace updraft::migrate::text {

// Dockerfiles: images with CUDA, variables, and the commands of RUN, CMD and ENTRYPOINT.

std::vector<Finding> dockerfile(std::string_view text, const PythonFindings& python, int depth);

// Packages in requirements, environments and commands: those that do not work on NPU (support/third_party.h), builds
// for CUDA and where such builds come from.

class Sheet;

/// A finding for a requirement (name[extra]==1.0+cu121 ; marker, conda's channel::name=1=build, a URL of a wheel).
/// `begin` is where it stands in the sheet's text.
void requirement(Sheet& sheet, std::string_view spec, std::size_t begin);
/// A finding for the name and the version of a requirement that stand apart (poetry, pipenv).
void requirement(Sheet& sheet, std::string_view name, std::string_view version, std::size_t begin, std::size_t end);
/// A finding for an index or a page of wheels of CUDA builds.
void package_index(Sheet& sheet, std::string_view url, std::size_t begin);

// C++ and CUDA sources: which operators and kernels a project has of its own, and what each needs on NPU.

/// Nothing is changed. A C++ source without CUDA and without operators for PyTorch or TensorFlow has no findings.
std::vector<Finding> cuda_source(std::string_view text);
/// CMakeLists.txt and *.cmake: where CUDA is asked for.
std::vector<Finding> cmake(std::string_view text);

}  // namespace updraft::migrate::text
