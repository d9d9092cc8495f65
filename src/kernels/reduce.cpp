#include "kernels/reduce.h"

#include <bit>
#include <cstring>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "kernels/short_rows.h"
#include "kernels/table.h"
#include "tensor/real_types.h"

namespace updraft {

#define LEVEL_TYPE ShortRows
#define LEVEL_TABLE short_rows_table
#include "kernels/level_table.inc"

const ShortRows& short_row_kernels() { return level_table(); }

namespace {

constexpr int64_t kCols = 512;       // outputs that are reduced side by side
constexpr int64_t kBlock = 1024;     // elements converted at a time
constexpr int64_t kChunk = 1 << 16;  // elements of one output (or block of outputs) in one piece of work
constexpr int64_t kFewTasks = 32;    // fewer pieces than this and long reductions are cut into chunks
constexpr int64_t kGrain = 1 << 15;  // elements worth handing to another thread
constexpr int64_t kShortRow = 512;   // elements of rows that are reduced several at a time

// The dimensions in two groups, each ordered by memory and merged where regular.
struct Plan {
  struct Group {
    int rank = 0;
    int64_t n = 1;
    int64_t dims[kMaxDims];
    int64_t in[kMaxDims], out[kMaxDims], pivot[kMaxDims];
  };
  Group kept, red;
  bool columns = false;  ///< the innermost kept dimension runs along memory: outputs side by side

  Plan(const TensorView& in, DimMask mask, const TensorView& out, const TensorView* pivot) {
    for (int g = 0; g < 2; ++g) {
      Group& group = g ? red : kept;
      int order[kMaxDims], count = 0;
      for (int d = 0; d < in.rank; ++d) {
        if (((mask >> d) & 1) != static_cast<unsigned>(g)) continue;
        group.n *= in.dims[d];
        if (in.dims[d] != 1) order[count++] = d;
      }
      for (int i = 1; i < count; ++i)
        for (int j = i; j > 0 && std::abs(in.strides[order[j]]) > std::abs(in.strides[order[j - 1]]); --j)
          std::swap(order[j], order[j - 1]);
      for (int i = 0; i < count; ++i) {
        const int d = order[i];
        const int64_t o = g ? 0 : out.strides[d], p = g || !pivot ? 0 : pivot->strides[d];
        const int r = group.rank;
        if (r && group.in[r - 1] == in.strides[d] * in.dims[d] && group.out[r - 1] == o * in.dims[d] &&
            group.pivot[r - 1] == p * in.dims[d]) {
          group.dims[r - 1] *= in.dims[d];
        } else {
          group.dims[group.rank++] = in.dims[d];
        }
        group.in[group.rank - 1] = in.strides[d];
        group.out[group.rank - 1] = o;
        group.pivot[group.rank - 1] = p;
      }
      if (group.rank == 0) {
        group.rank = 1;
        group.dims[0] = group.n;
        group.in[0] = group.out[0] = group.pivot[0] = 0;
      }
    }
    const int64_t ks = std::abs(kept.in[kept.rank - 1]), rs = std::abs(red.in[red.rank - 1]);
    const int64_t width = kept.dims[kept.rank - 1];
    if (red.n <= 1) columns = width >= 2;
    else if (ks < rs) columns = width >= 8 || red.n < 8;
    else columns = red.n < 32 && width >= 32;  // short rows: side by side through strided loads
  }
};

// Walks a group's index space; keeps the offsets of the three operands.
struct Odometer {
  const Plan::Group& g;
  int inner;  ///< last dimension that is walked
  int64_t index[kMaxDims];
  int64_t in = 0, out = 0, pivot = 0;

  Odometer(const Plan::Group& group, int dims, int64_t linear) : g(group), inner(dims - 1) {
    for (int d = inner; d >= 0; --d) {
      index[d] = g.dims[d] ? linear % g.dims[d] : 0;
      linear = g.dims[d] ? linear / g.dims[d] : 0;
      in += index[d] * g.in[d];
      out += index[d] * g.out[d];
      pivot += index[d] * g.pivot[d];
    }
  }
  /// n steps along the innermost dimension, at most to its end.
  void step(int64_t n) {
    if (inner < 0) return;
    index[inner] += n;
    in += n * g.in[inner];
    out += n * g.out[inner];
    pivot += n * g.pivot[inner];
    for (int d = inner; d > 0 && index[d] == g.dims[d]; --d) {
      index[d] = 0;
      ++index[d - 1];
      in += g.in[d - 1] - g.dims[d] * g.in[d];
      out += g.out[d - 1] - g.dims[d] * g.out[d];
      pivot += g.pivot[d - 1] - g.dims[d] * g.pivot[d];
    }
  }
  int64_t left() const { return inner < 0 ? 1 : g.dims[inner] - index[inner]; }
};

// What a kind of reduction does with blocks of elements of the compute type.
struct Body {
  Compute compute;
  int states;                                     ///< wide values an output
  size_t width;                                   ///< bytes of a wide value
  bool as_it_lies;                                ///< row and cols take elements of the input's own type
  FunctionRef<void(void* wide, int64_t n)> init;  ///< `states` arrays of n, each kCols apart
  FunctionRef<void(const void* x, int64_t n, const void* pivot, void* wide)> row;
  FunctionRef<void(const void* x, int64_t stride, int64_t rows, int64_t cols, const void* pivot, void* wide)> cols;
  FunctionRef<void(const void* from, int64_t chunks, int64_t stride, int64_t cols, void* wide)> combine;
  FunctionRef<void(void* wide, int64_t n, int64_t out_offset, int64_t out_stride)> finish;
  /// Short rows of `n` elements, each into a wide value; null: one by one, by row.
  const FunctionRef<void(const void* x, int64_t stride, int64_t rows, int64_t n, void* wide)>* short_rows = nullptr;
  bool converted = false;  ///< short_rows takes dense rows of another type, converted
};

void run_rows(const Body& body, const Plan& plan, const TensorView& in, const TensorView* pivot) {
  const KernelTable& table = kernels();
  const int c = static_cast<int>(body.compute);
  const int64_t size = static_cast<int64_t>(size_of(in.dtype));
  const int64_t width = body.as_it_lies ? size : static_cast<int64_t>(size_of(body.compute));
  const bool native = body.as_it_lies || in.dtype == storage_of(body.compute);
  const int64_t O = plan.kept.n, R = plan.red.n;
  const int inner = plan.red.rank - 1;
  const int64_t stride = plan.red.in[inner];
  const LoadFn load = body.as_it_lies ? table.move_in[std::countr_zero(static_cast<uint64_t>(size))]
                                      : table.load[static_cast<int>(in.dtype)][c];
  const LoadFn load_pivot = pivot ? table.load[static_cast<int>(pivot->dtype)][c] : nullptr;

  const bool plain = native && plan.red.rank == 1 && stride == 1;
  const bool brief = body.short_rows && R <= kShortRow && (R >= 16 || (plain && R >= 2));

  auto part = [&](const Odometer& at, int64_t begin, int64_t end, void* wide) {
    alignas(16) char first[16];
    if (load_pivot && end > begin)
      load_pivot(first, pivot->as<char>() + at.pivot * static_cast<int64_t>(size_of(pivot->dtype)), 1, 1);
    const char* base = in.as<char>() + at.in * size;
    if (plain) return body.row(base + begin * size, end - begin, first, wide);
    alignas(64) char buffer[kBlock * 16];
    int64_t filled = 0;
    Odometer r(plan.red, plan.red.rank, begin);
    while (begin < end) {
      int64_t n = std::min(r.left(), end - begin);
      if (!brief && native && stride == 1 && (n >= 64 || n == end - begin) && filled == 0) {
        body.row(base + r.in * size, n, first, wide);
      } else {
        n = std::min(n, kBlock - filled);
        load(buffer + filled * width, base + r.in * size, stride, n);
        filled += n;
        if (filled == kBlock || n == end - begin) {
          if (brief) (*body.short_rows)(buffer, R, 1, R, wide);
          else body.row(buffer, filled, first, wide);
          filled = 0;
        }
      }
      r.step(n);
      begin += n;
    }
  };

  if (O < kFewTasks && R > 2 * kChunk) {
    const int64_t chunks = (R + kChunk - 1) / kChunk;
    const size_t one = body.width * static_cast<size_t>(kCols * body.states);
    // Only the first wide value of each state array is used here: keep them dense.
    std::vector<double> partial(static_cast<size_t>(O * chunks * body.states) * body.width / sizeof(double));
    char* store = reinterpret_cast<char*>(partial.data());
    parallel_for(O * chunks, 1, [&](int64_t begin, int64_t end) {
      std::vector<double> wide(one / sizeof(double));
      for (int64_t t = begin; t < end; ++t) {
        body.init(wide.data(), 1);
        const int64_t from = t % chunks * kChunk;
        part(Odometer(plan.kept, plan.kept.rank, t / chunks), from, std::min(R, from + kChunk), wide.data());
        for (int s = 0; s < body.states; ++s)
          std::memcpy(store + static_cast<size_t>(t * body.states + s) * body.width,
                      reinterpret_cast<char*>(wide.data()) + static_cast<size_t>(s * kCols) * body.width, body.width);
      }
    });
    std::vector<double> wide(one / sizeof(double));
    for (int64_t o = 0; o < O; ++o) {
      body.init(wide.data(), 1);
      for (int s = 0; s < body.states; ++s) {
        char* to = reinterpret_cast<char*>(wide.data()) + static_cast<size_t>(s * kCols) * body.width;
        body.combine(store + static_cast<size_t>(o * chunks * body.states + s) * body.width, chunks, body.states, 1,
                     to);
      }
      Odometer at(plan.kept, plan.kept.rank, o);
      body.finish(wide.data(), 1, at.out, 1);
    }
    return;
  }
  parallel_for(O, std::max<int64_t>(1, kGrain / std::max<int64_t>(R, 16)), [&](int64_t begin, int64_t end) {
    alignas(64) char wide[2 * kCols * 16];
    Odometer at(plan.kept, plan.kept.rank, begin);
    const int last = plan.kept.rank - 1;
    while (begin < end) {
      const int64_t n = std::min({at.left(), end - begin, kCols});
      const int64_t out = at.out;
      body.init(wide, n);
      if (plain && brief) {
        (*body.short_rows)(in.as<char>() + at.in * size, plan.kept.in[last], n, R, wide);
        at.step(n);
        body.finish(wide, n, out, plan.kept.out[last]);
        begin += n;
        continue;
      }
      if (body.converted) {
        alignas(64) char buffer[kBlock * 16];
        const int64_t most = static_cast<int64_t>(sizeof buffer) / width / R;
        for (int64_t i = 0; i < n; i += most) {
          const int64_t some = std::min(most, n - i);
          load(buffer, in.as<char>() + (at.in + i * R) * size, 1, some * R);
          (*body.short_rows)(buffer, R, some, R, wide + static_cast<size_t>(i) * body.width);
        }
        at.step(n);
        body.finish(wide, n, out, plan.kept.out[last]);
        begin += n;
        continue;
      }
      for (int64_t i = 0; i < n; ++i) {
        // A kernel writes state s at wide + s * kCols: the i-th output's view of the block.
        part(at, 0, R, wide + static_cast<size_t>(i) * body.width);
        at.step(1);
      }
      body.finish(wide, n, out, plan.kept.out[last]);
      begin += n;
    }
  });
}

void run_columns(const Body& body, const Plan& plan, const TensorView& in, const TensorView* pivot) {
  const KernelTable& table = kernels();
  const int c = static_cast<int>(body.compute);
  const int64_t size = static_cast<int64_t>(size_of(in.dtype));
  const int64_t width = body.as_it_lies ? size : static_cast<int64_t>(size_of(body.compute));
  const int last = plan.kept.rank - 1;
  const int64_t C = plan.kept.dims[last], R = plan.red.n, outer = plan.kept.n / std::max<int64_t>(C, 1);
  const int64_t stride = plan.kept.in[last];
  const bool direct = (body.as_it_lies || in.dtype == storage_of(body.compute)) && stride == 1;
  const LoadFn load = body.as_it_lies ? table.move_in[std::countr_zero(static_cast<uint64_t>(size))]
                                      : table.load[static_cast<int>(in.dtype)][c];
  const LoadFn load_pivot = pivot ? table.load[static_cast<int>(pivot->dtype)][c] : nullptr;
  const int64_t blocks = (C + kCols - 1) / kCols, tasks = outer * blocks;
  const int64_t block_cols = std::min(C, kCols);
  const bool cut = tasks < kFewTasks && R * block_cols > 2 * kChunk && R > 64;
  const int64_t rows = cut ? std::max<int64_t>(32, kChunk / block_cols) : std::max<int64_t>(R, 1);
  const int64_t chunks = std::max<int64_t>(1, (R + rows - 1) / rows);

  auto part = [&](int64_t task, int64_t begin, int64_t end, void* wide, int64_t& out, int64_t& n) {
    Odometer at(plan.kept, last, task / blocks);
    const int64_t c0 = task % blocks * kCols;
    n = std::min(kCols, C - c0);
    out = at.out + c0 * plan.kept.out[last];
    const int64_t from = at.in + c0 * stride;
    alignas(64) char first[kCols * 16];
    if (load_pivot && end > begin)
      load_pivot(
          first,
          pivot->as<char>() + (at.pivot + c0 * plan.kept.pivot[last]) * static_cast<int64_t>(size_of(pivot->dtype)),
          plan.kept.pivot[last], n);
    body.init(wide, n);
    constexpr int64_t kRows = 16;
    alignas(64) char buffer[kRows * kCols * 16];
    Odometer r(plan.red, plan.red.rank, begin);
    while (begin < end) {
      const char* x = in.as<char>() + (from + r.in) * size;
      const int64_t step = plan.red.in[plan.red.rank - 1];
      if (direct) {
        const int64_t run = std::min(r.left(), end - begin);
        body.cols(x, step, run, n, first, wide);
        r.step(run);
        begin += run;
        continue;
      }
      const int64_t run = std::min({r.left(), end - begin, kRows});
      for (int64_t i = 0; i < run; ++i) load(buffer + i * n * width, x + i * step * size, stride, n);
      body.cols(buffer, n, run, n, first, wide);
      r.step(run);
      begin += run;
    }
  };

  const size_t one = static_cast<size_t>(kCols * body.states) * body.width;
  if (chunks > 1) {
    std::vector<double> partial(static_cast<size_t>(tasks * chunks) * one / sizeof(double));
    char* store = reinterpret_cast<char*>(partial.data());
    parallel_for(tasks * chunks, 1, [&](int64_t begin, int64_t end) {
      int64_t out, n;
      for (int64_t t = begin; t < end; ++t)
        part(t / chunks, t % chunks * rows, std::min(R, (t % chunks + 1) * rows), store + static_cast<size_t>(t) * one,
             out, n);
    });
    alignas(64) char wide[2 * kCols * 16];
    for (int64_t t = 0; t < tasks; ++t) {
      int64_t out, n;
      part(t, 0, 0, wide, out, n);
      for (int s = 0; s < body.states; ++s) {
        const size_t at = static_cast<size_t>(s * kCols) * body.width;
        body.combine(store + static_cast<size_t>(t * chunks) * one + at, chunks, kCols * body.states, n, wide + at);
      }
      body.finish(wide, n, out, plan.kept.out[last]);
    }
    return;
  }
  parallel_for(tasks, std::max<int64_t>(1, kGrain / std::max<int64_t>(R * block_cols, 16)),
               [&](int64_t begin, int64_t end) {
                 alignas(64) char wide[2 * kCols * 16];
                 for (int64_t t = begin; t < end; ++t) {
                   int64_t out, n;
                   part(t, 0, R, wide, out, n);
                   body.finish(wide, n, out, plan.kept.out[last]);
                 }
               });
}

void run(const Body& body, const TensorView& in, DimMask mask, const TensorView& out, const TensorView* pivot) {
  if (out.empty()) return;
  const Plan plan(in, mask, out, pivot);
  // Short rows that lie in memory as they are reduced are not taken apart.
  const bool rows = body.short_rows && (body.as_it_lies || body.converted || in.dtype == storage_of(body.compute)) &&
                    plan.red.rank == 1 && plan.red.in[0] == 1 && plan.red.n >= 2;
  if (plan.columns && !rows) run_columns(body, plan, in, pivot);
  else run_rows(body, plan, in, pivot);
}

/// Whether each output is of one short row, and these follow one another.
bool short_and_dense(const TensorView& in, DimMask mask, const TensorView& out) {
  if (out.empty()) return false;
  const Plan plan(in, mask, out, nullptr);
  return plan.red.rank == 1 && plan.red.in[0] == 1 && plan.red.n >= 2 && plan.red.n <= kShortRow &&
         plan.kept.in[plan.kept.rank - 1] == plan.red.n;
}

Compute wide_of(Compute c) {
  return c == Compute::I64 ? Compute::I64 : c == Compute::C64 || c == Compute::C128 ? Compute::C128 : Compute::F64;
}

}  // namespace

void reduce(const ReduceSpec& spec, const TensorView& in, DimMask mask, const TensorView& out) {
  reduce(spec, in, mask, out, [](void*, int64_t) {});
}

void reduce(const ReduceSpec& spec, const TensorView& in, DimMask mask, const TensorView& out, ReduceFinish finish) {
  const KernelTable& table = kernels();
  // Maps of complex numbers that are not sums or products of them are real.
  Compute mapped = spec.compute;
  if (spec.map != ReduceMap::none && mapped == Compute::C64) mapped = Compute::F32;
  if (spec.map != ReduceMap::none && mapped == Compute::C128) mapped = Compute::F64;
  const Compute wide = wide_of(mapped);
  const int op = static_cast<int>(spec.op), map = static_cast<int>(spec.map), c = static_cast<int>(spec.compute),
            mc = static_cast<int>(mapped);
  const int64_t in_width = static_cast<int64_t>(size_of(spec.compute));
  const StoreFn store = table.store[static_cast<int>(wide)][static_cast<int>(out.dtype)];
  const int64_t out_size = static_cast<int64_t>(size_of(out.dtype));

  auto init = [&](void* to, int64_t n) {
    if (wide == Compute::I64) {
      const int64_t v = spec.op == ReduceOp::sum    ? 0
                        : spec.op == ReduceOp::prod ? 1
                        : spec.op == ReduceOp::max  ? std::numeric_limits<int64_t>::min()
                                                    : std::numeric_limits<int64_t>::max();
      std::fill_n(static_cast<int64_t*>(to), n, v);
    } else {
      const double inf = std::numeric_limits<double>::infinity();
      const double v = spec.op == ReduceOp::sum    ? 0
                       : spec.op == ReduceOp::prod ? 1
                       : spec.op == ReduceOp::max  ? -inf
                                                   : inf;
      if (wide == Compute::C128) std::fill_n(static_cast<complex128*>(to), n, complex128(v, 0));
      else std::fill_n(static_cast<double*>(to), n, v);
    }
  };
  const bool plain_halves = spec.map == ReduceMap::none && spec.compute == Compute::F32 &&
                            (in.dtype == DType::Float16 || in.dtype == DType::BFloat16);
  const bool brief_halves = plain_halves && !spec.pivot && short_and_dense(in, mask, out);
  // Sums of floats and halves, of their squares and magnitudes, need no buffer of floats in between.
  const bool sums = spec.op == ReduceOp::sum && spec.compute == Compute::F32 && !brief_halves &&
                    (in.dtype == DType::Float || in.dtype == DType::Float16 || in.dtype == DType::BFloat16) &&
                    (spec.map == ReduceMap::none || spec.map == ReduceMap::square || spec.map == ReduceMap::abs);
  const bool integers =
      (spec.op == ReduceOp::max || spec.op == ReduceOp::min) && spec.map == ReduceMap::none &&
      spec.compute == Compute::I64 &&
      (in.dtype == DType::Int8 || in.dtype == DType::UInt8 || in.dtype == DType::Int16 || in.dtype == DType::Int32);
  auto row = [&](const void* x, int64_t n, const void* pivot, void* to) {
    if (sums) return table.sum_row(map, in.dtype, x, n, static_cast<double*>(to));
    if (integers) return short_row_kernels().extreme_row(op, in.dtype, x, n, static_cast<int64_t*>(to));
    if (spec.map == ReduceMap::none) return table.reduce_row(op, mc, x, n, to);
    alignas(64) char buffer[kBlock * 8];
    for (int64_t i = 0; i < n; i += kBlock) {
      const int64_t m = std::min(kBlock, n - i);
      table.reduce_map(map, c, static_cast<const char*>(x) + i * in_width, m, pivot, 0, spec.p, buffer);
      table.reduce_row(op, mc, buffer, m, to);
    }
  };
  auto cols = [&](const void* x, int64_t stride, int64_t rows, int64_t n, const void* pivot, void* to) {
    if (sums) return table.sum_cols(map, in.dtype, x, stride, rows, n, static_cast<double*>(to));
    if (integers) return short_row_kernels().extreme_cols(op, in.dtype, x, stride, rows, n, static_cast<int64_t*>(to));
    if (spec.map == ReduceMap::none) return table.reduce_cols(op, mc, x, stride, rows, n, to);
    alignas(64) char buffer[8 * kCols * 8];
    const int64_t width = static_cast<int64_t>(size_of(mapped));
    for (int64_t r = 0; r < rows; r += 8) {
      const int64_t some = std::min<int64_t>(8, rows - r);
      for (int64_t i = 0; i < some; ++i)
        table.reduce_map(map, c, static_cast<const char*>(x) + (r + i) * stride * in_width, n, pivot, 1, spec.p,
                         buffer + i * n * width);
      table.reduce_cols(op, mc, buffer, n, some, n, to);
    }
  };
  auto combine = [&](const void* from, int64_t chunks, int64_t stride, int64_t n, void* to) {
    table.reduce_cols(op, static_cast<int>(wide), from, stride, chunks, n, to);
  };
  auto done = [&](void* values, int64_t n, int64_t offset, int64_t stride) {
    finish(values, n);
    store(out.as<char>() + offset * out_size, stride, values, n);
  };
  auto short_rows = [&](const void* x, int64_t stride, int64_t rows, int64_t n, void* to) {
    const ShortRows& table_of_rows = short_row_kernels();
    if (spec.map == ReduceMap::none)
      return table_of_rows.rows(op, brief_halves ? DType::Float : in.dtype, x, stride, rows, n, to);
    const float* from = static_cast<const float*>(x);
    auto* values = static_cast<double*>(to);
    if (sums) return table_of_rows.sums(map, from, stride, rows, n, values);
    alignas(64) float buffer[8 * kBlock];
    const int64_t some = 8 * kBlock / n;  // rows whose elements the buffer holds
    for (int64_t r = 0; r < rows; r += some) {
      const int64_t m = std::min(some, rows - r);
      if (stride == n) {
        table.reduce_map(map, c, from + r * n, m * n, nullptr, 0, spec.p, buffer);
      } else {
        for (int64_t i = 0; i < m; ++i)
          table.reduce_map(map, c, from + (r + i) * stride, n, nullptr, 0, spec.p, buffer + i * n);
      }
      table_of_rows.rows(op, in.dtype, buffer, n, m, n, values + r);
    }
  };
  const FunctionRef<void(const void*, int64_t, int64_t, int64_t, void*)> several = short_rows;
  const bool several_at_once =
      !spec.pivot && (spec.map == ReduceMap::none
                          ? integers || brief_halves || (in.dtype == storage_of(spec.compute) && wide != Compute::C128)
                          : spec.compute == Compute::F32 && in.dtype == DType::Float);
  run(Body{spec.compute, 1, size_of(wide), sums || integers, init, row, cols, combine, done,
           several_at_once ? &several : nullptr, brief_halves},
      in, mask, out, spec.pivot);
}

void reduce_moments(const TensorView& in, DimMask mask, const TensorView* mean, const TensorView* m2,
                    FunctionRef<void(double*, double*, int64_t)> finish) {
  const KernelTable& table = kernels();
  const Compute compute = real_compute(in.dtype);
  const int c = static_cast<int>(compute);
  // Deviations are taken from each output's first element: of the data's size, so nothing cancels.
  TensorView first = in;
  int64_t count = 1;
  for (int d = 0; d < in.rank; ++d)
    if (mask >> d & 1) {
      count *= in.dims[d];
      first.dims[d] = 1;
      first.strides[d] = 0;
    }
  const TensorView& out = mean ? *mean : *m2;
  auto init = [&](void* to, int64_t n) {
    std::fill_n(static_cast<double*>(to), n, 0.0);
    std::fill_n(static_cast<double*>(to) + kCols, n, 0.0);
  };
  auto row = [&](const void* x, int64_t n, const void* pivot, void* to) {
    double* wide = static_cast<double*>(to);
    table.moments_row(c, x, n, pivot, wide, wide + kCols);
  };
  auto cols = [&](const void* x, int64_t stride, int64_t rows, int64_t n, const void* pivot, void* to) {
    double* wide = static_cast<double*>(to);
    table.moments_cols(c, x, stride, rows, n, pivot, wide, wide + kCols);
  };
  auto combine = [&](const void* from, int64_t chunks, int64_t stride, int64_t n, void* to) {
    table.reduce_cols(static_cast<int>(ReduceOp::sum), static_cast<int>(Compute::F64), from, stride, chunks, n, to);
  };
  // Results go to a dense array in the order of the outputs' offsets there.
  TensorView dense = TensorView::contiguous(nullptr, DType::Double, out.dims, out.rank);
  const int64_t outputs = out.numel();
  std::vector<double> results(static_cast<size_t>(2 * outputs));
  auto done = [&](void* values, int64_t n, int64_t offset, int64_t stride) {
    const double* wide = static_cast<const double*>(values);
    for (int64_t i = 0; i < n; ++i) {
      results[static_cast<size_t>(offset + i * stride)] = wide[i];
      results[static_cast<size_t>(outputs + offset + i * stride)] = wide[kCols + i];
    }
  };
  run(Body{compute, 2, sizeof(double), false, init, row, cols, combine, done}, in, mask, dense, &first);
  // From shifted sums to mean and m2.
  const double n = static_cast<double>(count);
  const LoadFn load = table.load[static_cast<int>(in.dtype)][static_cast<int>(Compute::F64)];
  const TensorView* views[] = {&dense, &first};
  StridedLoop<2> walk(views);
  walk.rows(0, outputs, [&](const int64_t(&at)[2], int64_t, int64_t m) {
    for (int64_t i = 0; i < m; ++i) {
      double pivot = 0;
      if (count > 0)
        load(&pivot,
             in.as<char>() + (at[1] + i * walk.strides[1][walk.rank - 1]) * static_cast<int64_t>(size_of(in.dtype)), 1,
             1);
      double& s = results[static_cast<size_t>(at[0] + i * walk.strides[0][walk.rank - 1])];
      double& q = results[static_cast<size_t>(outputs + at[0] + i * walk.strides[0][walk.rank - 1])];
      const double shift = s / n;
      q = count > 0 ? std::max(q - s * shift, 0.0) : q;
      if (q != q || s != s) q = std::numeric_limits<double>::quiet_NaN();
      s = count > 0 ? pivot + shift : std::numeric_limits<double>::quiet_NaN();
    }
  });
  finish(results.data(), results.data() + outputs, outputs);
  for (int k = 0; k < 2; ++k) {
    const TensorView* to = k ? m2 : mean;
    if (!to) continue;
    dense.data = results.data() + (k ? outputs : 0);
    const StoreFn store = table.store[static_cast<int>(Compute::F64)][static_cast<int>(to->dtype)];
    const TensorView* pair[] = {&dense, to};
    StridedLoop<2> each(pair);
    each.rows(0, outputs, [&](const int64_t(&at)[2], int64_t linear, int64_t m) {
      store(to->as<char>() + at[1] * static_cast<int64_t>(size_of(to->dtype)), each.strides[1][each.rank - 1],
            static_cast<double*>(dense.data) + linear, m);
    });
  }
}

void reduce_arg(bool largest, const TensorView& in, int dim, const TensorView* value, const TensorView* index) {
  const KernelTable& table = kernels();
  const Compute compute = compute_of(in.dtype);
  const int c = static_cast<int>(compute);
  const int64_t size = static_cast<int64_t>(size_of(in.dtype)), width = static_cast<int64_t>(size_of(compute));
  const int64_t n = in.size(dim), step = in.stride(dim);
  const LoadFn load = table.load[static_cast<int>(in.dtype)][c];
  // A view of the outputs: in without the dimension; value and index have 1 there.
  TensorView kept = in, v_out, i_out;
  kept.dims[dim] = 1;
  if (in.rank == 0) kept = TensorView::contiguous(in.data, in.dtype, nullptr, 0);
  v_out = value ? *value : kept;
  i_out = index ? *index : kept;
  const TensorView* views[] = {&kept, &v_out, &i_out};
  const StridedLoop<3> walk(views);
  const int64_t outputs = kept.numel();
  if (outputs == 0) return;
  const int64_t along = walk.strides[0][walk.rank - 1];
  const int64_t out_step = walk.strides[1][walk.rank - 1], index_step = walk.strides[2][walk.rank - 1];
  const bool columns = walk.dims[walk.rank - 1] >= 8 && (std::abs(along) < std::abs(step) || n < 16);
  const bool native = in.dtype == storage_of(compute);
  auto start = [&](void* best, int64_t m) {
    const double inf = std::numeric_limits<double>::infinity();
    if (compute == Compute::F32) std::fill_n(static_cast<float*>(best), m, static_cast<float>(largest ? -inf : inf));
    else if (compute == Compute::F64) std::fill_n(static_cast<double*>(best), m, largest ? -inf : inf);
    else
      std::fill_n(static_cast<int64_t*>(best), m,
                  largest ? std::numeric_limits<int64_t>::min() : std::numeric_limits<int64_t>::max());
  };
  auto put = [&](const void* best, const int64_t* at, const int64_t(&offset)[3], int64_t skip, int64_t m) {
    if (value)
      table.store[c][static_cast<int>(value->dtype)](
          value->as<char>() + (offset[1] + skip * out_step) * static_cast<int64_t>(size_of(value->dtype)), out_step,
          best, m);
    if (index)
      table.store[static_cast<int>(Compute::I64)][static_cast<int>(index->dtype)](
          index->as<char>() + (offset[2] + skip * index_step) * static_cast<int64_t>(size_of(index->dtype)), index_step,
          at, m);
  };
  // Long and few: chunks of each output, combined in order.
  if (outputs < kFewTasks && n > 2 * kChunk && !columns) {
    const int64_t chunks = (n + kChunk - 1) / kChunk;
    std::vector<int64_t> best(static_cast<size_t>(outputs * chunks)), at(best.size());
    parallel_for(outputs * chunks, 1, [&](int64_t begin, int64_t end) {
      alignas(64) char buffer[kBlock * 8];
      for (int64_t t = begin; t < end; ++t) {
        const char* x = in.as<char>() + kept.offset_of(t / chunks) * size;
        int64_t found = -1;
        start(&best[static_cast<size_t>(t)], 1);
        const int64_t last = std::min(n, (t % chunks + 1) * kChunk);
        for (int64_t i = t % chunks * kChunk; i < last; i += kBlock) {
          const int64_t m = std::min(kBlock, last - i);
          const char* from = x + i * step * size;
          if (!native || step != 1) {
            load(buffer, from, step, m);
            from = buffer;
          }
          table.arg_row(c, largest, from, m, i, &best[static_cast<size_t>(t)], &found);
        }
        at[static_cast<size_t>(t)] = found;
      }
    });
    for (int64_t o = 0; o < outputs; ++o) {
      alignas(8) char top[8];
      int64_t found = -1;
      start(top, 1);
      for (int64_t k = 0; k < chunks; ++k) {
        const size_t t = static_cast<size_t>(o * chunks + k);
        int64_t here = found;
        table.arg_row(c, largest, &best[t], 1, at[t], top, &here);
        found = here;
      }
      walk.rows(o, o + 1, [&](const int64_t(&offset)[3], int64_t, int64_t) { put(top, &found, offset, 0, 1); });
    }
    return;
  }
  parallel_for(outputs, std::max<int64_t>(1, kGrain / std::max<int64_t>(n, 16)), [&](int64_t begin, int64_t end) {
    alignas(64) char best[kCols * 8];
    alignas(64) int64_t at[kCols];
    alignas(64) char buffer[kBlock * 8];
    walk.rows(begin, end, [&](const int64_t(&offset)[3], int64_t, int64_t m) {
      for (int64_t c0 = 0; c0 < m; c0 += kCols) {
        const int64_t some = std::min(kCols, m - c0);
        const char* x = in.as<char>() + (offset[0] + c0 * along) * size;
        start(best, some);
        std::fill_n(at, some, columns ? 0 : -1);
        if (columns) {
          for (int64_t i = 0; i < n; ++i) {
            const char* from = x + i * step * size;
            if (!native || along != 1) {
              load(buffer, from, along, some);
              from = buffer;
            }
            table.arg_cols(c, largest, from, some, i, best, at);
          }
        } else {
          for (int64_t k = 0; k < some; ++k) {
            const char* row = x + k * along * size;
            if (native && step == 1) {
              table.arg_row(c, largest, row, n, 0, best + k * width, at + k);
              continue;
            }
            for (int64_t i = 0; i < n; i += kBlock) {
              const int64_t part = std::min(kBlock, n - i);
              load(buffer, row + i * step * size, step, part);
              table.arg_row(c, largest, buffer, part, i, best + k * width, at + k);
            }
          }
        }
        put(best, at, offset, c0, some);
      }
    });
  });
}

}  // namespace updraft
