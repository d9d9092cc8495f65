// Element types with the numbers of aclDataType (abi/, include/acl/acl_base.h).
#pragma once
#include <complex>
#include <cstddef>
#include <cstdint>

#include "base/half.h"

namespace updraft {

enum class DType : int32_t {
  Undefined = -1,
  Float = 0,
  Float16 = 1,
  Int8 = 2,
  Int32 = 3,
  UInt8 = 4,
  Int16 = 6,
  UInt16 = 7,
  UInt32 = 8,
  Int64 = 9,
  UInt64 = 10,
  Double = 11,
  Bool = 12,
  String = 13,
  Complex64 = 16,
  Complex128 = 17,
  BFloat16 = 27,
  Int4 = 29,
  UInt1 = 30,
  Complex32 = 33,
};

/// True for the types that kernels can load and store.
bool is_computable(DType t);
/// Bytes an element; 0 for types without whole-byte elements.
size_t size_of(DType t);
/// "FLOAT16" and so on, as CANN's messages and profiles spell it.
const char* name_of(DType t);

constexpr bool is_complex(DType t) { return t == DType::Complex64 || t == DType::Complex128 || t == DType::Complex32; }
constexpr bool is_half(DType t) { return t == DType::Float16 || t == DType::BFloat16; }
constexpr bool is_floating(DType t) { return t == DType::Float || t == DType::Double || is_half(t); }
constexpr bool is_integral(DType t, bool with_bool = false) {
  switch (t) {
    case DType::Int8:
    case DType::Int16:
    case DType::Int32:
    case DType::Int64:
    case DType::UInt8:
    case DType::UInt16:
    case DType::UInt32:
    case DType::UInt64: return true;
    case DType::Bool: return with_bool;
    default: return false;
  }
}

/// The complex type whose parts have type t (COMPLEX64 where there is none).
constexpr DType complex_of(DType t) {
  return t == DType::Double ? DType::Complex128 : t == DType::Float16 ? DType::Complex32 : DType::Complex64;
}
/// The type of the parts of a complex type; other types as they are.
constexpr DType real_of(DType t) {
  return t == DType::Complex128  ? DType::Double
         : t == DType::Complex64 ? DType::Float
         : t == DType::Complex32 ? DType::Float16
                                 : t;
}

/// PyTorch's promotion of two tensor types of equal rank class.
DType promote(DType a, DType b);

/// The type in which kernels compute on elements of type t.
enum class Compute : uint8_t { F32, F64, I64, C64, C128 };
constexpr Compute compute_of(DType t) {
  switch (t) {
    case DType::Float:
    case DType::Float16:
    case DType::BFloat16: return Compute::F32;
    case DType::Double: return Compute::F64;
    case DType::Complex64:
    case DType::Complex32: return Compute::C64;
    case DType::Complex128: return Compute::C128;
    default: return Compute::I64;
  }
}
constexpr DType storage_of(Compute c) {
  switch (c) {
    case Compute::F32: return DType::Float;
    case Compute::F64: return DType::Double;
    case Compute::I64: return DType::Int64;
    case Compute::C64: return DType::Complex64;
    default: return DType::Complex128;
  }
}
constexpr size_t size_of(Compute c) { return c == Compute::F32 ? 4 : c == Compute::C128 ? 16 : 8; }

using complex64 = std::complex<float>;
using complex128 = std::complex<double>;
/// Storage of Complex32: computed as complex64.
struct ComplexHalf {
  Half real, imag;
  ComplexHalf() = default;
  UPDRAFT_INLINE explicit ComplexHalf(complex64 z) : real(z.real()), imag(z.imag()) {}
  UPDRAFT_INLINE operator complex64() const { return {static_cast<float>(real), static_cast<float>(imag)}; }
};
static_assert(sizeof(ComplexHalf) == 4);

template <class T>
struct DTypeOf;
template <>
struct DTypeOf<float> {
  static constexpr DType value = DType::Float;
};
template <>
struct DTypeOf<double> {
  static constexpr DType value = DType::Double;
};
template <>
struct DTypeOf<Half> {
  static constexpr DType value = DType::Float16;
};
template <>
struct DTypeOf<BFloat16> {
  static constexpr DType value = DType::BFloat16;
};
template <>
struct DTypeOf<int8_t> {
  static constexpr DType value = DType::Int8;
};
template <>
struct DTypeOf<int16_t> {
  static constexpr DType value = DType::Int16;
};
template <>
struct DTypeOf<int32_t> {
  static constexpr DType value = DType::Int32;
};
template <>
struct DTypeOf<int64_t> {
  static constexpr DType value = DType::Int64;
};
template <>
struct DTypeOf<uint8_t> {
  static constexpr DType value = DType::UInt8;
};
template <>
struct DTypeOf<bool> {
  static constexpr DType value = DType::Bool;
};
template <>
struct DTypeOf<ComplexHalf> {
  static constexpr DType value = DType::Complex32;
};
template <>
struct DTypeOf<complex64> {
  static constexpr DType value = DType::Complex64;
};
template <>
struct DTypeOf<complex128> {
  static constexpr DType value = DType::Complex128;
};

/// Calls f.template operator()<T>() with the C++ type that stores `t` and has arithmetic; false when there is none,
/// which is so for Complex32 (visit_storage has it). Use it for code that is small: every type is an instantiation.
template <class F>
[[nodiscard]] bool visit_type(DType t, F&& f) {
  switch (t) {
    case DType::Float: f.template operator()<float>(); return true;
    case DType::Double: f.template operator()<double>(); return true;
    case DType::Float16: f.template operator()<Half>(); return true;
    case DType::BFloat16: f.template operator()<BFloat16>(); return true;
    case DType::Int8: f.template operator()<int8_t>(); return true;
    case DType::Int16: f.template operator()<int16_t>(); return true;
    case DType::Int32: f.template operator()<int32_t>(); return true;
    case DType::Int64: f.template operator()<int64_t>(); return true;
    case DType::UInt8: f.template operator()<uint8_t>(); return true;
    case DType::UInt16: f.template operator()<uint16_t>(); return true;
    case DType::UInt32: f.template operator()<uint32_t>(); return true;
    case DType::UInt64: f.template operator()<uint64_t>(); return true;
    case DType::Bool: f.template operator()<bool>(); return true;
    case DType::Complex64: f.template operator()<complex64>(); return true;
    case DType::Complex128: f.template operator()<complex128>(); return true;
    default: return false;
  }
}

/// As visit_type, with ComplexHalf for Complex32: false only for what no kernel can load and store.
template <class F>
[[nodiscard]] bool visit_storage(DType t, F&& f) {
  if (t != DType::Complex32) return visit_type(t, f);
  f.template operator()<ComplexHalf>();
  return true;
}

/// Fails the stream (or refuses the plan) instead of leaving out what was asked for; names the type and who met it.
[[noreturn]] void no_such_type(DType t, const char* where);

}  // namespace updraft
