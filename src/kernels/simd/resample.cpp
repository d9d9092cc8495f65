// Resampling of planes by taps: rows are mixed first, then columns.
#include <algorithm>
#include <cstring>
#include <vector>

#include "kernels/simd/by_compute.h"
#include "kernels/table.h"

namespace updraft::UPDRAFT_ISA {
namespace {

template <class T>
inline T weight(const Taps& t, int64_t i) {
  if constexpr (std::is_same_v<T, float>) return t.unit ? T(1) : t.f32[i];
  else if constexpr (std::is_same_v<T, double>) return t.unit ? T(1) : t.f64[i];
  else return T(1);
}
template <class T>
inline auto array(const Taps& t) {
  if constexpr (std::is_same_v<T, float>) return t.f32;
  else return t.f64;
}

template <class T>
inline void axpy(T w, const T* __restrict from, T* __restrict to, int64_t n) {
  for (int64_t x = 0; x < n; ++x) to[x] += w * from[x];
}

template <class T>
void forward(const Taps* t, const T* in, T* out) {
  const Taps &td = t[0], &th = t[1], &tw = t[2];
  const bool copy_rows = td.unit && th.unit;
  std::vector<T> mixed(static_cast<size_t>(copy_rows ? 0 : tw.in));
  const T* previous = nullptr;
  for (int64_t od = 0; od < td.out; ++od)
    for (int64_t oh = 0; oh < th.out; ++oh, out += tw.out) {
      const T* row;
      if (copy_rows) {
        row = in + (td.index[od] * th.in + th.index[oh]) * tw.in;
        if (row == previous) {
          std::memcpy(out, out - tw.out, static_cast<size_t>(tw.out) * sizeof(T));
          continue;
        }
        previous = row;
      } else {
        std::fill(mixed.begin(), mixed.end(), T(0));
        for (int kd = 0; kd < td.count; ++kd)
          for (int kh = 0; kh < th.count; ++kh)
            axpy<T>(weight<T>(td, kd * td.out + od) * weight<T>(th, kh * th.out + oh),
                    in + (td.index[kd * td.out + od] * th.in + th.index[kh * th.out + oh]) * tw.in, mixed.data(),
                    tw.in);
        row = mixed.data();
      }
      if (tw.unit) {
        for (int64_t x = 0; x < tw.out; ++x) out[x] = row[tw.index[x]];
        continue;
      }
      if constexpr (std::is_floating_point_v<T>) {
        const T* w = array<T>(tw);
        const int64_t* index = tw.index;
        const int64_t n = tw.out;
        if (tw.count == 2) {
#pragma GCC ivdep
          for (int64_t x = 0; x < n; ++x) out[x] = w[x] * row[index[x]] + w[n + x] * row[index[n + x]];
          continue;
        }
        std::fill_n(out, n, T(0));
        for (int k = 0; k < tw.count; ++k)
#pragma GCC ivdep
          for (int64_t x = 0; x < n; ++x) out[x] += w[k * n + x] * row[index[k * n + x]];
      }
    }
}

template <class T>
void backward(const Taps* t, const T* grad, T* to) {
  const Taps &td = t[0], &th = t[1], &tw = t[2];
  std::fill_n(to, td.in * th.in * tw.in, T(0));
  std::vector<T> mixed(static_cast<size_t>(tw.in));
  for (int64_t od = 0; od < td.out; ++od)
    for (int64_t oh = 0; oh < th.out; ++oh, grad += tw.out) {
      std::fill(mixed.begin(), mixed.end(), T(0));
      for (int k = 0; k < tw.count; ++k) {
        const int64_t* index = tw.index + k * tw.out;
        if (tw.unit)
          for (int64_t x = 0; x < tw.out; ++x) mixed[static_cast<size_t>(index[x])] += grad[x];
        else
          for (int64_t x = 0; x < tw.out; ++x)
            mixed[static_cast<size_t>(index[x])] += weight<T>(tw, k * tw.out + x) * grad[x];
      }
      for (int kd = 0; kd < td.count; ++kd)
        for (int kh = 0; kh < th.count; ++kh)
          axpy<T>(weight<T>(td, kd * td.out + od) * weight<T>(th, kh * th.out + oh), mixed.data(),
                  to + (td.index[kd * td.out + od] * th.in + th.index[kh * th.out + oh]) * tw.in, tw.in);
    }
}

}  // namespace

void resample(const Taps* t, Compute c, const void* in, void* out) {
  by_any(c, [&]<class T>() { forward(t, static_cast<const T*>(in), static_cast<T*>(out)); });
}
void resample_backward(const Taps* t, Compute c, const void* in, void* out) {
  by_any(c, [&]<class T>() { backward(t, static_cast<const T*>(in), static_cast<T*>(out)); });
}

}  // namespace updraft::UPDRAFT_ISA
