#include "kernels/pipeline.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/error.h"
#include "base/overflow.h"
#include "base/parallel.h"
#include "kernels/space.h"
#include "kernels/watched.h"
#include "tensor/view_algebra.h"

namespace updraft {
namespace {

constexpr int64_t kBlock = 1024;
constexpr int64_t kGrain = 16 * kBlock;  // fewer elements a thread cost more to hand out than to compute
constexpr int64_t kShortestRow = 128;    // shorter ones are gathered into blocks
}  // namespace

BlockFn elementwise_kernel(Ew e, Compute compute) {
  const EwRow& row = row_of(e);
  BlockFn fn = row.fn[static_cast<int>(compute)];
  if (!fn)
    throw Error(code::kAclnnParamInvalid, "{} is not defined for elements computed as {}", row.name,
                name_of(storage_of(compute)));
  return fn;
}

void run_elementwise(BlockFn fn, Compute compute, std::initializer_list<TensorView> in,
                     std::initializer_list<TensorView> out, const Params& params, bool boolean) {
  run_elementwise(fn, compute, in.begin(), static_cast<int>(in.size()), out.begin(), static_cast<int>(out.size()),
                  params, boolean);
}

namespace {
// How an operand enters a block: as it lies in memory, or through a conversion.
struct Lane {
  DType native;   // the element type that the kernel sees
  int64_t width;  // its bytes
  LoadFn load;    // inputs
  StoreFn store;  // outputs; null: bytes of a bool kernel that go to another type
};

// Operands that lie transposed (their rows are another's columns) pass through tiles: reading them row by row would
// take a cache line for each element. False when there is none.
bool run_tiles(BlockFn fn, const Space& space, const TensorView* const* operands, const Lane* lanes, int outputs,
               int count, uint32_t watched, const Params& params) {
  constexpr int64_t kRows = 64, kCols = 256;
  const int inner = space.rank - 1;
  for (int k = 0; k < outputs; ++k)
    if (!lanes[k].store && operands[k]->dtype != lanes[k].native) return false;  // a bool that is widened
  int d = -1;  // the dimension along which a transposed input is regular
  for (int k = outputs; k < count && d < 0; ++k) {
    const int64_t* strides = space.strides[k];
    if (std::abs(strides[inner]) < 8) continue;
    for (int i = 0; i < inner; ++i)
      if (strides[i] == 1) d = i;
  }
  if (d < 0 || space.dims[d] < 8 || space.dims[inner] < 16) return false;
  bool transposed[kMaxOperands];
  for (int k = 0; k < count; ++k)
    transposed[k] = k >= outputs && space.strides[k][d] == 1 && std::abs(space.strides[k][inner]) >= 8;
  const int64_t rows = space.dims[d], cols = space.dims[inner];
  const int64_t row_tiles = (rows + kRows - 1) / kRows, col_tiles = (cols + kCols - 1) / kCols;
  const int64_t outer = space.n / rows / cols;
  parallel_for(
      outer * row_tiles * col_tiles, std::max<int64_t>(1, kGrain / (kRows * kCols)), [&](int64_t b, int64_t e) {
        alignas(64) char buffers[kMaxOperands][kCols * 16];
        std::vector<char> tiles[kMaxOperands];
        for (int k = outputs; k < count; ++k)
          if (transposed[k]) tiles[k].resize(static_cast<size_t>(kRows * kCols) * size_of(operands[k]->dtype));
        for (int64_t tile = b; tile < e; ++tile) {
          const int64_t r0 = tile / col_tiles % row_tiles * kRows, c0 = tile % col_tiles * kCols;
          const int64_t height = std::min(kRows, rows - r0), width = std::min(kCols, cols - c0);
          char* base[kMaxOperands];
          for (int k = 0; k < count; ++k) {
            int64_t offset = r0 * space.strides[k][d] + c0 * space.strides[k][inner],
                    rest = tile / col_tiles / row_tiles;
            for (int i = inner - 1; i >= 0; --i) {
              if (i == d) continue;
              offset += rest % space.dims[i] * space.strides[k][i];
              rest /= space.dims[i];
            }
            const auto size = static_cast<int64_t>(size_of(operands[k]->dtype));
            base[k] = static_cast<char*>(operands[k]->data) + offset * size;
            if (transposed[k])
              kernels().transpose_2d(tiles[k].data(), kCols, base[k], space.strides[k][inner], width, height, size);
          }
          for (int64_t r = 0; r < height; ++r) {
            const void* from[kMaxOperands];
            void* to[kMaxOperands];
            for (int k = 0; k < count; ++k) {
              const auto size = static_cast<int64_t>(size_of(operands[k]->dtype));
              const int64_t stride = transposed[k] ? 1 : space.strides[k][inner];
              char* row = transposed[k] ? tiles[k].data() + r * kCols * size : base[k] + r * space.strides[k][d] * size;
              const bool native = operands[k]->dtype == lanes[k].native && stride == 1;
              if (k < outputs) {
                to[k] = native ? row : buffers[k];
              } else {
                if (!native) lanes[k].load(buffers[k], row, stride, width);
                from[k - outputs] = native ? row : buffers[k];
              }
            }
            run_watched(from, count - outputs, to, outputs, watched, width, [&] { fn(from, to, width, params); });
            for (int k = 0; k < outputs; ++k)
              if (to[k] == buffers[k])
                lanes[k].store(base[k] + r * space.strides[k][d] * static_cast<int64_t>(size_of(operands[k]->dtype)),
                               space.strides[k][inner], buffers[k], width);
          }
        }
      });
  return true;
}

// Elements [at, at + n) of rows of `width` times the same word each, `stride` apart in `from`. Whole vectors are
// written, up to three words too many: buffers are longer than a block of words.
void repeat_words(uint32_t* to, const uint32_t* from, int64_t stride, int64_t width, int64_t at, int64_t n) {
  typedef uint32_t Words __attribute__((vector_size(16)));
  uint32_t* const end = to + n;
  from += at / width * stride;
  int64_t step = width - at % width;
  for (; to < end; to += step, step = width, from += stride) {
    const Words all = Words{} + *from;
    for (int64_t i = 0; i < std::min<int64_t>(step, end - to); i += 4) std::memcpy(to + i, &all, sizeof all);
  }
}

// Arrays of the kernel's own type, element by element: nothing is to be looked for. False where there are others.
bool run_arrays(BlockFn fn, DType native, const TensorView* in, int inputs, const TensorView* out, int outputs,
                const Params& params) {
  const auto plain = [&](const TensorView& v) {
    return v.dtype == native && v.same_shape(out[0]) && v.is_contiguous();
  };
  if (!std::all_of(out, out + outputs, plain) || !std::all_of(in, in + inputs, plain)) return false;
  const auto size = static_cast<int64_t>(size_of(native));
  parallel_for(out[0].numel(), kGrain, [&](int64_t begin, int64_t end) {
    const void* from[kMaxOperands];
    void* to[kMaxOperands];
    for (int k = 0; k < inputs; ++k) from[k] = in[k].as<char>() + begin * size;
    for (int k = 0; k < outputs; ++k) to[k] = out[k].as<char>() + begin * size;
    fn(from, to, end - begin, params);
  });
  return true;
}

void run_blocks(BlockFn fn, const Lane* lanes, const TensorView* in, int inputs, const TensorView* out, int outputs,
                const Params& params) {
  TensorView expanded[kMaxOperands];
  const TensorView* operands[kMaxOperands];
  const int count = inputs + outputs;
  for (int k = 0; k < outputs; ++k) operands[k] = &out[k];
  for (int k = 0; k < inputs; ++k) {
    if (in[k].same_shape(out[0])) {
      operands[outputs + k] = &in[k];
    } else {
      expanded[k] = in[k].expand_as(out[0]);
      operands[outputs + k] = &expanded[k];
    }
  }
  const Space space(operands, count);
  if (space.n == 0) return;
  const KernelTable& table = kernels();
  // linear: element i of the space lies at data + i, whatever the other operands do. constant: one element for all.
  bool linear[kMaxOperands], constant[kMaxOperands];
  for (int k = 0; k < count; ++k) {
    const int64_t* strides = space.strides[k];
    linear[k] = strides[space.rank - 1] == 1;
    for (int d = space.rank - 1; linear[k] && d > 0; --d) linear[k] = strides[d - 1] == strides[d] * space.dims[d];
    constant[k] = k >= outputs && std::all_of(strides, strides + space.rank, [](int64_t s) { return s == 0; });
  }
  // Saturation mode: the outputs in which an infinity counts as an overflow. What is stored as fp16 notes it itself.
  uint32_t watched = 0;
  if (saturating() && std::all_of(lanes, lanes + count, [](const Lane& l) { return l.native == DType::Float; }))
    for (int k = 0; k < outputs; ++k) watched |= out[k].dtype == DType::Float16 ? 0U : 1U << k;

  bool direct = true;  // no operand passes through a buffer: one call for the whole range
  for (int k = 0; direct && k < count; ++k) direct = linear[k] && !constant[k] && operands[k]->dtype == lanes[k].native;
  if (!direct && run_tiles(fn, space, operands, lanes, outputs, count, watched, params)) return;
  // How an operand that is neither linear nor constant is read.
  struct Access {
    bool in_place;  ///< regular along long rows (a bias, a slice): used by blocks that end where rows end
    bool periodic;  ///< one short row for all (a bias of few channels), laid out once as often as a block asks for
    bool words;  ///< short rows of four bytes an element, moved here: a call for each would take longer than its work
    bool repeated;  ///< a column of such elements, each of which stands for a row
    bool lines;     ///< short rows that lie together: moved many at a time, and converted then
  };
  const int inner = space.rank - 1;
  Access access[kMaxOperands];
  bool rows = false;
  for (int k = 0; k < count; ++k) {
    Access& a = access[k] = {};
    if (linear[k] || constant[k]) continue;
    const int64_t* strides = space.strides[k];
    const bool native = operands[k]->dtype == lanes[k].native;
    if (space.dims[inner] >= kShortestRow) {
      a.in_place = strides[inner] == 1 && native;
      rows = rows || a.in_place;
      continue;
    }
    const bool together = strides[inner] == 1 && lanes[k].width <= 8;
    a.periodic = k >= outputs && together && std::all_of(strides, strides + inner, [](int64_t s) { return s == 0; });
    a.lines = !a.periodic && together && size_of(operands[k]->dtype) <= 8;
    a.words = k >= outputs && !a.periodic && !a.lines && lanes[k].width == 4 && native && space.dims[inner] <= 32;
    a.repeated = a.words && strides[inner] == 0 && space.rank == 2;
  }

  parallel_for(space.n, kGrain, [&](int64_t begin, int64_t end) {
    const int64_t block = !direct ? kBlock : watched ? kWatchedBlock : end - begin;
    int64_t left = rows ? space.dims[inner] - begin % space.dims[inner] : end - begin;  // of the row
    alignas(64) char buffers[kMaxOperands][kBlock * 16];
    Cursor cursor[kMaxOperands];
    const void* from[kMaxOperands];
    void* to[kMaxOperands];
    for (int k = 0; k < count; ++k) {
      if (linear[k] || constant[k] || access[k].periodic || access[k].repeated) continue;
      cursor[k] = Cursor(space, k, *operands[k], begin);
    }
    for (int k = 0; k < inputs; ++k) {
      if (const int o = outputs + k; access[o].periodic) {
        const int64_t row = space.dims[inner], total = std::min(kBlock, end - begin) + row;
        lanes[o].load(buffers[o], operands[o]->data, 1, row);
        for (int64_t have = row; have < total; have *= 2)
          std::memcpy(buffers[o] + have * lanes[o].width, buffers[o],
                      static_cast<size_t>(std::min(have, total - have) * lanes[o].width));
      }
      if (!constant[outputs + k]) continue;
      lanes[outputs + k].load(buffers[outputs + k], in[k].data, 0, std::min(kBlock, end - begin));
      from[k] = buffers[outputs + k];
    }
    for (int64_t at = begin, n; at < end; at += n) {
      n = std::min({block, end - at, left});
      left -= n;
      if (left == 0) left = space.dims[inner];
      for (int k = 0; k < inputs; ++k) {
        const int o = outputs + k;
        const Lane& lane = lanes[o];
        if (constant[o]) continue;
        if (access[o].periodic) {
          from[k] = buffers[o] + at % space.dims[inner] * lane.width;
          continue;
        }
        if (access[o].repeated) {
          repeat_words(reinterpret_cast<uint32_t*>(buffers[o]), static_cast<const uint32_t*>(operands[o]->data),
                       space.strides[o][0], space.dims[1], at, n);
          from[k] = buffers[o];
          continue;
        }
        if (access[o].in_place) {
          from[k] = cursor[o].pass(n);
          continue;
        }
        if (linear[o]) {
          const char* data = static_cast<const char*>(in[k].data) + at * static_cast<int64_t>(size_of(in[k].dtype));
          if (in[k].dtype == lane.native) {
            from[k] = data;
            continue;
          }
          lane.load(buffers[o], data, 1, n);
        } else if (access[o].lines) {
          const int64_t size = cursor[o].size;
          char* const raw = in[k].dtype == lane.native ? buffers[o] : buffers[o] + kBlock * 8;
          cursor[o].walk_lines(n, [&](const char* first, int64_t apart, int64_t done, int64_t count, int64_t length) {
            table.copy_rows(raw + done * size, length * size, first, apart, count, length * size);
          });
          if (raw != buffers[o]) lane.load(buffers[o], raw, 1, n);
        } else {
          cursor[o].walk(n, [&](const char* row, int64_t stride, int64_t done, int64_t step) {
            if (access[o].words) {
              uint32_t* to_words = reinterpret_cast<uint32_t*>(buffers[o]) + done;
              const uint32_t* from_words = reinterpret_cast<const uint32_t*>(row);
              for (int64_t i = 0; i < step; ++i) to_words[i] = from_words[i * stride];
              return;
            }
            lane.load(buffers[o] + done * lane.width, row, stride, step);
          });
        }
        from[k] = buffers[o];
      }
      for (int k = 0; k < outputs; ++k)
        to[k] = access[k].in_place ? cursor[k].pass(n)
                : linear[k] && out[k].dtype == lanes[k].native
                    ? out[k].as<char>() + at * static_cast<int64_t>(size_of(out[k].dtype))
                    : buffers[k];
      run_watched(from, inputs, to, outputs, watched, n, [&] { fn(from, to, n, params); });
      for (int k = 0; k < outputs; ++k) {
        if (to[k] != buffers[k]) continue;
        char* result = buffers[k];
        int64_t width = lanes[k].width;
        StoreFn store = lanes[k].store;
        if (!store) {
          // 0 and 1 fit every type: widen to int64 behind the bytes, then store as that.
          auto* wide = reinterpret_cast<int64_t*>(buffers[k] + kBlock * 8);
          table.load[static_cast<int>(DType::Bool)][static_cast<int>(Compute::I64)](wide, result, 1, n);
          result = reinterpret_cast<char*>(wide);
          width = 8;
          store = table.store[static_cast<int>(Compute::I64)][static_cast<int>(out[k].dtype)];
        }
        if (access[k].lines) {
          const int64_t size = cursor[k].size;
          if (out[k].dtype != lanes[k].native) {
            char* const raw = result == buffers[k] ? buffers[k] + kBlock * 8 : buffers[k];
            store(raw, 1, result, n);
            result = raw;
          }
          cursor[k].walk_lines(n, [&](char* first, int64_t apart, int64_t done, int64_t count, int64_t length) {
            table.copy_rows(first, apart, result + done * size, length * size, count, length * size);
          });
          continue;
        }
        if (linear[k]) {
          store(out[k].as<char>() + at * static_cast<int64_t>(size_of(out[k].dtype)), 1, result, n);
        } else {
          cursor[k].walk(n, [&](char* row, int64_t stride, int64_t done, int64_t step) {
            store(row, stride, result + done * width, step);
          });
        }
      }
    }
  });
}

// The row's form for arrays of halves, where all operands are; null: they go through buffers of floats, also because
// what is stored saturates, or an overflow of a float has to be noticed.
BlockFn half_form(BlockFn fn, Compute compute, const TensorView* in, int inputs, const TensorView* out, int outputs,
                  bool boolean) {
  if (compute != Compute::F32 || outputs != 1 || inputs < 1 || saturating()) return nullptr;
  const DType type = in[0].dtype;
  if (type != DType::Float16 && type != DType::BFloat16) return nullptr;
  for (int k = 1; k < inputs; ++k)
    if (in[k].dtype != type) return nullptr;
  if (out[0].dtype != (boolean ? DType::Bool : type)) return nullptr;
  const EwRow* row = row_with(fn);
  return row ? row->half[type == DType::BFloat16] : nullptr;
}

int log2_of(size_t size) { return size == 1 ? 0 : size == 2 ? 1 : size == 4 ? 2 : 3; }
}  // namespace

void run_elementwise(BlockFn fn, Compute compute, const TensorView* in, int inputs, const TensorView* out, int outputs,
                     const Params& params, bool boolean) {
  const KernelTable& table = kernels();
  const int c = static_cast<int>(compute);
  Lane lanes[kMaxOperands];
  if (const BlockFn half = half_form(fn, compute, in, inputs, out, outputs, boolean)) {
    if (!boolean && run_arrays(half, out[0].dtype, in, inputs, out, outputs, params)) return;
    lanes[0] =
        boolean ? Lane{DType::Bool, 1, nullptr, table.move_out[0]} : Lane{out[0].dtype, 2, nullptr, table.move_out[1]};
    for (int k = 0; k < inputs; ++k) lanes[1 + k] = Lane{in[0].dtype, 2, table.move_in[1], nullptr};
    return run_blocks(half, lanes, in, inputs, out, outputs, params);
  }
  if (!boolean && !saturating() && run_arrays(fn, storage_of(compute), in, inputs, out, outputs, params)) return;
  for (int k = 0; k < outputs; ++k)
    lanes[k] = boolean ? Lane{DType::Bool, 1, nullptr, out[k].dtype == DType::Bool ? table.move_out[0] : nullptr}
                       : Lane{storage_of(compute), static_cast<int64_t>(size_of(compute)), nullptr,
                              table.store[c][static_cast<int>(out[k].dtype)]};
  for (int k = 0; k < inputs; ++k)
    lanes[outputs + k] = Lane{storage_of(compute), static_cast<int64_t>(size_of(compute)),
                              table.load[static_cast<int>(in[k].dtype)][c], nullptr};
  run_blocks(fn, lanes, in, inputs, out, outputs, params);
}

void run_native(BlockFn fn, std::initializer_list<TensorView> in, const TensorView& out, const Params& params) {
  const KernelTable& table = kernels();
  Lane lanes[kMaxOperands];
  auto lane = [&](const TensorView& v) {
    const size_t size = size_of(v.dtype);
    return Lane{v.dtype, static_cast<int64_t>(size), table.move_in[log2_of(size)], table.move_out[log2_of(size)]};
  };
  lanes[0] = lane(out);
  int k = 1;
  for (const TensorView& v : in) lanes[k++] = lane(v);
  run_blocks(fn, lanes, in.begin(), static_cast<int>(in.size()), &out, 1, params);
}

}  // namespace updraft
