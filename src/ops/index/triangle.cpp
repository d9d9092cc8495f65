// Lower and upper triangles of the last two dimensions.
#include <algorithm>

#include "base/parallel.h"
#include "ops/index/indices.h"

namespace updraft {
namespace {

void plan_triangle(Op& op, const TensorView& self, int64_t diagonal, const TensorView& out, bool lower) {
  op.require(self.rank >= 2, "self is {}, want at least 2 dimensions", describe(self));
  op.result_like("out", out, self, self.dtype);
  op.require(self.dtype == out.dtype, "out is {}, want the type of self, {}", describe(out), describe(self));
  if (out.empty()) return;
  op.launch([=] {
    const int rank = self.rank;
    const int64_t rows = self.dims[rank - 2], cols = self.dims[rank - 1], batches = self.numel() / rows / cols;
    const int64_t fs = self.strides[rank - 1], ts = out.strides[rank - 1];
    const bool same = self.data == out.data;
    TensorView from = self, to = out;
    from.rank = to.rank = rank - 1;  // a place for each row
    visit_size(size_of(self.dtype), [&]<class T>() {
      parallel_for(batches * rows, std::max<int64_t>(1, 16384 / cols), [&](int64_t begin, int64_t end) {
        for (int64_t k = begin; k < end; ++k) {
          const T* f = self.as<const T>() + from.offset_of(k);
          T* t = out.as<T>() + to.offset_of(k);
          // Kept columns: [0, i + diagonal] or [i + diagonal, cols).
          const int64_t i = k % rows;
          int64_t first = 0, last = cols;
          if (lower) last = diagonal >= cols ? cols : std::clamp<int64_t>(i + diagonal + 1, 0, cols);
          else first = diagonal >= cols ? cols : std::clamp<int64_t>(i + diagonal, 0, cols);
          if (fs == 1 && ts == 1) {
            std::fill(t, t + first, T{});
            if (!same && last > first) std::copy(f + first, f + last, t + first);
            std::fill(t + last, t + cols, T{});
          } else {
            for (int64_t c = 0; c < first; ++c) t[c * ts] = T{};
            if (!same)
              for (int64_t c = first; c < last; ++c) t[c * ts] = f[c * fs];
            for (int64_t c = last; c < cols; ++c) t[c * ts] = T{};
          }
        }
      });
    });
  });
}

}  // namespace

ABOUT(aclnnTril, Vector, "out = self with 0 above the given diagonal of the last two dimensions",
      "保留后两维的下三角，diagonal 以上置 0")
ACLNN(aclnnTril, (In, self), (Int, diagonal), (Out, out)) { plan_triangle(op, *self, diagonal, *out, true); }
ABOUT(aclnnTriu, Vector, "out = self with 0 below the given diagonal of the last two dimensions",
      "保留后两维的上三角，diagonal 以下置 0")
ACLNN(aclnnTriu, (In, self), (Int, diagonal), (Out, out)) { plan_triangle(op, *self, diagonal, *out, false); }
ABOUT(aclnnInplaceTril, Vector, "Writes 0 above the given diagonal of selfRef, in place", "原地保留 selfRef 的下三角")
ACLNN(aclnnInplaceTril, (InOut, selfRef), (Int, diagonal)) { plan_triangle(op, *selfRef, diagonal, *selfRef, true); }
ABOUT(aclnnInplaceTriu, Vector, "Writes 0 below the given diagonal of selfRef, in place", "原地保留 selfRef 的上三角")
ACLNN(aclnnInplaceTriu, (InOut, selfRef), (Int, diagonal)) { plan_triangle(op, *selfRef, diagonal, *selfRef, false); }

}  // namespace updraft
