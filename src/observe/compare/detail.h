// The comparison of one tensor element by element (-op), and of two files.
#pragma once
#include <string>

#include "observe/compare/comparison.h"

namespace updraft::compare {

/// Writes OP_output_0_0.csv … (lines of elements), OP_output_0_summary.txt and the files of the greatest errors, and
/// prints these. Returns 0, or 1 when the tensor is not on both sides.
int compare_tensor(Comparison& of);

/// Two files of arrays, -m and -g: prints the measures; `output` not empty: and writes file_result_TIME.txt there.
int compare_files(const Options& options, const std::string& output);

}  // namespace updraft::compare
