#include "kernels/channels.h"

#include <algorithm>
#include <vector>

#include "base/scratch.h"
#include "kernels/pipeline.h"
#include "kernels/rows/activation.h"
#include "kernels/rows/arithmetic.h"
#include "kernels/table.h"
#include "tensor/real_types.h"
#include "tensor/view_algebra.h"

namespace updraft {
namespace {

constexpr int64_t kChunk = 1 << 16;  // elements of a channel in one piece of work when there are few channels
constexpr int64_t kGrain = 1 << 14;

// N operands of one shape, channel by channel: each channel is a strided set of segments.
template <int N>
struct Channels {
  TensorView all[N], rest[N];
  Compute compute;
  int c;
  int64_t width, count, elements;  ///< bytes of a computed element, channels, elements of a channel
  LoadFn load[N];
  StoreFn store[N];
  bool direct;  ///< long runs of the computed type: no copies

  static StridedLoop<N> loop_of(TensorView (&rest)[N]) {
    const TensorView* p[N];
    for (int k = 0; k < N; ++k) p[k] = &rest[k];
    return StridedLoop<N>(p);
  }
  StridedLoop<N> loop;

  Channels(const TensorView* const (&views)[N], Compute computed)
      : compute(computed),
        c(static_cast<int>(computed)),
        width(static_cast<int64_t>(size_of(computed))),
        count(views[0]->size(1)),
        loop((prepare(views), loop_of(rest))) {
    elements = rest[0].numel();
    direct = loop.dims[loop.rank - 1] >= 256;
    for (int k = 0; k < N; ++k)
      direct = direct && all[k].dtype == storage_of(compute) && loop.strides[k][loop.rank - 1] == 1;
  }
  void prepare(const TensorView* const (&views)[N]) {
    for (int k = 0; k < N; ++k) {
      all[k] = *views[k];
      rest[k] = *views[k];
      rest[k].dims[1] = 1;
      load[k] = kernels().load[static_cast<int>(all[k].dtype)][c];
      store[k] = kernels().store[c][static_cast<int>(all[k].dtype)];
    }
  }
  char* at(int k, int64_t channel, int64_t offset) const {
    return all[k].template as<char>() +
           (channel * all[k].strides[1] + offset) * static_cast<int64_t>(size_of(all[k].dtype));
  }
  template <class F>
  void each(int64_t channel, int64_t begin, int64_t end, F&& f) const {
    loop.rows(begin, end, [&](const int64_t(&offset)[N], int64_t linear, int64_t n) {
      void* p[N];
      for (int k = 0; k < N; ++k) p[k] = at(k, channel, offset[k]);
      f(p, linear, n);
    });
  }
  void gather(int k, int64_t channel, int64_t begin, int64_t end, void* to) const {
    each(channel, begin, end, [&](void** p, int64_t linear, int64_t n) {
      load[k](static_cast<char*>(to) + (linear - begin) * width, p[k], loop.strides[k][loop.rank - 1], n);
    });
  }
  void scatter(int k, int64_t channel, int64_t begin, int64_t end, const void* from) const {
    each(channel, begin, end, [&](void** p, int64_t linear, int64_t n) {
      store[k](p[k], loop.strides[k][loop.rank - 1], static_cast<const char*>(from) + (linear - begin) * width, n);
    });
  }
};

// Rows of adjacent channels (channels-last tensors and matrices).
bool channels_last(const TensorView& v) {
  if (v.rank < 2 || v.dims[1] < 8 || v.strides[1] != 1) return false;
  int64_t expected = v.dims[1];
  for (int d = v.rank - 1; d >= 0; --d) {
    if (d == 1 || v.dims[d] == 1) continue;
    if (v.strides[d] != expected) return false;
    expected *= v.dims[d];
  }
  return true;
}

// Blocks of rows of such a tensor, converted when need be.
struct Rows {
  const TensorView& v;
  Compute compute;
  int64_t cols, rows, chunk;  ///< rows in a piece of work
  bool native;

  Rows(const TensorView& view, Compute c)
      : v(view),
        compute(c),
        cols(view.dims[1]),
        rows(view.numel() / view.dims[1]),
        chunk(std::max<int64_t>(1, kChunk / view.dims[1])),
        native(view.dtype == storage_of(c)) {}
  int64_t chunks() const { return (rows + chunk - 1) / chunk; }
  int64_t block() const { return native ? rows : std::max<int64_t>(1, 4096 / cols); }
  char* at(int64_t row) const { return v.as<char>() + row * cols * static_cast<int64_t>(size_of(v.dtype)); }
  const void* read(int64_t row, int64_t n, void* buffer) const {
    if (native) return at(row);
    kernels().load[static_cast<int>(v.dtype)][static_cast<int>(compute)](buffer, at(row), 1, n * cols);
    return buffer;
  }
  void write(int64_t row, int64_t n, const void* buffer) const {
    if (!native) kernels().store[static_cast<int>(compute)][static_cast<int>(v.dtype)](at(row), 1, buffer, n * cols);
  }
};

// Values of each channel in the computed type.
struct Columns {
  Compute compute;
  std::vector<double> data;
  Columns(Compute c, int64_t n) : compute(c), data(static_cast<size_t>(n)) {}
  void set(int64_t i, double v) {
    if (compute == Compute::F64) data[static_cast<size_t>(i)] = v;
    else reinterpret_cast<float*>(data.data())[i] = static_cast<float>(v);
  }
  const void* get() const { return data.data(); }
};

// Operands of a batch norm may lie differently (channels-last in, plain out). A channel of a tensor whose neighbours in
// memory are other channels is slow to collect: such a tensor is turned over once.
TensorView settle(const TensorView& v, ScratchScope& scratch) {
  bool unit = v.rank == 2;
  for (int d = 0; d < v.rank; ++d) unit = unit || (d != 1 && v.dims[d] > 1 && v.strides[d] == 1);
  if (unit || v.dims[1] < 4 || v.empty()) return v;
  return gather_to(scratch.take(v.bytes()), v.dtype, v);
}

// Two sums for each column: add(first row, last row, sums) over pieces of the rows, added up in order.
template <class F>
std::vector<double> sum_columns(const Rows& in, F&& add) {
  const int64_t C = in.cols, chunks = in.chunks();
  std::vector<double> totals(static_cast<size_t>(std::max<int64_t>(chunks, 1) * 2 * C));
  parallel_for(chunks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end; ++k)
      add(k * in.chunk, std::min(in.rows, (k + 1) * in.chunk), totals.data() + k * 2 * C);
  });
  for (int64_t k = 1; k < chunks; ++k)
    for (int64_t i = 0; i < 2 * C; ++i) totals[static_cast<size_t>(i)] += totals[static_cast<size_t>(k * 2 * C + i)];
  return totals;
}

// Each channel is measured, finished (which makes its map of the statistics) and applied; a few long ones in pieces.
template <int kStats, int kMap, int N, class Measure, class Merge, class Finish, class Apply>
void by_channel(const Channels<N>& ch, int64_t buffers, bool measured, bool applied, Measure&& measure, Merge&& merge,
                Finish&& finish, Apply&& apply) {
  const int64_t n = ch.elements;
  const int64_t chunks = ch.count < 8 && n > 2 * kChunk ? (n + kChunk - 1) / kChunk : 1;
  const size_t bytes = ch.direct ? 0 : static_cast<size_t>(buffers * (chunks == 1 ? n : kChunk) * ch.width);
  if (chunks == 1) {
    parallel_for(ch.count, std::max<int64_t>(1, kGrain / std::max<int64_t>(n, 1)), [&](int64_t begin, int64_t end) {
      ScratchScope scratch;
      char* buffer = scratch.take<char>(bytes);
      for (int64_t i = begin; i < end; ++i) {
        double stats[kStats] = {}, map[kMap] = {1};
        if (measured) measure(i, 0, n, buffer, stats);
        finish(i, stats, map);
        if (applied) apply(i, 0, n, buffer, measured, map);
      }
    });
    return;
  }
  std::vector<double> stats(static_cast<size_t>(ch.count * chunks * kStats)),
      maps(static_cast<size_t>(ch.count * kMap));
  auto pieces = [&](auto&& f) {
    parallel_for(ch.count * chunks, 1, [&](int64_t begin, int64_t end) {
      ScratchScope scratch;
      char* buffer = scratch.take<char>(bytes);
      for (int64_t t = begin; t < end; ++t) {
        const int64_t from = t % chunks * kChunk;
        f(t, t / chunks, from, std::min(n, from + kChunk), buffer);
      }
    });
  };
  if (measured)
    pieces([&](int64_t t, int64_t channel, int64_t begin, int64_t end, char* buffer) {
      measure(channel, begin, end, buffer, stats.data() + kStats * t);
    });
  for (int64_t i = 0; i < ch.count; ++i) {
    double *total = stats.data() + kStats * i * chunks, *map = maps.data() + kMap * i;
    for (int64_t k = 1; k < chunks; ++k) merge(total, total + kStats * k);
    map[0] = 1;
    finish(i, total, map);
  }
  if (applied)
    pieces([&](int64_t, int64_t channel, int64_t begin, int64_t end, char* buffer) {
      apply(channel, begin, end, buffer, false, maps.data() + kMap * channel);
    });
}

// out = relu(out + add), of whole tensors or of parts of them that lie alike.
void follow(const TensorView& out, const TensorView* add, bool relu) {
  const Compute c = compute_of(out.dtype);
  Params p;
  p.set(0, int64_t{1});
  if (add) run_elementwise(elementwise_kernel(relu ? ew::add_relu : ew::add, c), c, {out, *add}, {out}, p);
  else run_elementwise(elementwise_kernel(ew::relu, c), c, {out}, {out}, p);
}

// Rows whose results are still in the core's cache when the tail reads them.
constexpr int64_t kTailBlock = 1 << 14;  // elements

void forward_rows(const TensorView& x, const TensorView* out, bool stats,
                  FunctionRef<void(int64_t, const double*, double&, double&)> finish, const ChannelTail& tail) {
  const Compute compute = real_compute(x.dtype);
  const int c = static_cast<int>(compute);
  const Rows in(x, compute);
  const KernelTable& table = kernels();
  const int64_t C = in.cols;
  const size_t row_bytes = static_cast<size_t>(C) * size_of(compute);
  std::vector<double> totals;
  Columns first(compute, C);
  std::vector<double> pivot(static_cast<size_t>(C));
  if (stats && in.rows) {
    table.load[static_cast<int>(x.dtype)][c](first.data.data(), x.data, 1, C);
    table.load[static_cast<int>(x.dtype)][static_cast<int>(Compute::F64)](pivot.data(), x.data, 1, C);
    totals = sum_columns(in, [&](int64_t begin, int64_t end, double* sums) {
      const int64_t step = std::min(in.block(), in.chunk);
      ScratchScope scratch;
      void* buffer = in.native ? nullptr : scratch.take(static_cast<size_t>(step) * row_bytes);
      for (int64_t r = begin; r < end; r += step) {
        const int64_t n = std::min(step, end - r);
        table.moments_cols(c, in.read(r, n, buffer), C, n, C, first.get(), sums, sums + C);
      }
    });
  }
  Columns scale(compute, C), shift(compute, C);
  const double n = static_cast<double>(in.rows);
  for (int64_t i = 0; i < C; ++i) {
    double state[3] = {0, 0, 0}, a = 1, b = 0;
    if (!totals.empty()) {
      const double s = totals[static_cast<size_t>(i)], q = totals[static_cast<size_t>(C + i)] - s * (s / n);
      state[0] = n;
      state[1] = pivot[static_cast<size_t>(i)] + s / n;
      state[2] = q < 0 ? 0 : q;
    }
    finish(i, state, a, b);
    scale.set(i, a);
    shift.set(i, b);
  }
  if (!out) return;
  const Rows to(*out, compute);
  const auto part = [&](const TensorView& v, int64_t row, int64_t n) {
    const int64_t elements = n * C;
    return TensorView::contiguous(v.as<char>() + row * C * static_cast<int64_t>(size_of(v.dtype)), v.dtype, &elements,
                                  1);
  };
  const bool follows = tail.add || tail.relu;
  parallel_for(in.rows, std::max<int64_t>(1, kGrain / C), [&](int64_t begin, int64_t end) {
    const int64_t most = !(in.native && to.native) ? 4096 / C : follows ? kTailBlock / C : end - begin;
    const int64_t step = std::min<int64_t>(end - begin, std::max<int64_t>(1, most));
    ScratchScope scratch;
    char* buffer = scratch.take<char>(static_cast<size_t>(in.native && to.native ? 0 : 2 * step) * row_bytes);
    for (int64_t r = begin; r < end; r += step) {
      const int64_t m = std::min(step, end - r);
      void* result = to.native ? to.at(r) : buffer + static_cast<size_t>(step) * row_bytes;
      table.norm_cols_apply(c, in.read(r, m, buffer), m, C, scale.get(), shift.get(), result);
      to.write(r, m, result);
      if (!follows) continue;
      const TensorView added = tail.add ? part(*tail.add, r, m) : TensorView();
      follow(part(*out, r, m), tail.add ? &added : nullptr, tail.relu);
    }
  });
}

void backward_rows(const TensorView& dy, const TensorView& x, const double* mean, const TensorView* dx, bool need_sums,
                   FunctionRef<void(int64_t, const double*, double*)> finish) {
  const Compute compute = real_compute(x.dtype);
  const int c = static_cast<int>(compute);
  const Rows in(x, compute), grad(dy, compute);
  const KernelTable& table = kernels();
  const int64_t C = in.cols;
  const size_t row_bytes = static_cast<size_t>(C) * size_of(compute);
  const int64_t step = in.native && grad.native ? in.chunk : std::min(in.chunk, std::max<int64_t>(1, 4096 / C));
  std::vector<double> totals;
  if (need_sums) {
    Columns center(compute, C);
    for (int64_t i = 0; i < C; ++i) center.set(i, mean[i]);
    totals = sum_columns(in, [&](int64_t begin, int64_t end, double* sums) {
      ScratchScope scratch;
      char* buffer = scratch.take<char>(static_cast<size_t>(in.native && grad.native ? 0 : 2 * step) * row_bytes);
      for (int64_t r = begin; r < end; r += step) {
        const int64_t n = std::min(step, end - r);
        const void* v = in.read(r, n, buffer);
        const void* g = grad.read(r, n, buffer + static_cast<size_t>(step) * row_bytes);
        table.norm_cols_grad_sums(c, g, v, n, C, center.get(), sums, sums + C);
      }
    });
  }
  Columns a(compute, C), b(compute, C), d(compute, C);
  for (int64_t i = 0; i < C; ++i) {
    double sums[2] = {0, 0}, abc[3] = {1, 0, 0};
    if (need_sums) {
      sums[0] = totals[static_cast<size_t>(i)];
      sums[1] = totals[static_cast<size_t>(C + i)];
    }
    finish(i, sums, abc);
    a.set(i, abc[0]);
    b.set(i, abc[1]);
    d.set(i, abc[2]);
  }
  if (!dx) return;
  const Rows to(*dx, compute);
  const bool copies = !(in.native && grad.native && to.native);
  parallel_for(in.rows, std::max<int64_t>(1, kGrain / C), [&](int64_t begin, int64_t end) {
    const int64_t some = copies ? std::max<int64_t>(1, 4096 / C) : end - begin;
    const size_t part = copies ? static_cast<size_t>(some) * row_bytes : 0;
    ScratchScope scratch;
    char* buffer = scratch.take<char>(3 * part);
    for (int64_t r = begin; r < end; r += some) {
      const int64_t m = std::min(some, end - r);
      const void* v = in.read(r, m, buffer);
      const void* g = grad.read(r, m, buffer + part);
      void* result = to.native ? to.at(r) : buffer + 2 * part;
      table.norm_cols_grad_apply(c, g, v, m, C, a.get(), b.get(), d.get(), result);
      to.write(r, m, result);
    }
  });
}

}  // namespace

void merge_stats(double* into, const double* from) {
  if (from[0] == 0) return;
  const double total = into[0] + from[0], delta = from[1] - into[1];
  into[1] += delta * from[0] / total;
  into[2] += from[2] + delta * delta * into[0] * from[0] / total;
  into[0] = total;
}

void channel_forward(const TensorView& x, const TensorView* out, bool stats,
                     FunctionRef<void(int64_t, const double*, double&, double&)> finish, const ChannelTail& tail) {
  if (channels_last(x) && (!out || channels_last(*out)) && (!tail.add || channels_last(*tail.add)))
    return forward_rows(x, out, stats, finish, tail);
  const KernelTable& table = kernels();
  ScratchScope scratch;
  const TensorView from = settle(x, scratch);
  const TensorView* views[] = {&from, out ? out : &from};
  const Channels<2> ch(views, real_compute(x.dtype));
  const int c = ch.c;
  auto measure = [&](int64_t channel, int64_t begin, int64_t end, char* buffer, double* state) {
    if (ch.direct) {
      ch.each(channel, begin, end, [&](void** p, int64_t, int64_t n) { table.norm_stats(c, p[0], n, state); });
    } else {
      ch.gather(0, channel, begin, end, buffer);
      table.norm_stats(c, buffer, end - begin, state);
    }
  };
  auto apply = [&](int64_t channel, int64_t begin, int64_t end, char* buffer, bool filled, const double* map) {
    if (ch.direct) {
      ch.each(channel, begin, end,
              [&](void** p, int64_t, int64_t n) { table.norm_scale_shift(c, p[0], n, map[0], map[1], p[1]); });
    } else {
      if (!filled) ch.gather(0, channel, begin, end, buffer);
      table.norm_scale_shift(c, buffer, end - begin, map[0], map[1], buffer);
      ch.scatter(1, channel, begin, end, buffer);
    }
  };
  by_channel<3, 2>(
      ch, 1, stats, out != nullptr, measure, merge_stats,
      [&](int64_t i, const double* state, double* map) { finish(i, state, map[0], map[1]); }, apply);
  if (out && (tail.add || tail.relu)) follow(*out, tail.add, tail.relu);
}

void channel_backward(const TensorView& dy, const TensorView& x, const double* mean, const TensorView* dx,
                      bool need_sums, FunctionRef<void(int64_t, const double*, double*)> finish) {
  if (channels_last(x) && channels_last(dy) && (!dx || channels_last(*dx)))
    return backward_rows(dy, x, mean, dx, need_sums, finish);
  const KernelTable& table = kernels();
  ScratchScope scratch;
  const TensorView from = settle(x, scratch), grad = settle(dy, scratch);
  const TensorView* views[] = {&from, &grad, dx ? dx : &from};
  const Channels<3> ch(views, real_compute(x.dtype));
  const int c = ch.c;
  auto measure = [&](int64_t channel, int64_t begin, int64_t end, char* buffer, double* sums) {
    const double m = mean[channel];
    if (ch.direct) {
      ch.each(channel, begin, end,
              [&](void** p, int64_t, int64_t k) { table.norm_grad_sums(c, p[1], p[0], k, m, sums); });
    } else {
      char* second = buffer + (end - begin) * ch.width;
      ch.gather(0, channel, begin, end, buffer);
      ch.gather(1, channel, begin, end, second);
      table.norm_grad_sums(c, second, buffer, end - begin, m, sums);
    }
  };
  auto apply = [&](int64_t channel, int64_t begin, int64_t end, char* buffer, bool filled, const double* abc) {
    if (ch.direct) {
      ch.each(channel, begin, end, [&](void** p, int64_t, int64_t k) {
        table.norm_grad_apply(c, p[1], p[0], k, abc[0], abc[1], abc[2], p[2]);
      });
    } else {
      char* second = buffer + (end - begin) * ch.width;
      if (!filled) {
        ch.gather(0, channel, begin, end, buffer);
        ch.gather(1, channel, begin, end, second);
      }
      table.norm_grad_apply(c, second, buffer, end - begin, abc[0], abc[1], abc[2], buffer);
      ch.scatter(2, channel, begin, end, buffer);
    }
  };
  auto merge = [](double* into, const double* from) {
    into[0] += from[0];
    into[1] += from[1];
  };
  by_channel<2, 3>(ch, 2, need_sums, dx != nullptr, measure, merge, finish, apply);
}

void bias_gradient(const TensorView& grad_out, const TensorView& grad_bias) {
  const int64_t channels = grad_out.dims[1], batch = grad_out.dims[0];
  const TensorView image = last_dims(grad_out, grad_out.rank - 2);  // one channel of one image
  const int64_t size = image.numel();
  const bool flat = image.is_contiguous();
  const Compute compute = compute_of(grad_out.dtype);
  auto sum = [&]<class T, class Wide>() {
    ScratchScope scratch;
    T* all = scratch.take<T>(static_cast<size_t>(channels));
    const LoadFn load = kernels().load[static_cast<int>(grad_out.dtype)][static_cast<int>(compute)];
    parallel_for(
        channels, std::max<int64_t>(1, 16384 / std::max<int64_t>(1, size * batch)), [&](int64_t begin, int64_t end) {
          constexpr int64_t kBlock = 1024, kLanes = 32;
          T buffer[kBlock];
          for (int64_t c = begin; c < end; ++c) {
            Wide total(0);
            for (int64_t n = 0; n < batch; ++n) {
              const char* at = at_element(grad_out, n * grad_out.strides[0] + c * grad_out.strides[1]);
              TensorView plane = image;
              plane.data = const_cast<char*>(at);
              const TensorView* views[] = {&plane};
              const StridedLoop<1> loop(views);
              auto run = [&](const char* from, int64_t stride, int64_t count) {
                for (int64_t i = 0; i < count; i += kBlock) {
                  const int64_t m = std::min(kBlock, count - i);
                  const T* x = buffer;
                  const char* block = from + i * stride * static_cast<int64_t>(size_of(grad_out.dtype));
                  if (stride == 1 && size_of(grad_out.dtype) == sizeof(T) && grad_out.dtype == storage_of(compute))
                    x = reinterpret_cast<const T*>(block);
                  else load(buffer, block, stride, m);
                  T lanes[kLanes] = {};
                  int64_t j = 0;
                  for (; j + kLanes <= m; j += kLanes)
                    for (int64_t k = 0; k < kLanes; ++k) lanes[k] += x[j + k];
                  for (; j < m; ++j) lanes[j % kLanes] += x[j];
                  for (int64_t width = kLanes / 2; width > 0; width /= 2)
                    for (int64_t k = 0; k < width; ++k) lanes[k] += lanes[k + width];
                  total += lanes[0];
                }
              };
              if (flat) run(at, 1, size);
              else
                loop.rows(0, size, [&](const int64_t(&offset)[1], int64_t, int64_t count) {
                  run(at + offset[0] * static_cast<int64_t>(size_of(grad_out.dtype)), loop.strides[0][loop.rank - 1],
                      count);
                });
            }
            all[c] = static_cast<T>(total);
          }
        });
    copy_elements(grad_bias, TensorView::contiguous(all, storage_of(compute), &channels, 1));
  };
  switch (compute) {
    case Compute::F32: sum.template operator()<float, double>(); break;
    case Compute::F64: sum.template operator()<double, double>(); break;
    case Compute::I64: sum.template operator()<int64_t, int64_t>(); break;
    case Compute::C64: sum.template operator()<complex64, complex64>(); break;
    default: sum.template operator()<complex128, complex128>(); break;
  }
}

}  // namespace updraft
