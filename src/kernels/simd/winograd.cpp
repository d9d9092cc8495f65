// The transforms of Winograd's F(4x4, 3x3): between planes or filters and the 36 points where they are multiplied
// (kernels/convolution/winograd.h). Tiles lie side by side in vectors: rows are cut into their four (or six) positions
// first.
//
// The points are 0, ±a, ±1/a and infinity with a = 1/sqrt(2): with them the result's error is some 2.3 times that of
// direct sums, against 4 times with the usual 0, ±1, ±2.
#include <algorithm>

#include "kernels/simd/vector.h"
#include "kernels/table.h"

namespace updraft::UPDRAFT_ISA {
namespace {

constexpr int L = kLanes<float>;
constexpr int64_t kPoints = 6;
constexpr float kA = 0.70710678118654752f, kB = 1.41421356237309505f;

/// From positions to points. The even and the odd powers of a point serve its negative, too.
struct Input {  // six positions of the input, of which two are the next tile's
  static constexpr int kTake = 6;
  static UPDRAFT_VECTOR_INLINE void apply(const VectorF* d, VectorF* to) {
    to[0] = fma_vector(broadcast(-2.5f), d[2], d[0] + d[4]);
    const VectorF even_a = fma_vector(broadcast(-2.0f), d[2], d[4]), odd_a = fma_vector(broadcast(-2.0f), d[1], d[3]);
    to[1] = fma_vector(broadcast(kA), odd_a, even_a);
    to[2] = fma_vector(broadcast(-kA), odd_a, even_a);
    const VectorF even_b = fma_vector(broadcast(-0.5f), d[2], d[4]), odd_b = fma_vector(broadcast(-0.5f), d[1], d[3]);
    to[3] = fma_vector(broadcast(kB), odd_b, even_b);
    to[4] = fma_vector(broadcast(-kB), odd_b, even_b);
    to[5] = fma_vector(broadcast(-2.5f), d[3], d[1] + d[5]);
  }
};
struct Gradient {  // four positions of the output's gradient
  static constexpr int kTake = 4;
  static UPDRAFT_VECTOR_INLINE void apply(const VectorF* y, VectorF* to) {
    to[0] = y[0];
    const VectorF even_a = fma_vector(broadcast(0.5f), y[2], y[0]), odd_a = fma_vector(broadcast(0.5f), y[3], y[1]);
    to[1] = fma_vector(broadcast(kA), odd_a, even_a);
    to[2] = fma_vector(broadcast(-kA), odd_a, even_a);
    const VectorF even_b = fma_vector(broadcast(2.0f), y[2], y[0]), odd_b = fma_vector(broadcast(2.0f), y[3], y[1]);
    to[3] = fma_vector(broadcast(kB), odd_b, even_b);
    to[4] = fma_vector(broadcast(-kB), odd_b, even_b);
    to[5] = y[3];
  }
};

UPDRAFT_VECTOR_INLINE void to_output(const VectorF* m, VectorF* y) {
  const VectorF sum_a = m[1] + m[2], sum_b = m[3] + m[4];
  const VectorF diff_a = (m[1] - m[2]) * kA, diff_b = (m[3] - m[4]) * kB;
  y[0] = m[0] + (sum_a + sum_b);
  y[1] = diff_a + diff_b;
  y[2] = fma_vector(broadcast(0.5f), sum_a, sum_b * 2.0f);
  y[3] = fma_vector(broadcast(0.5f), diff_a, fma_vector(broadcast(2.0f), diff_b, m[5]));
}

UPDRAFT_VECTOR_INLINE void filter_points(const VectorF* g, VectorF* to) {
  to[0] = g[0];
  const VectorF even_a = fma_vector(broadcast(0.5f), g[2], g[0]) * (-2.0f / 3), odd_a = g[1] * (-2.0f / 3 * kA);
  to[1] = even_a + odd_a;
  to[2] = even_a - odd_a;
  const VectorF even_b = fma_vector(broadcast(2.0f), g[2], g[0]) * (1.0f / 6), odd_b = g[1] * (kB / 6);
  to[3] = even_b + odd_b;
  to[4] = even_b - odd_b;
  to[5] = g[2];
}

UPDRAFT_VECTOR_INLINE void to_filter(const VectorF* m, VectorF* g) {
  const VectorF sum_a = (m[1] + m[2]) * (-2.0f / 3), sum_b = (m[3] + m[4]) * (1.0f / 6);
  g[0] = m[0] + (sum_a + sum_b);
  g[1] = fma_vector(broadcast(-2.0f / 3 * kA), m[1] - m[2], (m[3] - m[4]) * (kB / 6));
  g[2] = fma_vector(broadcast(0.5f), sum_a, fma_vector(broadcast(2.0f), sum_b, m[5]));
}

// --- every fourth element ---------------------------------------------------------------------------------------
#if defined(__AVX512F__)
UPDRAFT_VECTOR_INLINE VectorF evens(VectorF a, VectorF b) {
  return __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
}
UPDRAFT_VECTOR_INLINE VectorF odds(VectorF a, VectorF b) {
  return __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
}
UPDRAFT_VECTOR_INLINE VectorF zip_low(VectorF a, VectorF b) {
  return __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
}
UPDRAFT_VECTOR_INLINE VectorF zip_high(VectorF a, VectorF b) {
  return __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
}
#elif defined(__AVX__)
UPDRAFT_VECTOR_INLINE VectorF evens(VectorF a, VectorF b) {
  return __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14);
}
UPDRAFT_VECTOR_INLINE VectorF odds(VectorF a, VectorF b) {
  return __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15);
}
UPDRAFT_VECTOR_INLINE VectorF zip_low(VectorF a, VectorF b) {
  return __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11);
}
UPDRAFT_VECTOR_INLINE VectorF zip_high(VectorF a, VectorF b) {
  return __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15);
}
#else
UPDRAFT_VECTOR_INLINE VectorF evens(VectorF a, VectorF b) { return __builtin_shufflevector(a, b, 0, 2, 4, 6); }
UPDRAFT_VECTOR_INLINE VectorF odds(VectorF a, VectorF b) { return __builtin_shufflevector(a, b, 1, 3, 5, 7); }
UPDRAFT_VECTOR_INLINE VectorF zip_low(VectorF a, VectorF b) { return __builtin_shufflevector(a, b, 0, 4, 1, 5); }
UPDRAFT_VECTOR_INLINE VectorF zip_high(VectorF a, VectorF b) { return __builtin_shufflevector(a, b, 2, 6, 3, 7); }
#endif

/// Whether the first n lanes are finite is gathered in `seen`, which stays 0 then.
UPDRAFT_VECTOR_INLINE void look_at(VectorF v, int64_t n, VectorF& seen) {
  if (n < L) {
    alignas(kVectorBytes) float lane[L] = {};
    std::memcpy(lane, &v, static_cast<size_t>(n) * sizeof(float));
    v = load_vector<float>(lane);
  }
  seen = fma_vector(v, VectorF{}, seen);  // infinities and NaNs times 0 are NaN
}
UPDRAFT_VECTOR_INLINE bool all_finite(VectorF seen) { return sum_lanes<float>(seen) == 0; }

/// p[j][i] = x[4 i + j] for a vector of i.
UPDRAFT_VECTOR_INLINE void split_by_four(const float* x, VectorF* p) {
  const VectorF a = load_vector<float>(x), b = load_vector<float>(x + L), c = load_vector<float>(x + 2 * L),
                d = load_vector<float>(x + 3 * L);
  const VectorF even_low = evens(a, b), even_high = evens(c, d), odd_low = odds(a, b), odd_high = odds(c, d);
  p[0] = evens(even_low, even_high);
  p[1] = evens(odd_low, odd_high);
  p[2] = odds(even_low, even_high);
  p[3] = odds(odd_low, odd_high);
}
UPDRAFT_VECTOR_INLINE void join_by_four(const VectorF* p, float* x) {
  const VectorF even_low = zip_low(p[0], p[2]), even_high = zip_high(p[0], p[2]), odd_low = zip_low(p[1], p[3]),
                odd_high = zip_high(p[1], p[3]);
  store_vector<float>(x, zip_low(even_low, odd_low));
  store_vector<float>(x + L, zip_high(even_low, odd_low));
  store_vector<float>(x + 2 * L, zip_low(even_high, odd_high));
  store_vector<float>(x + 3 * L, zip_high(even_high, odd_high));
}

// Rows are copied into a padded image of whole slots of four, in which a row is followed by the next one: so vectors
// are full where a row has few tiles, too.
template <class Transform>
void points_of(const WinogradPlane& plane, int64_t first, int64_t tile_rows, float* to, int64_t step, float* scratch) {
  constexpr int kTake = Transform::kTake;
  const int64_t tiles = plane.tiles, slots = tiles + 1, pitch = 4 * slots;
  const int64_t rows = 4 * tile_rows + (kTake - 4), count = rows * slots, padded = winograd_round(count);
  float* image = scratch;
  float* split = image + 4 * padded + 4 * L;  // [6][padded]: rows at their six points
  for (int64_t r = 0; r < rows; ++r) {
    float* row = image + r * pitch;
    const int64_t y = 4 * first - plane.top + r;
    if (y < 0 || y >= plane.height) {
      std::fill_n(row, pitch, 0.0f);
      continue;
    }
    const int64_t n = std::min(plane.width, pitch - plane.left);
    std::fill_n(row, plane.left, 0.0f);
    std::memcpy(row + plane.left, plane.data + y * plane.width, static_cast<size_t>(n) * sizeof(float));
    std::fill_n(row + plane.left + n, pitch - plane.left - n, 0.0f);
  }
  std::fill_n(image + rows * pitch, 4 * (padded - count) + 4 * L, 0.0f);
  for (int64_t i = 0; i < count; i += L) {
    VectorF d[6], at[6];
    split_by_four(image + 4 * i, d);
    if constexpr (kTake == 6) {
      VectorF next[4];
      split_by_four(image + 4 * (i + 1), next);
      d[4] = next[0];
      d[5] = next[1];
    }
    Transform::apply(d, at);
    for (int64_t j = 0; j < kPoints; ++j) store_vector<float>(split + j * padded + i, at[j]);
  }
  for (int64_t r = 0; r < tile_rows; ++r)
    for (int64_t j = 0; j < kPoints; ++j) {
      const float* from = split + j * padded + 4 * r * slots;
      for (int64_t t = 0; t < tiles; t += L) {
        VectorF d[6], at[6];
        for (int i = 0; i < kTake; ++i) d[i] = load_vector<float>(from + i * slots + t);
        Transform::apply(d, at);
        for (int64_t i = 0; i < kPoints; ++i) store_vector<float>(to + (i * kPoints + j) * step + r * tiles + t, at[i]);
      }
    }
}

template <class Transform>
void points_of_image(const WinogradImage& image, int64_t row, float* to, int64_t step) {
  constexpr int kTake = Transform::kTake;
  const int64_t y = 4 * row - image.top, line = image.width * image.channels;
  for (int64_t t = 0; t < image.tiles; ++t) {
    const int64_t x = 4 * t - image.left;
    const bool inside = y >= 0 && x >= 0 && y + kTake <= image.height && x + kTake <= image.width;
    for (int64_t c = 0; c < image.channels; c += L) {
      VectorF half[kTake][6];
      for (int64_t i = 0; i < kTake; ++i) {
        VectorF d[kTake];
        const float* from = image.data + (y + i) * line + x * image.channels + c;
        for (int64_t j = 0; j < kTake; ++j) {
          const bool there = inside || (y + i >= 0 && y + i < image.height && x + j >= 0 && x + j < image.width);
          d[j] = there ? load_vector<float>(from + j * image.channels) : VectorF{};
        }
        Transform::apply(d, half[i]);
      }
      float* at = to + t * image.channels + c;
      for (int64_t j = 0; j < kPoints; ++j) {
        VectorF d[kTake], points[6];
        for (int i = 0; i < kTake; ++i) d[i] = half[i][j];
        Transform::apply(d, points);
        for (int64_t i = 0; i < kPoints; ++i) store_vector<float>(at + (i * kPoints + j) * step, points[i]);
      }
    }
  }
}

}  // namespace

/// Tile rows [first, first + tile_rows) of an input plane: to[point * step + tile].
void winograd_input(const WinogradPlane& plane, int64_t first, int64_t tile_rows, float* to, int64_t step,
                    float* scratch) {
  points_of<Input>(plane, first, tile_rows, to, step, scratch);
}

/// The same of the gradient of an output plane, for the gradient of the filters.
void winograd_gradient(const WinogradPlane& plane, int64_t first, int64_t tile_rows, float* to, int64_t step,
                       float* scratch) {
  points_of<Gradient>(plane, first, tile_rows, to, step, scratch);
}

/// Back to the rows of an output plane, plus `bias`. False: not all results are finite.
bool winograd_output(const float* from, int64_t step, int64_t first, int64_t tile_rows, float bias,
                     const WinogradPlane& plane, float* scratch) {
  const int64_t tiles = plane.tiles, count = tile_rows * tiles, line = 4 * winograd_round(count);
  VectorF seen{};
  for (int64_t t = 0; t < count; t += L) {
    VectorF y[4][6];
    for (int64_t j = 0; j < kPoints; ++j) {
      VectorF m[6], column[4];
      for (int64_t i = 0; i < kPoints; ++i) m[i] = load_vector<float>(from + (i * kPoints + j) * step + t);
      to_output(m, column);
      for (int i = 0; i < 4; ++i) y[i][j] = column[i];
    }
    for (int i = 0; i < 4; ++i) {
      VectorF p[4];
      to_output(y[i], p);
      for (VectorF& v : p) {
        v = v + bias;
        look_at(v, count - t, seen);
      }
      join_by_four(p, scratch + i * line + 4 * t);
    }
  }
  for (int64_t r = 0; r < tile_rows; ++r)
    for (int64_t i = 0; i < 4 && 4 * (first + r) + i < plane.height; ++i)
      std::memcpy(const_cast<float*>(plane.data) + (4 * (first + r) + i) * plane.width,
                  scratch + i * line + 4 * r * tiles, static_cast<size_t>(plane.width) * sizeof(float));
  return all_finite(seen);
}

/// A row of tiles of an image with the channels innermost: to[point * step + tile * channels + channel].
void winograd_input_last(const WinogradImage& image, int64_t row, float* to, int64_t step) {
  points_of_image<Input>(image, row, to, step);
}

/// The same of the gradient of an output image, for the gradient of the filters.
void winograd_gradient_last(const WinogradImage& image, int64_t row, float* to, int64_t step) {
  points_of_image<Gradient>(image, row, to, step);
}

/// Back from the points of a row of tiles. False: not all results are finite.
bool winograd_output_last(const float* from, int64_t step, int64_t row, const WinogradTail& tail,
                          const WinogradImage& image) {
  VectorF seen{};
  for (int64_t t = 0; t < image.tiles; ++t) {
    const int64_t rows = std::min<int64_t>(4, image.height - 4 * row),
                  columns = std::min<int64_t>(4, image.width - 4 * t);
    for (int64_t c = 0; c < image.channels; c += L) {
      const float* at = from + t * image.channels + c;
      VectorF y[4][6];
      for (int64_t j = 0; j < kPoints; ++j) {
        VectorF m[6], column[4];
        for (int64_t i = 0; i < kPoints; ++i) m[i] = load_vector<float>(at + (i * kPoints + j) * step);
        to_output(m, column);
        for (int i = 0; i < 4; ++i) y[i][j] = column[i];
      }
      const VectorF scale = tail.scale ? load_vector<float>(tail.scale + c) : broadcast(1.0f),
                    bias = tail.bias ? load_vector<float>(tail.bias + c) : VectorF{};
      for (int64_t i = 0; i < rows; ++i) {
        VectorF p[4];
        to_output(y[i], p);
        const int64_t place = ((4 * row + i) * image.width + 4 * t) * image.channels + c;
        for (int64_t j = 0; j < columns; ++j) {
          VectorF v = fma_vector(p[j], scale, bias);
          seen = fma_vector(v, VectorF{}, seen);
          if (tail.add) v = v + load_vector<float>(tail.add + place + j * image.channels);
          if (tail.relu) v = v > VectorF{} ? v : VectorF{};
          store_vector<float>(const_cast<float*>(image.data) + place + j * image.channels, v);
        }
      }
    }
  }
  return all_finite(seen);
}

/// Filters [channels][3][3] to to[point * step + channel]; `turned` ones stand on their heads, as the gradient of the
/// input takes them. Writes whole vectors.
void winograd_filters(const float* filters, int64_t channels, bool turned, float* to, int64_t step) {
  for (int64_t c = 0; c < channels; c += L) {
    const int64_t n = std::min<int64_t>(L, channels - c);
    alignas(64) float lanes[9][L] = {};
    for (int64_t i = 0; i < n; ++i)
      for (int k = 0; k < 9; ++k) lanes[turned ? 8 - k : k][i] = filters[(c + i) * 9 + k];
    VectorF half[6][3];
    for (int x = 0; x < 3; ++x) {
      const VectorF g[3] = {load_vector<float>(lanes[x]), load_vector<float>(lanes[3 + x]),
                            load_vector<float>(lanes[6 + x])};
      VectorF at[6];
      filter_points(g, at);
      for (int i = 0; i < 6; ++i) half[i][x] = at[i];
    }
    for (int64_t i = 0; i < kPoints; ++i) {
      VectorF at[6];
      filter_points(half[i], at);
      for (int64_t j = 0; j < kPoints; ++j) store_vector<float>(to + (i * kPoints + j) * step + c, at[j]);
    }
  }
}

namespace {
/// The gradients of the nine taps of a vector of filters, from those of their points, which lie `step` apart.
UPDRAFT_VECTOR_INLINE void taps_of(const float* from, int64_t step, VectorF (&taps)[9]) {
  VectorF half[3][6];
  for (int64_t j = 0; j < kPoints; ++j) {
    VectorF m[6], g[3];
    for (int64_t i = 0; i < kPoints; ++i) m[i] = load_vector<float>(from + (i * kPoints + j) * step);
    to_filter(m, g);
    for (int i = 0; i < 3; ++i) half[i][j] = g[i];
  }
  for (int y = 0; y < 3; ++y) {
    VectorF g[3];
    to_filter(half[y], g);
    for (int x = 0; x < 3; ++x) taps[3 * y + x] = g[x];
  }
}
}  // namespace

/// The gradient of filters [channels][3][3] from that of their points. Reads whole vectors. False: not all is finite.
bool winograd_filter_gradient(const float* from, int64_t step, int64_t channels, float* filters) {
  VectorF seen{};
  for (int64_t c = 0; c < channels; c += L) {
    const int64_t n = std::min<int64_t>(L, channels - c);
    VectorF taps[9];
    taps_of(from + c, step, taps);
    alignas(64) float lanes[9][L];
    for (int k = 0; k < 9; ++k) {
      store_vector<float>(lanes[k], taps[k]);
      look_at(taps[k], n, seen);
    }
    for (int64_t i = 0; i < n; ++i)
      for (int k = 0; k < 9; ++k) filters[(c + i) * 9 + k] = lanes[k][i];
  }
  return all_finite(seen);
}

/// The gradient of `count` filters, whole vectors, whose taps lie apart: filters[tap * tap_step + filter].
bool winograd_filter_gradient_last(const float* from, int64_t step, int64_t count, float* filters, int64_t tap_step) {
  VectorF seen{};
  for (int64_t c = 0; c < count; c += L) {
    VectorF taps[9];
    taps_of(from + c, step, taps);
    for (int64_t k = 0; k < 9; ++k) {
      store_vector<float>(filters + k * tap_step + c, taps[k]);
      seen = fma_vector(taps[k], VectorF{}, seen);
    }
  }
  return all_finite(seen);
}

}  // namespace updraft::UPDRAFT_ISA
