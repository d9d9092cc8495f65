// Filters as oneDNN's convolutions of images with the channels innermost take them. A weight that is an input of a
// graph is brought into that layout at each run; squares that are transposed in registers do that faster than a
// reorder.
#pragma once
#include <dnnl.hpp>

#include "tensor/view.h"

namespace updraft {

/// Filters [O, I, H, W] of float in blocks of output channels and in them, from outside, the places of the window, the
/// input channels, the outputs: the size of a block. 0 for another layout, and for windows that are too large.
int64_t block_of_outputs(const dnnl::memory::desc& d);

/// Contiguous filters of float into that layout; outputs that a block has no filters for are zero.
void pack_outputs(const TensorView& weight, int64_t block, float* to);

}  // namespace updraft
