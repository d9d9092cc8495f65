// Products of numbers of eight bits for CPUs that do not add up eight bits by themselves (no VNNI). Such a CPU
// multiplies UINT8 by INT8 and adds two products in sixteen bits. Those hold them where the two INT8, as far as they
// are of one sign, are not more than 128 together (255 * 128 < 2^15). Where they are more, the UINT8 are the magnitudes
// of the weights and the INT8 the numbers, turned over where a weight is negative (~x = -x - 1). The sums are exact
// (int32).
#pragma once
#include <cstdint>

#include "kernels/quantized.h"

namespace updraft {

struct ConvolutionShape;

namespace bytes {

constexpr int64_t kDepth = 1024;           ///< numbers of a sum that are packed at a time; a multiple of 4
constexpr int64_t kRows = 192;             ///< of the left side in a block, at most
constexpr int64_t kCols = 512;             ///< of the right side in a block, at most
constexpr int64_t kRowLine = kDepth + 64;  ///< between rows of the left side: an odd number of cache lines
constexpr int64_t kSumLine = kCols + 16;   ///< between rows of sums

/// What becomes of the sums of a row: (sum * scale + bias + addend) by result, or (FLOAT) as it is.
struct Tail {
  const float* scale = nullptr;
  bool each = false;  ///< a scale for each
  const float* bias = nullptr;
  const void* addend = nullptr;  ///< numbers of eight bits
  bool addend_sign = false, relu = false;
  float addend_scale = 1, addend_zero = 0;
  QuantizedResult result{};
  DType type = DType::Float;  ///< of the results: FLOAT, INT8 or UINT8
};

/// Compiled for each instruction set (kernels/simd/byte_product.cpp).
struct Kernels {
  int64_t columns;  ///< of the right side that lie together, a panel: [depth / 4][columns][4]
  /// sums [m, columns] = left [m, depth] @ a panel, or (add) that beside what they hold; depth is a multiple of 4.
  /// `small`: sums of two products have no more than sixteen bits. Otherwise 128 is taken from each number of the left
  /// side, and each negative weight adds itself once more. `next`: the panel that comes next.
  void (*product)(int64_t m, int64_t depth, const uint8_t* left, const int8_t* panel, bool small, const int8_t* next,
                  int32_t* sums, bool add);
  /// A row of n results; `less` is taken from the sums.
  void (*finish)(const int32_t* sums, const int32_t* less, int64_t n, const Tail& tail, void* to);
};
const Kernels& kernels();

/// Whether this way is wanted: not for a few channels of each of many groups.
bool suits(const ConvolutionShape& s, const TensorView& filter);

/// x [N, ..., C] dense, filter INT8 [O, C / groups, ...] of any strides, y [N, ..., O] dense. The tail's scale, bias
/// and addend are those of the whole. `constant` may be null.
void convolution(const ConvolutionShape& s, const TensorView& x, int32_t x_zero, const TensorView& filter,
                 ConstantOperand* constant, const Tail& tail, const TensorView& y);

}  // namespace bytes
}  // namespace updraft
