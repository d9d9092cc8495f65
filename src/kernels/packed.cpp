#include "kernels/packed.h"

#include <algorithm>

#include "base/parallel.h"
#include "base/scratch.h"
#include "kernels/table.h"
#include "tensor/view_algebra.h"

namespace updraft::packed {
namespace {

int64_t round_up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

/// Blocks of the result: whole tiles and panels, of about the same size. Those of some rows that stand one above the
/// other are made together, since they share what is packed of the right side.
struct Blocks {
  int64_t rows, cols;  ///< of a block
  int64_t row_blocks, col_blocks;
  int64_t together = 1, groups;  ///< blocks of rows

  Blocks(int64_t batches, int64_t m, int64_t n, int64_t k, int threads)
      : rows(even(m, kRows, kTile)), cols(even(n, kCols, kPanel)) {
    constexpr int64_t kLeast = 1 << 20;  // multiplications in a block that are worth a thread's while
    constexpr int64_t kMostTogether = 4;
    const int64_t wanted = 4 * threads;
    count(m, n);
    while (batches * row_blocks * col_blocks < wanted && rows * cols * k > 2 * kLeast) {
      if (cols >= rows && cols > kPanel) cols = even(cols, (cols + 1) / 2, kPanel);
      else if (rows > kTile) rows = even(rows, (rows + 1) / 2, kTile);
      else break;
      count(m, n);
    }
    together = std::clamp<int64_t>(batches * row_blocks * col_blocks / wanted, 1, std::min(row_blocks, kMostTogether));
    groups = (row_blocks + together - 1) / together;
  }

 private:
  static constexpr int64_t kTile = 24;  // a multiple of every instruction set's rows of a tile
  static int64_t even(int64_t size, int64_t most, int64_t unit) {
    const int64_t blocks = (size + most - 1) / most;
    return round_up((size + blocks - 1) / blocks, unit);
  }
  void count(int64_t m, int64_t n) {
    row_blocks = (m + rows - 1) / rows;
    col_blocks = (n + cols - 1) / cols;
  }
};

int64_t batches_of(const TensorView& c) { return c.numel() / (c.dims[c.rank - 2] * c.dims[c.rank - 1]); }

/// Matrix `i` of the batch (row-major over the batch dimensions of `shape`).
TensorView matrix_of(const TensorView& v, const TensorView& shape, int64_t i) {
  int64_t at = 0;
  for (int d = shape.rank - 3; d >= 0; --d) {
    at += i % shape.dims[d] * v.strides[d];
    i /= shape.dims[d];
  }
  TensorView m = last_dims(v, 2);
  m.data = at_element(v, at);
  return m;
}

/// Whether the left side is packed in columns.
bool in_columns(const TensorView& a) { return a.strides[1] != 1 && a.strides[0] == 1; }

/// Rows [i, i + m) and columns [p, p + k) of the left side.
void pack_left(float* to, const TensorView& a, int64_t i, int64_t m, int64_t p, int64_t k) {
  const LoadFn load = kernels().load[static_cast<int>(a.dtype)][static_cast<int>(Compute::F32)];
  const int64_t rows = a.strides[0], columns = a.strides[1];
  if (in_columns(a)) {
    for (int64_t x = 0; x < k; ++x) load(to + x * kColumnLine, at_element(a, i * rows + (p + x) * columns), 1, m);
  } else {
    for (int64_t x = 0; x < m; ++x) load(to + x * kRowLine, at_element(a, (i + x) * rows + p * columns), columns, k);
  }
}

/// Rows [p, p + k) and columns [j, j + n) of the right side.
void pack_panels(float* to, const TensorView& b, int64_t p, int64_t k, int64_t j, int64_t n) {
  for (int64_t x = 0; x < n; x += kPanel, to += k * kPanel)
    kernels().pack_panel(to, at_element(b, p * b.strides[0] + (j + x) * b.strides[1]), b.dtype, b.strides[0],
                         b.strides[1], k, std::min(kPanel, n - x));
}

/// The sums of a block to the result. `row` holds a row of what is added.
void finish(const Product& p, const TensorView& c, const TensorView& add, float* sums, float* row, int64_t i, int64_t m,
            int64_t j, int64_t n) {
  const KernelTable& t = kernels();
  const LoadFn load = t.load[static_cast<int>(add.dtype)][static_cast<int>(Compute::F32)];
  const StoreFn store = t.store[static_cast<int>(Compute::F32)][static_cast<int>(c.dtype)];
  for (int64_t x = 0; x < m; ++x, sums += kSumLine) {
    if (p.alpha != 1) t.scale_f32(sums, n, static_cast<float>(p.alpha));
    if (p.beta != 0) {
      if (x == 0 || add.strides[0] != 0)
        load(row, at_element(add, (i + x) * add.strides[0] + j * add.strides[1]), add.strides[1], n);
      t.axpy_f32(sums, row, n, static_cast<float>(p.beta));
    }
    store(at_element(c, (i + x) * c.strides[0] + j * c.strides[1]), c.strides[1], sums, n);
  }
}

size_t left_floats(const Product& p, const Blocks& by) {
  return static_cast<size_t>(in_columns(last_dims(p.a, 2)) ? std::min(kDepth, p.a.dims[p.a.rank - 1]) * kColumnLine
                                                           : by.rows * kRowLine);
}
size_t panel_floats(const Product& p, const Blocks& by) {
  return static_cast<size_t>(std::min(kDepth, p.a.dims[p.a.rank - 1]) * by.cols);
}

size_t sum_floats(const Blocks& by) { return static_cast<size_t>(by.together * by.rows * kSumLine); }

/// A result whose columns lie together is the transposed product.
Product in_rows(const Product& p) {
  const int r = p.c.rank;
  if (p.right || p.c.strides[r - 1] == 1 || p.c.strides[r - 2] != 1) return p;
  Product t = p;
  t.a = p.b.transpose(r - 2, r - 1);
  t.b = p.a.transpose(r - 2, r - 1);
  t.c = p.c.transpose(r - 2, r - 1);
  t.add = p.add.transpose(r - 2, r - 1);
  return t;
}

}  // namespace

bool converts(DType t) { return t == DType::Float || t == DType::Float16 || t == DType::BFloat16; }

void multiply(const Product& given) {
  const Product p = in_rows(given);
  const int r = p.c.rank;
  const int64_t m = p.c.dims[r - 2], n = p.c.dims[r - 1], k = p.a.dims[r - 1], batches = batches_of(p.c);
  const Blocks by(batches, m, n, k, parallel_width());
  const int64_t pieces = by.groups * by.col_blocks;  // of a matrix
  const int64_t cost = by.together * std::min(m, by.rows) * std::min(n, by.cols) * k;
  parallel_for(batches * pieces, std::max<int64_t>(1, 262144 / cost), [&](int64_t begin, int64_t end) {
    const KernelTable& t = kernels();
    ScratchScope scratch;
    auto* left = scratch.take<float>(left_floats(p, by));
    auto* panels = p.right ? nullptr : scratch.take<float>(panel_floats(p, by));
    auto* sums = scratch.take<float>(sum_floats(by));
    auto* row = scratch.take<float>(static_cast<size_t>(kCols));
    for (int64_t x = begin; x < end; ++x) {
      const int64_t batch = x / pieces, top = x % pieces / by.col_blocks * by.together * by.rows;
      const int64_t bottom = std::min(m, top + by.together * by.rows);
      const int64_t j = x % by.col_blocks * by.cols, cols = std::min(by.cols, n - j);
      const TensorView a = matrix_of(p.a, p.c, batch), b = matrix_of(p.b, p.c, batch);
      for (int64_t at = 0; at < k; at += kDepth) {
        const int64_t depth = std::min(kDepth, k - at);
        const float* right = p.right ? p.right + at * round_up(n, kPanel) + j * depth : panels;
        if (!p.right) pack_panels(panels, b, at, depth, j, cols);
        for (int64_t i = top; i < bottom; i += by.rows) {
          const int64_t rows = std::min(by.rows, bottom - i);
          pack_left(left, a, i, rows, at, depth);
          t.packed_product(rows, round_up(cols, kPanel), depth, left, in_columns(a), right, sums + (i - top) * kSumLine,
                           at != 0);
        }
      }
      finish(p, matrix_of(p.c, p.c, batch), matrix_of(p.add, p.c, batch), sums, row, top, bottom - top, j, cols);
    }
  });
}

size_t scratch_bytes(const Product& given, bool packed) {
  const Product p = packed ? given : in_rows(given);
  const int r = p.c.rank;
  const Blocks by(batches_of(p.c), p.c.dims[r - 2], p.c.dims[r - 1], p.a.dims[r - 1], 1);  // the largest there are
  const size_t panels = packed ? 0 : scratch_size(panel_floats(p, by) * sizeof(float));
  return panels + scratch_size(left_floats(p, by) * sizeof(float)) + scratch_size(sum_floats(by) * sizeof(float)) +
         scratch_size(kCols * sizeof(float));
}

int64_t right_floats(const TensorView& b) { return b.dims[0] * round_up(b.dims[1], kPanel); }

void pack_right(const TensorView& b, float* to) {
  const int64_t k = b.dims[0], n = b.dims[1], panels = (n + kPanel - 1) / kPanel;
  const int64_t parts = (k + kDepth - 1) / kDepth * panels;
  parallel_for(parts, std::max<int64_t>(1, 65536 / (kDepth * kPanel)), [&](int64_t begin, int64_t end) {
    for (int64_t x = begin; x < end; ++x) {
      const int64_t at = x / panels * kDepth, j = x % panels * kPanel, depth = std::min(kDepth, k - at);
      pack_panels(to + at * panels * kPanel + j * depth, b, at, depth, j, std::min(kPanel, n - j));
    }
  });
}

}  // namespace updraft::packed
