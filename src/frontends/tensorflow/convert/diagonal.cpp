// Diagonals of matrices and of tensors whose dimensions come twice. The first form of each operator is about the main
// diagonal, the second names diagonals, shorter ones of which begin at the left, and the third says where they begin.
#include "frontends/tensorflow/convert/families.h"

namespace updraft::tensorflow {
namespace {

std::string align_of(Conversion& c) {
  return std::string_view(c.row.type).ends_with("V3") ? c.text("align", "RIGHT_LEFT") : "LEFT_LEFT";
}
bool is_first(const Conversion& c) {
  const std::string_view type = c.row.type;
  return !type.ends_with("V2") && !type.ends_with("V3");
}

void matrix_diag(Conversion& c) {
  const Endpoint x = c.in(0);
  if (is_first(c)) {
    const Endpoint any = c.integer_scalar(-1);
    c.result(c.row.ascend, {x, c.integer_scalar(0), any, any, c.scalar_like(0, x)}, {{"align", align_of(c)}});
  } else {
    c.result(c.row.ascend, {x, c.in(1), c.in(2), c.in(3), c.in(4)}, {{"align", align_of(c)}});
  }
}

void matrix_diag_part(Conversion& c) {
  const Endpoint x = c.in(0);
  const Endpoint k = is_first(c) ? c.integer_scalar(0) : c.in(1);
  const Endpoint padding = is_first(c) ? c.scalar_like(0, x) : c.in(2);
  c.result(c.row.ascend, {x, k, padding}, {{"align", align_of(c)}});
}

void matrix_set_diag(Conversion& c) {
  const Endpoint k = is_first(c) ? c.integer_scalar(0) : c.in(2);
  c.result(c.row.ascend, {c.in(0), c.in(1), k}, {{"align", align_of(c)}});
}

constexpr Row kRows[] = {
    {"Diag", same, "Diag"},
    {"DiagPart", same, "DiagPart"},
    {"MatrixDiag", matrix_diag, "MatrixDiagV3"},
    {"MatrixDiagPart", matrix_diag_part, "MatrixDiagPartV3"},
    {"MatrixDiagPartV2", matrix_diag_part, "MatrixDiagPartV3"},
    {"MatrixDiagPartV3", matrix_diag_part, "MatrixDiagPartV3"},
    {"MatrixDiagV2", matrix_diag, "MatrixDiagV3"},
    {"MatrixDiagV3", matrix_diag, "MatrixDiagV3"},
    {"MatrixSetDiag", matrix_set_diag, "MatrixSetDiagV3"},
    {"MatrixSetDiagV2", matrix_set_diag, "MatrixSetDiagV3"},
    {"MatrixSetDiagV3", matrix_set_diag, "MatrixSetDiagV3"},
};

}  // namespace

std::span<const Row> diagonal_rows() { return kRows; }

}  // namespace updraft::tensorflow
