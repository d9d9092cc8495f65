// Quantised results: whole numbers of eight or four bits.
#pragma once
#include <algorithm>
#include <cmath>
#include <vector>

#include "ops/gathered.h"
#include "ops/op.h"

namespace updraft {

/// Of parameters that name the result's type; such a result is INT32, eight numbers each.
constexpr int64_t kInt4 = static_cast<int64_t>(DType::Int4);

/// Lowest and highest number; four bits lie eight in an INT32, the first low.
struct Range {
  float low, high;
  bool packed;
};
inline Range range_of(const Op& op, const TensorView& y) {
  op.require(y.dtype == DType::Int8 || y.dtype == DType::Int32,
             "the result is {}, want INT8 or INT32 (INT4, eight each)", describe(y));
  if (y.dtype == DType::Int32) return {-8, 7, true};
  return {-128, 127, false};
}

inline void write_numbers(const TensorView& to, const std::vector<float>& numbers, bool packed) {
  if (!packed) return write_all(to, numbers);
  std::vector<int32_t> words(numbers.size() / 8, 0);
  for (size_t i = 0; i < words.size() * 8; ++i) {
    const auto bits = static_cast<uint32_t>(static_cast<int32_t>(numbers[i])) & 15u;
    words[i / 8] |= static_cast<int32_t>(bits << (i % 8 * 4));
  }
  write_all(to, words);
}

/// A whole number within the range; NaN becomes 0, as conversions of the card have it.
inline float kept(float x, Range r) { return std::isnan(x) ? 0.0f : std::clamp(std::nearbyint(x), r.low, r.high); }

/// x = kept(x * factor / *scale), where *scale brings the largest magnitude of the row to the highest number.
/// `factor`: one for each column, or null.
inline void quantise_by_largest(float* x, int64_t n, const float* factor, Range r, float* scale) {
  float most = 0;
  for (int64_t c = 0; c < n; ++c) {
    if (factor) x[c] *= factor[c];
    most = std::max(most, std::abs(x[c]));
  }
  *scale = most / r.high;
  for (int64_t c = 0; c < n; ++c) x[c] = *scale > 0 ? kept(x[c] / *scale, r) : 0.0f;
}

}  // namespace updraft
