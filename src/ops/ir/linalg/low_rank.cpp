// Adapters of low rank beside the weights of language models.
#include "base/parallel.h"
#include "ops/gathered.h"
#include "ops/ir/shapes.h"

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

// The IR names the result y, too: clients that call it as a function keep their y here.
ABOUT(AddLora, Cube, "y plus scale * weightB (weightA x) in columns from y_offset on, of the adapter that indices name",
      "y 自 y_offset 列起累加 scale * weightB (weightA x)，适配器由 indices 逐行指定，负数不累加")
IR_OP(AddLora, AddLora, (In, y), (In, x), (In, weightB), (In, indices), (OptIn, weightA), (Out, out),
      (Int, layer_idx, 0), (Float, scale, 1e-3f), (Int, y_offset, 0), (Int, y_slice_size, -1)) {
  op.require(y->rank == 2 && x->rank == 2 && x->dims[0] == y->dims[0] && is_floating(y->dtype),
             "y is {} and x {}, want rows of as many tokens", describe(*y), describe(*x));
  op.require(weightB->rank == 4, "weightB is {}, want [adapters, layers, width, rank]", describe(*weightB));
  LowRank sizes{x->dims[0], x->dims[1], weightB->dims[3], weightB->dims[2], weightB->dims[0], weightB->dims[1]};
  const bool both = weightA && !weightA->empty();
  if (both)
    op.require(weightA->rank == 4 && weightA->dims[0] == sizes.adapters && weightA->dims[1] == sizes.layers &&
                   weightA->dims[2] == sizes.rank && weightA->dims[3] == sizes.length,
               "weightA is {}, want [{}, {}, {}, {}]", describe(*weightA), sizes.adapters, sizes.layers, sizes.rank,
               sizes.length);
  else
    op.require(sizes.rank == sizes.length, "weightB is {}, want rows of {} without weightA", describe(*weightB),
               sizes.length);
  op.require(indices->rank == 1 && indices->dims[0] == sizes.rows && is_integral(indices->dtype),
             "indices is {}, want an adapter for each of {} rows", describe(*indices), sizes.rows);
  op.require(layer_idx >= 0 && layer_idx < sizes.layers, "layer_idx is {}, weightB has {} layers", layer_idx,
             sizes.layers);
  const int64_t slice = y_slice_size == -1 ? y->dims[1] : y_slice_size;
  op.require(y_offset >= 0 && slice >= sizes.width && y_offset + sizes.width <= y->dims[1],
             "y_offset is {} and y_slice_size {}: {} columns of weightB do not fit into {} of y", y_offset,
             y_slice_size, sizes.width, y->dims[1]);
  ir::copy(op, "out", *y, out, y->dtype);
  if (op.inferring()) return;
  op.flops(2 * sizes.rows * sizes.rank * (sizes.width + (both ? sizes.length : 0)));
  const int64_t layer = layer_idx, offset = y_offset;
  const float factor = scale;
  op.launch([=, from = *x, b = ir::part_of(*weightB, 1, layer, 1), at = *indices,
             a = both ? ir::part_of(*weightA, 1, layer, 1) : TensorView(),
             to = ir::part_of(*out, 1, offset, sizes.width)] {
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
