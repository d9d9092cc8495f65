// Whole numbers with a scale for each block of rows and columns.
#include <cmath>
#include <string_view>

#include "base/parallel.h"
#include "ops/gathered.h"
#include "ops/op.h"

namespace updraft {

SAMPLE(aclnnDynamicBlockQuant,
       "x=f32[3,M] minScale=0 roundMode=rint dstType=i8 rowBlockSize=1 colBlockSize=128 y=i8[3,M] scale=f32[3,1]")
ABOUT(aclnnDynamicBlockQuant, Vector, "Each block divided by its largest magnitude / 127 and rounded to INT8",
      "每个块除以其最大绝对值 / 127 后取整为 INT8")
ACLNN(aclnnDynamicBlockQuant, (In, x), (Double, minScale), (Text, roundMode), (Type, dstType), (Int, rowBlockSize),
      (Int, colBlockSize), (Out, y), (Out, scale)) {
  op.require(minScale == 0, "min_scale is {}, want 0", minScale);
  op.require(std::string_view(roundMode) == "rint", "round_mode is \"{}\", want \"rint\"", roundMode);
  op.require(dstType == DType::Int8, "dst_type is {}, want INT8", name_of(dstType));
  op.require(x->rank == 2 || x->rank == 3, "x is {}, want 2 or 3 dimensions", describe(*x));
  op.require(compute_of(x->dtype) == Compute::F32, "x is {}, want FLOAT, FLOAT16 or BFLOAT16", describe(*x));
  op.require(rowBlockSize > 0 && colBlockSize > 0, "blocks are of {} rows and {} columns, want 1 or more", rowBlockSize,
             colBlockSize);
  const int64_t rows = x->dims[x->rank - 2], columns = x->dims[x->rank - 1];
  const int64_t down = rowBlockSize, across = colBlockSize;
  const int64_t tall = (rows + down - 1) / down, wide = (columns + across - 1) / across;
  op.result_like("y", *y, *x, DType::Int8);
  TensorView blocks = *x;
  blocks.dims[x->rank - 2] = tall;
  blocks.dims[x->rank - 1] = wide;
  op.result_like("scale", *scale, blocks, DType::Float);
  op.work(3 * x->numel());
  op.launch([=, from = *x, to = *y, factors = *scale] {
    const std::vector<float> v = floats_of(from);
    std::vector<int8_t> bytes(v.size());
    std::vector<float> scales(static_cast<size_t>(factors.numel()));
    parallel_for(factors.numel(), 16, [&](int64_t begin, int64_t end) {
      for (int64_t block = begin; block < end; ++block) {
        const int64_t matrix = block / (tall * wide), r = block / wide % tall * down, c = block % wide * across;
        const int64_t last_row = std::min(rows, r + down), last_column = std::min(columns, c + across);
        const auto each = [&](auto&& f) {
          for (int64_t i = r; i < last_row; ++i)
            for (int64_t j = c; j < last_column; ++j) f(static_cast<size_t>((matrix * rows + i) * columns + j));
        };
        float most = 0;
        each([&](size_t i) { most = std::max(most, std::abs(v[i])); });
        const float factor = scales[static_cast<size_t>(block)] = most / 127;
        each([&](size_t i) {
          bytes[i] =
              factor == 0 ? int8_t{0} : static_cast<int8_t>(std::clamp(std::nearbyint(v[i] / factor), -128.0f, 127.0f));
        });
      }
    });
    write_all(to, bytes);
    write_all(factors, scales);
  });
}

}  // namespace updraft
