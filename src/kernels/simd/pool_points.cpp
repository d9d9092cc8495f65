// Maxima of windows on images whose channels lie side by side: whole vectors of channels at a time.
#include <algorithm>
#include <limits>

#include "kernels/simd/widen.h"
#include "kernels/table.h"

namespace updraft::UPDRAFT_ISA {
namespace {

/// The part of a window that lies in the image, in one direction: positions from `first` on, `step` apart.
struct Part {
  int64_t first, count, step;
  Part(const PointWindows& w, int d, int64_t output) : first(output * w.stride[d] - w.padding[d]), step(w.dilation[d]) {
    const int64_t skipped = first < 0 ? (-first + step - 1) / step : 0;
    first += skipped * step;
    count =
        first >= w.in[d] ? 0 : std::max<int64_t>(0, std::min(w.kernel[d] - skipped, (w.in[d] - 1 - first) / step + 1));
  }
};

/// The points of one window: lines of them and how far they lie apart.
struct Points {
  int64_t lines, columns, line, column;
};

UPDRAFT_VECTOR_INLINE void put(float* to, VectorF v) { store_vector(to, v); }
template <class H>
UPDRAFT_VECTOR_INLINE void put(H* to, VectorF v) {
  narrow(to, v);  // one of the values that were read: nothing is rounded
}

template <int V, class T>
UPDRAFT_VECTOR_INLINE void max_vectors(const T* x, const Points& p, T* y) {
  VectorF best[V];
  for (int v = 0; v < V; ++v) best[v] = widen(x + v * kLanes<float>);
  for (int64_t i = 0; i < p.lines; ++i)
    for (int64_t j = 0; j < p.columns; ++j) {
      const T* from = x + i * p.line + j * p.column;
      for (int v = 0; v < V; ++v) {
        const VectorF value = widen(from + v * kLanes<float>);
        best[v] = ((value > best[v]) | (value != value)) ? value : best[v];
      }
    }
  for (int v = 0; v < V; ++v) put(y + v * kLanes<float>, best[v]);
}

template <class T>
void max_of_window(const T* x, const Points& p, T* y, int64_t channels) {
  constexpr int64_t kLane = kLanes<float>;
  int64_t c = 0;
  for (; c + 4 * kLane <= channels; c += 4 * kLane) max_vectors<4>(x + c, p, y + c);
  for (; c + kLane <= channels; c += kLane) max_vectors<1>(x + c, p, y + c);
  for (; c < channels; ++c) {
    auto best = static_cast<float>(x[c]);
    for (int64_t i = 0; i < p.lines; ++i)
      for (int64_t j = 0; j < p.columns; ++j) {
        const auto value = static_cast<float>(x[c + i * p.line + j * p.column]);
        best = value > best || value != value ? value : best;
      }
    y[c] = static_cast<T>(best);
  }
}

template <class T>
void max_of_line(const PointWindows& w, const T* x, T* y, int64_t line, int64_t channels) {
  const Part rows(w, 0, line);
  for (int64_t o = 0; o < w.out[1]; ++o) {
    const Part columns(w, 1, o);
    T* to = y + o * w.y[1];
    if (rows.count == 0 || columns.count == 0) {
      std::fill_n(to, channels, static_cast<T>(-std::numeric_limits<float>::infinity()));
      continue;
    }
    const Points points{rows.count, columns.count, rows.step * w.x[0], columns.step * w.x[1]};
    max_of_window(x + rows.first * w.x[0] + columns.first * w.x[1], points, to, channels);
  }
}

/// Adds a gradient at the first point that is the largest; where no other window reaches these points (`alone`), the
/// others get 0 and nothing is read.
template <bool alone>
void add_in_window(const float* x, const Points& p, const float* largest, const float* add, float* dx, const Points& q,
                   int64_t channels) {
  constexpr int64_t kLane = kLanes<float>;
  int64_t c = 0;
  for (; c + kLane <= channels; c += kLane) {
    const VectorF y = load_vector(largest + c);
    const auto no_number = y != y;
    VectorF left = load_vector(add + c);  // what has not found its place yet
    for (int64_t i = 0; i < p.lines; ++i)
      for (int64_t j = 0; j < p.columns; ++j) {
        const VectorF value = load_vector(x + c + i * p.line + j * p.column);
        const auto here = (value == y) | ((value != value) & no_number);
        float* to = dx + c + i * q.line + j * q.column;
        const VectorF part = here ? left : VectorF{};
        store_vector(to, alone ? part : load_vector(to) + part);
        left = here ? VectorF{} : left;
      }
  }
  for (; c < channels; ++c) {
    const float y = largest[c];
    float left = add[c];
    for (int64_t i = 0; i < p.lines; ++i)
      for (int64_t j = 0; j < p.columns; ++j) {
        const float value = x[c + i * p.line + j * p.column];
        const bool here = value == y || (value != value && y != y);
        float& to = dx[c + i * q.line + j * q.column];
        to = (alone ? 0.0F : to) + (here ? left : 0.0F);
        left = here ? 0.0F : left;
      }
  }
}

}  // namespace

void max_of_points(const PointWindows& w, DType type, const void* x, void* y, int64_t line, int64_t channels) {
  if (type == DType::Float16) return max_of_line(w, static_cast<const Half*>(x), static_cast<Half*>(y), line, channels);
  if (type == DType::BFloat16)
    return max_of_line(w, static_cast<const BFloat16*>(x), static_cast<BFloat16*>(y), line, channels);
  max_of_line(w, static_cast<const float*>(x), static_cast<float*>(y), line, channels);
}

void add_at_first_max(const PointWindows& w, const float* x, const float* y, const float* grad, float* dx,
                      int64_t channels) {
  const auto reach = [&](int d) { return (w.kernel[d] - 1) * w.dilation[d] + 1; };
  const bool alone = w.stride[0] >= reach(0) && w.stride[1] >= reach(1);
  int64_t cleared = 0;  // lines, just before windows reach them, so that they lie in the cache
  const auto clear = [&](int64_t end) {
    for (; cleared < std::min(end, w.in[0]); ++cleared) {
      float* line = dx + cleared * w.dx[0];
      if (w.dx[1] == channels) std::fill_n(line, channels * w.in[1], 0.0F);
      else
        for (int64_t j = 0; j < w.in[1]; ++j) std::fill_n(line + j * w.dx[1], channels, 0.0F);
    }
  };
  for (int64_t h = 0; h < w.out[0]; ++h) {
    const Part rows(w, 0, h);
    clear(h * w.stride[0] - w.padding[0] + reach(0));
    if (rows.count == 0) continue;
    for (int64_t o = 0; o < w.out[1]; ++o) {
      const Part columns(w, 1, o);
      const Points from{rows.count, columns.count, rows.step * w.x[0], columns.step * w.x[1]},
          to{rows.count, columns.count, rows.step * w.dx[0], columns.step * w.dx[1]};
      const float *image = x + rows.first * w.x[0] + columns.first * w.x[1], *largest = y + h * w.y[0] + o * w.y[1],
                  *add = grad + h * w.grad[0] + o * w.grad[1];
      float* place = dx + rows.first * w.dx[0] + columns.first * w.dx[1];
      if (columns.count == 0) continue;
      if (alone) add_in_window<true>(image, from, largest, add, place, to, channels);
      else add_in_window<false>(image, from, largest, add, place, to, channels);
    }
  }
  clear(w.in[0]);
}

}  // namespace updraft::UPDRAFT_ISA
