// Arrays in the layouts of the NPU, brought into those that people read.
#pragma once
#include <string>
#include <vector>

#include "observe/compare/array.h"

namespace updraft::compare {

/// The number of "NCHW", "FRACTAL_NZ" …; -1 where there is none.
int32_t format_number(const std::string& name);
std::string format_name(int32_t format);

/// The array in another layout. Sizes that are not in the array's own (padding of the channels) are taken from its
/// original shape, else from `shape`. Throws Error 100006 for a pair of layouts that is not known.
Array to_format(const Array& array, int32_t format, const std::vector<int64_t>& shape = {});

/// True for layouts that hold blocks: NC1HWC0, FRACTAL_Z, FRACTAL_NZ, NDC1HWC0.
bool is_blocked(int32_t format);

}  // namespace updraft::compare
