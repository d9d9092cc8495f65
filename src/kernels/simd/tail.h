// What follows the sums of a product, on vectors.
#pragma once
#include "kernels/matmul/packed.h"
#include "kernels/simd/vector.h"

namespace updraft::UPDRAFT_ISA {

UPDRAFT_VECTOR_INLINE VectorF positive(VectorF x) { return x < 0.0f ? VectorF{} : x; }  // a NaN stays
UPDRAFT_VECTOR_INLINE VectorF hard_swish(VectorF x) {
  VectorF part = x * (1.0f / 6.0f) + 0.5f;
  part = part < 0.0f ? VectorF{} : part;
  return x * (part > 1.0f ? VectorF{} + 1.0f : part);
}
/// A vector of sums, in row i and from column v on. `load` takes a vector of what is beside them.
template <class Load>
UPDRAFT_VECTOR_INLINE VectorF ended(VectorF x, const packed::Tail& t, int64_t i, int64_t v, Load load) {
  if (t.alpha != 1) x *= t.alpha;
  if (t.scale) x *= load(t.scale + v);
  if (t.bias) x += load(t.bias + v);
  if (t.add) x += load(t.add + i * t.add_line + v) * t.beta;
  if (t.relu) x = positive(x);
  return t.hard_swish ? hard_swish(x) : x;
}
UPDRAFT_VECTOR_INLINE VectorF ended(VectorF x, const packed::Tail& t, int64_t i, int64_t v) {
  return ended(
      x, t, i, v, [](const float* p) __attribute__((always_inline)) { return load_vector<float>(p); });
}

}  // namespace updraft::UPDRAFT_ISA
