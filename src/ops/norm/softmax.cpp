// Softmax and log-softmax with their gradients.
#include <algorithm>
#include <cstring>
#include <vector>

#include "base/scratch.h"
#include "kernels/pipeline.h"
#include "kernels/table.h"
#include "ops/op.h"
#include "tensor/real_types.h"

namespace updraft {
namespace {

// One slice along `dim` is independent of all others: slices are rows when the dimension is the innermost in memory,
// columns of a tile otherwise.
struct Slices {
  TensorView kept[3];  ///< operands without the dimension
  int64_t n;
  int64_t step[3];
  int64_t outputs;
};

Slices slices(int dim, std::initializer_list<TensorView> views) {
  Slices s;
  int k = 0;
  for (const TensorView& v : views) {
    s.kept[k] = v;
    s.step[k] = v.stride(dim);
    if (v.rank) s.kept[k].dims[dim] = 1;
    ++k;
  }
  s.n = views.begin()->size(dim);
  s.outputs = s.kept[0].numel();
  return s;
}

/// Shorter rows of floats are turned, so that the lanes of a vector are rows: those with exponentials, and the others.
constexpr int64_t kShortRow = 64, kShortSum = 17;

int64_t bytes_of(const TensorView& v) { return static_cast<int64_t>(size_of(v.dtype)); }

// views: inputs, then the output. row(buffers) and tile(buffers, cols) work on the compute type, in place of the first.
// With as_they_lie row() takes the views' own types: the elements along `dim` lie side by side in all of them. Rows of
// less than `turn_below` floats are tile()'s, too.
template <int N, class Row, class Tile>
void run(const TensorView (&views)[N], int dim, Compute compute, int64_t turn_below, Row&& row, Tile&& tile,
         bool as_they_lie = false) {
  Slices s = N == 2 ? slices(dim, {views[0], views[N - 1]}) : slices(dim, {views[0], views[1], views[N - 1]});
  const KernelTable& table = kernels();
  const int c = static_cast<int>(compute);
  const int64_t width = static_cast<int64_t>(size_of(compute)), n = s.n;
  const TensorView* all[N];
  for (int k = 0; k < N; ++k) all[k] = &s.kept[k];
  const StridedLoop<N> walk(all);
  const int inner = walk.rank - 1;
  if (s.outputs == 0 || n == 0) return;
  const bool rows = s.step[0] == 1 || walk.dims[inner] < 4 ||
                    (std::abs(walk.strides[0][inner]) != 1 && std::abs(s.step[0]) < std::abs(walk.strides[0][inner]));
  LoadFn load[N];
  bool direct[N];
  for (int k = 0; k < N; ++k) {
    load[k] = table.load[static_cast<int>(views[k].dtype)][c];
    direct[k] = as_they_lie || (views[k].dtype == storage_of(compute) && s.step[k] == 1);
  }
  const StoreFn store = table.store[c][static_cast<int>(views[N - 1].dtype)];
  if (rows) {
    // Rows that follow one another are converted several at a time.
    bool dense = true;
    for (int k = 0; k < N; ++k) dense = dense && (direct[k] || (s.step[k] == 1 && walk.strides[k][inner] == n));
    const bool turned = compute == Compute::F32 && !as_they_lie && n < turn_below && dense;
    // Turned rows fill whole vectors: a row gives the same bits among others and alone.
    constexpr int64_t kLanes = 64;
    const int64_t fit = (1 << 11) / n;
    const int64_t group = turned ? std::max(kLanes, fit / kLanes * kLanes) : dense ? std::max<int64_t>(1, fit) : 1;
    parallel_for(s.outputs, std::max<int64_t>(1, (1 << 13) / n), [&](int64_t begin, int64_t end) {
      ScratchScope scratch;
      const int64_t bytes = group * n * width;
      char* const space = scratch.take<char>(static_cast<size_t>((turned ? 2 * N - 1 : N) * bytes));
      char* const square = space + N * bytes;
      walk.rows(begin, end, [&](const int64_t(&at)[N], int64_t, int64_t m) {
        for (int64_t i = 0; i < m; i += group) {
          const int64_t some = std::min(group, m - i);
          char *lies[N], *operand[N];
          int64_t next[N];
          for (int k = 0; k < N; ++k) {
            lies[k] = views[k].template as<char>() + (at[k] + i * walk.strides[k][inner]) * bytes_of(views[k]);
            operand[k] = direct[k] ? lies[k] : space + k * bytes;
            next[k] = direct[k] ? walk.strides[k][inner] * bytes_of(views[k]) : n * width;
            if (!direct[k] && k < N - 1) load[k](operand[k], lies[k], s.step[k], some * n);
          }
          if (turned) {
            const int64_t across = (some + kLanes - 1) / kLanes * kLanes;
            if (across != some) std::memset(square, 0, static_cast<size_t>((N - 1) * bytes));
            for (int k = 0; k < N - 1; ++k)
              table.transpose_2d(square + k * n * across * width, across, operand[k], next[k] / width, some, n, width);
            tile(square, square + n * across * width, across);
            table.transpose_2d(operand[N - 1], next[N - 1] / width, square, across, n, some, width);
          } else {
            for (int64_t r = 0; r < some; ++r) {
              void* one[N];
              for (int k = 0; k < N; ++k) one[k] = operand[k] + r * next[k];
              row(one);
            }
          }
          if (!direct[N - 1]) store(lies[N - 1], s.step[N - 1], operand[N - 1], some * n);
        }
      });
    });
    return;
  }
  // Tiles of n rows that fit the second-level cache, at least 16 columns wide.
  const int64_t cols = std::min<int64_t>(walk.dims[inner], std::max<int64_t>(16, (1 << 16) / n / 16 * 16));
  const int64_t parts = (walk.dims[inner] + cols - 1) / cols, lines = s.outputs / walk.dims[inner];
  parallel_for(lines * parts, std::max<int64_t>(1, (1 << 13) / (n * cols)), [&](int64_t begin, int64_t end) {
    ScratchScope scratch;
    char* space = scratch.take<char>(static_cast<size_t>((N - 1) * n * cols * width));
    for (int64_t t = begin; t < end; ++t) {
      const int64_t from = t % parts * cols, m = std::min(cols, walk.dims[inner] - from);
      walk.rows(t / parts * walk.dims[inner] + from, t / parts * walk.dims[inner] + from + m,
                [&](const int64_t(&at)[N], int64_t, int64_t some) {
                  for (int k = 0; k < N - 1; ++k)
                    for (int64_t r = 0; r < n; ++r)
                      load[k](space + (k * n * some + r * some) * width,
                              views[k].template as<char>() + (at[k] + r * s.step[k]) * bytes_of(views[k]),
                              walk.strides[k][inner], some);
                  tile(space, space + n * some * width, some);
                  for (int64_t r = 0; r < n; ++r)
                    store(views[N - 1].template as<char>() + (at[N - 1] + r * s.step[N - 1]) * bytes_of(views[N - 1]),
                          walk.strides[N - 1][inner], space + r * some * width, some);
                });
    }
  });
}

void plan_forward(Op& op, bool log, const TensorView& self, int64_t dim, const TensorView& out) {
  op.result_like("out", out, self, is_floating(self.dtype) ? self.dtype : DType::Float);
  op.require(is_floating(out.dtype), "out is {}, want floating point", describe(out));
  const int d = self.wrap_dim(dim);
  if (out.empty()) return;
  op.work(self.numel() * 12);
  op.launch([=] {
    const Compute compute = real_compute(self.dtype, out.dtype);
    const int c = static_cast<int>(compute);
    const int64_t n = self.size(d);
    const KernelTable& table = kernels();
    run<2>(
        {self, out}, d, compute, kShortRow, [&](void** x) { table.softmax_row(c, log, x[0], n, x[1]); },
        [&](void* tile, void*, int64_t cols) { table.softmax_tile(c, log, tile, n, cols); });
  });
}

void plan_backward(Op& op, bool log, const TensorView& grad, const TensorView& output, int64_t dim,
                   const TensorView& out) {
  op.result_like("out", out, grad, grad.dtype);
  op.require(is_floating(out.dtype), "out is {}, want floating point", describe(out));
  op.require_same_shape("gradOutput", grad, "output", output);
  const int d = grad.wrap_dim(dim);
  if (out.empty()) return;
  op.work(grad.numel() * 8);
  op.launch([=] {
    const Compute compute = real_compute(grad.dtype, output.dtype);
    const int c = static_cast<int>(compute);
    const int64_t n = grad.size(d);
    const KernelTable& table = kernels();
    const TensorView* all[] = {&grad, &output, &out};
    const bool halves = !log && n >= kShortRow && (out.dtype == DType::Float16 || out.dtype == DType::BFloat16) &&
                        std::ranges::all_of(all, [&](const TensorView* v) {
                          return v->dtype == out.dtype && v->rank > 0 && v->stride(d) == 1;
                        });
    if (halves) {
      const bool bf16 = out.dtype == DType::BFloat16;
      return run<3>(
          {grad, output, out}, d, compute, 0,
          [&](void** x) { table.softmax_backward_half_row(bf16, x[0], x[1], n, x[2]); }, [](void*, void*, int64_t) {},
          true);
    }
    run<3>(
        {grad, output, out}, d, compute, log ? kShortRow : kShortSum,
        [&](void** x) { table.softmax_backward_row(c, log, x[0], x[1], n, x[2]); },
        [&](void* dy, void* y, int64_t cols) { table.softmax_backward_tile(c, log, dy, y, n, cols); });
  });
}

}  // namespace

CARD(aclnnSoftmax, kFloats | kF64)
ABOUT(aclnnSoftmax, Vector, "out = exp(self) / sum of exp(self) along dim",
      "out = exp(self) / sum(exp(self))，沿 dim 计算")
ACLNN(aclnnSoftmax, (In, self), (Int, dim), (Out, out)) { plan_forward(op, false, *self, dim, *out); }
ABOUT(aclnnLogSoftmax, Vector, "out = self - log(sum of exp(self)) along dim",
      "out = self - ln(sum(exp(self)))，沿 dim 计算")
ACLNN(aclnnLogSoftmax, (In, self), (Int, dim), (Out, out)) { plan_forward(op, true, *self, dim, *out); }
ABOUT(aclnnSoftmaxBackward, Vector, "gradInput = output * (gradOutput - sum(gradOutput * output)) along dim",
      "gradInput = output * (gradOutput - sum(gradOutput * output))，沿 dim 计算")
ACLNN(aclnnSoftmaxBackward, (In, gradOutput), (In, output), (Int, dim), (Out, gradInput)) {
  plan_backward(op, false, *gradOutput, *output, dim, *gradInput);
}
ABOUT(aclnnLogSoftmaxBackward, Vector, "out = gradOutput - exp(output) * sum(gradOutput) along dim",
      "out = gradOutput - exp(output) * sum(gradOutput)，沿 dim 计算")
ACLNN(aclnnLogSoftmaxBackward, (In, gradOutput), (In, output), (Int, dim), (Out, out)) {
  plan_backward(op, true, *gradOutput, *output, dim, *out);
}

}  // namespace updraft
