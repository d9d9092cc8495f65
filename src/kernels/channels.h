// Statistics over all dimensions but one, and the affine maps that follow: what batch normalisation is made of. One
// pass over memory for the statistics and one for the result, the second out of cache where a channel fits it.
#pragma once
#include "base/parallel.h"
#include "tensor/view.h"

namespace updraft {

/// What follows the map, on results that are in their type already.
struct ChannelTail {
  const TensorView* add = nullptr;  ///< added; it has out's shape and type and does not overlap it
  bool relu = false;
};

/// For each channel c (dimension 1): state = {count, mean, sum of squared deviations} unless `stats` is false, then
/// finish(c, state, scale, shift), then out = x * scale + shift unless `out` is null, and the tail. finish may run in
/// any thread.
void channel_forward(const TensorView& x, const TensorView* out, bool stats,
                     FunctionRef<void(int64_t c, const double* state, double& scale, double& shift)> finish,
                     const ChannelTail& tail = {});

/// For each channel: sums = {sum dy, sum dy * (x - mean(c))} unless `sums` is false, then finish(c, sums, abc), then
/// dx = abc[0] * dy + abc[1] * x + abc[2] unless `dx` is null.
void channel_backward(const TensorView& dy, const TensorView& x, const double* mean, const TensorView* dx, bool sums,
                      FunctionRef<void(int64_t c, const double* sums, double* abc)> finish);

/// Merges {count, mean, m2} of two disjoint sets into the first.
void merge_stats(double* into, const double* from);

/// grad_bias[c] = sum of grad_out[:, c], the gradient of a convolution's bias.
void bias_gradient(const TensorView& grad_out, const TensorView& grad_bias);

}  // namespace updraft
