// One layer of a recurrent network as the aclops have it.
#pragma once
#include "ops/aclop.h"
#include "ops/rnn/layer.h"

namespace updraft {

/// Refuses a call with fewer tensors.
void require_tensors(const AclopCall& call, size_t inputs, size_t outputs);
/// Input 0 as x, weights [input, gates * hidden] and [hidden, gates * hidden] (gates: 4, or 3 of a GRU), the direction.
RnnLayer layer_of(const AclopCall& call, int64_t gates, const TensorView& w_in, const TensorView& w_hidden);
/// [1, batch, hidden] or [batch, hidden] as the latter.
TensorView state_of(const TensorView& v);
/// [batch, n] as one step, [1, batch, n]; anything else as it is.
TensorView with_steps(const TensorView& v);

}  // namespace updraft
