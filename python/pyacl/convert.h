// Between Python's objects and the types of AscendCL's functions. Only what every Python from 3.10 on has
// (Py_LIMITED_API).
#pragma once
#include <Python.h>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "acl/acl.h"
#include "acl/acl_mdl.h"

namespace pyacl {

/// A reference that goes with its scope.
class Object {
 public:
  Object() = default;
  explicit Object(PyObject* owned) : held_(owned) {}
  static Object borrow(PyObject* borrowed) { return Object(Py_NewRef(borrowed)); }
  Object(Object&& from) noexcept : held_(from.release()) {}
  Object& operator=(Object&& from) noexcept {
    PyObject* old = held_;
    held_ = from.release();
    Py_XDECREF(old);
    return *this;
  }
  Object(const Object&) = delete;
  ~Object() { Py_XDECREF(held_); }

  explicit operator bool() const { return held_ != nullptr; }
  PyObject* get() const { return held_; }
  PyObject* release() {
    PyObject* held = held_;
    held_ = nullptr;
    return held;
  }

 private:
  PyObject* held_ = nullptr;
};

/// The argument that a conversion reads, for the text of its error: "acl.rt.malloc: size".
struct Given {
  PyObject* object;
  const char* module;
  const char* function;
  std::string parameter;

  /// Raises TypeError that says what the argument is and what is wanted; always false.
  bool refuse(const char* wanted) const;
  /// The same with another exception and the whole sentence behind the name.
  bool refuse(PyObject* exception, const std::string& sentence) const;
  /// The element of this argument's list.
  Given element(PyObject* object, Py_ssize_t index) const;
};

bool read_integer(const Given& given, int64_t lowest, uint64_t highest, uint64_t& bits);
bool read_float(const Given& given, double& value);
bool read_text(const Given& given, const char*& value);
bool read_dims(const Given& given, aclmdlIODims& value);
bool read_property(const Given& given, aclrtPhysicalMemProp& value);
/// Opens a list or a tuple; false with the exception set.
bool read_sequence(const Given& given, const char* wanted, Object& items);

/// Structures that a function writes or reads as a dict. The name is the one in the stubs.
template <class T>
inline constexpr const char* kStructure = nullptr;
#define PYACL_STRUCTURE(type, python)                     \
  template <>                                             \
  inline constexpr const char* kStructure<type> = python; \
  PyObject* to_python(const type& value)
PYACL_STRUCTURE(aclmdlIODims, "Dims");
PYACL_STRUCTURE(aclmdlIODimsRange, "DimsRange");
PYACL_STRUCTURE(aclmdlBatch, "Batch");
PYACL_STRUCTURE(aclmdlHW, "HW");
PYACL_STRUCTURE(aclAippInfo, "AippInfo");
PYACL_STRUCTURE(aclmdlExeOMDesc, "ExeOMDesc");
PYACL_STRUCTURE(aclrtUtilizationInfo, "UtilizationInfo");
PYACL_STRUCTURE(aclrtPtrAttributes, "PtrAttributes");
#undef PYACL_STRUCTURE

/// A Python list as an argument, in memory that lives as long as the call.
template <class T>
struct List {
  std::vector<T> values;
  int count() const { return static_cast<int>(values.size()); }
  T const* data() const { return values.data(); }
  T* data() { return values.data(); }
};

/// What may be left out at the end.
template <class T>
struct Maybe {
  T value{};
  bool given = false;
};

/// Any object; a callable.
struct Any {
  PyObject* object;
};
struct Callable {
  PyObject* object;
};
/// Results that functions of ours make themselves; nothing, with an exception set, where they refuse.
struct Array : Object {
  using Object::Object;
};
struct Text : Object {
  using Object::Object;
};
struct Data : Object {
  using Object::Object;
};
template <class T>
inline constexpr bool kIsMade = false;
template <>
inline constexpr bool kIsMade<Array> = true;
template <>
inline constexpr bool kIsMade<Text> = true;
template <>
inline constexpr bool kIsMade<Data> = true;
/// bytes, and where they lie.
struct Bytes {
  PyObject* object;
};

template <class T>
inline constexpr bool kIsList = false;
template <class T>
inline constexpr bool kIsList<List<T>> = true;
template <class T>
inline constexpr bool kIsMaybe = false;
template <class T>
inline constexpr bool kIsMaybe<Maybe<T>> = true;

template <class T>
concept Number = std::is_integral_v<T> || std::is_enum_v<T>;

/// What a C function writes through a parameter of type T* is one of the results: numbers, pointers, known structures.
template <class P>
consteval bool is_output() {
  if constexpr (std::is_pointer_v<P>) {
    using T = std::remove_pointer_t<P>;
    if constexpr (std::is_const_v<T> || std::is_void_v<T> || std::is_function_v<T> || std::is_same_v<T, char>)
      return false;
    else
      return std::is_arithmetic_v<T> || std::is_enum_v<T> || std::is_pointer_v<T> || kIsList<T> || kStructure<T> ||
             kIsMade<T>;
  } else {
    return false;
  }
}

/// The C type behind an argument of a list of integers that wrap as C's do: -1 is SIZE_MAX, as scripts write it.
template <Number T>
bool read(const Given& given, T& value) {
  using Raw = typename std::conditional_t<std::is_enum_v<T>, std::underlying_type<T>, std::type_identity<T>>::type;
  constexpr bool wraps = std::is_unsigned_v<Raw> && sizeof(Raw) == 8;
  constexpr int64_t lowest =
      wraps ? std::numeric_limits<int64_t>::min() : static_cast<int64_t>(std::numeric_limits<Raw>::min());
  uint64_t bits = 0;
  if (!read_integer(given, lowest, static_cast<uint64_t>(std::numeric_limits<Raw>::max()), bits)) return false;
  value = static_cast<T>(static_cast<Raw>(bits));
  return true;
}
template <std::floating_point T>
bool read(const Given& given, T& value) {
  double wide = 0;
  if (!read_float(given, wide)) return false;
  value = static_cast<T>(wide);
  return true;
}
/// Handles and addresses are ints.
template <class T>
bool read(const Given& given, T*& value) {
  uint64_t bits = 0;
  if (!read_integer(given, 0, UINT64_MAX, bits)) return false;
  value = reinterpret_cast<T*>(bits);  // NOLINT(performance-no-int-to-ptr)
  return true;
}
inline bool read(const Given& given, const char*& value) { return read_text(given, value); }
inline bool read(const Given& given, aclmdlIODims& value) { return read_dims(given, value); }
inline bool read(const Given& given, aclrtPhysicalMemProp& value) { return read_property(given, value); }
inline bool read(const Given& given, Any& value) {
  value.object = given.object;
  return true;
}
bool read(const Given& given, Callable& value);
bool read(const Given& given, Bytes& value);
template <class T>
bool read(const Given& given, List<T>& value) {
  Object items;
  if (!read_sequence(given, "a list", items)) return false;
  const Py_ssize_t count = PySequence_Size(items.get());
  value.values.resize(static_cast<size_t>(count));
  for (Py_ssize_t i = 0; i < count; ++i) {
    // the argument keeps its element, and so what the element's text points to
    const Object item(PySequence_GetItem(items.get(), i));
    if (!item || !read(given.element(item.get(), i), value.values[static_cast<size_t>(i)])) return false;
  }
  return true;
}
template <class T>
bool read(const Given& given, Maybe<T>& value) {
  value.given = given.object != Py_None;
  return !value.given || read(given, value.value);
}

inline PyObject* to_python(bool value) { return PyBool_FromLong(value); }
template <Number T>
PyObject* to_python(T value) {
  using Raw = typename std::conditional_t<std::is_enum_v<T>, std::underlying_type<T>, std::type_identity<T>>::type;
  if constexpr (std::is_unsigned_v<Raw>) return PyLong_FromUnsignedLongLong(static_cast<Raw>(value));
  else return PyLong_FromLongLong(static_cast<Raw>(value));
}
template <std::floating_point T>
PyObject* to_python(T value) {
  return PyFloat_FromDouble(value);
}
template <class T>
PyObject* to_python(T* value) {
  return PyLong_FromUnsignedLongLong(reinterpret_cast<uintptr_t>(value));
}
/// None for a null pointer.
PyObject* to_python(const char* value);
inline PyObject* to_python(Object& value) { return value ? value.release() : Py_NewRef(Py_None); }
template <class T>
PyObject* to_python(const List<T>& list) {
  Object made(PyList_New(static_cast<Py_ssize_t>(list.values.size())));
  if (!made) return nullptr;
  for (size_t i = 0; i < list.values.size(); ++i) {
    PyObject* item = to_python(list.values[i]);
    if (!item || PyList_SetItem(made.get(), static_cast<Py_ssize_t>(i), item)) return nullptr;
  }
  return made.release();
}

/// The type's name in stubs and texts.
template <class T>
std::string type_name() {
  if constexpr (kIsList<T>) return "list[" + type_name<std::remove_cvref_t<decltype(T{}.values[0])>>() + "]";
  else if constexpr (kIsMaybe<T>) return type_name<decltype(T{}.value)>() + " | None";
  else if constexpr (std::is_same_v<T, const char*> || std::is_same_v<T, Text>) return "str";
  else if constexpr (std::is_floating_point_v<T>) return "float";
  else if constexpr (std::is_same_v<T, Bytes> || std::is_same_v<T, Data>) return "bytes";
  else if constexpr (std::is_same_v<T, Callable>) return "Callable[..., object]";
  else if constexpr (std::is_same_v<T, Any>) return "object";
  else if constexpr (std::is_same_v<T, Array>) return "numpy.ndarray";
  else if constexpr (std::is_same_v<T, aclrtPhysicalMemProp>) return "PhysicalMemProp";
  else if constexpr (kStructure<T> != nullptr) return kStructure<T>;
  else {
    static_assert(Number<T> || std::is_pointer_v<T>, "no conversion for this type: see convert.h");
    return "int";
  }
}

}  // namespace pyacl
