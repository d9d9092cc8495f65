// SwiGLU with limits, as GPT-OSS has it: of neighbours or of halves, and of the first rows alone on request.
#include <algorithm>
#include <cmath>

#include "base/parallel.h"
#include "ops/gathered.h"
#include "ops/op.h"

namespace updraft {
namespace {

struct ClippedSwiglu {
  TensorView x{}, groups{}, y{};
  int64_t cut = 0;  ///< numbers of a row: those of dimension dim and behind it
  float alpha = 0, limit = 0, bias = 0;
  bool neighbours = false;
};

void run(const ClippedSwiglu& c) {
  const std::vector<float> x = floats_of(c.x);
  const int64_t rows = c.x.numel() / c.cut, half = c.cut / 2;
  int64_t used = rows;
  if (given(c.groups)) {
    used = 0;
    for (int64_t n : integers_of(c.groups)) {
      if (n < 0 || n > rows - used)
        fail_kernel(fmt::format("clipped_swiglu: groups have {} rows after {}, x has {}", n, used, rows));
      used += n;
    }
  }
  std::vector<float> y(static_cast<size_t>(rows * half), 0.0f);  // rows of no group are zero
  parallel_for(used, std::max<int64_t>(1, 4096 / half), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const float* row = x.data() + r * c.cut;
      for (int64_t i = 0; i < half; ++i) {
        const float a = std::min(c.neighbours ? row[2 * i] : row[i], c.limit);
        const float b = std::clamp(c.neighbours ? row[2 * i + 1] : row[half + i], -c.limit, c.limit);
        y[static_cast<size_t>(r * half + i)] = a / (1 + std::exp(-c.alpha * a)) * (b + c.bias);
      }
    }
  });
  write_all(c.y, y);
}

}  // namespace

SAMPLE(aclnnClippedSwiglu,
       "x=f32[N,2M] groupIndex=null dim=-1 alpha=1.702 limit=7 bias=1 interleaved=true out=f32[N,M]")
ABOUT(aclnnClippedSwiglu, Vector,
      "out = a * sigmoid(alpha a) * (b + bias), a and b the clipped halves or neighbours of x",
      "out = a * sigmoid(alpha a) * (b + bias)，a、b 为 x 截断后的前后半或相邻元素")
ACLNN(aclnnClippedSwiglu, (In, x), (OptIn, groupIndex), (Int, dim), (Double, alpha), (Double, limit), (Double, bias),
      (Bool, interleaved), (Out, out)) {
  op.require(x->rank > 0 && compute_of(x->dtype) == Compute::F32, "x is {}, want FLOAT, FLOAT16 or BFLOAT16",
             describe(*x));
  op.require(limit >= 0, "limit is {}, want 0 or more", limit);
  const int d = x->wrap_dim(dim);
  op.require(x->dims[d] % 2 == 0, "x is {}, want an even size in dimension {}", describe(*x), d);
  op.require(!groupIndex || (groupIndex->rank == 1 && is_integral(groupIndex->dtype)),
             "groupIndex is {}, want whole numbers of one dimension", groupIndex ? describe(*groupIndex).text() : "");
  TensorView shape = *x;
  shape.dims[d] /= 2;
  op.result_like("out", *out, shape, x->dtype);
  if (x->empty()) return;
  ClippedSwiglu c{.x = *x, .y = *out, .cut = 1};
  if (groupIndex) c.groups = *groupIndex;
  for (int i = d; i < x->rank; ++i) c.cut *= x->dims[i];
  c.alpha = static_cast<float>(alpha), c.limit = static_cast<float>(limit), c.bias = static_cast<float>(bias);
  c.neighbours = interleaved;
  op.work(x->numel() * 8);
  op.launch([c] { run(c); });
}

}  // namespace updraft
