// Sums, products and extremes of contiguous arrays in vector registers. The number of lanes is the same for every
// instruction set, so results are too (up to fused multiply-adds).
#pragma once
#include <cstdint>
#include <cstring>

#include "kernels/simd/math.h"

namespace updraft::UPDRAFT_ISA {

template <class T>
struct Lanes {
  typedef T V __attribute__((vector_size(64)));
  static constexpr int64_t kLanes = 64 / sizeof(T);
  static V load(const T* p) {
    V v;
    std::memcpy(&v, p, sizeof v);
    return v;
  }
  static V all(T x) { return V{} + x; }
};

struct AddOp {
  template <class T>
  static constexpr T identity() { return T(0); }
  template <class V>
  static V apply(V a, V b) { return a + b; }
};
struct MulOp {
  template <class T>
  static constexpr T identity() { return T(1); }
  template <class V>
  static V apply(V a, V b) { return a * b; }
};
// b is the new value: it wins when it is larger or NaN; a NaN in a stays, no comparison beats it.
struct MaxOp {
  template <class T>
  static constexpr T identity() {
    if constexpr (std::is_integral_v<T>) return std::numeric_limits<T>::min();
    else return -std::numeric_limits<T>::infinity();
  }
  template <class V>
  static V apply(V a, V b) { return (b > a) | (b != b) ? b : a; }
};
struct MinOp {
  template <class T>
  static constexpr T identity() {
    if constexpr (std::is_integral_v<T>) return std::numeric_limits<T>::max();
    else return std::numeric_limits<T>::infinity();
  }
  template <class V>
  static V apply(V a, V b) { return (b < a) | (b != b) ? b : a; }
};

/// One block: lanes in T, combined in W. Keep n below some thousands when T is float and the operation adds.
template <class O, class W, class T>
inline W fold_block(const T* x, int64_t n) {
  using L = Lanes<T>;
  constexpr int64_t k = L::kLanes;
  W result = O::template identity<W>();
  int64_t i = 0;
  if (n >= k) {
    typename L::V a = L::all(O::template identity<T>()), b = a, c = a, d = a;
    for (; i + 4 * k <= n; i += 4 * k) {
      a = O::apply(a, L::load(x + i));
      b = O::apply(b, L::load(x + i + k));
      c = O::apply(c, L::load(x + i + 2 * k));
      d = O::apply(d, L::load(x + i + 3 * k));
    }
    for (; i + k <= n; i += k) a = O::apply(a, L::load(x + i));
    a = O::apply(O::apply(a, b), O::apply(c, d));
    for (int64_t j = 0; j < k; ++j) result = O::apply(result, static_cast<W>(a[j]));
  }
  for (; i < n; ++i) result = O::apply(result, static_cast<W>(x[i]));
  return result;
}

/// Any length: blocks of fixed size, their results combined in W in order.
template <class O, class W, class T>
inline W fold(const T* x, int64_t n) {
  constexpr int64_t kBlock = 4096;
  if (n <= kBlock) return fold_block<O, W>(x, n);
  W result = O::template identity<W>();
  for (int64_t i = 0; i < n; i += kBlock) result = O::apply(result, fold_block<O, W>(x + i, std::min(kBlock, n - i)));
  return result;
}

}  // namespace updraft::UPDRAFT_ISA
