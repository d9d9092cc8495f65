// Mathematical functions for kernels, overloaded by type. The float and double forms carry the vector ABI, so
// loops that call them become SLEEF's vector functions (libsleefgnuabi, 1 ULP).
#pragma once
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <type_traits>

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(UPDRAFT_NO_SLEEF)
#define UPDRAFT_VECTOR __attribute__((simd("notinbranch"), const, nothrow))
#else
#define UPDRAFT_VECTOR
#endif

extern "C" {
#define UPDRAFT_MATH1(fn)                \
  UPDRAFT_VECTOR float fn##f(float) noexcept(true);   \
  UPDRAFT_VECTOR double fn(double) noexcept(true);
UPDRAFT_MATH1(exp) UPDRAFT_MATH1(exp2) UPDRAFT_MATH1(expm1) UPDRAFT_MATH1(log) UPDRAFT_MATH1(log2)
UPDRAFT_MATH1(log10) UPDRAFT_MATH1(log1p) UPDRAFT_MATH1(sin) UPDRAFT_MATH1(cos) UPDRAFT_MATH1(tan)
UPDRAFT_MATH1(asin) UPDRAFT_MATH1(acos) UPDRAFT_MATH1(atan) UPDRAFT_MATH1(sinh) UPDRAFT_MATH1(cosh)
UPDRAFT_MATH1(tanh) UPDRAFT_MATH1(asinh) UPDRAFT_MATH1(acosh) UPDRAFT_MATH1(atanh) UPDRAFT_MATH1(erf)
UPDRAFT_MATH1(erfc) UPDRAFT_MATH1(lgamma) UPDRAFT_MATH1(tgamma)
#undef UPDRAFT_MATH1
UPDRAFT_VECTOR float powf(float, float) noexcept(true);
UPDRAFT_VECTOR double pow(double, double) noexcept(true);
UPDRAFT_VECTOR float atan2f(float, float) noexcept(true);
UPDRAFT_VECTOR double atan2(double, double) noexcept(true);
UPDRAFT_VECTOR float fmodf(float, float) noexcept(true);
UPDRAFT_VECTOR double fmod(double, double) noexcept(true);
}

namespace updraft::UPDRAFT_ISA::m {

#define UPDRAFT_OVERLOAD(fn)                       \
  inline float fn(float x) { return ::fn##f(x); }   \
  inline double fn(double x) { return ::fn(x); }
#define UPDRAFT_COMPLEX(f) \
  template <class T>       \
  inline std::complex<T> f(std::complex<T> x) { return std::f(x); }
UPDRAFT_OVERLOAD(exp) UPDRAFT_OVERLOAD(exp2) UPDRAFT_OVERLOAD(expm1) UPDRAFT_OVERLOAD(log) UPDRAFT_OVERLOAD(log2)
UPDRAFT_OVERLOAD(log10) UPDRAFT_OVERLOAD(log1p) UPDRAFT_OVERLOAD(sin) UPDRAFT_OVERLOAD(cos) UPDRAFT_OVERLOAD(tan)
UPDRAFT_OVERLOAD(asin) UPDRAFT_OVERLOAD(acos) UPDRAFT_OVERLOAD(atan) UPDRAFT_OVERLOAD(sinh) UPDRAFT_OVERLOAD(cosh)
UPDRAFT_OVERLOAD(tanh) UPDRAFT_OVERLOAD(asinh) UPDRAFT_OVERLOAD(acosh) UPDRAFT_OVERLOAD(atanh) UPDRAFT_OVERLOAD(erf)
UPDRAFT_OVERLOAD(erfc) UPDRAFT_OVERLOAD(lgamma) UPDRAFT_OVERLOAD(tgamma)
UPDRAFT_COMPLEX(exp) UPDRAFT_COMPLEX(log) UPDRAFT_COMPLEX(sin) UPDRAFT_COMPLEX(cos) UPDRAFT_COMPLEX(tan)
UPDRAFT_COMPLEX(asin) UPDRAFT_COMPLEX(acos) UPDRAFT_COMPLEX(atan) UPDRAFT_COMPLEX(sinh) UPDRAFT_COMPLEX(cosh)
UPDRAFT_COMPLEX(tanh) UPDRAFT_COMPLEX(asinh) UPDRAFT_COMPLEX(acosh) UPDRAFT_COMPLEX(atanh) UPDRAFT_COMPLEX(log10)
UPDRAFT_COMPLEX(sqrt)
#undef UPDRAFT_COMPLEX
#undef UPDRAFT_OVERLOAD

inline float sqrt(float x) { return __builtin_sqrtf(x); }
inline double sqrt(double x) { return __builtin_sqrt(x); }
inline float pow(float x, float y) { return ::powf(x, y); }
inline double pow(double x, double y) { return ::pow(x, y); }
template <class T>
inline std::complex<T> pow(std::complex<T> x, std::complex<T> y) {
  if (y == std::complex<T>(0)) return 1;
  if (x == std::complex<T>(0)) return 0;
  return std::pow(x, y);
}
/// Integer power, wrapping; a negative exponent gives what 1/x rounds to (as PyTorch).
inline int64_t pow(int64_t x, int64_t y) {
  if (y < 0) return x == 1 ? 1 : x == -1 ? (y & 1 ? -1 : 1) : 0;
  uint64_t result = 1, base = static_cast<uint64_t>(x);
  for (; y; y >>= 1, base *= base)
    if (y & 1) result *= base;
  return static_cast<int64_t>(result);
}
inline float atan2(float y, float x) { return ::atan2f(y, x); }
inline double atan2(double y, double x) { return ::atan2(y, x); }

inline float floor(float x) { return __builtin_floorf(x); }
inline double floor(double x) { return __builtin_floor(x); }
inline float ceil(float x) { return __builtin_ceilf(x); }
inline double ceil(double x) { return __builtin_ceil(x); }
inline float trunc(float x) { return __builtin_truncf(x); }
inline double trunc(double x) { return __builtin_trunc(x); }
inline float rint(float x) { return __builtin_rintf(x); }
inline double rint(double x) { return __builtin_rint(x); }
inline float abs(float x) { return __builtin_fabsf(x); }
inline double abs(double x) { return __builtin_fabs(x); }
inline int64_t abs(int64_t x) { return x < 0 ? static_cast<int64_t>(-static_cast<uint64_t>(x)) : x; }
template <class T>
inline std::complex<T> abs(std::complex<T> x) { return std::abs(x); }
template <class T>
inline bool isnan(T x) { return x != x; }
template <class T>
inline T copysign(T x, T y) {
  if constexpr (sizeof(T) == 4) return __builtin_copysignf(x, y);
  else return __builtin_copysign(x, y);
}

/// NaN of either operand wins, as PyTorch's maximum and minimum.
template <class T>
inline T maximum(T x, T y) { return x != x ? x : y != y ? y : x > y ? x : y; }
template <class T>
inline T minimum(T x, T y) { return x != x ? x : y != y ? y : x < y ? x : y; }

/// Division rounded down; 0 for an integer divisor of 0 (hardware has no trap).
inline int64_t floor_div(int64_t x, int64_t y) {
  if (y == 0) return 0;
  if (y == -1) return static_cast<int64_t>(-static_cast<uint64_t>(x));
  int64_t q = x / y;
  return (x % y != 0 && (x < 0) != (y < 0)) ? q - 1 : q;
}
template <class T>
inline T fmod_exact(T x, T y) {
  if constexpr (sizeof(T) == 4) return __builtin_fmodf(x, y);
  else return __builtin_fmod(x, y);
}
/// Python's floor division for floating point, with its care for rounding at multiples.
template <class T>
  requires std::is_floating_point_v<T>
inline T floor_div(T x, T y) {
  if (y == 0) return x / y;
  T mod = fmod_exact(x, y);
  T div = (x - mod) / y;
  if (mod != 0 && (y < 0) != (mod < 0)) div -= 1;
  if (div == 0) return copysign(T(0), x / y);
  T floordiv = floor(div);
  return div - floordiv > T(0.5) ? floordiv + 1 : floordiv;
}
inline int64_t remainder(int64_t x, int64_t y) {
  if (y == 0) return 0;
  if (y == -1) return 0;
  int64_t r = x % y;
  return r != 0 && (r < 0) != (y < 0) ? r + y : r;
}
template <class T>
  requires std::is_floating_point_v<T>
inline T remainder(T x, T y) {
  T mod = fmod_exact(x, y);
  return mod != 0 && (y < 0) != (mod < 0) ? mod + y : mod;
}
inline int64_t trunc_div(int64_t x, int64_t y) {
  return y == 0 ? 0 : y == -1 ? static_cast<int64_t>(-static_cast<uint64_t>(x)) : x / y;
}
template <class T>
  requires std::is_floating_point_v<T>
inline T trunc_div(T x, T y) { return trunc(x / y); }
inline int64_t fmod_any(int64_t x, int64_t y) { return y == 0 || y == -1 ? 0 : x % y; }
template <class T>
  requires std::is_floating_point_v<T>
inline T fmod_any(T x, T y) { return fmod_exact(x, y); }
template <class T>
inline T sigmoid(T x) { return T(1) / (T(1) + m::exp(-x)); }

}  // namespace updraft::UPDRAFT_ISA::m

namespace updraft::UPDRAFT_ISA::m {

template <class T>
inline T lerp(T a, T b, T w) {
  // Two forms, as PyTorch: exact at both ends.
  return m::abs(w) < T(0.5) ? a + w * (b - a) : b - (b - a) * (T(1) - w);
}
template <class T>
inline std::complex<T> lerp(std::complex<T> a, std::complex<T> b, std::complex<T> w) {
  return std::abs(w) < T(0.5) ? a + w * (b - a) : b - (b - a) * (T(1) - w);
}
template <class T>
inline T gelu_tanh_slope(T x) {
  const T k = T(0.79788456080286535588), c = T(0.044715);
  T t = m::tanh(k * (x + c * x * x * x));
  return T(0.5) * (T(1) + t) + T(0.5) * x * (T(1) - t * t) * k * (T(1) + T(3) * c * x * x);
}
template <class T>
constexpr T largest() { return std::numeric_limits<T>::max(); }
template <class T>
constexpr T infinity() { return std::numeric_limits<T>::infinity(); }

}  // namespace updraft::UPDRAFT_ISA::m
