// Pooling over windows of two sizes in a random order, so that an image shrinks by a ratio that is no whole number.
#include <cmath>
#include <limits>
#include <random>

#include "ops/gathered.h"
#include "ops/ir/random/seeds.h"
#include "ops/ir/windows/windows.h"

namespace updraft {
namespace {

using ir::Dims;

/// Where windows begin along one dimension, and the end of the last.
Dims drawn(int64_t size, int64_t windows, bool pseudo, std::mt19937_64& random) {
  Dims at(static_cast<size_t>(windows) + 1);
  const int64_t least = size / windows;
  if (size == windows || !pseudo) {
    Dims lengths(static_cast<size_t>(windows), least);
    std::fill_n(lengths.begin(), size % windows, least + 1);
    std::shuffle(lengths.begin(), lengths.end(), random);
    for (size_t i = 0; i < lengths.size(); ++i) at[i + 1] = at[i] + lengths[i];
    return at;
  }
  // ceil(ratio * (i + u)) has steps of two lengths for every u that keeps the first window and the last one among them.
  const double ratio = static_cast<double>(size) / static_cast<double>(windows);
  const double most = std::min(static_cast<double>(least + 2) / ratio - 1,
                               static_cast<double>(size + 1 - least) / ratio - static_cast<double>(windows - 1));
  const double u = std::uniform_real_distribution<double>(0, most)(random);
  for (int64_t i = 1; i < windows; ++i)
    at[static_cast<size_t>(i)] = static_cast<int64_t>(std::ceil(ratio * (static_cast<double>(i) + u))) - 1;
  at.back() = size;
  return at;
}

/// A window of one dimension; overlapping ones have the first pixel of the next one, too.
struct Stretch {
  int64_t begin, end;
};
std::vector<Stretch> stretches(const char* name, const Dims& at, int64_t size, bool overlapping) {
  std::vector<Stretch> all;
  for (size_t i = 0; i + 1 < at.size(); ++i) {
    all.push_back({at[i], std::min(at[i + 1] + (overlapping ? 1 : 0), size)});
    if (at[i] < 0 || all.back().end <= at[i] || at[i + 1] > size)
      fail_kernel(fmt::format("fractional pooling: {} goes from {} to {} of {} pixels", name, at[i], at[i + 1], size));
  }
  return all;
}

struct Fraction {
  std::vector<Stretch> rows, columns;
  int64_t height, width, channels;
};

/// f(pixel's values) for each pixel of a window.
template <class F>
void each_pixel(const Fraction& p, int64_t row, int64_t column, F&& f) {
  const Stretch v = p.rows[static_cast<size_t>(row)], h = p.columns[static_cast<size_t>(column)];
  for (int64_t y = v.begin; y < v.end; ++y)
    for (int64_t x = h.begin; x < h.end; ++x) f((y * p.width + x) * p.channels);
}

template <class T>
void pool(const Fraction& p, bool mean, const TensorView& from, const TensorView& to) {
  ScratchScope scratch;
  const T* x = linalg::dense_copy<T>(from, scratch);
  const linalg::Result<T> made(to, scratch);
  const int64_t rows = to.dims[1], columns = to.dims[2], image = p.height * p.width * p.channels;
  parallel_for(to.dims[0] * rows, 1, [&](int64_t begin, int64_t end) {
    for (int64_t line = begin; line < end; ++line)
      for (int64_t column = 0; column < columns; ++column) {
        T* out = made.data + (line * columns + column) * p.channels;
        std::fill_n(out, p.channels, mean ? T(0) : std::numeric_limits<T>::lowest());
        int64_t count = 0;
        each_pixel(p, line % rows, column, [&](int64_t at) {
          const T* in = x + line / rows * image + at;
          for (int64_t c = 0; c < p.channels; ++c) out[c] = mean ? out[c] + in[c] : std::max(out[c], in[c]);
          ++count;
        });
        if (mean)
          for (int64_t c = 0; c < p.channels; ++c) out[c] /= static_cast<T>(count);
      }
  });
  made.give();
}

void plan_pool(Op& op, bool mean, const In& x, const Floats& ratio, bool pseudo, bool overlapping, int64_t seed,
               int64_t seed2, const Out& y, const Out& row_sequence, const Out& column_sequence) {
  op.require(x->rank == 4 && !is_complex(x->dtype) && x->dtype != DType::Bool, "x is {}, want numbers [N, H, W, C]",
             describe(*x));
  op.require(ratio.size() == 4 && ratio[0] == 1 && ratio[3] == 1,
             "attribute pooling_ratio has {} values, want 4, of which the first and the last are 1", ratio.size());
  op.require(ratio[1] >= 1 && ratio[2] >= 1,
             "attribute pooling_ratio is {} for rows and {} for columns, want 1 or more", ratio[1], ratio[2]);
  const auto windows = [&](int d) {
    return static_cast<int64_t>(std::floor(static_cast<float>(x->dims[d]) / ratio[static_cast<size_t>(d)]));
  };
  const int64_t rows = windows(1), columns = windows(2);
  op.require(rows > 0 && columns > 0, "x is {}: attribute pooling_ratio leaves nothing of it", describe(*x));
  op.result("y", *y, {x->dims[0], rows, columns, x->dims[3]}, x->dtype);
  op.result("row_pooling_sequence", *row_sequence, {rows + 1}, DType::Int64);
  op.result("col_pooling_sequence", *column_sequence, {columns + 1}, DType::Int64);
  if (op.inferring()) return;
  if (seed == 0 && seed2 == 0) seed = ir::fresh_seed();
  std::mt19937_64 random(static_cast<uint64_t>(seed) * 0x9E3779B97F4A7C15ULL + static_cast<uint64_t>(seed2));
  const Dims down = drawn(x->dims[1], rows, pseudo, random), across = drawn(x->dims[2], columns, pseudo, random);
  op.work(x->numel() * 2);
  op.launch([=, from = *x, to = *y, to_rows = *row_sequence, to_columns = *column_sequence] {
    write_all(to_rows, down);
    write_all(to_columns, across);
    if (to.empty()) return;
    const Fraction p{stretches("row_pooling_sequence", down, from.dims[1], overlapping),
                     stretches("col_pooling_sequence", across, from.dims[2], overlapping), from.dims[1], from.dims[2],
                     from.dims[3]};
    ir::visit_numbers(from.dtype, [&]<class T>() { pool<T>(p, mean, from, to); });
  });
}

/// The gradient: of the first largest pixel of each window, or in equal shares to all.
template <class T>
void backward(const Fraction& p, const TensorView* image, const TensorView& grad, const TensorView& to) {
  ScratchScope scratch;
  const T* x = image ? linalg::dense_copy<T>(*image, scratch) : nullptr;
  const T* dy = linalg::dense_copy<T>(grad, scratch);
  const linalg::Result<T> made(to, scratch);
  std::fill_n(made.data, to.numel(), T(0));
  const int64_t rows = grad.dims[1], columns = grad.dims[2], size = p.height * p.width * p.channels;
  ir::each_part(to.dims[0], p.channels, [&](int64_t n, int64_t first, int64_t end) {
    for (int64_t point = 0; point < rows * columns; ++point) {
      const T* g = dy + (n * rows * columns + point) * p.channels;
      T* out = made.data + n * size;
      if (!x) {
        int64_t count = 0;
        each_pixel(p, point / columns, point % columns, [&](int64_t) { ++count; });
        each_pixel(p, point / columns, point % columns, [&](int64_t at) {
          for (int64_t c = first; c < end; ++c) out[at + c] += g[c] / static_cast<T>(count);
        });
        continue;
      }
      for (int64_t c = first; c < end; ++c) {
        int64_t best = -1;
        each_pixel(p, point / columns, point % columns, [&](int64_t at) {
          if (best < 0 || x[n * size + at + c] > x[n * size + best + c]) best = at;
        });
        out[best + c] += g[c];
      }
    }
  });
  made.give();
}

void plan_backward(Op& op, const TensorView* image, const In& grad, const In& row_sequence, const In& column_sequence,
                   bool overlapping, const Out& y) {
  op.require(grad->rank == 4 && y->rank == 4 && grad->dims[0] == y->dims[0] && grad->dims[3] == y->dims[3],
             "out_backprop is {} and y {}, want [N, H, W, C] with the same N and C", describe(*grad), describe(*y));
  op.require(row_sequence->rank == 1 && row_sequence->dims[0] == grad->dims[1] + 1 && column_sequence->rank == 1 &&
                 column_sequence->dims[0] == grad->dims[2] + 1,
             "row_pooling_sequence is {} and col_pooling_sequence {}, want one more than rows and columns of {}",
             describe(*row_sequence), describe(*column_sequence), describe(*grad));
  if (op.inferring() || y->empty()) return;
  op.work(y->numel() * 4);
  op.launch([=, has_image = image != nullptr, x = image ? *image : TensorView(), g = *grad, to = *y,
             down = *row_sequence, across = *column_sequence] {
    const Fraction p{stretches("row_pooling_sequence", integers_of(down), to.dims[1], overlapping),
                     stretches("col_pooling_sequence", integers_of(across), to.dims[2], overlapping), to.dims[1],
                     to.dims[2], to.dims[3]};
    if (!has_image && is_integral(to.dtype)) return backward<double>(p, nullptr, g, to);  // shares have fractions
    ir::visit_numbers(to.dtype, [&]<class T>() { backward<T>(p, has_image ? &x : nullptr, g, to); });
  });
}

}  // namespace

ABOUT(FractionalMaxPool, AICPU, "Largest of windows of two sizes in a random order, and where they begin",
      "按随机排列的两种窗口长度做最大池化，并给出窗口起点")
IR_OP(FractionalMaxPool, FractionalMaxPool, (In, x), (Out, y), (Out, row_pooling_sequence), (Out, col_pooling_sequence),
      (Floats, pooling_ratio, nullptr), (Bool, pseudo_random, false), (Bool, overlapping, false),
      (Bool, deterministic, false), (Int, seed, 0), (Int, seed2, 0)) {
  (void)deterministic;  // each call has windows of its own, by its seeds
  plan_pool(op, false, x, pooling_ratio, pseudo_random, overlapping, seed, seed2, y, row_pooling_sequence,
            col_pooling_sequence);
}
ABOUT(FractionalAvgPool, AICPU, "Means of windows of two sizes in a random order, and where they begin",
      "按随机排列的两种窗口长度做平均池化，并给出窗口起点")
IR_OP(FractionalAvgPool, FractionalAvgPool, (In, x), (Out, y), (Out, row_pooling_sequence), (Out, col_pooling_sequence),
      (Floats, pooling_ratio, nullptr), (Bool, pseudo_random, false), (Bool, overlapping, false),
      (Bool, deterministic, false), (Int, seed, 0), (Int, seed2, 0)) {
  (void)deterministic;
  plan_pool(op, true, x, pooling_ratio, pseudo_random, overlapping, seed, seed2, y, row_pooling_sequence,
            col_pooling_sequence);
}
ABOUT(FractionalMaxPoolGrad, AICPU, "Gradient of FractionalMaxPool", "FractionalMaxPool 的反向梯度")
IR_OP(FractionalMaxPoolGrad, FractionalMaxPoolGrad, (In, orig_input), (In, orig_output), (In, out_backprop),
      (In, row_pooling_sequence), (In, col_pooling_sequence), (Out, y), (Bool, overlapping, false)) {
  op.require_same_shape("orig_output", *orig_output, "out_backprop", *out_backprop);
  op.result_like("y", *y, *orig_input, orig_input->dtype);
  plan_backward(op, &*orig_input, out_backprop, row_pooling_sequence, col_pooling_sequence, overlapping, y);
}
ABOUT(FractionalAvgPoolGrad, AICPU, "Gradient of FractionalAvgPool", "FractionalAvgPool 的反向梯度")
IR_OP(FractionalAvgPoolGrad, FractionalAvgPoolGrad, (In, orig_input_tensor_shape), (In, out_backprop),
      (In, row_pooling_sequence), (In, col_pooling_sequence), (Out, y), (Bool, overlapping, false)) {
  ir::result(op, "y", *y, ir::shape_from(op, "orig_input_tensor_shape", orig_input_tensor_shape, *y),
             out_backprop->dtype);
  plan_backward(op, nullptr, out_backprop, row_pooling_sequence, col_pooling_sequence, overlapping, y);
}

}  // namespace updraft
