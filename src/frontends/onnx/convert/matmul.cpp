// Products of matrices.
#include <algorithm>

#include "frontends/onnx/convert/families.h"

namespace updraft::onnx {
namespace {

/// As numpy has it: vectors are rows on the left and columns on the right.
void matmul(Conversion& c) {
  Endpoint a = c.in(0), b = c.in(1);
  const bool row = c.rank(a) == 1, column = c.rank(b) == 1;
  if (row) a = c.unsqueeze(a, {0});
  if (column) b = c.unsqueeze(b, {1});
  const char* type = c.rank(a) == 2 && c.rank(b) == 2 ? "MatMulV2" : "BatchMatMulV2";
  if (!row && !column) {
    c.result(type, {a, b});
    return;
  }
  const Endpoint y = c.emit(type, {a, b});
  Dims axes;
  if (row) axes.push_back(-2);
  if (column) axes.push_back(-1);
  c.result("Squeeze", {y}, {{"axis", axes}});
}

void gemm(Conversion& c) {
  const Endpoint a = c.in(0), b = c.in(1), bias = c.maybe(2);
  const float alpha = c.real("alpha", 1), beta = c.real("beta", 1);
  const bool turn_a = c.flag("transA"), turn_b = c.flag("transB");
  const Attributes turns = {{"transpose_x1", turn_a}, {"transpose_x2", turn_b}};
  if (alpha == 1 && (!bias || (beta == 1 && c.rank(bias) == 1))) {
    c.result("MatMulV2", {a, b, bias}, turns);
    return;
  }
  Endpoint y = c.emit("MatMulV2", {a, b}, turns);
  if (!bias) {
    c.result("Mul", {y, c.scalar_like(alpha, y)});
    return;
  }
  if (alpha != 1) y = c.mul(y, alpha);
  c.result("Add", {y, beta == 1 ? bias : c.mul(bias, beta)});
}

void einsum(Conversion& c) { c.pass(frontends::einsum(c, c.text("equation", ""), c.all())); }

constexpr Row kRows[] = {
    {"Det", 11, same, "MatrixDeterminant"},
    {"Einsum", 12, einsum, "BatchMatMulV2, ReduceSum, Transpose"},
    {"Gemm", 7, gemm, "MatMulV2, Add"},
    {"MatMul", 1, matmul, "MatMulV2, BatchMatMulV2"},
};

}  // namespace

std::span<const Row> matmul_rows() { return kRows; }

}  // namespace updraft::onnx
