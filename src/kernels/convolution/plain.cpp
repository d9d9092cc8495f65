// Convolution by plain loops: rows of the output, one weight at a time.
#include <algorithm>

#include "base/parallel.h"
#include "kernels/convolution/convolution.h"

namespace updraft::plain {
namespace {

// Output positions [begin, end) whose input lies inside, for kernel position k.
struct Range {
  int64_t begin, end, first;  // first: the input position of `begin`
  Range(int64_t in, int64_t out, int64_t stride, int64_t pad, int64_t offset) {
    int64_t low = pad - offset;  // out * stride >= low
    begin = low <= 0 ? 0 : (low + stride - 1) / stride;
    int64_t high = in - 1 + pad - offset;  // out * stride <= high
    end = high < 0 ? 0 : std::min(out, high / stride + 1);
    first = begin * stride - pad + offset;
  }
};

// Calls row(dst offset, src offset, n) for every row of the output that kernel position (kd, kh, kw) reaches.
template <class T, class Row>
void rows(const ConvolutionShape& s, const Arrays<T>& a, int64_t kd, int64_t kh, int64_t kw, Row&& row) {
  const Range d(a.in[0], a.out[0], s.stride[0], s.padding[0], kd * s.dilation[0]);
  const Range h(a.in[1], a.out[1], s.stride[1], s.padding[1], kh * s.dilation[1]);
  const Range w(a.in[2], a.out[2], s.stride[2], s.padding[2], kw * s.dilation[2]);
  if (w.begin >= w.end) return;
  for (int64_t od = d.begin, id = d.first; od < d.end; ++od, id += s.stride[0])
    for (int64_t oh = h.begin, ih = h.first; oh < h.end; ++oh, ih += s.stride[1])
      row((od * a.out[1] + oh) * a.out[2] + w.begin, (id * a.in[1] + ih) * a.in[2] + w.first, w.end - w.begin);
}

template <class T>
struct Sizes {
  int64_t group_in, group_out, in, out, kernel;
  Sizes(const ConvolutionShape& s, const Arrays<T>& a)
      : group_in(a.in_channels / s.groups),
        group_out(a.out_channels / s.groups),
        in(a.in[0] * a.in[1] * a.in[2]),
        out(a.out[0] * a.out[1] * a.out[2]),
        kernel(a.kernel[0] * a.kernel[1] * a.kernel[2]) {}
};

template <class T, class Each>
void kernel_positions(const Arrays<T>& a, Each&& each) {
  int64_t k = 0;
  for (int64_t kd = 0; kd < a.kernel[0]; ++kd)
    for (int64_t kh = 0; kh < a.kernel[1]; ++kh)
      for (int64_t kw = 0; kw < a.kernel[2]; ++kw) each(k++, kd, kh, kw);
}

}  // namespace

template <class T>
void forward(const ConvolutionShape& s, const Arrays<T>& a) {
  const Sizes<T> z(s, a);
  parallel_for(a.batch * a.out_channels, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t n = i / a.out_channels, o = i % a.out_channels, group = o / z.group_out;
      T* to = a.dst + i * z.out;
      std::fill_n(to, z.out, T(0));
      for (int64_t c = 0; c < z.group_in; ++c) {
        const T* from = a.src + (n * a.in_channels + group * z.group_in + c) * z.in;
        const T* weight = a.weight + (o * z.group_in + c) * z.kernel;
        kernel_positions(a, [&](int64_t k, int64_t kd, int64_t kh, int64_t kw) {
          const T w = weight[k];
          rows(s, a, kd, kh, kw, [&](int64_t d, int64_t f, int64_t count) {
            for (int64_t x = 0; x < count; ++x) to[d + x] += w * from[f + x * s.stride[2]];
          });
        });
      }
    }
  });
}

template <class T>
void backward_data(const ConvolutionShape& s, const Arrays<T>& a) {
  const Sizes<T> z(s, a);
  parallel_for(a.batch * a.in_channels, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t n = i / a.in_channels, c = i % a.in_channels, group = c / z.group_in;
      T* to = a.src + i * z.in;
      std::fill_n(to, z.in, T(0));
      for (int64_t o = group * z.group_out; o < (group + 1) * z.group_out; ++o) {
        const T* from = a.dst + (n * a.out_channels + o) * z.out;
        const T* weight = a.weight + (o * z.group_in + c % z.group_in) * z.kernel;
        kernel_positions(a, [&](int64_t k, int64_t kd, int64_t kh, int64_t kw) {
          const T w = weight[k];
          rows(s, a, kd, kh, kw, [&](int64_t d, int64_t f, int64_t count) {
            for (int64_t x = 0; x < count; ++x) to[f + x * s.stride[2]] += w * from[d + x];
          });
        });
      }
    }
  });
}

template <class T>
void backward_weight(const ConvolutionShape& s, const Arrays<T>& a) {
  const Sizes<T> z(s, a);
  parallel_for(a.out_channels * z.group_in, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t o = i / z.group_in, c = o / z.group_out * z.group_in + i % z.group_in;
      T* to = a.weight + i * z.kernel;
      kernel_positions(a, [&](int64_t k, int64_t kd, int64_t kh, int64_t kw) {
        T sum(0);
        for (int64_t n = 0; n < a.batch; ++n) {
          const T* src = a.src + (n * a.in_channels + c) * z.in;
          const T* dst = a.dst + (n * a.out_channels + o) * z.out;
          rows(s, a, kd, kh, kw, [&](int64_t d, int64_t f, int64_t count) {
            for (int64_t x = 0; x < count; ++x) sum += dst[d + x] * src[f + x * s.stride[2]];
          });
        }
        to[k] = sum;
      });
    }
  });
}

#define UPDRAFT_PLAIN(T)                                                     \
  template void forward<T>(const ConvolutionShape&, const Arrays<T>&);       \
  template void backward_data<T>(const ConvolutionShape&, const Arrays<T>&); \
  template void backward_weight<T>(const ConvolutionShape&, const Arrays<T>&);
UPDRAFT_PLAIN(float)
UPDRAFT_PLAIN(double)
UPDRAFT_PLAIN(int64_t)
UPDRAFT_PLAIN(complex64)
UPDRAFT_PLAIN(complex128)
#undef UPDRAFT_PLAIN

}  // namespace updraft::plain
