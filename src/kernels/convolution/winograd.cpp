#include "kernels/convolution/winograd.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "base/parallel.h"
#include "base/scratch.h"
#include "kernels/matmul/matmul.h"
#include "kernels/matmul/packed.h"
#include "kernels/pipeline.h"
#include "kernels/table.h"
#include "tensor/view_algebra.h"

namespace updraft::winograd {
namespace {

constexpr int64_t kPoints = 36;
constexpr int64_t kBlockBytes = 4 << 20;  // of points that are in use at a time, but for large filters
constexpr int64_t kStrip = 8;             // rows of tiles that a transform takes at a time

// From one point to the next: not a multiple of 4096 bytes, or all points of a tile would share a few lines of the
// cache.
constexpr int64_t point_step(int64_t floats) { return floats + 16; }

// The tiles of a convolution, and the blocks of them that are carried through the three steps together.
struct Tiles {
  int64_t high, wide, rows;  // rows of tiles of all images
  int64_t block_rows;        // rows of tiles in a block
  int64_t line;              // floats from one channel to the next: the tiles of a block and what transforms write past
  explicit Tiles(const Shape& s) : high((s.out[0] + 3) / 4), wide((s.out[1] + 3) / 4), rows(s.batch * high) {
    const int64_t channels = s.in_channels + s.out_channels, bytes = kPoints * 4 * channels * wide;
    const int64_t budget = std::max(kBlockBytes, kPoints * 4 * s.in_channels * s.out_channels);
    const int64_t blocks = std::max<int64_t>(1, (rows * bytes + budget / 2) / budget);
    block_rows = (rows + blocks - 1) / blocks;
    line = winograd_round(block_rows * wide) + 16;
  }
  size_t strip_bytes() const {
    return scratch_size(sizeof(float) * static_cast<size_t>(winograd_row_scratch(std::min(kStrip, block_rows), wide)));
  }
  int64_t step(int64_t channels) const { return point_step(channels * line); }
  size_t points_bytes(int64_t channels) const {
    return scratch_size(sizeof(float) * static_cast<size_t>(kPoints * step(channels)));
  }
  /// [36, channels, tiles of `row_count` rows] where the points lie.
  TensorView view(float* points, int64_t channels, int64_t row_count) const {
    const int64_t dims[] = {kPoints, channels, row_count * wide};
    TensorView v = TensorView::contiguous(points, DType::Float, dims, 3);
    v.strides[1] = line;
    v.strides[0] = step(channels);
    return v;
  }
  /// The rows [begin, end) of a block in strips of one image: f(image, first row in it, rows, tiles before).
  template <class F>
  void strips(int64_t begin, int64_t end, F&& f) const {
    for (int64_t row = begin; row < end;) {
      const int64_t image = row / high, first = row % high, n = std::min({end - row, high - first, kStrip});
      f(image, first, n, (row - begin) * wide);
      row += n;
    }
  }
};

int64_t channel_line(int64_t channels) { return winograd_round(channels); }
int64_t filter_step(int64_t out_channels, int64_t in_channels) {
  return point_step(out_channels * channel_line(in_channels));
}

/// [36, out_channels, in_channels]: filters at their points.
TensorView filter_view(float* points, int64_t out_channels, int64_t in_channels) {
  const int64_t dims[] = {kPoints, out_channels, in_channels};
  TensorView v = TensorView::contiguous(points, DType::Float, dims, 3);
  v.strides[1] = channel_line(in_channels);
  v.strides[0] = filter_step(out_channels, in_channels);
  return v;
}
size_t points_of_filters(int64_t out_channels, int64_t in_channels) {
  return scratch_size(sizeof(float) * static_cast<size_t>(kPoints * filter_step(out_channels, in_channels)));
}

void transform(int64_t out_channels, int64_t in_channels, const float* filters, bool turned, float* to) {
  const int64_t line = channel_line(in_channels);
  parallel_for(out_channels, std::max<int64_t>(1, 1024 / in_channels), [&](int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end; ++k)
      kernels().winograd_filters(filters + k * in_channels * 9, in_channels, turned, to + k * line,
                                 filter_step(out_channels, in_channels));
  });
}

using Transform = void (*)(const WinogradPlane&, int64_t, int64_t, float*, int64_t, float*);

/// Rows [begin, end) of the tiles of planes [N, channels, ...] to their points [36, channels, tiles].
void transform_planes(const Tiles& tiles, int64_t begin, int64_t end, const float* planes, int64_t channels,
                      const int64_t (&size)[2], const int64_t (&padding)[2], Transform transform, float* to) {
  const int64_t plane = size[0] * size[1];
  parallel_for(channels, 1, [&](int64_t first, int64_t last) {
    ScratchScope scratch;
    auto* strip = static_cast<float*>(scratch.take(tiles.strip_bytes()));
    for (int64_t c = first; c < last; ++c)
      tiles.strips(begin, end, [&](int64_t image, int64_t row, int64_t n, int64_t before) {
        transform({planes + (image * channels + c) * plane, size[0], size[1], padding[0], padding[1], tiles.wide}, row,
                  n, to + c * tiles.line + before, tiles.step(channels), strip);
      });
  });
}

/// in [N, in_channels, ...] times filters [36, out_channels, in_channels] to out; s is of this convolution.
bool convolve(const Shape& s, const float* in, const TensorView& filters, const float* bias, float* out) {
  const Tiles tiles(s);
  ScratchScope scratch;
  auto* before = static_cast<float*>(scratch.take(tiles.points_bytes(s.in_channels)));
  auto* after = static_cast<float*>(scratch.take(tiles.points_bytes(s.out_channels)));
  const int64_t plane = s.out[0] * s.out[1];
  std::atomic<bool> finite = true;
  for (int64_t begin = 0; begin < tiles.rows; begin += tiles.block_rows) {
    const int64_t end = std::min(tiles.rows, begin + tiles.block_rows);
    transform_planes(tiles, begin, end, in, s.in_channels, s.in, s.padding, kernels().winograd_input, before);
    matmul(filters, tiles.view(before, s.in_channels, end - begin), tiles.view(after, s.out_channels, end - begin));
    parallel_for(s.out_channels, 1, [&](int64_t first, int64_t last) {
      ScratchScope own;
      auto* strip = static_cast<float*>(own.take(tiles.strip_bytes()));
      for (int64_t k = first; k < last; ++k)
        tiles.strips(begin, end, [&](int64_t image, int64_t row, int64_t n, int64_t done) {
          const WinogradPlane to{out + (image * s.out_channels + k) * plane, s.out[0], s.out[1], 0, 0, tiles.wide};
          if (!kernels().winograd_output(after + k * tiles.line + done, tiles.step(s.out_channels), row, n,
                                         bias ? bias[k] : 0, to, strip))
            finite.store(false, std::memory_order_relaxed);
        });
    });
    if (!finite) return false;
  }
  return true;
}

size_t convolve_scratch(const Shape& s, const TensorView& filters) {
  const Tiles tiles(s);
  size_t product = 0;
  for (const int64_t rows : {tiles.block_rows, tiles.rows % tiles.block_rows})
    if (rows)
      product = std::max(product, matmul_scratch(filters, tiles.view(nullptr, s.in_channels, rows),
                                                 tiles.view(nullptr, s.out_channels, rows)));
  return tiles.points_bytes(s.in_channels) + tiles.points_bytes(s.out_channels) +
         std::max(tiles.strip_bytes(), product);
}

/// The convolution that the gradient of the input is: of the output's gradient with turned filters.
Shape turned(const Shape& s) {
  return {s.batch,
          s.out_channels,
          s.in_channels,
          {s.out[0], s.out[1]},
          {s.in[0], s.in[1]},
          {2 - s.padding[0], 2 - s.padding[1]}};
}

}  // namespace

bool pays(const Shape& s) {
  // The transforms cost as much as a few dozen channels on the other side; tiles at the edges are cut; filters are four
  // times as large at their points, so they must be used for enough tiles. Measured on AVX-512.
  if (s.in_channels < 32 || s.out_channels < 32) return false;
  const Tiles tiles(s);
  return s.batch * s.out[0] * s.out[1] >= 6 * tiles.rows * tiles.wide + 400;
}

size_t filter_bytes(const Shape& s) { return points_of_filters(s.out_channels, s.in_channels); }
void transform_filters(const Shape& s, const float* filters, float* to) {
  transform(s.out_channels, s.in_channels, filters, false, to);
}

bool forward(const Shape& s, const float* in, const float* points, const float* bias, float* out) {
  return convolve(s, in, filter_view(const_cast<float*>(points), s.out_channels, s.in_channels), bias, out);
}

size_t forward_scratch(const Shape& s) {
  return convolve_scratch(s, filter_view(nullptr, s.out_channels, s.in_channels));
}

bool backward_input(const Shape& s, const float* grad_out, const float* filters, float* grad_in) {
  ScratchScope scratch;
  auto* points = static_cast<float*>(scratch.take(filter_bytes(s)));
  transform(s.out_channels, s.in_channels, filters, true, points);
  return convolve(turned(s), grad_out, filter_view(points, s.out_channels, s.in_channels).transpose(1, 2), nullptr,
                  grad_in);
}

size_t backward_input_scratch(const Shape& s) {
  return filter_bytes(s) +
         convolve_scratch(turned(s), filter_view(nullptr, s.out_channels, s.in_channels).transpose(1, 2));
}

bool backward_filters(const Shape& s, const float* grad_out, const float* in, float* grad_filters) {
  const Tiles tiles(s);
  ScratchScope scratch;
  auto* points = static_cast<float*>(scratch.take(filter_bytes(s)));
  auto* inputs = static_cast<float*>(scratch.take(tiles.points_bytes(s.in_channels)));
  auto* outputs = static_cast<float*>(scratch.take(tiles.points_bytes(s.out_channels)));
  const TensorView sum = filter_view(points, s.out_channels, s.in_channels);
  constexpr int64_t kNone[2] = {};
  for (int64_t begin = 0; begin < tiles.rows; begin += tiles.block_rows) {
    const int64_t end = std::min(tiles.rows, begin + tiles.block_rows);
    transform_planes(tiles, begin, end, in, s.in_channels, s.in, s.padding, kernels().winograd_input, inputs);
    transform_planes(tiles, begin, end, grad_out, s.out_channels, s.out, kNone, kernels().winograd_gradient, outputs);
    matmul(tiles.view(outputs, s.out_channels, end - begin),
           tiles.view(inputs, s.in_channels, end - begin).transpose(1, 2), sum, {.beta = begin ? 1.0 : 0.0});
  }
  const int64_t line = channel_line(s.in_channels);
  std::atomic<bool> finite = true;
  parallel_for(s.out_channels, std::max<int64_t>(1, 1024 / s.in_channels), [&](int64_t first, int64_t last) {
    for (int64_t k = first; k < last; ++k)
      if (!kernels().winograd_filter_gradient(points + k * line, filter_step(s.out_channels, s.in_channels),
                                              s.in_channels, grad_filters + k * s.in_channels * 9))
        finite.store(false, std::memory_order_relaxed);
  });
  return finite;
}

size_t backward_filters_scratch(const Shape& s) {
  const Tiles tiles(s);
  const TensorView sum = filter_view(nullptr, s.out_channels, s.in_channels);
  size_t product = 0;
  for (int64_t begin = 0; begin < tiles.rows; begin += tiles.block_rows) {
    const int64_t rows = std::min(tiles.rows - begin, tiles.block_rows);
    product = std::max(product, matmul_scratch(tiles.view(nullptr, s.out_channels, rows),
                                               tiles.view(nullptr, s.in_channels, rows).transpose(1, 2), sum,
                                               {.beta = begin ? 1.0 : 0.0}));
  }
  return filter_bytes(s) + tiles.points_bytes(s.in_channels) + tiles.points_bytes(s.out_channels) +
         std::max(tiles.strip_bytes(), product);
}

// --- channels innermost ---------------------------------------------------------------------------------------------
namespace {

// The rows of tiles of all images, and the blocks of them that are carried through the three steps together.
struct TilesLast {
  int64_t high, wide, rows, block_rows;
  /// `sums`: what is added up over the blocks is at the points of the filters.
  explicit TilesLast(const Shape& s, bool sums = false)
      : high((s.out[0] + 3) / 4), wide((s.out[1] + 3) / 4), rows(s.batch * high) {
    const int64_t bytes = kPoints * 4 * (s.in_channels + s.out_channels) * wide;
    const int64_t budget = std::max(kBlockBytes, sums ? kPoints * 4 * s.in_channels * s.out_channels : 0);
    const int64_t blocks = std::max<int64_t>(1, (rows * bytes + budget / 2) / budget);
    // Filters that are larger than the cache are read again for each block: at least 64 tiles take them.
    block_rows = std::min(rows, std::max((rows + blocks - 1) / blocks, (63 + wide) / wide));
  }
  int64_t step(int64_t channels) const { return point_step(block_rows * wide * channels); }
  size_t bytes(int64_t channels) const {
    return scratch_size(sizeof(float) * static_cast<size_t>(kPoints * step(channels)));
  }
  /// [36, tiles, channels]
  TensorView view(float* points, int64_t channels, int64_t row_count) const {
    const int64_t dims[] = {kPoints, row_count * wide, channels};
    TensorView v = TensorView::contiguous(points, DType::Float, dims, 3);
    v.strides[0] = step(channels);
    return v;
  }
};

/// [36, in_channels, out_channels]
TensorView filters_last(float* points, const Shape& s) {
  const int64_t dims[] = {kPoints, s.in_channels, s.out_channels};
  TensorView v = TensorView::contiguous(points, DType::Float, dims, 3);
  v.strides[0] = point_step(s.in_channels * s.out_channels);
  return v;
}

/// [out_channels, in_channels, 3, 3] that lies as [3, 3, in_channels, out_channels].
bool taps_apart(const Shape& s, const TensorView& filters) {
  const int64_t count = s.in_channels * s.out_channels;
  return filters.dtype == DType::Float && filters.strides[0] == 1 && filters.strides[1] == s.out_channels &&
         filters.strides[2] == 3 * count && filters.strides[3] == count;
}

/// Sixteen filters side by side.
typedef float Lanes __attribute__((vector_size(64)));

/// Three taps at the six points (kernels/simd/winograd.cpp says which).
void filter_points(const Lanes* g, Lanes* to) {
  constexpr float kA = 0.70710678118654752f, kB = 1.41421356237309505f;
  to[0] = g[0];
  const Lanes even_a = (g[0] + 0.5f * g[2]) * (-2.0f / 3), odd_a = g[1] * (-2.0f / 3 * kA);
  to[1] = even_a + odd_a;
  to[2] = even_a - odd_a;
  const Lanes even_b = (g[0] + 2.0f * g[2]) * (1.0f / 6), odd_b = g[1] * (kB / 6);
  to[3] = even_b + odd_b;
  to[4] = even_b - odd_b;
  to[5] = g[2];
}

}  // namespace

bool pays_last(const Shape& s, bool prepared) {
  if (s.in_channels < 32 || s.out_channels < 32 || s.in_channels % 16 || s.out_channels % 16) return false;
  const TilesLast tiles(s);
  const int64_t count = tiles.rows * tiles.wide, results = s.batch * s.out[0] * s.out[1];
  if (!prepared) return results >= 6 * count + 400;
  // A form that no cache holds is read from memory by each run: with few tiles that takes what the sums save.
  constexpr size_t kCached = size_t{32} << 20;
  return results >= 9 * count && count >= (filter_bytes_last(s) > kCached ? 64 : 16);
}

size_t filter_bytes_last(const Shape& s) {
  return scratch_size(sizeof(float) * static_cast<size_t>(kPoints * point_step(s.in_channels * s.out_channels)));
}

bool transform_filters_last(const Shape& s, const TensorView& filters, float* to) {
  const int64_t count = s.in_channels * s.out_channels;
  if (count % 16 || !taps_apart(s, filters)) return false;
  const auto* from = filters.as<const float>();
  parallel_for(count / 16, 64, [&](int64_t begin, int64_t end) {
    for (int64_t at = 16 * begin; at < 16 * end; at += 16) {
      Lanes half[6][3];
      for (int x = 0; x < 3; ++x) {
        Lanes g[3], points[6];
        for (int y = 0; y < 3; ++y) {
          const int tap = 3 * y + x;
          std::memcpy(&g[y], from + tap * count + at, sizeof(Lanes));
        }
        filter_points(g, points);
        for (int i = 0; i < 6; ++i) half[i][x] = points[i];
      }
      for (int i = 0; i < 6; ++i) {
        Lanes points[6];
        filter_points(half[i], points);
        for (int j = 0; j < 6; ++j) std::memcpy(to + (6 * i + j) * point_step(count) + at, &points[j], sizeof(Lanes));
      }
    }
  });
  return true;
}

void transform_filters_last(const Shape& s, const float* filters, float* to) {
  ScratchScope scratch;
  auto* points = static_cast<float*>(scratch.take(filter_bytes(s)));
  transform_filters(s, filters, points);
  copy_elements(filters_last(to, s), filter_view(points, s.out_channels, s.in_channels).transpose(1, 2));
}

namespace {

/// Rows [begin, end) of the tiles of images [N, ..., channels] to their points [36, tiles, channels].
void transform_images(const TilesLast& tiles, int64_t begin, int64_t end, const WinogradImage& images,
                      void (*transform)(const WinogradImage&, int64_t, float*, int64_t), float* to) {
  const int64_t image = images.height * images.width * images.channels;
  parallel_for(end - begin, 1, [&](int64_t first, int64_t last) {
    WinogradImage of = images;
    for (int64_t r = begin + first; r < begin + last; ++r) {
      of.data = images.data + r / tiles.high * image;
      transform(of, r % tiles.high, to + (r - begin) * tiles.wide * images.channels, tiles.step(images.channels));
    }
  });
}

/// The products at the points; filters of which nothing but the shape is used where they are arranged.
struct Filters {
  TensorView points;  ///< [36, in_channels, out_channels]
  const float* arranged = nullptr;

  packed::Product product(const TensorView& before, const TensorView& after) const {
    return {.a = before, .b = points, .c = after, .add = after, .right = arranged};
  }
  void multiply(const TensorView& before, const TensorView& after) const {
    if (arranged) packed::multiply(product(before, after));
    else matmul(before, points, after);
  }
};

/// s is of this convolution.
bool convolve_last(const Shape& s, const float* in, const Filters& filters, const Tail& tail, float* out) {
  const TilesLast tiles(s);
  ScratchScope scratch;
  auto* before = static_cast<float*>(scratch.take(tiles.bytes(s.in_channels)));
  auto* after = static_cast<float*>(scratch.take(tiles.bytes(s.out_channels)));
  const WinogradImage images{in, s.in[0], s.in[1], s.padding[0], s.padding[1], tiles.wide, s.in_channels};
  const int64_t to_image = s.out[0] * s.out[1] * s.out_channels;
  std::atomic<bool> finite = true;
  for (int64_t begin = 0; begin < tiles.rows; begin += tiles.block_rows) {
    const int64_t end = std::min(tiles.rows, begin + tiles.block_rows);
    transform_images(tiles, begin, end, images, kernels().winograd_input_last, before);
    filters.multiply(tiles.view(before, s.in_channels, end - begin), tiles.view(after, s.out_channels, end - begin));
    parallel_for(end - begin, 1, [&](int64_t first, int64_t last) {
      for (int64_t r = begin + first; r < begin + last; ++r) {
        const int64_t image = r / tiles.high * to_image;
        const WinogradTail with{tail.scale, tail.bias, tail.add ? tail.add + image : nullptr, tail.relu};
        if (!kernels().winograd_output_last(after + (r - begin) * tiles.wide * s.out_channels,
                                            tiles.step(s.out_channels), r % tiles.high, with,
                                            {out + image, s.out[0], s.out[1], 0, 0, tiles.wide, s.out_channels}))
          finite.store(false, std::memory_order_relaxed);
      }
    });
    if (!finite) return false;
  }
  return true;
}

size_t convolve_last_scratch(const Shape& s, const TensorView& filters, bool arranged) {
  const TilesLast tiles(s);
  size_t product = 0;
  for (const int64_t rows : {tiles.block_rows, tiles.rows % tiles.block_rows}) {
    if (!rows) continue;
    const TensorView before = tiles.view(nullptr, s.in_channels, rows),
                     after = tiles.view(nullptr, s.out_channels, rows);
    product = std::max(product, arranged ? packed::scratch_bytes(Filters{filters}.product(before, after), true)
                                         : matmul_scratch(before, filters, after));
  }
  return tiles.bytes(s.in_channels) + tiles.bytes(s.out_channels) + product;
}

}  // namespace

bool arranges_points() { return packed::takes_constants(); }

static int64_t arranged_step(const Shape& s) {
  const TensorView points = filters_last(nullptr, s);
  return packed::right_floats({.a = points, .b = points, .c = points, .add = points});
}
size_t arranged_bytes_last(const Shape& s) {
  return scratch_size(sizeof(float) * static_cast<size_t>(kPoints * arranged_step(s)));
}
void arrange_points_last(const Shape& s, const float* points, float* to) {
  const TensorView all = filters_last(const_cast<float*>(points), s);
  for (int64_t i = 0; i < kPoints; ++i) {
    const TensorView one = select(all, 0, i);
    packed::pack_right({.a = one, .b = one, .c = one, .add = one}, to + i * arranged_step(s));
  }
}

bool forward_last(const Shape& s, const float* in, const float* points, bool arranged, const Tail& tail, float* out) {
  return convolve_last(s, in, {filters_last(const_cast<float*>(points), s), arranged ? points : nullptr}, tail, out);
}
size_t forward_last_scratch(const Shape& s, bool arranged) {
  return convolve_last_scratch(s, filters_last(nullptr, s), arranged);
}

bool pays_backward_last(const Shape& s) { return pays_last(turned(s), false); }

bool backward_input_last(const Shape& s, const float* grad_out, const TensorView& filters, float* grad_in) {
  ScratchScope scratch;
  auto* points = static_cast<float*>(scratch.take(filter_bytes(s)));
  {
    ScratchScope own;
    auto* dense = own.take<float>(static_cast<size_t>(9 * s.in_channels * s.out_channels));
    gather_to(dense, DType::Float, filters);
    transform(s.out_channels, s.in_channels, dense, true, points);
  }
  return convolve_last(turned(s), grad_out, {filter_view(points, s.out_channels, s.in_channels)}, {}, grad_in);
}
size_t backward_input_last_scratch(const Shape& s) {
  const size_t product = convolve_last_scratch(turned(s), filter_view(nullptr, s.out_channels, s.in_channels), false);
  const size_t dense = scratch_size(sizeof(float) * static_cast<size_t>(9 * s.in_channels * s.out_channels));
  return filter_bytes(s) + std::max(dense, product);
}

bool pays_filters_last(const Shape& s) { return pays_last(s, false); }

bool backward_filters_last(const Shape& s, const float* grad_out, const float* in, const TensorView& grad_filters) {
  const TilesLast tiles(s, true);
  const int64_t count = s.in_channels * s.out_channels;
  ScratchScope scratch;
  auto* points = static_cast<float*>(scratch.take(filter_bytes_last(s)));
  auto* inputs = static_cast<float*>(scratch.take(tiles.bytes(s.in_channels)));
  auto* outputs = static_cast<float*>(scratch.take(tiles.bytes(s.out_channels)));
  const bool in_place = taps_apart(s, grad_filters);
  float* taps = in_place ? grad_filters.as<float>() : scratch.take<float>(static_cast<size_t>(9 * count));
  const TensorView sum = filters_last(points, s);
  for (int64_t begin = 0; begin < tiles.rows; begin += tiles.block_rows) {
    const int64_t end = std::min(tiles.rows, begin + tiles.block_rows);
    transform_images(tiles, begin, end, {in, s.in[0], s.in[1], s.padding[0], s.padding[1], tiles.wide, s.in_channels},
                     kernels().winograd_input_last, inputs);
    transform_images(tiles, begin, end, {grad_out, s.out[0], s.out[1], 0, 0, tiles.wide, s.out_channels},
                     kernels().winograd_gradient_last, outputs);
    matmul(tiles.view(inputs, s.in_channels, end - begin).transpose(1, 2),
           tiles.view(outputs, s.out_channels, end - begin), sum, {.beta = begin ? 1.0 : 0.0});
  }
  std::atomic<bool> finite = true;
  parallel_for(count / 16, 64, [&](int64_t first, int64_t last) {
    if (!kernels().winograd_filter_gradient_last(points + 16 * first, point_step(count), 16 * (last - first),
                                                 taps + 16 * first, count))
      finite.store(false, std::memory_order_relaxed);
  });
  if (finite && !in_place) {
    const int64_t dims[] = {3, 3, s.in_channels, s.out_channels};
    copy_elements(grad_filters, permute(TensorView::contiguous(taps, DType::Float, dims, 4), {3, 2, 0, 1}));
  }
  return finite;
}

size_t backward_filters_last_scratch(const Shape& s, const TensorView& grad_filters) {
  const TilesLast tiles(s, true);
  const TensorView sum = filters_last(nullptr, s);
  size_t product = 0;
  for (int64_t begin = 0; begin < tiles.rows; begin += tiles.block_rows) {
    const int64_t rows = std::min(tiles.rows - begin, tiles.block_rows);
    product =
        std::max(product, matmul_scratch(tiles.view(nullptr, s.in_channels, rows).transpose(1, 2),
                                         tiles.view(nullptr, s.out_channels, rows), sum, {.beta = begin ? 1.0 : 0.0}));
  }
  const size_t taps = scratch_size(sizeof(float) * static_cast<size_t>(9 * s.in_channels * s.out_channels));
  return filter_bytes_last(s) + tiles.bytes(s.in_channels) + tiles.bytes(s.out_channels) +
         (taps_apart(s, grad_filters) ? 0 : taps) + product;
}

}  // namespace updraft::winograd
