// Mathematical functions for kernels, overloaded by type. The float and double forms carry the vector ABI, so
// loops that call them become SLEEF's vector functions (libsleefgnuabi, 1 ULP).
#pragma once
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <type_traits>

#if defined(__clang__)
#pragma clang diagnostic ignored "-Wbitwise-instead-of-logical"  // a & b of two bools is what makes loops vectors
#endif

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(UPDRAFT_NO_SLEEF)
#define UPDRAFT_VECTOR __attribute__((simd("notinbranch"), const, nothrow))
#else
#define UPDRAFT_VECTOR
#endif

extern "C" {
#define UPDRAFT_MATH1(fn)                           \
  UPDRAFT_VECTOR float fn##f(float) noexcept(true); \
  UPDRAFT_VECTOR double fn(double) noexcept(true);
UPDRAFT_MATH1(exp)
UPDRAFT_MATH1(exp2)
UPDRAFT_MATH1(expm1)
UPDRAFT_MATH1(log)
UPDRAFT_MATH1(log2)
UPDRAFT_MATH1(log10)
UPDRAFT_MATH1(log1p)
UPDRAFT_MATH1(sin)
UPDRAFT_MATH1(cos)
UPDRAFT_MATH1(tan)
UPDRAFT_MATH1(asin)
UPDRAFT_MATH1(acos)
UPDRAFT_MATH1(atan)
UPDRAFT_MATH1(sinh)
UPDRAFT_MATH1(cosh)
UPDRAFT_MATH1(tanh)
UPDRAFT_MATH1(asinh)
UPDRAFT_MATH1(acosh)
UPDRAFT_MATH1(atanh)
UPDRAFT_MATH1(erf)
UPDRAFT_MATH1(erfc)
UPDRAFT_MATH1(lgamma)
UPDRAFT_MATH1(tgamma)
#undef UPDRAFT_MATH1
UPDRAFT_VECTOR float powf(float, float) noexcept(true);
UPDRAFT_VECTOR double pow(double, double) noexcept(true);
UPDRAFT_VECTOR float atan2f(float, float) noexcept(true);
UPDRAFT_VECTOR double atan2(double, double) noexcept(true);
UPDRAFT_VECTOR float fmodf(float, float) noexcept(true);
UPDRAFT_VECTOR double fmod(double, double) noexcept(true);
}

namespace updraft::UPDRAFT_ISA::m {

#define UPDRAFT_OVERLOAD(fn)                      \
  inline float fn(float x) { return ::fn##f(x); } \
  inline double fn(double x) { return ::fn(x); }
#define UPDRAFT_COMPLEX(f)                      \
  template <class T>                            \
  inline std::complex<T> f(std::complex<T> x) { \
    return std::f(x);                           \
  }
UPDRAFT_OVERLOAD(exp)
UPDRAFT_OVERLOAD(exp2)
UPDRAFT_OVERLOAD(log2)
UPDRAFT_OVERLOAD(log10)
UPDRAFT_OVERLOAD(log1p)
UPDRAFT_OVERLOAD(sin)
UPDRAFT_OVERLOAD(cos)
UPDRAFT_OVERLOAD(tan)
UPDRAFT_OVERLOAD(asin)
UPDRAFT_OVERLOAD(acos)
UPDRAFT_OVERLOAD(atan)
UPDRAFT_OVERLOAD(sinh)
UPDRAFT_OVERLOAD(cosh)
UPDRAFT_OVERLOAD(asinh)
UPDRAFT_OVERLOAD(acosh)
UPDRAFT_OVERLOAD(atanh)
UPDRAFT_OVERLOAD(erfc)
UPDRAFT_OVERLOAD(lgamma)
UPDRAFT_OVERLOAD(tgamma)
UPDRAFT_COMPLEX(exp)
UPDRAFT_COMPLEX(log)
UPDRAFT_COMPLEX(sin)
UPDRAFT_COMPLEX(cos)
UPDRAFT_COMPLEX(tan)
UPDRAFT_COMPLEX(asin)
UPDRAFT_COMPLEX(acos)
UPDRAFT_COMPLEX(atan)
UPDRAFT_COMPLEX(sinh)
UPDRAFT_COMPLEX(cosh)
UPDRAFT_COMPLEX(tanh)
UPDRAFT_COMPLEX(asinh)
UPDRAFT_COMPLEX(acosh)
UPDRAFT_COMPLEX(atanh)
UPDRAFT_COMPLEX(log10)
UPDRAFT_COMPLEX(sqrt)
#undef UPDRAFT_COMPLEX
#undef UPDRAFT_OVERLOAD

// erf, tanh and expm1 of floats: SLEEF's take several times as long as its exp. A polynomial (Chebyshev fit of
// ours) near 0 and a form with exp elsewhere, both computed so that loops have no branches; within 3 ULP.
inline double erf(double x) { return ::erf(x); }
inline double tanh(double x) { return ::tanh(x); }
inline double expm1(double x) { return ::expm1(x); }
inline float mad(float a, float b, float c) {
#if defined(__FMA__)
  return __builtin_fmaf(a, b, c);
#else
  return a * b + c;
#endif
}
/// exp of |x| < 89, inline: no call that spills the loop's registers.
inline float exp_bounded(float x) {
  const float n = __builtin_rintf(x * 1.44269504088896340736f);
  const float r = mad(n, 2.12194440e-4f, mad(n, -0.693359375f, x));  // n ln 2 in two parts
  float p = 0.0013933740556240082f;
  p = mad(p, r, 0.008363206870853901f);
  p = mad(p, r, 0.041666463017463684f);
  p = mad(p, r, 0.16666576266288757f);
  p = mad(p, r, 0.5f);
  const float y = 1.0f + mad(r * r, p, r);
  return y * __builtin_bit_cast(float, (static_cast<int32_t>(n) + 127) << 23);
}
inline float erf(float x) {
  const float a = __builtin_fabsf(x), s = x * x;
  float near = 8.339971827808768e-05f;
  near = mad(near, s, -0.000813607475720346f);
  near = mad(near, s, 0.005200501531362534f);
  near = mad(near, s, -0.026859210804104805f);
  near = mad(near, s, 0.11283692717552185f);
  near = mad(near, s, -0.37612634897232056f);
  near = mad(near, s, 0.12837916612625122f);
  const float t = a > 4.2f ? 4.2f : a;
  float far = 1.612904043213348e-06f;  // log(erfc(t))
  far = mad(far, t, -4.556713975034654e-05f);
  far = mad(far, t, 0.0005925663863308728f);
  far = mad(far, t, -0.004739245865494013f);
  far = mad(far, t, 0.026361873373389244f);
  far = mad(far, t, -0.10997311770915985f);
  far = mad(far, t, -0.6319426894187927f);
  far = mad(far, t, -1.130163311958313f);
  far = mad(far, t, 0.00030238047474995255f);
  const float tail = __builtin_copysignf(1.0f - exp_bounded(far), x);
  return a > 0.93f ? tail : mad(x, near, x);
}
inline double log(double x) { return ::log(x); }
/// x = 2^e (1 + f) with f from -0.293 to 0.414; log(1 + f) by a polynomial (Chebyshev fit of ours). Within 1.5 ULP.
inline float log(float x) {
  const bool tiny = x < std::numeric_limits<float>::min();
  const auto from_half = __builtin_bit_cast(int32_t, tiny ? x * 8388608.0f : x) - 0x3f3504f3;  // the root of 1/2
  const float e = static_cast<float>(from_half >> 23) - (tiny ? 23.0f : 0.0f);
  const float f = __builtin_bit_cast(float, (from_half & 0x7fffff) + 0x3f3504f3) - 1.0f;
  float p = 0.06746608018875122f;
  p = mad(p, f, -0.11675652861595154f);
  p = mad(p, f, 0.11888178437948227f);
  p = mad(p, f, -0.1240558996796608f);
  p = mad(p, f, 0.14219550788402557f);
  p = mad(p, f, -0.1666799634695053f);
  p = mad(p, f, 0.2000211924314499f);
  p = mad(p, f, -0.25000008940696716f);
  p = mad(p, f, 0.3333331346511841f);
  const float s = f * f;
  p = mad(e, -2.12194440e-4f, p * (s * f));
  const float y = mad(e, 0.693359375f, mad(s, -0.5f, p) + f);
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const float odd = x == 0 ? -kInfinity : std::numeric_limits<float>::quiet_NaN();
  return x > 0 ? (x < kInfinity ? y : x) : odd;
}
/// By exp(2 |x|) - 1 = u, which loses nothing near 0: u / (u + 2).
inline float tanh(float x) {
  const float a = __builtin_fabsf(x), d = a > 10.0f ? 20.0f : 2.0f * a;
  const float n = __builtin_rintf(d * 1.44269504088896340736f);
  const float r = mad(n, 2.12194440e-4f, mad(n, -0.693359375f, d));
  float p = 0.00019875691500e0f;
  p = mad(p, r, 1.3981999507e-3f);
  p = mad(p, r, 8.3334519073e-3f);
  p = mad(p, r, 4.1665795894e-2f);
  p = mad(p, r, 1.6666665459e-1f);
  p = mad(p, r, 5.0000001201e-1f);
  const float scale = __builtin_bit_cast(float, (static_cast<int32_t>(n) + 127) << 23);
  const float u = mad(scale, mad(r * r, p, r), scale - 1.0f);
  return __builtin_copysignf(x != x ? x : u / (u + 2.0f), x);
}
inline float expm1(float x) {
  float near = 2.5074077711906284e-05f;
  near = mad(near, x, 0.0002007896691793576f);
  near = mad(near, x, 0.0013888049870729446f);
  near = mad(near, x, 0.008332749828696251f);
  near = mad(near, x, 0.041666675359010696f);
  near = mad(near, x, 0.16666670143604279f);
  near = mad(near, x, 0.5f);
  const float far = ::expf(x) - 1.0f;
  return __builtin_fabsf(x) > 0.7f ? far : mad(x, x * near, x);
}
template <class T>
inline std::complex<T> exp2(std::complex<T> x) {
  return std::exp(x * static_cast<T>(0.69314718055994530942));
}
template <class T>
inline std::complex<T> expm1(std::complex<T> x) {
  // cos - 1 by the half angle: no cancellation near 0.
  const T s = std::sin(x.imag() / 2), a = m::expm1(x.real());
  return {a - (a + T(1)) * T(2) * s * s, (a + T(1)) * std::sin(x.imag())};
}
template <class T>
inline std::complex<T> log2(std::complex<T> x) {
  return std::log(x) * static_cast<T>(1.44269504088896340736);
}
template <class T>
inline std::complex<T> log1p(std::complex<T> x) {
  const T r = x.real(), i = x.imag(), one = T(1) + r;
  // |1 + x|^2 - 1 without the 1.
  if (std::abs(r) < T(0.5) && std::abs(i) < T(0.5))
    return {m::log1p(r * (T(2) + r) + i * i) / T(2), std::atan2(i, one)};
  return std::log(std::complex<T>(one, i));
}

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
inline std::complex<T> abs(std::complex<T> x) {
  return std::abs(x);
}
template <class T>
inline bool isnan(T x) {
  return x != x;
}
template <class T>
inline T copysign(T x, T y) {
  if constexpr (sizeof(T) == 4) return __builtin_copysignf(x, y);
  else return __builtin_copysign(x, y);
}

/// NaN of either operand wins, as PyTorch's maximum and minimum: no comparison holds with one in y.
template <class T>
inline T maximum(T x, T y) {
  return ((x > y) | (x != x)) ? x : y;
}
template <class T>
inline T minimum(T x, T y) {
  return ((x < y) | (x != x)) ? x : y;
}

/// The same with a bound that is one for all elements: what it compares with itself is found out before the loop.
template <class T>
inline T at_least(T x, T bound) {
  return ((x < bound) | (bound != bound)) ? bound : x;
}
template <class T>
inline T at_most(T x, T bound) {
  return ((x > bound) | (bound != bound)) ? bound : x;
}

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
inline T trunc_div(T x, T y) {
  return trunc(x / y);
}
inline int64_t fmod_any(int64_t x, int64_t y) { return y == 0 || y == -1 ? 0 : x % y; }
template <class T>
  requires std::is_floating_point_v<T>
inline T fmod_any(T x, T y) {
  return fmod_exact(x, y);
}
template <class T>
inline T sigmoid(T x) {
  return T(1) / (T(1) + m::exp(-x));
}
/// Beyond 88.8 the power is infinity's exponent: exactly 0.
inline float sigmoid(float x) { return 1.0f / (1.0f + exp_bounded(x < -88.9f ? 88.9f : x > 80.0f ? -80.0f : -x)); }

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
// gelu's approximation: (1 + tanh(u)) / 2 is sigmoid(2 u).
template <class T>
inline T gelu_tanh(T x) {
  return x * m::sigmoid(T(1.59576912160573071176) * (x + T(0.044715) * x * x * x));
}
template <class T>
inline T gelu_tanh_slope(T x) {
  const T k = T(1.59576912160573071176), c = T(0.044715);
  const T s = m::sigmoid(k * (x + c * x * x * x));
  return s + x * s * (T(1) - s) * k * (T(1) + T(3) * c * x * x);
}
/// Both tails of the normal distribution at |x|, and exp(-x^2/2): the exponential times a polynomial (Chebyshev fit of
/// ours) in 1 / (1 + 0.3 |x|), within 5e-7 of the tail's value. Beyond kEnd, where both are below 1e-17, they are 0:
/// what is made of still smaller numbers becomes subnormal, and products of those take a hundred times as long.
struct NormalTail {
  static constexpr float kEnd = 9.0f;
  float tail, bell;
  explicit NormalTail(float x) {
    const float a = __builtin_fabsf(x), t = 1.0f / mad(0.3f, a, 1.0f);
    const float e = exp_bounded(a > kEnd ? 0.0f : -0.5f * a * a);
    bell = a > kEnd ? 0.0f : e;
    float q = 0.03660370036959648f;
    q = mad(q, t, -0.16079916059970856f);
    q = mad(q, t, 0.21196281909942627f);
    q = mad(q, t, -0.05814283341169357f);
    q = mad(q, t, 0.13040068745613098f);
    q = mad(q, t, 0.09960189461708069f);
    q = mad(q, t, 0.12072955071926117f);
    q = mad(q, t, 0.11964482814073563f);
    q = mad(q, t, -1.4772804206586443e-06f);
    tail = bell * q;
  }
};
template <class T>
inline T gelu(T x) {
  return x * T(0.5) * (T(1) + m::erf(x * T(0.70710678118654752440)));
}
/// 2^q; `series` is 2^r for what is left beside a whole number, |r| <= 1/2.
template <class Series>
__attribute__((always_inline)) inline float power_of_two(float q, Series series) {
  constexpr float kMagic = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer
  const float shifted = q + kMagic, p = series(q - (shifted - kMagic));
  return __builtin_bit_cast(float, __builtin_bit_cast(uint32_t, p) + (__builtin_bit_cast(uint32_t, shifted) << 23));
}
/// The tail as a power of two whose exponent is a polynomial, because a division takes as long as the rest (fits of
/// ours): within 9e-7 of the result where x > -2, 2e-6 where x > -4, 4e-5 of what is smaller. The polynomials are cut
/// into parts that do not wait for each other: as chains they take a quarter longer where vectors have 512 bits.
inline float gelu(float x) {
  constexpr float kEnd = NormalTail::kEnd;
  const float a = __builtin_fabsf(x), t = a > kEnd ? kEnd : a;
  float high = -6.890235604295469e-11f, low = -6.266883428907022e-05f;
  high = mad(high, t, 3.88903176329336e-09f);
  high = mad(high, t, -9.71676570316049e-08f);
  high = mad(high, t, 1.4115388466962031e-06f);
  high = mad(high, t, -1.3084917554806452e-05f);
  high = mad(high, t, 7.829601236153394e-05f);
  high = mad(high, t, -0.00026443740352988243f);
  low = mad(low, t, 0.007053468842059374f);
  low = mad(low, t, -0.052531417459249496f);
  low = mad(low, t, -0.4591851234436035f);
  low = mad(low, t, -1.1511093378067017f);
  low = mad(low, t, -0.9999999403953552f);
  const float t2 = t * t, q = mad(high, t2 * t2 * t2, low);
  const float power = power_of_two(
      q, [](float r) __attribute__((always_inline)) {
        const float r2 = r * r;
        return mad(mad(mad(0.0013276470126584172f, r, 0.009675541892647743f), r2,
                       mad(0.05550713464617729f, r, 0.24022120237350464f)),
                   r2, mad(0.6931469440460205f, r, 1.0000001192092896f));
      });
  const float tail = a > kEnd ? 0.0f : power;
  return x * (x > 0 ? 1.0f - tail : tail);
}
/// A float whose result becomes a half.
struct OfHalf {
  float v;
};
/// As above within 7.5e-5 of the result: a sixth of the last place of fp16.
inline float gelu(OfHalf x) {
  constexpr float kEnd = NormalTail::kEnd;
  const float a = __builtin_fabsf(x.v), t = a > kEnd ? kEnd : a, t2 = t * t;
  const float low =
      mad(mad(-0.05144635203125695f, t, -0.46146972124201f), t2, mad(-1.1498928551833016f, t, -1.0000984488203988f));
  const float high = mad(mad(-9.77758929964633e-07f, t, 4.039742843343898e-05f), t2,
                         mad(-0.0007236089269266327f, t, 0.007502893429745448f));
  const float power = power_of_two(
      mad(high, t2 * t2, low), [](float r) __attribute__((always_inline)) {
        const float r2 = r * r;
        return mad(mad(r2, 0.00968571144188721f, mad(0.055922025683650047f, r, 0.24021865493628153f)), r2,
                   mad(0.6931210358597487f, r, 1.000000151080633f));
      });
  const float tail = a > kEnd ? 0.0f : power;
  return x.v * (x.v > 0 ? 1.0f - tail : tail);
}
template <class T>
inline T gelu_slope(T x) {
  return T(0.5) * (T(1) + m::erf(x * T(0.70710678118654752440))) +
         x * m::exp(T(-0.5) * x * x) * T(0.39894228040143267794);
}
inline float gelu_slope(float x) {
  const NormalTail n(x);
  return (x > 0 ? 1.0f - n.tail : n.tail) + x * n.bell * 0.39894228040143267794f;
}
/// tanh(log(1 + e)) = n / (n + 2) with e = exp(x), n = e (e + 2); from x = 20 on it is 1.
template <class T>
inline T mish(T x) {
  const T e = m::exp(x > T(20) ? T(20) : x), n = e * (e + T(2));
  return x * (n / (n + T(2)));
}
template <class T>
inline T mish_backward(T g, T x) {
  const T e = m::exp(x > T(20) ? T(20) : x), n = e * (e + T(2)), d = n + T(2);
  return g * (n / d + x * (e / (T(1) + e)) * (T(4) * (n + T(1)) / (d * d)));
}
template <class T>
inline T relu(T x) {
  return x > T(0) ? x : (x != x ? x : T(0));
}
template <class T>
constexpr T largest() {
  return std::numeric_limits<T>::max();
}
template <class T>
constexpr T infinity() {
  return std::numeric_limits<T>::infinity();
}
template <class T>
constexpr T not_a_number() {
  return std::numeric_limits<T>::quiet_NaN();
}

template <class T>
inline bool isfinite(T x) {
  return m::abs(x) <= largest<T>();
}
inline bool isfinite(int64_t) { return true; }
template <class T>
inline bool isfinite(std::complex<T> x) {
  return (m::abs(x.real()) <= largest<T>()) & (m::abs(x.imag()) <= largest<T>());
}
inline bool signbit(float x) { return __builtin_signbit(x) != 0; }
inline bool signbit(double x) { return __builtin_signbit(x) != 0; }
inline bool signbit(int64_t x) { return x < 0; }

template <class T>
inline T sign(T x) {
  return T(x > T(0)) - T(x < T(0));
}
/// torch.sgn of a complex number.
template <class T>
inline std::complex<T> sign(std::complex<T> x) {
  const T r = std::abs(x);
  return r == T(0) ? std::complex<T>(0) : x / r;
}
template <class T>
inline T angle(T x) {
  return x < T(0) ? static_cast<T>(3.14159265358979323846) : x != x ? x : T(0);
}
template <class T>
inline std::complex<T> angle(std::complex<T> x) {
  return std::arg(x);
}
template <class T>
inline T nan_to_num(T x, const T* p) {
  return x != x ? p[0] : x == infinity<T>() ? p[1] : x == -infinity<T>() ? p[2] : x;
}
template <class T>
inline std::complex<T> nan_to_num(std::complex<T> x, const std::complex<T>* p) {
  const T q[] = {p[0].real(), p[1].real(), p[2].real()};
  return {nan_to_num(x.real(), q), nan_to_num(x.imag(), q)};
}
/// p: rtol, atol, whether NaN equals NaN.
template <class T>
inline bool isclose(T x, T y, const T* p) {
  const T difference = m::abs(x - y);
  return (x == y) | ((p[2] != T(0)) & (x != x) & (y != y)) |
         ((difference <= p[1] + m::abs(p[0] * y)) & (difference <= largest<T>()));
}
template <class T>
inline bool isclose(std::complex<T> x, std::complex<T> y, const std::complex<T>* p) {
  const T difference = std::abs(x - y);
  return x == y || (p[2] != std::complex<T>(0) && x != x && y != y) ||
         (difference <= p[1].real() + p[0].real() * std::abs(y) && difference <= largest<T>());
}
inline int64_t gcd(int64_t x, int64_t y) {
  uint64_t a = static_cast<uint64_t>(m::abs(x)), b = static_cast<uint64_t>(m::abs(y));
  while (b) {
    uint64_t r = a % b;
    a = b;
    b = r;
  }
  return static_cast<int64_t>(a);
}
inline int64_t shift_left(int64_t x, int64_t y) {
  return static_cast<uint64_t>(y) > 63 ? 0 : static_cast<int64_t>(static_cast<uint64_t>(x) << y);
}
template <class T>
inline T xlogy(T x, T y) {
  const T product = x * m::log(y);
  return y != y ? y : x == T(0) ? T(0) : product;
}
template <class T>
inline T logaddexp(T x, T y) {
  const T high = m::maximum(x, y), difference = -m::abs(x - y);
  // Equal infinities have no difference.
  return ((m::abs(x) == infinity<T>()) & (x == y)) ? x : high + m::log1p(m::exp(difference));
}
template <class T>
inline std::complex<T> logaddexp(std::complex<T> x, std::complex<T> y) {
  if (x.real() < y.real()) std::swap(x, y);
  if (x == y && std::isinf(x.real())) return x;
  return x + m::log1p(std::exp(y - x));
}
template <class T>
inline T logaddexp2(T x, T y) {
  const T high = m::maximum(x, y), difference = -m::abs(x - y);
  return ((m::abs(x) == infinity<T>()) & (x == y)) ? x
                                                   : high + m::log1p(m::exp2(difference)) * T(1.44269504088896340736);
}
template <class T>
inline T sinc(T x) {
  const T product = static_cast<T>(3.14159265358979323846) * x;
  return x == T(0) ? T(1) : m::sin(product) / product;
}
template <class T>
inline T logit(T x) {
  return x == T(1) ? infinity<T>() : m::log(x / (T(1) - x));
}
/// A rational first guess (relative error below 1e-9 with the tail's own form), then two steps of Newton's method.
template <class T>
inline T erfinv(T y) {
  const double a = static_cast<double>(m::abs(y));
  if (!(a <= 1.0)) return not_a_number<T>();
  if (a == 1.0) return copysign(infinity<T>(), y);
  // Giles' polynomials in w = -log(1 - y^2).
  double w = -::log((1.0 - a) * (1.0 + a)), x;
  if (w < 5.0) {
    w -= 2.5;
    x = 2.81022636e-08;
    x = 3.43273939e-07 + x * w;
    x = -3.5233877e-06 + x * w;
    x = -4.39150654e-06 + x * w;
    x = 0.00021858087 + x * w;
    x = -0.00125372503 + x * w;
    x = -0.00417768164 + x * w;
    x = 0.246640727 + x * w;
    x = 1.50140941 + x * w;
  } else {
    w = ::sqrt(w) - 3.0;
    x = -0.000200214257;
    x = 0.000100950558 + x * w;
    x = 0.00134934322 + x * w;
    x = -0.00367342844 + x * w;
    x = 0.00573950773 + x * w;
    x = -0.0076224613 + x * w;
    x = 0.00943887047 + x * w;
    x = 1.00167406 + x * w;
    x = 2.83297682 + x * w;
  }
  x *= a;
  // erfc keeps the tail's digits: near 1 the difference of erf and y would have none.
  for (int i = 0; i < 2; ++i) {
    const double error = a > 0.5 ? (1.0 - a) - ::erfc(x) : ::erf(x) - a;
    const double slope = 1.12837916709551257390 * ::exp(-x * x);
    const double step = error / slope;
    x -= step / (1.0 + x * step);
  }
  return copysign(static_cast<T>(x), y);
}

}  // namespace updraft::UPDRAFT_ISA::m
