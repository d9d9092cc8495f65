// The pt files of torch.save: a zip archive, not compressed, with a pickle that describes tensors and their bytes.
#pragma once
#include <string>

#include "observe/compare/array.h"

namespace updraft::compare {

/// What torch.load gives back as one tensor (weights_only as well). NumPy types that PyTorch lacks are refused.
std::string write_pt(const Array& array);

}  // namespace updraft::compare
