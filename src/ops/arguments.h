// The types that stand in an operator's parameter list. Each is a single pointer or number, which the C ABI passes like
// the pointer or number itself; each says what it holds, in which direction, and whether it may be absent.
#pragma once
#include <cstdint>
#include <type_traits>
#include <vector>

#include "ops/handles.h"
#include "ops/parameter.h"

namespace updraft {

/// A tensor that is read; never null.
struct In {
  static constexpr Kind kKind = Kind::Tensor;
  static constexpr Direction kDirection = Direction::In;
  static constexpr bool kOptional = false;
  const aclTensor* handle;
  const TensorView& operator*() const { return handle->view; }
  const TensorView* operator->() const { return &handle->view; }
};
/// A tensor that may be absent (null handle).
struct OptIn {
  static constexpr Kind kKind = Kind::Tensor;
  static constexpr Direction kDirection = Direction::In;
  static constexpr bool kOptional = true;
  const aclTensor* handle;
  explicit operator bool() const { return handle != nullptr; }
  const TensorView& operator*() const { return handle->view; }
  const TensorView* operator->() const { return &handle->view; }
};
/// A tensor that is written; never null.
struct Out {
  static constexpr Kind kKind = Kind::Tensor;
  static constexpr Direction kDirection = Direction::Out;
  static constexpr bool kOptional = false;
  aclTensor* handle;
  const TensorView& operator*() const { return handle->view; }
  const TensorView* operator->() const { return &handle->view; }
};
struct OptOut {
  static constexpr Kind kKind = Kind::Tensor;
  static constexpr Direction kDirection = Direction::Out;
  static constexpr bool kOptional = true;
  aclTensor* handle;
  explicit operator bool() const { return handle != nullptr; }
  const TensorView& operator*() const { return handle->view; }
  const TensorView* operator->() const { return &handle->view; }
};
/// A tensor that is read and written.
struct InOut : Out {
  static constexpr Direction kDirection = Direction::InOut;
};
struct OptInOut : OptOut {
  static constexpr Direction kDirection = Direction::InOut;
};

/// An element of a list; throws 161001 when it is null, 161002 when the list is too short.
const TensorView& view_of(const aclTensorList& list, size_t i);

/// A list of tensors that are read. Elements may be null (indexing passes absent indices so).
struct Tensors {
  static constexpr Kind kKind = Kind::Tensors;
  static constexpr Direction kDirection = Direction::In;
  static constexpr bool kOptional = false;
  const aclTensorList* handle;
  size_t size() const { return handle->items.size(); }
  const aclTensor* item(size_t i) const { return handle->items[i]; }
  const TensorView& operator[](size_t i) const { return view_of(*handle, i); }
};
struct OptTensors {
  static constexpr Kind kKind = Kind::Tensors;
  static constexpr Direction kDirection = Direction::In;
  static constexpr bool kOptional = true;
  const aclTensorList* handle;
  explicit operator bool() const { return handle != nullptr; }
  size_t size() const { return handle ? handle->items.size() : 0; }
  const aclTensor* item(size_t i) const { return handle->items[i]; }
  const TensorView& operator[](size_t i) const { return view_of(*handle, i); }
};
struct OutTensors : Tensors {
  static constexpr Direction kDirection = Direction::Out;
};
struct OptOutTensors : OptTensors {
  static constexpr Direction kDirection = Direction::Out;
};
struct InOutTensors : Tensors {
  static constexpr Direction kDirection = Direction::InOut;
};
struct OptInOutTensors : OptTensors {
  static constexpr Direction kDirection = Direction::InOut;
};

struct Scalar {
  static constexpr Kind kKind = Kind::Scalar;
  static constexpr bool kOptional = false;
  const aclScalar* handle;
  const aclScalar& operator*() const { return *handle; }
  const aclScalar* operator->() const { return handle; }
};
struct OptScalar {
  static constexpr Kind kKind = Kind::Scalar;
  static constexpr bool kOptional = true;
  const aclScalar* handle;
  explicit operator bool() const { return handle != nullptr; }
  const aclScalar& operator*() const { return *handle; }
  const aclScalar* operator->() const { return handle; }
};
struct Scalars {
  static constexpr Kind kKind = Kind::Scalars;
  static constexpr bool kOptional = false;
  const aclScalarList* handle;
  size_t size() const { return handle->items.size(); }
  const aclScalar& operator[](size_t i) const { return *handle->items[i]; }
};

/// An element of an array of the client; throws 161002 when the array is too short.
[[noreturn]] void too_short(size_t size, size_t i);
template <class T>
T element(const std::vector<T>& values, size_t i) {
  if (i >= values.size()) too_short(values.size(), i);
  return values[i];
}
struct Ints {
  static constexpr Kind kKind = Kind::Ints;
  static constexpr bool kOptional = false;
  const aclIntArray* handle;
  const std::vector<int64_t>& operator*() const { return handle->values; }
  const std::vector<int64_t>* operator->() const { return &handle->values; }
  int64_t operator[](size_t i) const { return element(handle->values, i); }
  size_t size() const { return handle->values.size(); }
};
struct OptInts {
  static constexpr Kind kKind = Kind::Ints;
  static constexpr bool kOptional = true;
  const aclIntArray* handle;
  explicit operator bool() const { return handle != nullptr; }
  const std::vector<int64_t>& operator*() const { return handle->values; }
  const std::vector<int64_t>* operator->() const { return &handle->values; }
};
struct Bools {
  static constexpr Kind kKind = Kind::Bools;
  static constexpr bool kOptional = false;
  const aclBoolArray* handle;
  bool operator[](size_t i) const { return element(handle->values, i) != 0; }
  size_t size() const { return handle->values.size(); }
};
struct OptBools {
  static constexpr Kind kKind = Kind::Bools;
  static constexpr bool kOptional = true;
  const aclBoolArray* handle;
  explicit operator bool() const { return handle != nullptr; }
};

struct Floats {
  static constexpr Kind kKind = Kind::Floats;
  static constexpr bool kOptional = false;
  const aclFloatArray* handle;
  const std::vector<float>& operator*() const { return handle->values; }
  float operator[](size_t i) const { return element(handle->values, i); }
  size_t size() const { return handle->values.size(); }
};
/// Attributes that only graph operators have.
struct Texts {
  const std::vector<std::string>* values;
  const std::vector<std::string>& operator*() const { return *values; }
};
struct IntLists {
  const std::vector<std::vector<int64_t>>* values;
  const std::vector<std::vector<int64_t>>& operator*() const { return *values; }
};

using Text = const char*;
using Bool = bool;
using Int = int64_t;
using UInt = uint64_t;
using Int32 = int32_t;
using Int8 = int8_t;
using Double = double;
using Float = float;
/// aclDataType as an int of the ABI.
struct Type {
  int32_t value;
  operator DType() const { return static_cast<DType>(value); }
};

// --- from and to values --------------------------------------------------------------------------------------
template <class T>
concept HandleArgument = requires(T v) { v.handle; };

template <HandleArgument T>
constexpr Value value_of(T v) {
  return Value(static_cast<const void*>(v.handle));
}
constexpr Value value_of(Type v) { return Value(v.value); }
template <class T>
  requires std::is_arithmetic_v<T>
constexpr Value value_of(T v) {
  return Value(v);
}
inline Value value_of(Texts v) { return Value(static_cast<const void*>(v.values)); }
inline Value value_of(IntLists v) { return Value(static_cast<const void*>(v.values)); }
inline Value value_of(Text v) { return Value(static_cast<const void*>(v)); }

template <class T>
T argument_of(const Value& v) {
  if constexpr (HandleArgument<T>) {
    T made{};
    made.handle = static_cast<decltype(made.handle)>(const_cast<void*>(v.pointer()));
    return made;
  } else if constexpr (std::is_same_v<T, Type>) {
    return Type{static_cast<int32_t>(v.integer())};
  } else if constexpr (std::is_same_v<T, Text>) {
    return v.text() ? v.text() : "";  // left out: the operator's usual choice, or it refuses
  } else if constexpr (std::is_same_v<T, Texts> || std::is_same_v<T, IntLists>) {
    return T{static_cast<decltype(T::values)>(v.pointer())};
  } else if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(v.real());
  } else {
    return static_cast<T>(v.integer());
  }
}

template <class T>
constexpr Kind kind_of() {
  if constexpr (HandleArgument<T>) return T::kKind;
  else if constexpr (std::is_same_v<T, Text>) return Kind::Text;
  else if constexpr (std::is_same_v<T, Type>) return Kind::Type;
  else if constexpr (std::is_same_v<T, Texts>) return Kind::Texts;
  else if constexpr (std::is_same_v<T, IntLists>) return Kind::IntLists;
  else if constexpr (std::is_same_v<T, bool>) return Kind::Bool;
  else if constexpr (std::is_same_v<T, int64_t>) return Kind::Int;
  else if constexpr (std::is_same_v<T, uint64_t>) return Kind::UInt;
  else if constexpr (std::is_same_v<T, int32_t>) return Kind::Int32;
  else if constexpr (std::is_same_v<T, int8_t>) return Kind::Int8;
  else if constexpr (std::is_same_v<T, double>) return Kind::Double;
  else {
    static_assert(std::is_same_v<T, float>, "no parameter has this type");
    return Kind::Float;
  }
}

template <class T>
constexpr Parameter parameter_of(const char* name, const char* type) {
  Parameter p{name, type, kind_of<T>(), Direction::In, false};
  if constexpr (HandleArgument<T>) p.optional = T::kOptional;
  if constexpr (HandleArgument<T> && is_tensor(kind_of<T>())) p.direction = T::kDirection;
  return p;
}

}  // namespace updraft
