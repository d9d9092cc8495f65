#include "ops/ir/vision/taps.h"

#include <algorithm>

#include "base/parallel.h"
#include "ops/linalg/dense.h"

namespace updraft {
namespace {

/// One row of the result: rows of the image first, in `line`, and then columns, each with its channels.
template <class T>
void make_row(const T* image, int64_t width, int64_t channels, const PixelTaps& rows, int64_t row,
              const PixelTaps& columns, T* line, T* to) {
  const int64_t length = width * channels;
  std::fill_n(line, length, T(0));
  for (int64_t k = rows.begin[static_cast<size_t>(row)]; k < rows.begin[static_cast<size_t>(row) + 1]; ++k) {
    const T weight = static_cast<T>(rows.weights[static_cast<size_t>(k)]);
    const T* from = image + rows.at[static_cast<size_t>(k)] * length;
    for (int64_t i = 0; i < length; ++i) line[i] += weight * from[i];
  }
  for (int64_t x = 0; x < columns.size(); ++x, to += channels) {
    std::fill_n(to, channels, T(0));
    for (int64_t k = columns.begin[static_cast<size_t>(x)]; k < columns.begin[static_cast<size_t>(x) + 1]; ++k) {
      const T weight = static_cast<T>(columns.weights[static_cast<size_t>(k)]);
      const T* from = line + columns.at[static_cast<size_t>(k)] * channels;
      for (int64_t c = 0; c < channels; ++c) to[c] += weight * from[c];
    }
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
  const int64_t rows = to.dims[high], out = to.dims[high + 1] * channels;
  parallel_for(images * rows, std::max<int64_t>(1, 16384 / std::max<int64_t>(1, out)), [&](int64_t begin, int64_t end) {
    std::vector<T> line(static_cast<size_t>(width * channels));
    for (; begin < end; ++begin)
      make_row(read + begin / rows * in, width, channels, taps.rows, begin % rows, taps.columns, line.data(),
               made.data + begin * out);
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
