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
  static constexpr T identity() {
    return T(0);
  }
  template <class V>
  static V apply(V a, V b) {
    return a + b;
  }
};
struct MulOp {
  template <class T>
  static constexpr T identity() {
    return T(1);
  }
  template <class V>
  static V apply(V a, V b) {
    return a * b;
  }
};
// b is the new value: it wins when it is larger or NaN; a NaN in a stays, no comparison beats it.
struct MaxOp {
  template <class T>
  static constexpr T identity() {
    if constexpr (std::is_integral_v<T>) return std::numeric_limits<T>::min();
    else return -std::numeric_limits<T>::infinity();
  }
  template <class V>
  static V apply(V a, V b) {
    return ((b > a) | (b != b)) ? b : a;
  }
};
struct MinOp {
  template <class T>
  static constexpr T identity() {
    if constexpr (std::is_integral_v<T>) return std::numeric_limits<T>::max();
    else return std::numeric_limits<T>::infinity();
  }
  template <class V>
  static V apply(V a, V b) {
    return ((b < a) | (b != b)) ? b : a;
  }
};

/// One block: lanes in T, combined in W. Keep n below some thousands when T is float and the operation adds.
template <class O, class W, class T>
inline W fold_block(const T* x, int64_t n) {
  // A plain array of lanes: the compiler keeps it in registers of whatever width there is (comparisons of vector
  // types would be taken apart on instruction sets with shorter registers).
  constexpr int64_t k = 256 / sizeof(T);
  W result = O::template identity<W>();
  int64_t i = 0;
  if (n >= k) {
    T lane[k];
    for (int64_t j = 0; j < k; ++j) lane[j] = x[j];
    for (i = k; i + k <= n; i += k)
      for (int64_t j = 0; j < k; ++j) lane[j] = O::apply(lane[j], x[i + j]);
    for (int64_t h = k / 2; h >= 8; h /= 2)
      for (int64_t j = 0; j < h; ++j) lane[j] = O::apply(lane[j], lane[j + h]);
    W wide[8];
    for (int64_t j = 0; j < 8; ++j) wide[j] = static_cast<W>(lane[j]);
    for (int64_t h = 4; h >= 1; h /= 2)
      for (int64_t j = 0; j < h; ++j) wide[j] = O::apply(wide[j], wide[j + h]);
    result = O::apply(result, wide[0]);
  }
  if (n - i >= 16) {
    T lane[16];
    for (int64_t j = 0; j < 16; ++j) lane[j] = x[i + j];
    for (i += 16; i + 16 <= n; i += 16)
      for (int64_t j = 0; j < 16; ++j) lane[j] = O::apply(lane[j], x[i + j]);
    for (int64_t j = 0; j < 8; ++j) lane[j] = O::apply(lane[j], lane[j + 8]);
    for (int64_t j = 0; j < 8; ++j) result = O::apply(result, static_cast<W>(lane[j]));
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
