// erfc of floats: SLEEF's takes five times as long.
#pragma once
#include "kernels/simd/math.h"

namespace updraft::UPDRAFT_ISA::m {

inline double quick_erfc(double x) { return ::erfc(x); }
/// exp(-b^2) p(t) / (b + 2) with b = |x|, at most 10.1, where the result is less than any float, and t = (b - 2) / (b +
/// 2); p is a fit of ours to (b + 2) exp(b^2) erfc(b). b^2 and b + 2 are taken with what they round off. Within 4 ULP;
/// 5 without fused multiply-adds.
__attribute__((always_inline)) inline float quick_erfc(float x) {
  // The smaller one as an integer: a choice of floats is taken apart into choices of all that follows.
  const int32_t bits = __builtin_bit_cast(int32_t, x) & 0x7fffffff;
  const float b = __builtin_bit_cast(float, bits < 0x4121999a ? bits : 0x4121999a);
  const float s = b + 2.0f, cut = b - (s - 2.0f), h = b * b;
  float r = 1.0f / s;
#if defined(__FMA__)
  r = mad(r, mad(-s, r, 1.0f) - cut * r, r);
  const float low = mad(b, b, -h);
#else
  r = r - cut * r * r;
  const float scaled = b * 4097.0f, high = scaled - (scaled - b), rest = b - high;
  const float low = ((high * high - h) + 2.0f * high * rest) + rest * rest;
#endif
  const float t = mad(-4.0f, r, 1.0f);
  constexpr float k = 8.673617379884035e-19f;  // 2^-60, so that results that are no normal numbers are rounded once
  float p = -7.479504711227491e-05f * k;
  p = mad(p, t, -0.0005664366763085127f * k);
  p = mad(p, t, -0.0007120004156604409f * k);
  p = mad(p, t, 0.003072901163250208f * k);
  p = mad(p, t, 0.006437103729695082f * k);
  p = mad(p, t, -0.021508963778614998f * k);
  p = mad(p, t, -0.03643765300512314f * k);
  p = mad(p, t, 0.27947163581848145f * k);
  p = mad(p, t, -0.6871607303619385f * k);
  p = mad(p, t, 1.0215827226638794f * k);
  const float shifted = mad(h, -1.44269504088896340736f, 12583099.0f), n = shifted - 12583099.0f;  // 1.5 * 2^23 + 187
  const float d = mad(n, 2.12194440e-4f, mad(n, -0.693359375f, -h)) - low;
  float e = 0.0013933740556240082f;
  e = mad(e, d, 0.008363206870853901f);
  e = mad(e, d, 0.041666463017463684f);
  e = mad(e, d, 0.16666576266288757f);
  e = mad(e, d, 0.5f);
  p *= r;
  const float y = mad(p, mad(d * d, e, d), p) * __builtin_bit_cast(float, __builtin_bit_cast(int32_t, shifted) << 23);
  const float all = x < 0 ? 2.0f - y : y;
  return x != x ? x : all;
}

}  // namespace updraft::UPDRAFT_ISA::m
