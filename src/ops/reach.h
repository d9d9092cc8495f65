// Whether an operator may touch what a tensor describes.
#pragma once
#include "tensor/view.h"

namespace updraft {

/// Throws when the view has elements and no memory, or reaches out of the allocation on a device that holds its
/// storage: kernels would damage other tensors or crash. `offset`: elements from the storage to the first element.
void check_reach(const char* name, const TensorView& view, const void* storage, int64_t offset);

}  // namespace updraft
