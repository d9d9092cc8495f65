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

void solve(Conversion& c) {
  Attributes attributes = {{"adjoint", c.flag("adjoint")}};
  if (c.row.type == std::string_view("MatrixTriangularSolve")) attributes["lower"] = c.flag("lower", true);
  c.require(c.rank(c.in(0)) == c.rank(c.in(1)), "matrix is {} and rhs {}, want the same number of dimensions",
            describe(c.desc(c.in(0))), describe(c.desc(c.in(1))));
  same_inputs(c, std::move(attributes));
}

/// Sign and logarithm of determinants.
void log_determinant(Conversion& c) { c.result("LogMatrixDeterminant", {c.in(0)}, {}, 2); }

/// A matrix of which a list has the places and the values that are not 0.
void sparse_matmul(Conversion& c) {
  same_inputs(c, {{"adjoint_a", c.flag("adjoint_a")}, {"adjoint_b", c.flag("adjoint_b")}});
}

/// Of vectors of three, which lie in the last dimension.
void cross(Conversion& c) { same_inputs(c, {{"dim", int64_t{-1}}}); }

constexpr Row kRows[] = {
    {"BatchMatMul", batch_matmul, "BatchMatMulV2"},
    {"BatchMatMulV2", batch_matmul, "BatchMatMulV2"},
    {"BatchMatMulV3", batch_matmul, "BatchMatMulV2"},
    {"BiasAdd", bias_add, "BiasAdd"},
    {"BiasAddGrad", bias_add, "BiasAddGrad"},
    {"BiasAddV1", bias_add, "BiasAdd"},
    {"Cholesky", same, "Cholesky"},
    {"CholeskyGrad", same, "CholeskyGrad"},
    {"Cross", cross, "Cross"},
    {"Einsum", einsum, "BatchMatMulV2, ReduceSum, Transpose"},
    {"LogMatrixDeterminant", log_determinant, "LogMatrixDeterminant"},
    {"MatMul", matmul, "MatMulV2"},
    {"MatrixBandPart", same, "MatrixBandPart"},
    {"MatrixDeterminant", same, "MatrixDeterminant"},
    {"MatrixInverse", inverse, "MatrixInverse"},
    {"MatrixSolve", solve, "MatrixSolve"},
    {"MatrixTriangularSolve", solve, "MatrixTriangularSolve"},
    {"SparseTensorDenseMatMul", sparse_matmul, "SparseTensorDenseMatMul"},
};

}  // namespace

std::span<const Row> matmul_rows() { return kRows; }

}  // namespace updraft::tensorflow
