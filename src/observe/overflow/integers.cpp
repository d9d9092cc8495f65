#include "observe/overflow/integers.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <optional>
#include <string_view>

#include "tensor/dtype.h"

namespace updraft::overflow {
namespace {

__extension__ using Wide = __int128;  // holds every sum and product of two 64-bit numbers

struct Range {
  Wide least, most;
};
template <class T>
Range range_of() {
  return {std::numeric_limits<T>::min(), std::numeric_limits<T>::max()};
}
/// Nothing for types that are no integers.
std::optional<Range> range_of(DType type) {
  switch (type) {
    case DType::Int8: return range_of<int8_t>();
    case DType::Int16: return range_of<int16_t>();
    case DType::Int32: return range_of<int32_t>();
    case DType::Int64: return range_of<int64_t>();
    case DType::UInt8: return range_of<uint8_t>();
    case DType::UInt16: return range_of<uint16_t>();
    case DType::UInt32: return range_of<uint32_t>();
    case DType::UInt64: return range_of<uint64_t>();
    default: return {};
  }
}

template <class T>
T read(const void* data, int64_t at) {
  T value;
  std::memcpy(&value, static_cast<const T*>(data) + at, sizeof value);
  return value;
}
Wide element(const void* data, DType type, int64_t at) {
  switch (type) {
    case DType::Int8: return read<int8_t>(data, at);
    case DType::Int16: return read<int16_t>(data, at);
    case DType::Int32: return read<int32_t>(data, at);
    case DType::Int64: return read<int64_t>(data, at);
    case DType::UInt8:
    case DType::Bool: return read<uint8_t>(data, at);
    case DType::UInt16: return read<uint16_t>(data, at);
    case DType::UInt32: return read<uint32_t>(data, at);
    default: return read<uint64_t>(data, at);
  }
}

/// An operand, spread over the dimensions of the result.
struct Operand {
  const void* data = nullptr;
  DType type = DType::Undefined;
  std::array<int64_t, kMaxDims> strides{};
  bool is_integer() const { return type == DType::Bool || range_of(type).has_value(); }
};

bool spread(const TensorView& view, const TensorView& over, Operand& to) {
  to.data = view.data;
  to.type = view.dtype;
  to.strides.fill(0);
  if (view.rank > over.rank) return false;
  for (int i = 0; i < view.rank; ++i) {
    const int at = over.rank - view.rank + i;
    if (view.dims[i] == over.dims[at]) to.strides[static_cast<size_t>(at)] = view.strides[i];
    else if (view.dims[i] != 1) return false;
  }
  return true;
}

/// True where `test(a, b)` holds for some element of the result.
template <class Test>
bool any(const TensorView& over, const Operand& a, const Operand* b, Test&& test) {
  std::array<int64_t, kMaxDims> index{};
  for (int i = 0; i < over.rank; ++i)
    if (over.dims[i] == 0) return false;
  int64_t at_a = 0, at_b = 0;
  while (true) {
    if (test(at_a, at_b)) return true;
    int d = over.rank - 1;
    for (; d >= 0; --d) {
      const auto s = static_cast<size_t>(d);
      at_a += a.strides[s];
      if (b) at_b += b->strides[s];
      if (++index[s] < over.dims[d]) break;
      index[s] = 0;
      at_a -= a.strides[s] * over.dims[d];
      if (b) at_b -= b->strides[s] * over.dims[d];
    }
    if (d < 0) return false;
  }
}

enum class Kind { None, Add, Sub, Mul, Neg, Cast };
Kind kind_of(std::string_view name) {
  if (name.starts_with("aclnn")) name.remove_prefix(5);
  if (name.starts_with("Inplace")) name.remove_prefix(7);
  if (name == "Add" || name == "Adds" || name == "AddV2" || name == "AddV3") return Kind::Add;
  if (name == "Sub" || name == "Subs") return Kind::Sub;
  if (name == "Mul" || name == "Muls") return Kind::Mul;
  if (name == "Neg") return Kind::Neg;
  if (name == "Cast" || name == "Copy") return Kind::Cast;
  return Kind::None;
}

bool negative_float(const void* data, DType type, int64_t at) {
  if (type == DType::Float) return read<float>(data, at) <= -1;
  if (type == DType::Double) return read<double>(data, at) <= -1;
  if (type != DType::Float16 && type != DType::BFloat16) return false;
  const auto bits = read<uint16_t>(data, at);
  const uint16_t one = type == DType::Float16 ? 0x3C00 : 0x3F80;  // larger magnitudes are larger numbers
  return (bits & 0x8000) != 0 && (bits & 0x7FFF) >= one;
}

}  // namespace

uint64_t integer_status(const TaskEvent& task) {
  const Kind kind = kind_of(task.name);
  if (kind == Kind::None) return 0;
  const TensorView* result = nullptr;
  std::array<Operand, 2> operands;
  size_t count = 0;
  Wide alpha = 1;
  for (const Argument& argument : task.arguments)
    if (const TensorArgument* t = argument.tensor(); t && is_written(argument.direction) && !result) result = &t->view;
  if (!result) return 0;
  const auto range = range_of(result->dtype);
  if (!range) return 0;
  for (const Argument& argument : task.arguments) {
    if (argument.direction == Direction::Out) continue;
    const std::string_view name = argument.name;
    const auto* scalar = std::get_if<ScalarArgument>(&argument.value);
    if (scalar && name == "alpha") {
      if (!range_of(scalar->dtype) && scalar->dtype != DType::Bool) return 0;
      alpha = element(scalar->bytes, scalar->dtype, 0);
    } else if (count < operands.size()) {
      if (const TensorArgument* t = argument.tensor()) {
        // what a copy writes over is not read
        if (kind == Kind::Cast && argument.direction == Direction::InOut) continue;
        if (!spread(t->view, *result, operands[count])) return 0;
        ++count;
      } else if (scalar) {
        operands[count].data = scalar->bytes;
        operands[count].type = scalar->dtype;
        ++count;
      }
    }
  }
  if (count == 0) return 0;
  const Operand &a = operands[0], &b = operands[1];
  const auto outside = [&](Wide value) { return value < range->least || value > range->most; };
  switch (kind) {
    case Kind::Cast: {
      const bool is_unsigned = range->least == 0;
      return is_unsigned &&
                     any(*result, a, nullptr, [&](int64_t i, int64_t) { return negative_float(a.data, a.type, i); })
                 ? kNegativeToUnsigned
                 : 0;
    }
    case Kind::Neg:
      if (!a.is_integer() || range->least == 0) return 0;
      return any(*result, a, nullptr, [&](int64_t i, int64_t) { return outside(-element(a.data, a.type, i)); })
                 ? kNegationOfSmallest
                 : 0;
    default: break;
  }
  if (count < 2 || !a.is_integer() || !b.is_integer()) return 0;
  const bool found = any(*result, a, &b, [&](int64_t i, int64_t j) {
    const Wide x = element(a.data, a.type, i), y = element(b.data, b.type, j);
    if (kind == Kind::Mul) return outside(x * y);
    return outside(kind == Kind::Add ? x + alpha * y : x - alpha * y);
  });
  return found ? kIntegerArithmetic : 0;
}

}  // namespace updraft::overflow
