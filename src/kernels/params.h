// What elementwise kernels share with the operators that call them.
#pragma once
#include <cstdint>
#include <type_traits>

#include "tensor/dtype.h"

namespace updraft {

/// Scalars of an elementwise operator, in every compute type, so that a kernel reads its own.
struct Params {
  static constexpr int kMax = 4;
  float f32[kMax] = {};
  double f64[kMax] = {};
  int64_t i64[kMax] = {};
  complex64 c64[kMax] = {};
  complex128 c128[kMax] = {};

  Params() = default;
  void set(int i, double v) {
    f32[i] = static_cast<float>(v);
    f64[i] = v;
    // Out of int64's range is a scalar that integer kernels never see.
    i64[i] = v >= -9.2e18 && v <= 9.2e18 ? static_cast<int64_t>(v) : 0;
    c64[i] = complex64(static_cast<float>(v), 0);
    c128[i] = complex128(v, 0);
  }
  void set(int i, int64_t v) {
    set(i, static_cast<double>(v));
    i64[i] = v;
  }
  void set(int i, complex128 v) {
    set(i, v.real());
    c64[i] = complex64(v);
    c128[i] = v;
  }
  template <class T>
  const T* get() const {
    if constexpr (std::is_same_v<T, float>) return f32;
    else if constexpr (std::is_same_v<T, double>) return f64;
    else if constexpr (std::is_same_v<T, int64_t>) return i64;
    else if constexpr (std::is_same_v<T, complex64>) return c64;
    else return c128;
  }
};

/// n elements: in[k] and out[k] are contiguous arrays of the compute type (out of bool kernels: uint8_t).
using BlockFn = void (*)(const void* const* in, void* const* out, int64_t n, const Params& p);
/// n elements at a stride (in elements) to a contiguous array of the compute type, converted.
using LoadFn = void (*)(void* to, const void* from, int64_t stride, int64_t n);
/// A contiguous array of the compute type to n elements at a stride, converted.
using StoreFn = void (*)(void* to, int64_t stride, const void* from, int64_t n);

}  // namespace updraft
