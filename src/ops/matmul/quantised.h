// Operands of products of quantised numbers: INT8, or INT4 of which eight lie in an INT32.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "ops/op.h"
#include "tensor/view_algebra.h"

namespace updraft::quantised {

/// A matrix of whole numbers as FLOAT, row-major.
struct Matrix {
  int64_t rows = 0, columns = 0;
  std::vector<float> numbers;
};
/// Dimensions of the matrix that `v` means: INT32 is eight numbers along the dimension that lies side by side.
void matrix_dims(const TensorView& v, int64_t* rows, int64_t* columns);
Matrix matrix_of(const TensorView& v);

/// Scales as FLOAT: FLOAT and halves as they are; UINT64 and INT64 are words of aclnnTransQuantParam.
std::vector<float> scales_of(const TensorView& v);
/// The offsets that such words hold; empty where v is of another type.
std::vector<float> offsets_of(const TensorView& v);
bool is_scale(DType t);

/// (w + offset) * scale by columns, each step rounded to the scales' type, as the unit has it that makes these weights.
/// `offset` may be without memory. group: how many rows share a row of scales and offsets; 0: all of them.
Matrix real_weights(const TensorView& w, const TensorView& scale, const TensorView& offset, int64_t group = 0);
/// x as a number of type t.
float rounded_to(float x, DType t);

/// a [m,k] @ b [k,n] of whole numbers below 2^8 in magnitude, exactly: pieces of k are multiplied in FLOAT, whose sums
/// stay below 2^24, and are added up in DOUBLE.
std::vector<double> product(const Matrix& a, const Matrix& b);
/// The same times `scale`, which has a row of n for each of so many equal groups of k.
std::vector<double> scaled_product(const Matrix& a, const Matrix& b, const std::vector<float>& scale, int64_t groups);

/// x1 @ x2 of whole numbers, brought back to real ones: ((x1 @ x2 + whole bias) * scale + y_offset) * x1_scale + bias.
struct QuantProduct {
  TensorView x1{}, x2{}, scale{}, out{};
  TensorView x1_scale{}, x2_offset{}, y_offset{}, bias{};  ///< may be absent
  void run() const;
};
/// Checks the operands; `out` gets its shape and becomes that of the product.
QuantProduct checked(const Op& op, QuantProduct p, const TensorView& out);

/// x @ ((weight + offset) * scale) + bias, quantised on request.
struct WeightProduct {
  TensorView x{}, weight{}, scale{}, out{};
  TensorView offset{}, quant_scale{}, quant_offset{}, bias{};  ///< may be absent
  int64_t group = 0;                                           ///< rows that share a scale; 0: all of them
  void run() const;
};
WeightProduct checked(const Op& op, WeightProduct p, const TensorView& y);

/// Calls f(a, b, out) for each pair of matrices of x1 and x2, whose dimensions in front broadcast to those of out.
template <class F>
void each_matrix(const TensorView& x1, const TensorView& x2, const TensorView& out, F&& f) {
  const int rank = out.rank - 2;
  auto expanded = [&](const TensorView& v) {
    int64_t full[kMaxDims];
    std::copy_n(out.dims, rank, full);
    std::copy_n(v.dims + v.rank - 2, 2, full + rank);
    return v.expand(full, out.rank);
  };
  const TensorView a = expanded(x1), b = expanded(x2), batches = first_dims(out, rank);
  for (int64_t i = 0; i < batches.numel(); ++i) {
    auto matrix = [&](const TensorView& v) {
      TensorView one = last_dims(v, 2);
      one.data = at_element(v, first_dims(v, rank).offset_of(i));
      return one;
    };
    f(matrix(a), matrix(b), matrix(out));
  }
}

}  // namespace updraft::quantised
