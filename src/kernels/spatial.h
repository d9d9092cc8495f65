// Kernels on planes: the last one to three dimensions of one channel of one image, contiguous, in a compute type.
#pragma once
#include <algorithm>
#include <cstdint>

#include "tensor/dtype.h"

namespace updraft {
namespace packed {
struct Tail;
}

/// Pooling windows; depth, height, width (1 for dimensions that are absent).
struct PoolShape {
  int64_t in[3] = {1, 1, 1}, out[3] = {1, 1, 1}, kernel[3] = {1, 1, 1}, stride[3] = {1, 1, 1}, padding[3] = {},
          dilation[3] = {1, 1, 1};
  bool count_padding = true;
  int64_t divisor = 0;  ///< 0: the size of the window
  int64_t in_size() const { return in[0] * in[1] * in[2]; }
  int64_t out_size() const { return out[0] * out[1] * out[2]; }
  int64_t kernel_size() const { return kernel[0] * kernel[1] * kernel[2]; }
  /// Positions in the plane: of kernel position k in the window of output (d, h, w).
  int64_t origin(int64_t d, int64_t h, int64_t w) const {
    return ((d * stride[0] - padding[0]) * in[1] + h * stride[1] - padding[1]) * in[2] + w * stride[2] - padding[2];
  }
  /// What of the window of output o lies in the image, in one direction, and what that divides the sum by.
  struct Span {
    int64_t begin, end, divisor;
  };
  Span span(int d, int64_t o) const {
    const int64_t from = o * stride[d] - padding[d], to = std::min(from + kernel[d], in[d] + padding[d]);
    const int64_t begin = std::max<int64_t>(from, 0), end = std::min(to, in[d]);
    return {begin, end, count_padding ? to - from : end - begin};
  }
  int64_t offset(int64_t k) const {
    return (k / kernel[2] / kernel[1] * dilation[0] * in[1] + k / kernel[2] % kernel[1] * dilation[1]) * in[2] +
           k % kernel[2] * dilation[2];
  }
};

/// Windows on images whose channels lie side by side; height and width.
struct PointWindows {
  int64_t in[2], out[2], kernel[2], stride[2], dilation[2], padding[2];
  int64_t x[2], y[2], grad[2], dx[2];  ///< elements between lines, and between points of a line
};

/// A convolution of each channel by itself, of images whose channels lie side by side; height and width.
struct DepthwiseShape {
  int64_t in[2], out[2], kernel[2], stride[2], dilation[2], padding[2], channels;
};

/// One dimension of a resampling: output o is the sum over k of weight[k * out + o] * in[index[k * out + o]].
struct Taps {
  int64_t in = 1, out = 1;
  int count = 1;
  bool unit = true;  ///< count 1, weight 1
  const int64_t* index = nullptr;
  const float* f32 = nullptr;
  const double* f64 = nullptr;
};

/// A plane as Winograd's transforms take it (kernels/convolution/winograd.h): rows of 4x4 outputs, `tiles` in each.
/// `top` and `left` are zeros before an input; they are 0 for an output.
struct WinogradPlane {
  const float* data;
  int64_t height, width, top, left, tiles;
};
/// Images with the channels innermost; channels are a multiple of 16, that is of whole vectors.
struct WinogradImage {
  const float* data;
  int64_t height, width, top, left, tiles, channels;
};
/// What becomes of results on their way out; null: nothing of that kind.
struct WinogradTail {
  const float *scale, *bias;  ///< for each channel: times the one, plus the other
  const float* add;           ///< lies as the image
  bool relu;
};
/// Whole vectors of every instruction set.
constexpr int64_t winograd_round(int64_t n) { return (n + 15) / 16 * 16; }
/// Floats of scratch that the transforms take for so many rows of tiles.
constexpr int64_t winograd_row_scratch(int64_t tile_rows, int64_t tiles) {
  return 10 * winograd_round((4 * tile_rows + 2) * (tiles + 1)) + 5 * 16;
}

}  // namespace updraft
