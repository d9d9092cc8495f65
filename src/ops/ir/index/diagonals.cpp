// Diagonals of matrices: taken, put on zeros, put in place of others. Those of MatrixDiagV3 and its kin are several, in
// the rows of one matrix, from the upmost to the lowest; shorter ones are padded at one end.
#include <algorithm>

#include "ops/ir/shapes.h"

namespace updraft {
namespace {

using ir::Dims;

/// Diagonal k (above the main one where positive) of the last two dimensions, as the last one.
TensorView diagonal_of(const TensorView& m, int64_t k) {
  const int row = m.rank - 2, column = m.rank - 1;
  const int64_t down = std::max<int64_t>(-k, 0), right = std::max<int64_t>(k, 0);
  const int64_t n = std::max<int64_t>(0, std::min(m.dims[row] - down, m.dims[column] - right));
  TensorView v = m;
  if (n > 0) v = ir::part_of(ir::part_of(m, row, down, n), column, right, n);
  v.dims[row] = n;
  v.strides[row] += v.strides[column];
  --v.rank;
  return v;
}

/// y[i…, i…] of a tensor whose second half of dimensions is as the first.
TensorView diagonal_of_halves(const TensorView& y) {
  TensorView v = y;
  v.rank = y.rank / 2;
  for (int d = 0; d < v.rank; ++d) v.strides[d] += y.strides[d + v.rank];
  return v;
}

struct Band {
  int64_t low, high, longest;
  bool left_above,
      left_below;  ///< where diagonals above and below the main one begin: at the left end, or they end at the right
  int64_t count() const { return high - low + 1; }
};

Band band_of(const Op& op, const In& k, int64_t rows, int64_t columns, std::string_view align) {
  const Dims given = op.integers("k", k.handle);
  op.require(given.size() == 1 || given.size() == 2, "k has {} values, want one or two", given.size());
  Band b{given.front(), given.back(), 0, align.starts_with("LEFT_"), align.ends_with("_LEFT")};
  op.require(b.low <= b.high, "k is {} and {}, want the lower diagonal first", b.low, b.high);
  op.require(align == "LEFT_LEFT" || align == "LEFT_RIGHT" || align == "RIGHT_LEFT" || align == "RIGHT_RIGHT",
             "attribute align is \"{}\", want LEFT_RIGHT, RIGHT_LEFT, LEFT_LEFT or RIGHT_RIGHT", align);
  b.longest = std::min(rows + std::min<int64_t>(b.high, 0), columns - std::max<int64_t>(b.low, 0));
  const auto exists = [&](int64_t diagonal) { return diagonal == 0 || (diagonal > -rows && diagonal < columns); };
  op.require(exists(b.low) && exists(b.high) && b.longest >= 0, "k is {} and {}, the matrices are [{},{}]", b.low,
             b.high, rows, columns);
  return b;
}

/// What the packed form holds of diagonal k, of which there are n elements.
TensorView packed(const TensorView& all, const Band& b, int64_t k, int64_t n) {
  TensorView row = all;
  if (b.count() > 1) {
    row = ir::part_of(all, all.rank - 2, b.high - k, 1);
    row.dims[row.rank - 2] = row.dims[row.rank - 1];
    row.strides[row.rank - 2] = row.strides[row.rank - 1];
    --row.rank;
  }
  const bool left = (k >= 0 && b.left_above) || (k <= 0 && b.left_below);
  return ir::part_of(row, row.rank - 1, left ? 0 : b.longest - n, n);
}

Dims packed_dims(const TensorView& m, const Band& b) {
  Dims dims(m.dims, m.dims + m.rank - 2);
  if (b.count() > 1) dims.push_back(b.count());
  dims.push_back(b.longest);
  return dims;
}

void set_diagonals(Op& op, const TensorView& matrices, const In& diagonals, const Band& b) {
  const Dims want = packed_dims(matrices, b);
  op.require(ir::dims_of(*diagonals) == want, "the diagonals are {}, want shape {}", describe(*diagonals),
             describe_shape(want.data(), static_cast<int>(want.size())));
  for (int64_t k = b.low; k <= b.high; ++k) {
    const TensorView to = diagonal_of(matrices, k);
    call(op, "aclnnInplaceCopy", to, packed(*diagonals, b, k, to.dims[to.rank - 1]));
  }
}

/// The padding value fills what is no diagonal.
void fill(Op& op, const Out& y, const In& value) {
  op.require(value->numel() == 1, "padding_value is {}, want one element", describe(*value));
  TensorView one = *value;
  one.rank = 0;
  call(op, "aclnnInplaceCopy", y, one.expand_as(*y));
}

void take_diagonal(Op& op, const In& x, const Out& y) {
  const int half = x->rank / 2;
  op.require(x->rank > 0 && x->rank % 2 == 0 && std::equal(x->dims, x->dims + half, x->dims + half),
             "x is {}, want two halves of equal dimensions", describe(*x));
  ir::copy(op, diagonal_of_halves(*x), y);
}

void require_matrices(const Op& op, const char* name, const TensorView& v) {
  op.require(v.rank >= 2, "{} is {}, want matrices", name, describe(v));
}

}  // namespace

ABOUT(Diag, Vector, "x on the diagonal of zeros with its dimensions twice", "以 x 为对角线、维度加倍的全 0 张量")
IR_OP(Diag, Diag, (In, x), (Out, y)) {
  Dims dims = ir::dims_of(*x);
  dims.insert(dims.end(), x->dims, x->dims + x->rank);
  ir::result(op, "y", *y, dims, x->dtype);
  call(op, "aclnnInplaceZero", y);
  if (op.inferring()) return;
  call(op, "aclnnInplaceCopy", diagonal_of_halves(*y), x);
}
ABOUT(DiagPart, Vector, "The diagonal of x, whose dimensions come twice", "取维度成对的 x 的对角线")
IR_OP(DiagPart, DiagPart, (In, x), (Out, y)) { take_diagonal(op, x, y); }
IR_OP(DiagPartD, DiagPart, (In, x), (In, assist), (Out, y)) {
  (void)assist;  // ones on the diagonal, for a card's vector units
  take_diagonal(op, x, y);
}
ABOUT(MatrixDiagD, Vector, "Matrices of zeros with x on their diagonals", "以 x 为对角线的零矩阵")
IR_OP(MatrixDiagD, MatrixDiagD, (In, x), (In, assist), (Out, y)) {
  op.require(x->rank >= 1 && assist->rank == x->rank + 1, "x is {} and assist {}, want one dimension more",
             describe(*x), describe(*assist));
  op.result_like("y", *y, *assist, x->dtype);
  call(op, "aclnnInplaceZero", y);
  if (op.inferring()) return;
  call(op, "aclnnInplaceCopy", diagonal_of(*y, 0), x);
}
ABOUT(MatrixDiagPartD, Vector, "The diagonals of matrices", "取各矩阵的对角线")
IR_OP(MatrixDiagPartD, MatrixDiagPartD, (In, x), (In, assist), (Out, y)) {
  (void)assist;
  require_matrices(op, "x", *x);
  ir::copy(op, diagonal_of(*x, 0), y);
}
ABOUT(MatrixSetDiagD, Vector, "x with other diagonals", "替换 x 各矩阵的对角线")
IR_OP(MatrixSetDiagD, MatrixSetDiagD, (In, x), (In, diagonal), (In, assist), (Out, y)) {
  (void)assist;
  require_matrices(op, "x", *x);
  ir::copy(op, *x, y);
  if (op.inferring()) return;
  call(op, "aclnnInplaceCopy", diagonal_of(*y, 0), diagonal);
}
ABOUT(MatrixDiagV3, Vector, "Matrices with the rows of x on diagonals k", "以 x 各行为第 k 条对角线的矩阵")
IR_OP(MatrixDiagV3, MatrixDiagV3, (In, x), (In, k), (In, num_rows), (In, num_cols), (In, padding_value), (Out, y),
      (Text, align, "RIGHT_LEFT")) {
  const Dims given = op.integers("k", k.handle);
  op.require((given.size() == 1 || given.size() == 2) && x->rank >= 1, "k has {} values and x is {}", given.size(),
             describe(*x));
  const int64_t low = given.front(), high = given.back(), longest = x->dims[x->rank - 1];
  // -1: as many as the diagonals need.
  int64_t rows = integer_of(op, "num_rows", num_rows.handle), columns = integer_of(op, "num_cols", num_cols.handle);
  const int64_t least_rows = longest - std::min<int64_t>(high, 0), least_columns = longest + std::max<int64_t>(low, 0);
  if (rows == -1 && columns == -1) rows = columns = std::max(least_rows, least_columns);
  if (rows == -1) rows = least_rows;
  if (columns == -1) columns = least_columns;
  Dims dims(x->dims, x->dims + x->rank - (low == high ? 1 : 2));
  dims.insert(dims.end(), {rows, columns});
  ir::result(op, "y", *y, dims, x->dtype);
  const Band b = band_of(op, k, rows, columns, align);
  fill(op, y, padding_value);
  if (!op.inferring()) set_diagonals(op, *y, x, b);
}
ABOUT(MatrixDiagPartV3, Vector, "Diagonals k of matrices, in rows", "取各矩阵的第 k 条对角线，逐行排列")
IR_OP(MatrixDiagPartV3, MatrixDiagPartV3, (In, x), (In, k), (In, padding_value), (Out, y),
      (Text, align, "RIGHT_LEFT")) {
  require_matrices(op, "x", *x);
  const Band b = band_of(op, k, x->dims[x->rank - 2], x->dims[x->rank - 1], align);
  ir::result(op, "y", *y, packed_dims(*x, b), x->dtype);
  fill(op, y, padding_value);
  if (op.inferring()) return;
  for (int64_t d = b.low; d <= b.high; ++d) {
    const TensorView from = diagonal_of(*x, d);
    call(op, "aclnnInplaceCopy", packed(*y, b, d, from.dims[from.rank - 1]), from);
  }
}
ABOUT(MatrixSetDiagV3, Vector, "input with other diagonals k", "替换 input 各矩阵的第 k 条对角线")
IR_OP(MatrixSetDiagV3, MatrixSetDiagV3, (In, input), (In, diagonal), (In, k), (Out, output),
      (Text, align, "RIGHT_LEFT")) {
  require_matrices(op, "input", *input);
  const Band b = band_of(op, k, input->dims[input->rank - 2], input->dims[input->rank - 1], align);
  ir::copy(op, "output", *input, output, input->dtype);
  if (!op.inferring()) set_diagonals(op, *output, diagonal, b);
}

}  // namespace updraft
