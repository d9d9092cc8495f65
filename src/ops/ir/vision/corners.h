// Bilinear resizing by TensorFlow's oldest rule: pixels lie at their corners, so that pixel i of `to` is at i * from /
// to.
#pragma once
#include "ops/op.h"

namespace updraft {

/// x and y [N, C, H, W], of which y has its size. Values are interpolated in FLOAT.
void plan_resize_by_corners(Op& op, const TensorView& x, const TensorView& y);
/// The gradient of that for x, of the result's.
void plan_resize_by_corners_backward(Op& op, const TensorView& dy, const TensorView& dx);

}  // namespace updraft
