// Vectors of the widest kind that the instruction set has, for loops that the compiler does not vectorise by itself.
#pragma once
#include <cstdint>
#include <cstring>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace updraft::UPDRAFT_ISA {

#if defined(__AVX512F__)
inline constexpr int kVectorBytes = 64;
#elif defined(__AVX__)
inline constexpr int kVectorBytes = 32;
#else
inline constexpr int kVectorBytes = 16;
#endif

typedef float VectorF __attribute__((vector_size(kVectorBytes), may_alias));
typedef double VectorD __attribute__((vector_size(kVectorBytes), may_alias));
typedef int32_t VectorI __attribute__((vector_size(kVectorBytes), may_alias));

template <class T>
struct VectorOf;
template <>
struct VectorOf<float> {
  using type = VectorF;
};
template <>
struct VectorOf<double> {
  using type = VectorD;
};
template <class T>
using Vector = typename VectorOf<T>::type;
template <class T>
inline constexpr int kLanes = kVectorBytes / static_cast<int>(sizeof(T));

#define UPDRAFT_VECTOR_INLINE inline __attribute__((always_inline))

template <class T>
UPDRAFT_VECTOR_INLINE Vector<T> load_vector(const T* p) {
  Vector<T> v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
template <class T>
UPDRAFT_VECTOR_INLINE void store_vector(T* p, Vector<T> v) {
  std::memcpy(p, &v, sizeof v);
}
/// The first lanes of a vector of floats, not all of them: nothing else is read (it is 0) or written.
struct FirstLanes {
#if defined(__AVX512F__)
  __mmask16 there;
  explicit FirstLanes(int64_t n) : there(static_cast<__mmask16>((1u << n) - 1)) {}
  UPDRAFT_VECTOR_INLINE VectorF load(const float* p) const { return (VectorF)_mm512_maskz_loadu_ps(there, p); }
  UPDRAFT_VECTOR_INLINE void store(float* p, VectorF v) const { _mm512_mask_storeu_ps(p, there, (__m512)v); }
#else
  size_t bytes;
  explicit FirstLanes(int64_t n) : bytes(static_cast<size_t>(n) * sizeof(float)) {}
  VectorF load(const float* p) const {
    VectorF v = {};
    std::memcpy(&v, p, bytes);
    return v;
  }
  void store(float* p, VectorF v) const { std::memcpy(p, &v, bytes); }
#endif
};
template <class T>
UPDRAFT_VECTOR_INLINE Vector<T> broadcast(T x) {
  return x - Vector<T>{};  // folds to a broadcast
}
/// a * b + c with one rounding where the instruction set can.
UPDRAFT_VECTOR_INLINE VectorF fma_vector(VectorF a, VectorF b, VectorF c) {
#if defined(__AVX512F__)
  return (VectorF)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
#elif defined(__FMA__)
  return (VectorF)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
#else
  return a * b + c;
#endif
}
UPDRAFT_VECTOR_INLINE VectorD fma_vector(VectorD a, VectorD b, VectorD c) {
#if defined(__AVX512F__)
  return (VectorD)_mm512_fmadd_pd((__m512d)a, (__m512d)b, (__m512d)c);
#elif defined(__FMA__)
  return (VectorD)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)c);
#else
  return a * b + c;
#endif
}
UPDRAFT_VECTOR_INLINE VectorF max_vector(VectorF a, VectorF b) { return a > b ? a : b; }

/// Lanes in a fixed tree, so that the result does not depend on anything but the vector: the halves with each other,
/// until one is left.
template <int Bytes, class T, class F>
UPDRAFT_VECTOR_INLINE T fold_lanes(const T* lane, F&& f) {
  typedef T Half __attribute__((vector_size(Bytes / 2), may_alias));
  Half low, high;
  std::memcpy(&low, lane, sizeof low);
  std::memcpy(&high, lane + Bytes / 2 / sizeof(T), sizeof high);
  low = f(low, high);
  if constexpr (Bytes / 2 == 2 * sizeof(T)) {
    return f(low[0], low[1]);
  } else {
    alignas(Bytes / 2) T rest[Bytes / 2 / sizeof(T)];
    std::memcpy(rest, &low, sizeof low);
    return fold_lanes<Bytes / 2, T>(rest, f);
  }
}
template <class T>
UPDRAFT_VECTOR_INLINE T sum_lanes(Vector<T> v) {
  alignas(kVectorBytes) T lane[kLanes<T>];
  store_vector<T>(lane, v);
  if constexpr (kLanes<T> == 2) return lane[0] + lane[1];
  else
    return fold_lanes<kVectorBytes, T>(
        lane, [](auto a, auto b) __attribute__((always_inline)) { return a + b; });
}
UPDRAFT_VECTOR_INLINE float max_lanes(VectorF v) {
  alignas(kVectorBytes) float lane[kLanes<float>];
  store_vector<float>(lane, v);
  return fold_lanes<kVectorBytes, float>(
      lane, [](auto a, auto b) __attribute__((always_inline)) { return a > b ? a : b; });
}

}  // namespace updraft::UPDRAFT_ISA
