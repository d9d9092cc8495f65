// Sampling at positions that a grid gives. All is done for a block of positions, one step after the other, so that the
// lanes of a vector are positions.
#include <algorithm>
#include <cmath>
#include <type_traits>

#include "kernels/simd/by_compute.h"
#include "kernels/simd/vector.h"
#include "kernels/table.h"

namespace updraft::UPDRAFT_ISA {
namespace {

constexpr int64_t kBlock = 256;  ///< positions

/// Positions of a block in one dimension, in elements, and their derivatives by the grid's value.
template <class T>
struct Coordinates {
  T at[kBlock], slope[kBlock];
};

template <class T>
void reflect(Coordinates<T>& c, int64_t m, int64_t size, bool align_corners) {
  const T low = align_corners ? T(0) : T(-1), high = align_corners ? T(2 * (size - 1)) : T(2 * size - 1);
  const T min = low / 2, span = (high - low) / 2;
  for (int64_t i = 0; i < m; ++i) {
    if (low == high) {
      c.at[i] = c.slope[i] = 0;
      continue;
    }
    const T x = std::abs(c.at[i] - min), slope = c.at[i] < min ? -c.slope[i] : c.slope[i];
    const T extra = std::fmod(x, span);
    const bool even = std::fmod(std::floor(x / span), T(2)) == 0;
    c.at[i] = even ? extra + min : span - extra + min;
    c.slope[i] = even ? slope : -slope;
  }
}

template <class T>
void keep_inside(Coordinates<T>& c, int64_t m, const Sampling& s, int64_t size) {
  if (s.border == kReflect) reflect(c, m, size, s.align_corners);
  if (s.border == kZeros) return;
  const T last = static_cast<T>(size - 1);
  for (int64_t i = 0; i < m; ++i) {
    const T x = c.at[i];
    const bool inside = x > 0 && x < last;
    c.at[i] = x > 0 ? std::min(x, last) : T(0);  // not a number: the first
    c.slope[i] = inside ? c.slope[i] : T(0);
  }
}

/// What one dimension contributes to each tap.
template <class T, class I, int kEach>
struct Axis {
  I at[kEach][kBlock];
  T weight[kEach][kBlock], slope[kEach][kBlock];
};

/// Whole numbers, also of what no integer holds: that is outside, and so is the next one.
template <class T, class I>
void to_elements(I* to, const T* x, int64_t m, int64_t size) {
  const T below = -2, above = 2 * static_cast<T>(size) + 2;
  for (int64_t i = 0; i < m; ++i) {
    const T least = x[i] > below ? x[i] : below;
    to[i] = static_cast<I>(least < above ? least : above);
  }
}

template <class T, class I, int kEach>
void fill_axis(Axis<T, I, kEach>& to, const Sampling& s, const T* grid, int64_t m, int d) {
  const int64_t size = s.in[d], n = s.spatial;
  const T* const g = grid + (n - 1 - d);
  Coordinates<T> c;
  T floor[kBlock];
  const T edge = static_cast<T>(size);
  const T slope = (s.align_corners ? static_cast<T>(size - 1) : edge) / 2;
  if (s.align_corners)
    for (int64_t i = 0; i < m; ++i) c.at[i] = (g[i * n] + 1) / 2 * static_cast<T>(size - 1);
  else
    for (int64_t i = 0; i < m; ++i) c.at[i] = ((g[i * n] + 1) * edge - 1) / 2;
  std::fill_n(c.slope, m, slope);
  if constexpr (kEach != 4) keep_inside(c, m, s, size);
  if constexpr (kEach == 1) {
    for (int64_t i = 0; i < m; ++i) {
      floor[i] = std::rint(c.at[i]);
      to.weight[0][i] = 1;
      to.slope[0][i] = 0;
    }
    to_elements(to.at[0], floor, m, size);
  } else if constexpr (kEach == 2) {
    for (int64_t i = 0; i < m; ++i) {
      floor[i] = std::floor(c.at[i]);
      to.weight[0][i] = floor[i] + 1 - c.at[i];
      to.weight[1][i] = c.at[i] - floor[i];
      to.slope[0][i] = -c.slope[i];
      to.slope[1][i] = c.slope[i];
    }
    to_elements(to.at[0], floor, m, size);
    for (int64_t i = 0; i < m; ++i) to.at[1][i] = to.at[0][i] + 1;
  } else {
    constexpr T a = T(-0.75);
    const auto near = [](T x) { return ((a + 2) * x - (a + 3)) * x * x + 1; };
    const auto far = [](T x) { return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a; };
    const auto near_slope = [](T x) { return (3 * (a + 2) * x - 2 * (a + 3)) * x; };
    const auto far_slope = [](T x) { return (3 * a * x - 10 * a) * x + 8 * a; };
    for (int64_t i = 0; i < m; ++i) {
      floor[i] = std::floor(c.at[i]);
      const T t = c.at[i] - floor[i];
      to.weight[0][i] = far(t + 1);
      to.weight[1][i] = near(t);
      to.weight[2][i] = near(1 - t);
      to.weight[3][i] = far(2 - t);
      to.slope[0][i] = far_slope(t + 1) * slope;
      to.slope[1][i] = near_slope(t) * slope;
      to.slope[2][i] = -near_slope(1 - t) * slope;
      to.slope[3][i] = -far_slope(2 - t) * slope;
    }
    for (int k = 0; k < 4; ++k) {  // each of the four is brought inside by itself
      for (int64_t i = 0; i < m; ++i) c.at[i] = floor[i] + static_cast<T>(k - 1);
      keep_inside(c, m, s, size);
      to_elements(to.at[k], c.at, m, size);
    }
  }
}

template <class T, class I, int kSpatial, int kEach>
void fill_taps(const Sampling& s, const T* grid, const SampleTaps& to, int64_t begin, int64_t end) {
  constexpr int kTaps = kSpatial == 2 ? kEach * kEach : kEach * kEach * kEach;
  const int64_t positions = s.out_size();
  Axis<T, I, kEach> axes[kSpatial];
  I size[kSpatial];
  for (int d = 0; d < kSpatial; ++d) size[d] = static_cast<I>(s.in[d]);
  for (int64_t p = begin; p < end; p += kBlock) {
    const int64_t m = std::min(kBlock, end - p);
    for (int d = 0; d < kSpatial; ++d) fill_axis(axes[d], s, grid + p * kSpatial, m, d);
    for (int k = 0; k < kTaps; ++k) {
      int which[kSpatial];
      for (int d = kSpatial - 1, rest = k; d >= 0; --d, rest /= kEach) which[d] = rest % kEach;
      I* const index = static_cast<I*>(to.index) + k * positions + p;
      T* const weight = static_cast<T*>(to.weight) + k * positions + p;
      for (int64_t i = 0; i < m; ++i) {
        I element = 0;
        T product = 1;
        bool inside = true;
        for (int d = 0; d < kSpatial; ++d) {
          const I x = axes[d].at[which[d]][i];
          inside = inside & (x >= 0) & (x < size[d]);
          element = element * size[d] + x;
          product *= axes[d].weight[which[d]][i];
        }
        index[i] = inside ? element : I(-1);
        weight[i] = product;
      }
      if (!to.slope) continue;
      for (int d = 0; d < kSpatial; ++d) {
        T* const slope = static_cast<T*>(to.slope) + (k * kSpatial + d) * positions + p;
        for (int64_t i = 0; i < m; ++i) {
          T value = axes[d].slope[which[d]][i];
          for (int o = 0; o < kSpatial; ++o) value *= o == d ? T(1) : axes[o].weight[which[o]][i];
          slope[i] = value;
        }
      }
    }
  }
}

/// The positions from p on.
template <int kTaps, class T, class I>
void sample_from(int64_t p, const I* index, const T* weight, int64_t positions, const T* x, T* y) {
  for (; p < positions; ++p) {
    T sum = 0;
    for (int k = 0; k < kTaps; ++k) {
      const I at = index[k * positions + p];
      if (at >= 0) sum += x[at] * weight[k * positions + p];
    }
    y[p] = sum;
  }
}

#if defined(__AVX512F__)
/// Compilers take each index out of a vector by itself.
template <int kTaps>
void sample_from(int64_t p, const int32_t* index, const float* weight, int64_t positions, const float* x, float* y) {
  for (; p + 16 <= positions; p += 16) {
    __m512 sum = _mm512_setzero_ps();
#pragma GCC unroll 16
    for (int k = 0; k < kTaps; ++k) {
      const __m512i at = _mm512_loadu_si512(index + k * positions + p);
      const __mmask16 inside = _mm512_cmpge_epi32_mask(at, _mm512_setzero_si512());
      const __m512 value = _mm512_mask_i32gather_ps(_mm512_setzero_ps(), inside, at, x, 4);
      sum = _mm512_mask3_fmadd_ps(value, _mm512_loadu_ps(weight + k * positions + p), sum, inside);
    }
    _mm512_storeu_ps(y + p, sum);
  }
  sample_from<kTaps, float, int32_t>(p, index, weight, positions, x, y);
}
#endif

template <class T, class I, int kTaps>
void sample(const SampleTaps& taps, int64_t positions, const T* x, T* y) {
  sample_from<kTaps>(0, static_cast<const I*>(taps.index), static_cast<const T*>(taps.weight), positions, x, y);
}

template <class T, class I>
void add_to_plane(const SampleTaps& taps, int count, int64_t positions, const T* grad, T* x) {
  for (int k = 0; k < count; ++k) {
    const I* const index = static_cast<const I*>(taps.index) + k * positions;
    const T* const weight = static_cast<const T*>(taps.weight) + k * positions;
    for (int64_t p = 0; p < positions; ++p)
      if (index[p] >= 0) x[index[p]] += grad[p] * weight[p];
  }
}

template <class T, class I>
void add_to_grid(const Sampling& s, const SampleTaps& taps, const T* grad, const T* x, T* sums, int64_t begin,
                 int64_t end) {
  const int64_t positions = s.out_size();
  for (int64_t p = begin; p < end; p += kBlock) {
    const int64_t m = std::min(kBlock, end - p);
    T product[kBlock];
    for (int k = 0; k < s.taps(); ++k) {
      const I* const index = static_cast<const I*>(taps.index) + k * positions + p;
      for (int64_t i = 0; i < m; ++i) product[i] = grad[p + i] * x[index[i] < 0 ? I(0) : index[i]];
      for (int d = 0; d < s.spatial; ++d) {
        const T* const slope = static_cast<const T*>(taps.slope) + (k * s.spatial + d) * positions + p;
        T* const sum = sums + (s.spatial - 1 - d) * positions + p;
#pragma GCC ivdep
        for (int64_t i = 0; i < m; ++i) {
          const T value = product[i] * slope[i];
          sum[i] += index[i] < 0 ? T(0) : value;
        }
      }
    }
  }
}

/// f.operator()<T, I>(): the compute type and the type of indices.
template <class F>
void with_types(const Sampling& s, Compute c, F&& f) {
  const auto indexed = [&]<class T>() {
    if (s.wide()) f.template operator()<T, int64_t>();
    else f.template operator()<T, int32_t>();
  };
  by_real(c, indexed);
}

}  // namespace

void sample_taps(const Sampling& s, Compute c, const void* grid, const SampleTaps& taps, int64_t begin, int64_t end) {
  with_types(s, c, [&]<class T, class I>() {
    const T* const g = static_cast<const T*>(grid);
    if (s.mode == kCubic) return fill_taps<T, I, 2, 4>(s, g, taps, begin, end);
    if (s.spatial == 2)
      return s.mode == kNearest ? fill_taps<T, I, 2, 1>(s, g, taps, begin, end)
                                : fill_taps<T, I, 2, 2>(s, g, taps, begin, end);
    return s.mode == kNearest ? fill_taps<T, I, 3, 1>(s, g, taps, begin, end)
                              : fill_taps<T, I, 3, 2>(s, g, taps, begin, end);
  });
}

void sample_plane(const Sampling& s, Compute c, const SampleTaps& taps, const void* x, void* y) {
  with_types(s, c, [&]<class T, class I>() {
    const int64_t n = s.out_size();
    const T* const from = static_cast<const T*>(x);
    T* const to = static_cast<T*>(y);
    switch (s.taps()) {
      case 1: return sample<T, I, 1>(taps, n, from, to);
      case 4: return sample<T, I, 4>(taps, n, from, to);
      case 8: return sample<T, I, 8>(taps, n, from, to);
      default: return sample<T, I, 16>(taps, n, from, to);
    }
  });
}

void sample_plane_gradient(const Sampling& s, Compute c, const SampleTaps& taps, const void* grad, void* dx) {
  with_types(s, c, [&]<class T, class I>() {
    T* const to = static_cast<T*>(dx);
    std::fill_n(to, s.in_size(), T(0));
    add_to_plane<T, I>(taps, s.taps(), s.out_size(), static_cast<const T*>(grad), to);
  });
}

void sample_grid_gradient(const Sampling& s, Compute c, const SampleTaps& taps, const void* grad, const void* x,
                          void* sums, int64_t begin, int64_t end) {
  with_types(s, c, [&]<class T, class I>() {
    add_to_grid<T, I>(s, taps, static_cast<const T*>(grad), static_cast<const T*>(x), static_cast<T*>(sums), begin,
                      end);
  });
}

}  // namespace updraft::UPDRAFT_ISA
