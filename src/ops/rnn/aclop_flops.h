// What the recurrent operators of the aclop interface compute.
#pragma once
#include "ops/aclop.h"

namespace updraft {

/// Inputs are x [steps, batch, …] and `weights` matrices; each weight takes part in `products` products a row.
template <size_t weights, int64_t products>
int64_t rnn_flops(const AclopCall& call) {
  if (call.inputs.size() <= weights || call.inputs[0].view.rank < 2) return 0;
  const TensorView& x = call.inputs[0].view;
  int64_t elements = 0;
  for (size_t i = 1; i <= weights; ++i) elements += call.inputs[i].view.numel();
  const int64_t rows = x.rank == 3 ? x.dims[0] * x.dims[1] : x.dims[0];
  return 2 * products * rows * elements;
}

}  // namespace updraft
