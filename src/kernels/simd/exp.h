// exp of a vector in registers, for loops that take nothing else of a vector's elements.
#pragma once
#include "kernels/simd/vector.h"

namespace updraft::UPDRAFT_ISA {

/// exp with an error of 1-2 ULP; exactly 0 below -87.3 (and for -inf), NaN stays. Not for large positive arguments.
UPDRAFT_VECTOR_INLINE VectorF exp_vector(VectorF x) {
  const VectorF low = broadcast(-87.3f), magic = broadcast(12582912.0f);  // 1.5 * 2^23: adding it rounds to an integer
  const VectorF clamped = x < low ? low : x;
  const VectorF shifted = fma_vector(clamped, broadcast(1.44269504088896341f), magic);
  const VectorF n = shifted - magic;
  VectorF r = fma_vector(n, broadcast(-0.693359375f), clamped);
  r = fma_vector(n, broadcast(2.12194440e-4f), r);
  VectorF p = broadcast(1.9875691500e-4f);
  p = fma_vector(p, r, broadcast(1.3981999507e-3f));
  p = fma_vector(p, r, broadcast(8.3334519073e-3f));
  p = fma_vector(p, r, broadcast(4.1665795894e-2f));
  p = fma_vector(p, r, broadcast(1.6666665459e-1f));
  p = fma_vector(p, r, broadcast(5.0000001201e-1f));
  p = fma_vector(p, r * r, r) + 1.0f;
  // 2^n by its exponent bits: the integer sits in the low bits of `shifted`.
  VectorI bits;
  std::memcpy(&bits, &shifted, sizeof bits);
  bits = (bits << 23) + (127 << 23);
  VectorF scale;
  std::memcpy(&scale, &bits, sizeof scale);
  const VectorF result = p * scale;
  return x < low ? VectorF{} : result;
}

}  // namespace updraft::UPDRAFT_ISA
