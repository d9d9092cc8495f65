// Products of which an operand has a type that the CPU does not multiply (fp16, mostly): blocks are converted to float
// and packed in one pass, so that what is converted stays in the cache, and results are rounded block by block.
//
// A sum is made in the order of its terms by one accumulator, so its bits depend neither on the blocks nor on the
// number of threads.
#pragma once
#include <cstddef>
#include <cstdint>

#include "tensor/view.h"

namespace updraft::packed {

constexpr int64_t kDepth = 256;  ///< of the sum: what is packed at a time
constexpr int64_t kRows = 192;   ///< of the left side in a block, at most
constexpr int64_t kCols = 384;   ///< of the right side in a block, at most

/// The left side lies in rows of kDepth where its source has rows, or in panels of a tile's rows where it has columns:
/// [k][rows of a tile], a panel as long as what a tile reads, so that it stays in the cache beside the right side's.
/// Lines are an odd number of cache lines apart, or the lines of a block would share a few sets of the cache.
constexpr int64_t kRowLine = kDepth + 16;
constexpr int64_t kPanelGap = 16;      ///< floats between two panels of the left side, which are written past their end
constexpr int64_t kLeastTileRows = 4;  ///< that any instruction set has
/// Of the sums of a block.
constexpr int64_t kSumLine = kCols + 16;

/// What becomes of sums: sum * alpha * scale + bias + beta * add, and of that the positive part or hard swish,
/// x * min(max(x / 6 + 1 / 2, 0), 1). Null: none. All begin at the first column.
struct Tail {
  float alpha = 1, beta = 0;
  const float *scale = nullptr, *bias = nullptr, *add = nullptr;
  int64_t add_line = 0;  ///< between rows of what is added
  bool relu = false, hard_swish = false;
};
/// Compiled for each instruction set (kernels/simd/packed.cpp).
struct Kernels {
  int64_t columns;  ///< of the right side that lie together, a panel: [k][columns]
  /// c [m, n] = left [m, k] @ right, or (sum) that beside what c holds, and with a tail what becomes of it. n is of
  /// whole panels. left_line: between rows of the left side; 0: it lies in panels. `after`: what is read after the
  /// right side, or null.
  void (*product)(int64_t m, int64_t n, int64_t k, const float* left, int64_t left_line, const float* right,
                  const float* after, float* c, int64_t line, bool sum, const Tail* tail);
  /// What becomes of a row of n sums; `to` may be the sums.
  void (*finish)(const float* sums, int64_t n, const Tail& tail, float* to);
};

/// c = alpha * a @ b + beta * add, and what follows that. a [..., m, k], b [..., k, n], c and add [..., m, n] with the
/// same batch dimensions (strides may be 0); k > 0, nothing is empty.
struct Product {
  TensorView a, b, c, add;
  double alpha = 1, beta = 0;
  const float *scale = nullptr, *bias = nullptr;  ///< [n], as Tail has them
  bool relu = false, hard_swish = false;
  const float* right = nullptr;  ///< all matrices of b, each as pack_right() left it; b itself is not read
};

/// FLOAT, FLOAT16 and BFLOAT16 are converted.
bool converts(DType t);
/// Whether FLOAT by a constant is better multiplied here. With AVX-512 oneDNN arranges constants as it likes them;
/// without it reads them as they lie, some widths and small batches at half its speed or less.
bool takes_constants();

void multiply(const Product& p);
/// Scratch that it takes in the thread that calls it, in bytes. `packed`: there will be a p.right.
size_t scratch_bytes(const Product& p, bool packed);

/// The CPU's tiles multiply it (kernels/matmul/tiles.h), and p.right has their form.
bool by_tiles(const Product& p);
/// A constant matrix of p.b, packed as a whole: so many floats.
int64_t right_floats(const Product& p);
/// p.b is the matrix [k, n].
void pack_right(const Product& p, float* to);

}  // namespace updraft::packed
