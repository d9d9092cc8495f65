// What shapes become together, copies under other names, and orders of rows.
#include <algorithm>
#include <cmath>

#include "ops/ir/shapes.h"
#include "ops/linalg/dense.h"

namespace updraft {
namespace {

using ir::Dims;

/// Outputs whose values are known while planning. An operator has one launch, so they are written together.
class Values {
 public:
  void add(const Op& op, const char* name, const TensorView& y, const Dims& values, DType type) {
    ir::suggest(op, y, {static_cast<int64_t>(values.size())}, type);
    op.require(is_integral(y.dtype) && y.numel() == static_cast<int64_t>(values.size()), "{} is {}, want {} integers",
               name, describe(y), values.size());
    outputs_.emplace_back(y, values);
  }
  void write(Op& op) {
    op.launch([outputs = std::move(outputs_)] {
      for (const auto& [to, values] : outputs) linalg::scatter(to, {values.begin(), values.end()});
    });
  }

 private:
  std::vector<std::pair<TensorView, Dims>> outputs_;
};

Dims together(const Op& op, const Dims& a, const Dims& b) {
  const size_t rank = std::max(a.size(), b.size());
  Dims dims(rank);
  for (size_t i = 0; i < rank; ++i) {
    const int64_t x = i < rank - a.size() ? 1 : a[i - (rank - a.size())],
                  y = i < rank - b.size() ? 1 : b[i - (rank - b.size())];
    op.require(x == y || x == 1 || y == 1, "x1 and x2 have {} and {} in dimension {}: they do not go together", x, y,
               i);
    dims[i] = x == 1 ? y : x;
  }
  return dims;
}
/// The dimensions along which a tensor of `dims` is repeated.
Dims repeated(const Dims& dims, const Dims& all) {
  Dims axes;
  const size_t more = all.size() - dims.size();
  for (size_t d = 0; d < all.size(); ++d)
    if (d < more || (dims[d - more] == 1 && all[d] != 1)) axes.push_back(static_cast<int64_t>(d));
  return axes;
}

/// Where each of the shapes begins when tensors of them are joined along a dimension.
void offsets(Op& op, int64_t axis, const Tensors& x, const OutTensors& y) {
  op.require(x.size() > 0 && x.size() == y.size(), "there are {} inputs and {} outputs", x.size(), y.size());
  int64_t begin = 0;
  Values starts;
  for (size_t i = 0; i < x.size(); ++i) {
    const Dims shape = op.integers("x", x.handle->items[i]);
    const int64_t at = ir::axis_of(op, "concat_dim", axis, static_cast<int>(shape.size()));
    Dims values(shape.size());
    values[static_cast<size_t>(at)] = begin;
    starts.add(op, "y", y.handle->items[i]->view, values, x[i].dtype);
    begin += shape[static_cast<size_t>(at)];
  }
  starts.write(op);
}

}  // namespace

ABOUT(BroadcastArgs, AICPU, "The shape that tensors of two shapes have together", "两个形状广播后的形状")
IR_OP(BroadcastArgs, BroadcastArgs, (In, x1), (In, x2), (Out, y)) {
  Values values;
  values.add(op, "y", *y, together(op, op.integers("x1", x1.handle), op.integers("x2", x2.handle)), x1->dtype);
  values.write(op);
}
ABOUT(BroadcastGradientArgs, AICPU, "The dimensions over which gradients of two shapes are summed",
      "两个形状的梯度各自需要求和的维度")
IR_OP(BroadcastGradientArgs, BroadcastGradientArgs, (In, x1), (In, x2), (Out, y1), (Out, y2)) {
  const Dims a = op.integers("x1", x1.handle), b = op.integers("x2", x2.handle), all = together(op, a, b);
  Values values;
  values.add(op, "y1", *y1, repeated(a, all), x1->dtype);
  values.add(op, "y2", *y2, repeated(b, all), x2->dtype);
  values.write(op);
}
ABOUT(ConcatOffset, AICPU, "Where each tensor begins when tensors of these shapes are joined", "拼接时各张量的起始偏移")
IR_OP(ConcatOffset, ConcatOffset, (In, concat_dim), (Tensors, x), (OutTensors, y), (Int, N)) {
  (void)N;
  offsets(op, integer_of(op, "concat_dim", concat_dim.handle), x, y);
}
IR_OP(ConcatOffsetD, ConcatOffset, (Tensors, x), (OutTensors, y), (Int, concat_dim), (Int, N)) {
  (void)N;
  offsets(op, concat_dim, x, y);
}
ABOUT(CustConcatOffset, AICPU, "Where each tensor begins when these tensors are joined", "拼接这些张量时各自的起始偏移")
IR_OP(CustConcatOffset, CustConcatOffset, (Tensors, x), (OutTensors, y), (Int, N), (Int, axis)) {
  (void)N;
  op.require(x.size() > 0, "there are no inputs");
  // MindSpore has one output with a row for each tensor.
  const int rank = x[0].rank;
  const auto at = static_cast<size_t>(ir::axis_of(op, "axis", axis, rank));
  Dims rows;
  int64_t begin = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    op.require(x[i].rank == rank, "input {} is {}, want {} dimensions as the first has", i, describe(x[i]), rank);
    Dims row(static_cast<size_t>(rank));
    row[at] = begin;
    rows.insert(rows.end(), row.begin(), row.end());
    begin += x[i].dims[at];
  }
  Values starts;
  op.require(y.size() == 1 || y.size() == x.size(), "there are {} outputs for {} inputs", y.size(), x.size());
  const size_t each = rows.size() / y.size();
  for (size_t i = 0; i < y.size(); ++i)
    starts.add(op, "y", y.handle->items[i]->view,
               Dims(rows.begin() + static_cast<int64_t>(i * each), rows.begin() + static_cast<int64_t>((i + 1) * each)),
               DType::Int64);
  starts.write(op);
}
ABOUT(GatherShapes, AICPU, "Sizes of several tensors, each axis named by tensor and dimension",
      "按（张量，维度）取若干张量的尺寸")
IR_OP(GatherShapes, GatherShapes, (Tensors, x), (Out, shape), (IntLists, axes), (Int, dtype, 3)) {
  Dims sizes;
  for (const auto& axis : *axes) {
    op.require(axis.size() == 2 && axis[0] >= 0 && axis[0] < static_cast<int64_t>(x.size()),
               "an axis has {} numbers, want a tensor and a dimension", axis.size());
    const TensorView& of = x[static_cast<size_t>(axis[0])];
    sizes.push_back(of.dims[ir::axis_of(op, "axes", axis[1], of.rank)]);
  }
  Values values;
  values.add(op, "shape", *shape, sizes, static_cast<DType>(dtype));
  values.write(op);
}

IR_OP(Snapshot, Identity, (In, x), (Out, y)) { ir::copy(op, *x, y); }
IR_OP(PreventGradient, Identity, (In, x), (Out, y), (Text, message, "")) {
  (void)message;  // nothing is differentiated here
  ir::copy(op, *x, y);
}
IR_OP(PlaceholderWithDefault, Identity, (In, x), (Out, y), (Ints, shape)) {
  (void)shape;  // what x may be
  ir::copy(op, *x, y);
}
IR_OP(ReadVariableOp, Identity, (In, x), (Out, y), (Int, dtype, 3)) {
  (void)dtype;  // that of x
  ir::copy(op, *x, y);
}
ABOUT(Copy, Vector, "Each y is x", "将 x 拷贝为多份")
IR_OP(Copy, Copy, (In, x), (OutTensors, y), (Int, N)) {
  op.require(static_cast<int64_t>(y.size()) == N, "there are {} outputs, attribute N is {}", y.size(), N);
  for (size_t i = 0; i < y.size(); ++i) ir::copy(op, *x, Out{y.handle->items[i]});
}
IR_OP(TransShape, Reshape, (In, x), (Out, y), (Ints, outShape, nullptr)) {
  op.require(ir::count_of(*outShape) == x->numel(), "x is {}, attribute outShape has {} elements", describe(*x),
             ir::count_of(*outShape));
  ir::result(op, "y", *y, *outShape, x->dtype);
  call(op, "aclnnInplaceCopy", y, ir::reshaped(op, *x, *outShape));
}
ABOUT(CheckNumerics, AICPU, "y = x; NaN and infinities are a failure with the given message",
      "y = x；含 NaN 或无穷时按给定信息报错")
IR_OP(CheckNumerics, CheckNumerics, (In, x), (Out, y), (Text, message)) {
  ir::copy(op, *x, y);
  op.launch([from = *x, text = std::string(message)] {
    for (double v : linalg::gather(from))
      if (!std::isfinite(v))
        throw Error(code::kRtAicpuException, "CheckNumerics: {}: x has {}", text,
                    std::isnan(v) ? "NaN" : "an infinity");
  });
}

ABOUT(Meshgrid, Vector, "Coordinates of a grid: each y repeats its vector along the other dimensions", "生成网格坐标")
IR_OP(Meshgrid, Meshgrid, (Tensors, x), (OutTensors, y), (Text, indexing, "")) {
  const std::string_view word = indexing;
  op.require(word == "xy" || word == "ij" || word.empty(), "attribute indexing is \"{}\", want xy or ij", word);
  op.require(x.size() > 0 && x.size() == y.size(), "there are {} inputs and {} outputs", x.size(), y.size());
  const size_t n = x.size();
  const auto place = [&](size_t i) { return word == "xy" && n > 1 && i < 2 ? 1 - i : i; };
  Dims dims(n);
  for (size_t i = 0; i < n; ++i) {
    op.require(x[i].rank <= 1, "x is {}, want vectors", describe(x[i]));
    dims[place(i)] = x[i].numel();
  }
  for (size_t i = 0; i < n; ++i) {
    Dims own(n, 1);
    own[place(i)] = x[i].numel();
    const Out out{y.handle->items[i]};
    ir::copy(op, "y", ir::reshaped(op, x[i], own).expand(dims.data(), static_cast<int>(n)), out, x[i].dtype);
  }
}
ABOUT(ReverseSequence, Vector, "x with the first seq_lengths elements of each sequence in reverse",
      "将各序列的前 seq_lengths 个元素反转")
IR_OP(ReverseSequence, ReverseSequence, (In, x), (In, seq_lengths), (Out, y), (Int, seq_dim), (Int, batch_dim, 0)) {
  const auto steps = static_cast<int>(ir::axis_of(op, "seq_dim", seq_dim, x->rank));
  const auto batches = static_cast<int>(ir::axis_of(op, "batch_dim", batch_dim, x->rank));
  op.require(steps != batches, "attributes seq_dim and batch_dim are both {}", steps);
  op.require_shape("seq_lengths", *seq_lengths, &x->dims[batches], 1);
  op.result_like("y", *y, *x, x->dtype);
  op.work(x->numel());
  op.launch([=, from = *x, lengths = *seq_lengths, to = *y] {
    copy_elements(to, from);
    const std::vector<double> length = linalg::gather(lengths);
    for (int64_t b = 0; b < from.dims[batches]; ++b) {
      const auto n = static_cast<int64_t>(length[static_cast<size_t>(b)]);
      if (n < 0 || n > from.dims[steps])
        throw Error(code::kRtAicpuException, "ReverseSequence: seq_lengths has {} for a sequence of {}", n,
                    from.dims[steps]);
      const TensorView one = ir::part_of(from, batches, b, 1), out = ir::part_of(to, batches, b, 1);
      for (int64_t t = 0; t < n; ++t)
        copy_elements(ir::part_of(out, steps, t, 1), ir::part_of(one, steps, n - 1 - t, 1));
    }
  });
}
ABOUT(InvertPermutation, AICPU, "The permutation that undoes x", "x 的逆排列")
IR_OP(InvertPermutation, InvertPermutation, (In, x), (Out, y)) {
  op.require(x->rank == 1, "x is {}, want a vector", describe(*x));
  op.result_like("y", *y, *x, x->dtype);
  op.launch([from = *x, to = *y] {
    const std::vector<double> at = linalg::gather(from);
    std::vector<double> places(at.size(), -1);
    for (size_t i = 0; i < at.size(); ++i) {
      if (at[i] < 0 || at[i] >= static_cast<double>(at.size()) || places[static_cast<size_t>(at[i])] >= 0)
        throw Error(code::kRtAicpuException, "InvertPermutation: x is no permutation: it has {} in place {}", at[i], i);
      places[static_cast<size_t>(at[i])] = static_cast<double>(i);
    }
    linalg::scatter(to, places);
  });
}
ABOUT(UnravelIndex, AICPU, "The coordinates of places in a tensor of the given dims, a column each",
      "将扁平索引化为各维坐标，每列一个")
IR_OP(UnravelIndex, UnravelIndex, (In, indices), (In, dims), (Out, y)) {
  const Dims sizes = op.integers("dims", dims.handle);
  op.require(indices->rank <= 1, "indices is {}, want a vector", describe(*indices));
  Dims shape = {static_cast<int64_t>(sizes.size())};
  if (indices->rank == 1) shape.push_back(indices->numel());
  ir::result(op, "y", *y, shape, indices->dtype);
  op.launch([=, from = *indices, to = *y] {
    const std::vector<double> flat = linalg::gather(from);
    std::vector<double> places(flat.size() * sizes.size());
    for (size_t i = 0; i < flat.size(); ++i) {
      auto left = static_cast<int64_t>(flat[i]);
      if (left < 0 || left >= ir::count_of(sizes))
        throw Error(code::kRtAicpuException, "UnravelIndex: index {} does not fit into the {} elements of dims", left,
                    ir::count_of(sizes));
      for (size_t d = sizes.size(); d-- > 0; left /= sizes[d])
        places[d * flat.size() + i] = static_cast<double>(left % sizes[d]);
    }
    linalg::scatter(to, places);
  });
}

}  // namespace updraft
