// Elements by their places.
#include <algorithm>
#include <numeric>

#include "frontends/onnx/convert/families.h"

namespace updraft::onnx {
namespace {

void gather(Conversion& c) {
  c.result("GatherV2", {c.in(0), c.in(1), c.integer_scalar(c.integer("axis", 0))}, {{"negative_index_support", true}});
}

/// Indices from 0 on: negative ones count from the end of the dimension.
Endpoint from_zero(Conversion& c, Endpoint indices, Endpoint sizes) {
  if (const Tensor* value = c.value(indices)) {
    const auto list = value->integers();
    if (std::ranges::all_of(list, [](int64_t i) { return i >= 0; })) return indices;
  }
  const DType type = c.type(indices);
  return c.emit("SelectV2",
                {c.emit("Less", {indices, c.scalar(0, type)}), c.add(indices, c.cast(sizes, type)), indices});
}
Endpoint from_zero(Conversion& c, Endpoint indices, Endpoint data, int64_t axis) {
  return from_zero(c, indices, c.gather(c.shape(data), c.integer_scalar(axis), 0));
}
/// The same for indices [..., k] of the first k dimensions.
Endpoint places_from_zero(Conversion& c, Endpoint indices, Endpoint data) {
  const int64_t depth = c.size(indices, c.rank(indices) - 1, "indices");
  c.require(depth <= c.rank(data), "indices are {} for data {}", describe(c.desc(indices)), describe(c.dims(data)));
  Dims first(static_cast<size_t>(depth));
  std::iota(first.begin(), first.end(), 0);
  return from_zero(c, indices, c.gather(c.shape(data), c.ints(first), 0));
}

void gather_elements(Conversion& c) {
  const Endpoint x = c.in(0);
  const int64_t axis = c.axis(c.integer("axis", 0), c.rank(x));
  c.result("GatherElements", {x, from_zero(c, c.in(1), x, axis)}, {{"dim", axis}});
}

/// The first dimensions of both may be a batch: then the places get them in front.
Endpoint with_batch(Conversion& c, Endpoint indices, int64_t batch) {
  if (batch == 0) return indices;
  const Dims& dims = c.dims(indices);
  int64_t count = 1;
  for (size_t d = 0; d + 1 < dims.size(); ++d) {
    c.size(indices, static_cast<int64_t>(d), "indices, with batch_dims,");
    count = c.few(count * c.few(dims[d], "indices"), "indices");
  }
  std::vector<double> values;
  for (int64_t i = 0; i < count; ++i) {
    int64_t rest = i;
    Dims at(dims.size() - 1);
    for (size_t d = dims.size() - 1; d-- > 0;) {
      at[d] = rest % dims[d];
      rest /= dims[d];
    }
    for (int64_t d = 0; d < batch; ++d) values.push_back(static_cast<double>(at[static_cast<size_t>(d)]));
  }
  Dims shape = dims;
  shape.back() = batch;
  return c.concat({c.constant(numbers_tensor(values, shape, c.type(indices))), indices}, -1);
}
void gather_nd(Conversion& c) {
  const int64_t batch = c.integer("batch_dims", 0);
  const int64_t last = c.rank(c.in(1)) - 1;
  c.require(batch >= 0 && batch <= std::max<int64_t>(0, last), "attribute batch_dims is {}, indices have {} dimensions",
            batch, last + 1);
  c.result("GatherNd", {c.in(0), with_batch(c, c.in(1), batch)}, {{"negative_index_support", true}});
}

void scatter_elements(Conversion& c) {
  const Endpoint x = c.in(0);
  const int64_t axis = c.axis(c.integer("axis", 0), c.rank(x));
  const std::string reduction = c.text("reduction", "none");
  c.result("ScatterElements", {x, from_zero(c, c.in(1), x, axis), c.in(2)}, {{"axis", axis}, {"reduction", reduction}});
}

/// By rows: the first dimensions of the data as one, and a place in it for each update.
void scatter_rows(Conversion& c, const std::string& reduction) {
  const Endpoint x = c.in(0), indices = c.in(1), updates = c.in(2);
  const int64_t depth = c.size(indices, c.rank(indices) - 1, "indices");
  const Dims& dims = c.dims(x);
  c.require(depth >= 1 && depth <= c.rank(x), "indices are {} for data {}", describe(c.desc(indices)), describe(dims));
  Dims steps(static_cast<size_t>(depth), 1);
  int64_t rows = 1, width = 1;
  for (int64_t d = depth - 1; d >= 0; --d) {
    steps[static_cast<size_t>(d)] = rows;
    rows *= c.size(x, d, "the data, with a reduction,");
  }
  for (int64_t d = depth; d < c.rank(x); ++d) width *= c.size(x, d, "the data, with a reduction,");
  const Endpoint sizes = c.ints(Dims(dims.begin(), dims.begin() + depth));
  const Endpoint wrapped = c.emit("FloorMod", {c.cast(indices, DType::Int64), sizes});
  const Endpoint place = c.emit("ReduceSum", {c.mul(wrapped, c.ints(steps)), c.ints({-1})});
  const Endpoint flat = c.reshape(updates, Dims{-1, width});
  const Endpoint at = c.emit("Expand", {c.reshape(place, Dims{-1, 1}), c.shape(flat)});
  const Endpoint y = c.emit("ScatterElements", {c.reshape(x, Dims{rows, width}), at, flat},
                            {{"axis", int64_t{0}}, {"reduction", reduction}});
  c.result("Reshape", {y, c.shape(x)});
}

void scatter_nd(Conversion& c) {
  const std::string reduction = c.text("reduction", "none");
  if (reduction != "none" && reduction != "add") return scatter_rows(c, reduction);
  const Endpoint places = places_from_zero(c, c.in(1), c.in(0));
  c.result(reduction == "none" ? "TensorScatterUpdate" : "TensorScatterAdd", {c.in(0), places, c.in(2)});
}

void one_hot(Conversion& c) {
  Endpoint at = c.in(0), depth = c.in(1);
  const Endpoint values = c.in(2);
  const int64_t axis = c.axis(c.integer("axis", -1), c.rank(at) + 1);
  if (!is_integral(c.type(at)) || c.type(at) != DType::Int64) at = c.cast(at, DType::Int64);
  depth = c.cast(depth, DType::Int64);
  if (c.rank(depth) == 1) depth = c.squeeze(depth, {0});
  // Negative ones count from the end; what is outside has no place, and one element more takes it.
  const Endpoint zero = c.integer_scalar(0);
  const Endpoint shifted = c.emit("SelectV2", {c.emit("Less", {at, zero}), c.add(at, depth), at});
  const Endpoint outside =
      c.emit("LogicalOr", {c.emit("Less", {shifted, zero}), c.emit("GreaterEqual", {shifted, depth})});
  const Endpoint place = c.emit("SelectV2", {outside, depth, shifted});
  const Endpoint off = c.gather(values, zero, 0), on = c.gather(values, c.integer_scalar(1), 0);
  const Endpoint wide = c.emit("OneHot", {place, c.add(depth, 1), on, off}, {{"axis", axis}});
  c.result("StridedSliceV2", {wide, c.ints({0}), c.ints({-1}), c.ints({axis}), c.ints({1})});
}

void triangle(Conversion& c) {
  const Endpoint x = c.in(0), k = c.maybe(1);
  const bool upper = c.flag("upper", true);
  const Tensor* value = k ? c.value(k) : nullptr;
  if (!k || value) {
    c.result(upper ? "Triu" : "Tril", {x}, {{"diagonal", value ? value->integers().at(0) : int64_t{0}}});
    return;
  }
  // Which diagonal is known when the graph runs: column - row is compared with it.
  const Endpoint shape = c.shape(x);
  auto numbers = [&](int64_t d, int64_t axis) {
    const Endpoint n = c.gather(shape, c.integer_scalar(d), 0);
    return c.unsqueeze(c.emit("Range", {c.integer_scalar(0), n, c.integer_scalar(1)}), {axis});
  };
  const Endpoint diagonal = c.sub(numbers(-1, 0), numbers(-2, 1));
  const Endpoint at = c.reshape(c.cast(k, DType::Int64), Dims{});
  c.result("SelectV2", {c.emit(upper ? "GreaterEqual" : "LessEqual", {diagonal, at}), x, c.scalar_like(0, x)});
}

void non_zero(Conversion& c) { c.result("NonZero", {c.in(0)}, {{"transpose", true}}); }

/// Elements where the condition holds, which may end before the axis does.
void compress(Conversion& c) {
  Endpoint x = c.in(0);
  int64_t axis = c.integer("axis", 0);
  if (!c.has("axis")) {
    x = c.reshape(x, Dims{-1});
    axis = 0;
  }
  const Endpoint at = c.squeeze(c.emit("NonZero", {c.in(1)}, {{"transpose", false}}), {1});
  c.result("GatherV2", {x, at, c.integer_scalar(axis)}, {{"negative_index_support", true}});
}

/// The first elements of each sequence turned around; the others stay.
void reverse_sequence(Conversion& c) {
  const Endpoint x = c.in(0);
  const int64_t rank = c.rank(x), time = c.axis(c.integer("time_axis", 0), rank),
                batch = c.axis(c.integer("batch_axis", 1), rank);
  c.require(time != batch && rank >= 2, "time_axis and batch_axis are both {}", time);
  Dims along(static_cast<size_t>(rank), 1), each(static_cast<size_t>(rank), 1);
  along[static_cast<size_t>(time)] = -1;
  each[static_cast<size_t>(batch)] = -1;
  const Endpoint steps = c.gather(c.shape(x), c.integer_scalar(time), 0);
  const Endpoint t = c.reshape(c.emit("Range", {c.integer_scalar(0), steps, c.integer_scalar(1)}), along);
  const Endpoint length = c.reshape(c.cast(c.in(1), DType::Int64), each);
  const Endpoint from = c.emit("SelectV2", {c.emit("Less", {t, length}), c.sub(c.add(length, -1), t), t});
  c.result("GatherElements", {x, c.emit("Expand", {from, c.shape(x)})}, {{"dim", time}});
}

constexpr Row kRows[] = {
    {"ReverseSequence", 10, reverse_sequence, "GatherElements"},
    {"Compress", 9, compress, "NonZero, GatherV2"},
    {"NonZero", 9, non_zero, "NonZero"},
    {"Gather", 1, gather, "GatherV2"},
    {"GatherElements", 11, gather_elements, "GatherElements"},
    {"GatherND", 11, gather_nd, "GatherNd"},
    {"OneHot", 9, one_hot, "OneHot"},
    {"Scatter", 9, scatter_elements, "ScatterElements"},
    {"ScatterElements", 11, scatter_elements, "ScatterElements"},
    {"ScatterND", 11, scatter_nd, "TensorScatterUpdate, TensorScatterAdd, ScatterElements"},
    {"Trilu", 14, triangle, "Triu, Tril"},
};

}  // namespace

std::span<const Row> index_rows() { return kRows; }

}  // namespace updraft::onnx
