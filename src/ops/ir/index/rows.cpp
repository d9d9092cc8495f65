// Rows by number and what is written at places: tables of embeddings, caches, the nearest of several points.
#include <cstring>

#include "base/parallel.h"
#include "ops/gathered.h"
#include "ops/index/indices.h"
#include "ops/ir/shapes.h"

namespace updraft {
namespace {

using ir::Dims;

}  // namespace

ABOUT(EmbeddingLookup, AICPU, "Rows of params by indices - offset; 0 where there is no such row",
      "按 indices - offset 取 params 的行，越界处为 0")
IR_OP(EmbeddingLookup, EmbeddingLookup, (In, params), (In, indices), (In, offset), (Out, output)) {
  op.require(params->rank >= 1, "params is {}, want rows", describe(*params));
  require_index(op, "indices", *indices);
  op.require(offset->numel() == 1, "offset is {}, want one number", describe(*offset));
  Dims dims = ir::dims_of(*indices);
  dims.insert(dims.end(), params->dims + 1, params->dims + params->rank);
  ir::result(op, "output", *output, dims, params->dtype);
  op.require(output->dtype == params->dtype, "output is {}, want the type of params, {}", describe(*output),
             describe(*params));
  if (op.inferring() || output->empty()) return;
  op.kernel_scratch(contiguous_bytes(*params) + contiguous_bytes(*output) + index_bytes(*indices));
  op.launch([table = *params, at = *indices, by = *offset, to = *output] {
    ScratchScope scratch;
    const int64_t first = integers_of(by)[0], count = at.numel(), rows = table.dims[0];
    const int64_t* index = read_indices(at, scratch);
    const TensorView from = contiguous_in(table, scratch);
    TensorView made = to;
    if (!to.is_contiguous()) made = TensorView::contiguous(scratch.take<char>(to.bytes()), to.dtype, to.dims, to.rank);
    const size_t row = to.bytes() / static_cast<size_t>(count);
    parallel_for(count, 1 + 65536 / static_cast<int64_t>(row), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t k = index[i] - first;
        char* out = made.as<char>() + static_cast<size_t>(i) * row;
        if (k >= 0 && k < rows) std::memcpy(out, from.as<char>() + static_cast<size_t>(k) * row, row);
        else std::memset(out, 0, row);
      }
    });
    if (!to.is_contiguous()) copy_elements(to, made);
  });
}

ABOUT(ArgMaxGrad, Vector, "y is var with an element of updates at each place along dimension",
      "y 为 var，并在 dimension 维的 indices 处写入 updates")
IR_OP(ArgMaxGrad, ArgMaxGrad, (In, var), (In, indices), (In, updates), (Out, y), (Int, dimension)) {
  const auto d = static_cast<int>(ir::axis_of(op, "dimension", dimension, var->rank));
  ir::copy(op, *var, y);
  if (indices->empty()) return;
  Dims dims = ir::dims_of(*var), without = dims;
  dims[static_cast<size_t>(d)] = 1;
  without.erase(without.begin() + d);
  for (const auto& [name, v] : {std::pair{"indices", *indices}, {"updates", *updates}})
    op.require(ir::dims_of(v) == dims || ir::dims_of(v) == without,
               "{} is {}, want an element for each place of var {} without dimension {}", name, describe(v),
               describe(*var), d);
  Temp wide(DType::Int64), cast(var->dtype);
  call(op, "aclnnCast", indices, DType::Int64, wide);
  call(op, "aclnnCast", updates, var->dtype, cast);
  call(op, "aclnnInplaceScatter", y, d, ir::reshaped(op, *wide, dims), ir::reshaped(op, *cast, dims), 0);
}

ABOUT(KVCacheMgr, Vector, "Writes cur [batch, heads, 1, size] into past at index of each batch",
      "按 index 将 cur 写入缓存 past")
IR_OP(KVCacheMgr, KVCacheMgr, (InOut, past), (In, cur), (In, index)) {
  op.require(past->rank == 4, "past is {}, want [batch, heads, length, size]", describe(*past));
  const int64_t step[] = {past->dims[0], past->dims[1], 1, past->dims[3]};
  op.require_shape("cur", *cur, step, 4);
  op.require_shape("index", *index, step, 1);
  require_index(op, "index", *index);
  op.require(cur->dtype == past->dtype, "cur is {}, want the type of past, {}", describe(*cur), describe(*past));
  op.launch([to = *past, from = *cur, at = *index] {
    const std::vector<int64_t> places = integers_of(at);
    for (int64_t n = 0; n < to.dims[0]; ++n) {
      const int64_t place = checked_index(places[static_cast<size_t>(n)], to.dims[2], 2, false);
      copy_elements(ir::part_of(ir::part_of(to, 0, n, 1), 2, place, 1), ir::part_of(from, 0, n, 1));
    }
  });
}

ABOUT(KMeansCentroids, MixCube,
      "Sums and counts of the rows of x that are nearest to each row of y, and their distances",
      "K-Means 一步：各中心的样本和、样本数及总距离")
IR_OP(KMeansCentroids, KMeansCentroids, (In, x), (In, y), (In, sum_square_y), (OptIn, sum_square_x), (Out, segment_sum),
      (Out, segment_count), (Out, kmean_total_sum), (Bool, use_actual_distance, false)) {
  op.require(x->rank == 2 && y->rank == 2 && x->dims[1] == y->dims[1] && x->dtype == DType::Float &&
                 y->dtype == DType::Float && y->dims[0] > 0,
             "x is {} and y {}, want FLOAT points with as many coordinates", describe(*x), describe(*y));
  const int64_t rows = x->dims[0], centres = y->dims[0], size = x->dims[1];
  op.require(sum_square_y->numel() == centres, "sum_square_y is {}, want {} values", describe(*sum_square_y), centres);
  op.require(!use_actual_distance || (sum_square_x && sum_square_x->numel() == rows),
             "attribute use_actual_distance is true: want {} values of sum_square_x", rows);
  op.result("segment_sum", *segment_sum, {centres, size}, DType::Float);
  op.result("segment_count", *segment_count, {centres, 1}, DType::Float);
  op.result("kmean_total_sum", *kmean_total_sum, {1}, DType::Float);
  Temp products(DType::Float);
  call(op, "aclnnMatmul", x, y->transpose(0, 1), products, 0);
  if (op.inferring()) return;
  const TensorView squares = use_actual_distance ? *sum_square_x : TensorView();
  op.work(rows * centres);
  op.launch([=, from = *x, near = *products, of_y = *sum_square_y, to_sum = *segment_sum, to_count = *segment_count,
             to_total = *kmean_total_sum] {
    const std::vector<float> points = floats_of(from), together = floats_of(near), own = floats_of(of_y);
    const std::vector<float> added =
        given(squares) ? floats_of(squares) : std::vector<float>(points.size() ? static_cast<size_t>(rows) : 0, 0.0F);
    std::vector<int64_t> nearest(static_cast<size_t>(rows));
    std::vector<float> distances(nearest.size());
    parallel_for(rows, std::max<int64_t>(1, 16384 / centres), [&](int64_t begin, int64_t end) {
      for (; begin < end; ++begin) {
        const float* p = together.data() + begin * centres;
        int64_t best = 0;
        float least = own[0] - 2 * p[0];
        for (int64_t k = 1; k < centres; ++k) {
          const float d = own[static_cast<size_t>(k)] - 2 * p[k];
          if (d < least) least = d, best = k;
        }
        nearest[static_cast<size_t>(begin)] = best;
        distances[static_cast<size_t>(begin)] = least + (added.empty() ? 0 : added[static_cast<size_t>(begin)]);
      }
    });
    std::vector<double> sums(static_cast<size_t>(centres * size), 0.0);
    std::vector<int64_t> counts(static_cast<size_t>(centres), 0);
    double total = 0;
    for (int64_t i = 0; i < rows; ++i) {
      const int64_t k = nearest[static_cast<size_t>(i)];
      ++counts[static_cast<size_t>(k)];
      total += static_cast<double>(distances[static_cast<size_t>(i)]);
      for (int64_t c = 0; c < size; ++c)
        sums[static_cast<size_t>(k * size + c)] += static_cast<double>(points[static_cast<size_t>(i * size + c)]);
    }
    write_all(to_sum, sums);
    write_all(to_count, counts);
    write_all(to_total, std::vector<double>{total});
  });
}

// The IR names the results var, too: clients have copied what they give already.
IR_OP(ScatterList, aclnnScatterList, (Tensors, var), (In, indice), (In, updates), (OptIn, mask), (OutTensors, out),
      (Text, reduce, "update"), (Int, axis, -2)) {
  op.require(var.size() == out.size(), "there are {} outputs, want one for each of {} tensors", out.size(), var.size());
  std::vector<const TensorView*> caches;
  for (size_t i = 0; i < var.size(); ++i) {
    ir::copy(op, "out", var[i], Out{out.handle->items[i]}, var[i].dtype);
    caches.push_back(&out[i]);
  }
  if (!op.inferring()) call(op, "aclnnScatterList", caches, indice, updates, mask, reduce, axis);
}

}  // namespace updraft
