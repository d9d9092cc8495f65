#include "kernels/matmul/packed.h"

#include <algorithm>
#include <dnnl.hpp>
#include <string_view>

#include "base/parallel.h"
#include "base/scratch.h"
#include "kernels/matmul/product_blocks.h"
#include "kernels/matmul/tiles.h"
#include "kernels/table.h"
#include "tensor/view_algebra.h"

namespace updraft {

#define LEVEL_TYPE packed::Kernels
#define LEVEL_TABLE packed_kernels
#include "kernels/level_table.inc"

namespace packed {
namespace {

/// Columns of a panel.
int64_t panel() { return level_table().columns; }

int64_t batches_of(const TensorView& c) { return c.numel() / (c.dims[c.rank - 2] * c.dims[c.rank - 1]); }

/// Blocks of the result: whole tiles and panels, of about the same size. Those of some rows that stand one above the
/// other are made together, since they share what is packed of the right side.
struct Blocks {
  int64_t unit;        ///< of rows
  int64_t rows, cols;  ///< of a block
  int64_t row_blocks, col_blocks;
  int64_t together = 1, groups;  ///< blocks of rows

  Blocks(const Product& p, int threads) : unit(by_tiles(p) ? 2 * tiles::kLanesOfTile : kTile) {
    const int r = p.c.rank;
    const int64_t batches = batches_of(p.c), m = p.c.dims[r - 2], n = p.c.dims[r - 1], k = p.a.dims[r - 1];
    rows = even_block(m, kRows, unit);
    cols = even_block(n, kCols, panel());
    constexpr int64_t kLeast = 1 << 20;  // multiplications in a block that are worth a thread's while
    constexpr int64_t kMostTogether = 4;
    const int64_t wanted = threads == 1 ? 1 : 4 * threads;
    count(m, n);
    while (batches * row_blocks * col_blocks < wanted && rows * cols * k > 2 * kLeast) {
      if (cols >= rows && cols > panel()) cols = even_block(cols, (cols + 1) / 2, panel());
      else if (rows > unit) rows = even_block(rows, (rows + 1) / 2, unit);
      else break;
      count(m, n);
    }
    together = std::clamp<int64_t>(batches * row_blocks * col_blocks / wanted, 1, std::min(row_blocks, kMostTogether));
    groups = (row_blocks + together - 1) / together;
  }

 private:
  static constexpr int64_t kTile = 24;  // a multiple of every instruction set's rows of a tile
  void count(int64_t m, int64_t n) {
    row_blocks = (m + rows - 1) / rows;
    col_blocks = (n + cols - 1) / cols;
  }
};

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

/// Whether the left side is packed from columns.
bool in_columns(const TensorView& a) { return a.strides[1] != 1 && a.strides[0] == 1; }

/// Whether the left side is read where it lies: short rows of floats, close to each other.
bool reads_rows(const TensorView& a) {
  const int64_t row = a.strides[a.rank - 2];
  return a.dtype == DType::Float && a.strides[a.rank - 1] == 1 && row > 0 && row <= kRowLine &&
         a.dims[a.rank - 1] <= kDepth;
}

/// Rows [i, i + m) and columns [p, p + k) of the left side.
void pack_left(float* to, const TensorView& a, int64_t i, int64_t m, int64_t p, int64_t k) {
  const int64_t rows = a.strides[0], columns = a.strides[1];
  if (in_columns(a)) return kernels().pack_columns(to, at_element(a, i + p * columns), a.dtype, columns, m, k);
  const LoadFn load = kernels().load[static_cast<int>(a.dtype)][static_cast<int>(Compute::F32)];
  for (int64_t x = 0; x < m; ++x) load(to + x * kRowLine, at_element(a, (i + x) * rows + p * columns), columns, k);
}

/// Rows [p, p + k) and columns [j, j + n) of the right side.
void pack_panels(float* to, const TensorView& b, int64_t p, int64_t k, int64_t j, int64_t n) {
  // Rows are read some at a time through all panels: a panel's width of each row alone would be a line of the cache
  // here and there.
  const int64_t some = b.strides[1] == 1 ? 8 : k;
  for (int64_t y = 0; y < k; y += some)
    for (int64_t x = 0; x < n; x += panel())
      kernels().pack_panel(to + x * k + y * panel(), at_element(b, (p + y) * b.strides[0] + (j + x) * b.strides[1]),
                           b.dtype, b.strides[0], b.strides[1], std::min(some, k - y), std::min(panel(), n - x));
}

/// What the columns from j on are followed by, without what is added.
Tail tail_of(const Product& p, int64_t j) {
  Tail tail{static_cast<float>(p.alpha), static_cast<float>(p.beta)};
  if (p.scale) tail.scale = p.scale + j;
  if (p.bias) tail.bias = p.bias + j;
  tail.relu = p.relu, tail.hard_swish = p.hard_swish;
  return tail;
}

/// The sums of a block to the result. `row` holds a row of what is added.
void finish(const Product& p, const TensorView& c, const TensorView& add, float* sums, float* row, int64_t i, int64_t m,
            int64_t j, int64_t n) {
  const KernelTable& t = kernels();
  const LoadFn load = t.load[static_cast<int>(add.dtype)][static_cast<int>(Compute::F32)];
  const StoreFn store = t.store[static_cast<int>(Compute::F32)][static_cast<int>(c.dtype)];
  Tail tail = tail_of(p, j);
  const bool plain = tail.alpha == 1 && tail.beta == 0 && !tail.scale && !tail.bias && !tail.relu && !tail.hard_swish;
  for (int64_t x = 0; x < m; ++x, sums += kSumLine) {
    if (p.beta != 0) {
      if (x == 0 || add.strides[0] != 0)
        load(row, at_element(add, (i + x) * add.strides[0] + j * add.strides[1]), add.strides[1], n);
      tail.add = row;
    }
    if (!plain) level_table().finish(sums, n, tail, sums);
    store(at_element(c, (i + x) * c.strides[0] + j * c.strides[1]), c.strides[1], sums, n);
  }
}

size_t left_floats(const Product& p, const Blocks& by) {
  if (!in_columns(last_dims(p.a, 2))) return static_cast<size_t>(by.rows * kRowLine);
  const int64_t panels = (by.rows + kLeastTileRows - 1) / kLeastTileRows;
  return static_cast<size_t>(std::min(kDepth, p.a.dims[p.a.rank - 1]) * by.rows + panels * kPanelGap);
}
size_t panel_floats(const Product& p, const Blocks& by) {
  return static_cast<size_t>(std::min(kDepth, p.a.dims[p.a.rank - 1]) * by.cols);
}

/// The left side packed as a whole, before the blocks are made: it serves all blocks of columns.
struct WholeLeft {
  size_t block;  ///< floats of a block of rows, some columns of the left side wide
  float* data = nullptr;

  WholeLeft(const Product& p, const Blocks& by) : block(left_floats(p, by)), by_(by), depth_(p.a.dims[p.a.rank - 1]) {}

  /// Nobody gains by it where there is one block of columns, and what does not stay in a cache is better made anew.
  bool wanted(const Product& p) const {
    constexpr size_t kMost = (16 << 20) / sizeof(float);
    return !by_tiles(p) && !reads_rows(p.a) && by_.col_blocks > 1 && batches_of(p.c) == 1 && floats() <= kMost;
  }
  size_t floats() const { return block * static_cast<size_t>(by_.row_blocks * parts()); }
  int64_t parts() const { return (depth_ + kDepth - 1) / kDepth; }
  /// Rows [i, i + by.rows) and columns [at, at + kDepth).
  float* at(int64_t i, int64_t at) const {
    return data + static_cast<size_t>(at / kDepth * by_.row_blocks + i / by_.rows) * block;
  }

 private:
  const Blocks& by_;
  int64_t depth_;
};

/// Tiles take as many bytes as floats, in whole tiles; blocks are multiples of the lanes of two but for the last rows.
size_t tile_floats(const Product& p, int64_t lanes) {
  const int64_t depth = std::min(kDepth, p.a.dims[p.a.rank - 1]);
  return static_cast<size_t>(round_up(depth, tiles::kDepthOfTile) * round_up(lanes, 2 * tiles::kLanesOfTile));
}

/// Tiles of the last rows reach below them.
size_t sum_floats(const Blocks& by) {
  return static_cast<size_t>(round_up(by.together * by.rows, tiles::kLanesOfTile) * kSumLine);
}

/// The blocks of the result in the thread that makes them.
class Worker {
 public:
  Worker(const Product& p, const Blocks& by, const WholeLeft& whole, ScratchScope& scratch)
      : p_(p), by_(by), whole_(whole), split_(by_tiles(p)) {
    left_ = whole.data ? nullptr : scratch.take<float>(split_ ? tile_floats(p, by.rows) : left_floats(p, by));
    panels_ = p.right ? nullptr : scratch.take<float>(split_ ? tile_floats(p, by.cols) : panel_floats(p, by));
    sums_ = scratch.take<float>(sum_floats(by));
    row_ = scratch.take<float>(static_cast<size_t>(kCols));
  }

  /// Rows [top, bottom) and columns [j, j + cols) of a matrix of the batch.
  void make(int64_t batch, int64_t top, int64_t bottom, int64_t j, int64_t cols) {
    const TensorView a = matrix_of(p_.a, p_.c, batch), b = matrix_of(p_.b, p_.c, batch);
    const float* right = p_.right ? p_.right + batch * right_floats(p_) : nullptr;
    const TensorView c = matrix_of(p_.c, p_.c, batch), add = matrix_of(p_.add, p_.c, batch);
    if (split_) {
      by_tiles_of(a, b, right, top, bottom, j, cols);
    } else if (writes_results(add) && cols % panel() == 0) {
      Tail tail = tail_of(p_, j);
      if (p_.beta != 0) {
        tail.add = reinterpret_cast<const float*>(at_element(add, top * add.strides[0] + j));
        tail.add_line = add.strides[0];
      }
      auto* to = reinterpret_cast<float*>(at_element(c, top * c.strides[0] + j));
      return in_float(a, b, right, left_, panels_, to, c.strides[0], &tail, top, bottom, j, cols);
    } else {
      in_float(a, b, right, left_, panels_, sums_, kSumLine, nullptr, top, bottom, j, cols);
    }
    finish(p_, c, add, sums_, row_, top, bottom - top, j, cols);
  }

 private:
  /// Results of one part of the depth are written where they belong, if they are floats in rows, as is what is added.
  /// More parts are added up in a block that stays in the cache.
  bool writes_results(const TensorView& add) const {
    const auto in_rows = [](const TensorView& v) { return v.dtype == DType::Float && v.strides[v.rank - 1] == 1; };
    return p_.a.dims[p_.a.rank - 1] <= kDepth && in_rows(p_.c) && (p_.beta == 0 || in_rows(add));
  }

  /// `to`: of the first row and column; `line` between its rows.
  void in_float(const TensorView& a, const TensorView& b, const float* packed, float* left, float* panels, float* to,
                int64_t line, const Tail* tail, int64_t top, int64_t bottom, int64_t j, int64_t cols) const {
    const int64_t k = a.dims[1], n = b.dims[1];
    for (int64_t at = 0; at < k; at += kDepth) {
      const int64_t depth = std::min(kDepth, k - at);
      const float* right = packed ? packed + at * round_up(n, panel()) + j * depth : panels;
      // What comes after it: the next part of the depth, or the next block of columns.
      const int64_t behind = at + kDepth;
      const float* after = nullptr;
      if (packed && behind < k) after = packed + behind * round_up(n, panel()) + j * std::min(kDepth, k - behind);
      else if (packed && j + cols < n) after = packed + (j + cols) * std::min(kDepth, k);
      if (!packed) pack_panels(panels, b, at, depth, j, cols);
      for (int64_t i = top; i < bottom; i += by_.rows) {
        const int64_t rows = std::min(by_.rows, bottom - i);
        const float* from = whole_.data ? whole_.at(i, at) : left;
        int64_t left_line = in_columns(a) ? 0 : kRowLine;
        if (reads_rows(a)) {
          from = reinterpret_cast<const float*>(at_element(a, i * a.strides[0] + at));
          left_line = a.strides[0];
        } else if (!whole_.data) {
          pack_left(left, a, i, rows, at, depth);
        }
        Tail own = tail ? *tail : Tail{};
        if (own.add) own.add += (i - top) * own.add_line;
        level_table().product(rows, round_up(cols, panel()), depth, from, left_line, right, after,
                              to + (i - top) * line, line, at != 0, tail && behind >= k ? &own : nullptr);
      }
    }
  }

  void by_tiles_of(const TensorView& a, const TensorView& b, const float* packed, int64_t top, int64_t bottom,
                   int64_t j, int64_t cols) {
    const KernelTable& t = kernels();
    const int64_t k = a.dims[1], n = b.dims[1];
    auto* left = reinterpret_cast<uint16_t*>(left_);
    for (int64_t at = 0; at < k; at += kDepth) {
      const int64_t depth = std::min(kDepth, k - at), whole = round_up(depth, tiles::kDepthOfTile);
      const float* right = packed ? packed + at * round_up(n, panel()) + j * whole : panels_;
      if (!packed) split_right(panels_, b, at, depth, j, cols);
      for (int64_t i = top; i < bottom; i += by_.rows) {
        const int64_t rows = std::min(by_.rows, bottom - i);
        t.split_halves(left, reinterpret_cast<const Half*>(at_element(a, i * a.strides[0] + at * a.strides[1])),
                       a.strides[0], a.strides[1], rows, depth, false);
        t.split_product(rows, cols, depth, left, reinterpret_cast<const uint16_t*>(right), sums_ + (i - top) * kSumLine,
                        at != 0);
      }
    }
    bool finite = true;
    for (int64_t x = 0; x < bottom - top && finite; ++x) finite = t.all_finite_f32(sums_ + x * kSumLine, cols);
    if (finite) return;
    ScratchScope scratch;
    auto* sums = scratch.take<float>(sum_floats(by_));
    in_float(a, b, nullptr, scratch.take<float>(left_floats(p_, by_)), scratch.take<float>(panel_floats(p_, by_)), sums,
             kSumLine, nullptr, top, bottom, j, cols);
    for (int64_t x = 0; x < bottom - top; ++x) t.take_infinite(sums_ + x * kSumLine, sums + x * kSumLine, cols);
  }

 public:
  static void split_right(float* to, const TensorView& b, int64_t at, int64_t depth, int64_t j, int64_t cols) {
    kernels().split_halves(reinterpret_cast<uint16_t*>(to),
                           reinterpret_cast<const Half*>(at_element(b, at * b.strides[0] + j * b.strides[1])),
                           b.strides[1], b.strides[0], cols, depth, true);
  }

 private:
  const Product& p_;
  const Blocks& by_;
  const WholeLeft& whole_;
  const bool split_;
  float *left_, *panels_, *sums_, *row_;
};

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

bool takes_constants() {
  constexpr auto avx512 = static_cast<unsigned>(dnnl::cpu_isa::avx512_core);
  static const bool yes = (static_cast<unsigned>(dnnl::get_effective_cpu_isa()) & avx512) != avx512;
  return yes;
}

bool converts(DType t) { return t == DType::Float || t == DType::Float16 || t == DType::BFloat16; }

void multiply(const Product& given) {
  const Product p = in_rows(given);
  const int r = p.c.rank;
  const int64_t m = p.c.dims[r - 2], n = p.c.dims[r - 1], k = p.a.dims[r - 1], batches = batches_of(p.c);
  const Blocks by(p, parallel_width());
  const int64_t pieces = by.groups * by.col_blocks;  // of a matrix
  const int64_t cost = by.together * std::min(m, by.rows) * std::min(n, by.cols) * k;
  ScratchScope shared;
  WholeLeft whole(p, by);
  if (whole.wanted(p)) {
    whole.data = shared.take<float>(whole.floats());
    const TensorView a = matrix_of(p.a, p.c, 0);
    const int64_t parts = whole.parts();
    parallel_for(by.row_blocks * parts, std::max<int64_t>(1, 65536 / (by.rows * std::min(k, kDepth))),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t x = begin; x < end; ++x) {
                     const int64_t i = x / parts * by.rows, at = x % parts * kDepth;
                     pack_left(whole.at(i, at), a, i, std::min(by.rows, m - i), at, std::min(kDepth, k - at));
                   }
                 });
  }
  parallel_for(batches * pieces, std::max<int64_t>(1, 262144 / cost), [&](int64_t begin, int64_t end) {
    ScratchScope scratch;
    Worker worker(p, by, whole, scratch);
    for (int64_t x = begin; x < end; ++x) {
      const int64_t top = x % pieces / by.col_blocks * by.together * by.rows, j = x % by.col_blocks * by.cols;
      worker.make(x / pieces, top, std::min(m, top + by.together * by.rows), j, std::min(by.cols, n - j));
    }
  });
}

bool by_tiles(const Product& p) {
  return p.a.dtype == DType::Float16 && p.b.dtype == DType::Float16 &&
         p.a.dims[p.a.rank - 1] >= tiles::kDepthOfTile / 2 && tiles::available();
}

size_t scratch_bytes(const Product& given, bool packed) {
  const Product p = packed ? given : in_rows(given);
  const Blocks by(p, 1);  // the largest there are
  const bool split = by_tiles(p);
  const Blocks now(p, parallel_width());
  const WholeLeft whole(p, now);
  const size_t panels =
      packed ? 0 : scratch_size((split ? tile_floats(p, by.cols) : panel_floats(p, by)) * sizeof(float));
  const size_t left = whole.wanted(p) ? whole.floats() : split ? tile_floats(p, by.rows) : left_floats(p, by);
  return panels + scratch_size(left * sizeof(float)) + scratch_size(sum_floats(by) * sizeof(float)) +
         scratch_size(kCols * sizeof(float));
}

int64_t right_floats(const Product& p) {
  const int64_t k = p.b.dims[p.b.rank - 2], n = p.b.dims[p.b.rank - 1];
  return (by_tiles(p) ? round_up(k, tiles::kDepthOfTile) : k) * round_up(n, panel());
}

void pack_right(const Product& p, float* to) {
  const TensorView& b = p.b;
  const int64_t k = b.dims[0], n = b.dims[1], panels = (n + panel() - 1) / panel();
  const int64_t parts = (k + kDepth - 1) / kDepth * panels;
  const bool split = by_tiles(p);
  parallel_for(parts, std::max<int64_t>(1, 65536 / (kDepth * panel())), [&](int64_t begin, int64_t end) {
    for (int64_t x = begin; x < end; ++x) {
      const int64_t at = x / panels * kDepth, j = x % panels * panel(), depth = std::min(kDepth, k - at);
      const int64_t lanes = std::min(panel(), n - j);
      float* block = to + at * panels * panel();
      if (split) Worker::split_right(block + j * round_up(depth, tiles::kDepthOfTile), b, at, depth, j, lanes);
      else pack_panels(block + j * depth, b, at, depth, j, lanes);
    }
  });
}

}  // namespace packed
}  // namespace updraft
