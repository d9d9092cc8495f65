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

struct Sizes {
  int64_t planes, height, width, to_height, to_width;
  Sizes(Op& op, const TensorView& x, const TensorView& y)
      : planes(x.dims[0] * x.dims[1]), height(x.dims[2]), width(x.dims[3]), to_height(y.dims[2]), to_width(y.dims[3]) {
    op.require(y.empty() || (height > 0 && width > 0), "{} has no pixels, want some for {}", describe(x), describe(y));
    op.work(4 * (x.numel() + y.numel()));
    op.kernel_scratch(static_cast<size_t>(x.numel() + y.numel()) * sizeof(float));
  }
  int64_t grain() const { return std::max<int64_t>(1, 16384 / std::max<int64_t>(1, to_height * to_width)); }
};

}  // namespace

void plan_resize_by_corners(Op& op, const TensorView& x, const TensorView& y) {
  op.launch([s = Sizes(op, x, y), x, y] {
    if (y.empty()) return;
    ScratchScope scratch;
    const float* from = linalg::dense_copy<float>(x, scratch);
    const linalg::Result<float> made(y, scratch);
    const std::vector<Near> rows = nearest(s.height, s.to_height), columns = nearest(s.width, s.to_width);
    parallel_for(s.planes, s.grain(), [&](int64_t begin, int64_t end) {
      for (; begin < end; ++begin) {
        const float* plane = from + begin * s.height * s.width;
        float* out = made.data + begin * s.to_height * s.to_width;
        for (const Near& v : rows) {
          const float *top = plane + v.low * s.width, *bottom = plane + v.high * s.width;
          for (const Near& h : columns) {
            const float above = top[h.low] + (top[h.high] - top[h.low]) * h.share,
                        below = bottom[h.low] + (bottom[h.high] - bottom[h.low]) * h.share;
            *out++ = above + (below - above) * v.share;
          }
        }
      }
    });
    made.give();
  });
}

void plan_resize_by_corners_backward(Op& op, const TensorView& dy, const TensorView& dx) {
  op.launch([s = Sizes(op, dx, dy), dy, dx] {
    if (dx.empty()) return;
    ScratchScope scratch;
    const float* from = linalg::dense_copy<float>(dy, scratch);
    const linalg::Result<float> made(dx, scratch);
    const std::vector<Near> rows = nearest(s.height, s.to_height), columns = nearest(s.width, s.to_width);
    parallel_for(s.planes, s.grain(), [&](int64_t begin, int64_t end) {
      for (; begin < end; ++begin) {
        const float* in = from + begin * s.to_height * s.to_width;
        float* plane = made.data + begin * s.height * s.width;
        std::fill_n(plane, s.height * s.width, 0.0F);
        for (const Near& v : rows) {
          float *top = plane + v.low * s.width, *bottom = plane + v.high * s.width;
          for (const Near& h : columns) {
            const float g = *in++, below = g * v.share, above = g - below;
            top[h.low] += above * (1 - h.share);
            top[h.high] += above * h.share;
            bottom[h.low] += below * (1 - h.share);
            bottom[h.high] += below * h.share;
          }
        }
      }
    });
    made.give();
  });
}

}  // namespace updraft
