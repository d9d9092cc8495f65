// Adapters of low rank beside the weights of language models.
#include "base/parallel.h"
#include "ops/gathered.h"
#include "ops/ir_op.h"
#include "tensor/view_algebra.h"

namespace updraft {
namespace {

/// Sizes of adapters: [adapters, layers, rank, length] and [adapters, layers, width, rank]; the first matrix may be
/// absent.
struct LowRank {
  int64_t rows, length, rank, width, adapters, layers;
};

/// sums = the matrix [rows, columns] times x, in FLOAT.
void times(const float* matrix, int64_t rows, int64_t columns, const float* x, float* sums) {
  for (int64_t r = 0; r < rows; ++r) {
    float sum = 0;
    for (int64_t c = 0; c < columns; ++c) sum += matrix[r * columns + c] * x[c];
    sums[r] = sum;
  }
}

}  // namespace

SAMPLE(aclnnAddLora,
       "self=f32[3,M] x=f32[3,4] weightB=f32[2,1,2,3] indices=i32[3]:0..2 weightAOptional=f32[2,1,3,4] layerIdx=0 "
       "scale=0.5 yOffset=1 ySliceSize=2 out=f32[3,M]")
ABOUT(aclnnAddLora, Cube,
      "y plus scale * weightB (weightA x) in columns from y_offset on, of the adapter that indices name",
      "y 自 y_offset 列起累加 scale * weightB (weightA x)，适配器由 indices 逐行指定，负数不累加")
ACLNN(aclnnAddLora, (In, self), (In, x), (In, weightB), (In, indices), (OptIn, weightAOptional), (Int, layerIdx),
      (Double, scale), (Int, yOffset), (Int, ySliceSize), (Out, out)) {
  op.require(self->rank == 2 && x->rank == 2 && x->dims[0] == self->dims[0] && is_floating(self->dtype),
             "y is {} and x {}, want rows of as many tokens", describe(*self), describe(*x));
  op.require(weightB->rank == 4, "weightB is {}, want [adapters, layers, width, rank]", describe(*weightB));
  LowRank sizes{x->dims[0], x->dims[1], weightB->dims[3], weightB->dims[2], weightB->dims[0], weightB->dims[1]};
  const bool both = weightAOptional && !weightAOptional->empty();
  if (both)
    op.require(weightAOptional->rank == 4 && weightAOptional->dims[0] == sizes.adapters &&
                   weightAOptional->dims[1] == sizes.layers && weightAOptional->dims[2] == sizes.rank &&
                   weightAOptional->dims[3] == sizes.length,
               "weightA is {}, want [{}, {}, {}, {}]", describe(*weightAOptional), sizes.adapters, sizes.layers,
               sizes.rank, sizes.length);
  else
    op.require(sizes.rank == sizes.length, "weightB is {}, want rows of {} without weightA", describe(*weightB),
               sizes.length);
  op.require(indices->rank == 1 && indices->dims[0] == sizes.rows && is_integral(indices->dtype),
             "indices is {}, want an adapter for each of {} rows", describe(*indices), sizes.rows);
  op.require(layerIdx >= 0 && layerIdx < sizes.layers, "layer_idx is {}, weightB has {} layers", layerIdx,
             sizes.layers);
  const int64_t slice = ySliceSize == -1 ? self->dims[1] : ySliceSize;
  op.require(yOffset >= 0 && slice >= sizes.width && yOffset + sizes.width <= self->dims[1],
             "y_offset is {} and y_slice_size {}: {} columns of weightB do not fit into {} of y", yOffset, ySliceSize,
             sizes.width, self->dims[1]);
  op.result_like("out", *out, *self, self->dtype);
  call(op, "aclnnInplaceCopy", out, self);
  if (op.inferring()) return;
  op.flops(2 * sizes.rows * sizes.rank * (sizes.width + (both ? sizes.length : 0)));
  const int64_t layer = layerIdx, offset = yOffset;
  const auto factor = static_cast<float>(scale);
  op.launch([=, from = *x, b = narrow(*weightB, 1, layer, 1), at = *indices,
             a = both ? narrow(*weightAOptional, 1, layer, 1) : TensorView(),
             to = narrow(*out, 1, offset, sizes.width)] {
    const std::vector<float> rows = floats_of(from), wide = floats_of(b), narrow = both ? floats_of(a) : rows;
    std::vector<float> sums = floats_of(to);
    const std::vector<int64_t> adapters = integers_of(at);
    for (const int64_t adapter : adapters)
      if (adapter >= sizes.adapters)
        throw Error(code::kAclnnParamInvalid, "indices has {}, there are {} adapters", adapter, sizes.adapters);
    parallel_for(sizes.rows, 1, [&](int64_t begin, int64_t end) {
      std::vector<float> inner(static_cast<size_t>(sizes.rank)), outer(static_cast<size_t>(sizes.width));
      for (int64_t row = begin; row < end; ++row) {
        const int64_t adapter = adapters[static_cast<size_t>(row)];
        if (adapter < 0) continue;  // no adapter
        const float* v = rows.data() + row * sizes.length;
        if (both) times(narrow.data() + adapter * sizes.rank * sizes.length, sizes.rank, sizes.length, v, inner.data());
        times(wide.data() + adapter * sizes.width * sizes.rank, sizes.width, sizes.rank, both ? inner.data() : v,
              outer.data());
        for (int64_t c = 0; c < sizes.width; ++c)
          sums[static_cast<size_t>(row * sizes.width + c)] += factor * outer[static_cast<size_t>(c)];
      }
    });
    write_all(to, sums);
  });
}

}  // namespace updraft
