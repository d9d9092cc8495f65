#include "ops/ir/vision/corners.h"

#include <algorithm>
#include <vector>

#include "base/parallel.h"
#include "ops/linalg/dense.h"

namespace updraft {
namespace {

struct Near {
  int64_t low, high;
  float share;  ///< of the higher one
};

std::vector<Near> nearest(int64_t from, int64_t to) {
  std::vector<Near> all;
  const float scale = static_cast<float>(from) / static_cast<float>(to);
  for (int64_t i = 0; i < to; ++i) {
    const float at = static_cast<float>(i) * scale;
    const int64_t low = std::min(static_cast<int64_t>(at), from - 1);
    all.push_back({low, std::min(low + 1, from - 1), at - static_cast<float>(low)});
  }
  return all;
}

/// Calls each(plane of `from`, plane of `to`, rows, columns), of FLOAT: for the rows and columns of `result` the
/// nearest ones of `image`. `from` is one of these two, and `to` the other.
template <class Each>
void plan_planes(Op& op, const TensorView& from, const TensorView& to, const TensorView& image,
                 const TensorView& result, Each each) {
  op.require(result.empty() || (image.dims[2] > 0 && image.dims[3] > 0), "{} has no pixels, want some for {}",
             describe(image), describe(result));
  op.work(4 * (from.numel() + to.numel()));
  op.kernel_scratch(static_cast<size_t>(from.numel() + to.numel()) * sizeof(float));
  op.launch([=] {
    if (to.empty()) return;
    ScratchScope scratch;
    const float* read = linalg::dense_copy<float>(from, scratch);
    const linalg::Result<float> made(to, scratch);
    const std::vector<Near> rows = nearest(image.dims[2], result.dims[2]),
                            columns = nearest(image.dims[3], result.dims[3]);
    const int64_t in = from.dims[2] * from.dims[3], out = to.dims[2] * to.dims[3];
    const int64_t pixels = std::max<int64_t>(1, result.dims[2] * result.dims[3]);
    parallel_for(to.dims[0] * to.dims[1], std::max<int64_t>(1, 16384 / pixels), [&](int64_t begin, int64_t end) {
      for (; begin < end; ++begin) each(read + begin * in, made.data + begin * out, rows, columns);
    });
    made.give();
  });
}

}  // namespace

void plan_resize_by_corners(Op& op, const TensorView& x, const TensorView& y) {
  plan_planes(op, x, y, x, y,
              [width = x.dims[3]](const float* plane, float* out, const auto& rows, const auto& columns) {
                for (const Near& v : rows) {
                  const float *top = plane + v.low * width, *bottom = plane + v.high * width;
                  for (const Near& h : columns) {
                    const float above = top[h.low] + (top[h.high] - top[h.low]) * h.share,
                                below = bottom[h.low] + (bottom[h.high] - bottom[h.low]) * h.share;
                    *out++ = above + (below - above) * v.share;
                  }
                }
              });
}

void plan_resize_by_corners_backward(Op& op, const TensorView& dy, const TensorView& dx) {
  const int64_t height = dx.dims[2], width = dx.dims[3];
  plan_planes(op, dy, dx, dx, dy, [=](const float* in, float* plane, const auto& rows, const auto& columns) {
    std::fill_n(plane, height * width, 0.0F);
    for (const Near& v : rows) {
      float *top = plane + v.low * width, *bottom = plane + v.high * width;
      for (const Near& h : columns) {
        const float g = *in++, below = g * v.share, above = g - below;
        top[h.low] += above * (1 - h.share);
        top[h.high] += above * h.share;
        bottom[h.low] += below * (1 - h.share);
        bottom[h.high] += below * h.share;
      }
    }
  });
}

}  // namespace updraft
