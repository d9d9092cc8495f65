// Parts of images in one size: boxes [y1, x1, y2, x2] are shares of an image of [batch, height, width, channels].
#include <algorithm>
#include <cmath>

#include "base/parallel.h"
#include "ops/index/indices.h"
#include "ops/ir/shapes.h"
#include "ops/linalg/dense.h"

namespace updraft {
namespace {

using ir::Dims;

/// A line of pixels of a crop on the image: where each lies, in floats as TensorFlow has it, since what lies in the
/// middle of two pixels, or on the edge, would be another pixel otherwise.
struct Line {
  float at, step;
  /// `begin`, `end`: the sides of the box as shares of `size` pixels, from which `count` are taken.
  Line(float begin, float end, int64_t size, int64_t count)
      : at(count > 1 ? begin * static_cast<float>(size - 1) : 0.5f * (begin + end) * static_cast<float>(size - 1)),
        step(count > 1 ? (end - begin) * static_cast<float>(size - 1) / static_cast<float>(count - 1) : 0) {}
  float operator[](int64_t i) const { return at + static_cast<float>(i) * step; }
};
bool within(float at, int64_t size) { return at >= 0 && at <= static_cast<float>(size - 1); }

/// Two neighbours, and the share of the second.
struct Pair {
  int64_t low, high;
  double share;
  Pair(float at, bool nearest) {
    low = static_cast<int64_t>(nearest ? std::round(at) : std::floor(at));
    high = nearest ? low : static_cast<int64_t>(std::ceil(at));
    share = nearest ? 0 : static_cast<double>(at - std::floor(at));
  }
};

bool is_nearest(const Op& op, std::string_view method) {
  op.require(method == "bilinear" || method == "nearest", "attribute method is \"{}\", want bilinear or nearest",
             method);
  return method == "nearest";
}

/// Boxes and the images that they are of; calls f(box, image, rows, columns) for each.
struct Boxes {
  TensorView boxes, index;
  int64_t batch, height, width, crop_height, crop_width;

  Boxes(const Op& op, const In& b, const In& i, const Dims& image, int64_t h, int64_t w)
      : boxes(*b), index(*i), batch(image[0]), height(image[1]), width(image[2]), crop_height(h), crop_width(w) {
    op.require(boxes.rank == 2 && boxes.dims[1] == 4 && is_floating(boxes.dtype),
               "boxes is {}, want [N, 4] of numbers with a fraction", describe(boxes));
    op.require(index.rank == 1 && index.dims[0] == boxes.dims[0], "box_index is {}, want an image for each of boxes {}",
               describe(index), describe(boxes));
    require_index(op, "box_index", index);
    op.require(height > 0 && width > 0 && h > 0 && w > 0,
               "an image is {} by {} and a crop {} by {}, want one pixel or more", height, width, h, w);
  }
  template <class F>
  void each(bool side_by_side, F&& f) const {
    ScratchScope scratch;
    const float* corners = linalg::dense_copy<float>(boxes, scratch);
    auto* at = scratch.take<int64_t>(static_cast<size_t>(index.numel()));
    index_offsets(at, index, batch, 1, 0, false, false);
    auto some = [&](int64_t begin, int64_t end) {
      for (int64_t n = begin; n < end; ++n) {
        const float* c = corners + 4 * n;
        f(n, at[n], Line(c[0], c[2], height, crop_height), Line(c[1], c[3], width, crop_width));
      }
    };
    if (side_by_side) parallel_for(index.numel(), 1, some);
    else some(0, index.numel());
  }
};

void require_images(const Op& op, const char* name, const TensorView& v) {
  op.require(v.rank == 4, "{} is {}, want [batch, height, width, channels]", name, describe(v));
}

}  // namespace

namespace {
/// With the channels last; where they are second in what the client has, `second` is true.
void cut(Op& op, const In& given, const In& boxes, const In& box_index, const Dims& crop, float extrapolation,
         const char* method, const Out& y, bool second = false, DType type = DType::Float) {
  require_images(op, "x", *given);
  const TensorView turned = second ? permute(*given, {0, 2, 3, 1}) : *given, *x = &turned;
  const bool nearest = is_nearest(op, method);
  op.require(crop.size() == 2, "crop_size has {} values, want 2", crop.size());
  const Boxes plan(op, boxes, box_index, ir::dims_of(*x), crop[0], crop[1]);
  const int64_t depth = x->dims[3];
  ir::result(op, "y", *y,
             second ? Dims{boxes->dims[0], depth, crop[0], crop[1]} : Dims{boxes->dims[0], crop[0], crop[1], depth},
             type);
  op.work(y->numel() * 8);
  op.kernel_scratch(static_cast<size_t>(x->numel() + y->numel()) * sizeof(float));
  if (op.inferring()) return;
  op.launch([=, from = *x, to = second ? permute(*y, {0, 2, 3, 1}) : *y, outside = extrapolation] {
    ScratchScope scratch;
    const float* image = linalg::dense_copy<float>(from, scratch);
    const linalg::Result<float> made(to, scratch);
    plan.each(true, [&](int64_t n, int64_t which, const Line& rows, const Line& columns) {
      const float* source = image + which * plan.height * plan.width * depth;
      float* out = made.data + n * plan.crop_height * plan.crop_width * depth;
      for (int64_t r = 0; r < plan.crop_height; ++r)
        for (int64_t c = 0; c < plan.crop_width; ++c, out += depth) {
          if (!within(rows[r], plan.height) || !within(columns[c], plan.width)) {
            std::fill_n(out, depth, outside);
            continue;
          }
          const Pair v(rows[r], nearest), h(columns[c], nearest);
          auto pixel = [&](int64_t i, int64_t j) { return source + (i * plan.width + j) * depth; };
          const float *tl = pixel(v.low, h.low), *tr = pixel(v.low, h.high), *bl = pixel(v.high, h.low),
                      *br = pixel(v.high, h.high);
          const auto across = static_cast<float>(h.share), down = static_cast<float>(v.share);
          for (int64_t d = 0; d < depth; ++d) {
            const float top = tl[d] + (tr[d] - tl[d]) * across, bottom = bl[d] + (br[d] - bl[d]) * across;
            out[d] = top + (bottom - top) * down;
          }
        }
    });
    made.give();
  });
}
}  // namespace

ABOUT(CropAndResize, AICPU, "Boxes cut out of images and brought to one size", "从图像中裁剪各框并缩放到同一尺寸")
IR_OP(CropAndResize, CropAndResize, (In, x), (In, boxes), (In, box_index), (In, crop_size), (Out, y),
      (Float, extrapolation_value, 0), (Text, method, "bilinear")) {
  cut(op, x, boxes, box_index, op.integers("crop_size", crop_size.handle), extrapolation_value, method, y);
}
IR_OP(CustCropAndResize, CropAndResize, (In, image), (In, boxes), (In, box_index), (In, crop_size), (Out, y),
      (Float, extrapolation_value, 0), (Text, method, "bilinear")) {
  cut(op, image, boxes, box_index, op.integers("crop_size", crop_size.handle), extrapolation_value, method, y);
}
// Images have their channels second where the client's format of x is NCHW, as that of torch_npu's tensors is.
IR_OP(CropAndResizeV2, CropAndResize, (In, x), (In, boxes), (In, box_index), (In, crop_size), (Out, y),
      (Float, extrapolation_value, 0), (Text, method, "bilinear"), (Type, dtype, DType::Float)) {
  constexpr int32_t kNchw = 0;
  cut(op, x, boxes, box_index, op.integers("crop_size", crop_size.handle), extrapolation_value, method, y,
      x.handle->format == kNchw, dtype);
}
IR_OP(CropAndResizeD, CropAndResize, (In, x), (In, boxes), (In, box_index), (Out, y), (Ints, crop_size),
      (Float, extrapolation_value, 0), (Text, method, "bilinear")) {
  cut(op, x, boxes, box_index, *crop_size, extrapolation_value, method, y);
}

ABOUT(CropAndResizeGradImage, AICPU, "Gradient of CropAndResize for the images", "CropAndResize 对图像的反向梯度")
IR_OP(CropAndResizeGradImage, CropAndResizeGradImage, (In, grads), (In, boxes), (In, box_index), (In, image_size),
      (Out, y), (Text, method, "bilinear"), (Type, T)) {
  require_images(op, "grads", *grads);
  const bool nearest = is_nearest(op, method);
  const Dims size = op.integers("image_size", image_size.handle);
  op.require(size.size() == 4 && size[3] == grads->dims[3], "image_size has {} values and grads is {}", size.size(),
             describe(*grads));
  const Boxes plan(op, boxes, box_index, size, grads->dims[1], grads->dims[2]);
  op.require(grads->dims[0] == boxes->dims[0], "grads is {}, want a crop for each of boxes {}", describe(*grads),
             describe(*boxes));
  ir::result(op, "y", *y, size, static_cast<DType>(T));
  const int64_t depth = size[3];
  op.work(grads->numel() * 8 + y->numel());
  op.kernel_scratch(static_cast<size_t>(grads->numel()) * sizeof(float) +
                    static_cast<size_t>(y->numel()) * sizeof(double));
  op.launch([=, from = *grads, to = *y] {
    ScratchScope scratch;
    const float* top = linalg::dense_copy<float>(from, scratch);
    auto* sums = scratch.take<double>(static_cast<size_t>(to.numel()));
    std::fill_n(sums, to.numel(), 0.0);
    plan.each(false, [&](int64_t n, int64_t which, const Line& rows, const Line& columns) {
      double* image = sums + which * plan.height * plan.width * depth;
      const float* g = top + n * plan.crop_height * plan.crop_width * depth;
      for (int64_t r = 0; r < plan.crop_height; ++r)
        for (int64_t c = 0; c < plan.crop_width; ++c, g += depth) {
          if (!within(rows[r], plan.height) || !within(columns[c], plan.width)) continue;
          const Pair v(rows[r], nearest), h(columns[c], nearest);
          auto add = [&](int64_t i, int64_t j, double share) {
            double* pixel = image + (i * plan.width + j) * depth;
            for (int64_t d = 0; d < depth; ++d) pixel[d] += static_cast<double>(g[d]) * share;
          };
          add(v.low, h.low, (1 - v.share) * (1 - h.share));
          if (nearest) continue;
          add(v.low, h.high, (1 - v.share) * h.share);
          add(v.high, h.low, v.share * (1 - h.share));
          add(v.high, h.high, v.share * h.share);
        }
    });
    if (!to.empty()) copy_elements(to, TensorView::contiguous(sums, DType::Double, to.dims, to.rank));
  });
}

ABOUT(CropAndResizeGradBoxes, AICPU, "Gradient of CropAndResize for the boxes", "CropAndResize 对框坐标的反向梯度")
IR_OP(CropAndResizeGradBoxes, CropAndResizeGradBoxes, (In, grads), (In, images), (In, boxes), (In, box_index), (Out, y),
      (Text, method, "bilinear")) {
  require_images(op, "grads", *grads);
  require_images(op, "images", *images);
  ir::want(op, "method", method, "bilinear");
  const Boxes plan(op, boxes, box_index, ir::dims_of(*images), grads->dims[1], grads->dims[2]);
  op.require(grads->dims[0] == boxes->dims[0] && grads->dims[3] == images->dims[3],
             "grads is {}, want a crop of images {} for each of boxes {}", describe(*grads), describe(*images),
             describe(*boxes));
  ir::result(op, "y", *y, ir::dims_of(*boxes), DType::Float);
  const int64_t depth = images->dims[3];
  op.work(grads->numel() * 16);
  op.kernel_scratch(static_cast<size_t>(grads->numel() + images->numel() + y->numel()) * sizeof(float));
  op.launch([=, from = *grads, source = *images, to = *y] {
    ScratchScope scratch;
    const float *top = linalg::dense_copy<float>(from, scratch), *image = linalg::dense_copy<float>(source, scratch);
    const linalg::Result<float> made(to, scratch);
    // How far a pixel moves when a side of the box does: the first side by all that the second does not.
    struct Sides {
      double first, second;
    };
    auto sides = [](int64_t i, int64_t size, int64_t count) {
      const auto last = static_cast<double>(size - 1);
      if (count == 1) return Sides{0.5 * last, 0.5 * last};
      const double second = static_cast<double>(i) * last / static_cast<double>(count - 1);
      return Sides{last - second, second};
    };
    plan.each(true, [&](int64_t n, int64_t which, const Line& rows, const Line& columns) {
      const float* picture = image + which * plan.height * plan.width * depth;
      const float* g = top + n * plan.crop_height * plan.crop_width * depth;
      double y1 = 0, x1 = 0, y2 = 0, x2 = 0;
      for (int64_t r = 0; r < plan.crop_height; ++r)
        for (int64_t c = 0; c < plan.crop_width; ++c, g += depth) {
          if (!within(rows[r], plan.height) || !within(columns[c], plan.width)) continue;
          const Pair v(rows[r], false), h(columns[c], false);
          auto pixel = [&](int64_t i, int64_t j) { return picture + (i * plan.width + j) * depth; };
          const float *tl = pixel(v.low, h.low), *tr = pixel(v.low, h.high), *bl = pixel(v.high, h.low),
                      *br = pixel(v.high, h.high);
          double down = 0, across = 0;
          for (int64_t d = 0; d < depth; ++d) {
            const auto of = static_cast<double>(g[d]);
            down += of *
                    ((1 - h.share) * static_cast<double>(bl[d] - tl[d]) + h.share * static_cast<double>(br[d] - tr[d]));
            across += of * ((1 - v.share) * static_cast<double>(tr[d] - tl[d]) +
                            v.share * static_cast<double>(br[d] - bl[d]));
          }
          const Sides vertical = sides(r, plan.height, plan.crop_height),
                      horizontal = sides(c, plan.width, plan.crop_width);
          y1 += down * vertical.first, y2 += down * vertical.second;
          x1 += across * horizontal.first, x2 += across * horizontal.second;
        }
      float* out = made.data + 4 * n;
      out[0] = static_cast<float>(y1), out[1] = static_cast<float>(x1);
      out[2] = static_cast<float>(y2), out[3] = static_cast<float>(x2);
    });
    made.give();
  });
}

// MindSpore's own types. The type of the images is that of the output.
IR_OP(CustCropAndResizeGradImage, CropAndResizeGradImage, (In, grads), (In, boxes), (In, box_index), (In, image_size),
      (Out, y), (Text, method, "bilinear"), (Type, T, DType::Float)) {
  call(op, "CropAndResizeGradImage", grads, boxes, box_index, image_size, y, method, ir::type_of(*y, T));
}
IR_OP(CustCropAndResizeGradBoxes, CropAndResizeGradBoxes, (In, grads), (In, images), (In, boxes), (In, box_index),
      (Out, y), (Text, method, "bilinear")) {
  call(op, "CropAndResizeGradBoxes", grads, images, boxes, box_index, y, method);
}

}  // namespace updraft
