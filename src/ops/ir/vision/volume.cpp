// Images of three dimensions, and images enlarged by whole numbers.
#include "ops/ir/shapes.h"

namespace updraft {
namespace {

using ir::Dims;

constexpr double kFromSizes = 0;

/// [N, C, D, H, W] after resizing: by output_size, else by scales.
Dims sizes_of(const Op& op, const Dims& from, const Ints& output_size, const Floats& scales) {
  op.require(from.size() == 5, "the volume has {} dimensions, want five", from.size());
  op.require((output_size.size() == 3) != (scales.size() == 3),
             "attributes output_size and scales have {} and {} values, want three of one of them", output_size.size(),
             scales.size());
  Dims dims = from;
  for (size_t d = 0; d < 3; ++d)
    dims[d + 2] =
        output_size.size() == 3 ? output_size[d] : static_cast<int64_t>(static_cast<double>(from[d + 2]) * scales[d]);
  return dims;
}
Dims last_three(const Dims& dims) { return {dims.end() - 3, dims.end()}; }
double scale_of(const Floats& scales, size_t d) {
  return scales.size() == 3 ? static_cast<double>(scales[d]) : kFromSizes;
}

}  // namespace

IR_OP(UpsampleNearest3d, aclnnUpsampleNearest3d, (In, x), (Out, y), (Ints, output_size, nullptr),
      (Floats, scales, nullptr)) {
  const Dims dims = sizes_of(op, ir::dims_of(*x), output_size, scales);
  ir::result(op, "y", *y, dims, x->dtype);
  call(op, "aclnnUpsampleNearest3d", x, last_three(dims), scale_of(scales, 0), scale_of(scales, 1), scale_of(scales, 2),
       y);
}
IR_OP(UpsampleNearest3dGrad, aclnnUpsampleNearest3dBackward, (In, grad_output), (Out, y), (Ints, input_size),
      (Ints, output_size, nullptr), (Floats, scales, nullptr)) {
  const Dims dims = sizes_of(op, *input_size, output_size, scales);
  ir::result(op, "y", *y, *input_size, grad_output->dtype);
  call(op, "aclnnUpsampleNearest3dBackward", grad_output, last_three(dims), *input_size, scale_of(scales, 0),
       scale_of(scales, 1), scale_of(scales, 2), y);
}
IR_OP(UpsampleTrilinear3d, aclnnUpsampleTrilinear3d, (In, x), (Out, y), (Ints, output_size, nullptr),
      (Floats, scales, nullptr), (Bool, align_corners, false)) {
  const Dims dims = sizes_of(op, ir::dims_of(*x), output_size, scales);
  ir::result(op, "y", *y, dims, x->dtype);
  call(op, "aclnnUpsampleTrilinear3d", x, last_three(dims), align_corners, scale_of(scales, 0), scale_of(scales, 1),
       scale_of(scales, 2), y);
}
IR_OP(UpsampleTrilinear3dGrad, aclnnUpsampleTrilinear3dBackward, (In, grad_output), (Out, y), (Ints, input_size),
      (Ints, output_size, nullptr), (Floats, scales, nullptr), (Bool, align_corners, false)) {
  const Dims dims = sizes_of(op, *input_size, output_size, scales);
  ir::result(op, "y", *y, *input_size, grad_output->dtype);
  call(op, "aclnnUpsampleTrilinear3dBackward", grad_output, last_three(dims), *input_size, align_corners,
       scale_of(scales, 0), scale_of(scales, 1), scale_of(scales, 2), y);
}
ABOUT(Upsample, Vector, "Each pixel stride_h by stride_w times, times scale",
      "每个像素重复 stride_h × stride_w 次并乘以 scale")
IR_OP(Upsample, Upsample, (In, x), (Out, y), (Float, scale, 1), (Int, stride_h, 2), (Int, stride_w, 2)) {
  op.require(x->rank == 4 && stride_h >= 1 && stride_w >= 1, "x is {}, want four dimensions and strides of 1 or more",
             describe(*x));
  const Dims dims = {x->dims[0], x->dims[1], x->dims[2] * stride_h, x->dims[3] * stride_w};
  ir::result(op, "y", *y, dims, x->dtype);
  if (scale == 1) return call(op, "aclnnUpsampleNearest2d", x, Dims{dims[2], dims[3]}, y);
  const TensorView large = ir::temporary(op, x->dtype, dims);
  call(op, "aclnnUpsampleNearest2d", x, Dims{dims[2], dims[3]}, large);
  call(op, "aclnnMuls", large, scale, y);
}

}  // namespace updraft
