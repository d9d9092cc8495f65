// Stable orders of lines of elements, by radix sort on integers that compare as the elements do: NaN is the greatest
// and equal to itself, -0 equals 0.
#pragma once
#include <bit>
#include <cmath>
#include <type_traits>

#include "ops/index/indices.h"

namespace updraft {

template <class T>
struct KeyOf {
  using Key = std::conditional_t<sizeof(T) <= 4, uint32_t, uint64_t>;
};

template <class T>
inline typename KeyOf<T>::Key key_of(T v) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
    return key_of(static_cast<float>(v));
  } else if constexpr (std::is_same_v<T, float>) {
    if (v != v) return 0xffffffffu;
    const auto b = std::bit_cast<uint32_t>(v + 0.0f);
    return b & 0x80000000u ? ~b : b | 0x80000000u;
  } else if constexpr (std::is_same_v<T, double>) {
    if (v != v) return ~uint64_t{0};
    const auto b = std::bit_cast<uint64_t>(v + 0.0);
    return b >> 63 ? ~b : b | uint64_t{1} << 63;
  } else if constexpr (std::is_same_v<T, int64_t>) {
    return static_cast<uint64_t>(v) ^ uint64_t { 1 } << 63;
  } else if constexpr (std::is_signed_v<T>) {
    return static_cast<uint32_t>(static_cast<int32_t>(v)) ^ 0x80000000u;
  } else {
    return v;
  }
}

/// order[i] = position of the i-th element of the line of n elements at `stride`. Uses scratch of the calling thread.
void sort_line(DType t, const void* line, int64_t stride, int64_t n, bool descending, int64_t* order);
/// The first k of that order.
void top_of_line(DType t, const void* line, int64_t stride, int64_t n, int64_t k, bool largest, int64_t* order);

/// Scratch that sort_line() takes for a line of n elements, and top_of_line() at most.
size_t sort_bytes(DType t, int64_t n);

/// Sorting is defined for the type.
bool is_ordered(DType t);

}  // namespace updraft
