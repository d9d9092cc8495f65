// Products of matrices.
#include "frontends/tensorflow/convert/families.h"

namespace updraft::tensorflow {
namespace {

void matmul(Conversion& c) {
  c.ignore("a_is_sparse");
  c.ignore("b_is_sparse");
  c.result("MatMulV2", {c.in(0), c.in(1)},
           {{"transpose_x1", c.flag("transpose_a")}, {"transpose_x2", c.flag("transpose_b")}});
}

void batch_matmul(Conversion& c) {
  const bool first = c.flag("adj_x"), second = c.flag("adj_y");
  c.require((!first && !second) || !is_complex(c.type(c.in(0))), "adjoint complex matrices are not implemented");
  c.result("BatchMatMulV2", {c.in(0), c.in(1)}, {{"adj_x1", first}, {"adj_x2", second}});
}

void einsum(Conversion& c) { c.give(frontends::einsum(c, c.text("equation"), c.all())); }

/// BiasAdd and its gradient.
void bias_add(Conversion& c) { same_inputs(c, {{"data_format", c.text("data_format", "NHWC")}}); }

void inverse(Conversion& c) { c.result("MatrixInverse", {c.in(0)}, {{"adjoint", c.flag("adjoint")}}); }

constexpr Row kRows[] = {
    {"BatchMatMul", batch_matmul, "BatchMatMulV2"},
    {"BatchMatMulV2", batch_matmul, "BatchMatMulV2"},
    {"BatchMatMulV3", batch_matmul, "BatchMatMulV2"},
    {"BiasAdd", bias_add, "BiasAdd"},
    {"BiasAddGrad", bias_add, "BiasAddGrad"},
    {"BiasAddV1", bias_add, "BiasAdd"},
    {"Cholesky", same, "Cholesky"},
    {"Einsum", einsum, "BatchMatMulV2, ReduceSum, Transpose"},
    {"MatMul", matmul, "MatMulV2"},
    {"MatrixDeterminant", same, "MatrixDeterminant"},
    {"MatrixInverse", inverse, "MatrixInverse"},
};

}  // namespace

std::span<const Row> matmul_rows() { return kRows; }

}  // namespace updraft::tensorflow
