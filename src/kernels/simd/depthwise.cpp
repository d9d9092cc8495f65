// Convolutions of each channel by itself, of images whose channels lie side by side (kernels/convolution/depthwise.h).
#include <algorithm>

#include "kernels/simd/tail.h"
#include "kernels/table.h"

namespace updraft::UPDRAFT_ISA {
namespace {

constexpr int L = kLanes<float>;

/// A whole vector, as FirstLanes is a part of one.
struct Whole {
  UPDRAFT_VECTOR_INLINE VectorF load(const float* p) const { return load_vector<float>(p); }
  UPDRAFT_VECTOR_INLINE void store(float* p, VectorF v) const { store_vector<float>(p, v); }
};

/// The taps of a window that lie in the image, and where the first of them is.
struct Window {
  int64_t begin[2], end[2], start[2];
  void set(const DepthwiseShape& s, int d, int64_t out) {
    const int64_t at = out * s.stride[d] - s.padding[d], step = s.dilation[d];
    begin[d] = at < 0 ? std::min((-at + step - 1) / step, s.kernel[d]) : 0;
    end[d] = at < s.in[d] ? std::min((s.in[d] - 1 - at) / step + 1, s.kernel[d]) : 0;
    start[d] = at;
  }
};

/// What is the same for all results of a line.
struct Line {
  const DepthwiseShape& s;
  const Window& w;  ///< of the first result in hand
  const float *image, *filters;
  const packed::Tail& tail;
  float* to;
  int64_t place;  ///< of the first result in hand
};

template <class Lanes>
UPDRAFT_VECTOR_INLINE void end(const Line& in, VectorF sum, int64_t place, int64_t v, Lanes lanes) {
  const auto load = [&](const float* p) __attribute__((always_inline)) { return lanes.load(p); };
  lanes.store(in.to + place * in.s.channels + v, ended(sum, in.tail, place, v, load));
}

/// One vector of channels of T results side by side, whose windows have the same taps in the image.
template <int T, class Lanes>
UPDRAFT_VECTOR_INLINE void any_filter(const Line& in, int64_t v, Lanes lanes) {
  const DepthwiseShape& s = in.s;
  const Window& w = in.w;
  const int64_t line = s.in[1] * s.channels, next = s.stride[1] * s.channels, tap = s.dilation[1] * s.channels;
  VectorF sum[T] = {};
  for (int64_t y = w.begin[0]; y < w.end[0]; ++y) {
    const float* from = in.image + (w.start[0] + y * s.dilation[0]) * line + w.start[1] * s.channels + v;
    const float* by = in.filters + y * s.kernel[1] * s.channels + v;
    for (int64_t x = w.begin[1]; x < w.end[1]; ++x) {
      const VectorF filter = lanes.load(by + x * s.channels);
#pragma GCC unroll 8
      for (int t = 0; t < T; ++t) sum[t] = fma_vector(filter, lanes.load(from + x * tap + t * next), sum[t]);
    }
  }
#pragma GCC unroll 8
  for (int t = 0; t < T; ++t) end(in, sum[t], in.place + t, v, lanes);
}

/// One vector of channels of up to T results side by side, of lines of K taps at a stride of S: each position of the
/// image is read once for all windows that it lies in. `Inside`: all of them lie in the image.
template <int T, int K, int S, bool Inside, class Lanes>
UPDRAFT_VECTOR_INLINE void known_filter(const Line& in, int64_t count, int64_t v, Lanes lanes) {
  const DepthwiseShape& s = in.s;
  const Window& w = in.w;
  const int64_t first = w.start[1];
  VectorF sum[T] = {};
  for (int64_t y = w.begin[0]; y < w.end[0]; ++y) {
    const float* from = in.image + ((w.start[0] + y * s.dilation[0]) * s.in[1] + first) * s.channels + v;
    const float* by = in.filters + y * K * s.channels + v;
    // Measured: what no line of results read before is worth asking for early where there is little work beside it.
    const bool fresh = K <= 3 && S > 1 && y >= s.kernel[0] - s.stride[0];
    VectorF filter[K];
#pragma GCC unroll 8
    for (int k = 0; k < K; ++k) filter[k] = lanes.load(by + k * s.channels);
#pragma GCC unroll 32
    for (int j = 0; j < (T - 1) * S + K; ++j, from += s.channels) {
      if (!Inside && (first + j < 0 || first + j >= s.in[1])) continue;
      const VectorF x = lanes.load(from);
      if (fresh) __builtin_prefetch(from + T * S * s.channels);
#pragma GCC unroll 8
      for (int k = 0; k < K; ++k)
        if (j >= k && (j - k) % S == 0 && (j - k) / S < T)
          sum[(j - k) / S] = fma_vector(filter[k], x, sum[(j - k) / S]);
    }
  }
#pragma GCC unroll 8
  for (int t = 0; t < T; ++t)
    if (t < count) end(in, sum[t], in.place + t, v, lanes);
}

/// Whole vectors of the channels [first, last), and what is left.
template <class F>
UPDRAFT_VECTOR_INLINE void by_vectors(int64_t first, int64_t last, F&& f) {
  int64_t v = first;
  for (; v + L <= last; v += L) f(v, Whole());
  if (v < last) f(v, FirstLanes(last - v));
}

template <int T>
void any_results(const Line& in, int64_t first, int64_t last) {
  by_vectors(
      first, last, [&](int64_t v, auto lanes) __attribute__((always_inline)) { any_filter<T>(in, v, lanes); });
}

template <int T, int K, int S>
void known_results(const Line& in, int64_t count, int64_t first, int64_t last) {
  const int64_t at = in.w.start[1];
  if (at >= 0 && at + (T - 1) * S + K <= in.s.in[1])
    by_vectors(
        first, last, [&](int64_t v, auto lanes) __attribute__((always_inline)) {
          known_filter<T, K, S, true>(in, count, v, lanes);
        });
  else
    by_vectors(
        first, last, [&](int64_t v, auto lanes) __attribute__((always_inline)) {
          known_filter<T, K, S, false>(in, count, v, lanes);
        });
}

template <int K, int S>
void known_row(Line in, Window& w, int64_t first, int64_t last) {
  const int64_t width = in.s.out[1];
  while (in.place < width) {
    w.set(in.s, 1, in.place);
    const int64_t left = width - in.place;
    if (left > 4) known_results<8, K, S>(in, std::min<int64_t>(left, 8), first, last), in.place += 8;
    else known_results<4, K, S>(in, left, first, last), in.place += 4;
  }
}

void any_row(Line in, Window& w, int64_t first, int64_t last) {
  const DepthwiseShape& s = in.s;
  while (in.place < s.out[1]) {
    w.set(s, 1, in.place);
    // how many results behind it have all taps of a line, too
    const int64_t reach = (s.kernel[1] - 1) * s.dilation[1], at = w.start[1];
    const int64_t inside = at < 0 || at + reach >= s.in[1] ? 0 : (s.in[1] - 1 - reach - at) / s.stride[1] + 1;
    const int64_t many = std::min(inside, s.out[1] - in.place);
    if (many >= 8) any_results<8>(in, first, last), in.place += 8;
    else if (many >= 4) any_results<4>(in, first, last), in.place += 4;
    else any_results<1>(in, first, last), in.place += 1;
  }
}

}  // namespace

void depthwise_row(const DepthwiseShape& s, const float* image, const float* filters, const packed::Tail& tail,
                   int64_t row, int64_t first, int64_t last, float* to) {
  Window w;
  w.set(s, 0, row);
  const Line line{s, w, image, filters, tail, to, 0};
  const int64_t taps = s.dilation[1] == 1 ? s.kernel[1] : 0, stride = s.stride[1];
  if (taps == 3 && stride == 1) known_row<3, 1>(line, w, first, last);
  else if (taps == 3 && stride == 2) known_row<3, 2>(line, w, first, last);
  else if (taps == 5 && stride == 1) known_row<5, 1>(line, w, first, last);
  else if (taps == 5 && stride == 2) known_row<5, 2>(line, w, first, last);
  else if (taps == 7 && stride == 1) known_row<7, 1>(line, w, first, last);
  else any_row(line, w, first, last);
}

}  // namespace updraft::UPDRAFT_ISA
