// Sums and products of numbers of eight bits, each of which stands for (number - zero) * scale.
#pragma once
#include <cstdint>

#include "tensor/view.h"

namespace updraft {

class ConstantOperand;
struct ConvolutionShape;

/// y = a + b, or its positive part, all three of eight bits.
struct QuantizedSum {
  float a_scale, a_zero, b_scale, b_zero, scale, zero;
  bool relu;
};

/// Loops over dense elements, of INT8 (has_sign) or UINT8. Scales and zero points are one for all, or (each) one for
/// each element. They are compiled for each instruction set (kernels/simd/quantized.cpp); quantized_rows() is the one
/// for this CPU.
struct QuantizedRows {
  void (*quantize)(const float* x, int64_t n, const float* scale, const float* zero, bool each, bool has_sign,
                   void* to);
  void (*dequantize)(const void* x, bool has_sign, int64_t n, const float* scale, const float* zero, bool each,
                     float* to);
  void (*sum)(const void* a, const void* b, bool has_sign, int64_t n, const QuantizedSum& q, void* to);
};
const QuantizedRows& quantized_rows();

/// What a product gives: whole numbers of eight bits by scale and zero, or (FLOAT) what they stand for.
struct QuantizedResult {
  float scale = 1;
  int32_t zero = 0;
};

/// Numbers of eight bits that are added to a result before it is rounded; relu: the positive part of the sum is wanted.
struct QuantizedAddend {
  TensorView values;  ///< of the result's shape; without memory: nothing is added
  float scale = 1;
  int32_t zero = 0;
  bool relu = false;
};

/// to = x / scale + zero, rounded to the nearest (of two the even one) before zero is added, within the type. `to` is
/// INT8 or UINT8 and x of any real type. scale and zero (FLOAT) have one element, or one for each place of dimension
/// `axis`. Any strides; both in the same order in memory are fastest.
void quantize(const TensorView& x, const TensorView& scale, const TensorView& zero, int axis, const TensorView& to);
/// to = (x - zero) * scale.
void dequantize(const TensorView& x, const TensorView& scale, const TensorView& zero, int axis, const TensorView& to);
/// All three of one type and shape.
void quantized_sum(const TensorView& a, const TensorView& b, const QuantizedSum& q, const TensorView& to);

/// to = table[x] by the bytes of x, of 256 numbers of eight bits. Any strides; the same order in memory is fastest.
void look_up(const TensorView& x, const TensorView& table, const TensorView& to);

/// y = (sum of (x - x_zero) * filter) * scale + bias + addend. x is INT8 or UINT8 [N, C, ...], filter INT8 and
/// constant, scale FLOAT [O] or [1] (that of x and of the filter in one), bias FLOAT [O] or without memory, y FLOAT or
/// of eight bits. The sums are exact. What the channels innermost have is taken as it lies.
void quantized_convolution(const ConvolutionShape& s, const TensorView& x, int32_t x_zero, const TensorView& filter,
                           ConstantOperand* constant, const TensorView& scale, const TensorView& bias,
                           const QuantizedAddend& addend, const QuantizedResult& result, const TensorView& y);
/// The same of a product, without an addend: x [M, K], weight [K, N], y [M, N].
void quantized_product(const TensorView& x, int32_t x_zero, const TensorView& weight, ConstantOperand* constant,
                       const TensorView& scale, const TensorView& bias, const QuantizedResult& result,
                       const TensorView& y);

}  // namespace updraft
