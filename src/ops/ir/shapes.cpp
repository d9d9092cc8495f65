#include "ops/ir/shapes.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>

namespace updraft::ir {

int64_t count_of(const Dims& dims) {
  return std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>());
}

void result(const Op& op, const char* name, const TensorView& out, const Dims& dims, DType type) {
  op.require(dims.size() <= static_cast<size_t>(kMaxDims), "{} has {} dimensions, the most is {}", name, dims.size(),
             kMaxDims);
  for (int64_t d : dims) op.require(d >= 0, "{} would have a dimension of {}, want 0 or more", name, d);
  op.result(name, out, dims.data(), static_cast<int>(dims.size()), type);
}

void suggest(const Op& op, const TensorView& out, const Dims& dims, DType type) {
  op.suggest(out, dims.data(), static_cast<int>(dims.size()), type);
}

int64_t axis_of(const Op& op, const char* name, int64_t axis, int rank) {
  const int64_t least = std::max(rank, 1);
  op.require(axis >= -least && axis < least, "{} is {}, want an axis of {} dimensions", name, axis, rank);
  return axis < 0 ? axis + least : axis;
}

Dims axes_of(const Op& op, const char* name, const Dims& axes, int rank) {
  Dims found;
  for (int64_t a : axes) found.push_back(axis_of(op, name, a, rank));
  std::sort(found.begin(), found.end());
  op.require(std::adjacent_find(found.begin(), found.end()) == found.end(), "{} names an axis twice", name);
  if (rank == 0) found.clear();
  return found;
}

Dims all_axes(int rank) {
  Dims axes(static_cast<size_t>(rank));
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

Dims reduced(const TensorView& x, const Dims& axes, bool keep) {
  Dims dims;
  for (int d = 0; d < x.rank; ++d) {
    const bool gone = std::find(axes.begin(), axes.end(), d) != axes.end();
    if (!gone || keep) dims.push_back(gone ? 1 : x.dims[d]);
  }
  return dims;
}

TensorView part_of(const TensorView& v, int d, int64_t begin, int64_t count, int64_t step) {
  TensorView part = v;
  part.dims[d] = count;
  part.strides[d] = v.strides[d] * step;
  if (v.data && count > 0) part.data = v.as<char>() + begin * v.strides[d] * static_cast<int64_t>(size_of(v.dtype));
  return part;
}

TensorView reshaped(Op& op, const TensorView& v, const Dims& dims) {
  op.require(count_of(dims) == v.numel() && dims.size() <= static_cast<size_t>(kMaxDims), "{} cannot have the shape {}",
             describe(v), describe_shape(dims.data(), static_cast<int>(dims.size())));
  TensorView from = v;
  if (!v.is_contiguous() && !v.empty()) {
    from = op.temporary(v.dtype, v.dims, v.rank);
    call(op, "aclnnInplaceCopy", from, v);
  }
  return TensorView::contiguous(from.data, v.dtype, dims.data(), static_cast<int>(dims.size()));
}

TensorView by_channel(const TensorView& v, int rank) {
  TensorView c = v;
  c.rank = rank;
  for (int d = 0; d < rank; ++d) {
    c.dims[d] = d == 1 ? v.numel() : 1;
    c.strides[d] = d == 1 ? (v.rank ? v.strides[v.rank - 1] : 1) : 0;
  }
  return c;
}

void copy(Op& op, const char* name, const TensorView& from, const Out& y, DType type) {
  op.result(name, *y, from.dims, from.rank, type);
  call(op, "aclnnInplaceCopy", y, from);
}
void copy(Op& op, const TensorView& from, const Out& y) { copy(op, "y", from, y, from.dtype); }

TensorView temporary(Op& op, DType type, const Dims& dims) {
  return op.temporary(type, dims.data(), static_cast<int>(dims.size()));
}

TensorView constant(Op& op, DType type, double value) {
  const TensorView one = op.temporary(type, nullptr, 0);
  call(op, "aclnnInplaceFillScalar", one, value);
  return one;
}

int64_t integer_end(DType type, bool smallest) {
  const auto ends = [smallest]<class T>(T) {
    return static_cast<int64_t>(smallest ? std::numeric_limits<T>::min() : std::numeric_limits<T>::max());
  };
  switch (type) {
    case DType::Bool: return smallest ? 0 : 1;
    case DType::Int8: return ends(int8_t());
    case DType::UInt8: return ends(uint8_t());
    case DType::Int16: return ends(int16_t());
    case DType::UInt16: return ends(uint16_t());
    case DType::Int32: return ends(int32_t());
    case DType::UInt32: return ends(uint32_t());
    case DType::UInt64: return ends(uint64_t());
    default: return ends(int64_t());
  }
}

TensorView turned(const Op& op, const char* name, const TensorView& v, bool turn) {
  op.require(v.rank >= 2, "{} is {}, want two dimensions or more", name, describe(v));
  return turn ? updraft::turned(v) : v;
}

Dims shape_from(const Op& op, const char* name, const In& shape, const TensorView& y) {
  return op.inferring() && y.dtype == DType::Undefined ? op.integers(name, shape.handle) : dims_of(y);
}

StepArgument integers_of(const Op& op, const char* name, const OptIn& tensor) {
  if (!tensor) return nullptr;
  return op.integers(name, tensor.handle);
}

void want(const Op& op, const char* name, const char* value, const char* want) {
  op.require(std::strcmp(value, want) == 0, "attribute {} is \"{}\", want \"{}\"", name, value, want);
}
void want(const Op& op, const char* name, int64_t value, int64_t want) {
  op.require(value == want, "attribute {} is {}, want {}", name, value, want);
}
void want(const Op& op, const char* name, bool value, bool want) {
  op.require(value == want, "attribute {} is {}, want {}", name, value, want);
}
void want(const Op& op, const char* name, float value, float want) {
  op.require(value == want, "attribute {} is {}, want {}", name, value, want);
}

}  // namespace updraft::ir
