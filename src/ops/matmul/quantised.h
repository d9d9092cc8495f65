// Operands of products of quantised numbers: INT8, or INT4 of which eight lie in an INT32.
#pragma once
#include <cstdint>
#include <vector>

#include "ops/op.h"

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
/// `offset` may be without memory.
Matrix real_weights(const TensorView& w, const TensorView& scale, const TensorView& offset);
/// x as a number of type t.
float rounded_to(float x, DType t);

/// a [m,k] @ b [k,n] of whole numbers below 2^8 in magnitude, exactly: pieces of k are multiplied in FLOAT, whose sums
/// stay below 2^24, and are added up in DOUBLE.
std::vector<double> product(const Matrix& a, const Matrix& b);

}  // namespace updraft::quantised
