#include "ops/ir/vision/taps.h"

#include <algorithm>

#include "base/parallel.h"
#include "ops/linalg/dense.h"

namespace updraft {
namespace {

constexpr int64_t kSide = 16;  // numbers side by side, which the compiler adds as vectors

/// to += weight * from, of `count` numbers.
template <class T>
void add_scaled(T* __restrict to, const T* __restrict from, T weight, int64_t count) {
  int64_t i = 0;
  for (; i + kSide <= count; i += kSide)
    for (int64_t k = 0; k < kSide; ++k) to[i + k] += weight * from[i + k];
  for (; i < count; ++i) to[i] += weight * from[i];
}
/// The sum of the taps of pixel `at`, each of `count` numbers.
template <class T>
void take(const PixelTaps& taps, int64_t at, const T* from, int64_t count, T* to) {
  std::fill_n(to, count, T(0));
  for (auto k = static_cast<size_t>(taps.begin[static_cast<size_t>(at)]);
       k < static_cast<size_t>(taps.begin[static_cast<size_t>(at) + 1]); ++k)
    add_scaled(to, from + taps.at[k] * count, static_cast<T>(taps.weights[k]), count);
}

/// Rows of the result, up to kSide of one image: rows of the image first, and then columns, each with its channels.
/// Where a pixel is one number, the pixels of a column of these rows lie side by side meanwhile.
template <class T>
void make_rows(const T* image, int64_t width, int64_t channels, const PlaneTaps& taps, int64_t row, int64_t count,
               std::vector<T>& lines, T* to) {
  const int64_t columns = taps.columns.size(), length = width * channels;
  if (channels > 1) {
    lines.resize(static_cast<size_t>(length));
    for (int64_t r = 0; r < count; ++r) {
      take(taps.rows, row + r, image, length, lines.data());
      for (int64_t x = 0; x < columns; ++x, to += channels) take(taps.columns, x, lines.data(), channels, to);
    }
    return;
  }
  lines.resize(static_cast<size_t>(width * (kSide + 1)));
  T *line = lines.data(), *turned = line + width;
  for (int64_t r = 0; r < count; ++r) {
    take(taps.rows, row + r, image, width, line);
    for (int64_t x = 0; x < width; ++x) turned[x * kSide + r] = line[x];
  }
  for (int64_t x = 0; x < columns; ++x) {
    T made[kSide];
    take(taps.columns, x, turned, kSide, made);
    for (int64_t r = 0; r < count; ++r) to[r * columns + x] = made[r];
  }
}

template <class T>
void run(const TensorView& from, const TensorView& to, bool last, const PlaneTaps& taps) {
  if (to.empty()) return;
  ScratchScope scratch;
  const T* read = linalg::dense_copy<T>(from, scratch);
  const linalg::Result<T> made(to, scratch);
  const int64_t channels = last ? from.dims[3] : 1, images = last ? from.dims[0] : from.dims[0] * from.dims[1];
  const int high = last ? 1 : 2;
  const int64_t in = from.dims[high] * from.dims[high + 1] * channels, width = from.dims[high + 1];
  const int64_t rows = to.dims[high], out = to.dims[high + 1] * channels, parts = (rows + kSide - 1) / kSide;
  parallel_for(images * parts, 1 + 16384 / (out * kSide), [&](int64_t begin, int64_t end) {
    std::vector<T> lines;
    for (; begin < end; ++begin) {
      const int64_t image = begin / parts, row = begin % parts * kSide;
      make_rows(read + image * in, width, channels, taps, row, std::min(kSide, rows - row), lines,
                made.data + (image * rows + row) * out);
    }
  });
  made.give();
}

}  // namespace

PixelTaps PixelTaps::turned(int64_t count) const {
  PixelTaps t;
  t.begin.assign(static_cast<size_t>(count) + 1, 0);
  for (int64_t pixel : at) ++t.begin[static_cast<size_t>(pixel) + 1];
  for (size_t i = 1; i < t.begin.size(); ++i) t.begin[i] += t.begin[i - 1];
  t.at.resize(at.size());
  t.weights.resize(at.size());
  std::vector<int64_t> next(t.begin.begin(), t.begin.end() - 1);
  for (int64_t i = 0; i < size(); ++i)
    for (auto k = static_cast<size_t>(begin[static_cast<size_t>(i)]);
         k < static_cast<size_t>(begin[static_cast<size_t>(i) + 1]); ++k) {
      const auto place = static_cast<size_t>(next[static_cast<size_t>(at[k])]++);
      t.at[place] = i;
      t.weights[place] = weights[k];
    }
  return t;
}

void plan_taps(Op& op, const TensorView& from, const TensorView& to, bool last, std::function<PlaneTaps()> make) {
  if (op.inferring()) return;
  const bool wide = to.dtype == DType::Double;
  op.work(8 * (from.numel() + to.numel()));
  op.kernel_scratch(static_cast<size_t>(from.numel() + to.numel()) * (wide ? sizeof(double) : sizeof(float)));
  op.launch([=, make = std::move(make)] {
    const PlaneTaps taps = make();
    wide ? run<double>(from, to, last, taps) : run<float>(from, to, last, taps);
  });
}

}  // namespace updraft
