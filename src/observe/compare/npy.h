// npy files.
#pragma once
#include <string>

#include "observe/compare/array.h"

namespace updraft::compare {

/// What stands in front of the elements of an array of NumPy type `descr` ("<f4").
std::string npy_header(const std::string& descr, const std::vector<int64_t>& dims);
/// A whole file. bfloat16, which NumPy lacks, becomes float32, as msaccucmp has it.
std::string write_npy(const Array& array);

}  // namespace updraft::compare
