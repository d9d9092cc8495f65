// What the operators of the loss family share.
#pragma once
#include "kernels/blocks.h"
#include "kernels/loss.h"
#include "ops/op.h"

namespace updraft {

/// The client's reduction codes.
enum class Reduction : int64_t { kNone = 0, kMean = 1, kSum = 2 };
/// Checks the code; 161002 for any other.
Reduction reduction_of(const Op& op, int64_t code);

/// Inference: one element, or without a reduction what `each` is.
void suggest_loss(const Op& op, Reduction reduction, const TensorView& each, DType type, const TensorView& out);
/// out must be one element (mean and sum).
void require_single(const Op& op, const char* name, const TensorView& v);

}  // namespace updraft
