// Pooling of planes: whole rows of the output at a time.
#include <algorithm>
#include <limits>
#include <vector>

#include "kernels/simd/by_compute.h"
#include "kernels/table.h"

namespace updraft::UPDRAFT_ISA {
namespace {

// Positions k in [begin, end) of a window that lie inside the plane.
struct Inside {
  int64_t begin, end;
  Inside(int64_t origin, int64_t kernel, int64_t dilation, int64_t in) {
    begin = origin >= 0 ? 0 : (-origin + dilation - 1) / dilation;
    end = origin >= in ? 0 : std::min(kernel, (in - 1 - origin) / dilation + 1);
  }
};

// Outputs [begin, end) of a row for which offset `at` from the window's origin lies inside the row.
struct Columns {
  int64_t begin, end;
  Columns(int64_t at, int64_t stride, int64_t in, int64_t out) {
    begin = at >= 0 ? 0 : (-at + stride - 1) / stride;
    end = at >= in ? 0 : std::min(out, (in - 1 - at) / stride + 1);
  }
};

template <int S, class T>
inline void max_row(const T* __restrict in, int64_t stride, T* __restrict best, int32_t* __restrict where, int32_t k,
                    int64_t n) {
  const int64_t step = S ? S : stride;
  for (int64_t x = 0; x < n; ++x) {
    const T v = in[x * step];
    const bool take = (v > best[x]) | (v != v);
    best[x] = take ? v : best[x];
    where[x] = take ? k : where[x];
  }
}

template <class T>
void max_pool_plane(const PoolShape& s, const T* in, T* out, int32_t* where) {
  const int64_t width = s.out[2], stride = s.stride[2];
  const T lowest =
      std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::lowest();
  for (int64_t od = 0; od < s.out[0]; ++od)
    for (int64_t oh = 0; oh < s.out[1]; ++oh) {
      T* best = out + (od * s.out[1] + oh) * width;
      int32_t* at = where + (od * s.out[1] + oh) * width;
      const int64_t d0 = od * s.stride[0] - s.padding[0], h0 = oh * s.stride[1] - s.padding[1];
      const Inside d(d0, s.kernel[0], s.dilation[0], s.in[0]), h(h0, s.kernel[1], s.dilation[1], s.in[1]);
      // Where nothing is larger than the lowest value, the first position inside counts.
      const int32_t first = static_cast<int32_t>((d.begin * s.kernel[1] + h.begin) * s.kernel[2]);
      for (int64_t x = 0; x < width; ++x) {
        best[x] = lowest;
        at[x] = first;
      }
      for (int64_t x = 0; x < width && x * stride < s.padding[2]; ++x)
        at[x] = first + static_cast<int32_t>((s.padding[2] - x * stride + s.dilation[2] - 1) / s.dilation[2]);
      for (int64_t kd = d.begin; kd < d.end; ++kd)
        for (int64_t kh = h.begin; kh < h.end; ++kh) {
          const T* row = in + ((d0 + kd * s.dilation[0]) * s.in[1] + h0 + kh * s.dilation[1]) * s.in[2];
          for (int64_t kw = 0; kw < s.kernel[2]; ++kw) {
            const int64_t offset = kw * s.dilation[2] - s.padding[2];
            const Columns c(offset, stride, s.in[2], width);
            if (c.begin >= c.end) continue;
            const T* from = row + c.begin * stride + offset;
            const int32_t k = static_cast<int32_t>((kd * s.kernel[1] + kh) * s.kernel[2] + kw);
            if (stride == 1) max_row<1>(from, 1, best + c.begin, at + c.begin, k, c.end - c.begin);
            else if (stride == 2) max_row<2>(from, 2, best + c.begin, at + c.begin, k, c.end - c.begin);
            else max_row<0>(from, stride, best + c.begin, at + c.begin, k, c.end - c.begin);
          }
        }
    }
}

template <class T, class W>
void scatter_plane(const PoolShape& s, const T* grad, const W* where, T* to) {
  std::fill_n(to, s.in_size(), T(0));
  const int64_t kernel = s.kernel_size();
  std::vector<int64_t> offset(static_cast<size_t>(kernel));
  for (int64_t k = 0; k < kernel; ++k) offset[static_cast<size_t>(k)] = s.offset(k);
  for (int64_t od = 0; od < s.out[0]; ++od)
    for (int64_t oh = 0; oh < s.out[1]; ++oh) {
      const int64_t origin = s.origin(od, oh, 0);
      for (int64_t ow = 0; ow < s.out[2]; ++ow) {
        const size_t k = std::min(static_cast<size_t>(*where++), static_cast<size_t>(kernel - 1));
        to[origin + ow * s.stride[2] + offset[k]] += *grad++;
      }
    }
}

template <int S, class T>
inline void add_columns(const T* __restrict from, int64_t stride, T* __restrict to, int64_t n) {
  const int64_t step = S ? S : stride;
  for (int64_t x = 0; x < n; ++x) to[x] += from[x * step];
}
template <int S, class T>
inline void spread_columns(const T* __restrict from, int64_t stride, T* __restrict to, int64_t n) {
  const int64_t step = S ? S : stride;
#pragma GCC ivdep
  for (int64_t x = 0; x < n; ++x) to[x * step] += from[x];
}

template <class T>
struct AvgRows {
  std::vector<T> columns;  // a row with its padding
  std::vector<T> quotient;
  std::vector<T> divisor_w;
  explicit AvgRows(const PoolShape& s)
      : columns(static_cast<size_t>(std::max(s.in[2] + s.padding[2], (s.out[2] - 1) * s.stride[2] + s.kernel[2]) +
                                    s.padding[2])),
        quotient(static_cast<size_t>(s.out[2])),
        divisor_w(static_cast<size_t>(s.out[2])) {
    for (int64_t x = 0; x < s.out[2]; ++x) divisor_w[static_cast<size_t>(x)] = static_cast<T>(s.span(2, x).divisor);
  }
};

template <class T>
void avg_pool_plane(const PoolShape& s, const T* in, T* out) {
  AvgRows<T> rows(s);
  const int64_t width = s.out[2], stride = s.stride[2];
  for (int64_t od = 0; od < s.out[0]; ++od)
    for (int64_t oh = 0; oh < s.out[1]; ++oh, out += width) {
      const int64_t d0 = od * s.stride[0] - s.padding[0], h0 = oh * s.stride[1] - s.padding[1];
      const Inside d(d0, s.kernel[0], 1, s.in[0]), h(h0, s.kernel[1], 1, s.in[1]);
      std::fill(rows.columns.begin(), rows.columns.end(), T(0));
      T* columns = rows.columns.data();
      for (int64_t kd = d.begin; kd < d.end; ++kd)
        for (int64_t kh = h.begin; kh < h.end; ++kh)
          add_columns<1>(in + ((d0 + kd) * s.in[1] + h0 + kh) * s.in[2], 1, columns + s.padding[2], s.in[2]);
      std::fill_n(out, width, T(0));
      for (int64_t kw = 0; kw < s.kernel[2]; ++kw) {
        if (stride == 1) add_columns<1>(columns + kw, 1, out, width);
        else if (stride == 2) add_columns<2>(columns + kw, 2, out, width);
        else add_columns<0>(columns + kw, stride, out, width);
      }
      const T outer = static_cast<T>(s.span(0, od).divisor * s.span(1, oh).divisor);
      const T* inner = rows.divisor_w.data();
      if (s.divisor)
        for (int64_t x = 0; x < width; ++x) out[x] /= static_cast<T>(s.divisor);
      else
        for (int64_t x = 0; x < width; ++x) out[x] /= outer * inner[x];
    }
}

template <class T>
void avg_pool_backward_plane(const PoolShape& s, const T* grad, T* to) {
  std::fill_n(to, s.in_size(), T(0));
  AvgRows<T> rows(s);
  const int64_t width = s.out[2], stride = s.stride[2];
  for (int64_t od = 0; od < s.out[0]; ++od)
    for (int64_t oh = 0; oh < s.out[1]; ++oh, grad += width) {
      const int64_t d0 = od * s.stride[0] - s.padding[0], h0 = oh * s.stride[1] - s.padding[1];
      const Inside d(d0, s.kernel[0], 1, s.in[0]), h(h0, s.kernel[1], 1, s.in[1]);
      const T outer = static_cast<T>(s.span(0, od).divisor * s.span(1, oh).divisor);
      const T* inner = rows.divisor_w.data();
      T* quotient = rows.quotient.data();
      if (s.divisor)
        for (int64_t x = 0; x < width; ++x) quotient[x] = grad[x] / static_cast<T>(s.divisor);
      else
        for (int64_t x = 0; x < width; ++x) quotient[x] = grad[x] / (outer * inner[x]);
      std::fill(rows.columns.begin(), rows.columns.end(), T(0));
      T* columns = rows.columns.data();
      for (int64_t kw = 0; kw < s.kernel[2]; ++kw) {
        if (stride == 1) spread_columns<1>(quotient, 1, columns + kw, width);
        else if (stride == 2) spread_columns<2>(quotient, 2, columns + kw, width);
        else spread_columns<0>(quotient, stride, columns + kw, width);
      }
      for (int64_t kd = d.begin; kd < d.end; ++kd)
        for (int64_t kh = h.begin; kh < h.end; ++kh)
          add_columns<1>(columns + s.padding[2], 1, to + ((d0 + kd) * s.in[1] + h0 + kh) * s.in[2], s.in[2]);
    }
}

// The part of [0, in) that output o of an adaptive pooling covers.
struct Part {
  int64_t begin, end;
  Part(int64_t o, int64_t out, int64_t in)
      : begin(o / out * in + o % out * in / out), end(1 + ((o + 1) * in - 1) / out) {}
};

template <class T>
void adaptive_plane(const PoolShape& s, const T* in, T* out) {
  std::vector<T> columns(static_cast<size_t>(s.in[2]));
  for (int64_t od = 0; od < s.out[0]; ++od)
    for (int64_t oh = 0; oh < s.out[1]; ++oh, out += s.out[2]) {
      const Part d(od, s.out[0], s.in[0]), h(oh, s.out[1], s.in[1]);
      std::fill(columns.begin(), columns.end(), T(0));
      for (int64_t x = d.begin; x < d.end; ++x)
        for (int64_t y = h.begin; y < h.end; ++y)
          add_columns<1>(in + (x * s.in[1] + y) * s.in[2], 1, columns.data(), s.in[2]);
      const int64_t outer = (d.end - d.begin) * (h.end - h.begin);
      for (int64_t ow = 0; ow < s.out[2]; ++ow) {
        const Part w(ow, s.out[2], s.in[2]);
        T sum(0);
        for (int64_t x = w.begin; x < w.end; ++x) sum += columns[static_cast<size_t>(x)];
        out[ow] = sum / static_cast<T>(outer * (w.end - w.begin));
      }
    }
}

template <class T>
void adaptive_backward_plane(const PoolShape& s, const T* grad, T* to) {
  std::fill_n(to, s.in_size(), T(0));
  std::vector<T> columns(static_cast<size_t>(s.in[2]));
  for (int64_t od = 0; od < s.out[0]; ++od)
    for (int64_t oh = 0; oh < s.out[1]; ++oh, grad += s.out[2]) {
      const Part d(od, s.out[0], s.in[0]), h(oh, s.out[1], s.in[1]);
      const int64_t outer = (d.end - d.begin) * (h.end - h.begin);
      std::fill(columns.begin(), columns.end(), T(0));
      for (int64_t ow = 0; ow < s.out[2]; ++ow) {
        const Part w(ow, s.out[2], s.in[2]);
        const T share = grad[ow] / static_cast<T>(outer * (w.end - w.begin));
        for (int64_t x = w.begin; x < w.end; ++x) columns[static_cast<size_t>(x)] += share;
      }
      for (int64_t x = d.begin; x < d.end; ++x)
        for (int64_t y = h.begin; y < h.end; ++y)
          add_columns<1>(columns.data(), 1, to + (x * s.in[1] + y) * s.in[2], s.in[2]);
    }
}

}  // namespace

void max_pool(const PoolShape& s, Compute c, const void* in, void* out, int32_t* where) {
  by_ordered(c, [&]<class T>() { max_pool_plane(s, static_cast<const T*>(in), static_cast<T*>(out), where); });
}
void max_pool_scatter(const PoolShape& s, Compute c, const void* grad, const void* where, int size, void* grad_in) {
  auto run = [&]<class W>(const W* w) {
    by_ordered(c, [&]<class T>() { scatter_plane(s, static_cast<const T*>(grad), w, static_cast<T*>(grad_in)); });
  };
  if (size == 1) run(static_cast<const uint8_t*>(where));
  else if (size == 2) run(static_cast<const uint16_t*>(where));
  else run(static_cast<const uint32_t*>(where));
}
void narrow_positions(void* to, int size, const int32_t* from, int64_t n) {
  if (size == 1)
    for (int64_t i = 0; i < n; ++i) static_cast<uint8_t*>(to)[i] = static_cast<uint8_t>(from[i]);
  else if (size == 2)
    for (int64_t i = 0; i < n; ++i) static_cast<uint16_t*>(to)[i] = static_cast<uint16_t>(from[i]);
  else std::copy_n(from, n, static_cast<int32_t*>(to));
}
void avg_pool(const PoolShape& s, Compute c, const void* in, void* out) {
  by_ordered(c, [&]<class T>() { avg_pool_plane(s, static_cast<const T*>(in), static_cast<T*>(out)); });
}
void avg_pool_backward(const PoolShape& s, Compute c, const void* grad, void* grad_in) {
  by_ordered(c, [&]<class T>() { avg_pool_backward_plane(s, static_cast<const T*>(grad), static_cast<T*>(grad_in)); });
}
void adaptive_avg_pool(const PoolShape& s, Compute c, const void* in, void* out) {
  by_ordered(c, [&]<class T>() { adaptive_plane(s, static_cast<const T*>(in), static_cast<T*>(out)); });
}
void adaptive_avg_pool_backward(const PoolShape& s, Compute c, const void* grad, void* grad_in) {
  by_ordered(c, [&]<class T>() { adaptive_backward_plane(s, static_cast<const T*>(grad), static_cast<T*>(grad_in)); });
}

}  // namespace updraft::UPDRAFT_ISA
