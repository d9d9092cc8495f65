// Rows of numbers of eight bits: what they stand for, and real numbers as such numbers.
#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "kernels/quantized.h"

namespace updraft::UPDRAFT_ISA {
namespace {

/// The nearest whole number (of two the even one), `zero` later, within the type. Not a number gives the lowest.
template <class T>
inline T narrowed(float x, float zero) {
  constexpr float low = std::is_signed_v<T> ? -128.0f : 0.0f, high = low + 255.0f;
  const float y = std::rint(x) + zero;
  return static_cast<T>(static_cast<int32_t>(y > low ? std::min(y, high) : low));
}

template <class T>
void quantize(const float* __restrict x, int64_t n, const float* scale, const float* zero, bool each,
              T* __restrict to) {
  if (each) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) to[i] = narrowed<T>(x[i] / scale[i], zero[i]);
  } else {
    const float s = *scale, z = *zero;
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) to[i] = narrowed<T>(x[i] / s, z);
  }
}

template <class T>
void dequantize(const T* __restrict x, int64_t n, const float* scale, const float* zero, bool each,
                float* __restrict to) {
  if (each) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) to[i] = (static_cast<float>(x[i]) - zero[i]) * scale[i];
  } else {
    const float s = *scale, z = *zero;
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) to[i] = (static_cast<float>(x[i]) - z) * s;
  }
}

template <class A, class B, class T>
void sum(const A* __restrict a, const B* __restrict b, int64_t n, const QuantizedSum& q, T* __restrict to) {
  const float sa = q.a_scale, za = q.a_zero, sb = q.b_scale, zb = q.b_zero, sy = q.scale, zy = q.zero;
  const float least = q.relu ? 0.0f : -std::numeric_limits<float>::infinity();
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    const float y = (static_cast<float>(a[i]) - za) * sa + (static_cast<float>(b[i]) - zb) * sb;
    to[i] = narrowed<T>((y > least ? y : least) / sy, zy);
  }
}

void quantize_row(const float* x, int64_t n, const float* scale, const float* zero, bool each, bool has_sign,
                  void* to) {
  if (has_sign) quantize(x, n, scale, zero, each, static_cast<int8_t*>(to));
  else quantize(x, n, scale, zero, each, static_cast<uint8_t*>(to));
}

void dequantize_row(const void* x, bool has_sign, int64_t n, const float* scale, const float* zero, bool each,
                    float* to) {
  if (has_sign) dequantize(static_cast<const int8_t*>(x), n, scale, zero, each, to);
  else dequantize(static_cast<const uint8_t*>(x), n, scale, zero, each, to);
}

void quantized_sum_row(const void* a, const void* b, bool has_sign, int64_t n, const QuantizedSum& q, void* to) {
  if (has_sign) sum(static_cast<const int8_t*>(a), static_cast<const int8_t*>(b), n, q, static_cast<int8_t*>(to));
  else sum(static_cast<const uint8_t*>(a), static_cast<const uint8_t*>(b), n, q, static_cast<uint8_t*>(to));
}

}  // namespace

extern const QuantizedRows quantized_rows;
const QuantizedRows quantized_rows = {quantize_row, dequantize_row, quantized_sum_row};

}  // namespace updraft::UPDRAFT_ISA
