// Types of MindSpore's own (Cust…): elements by places, diagonals, triangles and windows. On a card they run on the
// processors beside the AI cores, by a library of MindSpore's.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

#include "kernels/pipeline.h"
#include "ops/gathered.h"
#include "ops/index/indices.h"
#include "ops/ir/shapes.h"
#include "ops/linalg/dense.h"

namespace updraft {
namespace {

using ir::Dims;

/// The diagonal of dimensions d1 and d2 as the last dimension.
TensorView diagonal(const Op& op, const TensorView& x, int64_t offset, int64_t dim1, int64_t dim2) {
  op.require(x.rank >= 2, "input is {}, want two dimensions or more", describe(x));
  const auto a = static_cast<int>(ir::axis_of(op, "dim1", dim1, x.rank)),
             b = static_cast<int>(ir::axis_of(op, "dim2", dim2, x.rank));
  op.require(a != b, "the diagonal is of dimension {} and itself", a);
  const int64_t down = offset < 0 ? -offset : 0, right = offset > 0 ? offset : 0;
  const int64_t n = std::max<int64_t>(0, std::min(x.dims[a] - down, x.dims[b] - right));
  TensorView v = x;
  if (n > 0) v = ir::part_of(ir::part_of(x, a, down, n), b, right, n);
  const int64_t stride = v.strides[a] + v.strides[b];
  int rank = 0;
  for (int d = 0; d < x.rank; ++d)
    if (d != a && d != b) v.dims[rank] = v.dims[d], v.strides[rank] = v.strides[d], ++rank;
  v.dims[rank] = n;
  v.strides[rank] = stride;
  v.rank = rank + 1;
  return v;
}

/// Coordinates of a triangle of [row, col]: those with column - row of `offset` at most, or at least.
void triangle(Op& op, int64_t row, int64_t col, int64_t offset, bool lower, DType type, const Out& output) {
  op.require(row >= 0 && col >= 0, "attributes row and col are {} and {}, want 0 or more", row, col);
  std::vector<double> rows, columns;
  for (int64_t i = 0; i < row; ++i)
    for (int64_t j = 0; j < col; ++j)
      if (lower ? j - i <= offset : j - i >= offset) {
        rows.push_back(static_cast<double>(i));
        columns.push_back(static_cast<double>(j));
      }
  op.result("output", *output, {2, static_cast<int64_t>(rows.size())}, type);
  rows.insert(rows.end(), columns.begin(), columns.end());
  op.launch([to = *output, rows] { linalg::scatter(to, rows); });
}

/// Values of a window of `length` at each place; periodic ones are those of a window one longer.
template <class F>
void window(Op& op, const char* name, const In& length, bool periodic, DType type, const Out& y, F&& value) {
  const int64_t n = integer_of(op, name, length.handle);
  op.require(n >= 0, "{} is {}, want 0 or more", name, n);
  op.result("y", *y, {n}, type);
  const double last = static_cast<double>(periodic ? n : n - 1);
  std::vector<double> values;
  for (int64_t i = 0; i < n; ++i) values.push_back(n == 1 ? 1.0 : value(static_cast<double>(i), last));
  op.launch([to = *y, values] { linalg::scatter(to, values); });
}

}  // namespace

ABOUT(CustDiagonal, Vector, "The diagonals of two dimensions as the last dimension", "取两维的对角线作为最后一维")
IR_OP(CustDiagonal, CustDiagonal, (In, x), (Out, y), (Int, offset), (Int, dim1), (Int, dim2)) {
  ir::copy(op, diagonal(op, *x, offset, dim1, dim2), y);
}
ABOUT(CustTraceV2, Vector, "The sum of the diagonal of two dimensions", "两维对角线之和")
IR_OP(CustTraceV2, CustTraceV2, (In, input), (In, offset), (In, axis1), (In, axis2), (Out, output),
      (Type, dtype, DType::Undefined)) {
  const TensorView v = diagonal(op, *input, integer_of(op, "offset", offset.handle),
                                integer_of(op, "axis1", axis1.handle), integer_of(op, "axis2", axis2.handle));
  const DType type = dtype == DType::Undefined ? ir::type_of(*output, v.dtype) : static_cast<DType>(dtype);
  ir::result(op, "output", *output, ir::reduced(v, {v.rank - 1}, false), type);
  call(op, "aclnnReduceSum", v, Dims{v.rank - 1}, false, type, output);
}
ABOUT(CustTraceGrad, Vector, "Gradient of the trace: y_grad on the diagonal, 0 elsewhere",
      "迹的反向梯度：对角线为 y_grad，其余为 0")
IR_OP(CustTraceGrad, CustTraceGrad, (In, y_grad), (In, x_shape), (Out, x_grad)) {
  const Dims dims = ir::shape_from(op, "x_shape", x_shape, *x_grad);
  op.require(dims.size() == 2 && y_grad->numel() == 1, "y_grad is {}, x_shape has {} values, want one and two",
             describe(*y_grad), dims.size());
  ir::result(op, "x_grad", *x_grad, dims, y_grad->dtype);
  call(op, "aclnnInplaceZero", x_grad);
  if (op.inferring()) return;
  const TensorView on = diagonal(op, *x_grad, 0, 0, 1);
  TensorView one = *y_grad;
  one.rank = 0;
  call(op, "aclnnInplaceCopy", on, one.expand_as(on));
}
IR_OP(CustTraceV2Grad, CustTraceGrad, (In, dout), (In, shape), (In, offset), (In, axis1), (In, axis2), (Out, din)) {
  ir::result(op, "din", *din, ir::shape_from(op, "shape", shape, *din), dout->dtype);
  const TensorView on = diagonal(op, *din, integer_of(op, "offset", offset.handle),
                                 integer_of(op, "axis1", axis1.handle), integer_of(op, "axis2", axis2.handle));
  const Dims each(on.dims, on.dims + on.rank - 1);
  op.require(ir::dims_of(*dout) == each, "dout is {}, want an element for each diagonal of din {}", describe(*dout),
             describe(*din));
  call(op, "aclnnInplaceZero", din);
  if (op.inferring() || on.empty()) return;
  TensorView by = *dout;
  by.dims[by.rank] = 1, by.strides[by.rank] = 0, ++by.rank;
  call(op, "aclnnInplaceCopy", on, by.expand_as(on));
}
ABOUT(CustTrilIndices, AICPU, "Coordinates of a triangle, rows and then columns", "三角部分的行列坐标")
IR_OP(CustTrilIndices, CustTrilIndices, (Out, output), (Int, row), (Int, col), (Int, offset), (Type, dtype)) {
  triangle(op, row, col, offset, true, dtype, output);
}
IR_OP(CustTriuIndices, CustTrilIndices, (Out, output), (Int, row), (Int, col), (Int, offset), (Type, dtype)) {
  triangle(op, row, col, offset, false, dtype, output);
}
IR_OP(CustExpand, BroadcastTo, (In, x), (In, shape), (Out, y)) {
  Dims dims = ir::shape_from(op, "shape", shape, *y);
  for (size_t d = 0; d < dims.size(); ++d) {
    const auto of_x = static_cast<int64_t>(d) + x->rank - static_cast<int64_t>(dims.size());
    if (dims[d] == -1) dims[d] = of_x >= 0 ? x->dims[of_x] : 1;
  }
  ir::copy(op, x->expand(dims.data(), static_cast<int>(dims.size())), y);
}
ABOUT(CustPadding, Vector, "x, whose last dimension is 1, with zeros behind", "末维为 1 的 x 在末维补 0")
IR_OP(CustPadding, CustPadding, (In, x), (Out, y), (Int, pad_dim_size)) {
  op.require(x->rank >= 2 && x->dims[x->rank - 1] == 1 && pad_dim_size >= 1,
             "x is {}, attribute pad_dim_size is {}: want a last dimension of 1", describe(*x), pad_dim_size);
  Dims dims = ir::dims_of(*x);
  dims.back() = pad_dim_size;
  ir::result(op, "y", *y, dims, x->dtype);
  call(op, "aclnnInplaceZero", y);
  call(op, "aclnnInplaceCopy", ir::part_of(*y, x->rank - 1, 0, 1), x);
}
ABOUT(CustSliceGrad, Vector, "Gradient of Slice: dy in its place among zeros", "Slice 的反向梯度：将 dy 放回全 0 张量")
IR_OP(CustSliceGrad, CustSliceGrad, (In, dy), (In, x), (In, begin), (In, size), (Out, dx)) {
  (void)size;  // the shape of dy
  const Dims at = op.integers("begin", begin.handle);
  op.require(at.size() == static_cast<size_t>(x->rank) && dy->rank == x->rank, "begin has {} values, x is {} and dy {}",
             at.size(), describe(*x), describe(*dy));
  op.result_like("dx", *dx, *x, dy->dtype);
  call(op, "aclnnInplaceZero", dx);
  TensorView part = *dx;
  for (int d = 0; d < x->rank; ++d) {
    const int64_t first = at[static_cast<size_t>(d)];
    op.require(first >= 0 && first + dy->dims[d] <= x->dims[d], "dy is {} and begins at {} in dimension {}: x is {}",
               describe(*dy), first, d, describe(*x));
    part = ir::part_of(part, d, first, dy->dims[d]);
  }
  call(op, "aclnnInplaceCopy", part, dy);
}
ABOUT(CustMaskedSelectGrad, Vector, "Gradient of MaskedSelect: the elements of grad where mask is true, 0 elsewhere",
      "MaskedSelect 的反向梯度：mask 为真处依次取 grad，其余为 0")
IR_OP(CustMaskedSelectGrad, CustMaskedSelectGrad, (In, x), (In, mask), (In, grad), (Out, dx)) {
  op.result_like("dx", *dx, *x, x->dtype);
  call(op, "aclnnInplaceZero", dx);
  call(op, "aclnnInplaceMaskedScatter", dx, mask->expand_as(*dx), grad);
}
ABOUT(CustIndexFill, Vector, "x with value in the places of indices along a dimension",
      "沿某一维将 indices 处填为 value")
IR_OP(CustIndexFill, CustIndexFill, (In, x), (In, dim), (In, indices), (In, value), (Out, y)) {
  ir::copy(op, *x, y);
  const auto d = static_cast<int>(ir::axis_of(op, "dim", integer_of(op, "dim", dim.handle), x->rank));
  op.require(indices->rank <= 1 && value->numel() == 1, "indices is {} and value {}, want a vector and one element",
             describe(*indices), describe(*value));
  TensorView one = *value, at = *indices;
  one.rank = 0;
  if (at.rank == 0) at.rank = 1, at.dims[0] = at.strides[0] = 1;
  if (x->rank == 0) return call(op, "aclnnInplaceCopy", y, one);
  std::vector<const TensorView*> places(static_cast<size_t>(d), nullptr);
  places.push_back(&at);
  call(op, "aclnnIndexPutImpl", y, places, one, false, false);
}
IR_OP(CustIndexPut, aclnnIndexPutImpl, (In, x1), (In, x2), (Tensors, indices), (Out, y), (Int, accumulate, 0)) {
  ir::copy(op, *x1, y);
  std::vector<const TensorView*> places;
  for (size_t i = 0; i < indices.size(); ++i) places.push_back(&indices[i]);
  call(op, "aclnnIndexPutImpl", y, places, x2, accumulate != 0, false);
}
IR_OP(CustArgMax, aclnnArgMax, (In, x), (In, dimension), (Out, y), (Type, dtype, DType::Int64)) {
  const int64_t axis = ir::axis_of(op, "dimension", integer_of(op, "dimension", dimension.handle), x->rank);
  ir::result(op, "y", *y, ir::reduced(*x, {axis}, false), dtype);
  call(op, "aclnnArgMax", x, axis, false, y);
}
ABOUT(CustBartlettWindow, AICPU, "A window of signals: a triangle", "Bartlett 窗")
IR_OP(CustBartlettWindow, CustBartlettWindow, (In, window_length), (Out, y), (Bool, periodic), (Type, dtype)) {
  window(op, "window_length", window_length, periodic, dtype, y,
         [](double i, double last) { return 1 - std::abs(2 * i / last - 1); });
}
ABOUT(CustBlackmanWindow, AICPU, "A window of signals: Blackman's", "Blackman 窗")
IR_OP(CustBlackmanWindow, CustBlackmanWindow, (In, window_length), (Out, y), (Bool, periodic), (Type, dtype)) {
  window(op, "window_length", window_length, periodic, dtype, y, [](double i, double last) {
    const double turn = 2 * std::numbers::pi * i / last;
    return 0.42 - 0.5 * std::cos(turn) + 0.08 * std::cos(2 * turn);
  });
}
ABOUT(CustHammingWindow, AICPU, "A window of signals: alpha - beta cos", "Hamming 窗")
IR_OP(CustHammingWindow, CustHammingWindow, (In, length), (Out, y), (Bool, periodic), (Float, alpha), (Float, beta),
      (Int, dtype)) {
  window(op, "length", length, periodic, static_cast<DType>(dtype), y, [=](double i, double last) {
    return static_cast<double>(alpha) - static_cast<double>(beta) * std::cos(2 * std::numbers::pi * i / last);
  });
}
namespace {
/// Frequencies of a transform of n points that are d apart.
void frequencies(Op& op, const In& n, const In& d, const OptIn& dtype, bool half, const Out& y) {
  const int64_t points = integer_of(op, "n", n.handle);
  const double apart = number_of(op, "d", d.handle);
  op.require(points > 0 && apart != 0, "n is {} and d {}, want points and a distance", points, apart);
  const DType type = dtype ? static_cast<DType>(integer_of(op, "dtype", dtype.handle)) : ir::type_of(*y, DType::Float);
  const int64_t count = half ? points / 2 + 1 : points;
  op.result("y", *y, {count}, type);
  std::vector<double> values;
  for (int64_t i = 0; i < count; ++i)
    values.push_back(static_cast<double>(!half && i > (points - 1) / 2 ? i - points : i) /
                     (static_cast<double>(points) * apart));
  op.launch([to = *y, values] { linalg::scatter(to, values); });
}
Dims moved_axes(const Op& op, const In& x, const OptIn& dim) {
  return dim ? ir::axes_of(op, "dim", op.integers("dim", dim.handle), x->rank) : ir::all_axes(x->rank);
}
/// Rolls each axis by half of it, down or up.
void shift(Op& op, const In& x, const OptIn& dim, bool back, const Out& y) {
  const Dims axes = moved_axes(op, x, dim);
  Dims by;
  for (int64_t d : axes) by.push_back(back ? -(x->dims[d] / 2) : x->dims[d] / 2);
  op.result_like("y", *y, *x, x->dtype);
  if (axes.empty()) return call(op, "aclnnInplaceCopy", y, x);
  call(op, "aclnnRoll", x, by, axes, y);
}
}  // namespace
ABOUT(CustFFTFreq, AICPU, "The frequencies of a Fourier transform", "傅里叶变换的采样频率")
IR_OP(CustFFTFreq, CustFFTFreq, (In, n), (In, d), (OptIn, dtype), (Out, y)) { frequencies(op, n, d, dtype, false, y); }
IR_OP(CustRFFTFreq, CustFFTFreq, (In, n), (In, d), (OptIn, dtype), (Out, y)) { frequencies(op, n, d, dtype, true, y); }
IR_OP(CustFFTShift, aclnnRoll, (In, input), (OptIn, dim), (Out, y)) { shift(op, input, dim, false, y); }
IR_OP(CustIFFTShift, aclnnRoll, (In, input), (OptIn, dim), (Out, y)) { shift(op, input, dim, true, y); }

ABOUT(CustCoalesce, AICPU,
      "MindSpore's Coalesce: places of a sparse tensor in order, each once with the sum of its values",
      "MindSpore 的 Coalesce：稀疏张量的坐标排序去重，值求和")
IR_OP(CustCoalesce, CustCoalesce, (In, x_indices), (In, x_values), (In, x_shape), (Out, y_indices), (Out, y_values),
      (Out, y_shape)) {
  op.require(x_indices->rank == 2 && x_values->rank == 1 && x_indices->dims[1] == x_values->dims[0] &&
                 x_indices->dtype == DType::Int64 && is_floating(x_values->dtype),
             "x_indices is {} and x_values {}, want INT64 [dimensions, N] and N numbers with a fraction",
             describe(*x_indices), describe(*x_values));
  op.require(x_shape->rank == 1 && x_shape->dims[0] == x_indices->dims[0] && x_shape->dtype == DType::Int64,
             "x_shape is {}, want {} values of INT64", describe(*x_shape), x_indices->dims[0]);
  op.suggest_up_to(*y_indices, x_indices->dims, 2, DType::Int64, 1);
  op.suggest_up_to(*y_values, x_values->dims, 1, x_values->dtype, 0);
  op.result_like("y_shape", *y_shape, *x_shape, DType::Int64);
  op.require(y_indices->is_contiguous() && y_indices->numel() >= x_indices->numel() && y_values->is_contiguous() &&
                 y_values->numel() >= x_values->numel(),
             "y_indices is {} and y_values {}, want room for {} values", describe(*y_indices), describe(*y_values),
             x_values->numel());
  op.work(x_indices->numel() * 64);
  op.launch([places = *x_indices, values = *x_values, shape = *x_shape, to = y_indices->as<int64_t>(), sums = *y_values,
             out_shape = *y_shape, found_places = ResultShape(y_indices.handle), found = ResultShape(y_values.handle)] {
    const int64_t dimensions = places.dims[0], count = places.dims[1];
    std::vector<int64_t> at(static_cast<size_t>(places.numel())), sizes(static_cast<size_t>(dimensions));
    if (!at.empty()) gather_to(at.data(), DType::Int64, places);
    if (!sizes.empty()) gather_to(sizes.data(), DType::Int64, shape);
    const auto place = [&](int64_t d, int64_t i) { return at[static_cast<size_t>(d * count + i)]; };
    for (int64_t d = 0; d < dimensions; ++d)
      for (int64_t i = 0; i < count; ++i)
        if (place(d, i) < 0 || place(d, i) >= sizes[static_cast<size_t>(d)])
          fail_kernel(fmt::format("coalesce: index {} of dimension {} is out of range, want 0 to {}", place(d, i), d,
                                  sizes[static_cast<size_t>(d)] - 1));
    const auto before = [&](int64_t a, int64_t b) {
      for (int64_t d = 0; d < dimensions; ++d)
        if (place(d, a) != place(d, b)) return place(d, a) < place(d, b);
      return false;
    };
    std::vector<int64_t> order(static_cast<size_t>(count)), first;
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), before);
    const std::vector<double> all = linalg::gather(values);
    std::vector<double> total;
    for (int64_t i : order) {
      if (first.empty() || before(first.back(), i)) first.push_back(i), total.push_back(0);
      total.back() += all[static_cast<size_t>(i)];
    }
    const auto n = static_cast<int64_t>(first.size());
    for (int64_t d = 0; d < dimensions; ++d)
      for (int64_t i = 0; i < n; ++i) to[d * n + i] = place(d, first[static_cast<size_t>(i)]);
    linalg::scatter(ir::part_of(sums, 0, 0, n), total);
    copy_elements(out_shape, shape);
    found_places.set({dimensions, n});
    found.set({n});
  });
}

ABOUT(CustCSRSparseMatrixToSparseTensor, AICPU,
      "Coordinates of a sparse matrix whose rows are given by where they begin", "CSR 稀疏矩阵转为坐标形式")
IR_OP(CustCSRSparseMatrixToSparseTensor, CustCSRSparseMatrixToSparseTensor, (In, x_dense_shape), (In, x_batch_pointers),
      (In, x_row_pointers), (In, x_col_indices), (In, x_values), (Out, indices), (Out, values), (Out, dense_shape)) {
  const int64_t rank = x_dense_shape->numel(), count = x_values->numel();
  op.require(rank == 2 || rank == 3, "x_dense_shape is {}, want 2 or 3 sizes", describe(*x_dense_shape));
  op.require(x_col_indices->numel() == count, "x_col_indices is {}, want a column for each of x_values, {}",
             describe(*x_col_indices), describe(*x_values));
  ir::result(op, "indices", *indices, {count, rank}, x_col_indices->dtype);
  op.result_like("values", *values, *x_values, x_values->dtype);
  op.result_like("dense_shape", *dense_shape, *x_dense_shape, x_dense_shape->dtype);
  if (op.inferring()) return;
  op.work(count * 4 + 1);
  op.launch([=, sizes = *x_dense_shape, batches = *x_batch_pointers, rows = *x_row_pointers, columns = *x_col_indices,
             from = *x_values, to = *indices, to_values = *values, to_sizes = *dense_shape] {
    const std::vector<int64_t> shape = integers_of(sizes), begins = integers_of(batches), pointers = integers_of(rows),
                               column = integers_of(columns);
    const int64_t matrices = rank == 3 ? shape[0] : 1, height = shape[static_cast<size_t>(rank - 2)];
    if (static_cast<int64_t>(begins.size()) != matrices + 1 ||
        static_cast<int64_t>(pointers.size()) != matrices * (height + 1))
      fail_kernel(fmt::format("x_batch_pointers and x_row_pointers have {} and {} elements, want {} and {}",
                              begins.size(), pointers.size(), matrices + 1, matrices * (height + 1)));
    std::vector<int64_t> made(static_cast<size_t>(count * rank));
    for (int64_t m = 0; m < matrices; ++m)
      for (int64_t r = 0; r < height; ++r) {
        const int64_t* row = pointers.data() + m * (height + 1) + r;
        const int64_t begin = begins[static_cast<size_t>(m)];
        if (row[0] < 0 || row[1] < row[0] || begin < 0 || begin > count || row[1] > count - begin)
          fail_kernel(fmt::format("row {} of matrix {} goes from {} to {} of {} values", r, m, row[0], row[1], count));
        for (int64_t i = begin + row[0]; i < begin + row[1]; ++i) {
          int64_t* at = made.data() + i * rank;
          if (rank == 3) *at++ = m;
          *at++ = r, *at = column[static_cast<size_t>(i)];
        }
      }
    write_all(to, made);
    copy_elements(to_values, from);
    copy_elements(to_sizes, sizes);
  });
}

}  // namespace updraft
