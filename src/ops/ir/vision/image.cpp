// Images: windows as columns, resizing, sampling by a grid.
#include "ops/ir/shapes.h"
#include "ops/ir/vision/corners.h"

namespace updraft {
namespace {

using ir::Dims;

/// x with another height and width.
Dims resized(const Op& op, const TensorView& x, const Dims& size) {
  op.require(x.rank == 4 && size.size() == 2, "x is {} and size has {} values, want [N, C, H, W] and 2", describe(x),
             size.size());
  return {x.dims[0], x.dims[1], size[0], size[1]};
}
Dims last_two(const TensorView& v) { return {v.dims[v.rank - 2], v.dims[v.rank - 1]}; }

constexpr double kFromSizes = 0;  // no scale: it follows from the sizes

Dims pair_of(const Op& op, const char* name, const Ints& values) {
  op.require(values.size() == 1 || values.size() == 2, "attribute {} has {} values, want 1 or 2", name, values.size());
  return {values[0], values[values.size() - 1]};
}

int word_of(const Op& op, const char* name, std::string_view word, std::initializer_list<std::string_view> words) {
  int i = 0;
  for (std::string_view w : words) {
    if (w == word) return i;
    ++i;
  }
  op.refuse("attribute {} is \"{}\", which is not implemented", name, word);
}

}  // namespace

IR_OP(Im2col, aclnnIm2col, (In, x), (Out, y), (Ints, ksizes), (Ints, strides, 1), (Ints, dilations, 1),
      (Text, padding_mode, "CALCULATED"), (Ints, pads, 0)) {
  ir::want(op, "padding_mode", padding_mode, "CALCULATED");
  Dims padding = *pads;  // one value, or before and behind of both dimensions
  if (padding.size() == 4) {
    op.require(padding[0] == padding[1] && padding[2] == padding[3], "attribute pads is uneven: {} {} {} {}",
               padding[0], padding[1], padding[2], padding[3]);
    padding = {padding[0], padding[2]};
  } else {
    padding = pair_of(op, "pads", pads);
  }
  call(op, "aclnnIm2col", x, pair_of(op, "ksizes", ksizes), pair_of(op, "dilations", dilations), padding,
       pair_of(op, "strides", strides), y);
}
IR_OP(Col2im, aclnnIm2colBackward, (In, x), (In, output_size), (Out, y), (Ints, kernel_size), (Ints, dilation),
      (Ints, padding), (Ints, stride)) {
  // MindSpore's x is [N, C, positions of a window, windows].
  const TensorView columns =
      x->rank == 4 ? ir::reshaped(op, *x, {x->dims[0], x->dims[1] * x->dims[2], x->dims[3]}) : *x;
  call(op, "aclnnIm2colBackward", columns, op.integers("output_size", output_size.handle), kernel_size, dilation,
       padding, stride, y);
}

// --- resizing -----------------------------------------------------------------------------------------------------
IR_OP(ResizeNearestNeighborV2, aclnnUpsampleNearest2d, (In, x), (In, size), (Out, y), (Bool, align_corners, false),
      (Bool, half_pixel_centers, false)) {
  ir::want(op, "align_corners", align_corners, false);
  const Dims to = op.integers("size", size.handle);
  ir::result(op, "y", *y, resized(op, *x, to), x->dtype);
  if (half_pixel_centers) call(op, "aclnnUpsampleNearestExact2d", x, to, kFromSizes, kFromSizes, y);
  else call(op, "aclnnUpsampleNearest2d", x, to, y);
}
IR_OP(ResizeNearestNeighborV2Grad, aclnnUpsampleNearest2dBackward, (In, grads), (In, size), (Out, y),
      (Bool, align_corners, false), (Bool, half_pixel_centers, false)) {
  ir::want(op, "align_corners", align_corners, false);
  const Dims from = resized(op, *grads, op.integers("size", size.handle));
  ir::result(op, "y", *y, from, grads->dtype);
  call(op, half_pixel_centers ? "aclnnUpsampleNearestExact2dBackward" : "aclnnUpsampleNearest2dBackward", grads,
       last_two(*grads), from, kFromSizes, kFromSizes, y);
}
namespace {
void require_one_rule(const Op& op, bool align_corners, bool half_pixel_centers) {
  op.require(!align_corners || !half_pixel_centers, "attributes align_corners and half_pixel_centers are both true");
}
void bilinear(Op& op, const In& x, const In& size, bool align_corners, bool half_pixel_centers, const Out& y,
              DType type) {
  require_one_rule(op, align_corners, half_pixel_centers);
  const Dims to = op.integers("size", size.handle);
  ir::result(op, "y", *y, resized(op, *x, to), type);
  if (align_corners || half_pixel_centers)
    call(op, "aclnnUpsampleBilinear2d", x, to, align_corners, kFromSizes, kFromSizes, y);
  else plan_resize_by_corners(op, *x, *y);
}
void bilinear_gradient(Op& op, const In& grads, const In& image, bool align_corners, bool half_pixel_centers,
                       const Out& y, DType type) {
  require_one_rule(op, align_corners, half_pixel_centers);
  op.require(
      grads->rank == 4 && image->rank == 4 && grads->dims[0] == image->dims[0] && grads->dims[1] == image->dims[1],
      "grads is {} and original_image {}, want [N, C, H, W] with the same N and C", describe(*grads), describe(*image));
  op.result_like("y", *y, *image, type);
  if (align_corners || half_pixel_centers)
    call(op, "aclnnUpsampleBilinear2dBackward", grads, last_two(*grads), ir::dims_of(*image), align_corners, kFromSizes,
         kFromSizes, y);
  else plan_resize_by_corners_backward(op, *grads, *y);
}
void require_whole(const Op& op, int64_t src_start_w, int64_t dst_start_w) {
  ir::want(op, "src_start_w", src_start_w, int64_t{0});
  ir::want(op, "dst_start_w", dst_start_w, int64_t{0});
}
}  // namespace
IR_OP(ResizeBilinearV2, aclnnUpsampleBilinear2d, (In, x), (In, size), (Out, y), (Bool, align_corners, false),
      (Bool, half_pixel_centers, false), (Type, dtype, DType::Float)) {
  bilinear(op, x, size, align_corners, half_pixel_centers, y, dtype);
}
IR_OP(ResizeBilinearV2Grad, aclnnUpsampleBilinear2dBackward, (In, grads), (In, original_image), (Out, y),
      (Bool, align_corners, false), (Bool, half_pixel_centers, false)) {
  bilinear_gradient(op, grads, original_image, align_corners, half_pixel_centers, y, original_image->dtype);
}
// The parts of an image that several devices resize together: one device has all of it.
IR_OP(SyncResizeBilinearV2, aclnnUpsampleBilinear2d, (In, x), (In, size), (Out, y), (Ints, ori_image_size, nullptr),
      (Ints, split_size, nullptr), (Int, src_start_w, 0), (Int, dst_start_w, 0), (Bool, align_corners, false),
      (Bool, half_pixel_centers, false)) {
  require_whole(op, src_start_w, dst_start_w);
  (void)ori_image_size, (void)split_size;
  bilinear(op, x, size, align_corners, half_pixel_centers, y, DType::Float);
}
IR_OP(SyncResizeBilinearV2Grad, aclnnUpsampleBilinear2dBackward, (In, grads), (In, original_image), (Out, y),
      (Ints, size, nullptr), (Ints, ori_image_size, nullptr), (Int, src_start_w, 0), (Int, dst_start_w, 0),
      (Bool, align_corners, false), (Bool, half_pixel_centers, false)) {
  require_whole(op, src_start_w, dst_start_w);
  (void)size, (void)ori_image_size;
  bilinear_gradient(op, grads, original_image, align_corners, half_pixel_centers, y, DType::Float);
}

// --- linearly along one dimension, or by cubic curves along two ------------------------------------------------------
namespace {
struct Curve {
  bool cubic, corners;
};
Curve curve_of(const Op& op, const char* mode, const char* coordinates, const Ints& roi, const TensorView& image) {
  const std::string_view how = mode, where = coordinates;
  op.require(how == "linear" || how == "cubic", "attribute mode is \"{}\", want linear or cubic", how);
  op.require(where == "half_pixel" || where == "pytorch_half_pixel" || where == "align_corners",
             "attribute coordinate_transformation_mode is \"{}\", want half_pixel, pytorch_half_pixel or align_corners",
             where);
  op.require(roi.size() == 0, "attribute roi has {} values, want none", roi.size());
  const bool cubic = how == "cubic";
  op.require(image.rank == (cubic ? 4 : 3), "x is {}, want {} dimensions for \"{}\"", describe(image), cubic ? 4 : 3,
             how);
  return {cubic, where == "align_corners"};
}
/// The factor of dimension d, or 0: it follows from the sizes.
double factor(const Floats& scales, size_t d) { return d < scales.size() ? static_cast<double>(scales[d]) : 0; }
}  // namespace
IR_OP(ResizeD, Resize, (In, x), (Out, y), (Ints, sizes), (Floats, scales, nullptr), (Ints, roi, nullptr),
      (Text, coordinate_transformation_mode, "half_pixel"), (Float, cubic_coeff_a, -0.75f), (Int, exclude_outside, 0),
      (Float, extrapolation_value, 0), (Text, mode, "nearest"), (Text, nearest_mode, "round_prefer_floor")) {
  (void)extrapolation_value, (void)nearest_mode;  // of modes that are refused
  ir::want(op, "cubic_coeff_a", cubic_coeff_a, -0.75f);
  ir::want(op, "exclude_outside", exclude_outside, int64_t{0});
  const Curve c = curve_of(op, mode, coordinate_transformation_mode, roi, *x);
  const size_t spatial = c.cubic ? 2 : 1;
  op.require(sizes.size() == spatial, "attribute sizes has {} values, want {}", sizes.size(), spatial);
  Dims dims = ir::dims_of(*x);
  for (size_t d = 0; d < spatial; ++d) dims[2 + d] = sizes[d];
  ir::result(op, "y", *y, dims, x->dtype);
  if (c.cubic) call(op, "aclnnUpsampleBicubic2d", x, sizes, c.corners, factor(scales, 0), factor(scales, 1), y);
  else call(op, "aclnnUpsampleLinear1d", x, sizes, c.corners, factor(scales, 0), y);
}
IR_OP(ResizeGradD, Resize, (In, grads), (Out, y), (Ints, original_size), (Ints, roi, nullptr),
      (Floats, scales, nullptr), (Text, coordinate_transformation_mode, "half_pixel"), (Float, cubic_coeff_a, -0.75f),
      (Int, exclude_outside, 0), (Float, extrapolation_value, 0), (Text, mode, "nearest"),
      (Text, nearest_mode, "round_prefer_floor")) {
  (void)extrapolation_value, (void)nearest_mode;  // of modes that are refused
  ir::want(op, "cubic_coeff_a", cubic_coeff_a, -0.75f);
  ir::want(op, "exclude_outside", exclude_outside, int64_t{0});
  const Curve c = curve_of(op, mode, coordinate_transformation_mode, roi, *grads);
  ir::result(op, "y", *y, *original_size, grads->dtype);
  if (c.cubic)
    return call(op, "aclnnUpsampleBicubic2dBackward", grads, last_two(*grads), original_size, c.corners,
                factor(scales, 0), factor(scales, 1), y);
  call(op, "aclnnUpsampleLinear1dBackward", grads, Dims{grads->dims[2]}, original_size, c.corners, factor(scales, 0),
       y);
}

ABOUT(ResizeGrad, Vector, "Gradient of Resize", "Resize 的反向梯度")
IR_OP(ResizeGrad, ResizeGrad, (In, grads), (OptIn, roi), (OptIn, scales), (In, original_size), (Out, y),
      (Text, coordinate_transformation_mode, "half_pixel"), (Float, cubic_coeff_a, -0.75f), (Int, exclude_outside, 0),
      (Float, extrapolation_value, 0), (Text, mode, "nearest"), (Text, nearest_mode, "round_prefer_floor")) {
  (void)roi, (void)scales, (void)extrapolation_value;  // what lies where follows from the sizes
  const Dims from = ir::shape_from(op, "original_size", original_size, *y);
  ir::result(op, "y", *y, from, grads->dtype);
  ir::want(op, "exclude_outside", exclude_outside, int64_t{0});
  if (std::string_view(mode) == "nearest") {
    ir::want(op, "nearest_mode", nearest_mode, "floor");
    op.require(grads->rank == 4, "grads is {}, want [N, C, H, W]", describe(*grads));
    return call(op, "aclnnUpsampleNearest2dBackward", grads, last_two(*grads), from, kFromSizes, kFromSizes, y);
  }
  ir::want(op, "cubic_coeff_a", cubic_coeff_a, -0.75f);
  const aclIntArray none{};
  const Curve c = curve_of(op, mode, coordinate_transformation_mode, Ints{&none}, *grads);
  if (c.cubic)
    return call(op, "aclnnUpsampleBicubic2dBackward", grads, last_two(*grads), from, c.corners, kFromSizes, kFromSizes,
                y);
  call(op, "aclnnUpsampleLinear1dBackward", grads, Dims{grads->dims[2]}, from, c.corners, kFromSizes, y);
}

// --- sampling -----------------------------------------------------------------------------------------------------
namespace {
struct Sampling {
  int interpolation, padding;
};
Sampling sampling_of(const Op& op, std::string_view interpolation, std::string_view padding) {
  return {word_of(op, "interpolation_mode", interpolation, {"bilinear", "nearest", "bicubic"}),
          word_of(op, "padding_mode", padding, {"zeros", "border", "reflection"})};
}
}  // namespace
IR_OP(GridSampler2D, aclnnGridSampler2D, (In, x), (In, grid), (Out, y), (Text, interpolation_mode, "bilinear"),
      (Text, padding_mode, "zeros"), (Bool, align_corners, false)) {
  const Sampling s = sampling_of(op, interpolation_mode, padding_mode);
  op.require(x->rank == 4 && grid->rank == 4, "x is {} and grid is {}, want 4 dimensions", describe(*x),
             describe(*grid));
  ir::result(op, "y", *y, {x->dims[0], x->dims[1], grid->dims[1], grid->dims[2]}, x->dtype);
  call(op, "aclnnGridSampler2D", x, grid, s.interpolation, s.padding, align_corners, y);
}
IR_OP(GridSampler3D, aclnnGridSampler3D, (In, x), (In, grid), (Out, y), (Text, interpolation_mode, "bilinear"),
      (Text, padding_mode, "zeros"), (Text, data_format, "NCDHW"), (Bool, align_corners, false)) {
  ir::want(op, "data_format", data_format, "NCDHW");
  const Sampling s = sampling_of(op, interpolation_mode, padding_mode);
  op.require(x->rank == 5 && grid->rank == 5, "x is {} and grid is {}, want 5 dimensions", describe(*x),
             describe(*grid));
  ir::result(op, "y", *y, {x->dims[0], x->dims[1], grid->dims[1], grid->dims[2], grid->dims[3]}, x->dtype);
  call(op, "aclnnGridSampler3D", x, grid, s.interpolation, s.padding, align_corners, y);
}
IR_OP(GridSampler3DGrad, aclnnGridSampler3DBackward, (In, grad), (In, x), (In, grid), (Out, dx), (Out, dgrid),
      (Text, interpolation_mode, "bilinear"), (Text, padding_mode, "zeros"), (Bool, align_corners, false)) {
  const Sampling s = sampling_of(op, interpolation_mode, padding_mode);
  op.result_like("dx", *dx, *x, x->dtype);
  op.result_like("dgrid", *dgrid, *grid, grid->dtype);
  call(op, "aclnnGridSampler3DBackward", grad, x, grid, s.interpolation, s.padding, align_corners,
       std::vector<bool>{true, true}, dx, dgrid);
}
#define GRID_GRADIENT(TYPE)                                                                                    \
  IR_OP(TYPE##Grad, aclnn##TYPE##Backward, (In, grad), (In, x), (In, grid), (Out, dx), (Out, dgrid),           \
        (Text, interpolation_mode, "bilinear"), (Text, padding_mode, "zeros"), (Bool, align_corners, false)) { \
    const Sampling s = sampling_of(op, interpolation_mode, padding_mode);                                      \
    op.result_like("dx", *dx, *x, x->dtype);                                                                   \
    op.result_like("dgrid", *dgrid, *grid, grid->dtype);                                                       \
    call(op, "aclnn" #TYPE "Backward", grad, x, grid, s.interpolation, s.padding, align_corners,               \
         std::vector<bool>{true, true}, dx, dgrid);                                                            \
  }
GRID_GRADIENT(GridSampler2D)
#undef GRID_GRADIENT
IR_OP(AffineGrid, aclnnAffineGrid, (In, theta), (In, output_size), (Out, y), (Bool, align_corners, false)) {
  const Dims size = op.integers("output_size", output_size.handle);
  op.require(size.size() == 4 || size.size() == 5, "output_size has {} values, want 4 or 5", size.size());
  Dims dims = size;
  dims.erase(dims.begin() + 1);
  dims.push_back(static_cast<int64_t>(size.size()) - 2);
  ir::result(op, "y", *y, dims, theta->dtype);
  call(op, "aclnnAffineGrid", theta, size, align_corners, y);
}

}  // namespace updraft
