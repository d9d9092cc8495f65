// Sums, means, extremes and norms over axes. Types that end in D have the axes as an attribute, the others as a tensor.
#include <algorithm>
#include <cmath>

#include "ops/ir/shapes.h"
#include "ops/linalg/dense.h"

namespace updraft {
namespace {

using ir::Dims;

/// No axes: nothing is reduced.
bool is_identity(const Op&, const TensorView& x, const Dims& axes) { return axes.empty() && x.rank > 0; }

void sum(Op& op, const In& x, const Dims& axes, bool keep, const Out& y) {
  const Dims at = ir::axes_of(op, "axes", axes, x->rank);
  if (is_identity(op, *x, at)) return ir::copy(op, *x, y);
  call(op, "aclnnReduceSum", x, at, keep, ir::type_of(*y, x->dtype), y);
}

void mean(Op& op, const In& x, const Dims& axes, bool keep, bool noop, DType type, const Out& y) {
  const Dims at = ir::axes_of(op, "axes", axes, x->rank);
  if (is_identity(op, *x, at) && noop) return ir::copy(op, "y", *x, y, type);
  const Dims over = at.empty() ? ir::all_axes(x->rank) : at;
  ir::result(op, "y", *y, ir::reduced(*x, over, keep), type);
  if (is_floating(y->dtype) || is_complex(y->dtype)) return call(op, "aclnnMean", x, over, keep, y->dtype, y);
  // The mean of integers is cut off; of none it is 0.
  if (x->numel() == 0) return call(op, "aclnnInplaceZero", y);
  const TensorView exact = ir::temporary(op, DType::Double, ir::dims_of(*y));
  call(op, "aclnnMean", x, over, keep, exact.dtype, exact);
  call(op, "aclnnInplaceCopy", y, exact);
}

void extreme(Op& op, const char* twin, const In& x, const Dims& axes, bool keep, const Out& y) {
  Dims at = ir::axes_of(op, "axes", axes, x->rank);
  // torch_npu names no axes for all of them, and gives a result of one element.
  if (at.empty() && y->dtype != DType::Undefined && y->rank == 0) at = ir::all_axes(x->rank);
  if (is_identity(op, *x, at)) return ir::copy(op, *x, y);
  call(op, twin, x, at, keep, y);
}

/// The largest or smallest value. aclnn's operators refuse to look among none, the graph's give the type's other end,
/// as the frameworks do whose graphs they are.
void extreme_or_end(Op& op, bool largest, const In& x, const Dims& axes, bool keep, const Out& y) {
  const Dims at = ir::axes_of(op, "axes", axes, x->rank);
  const bool none = std::ranges::any_of(at, [&](int64_t d) { return x->dims[d] == 0; });
  if (!none || is_complex(x->dtype)) return extreme(op, largest ? "aclnnAmax" : "aclnnAmin", x, axes, keep, y);
  ir::result(op, "y", *y, ir::reduced(*x, at, keep), x->dtype);
  if (is_floating(x->dtype)) call(op, "aclnnInplaceFillScalar", y, largest ? -HUGE_VAL : HUGE_VAL);
  else call(op, "aclnnInplaceFillScalar", y, ir::integer_end(x->dtype, largest));
}

void product(Op& op, const In& x, const Dims& axes, bool keep, const Out& y) {
  Dims at = ir::axes_of(op, "axes", axes, x->rank);
  if (is_identity(op, *x, at)) return ir::copy(op, *x, y);
  ir::result(op, "y", *y, ir::reduced(*x, at, keep), x->dtype);
  if (at.empty()) return call(op, "aclnnProd", x, y->dtype, y);
  TensorView from = *x;
  for (; at.size() > 1; at.pop_back()) {
    const TensorView part = ir::temporary(op, y->dtype, ir::reduced(from, {at.back()}, keep));
    call(op, "aclnnProdDim", from, at.back(), keep, part.dtype, part);
    from = part;
  }
  call(op, "aclnnProdDim", from, at.back(), keep, y->dtype, y);
}

void truth(Op& op, const char* twin, const In& x, const Dims& axes, bool keep, const Out& y) {
  const Dims at = ir::axes_of(op, "axes", axes, x->rank);
  if (is_identity(op, *x, at)) return ir::copy(op, *x, y);
  call(op, twin, x, at, keep, y);
}

void norm(Op& op, const In& x, double p, const Dims& axes, bool keep, const Out& y) {
  const Dims at = ir::axes_of(op, "axes", axes, x->rank);
  call(op, "aclnnLinalgVectorNorm", x, p, at.empty() ? ir::all_axes(x->rank) : at, keep, ir::type_of(*y, x->dtype), y);
}

/// The sum of squares over axes (all when none is named), kept.
TensorView square_sum(Op& op, const TensorView& x, const Dims& axes) {
  const Dims at = axes.empty() ? ir::all_axes(x.rank) : axes;
  Temp square;
  call(op, "aclnnMul", x, x, square);
  const TensorView total = ir::temporary(op, square->dtype, ir::reduced(x, at, true));
  call(op, "aclnnReduceSum", *square, at, true, total.dtype, total);
  return total;
}

/// sqrt(max(sum of squares, eps))
TensorView length(Op& op, const TensorView& x, const Dims& axes, float eps) {
  const TensorView total = square_sum(op, x, axes);
  Temp least, root;
  call(op, "aclnnClampMin", total, eps, least);
  call(op, "aclnnSqrt", *least, root);
  return *root;
}

}  // namespace

#define REDUCTION(TYPE, TWIN, CALL)                                                 \
  IR_OP(TYPE, TWIN, (In, x), (In, axes), (Out, y), (Bool, keep_dims, false)) {      \
    const Dims named = op.integers("axes", axes.handle);                            \
    CALL;                                                                           \
  }                                                                                 \
  IR_OP(TYPE##D, TWIN, (In, x), (Out, y), (Ints, axes), (Bool, keep_dims, false)) { \
    const Dims named = *axes;                                                       \
    CALL;                                                                           \
  }
REDUCTION(ReduceSum, aclnnReduceSum, sum(op, x, named, keep_dims, y))
REDUCTION(ReduceMax, aclnnAmax, extreme_or_end(op, true, x, named, keep_dims, y))
REDUCTION(ReduceMin, aclnnAmin, extreme_or_end(op, false, x, named, keep_dims, y))
REDUCTION(ReduceProd, aclnnProdDim, product(op, x, named, keep_dims, y))
REDUCTION(ReduceAll, aclnnAll, truth(op, "aclnnAll", x, named, keep_dims, y))
REDUCTION(ReduceAny, aclnnAny, truth(op, "aclnnAny", x, named, keep_dims, y))
#undef REDUCTION

IR_OP(ReduceMean, aclnnMean, (In, x), (In, axes), (Out, y), (Bool, keep_dims, false),
      (Bool, noop_with_empty_axes, true)) {
  mean(op, x, op.integers("axes", axes.handle), keep_dims, noop_with_empty_axes, x->dtype, y);
}
IR_OP(ReduceMeanD, aclnnMean, (In, x), (Out, y), (Ints, axes), (Bool, keep_dims, false),
      (Bool, noop_with_empty_axes, false)) {
  mean(op, x, *axes, keep_dims, noop_with_empty_axes, x->dtype, y);
}
IR_OP(ReduceMeanWithCast, aclnnMean, (In, x), (In, axes), (Out, y), (Bool, keep_dims, false),
      (Bool, noop_with_empty_axes, true), (Type, dtype, DType::Undefined)) {
  const DType type = dtype == DType::Undefined ? x->dtype : static_cast<DType>(dtype);
  mean(op, x, op.integers("axes", axes.handle), keep_dims, noop_with_empty_axes, type, y);
}
IR_OP(ReduceLogSumExp, aclnnLogSumExp, (In, x), (In, axes), (Out, y), (Bool, keep_dims, false)) {
  extreme(op, "aclnnLogSumExp", x, op.integers("axes", axes.handle), keep_dims, y);
}
ABOUT(ReduceLogSum, Vector, "The logarithm of the sum over axes", "沿 axes 求和后取对数")
IR_OP(ReduceLogSum, ReduceLogSum, (In, x), (In, axes), (Out, y), (Bool, keep_dims, false)) {
  const Dims at = ir::axes_of(op, "axes", op.integers("axes", axes.handle), x->rank);
  const TensorView total = ir::temporary(op, x->dtype, ir::reduced(*x, at, keep_dims));
  if (is_identity(op, *x, at)) call(op, "aclnnInplaceCopy", total, x);
  else call(op, "aclnnReduceSum", x, at, keep_dims, total.dtype, total);
  call(op, "aclnnLog", total, y);
}

IR_OP(EuclideanNorm, aclnnLinalgVectorNorm, (In, x), (In, axes), (Out, y), (Bool, keep_dims, false)) {
  norm(op, x, 2, op.integers("axes", axes.handle), keep_dims, y);
}
IR_OP(EuclideanNormD, aclnnLinalgVectorNorm, (In, x), (Out, y), (Ints, axes, nullptr), (Bool, keep_dims, false)) {
  norm(op, x, 2, *axes, keep_dims, y);
}
namespace {
void require_tiny(const Op& op, float epsilon) {
  op.require(epsilon >= 0 && epsilon <= 1e-12f, "attribute epsilon is {}, want 1e-12 or less (a norm is exact here)",
             epsilon);
}
/// Clients say infinity by the largest and smallest int32, which float rounds up.
double order_of(double p) {
  constexpr double kMost = 2147483647;
  return p >= kMost ? HUGE_VAL : p <= -kMost ? -HUGE_VAL : p;
}
}  // namespace
IR_OP(LpNorm, aclnnLinalgVectorNorm, (In, x), (Out, y), (Int, p, 2), (Ints, axes, nullptr), (Bool, keepdim, false),
      (Float, epsilon, 1e-12f)) {
  require_tiny(op, epsilon);
  norm(op, x, order_of(static_cast<double>(p)), *axes, keepdim, y);
}
IR_OP(LpNormV2, aclnnLinalgVectorNorm, (In, x), (Out, y), (Float, p, 2), (Ints, axes, nullptr), (Bool, keepdim, false),
      (Float, epsilon, 1e-12f)) {
  require_tiny(op, epsilon);
  norm(op, x, order_of(p), *axes, keepdim, y);
}
// A norm in two steps: the sum of powers (the largest or smallest size, or the count of what is not 0), then its root.
namespace {
bool has_root(double p) { return p != 0 && p != 1 && std::isfinite(p); }
void norm_without_root(Op& op, const In& x, double p, const Dims& axes, bool keep, const Out& y) {
  if (!has_root(p)) return norm(op, x, p, axes, keep, y);
  const Dims at = ir::axes_of(op, "axes", axes, x->rank), over = at.empty() ? ir::all_axes(x->rank) : at;
  ir::result(op, "y", *y, ir::reduced(*x, over, keep), x->dtype);
  Temp size, power;
  call(op, "aclnnAbs", x, size);
  call(op, "aclnnPowTensorScalar", *size, p, power);
  call(op, "aclnnReduceSum", *power, over, keep, y->dtype, y);
}
void root_of_norm(Op& op, const In& x, double p, const Out& y) {
  if (!has_root(p)) return ir::copy(op, *x, y);
  call(op, "aclnnPowTensorScalar", x, 1 / p, y);
}
}  // namespace
ABOUT(LpNormReduceV2, Vector, "Sum of |x|^p over axes; of p infinite the largest (or smallest) |x|",
      "沿 axes 求 |x|^p 之和；p 为无穷时取 |x| 的最大（或最小）值")
IR_OP(LpNormReduceV2, LpNormReduceV2, (In, x), (Out, y), (Float, p, 2), (Ints, axes, nullptr), (Bool, keepdim, false),
      (Float, epsilon, 1e-12f)) {
  require_tiny(op, epsilon);
  norm_without_root(op, x, order_of(p), *axes, keepdim, y);
}
ABOUT(LpNormUpdateV2, Vector, "x^(1/p), which makes a norm of what LpNormReduceV2 gives",
      "x^(1/p)，将 LpNormReduceV2 的结果化为范数")
IR_OP(LpNormUpdateV2, LpNormUpdateV2, (In, x), (Out, y), (Float, p, 2), (Float, epsilon, 1e-12f)) {
  require_tiny(op, epsilon);
  root_of_norm(op, x, order_of(p), y);
}
ABOUT(L2Loss, Vector, "y = the sum of x^2 / 2", "y = x^2 之和的一半")
IR_OP(L2Loss, L2Loss, (In, x), (Out, y)) {
  ir::result(op, "y", *y, {}, x->dtype);
  const TensorView total = square_sum(op, *x, {});
  call(op, "aclnnMuls", ir::reshaped(op, total, {}), 0.5, y);
}
ABOUT(L2Normalize, Vector, "y = x / sqrt(max(sum of x^2 over axis, eps))", "沿 axis 的 L2 归一化")
IR_OP(L2Normalize, L2Normalize, (In, x), (Out, y), (Ints, axis, nullptr), (Float, eps, 1e-4f)) {
  call(op, "aclnnDiv", x, length(op, *x, ir::axes_of(op, "axis", *axis, x->rank), eps), y);
}
ABOUT(L2NormalizeGrad, Vector, "Gradient of L2Normalize from x and y", "L2Normalize 的反向梯度")
IR_OP(L2NormalizeGrad, L2NormalizeGrad, (In, x), (In, y), (In, dy), (Out, dx), (Ints, dim, nullptr),
      (Float, eps, 1e-4f)) {
  const Dims at = ir::axes_of(op, "dim", *dim, x->rank), over = at.empty() ? ir::all_axes(x->rank) : at;
  Temp through, along, rest;
  call(op, "aclnnMul", y, dy, through);
  const TensorView total = ir::temporary(op, through->dtype, ir::reduced(*x, over, true));
  call(op, "aclnnReduceSum", *through, over, true, total.dtype, total);
  call(op, "aclnnMul", y, total, along);
  call(op, "aclnnSub", dy, *along, 1, rest);
  call(op, "aclnnDiv", *rest, length(op, *x, at, eps), dx);
}
namespace {
void sum_squares(Op& op, const char* name, const In& x, const Dims& axes, bool keep, const Out& y) {
  const Dims at = axes.empty() ? ir::all_axes(x->rank) : axes;
  ir::result(op, name, *y, ir::reduced(*x, at, keep), x->dtype);
  Temp square;
  call(op, "aclnnMul", x, x, square);
  call(op, "aclnnReduceSum", *square, at, keep, y->dtype, y);
}
}  // namespace
ABOUT(SquareSumAll, Vector, "The sums of the squares of x1 and of x2", "x1 与 x2 各自的平方和")
IR_OP(SquareSumAll, SquareSumAll, (In, x1), (In, x2), (Out, y1), (Out, y2)) {
  sum_squares(op, "y1", x1, {}, false, y1);
  sum_squares(op, "y2", x2, {}, false, y2);
}
ABOUT(SquareSumV1, Vector, "The sum of x^2 over axis", "沿 axis 的平方和")
IR_OP(SquareSumV1, SquareSumV1, (In, x), (Out, y), (Ints, axis), (Bool, keep_dims, false)) {
  sum_squares(op, "y", x, ir::axes_of(op, "axis", *axis, x->rank), keep_dims, y);
}

// --- variances ----------------------------------------------------------------------------------------------------
namespace {
Dims all_or(const Op& op, const Ints& dim, int rank) {
  const Dims at = ir::axes_of(op, "dim", *dim, rank);
  return at.empty() ? ir::all_axes(rank) : at;
}
}  // namespace
IR_OP(ReduceStd, aclnnStdMeanCorrection, (In, x), (Out, y1), (Out, y2), (Ints, dim, nullptr), (Bool, unbiased, true),
      (Bool, keepdim, false)) {
  call(op, "aclnnStdMeanCorrection", x, all_or(op, dim, x->rank), unbiased ? 1 : 0, keepdim, y1, y2);
}
IR_OP(ReduceStdV2, aclnnStdMeanCorrection, (In, x), (Out, std), (OptOut, mean), (Ints, dim, nullptr),
      (Int, correction, 1), (Bool, keepdim, false), (Bool, is_mean_out, true)) {
  const Dims at = all_or(op, dim, x->rank);
  if (is_mean_out && mean) call(op, "aclnnStdMeanCorrection", x, at, correction, keepdim, std, mean);
  else call(op, "aclnnStd", x, at, correction, keepdim, std);
}
ABOUT(ReduceMeanVariance, Vector, "Mean and biased variance over axes", "沿 axes 的均值与有偏方差")
IR_OP(ReduceMeanVariance, ReduceMeanVariance, (In, x), (Out, mean), (Out, variance), (Ints, axes, nullptr),
      (Bool, keep_dims, true)) {
  call(op, "aclnnVarMean", x, all_or(op, axes, x->rank), 0, keep_dims, variance, mean);
}
namespace {
struct Spread {
  Dims axes;
  bool keep;
  int64_t less;  ///< than the number of elements is what the sum of squares is divided by
};
/// The mean square of what x differs by from a given mean.
void variance_about(Op& op, const In& x, const In& mean, const Spread& over, const TensorView& y) {
  int64_t n = 1;
  for (int64_t d : over.axes) n *= x->dims[d];
  Temp from, square;
  call(op, "aclnnSub", x, mean, 1, from);
  call(op, "aclnnMul", *from, *from, square);
  const TensorView total = ir::temporary(op, square->dtype, ir::dims_of(y));
  call(op, "aclnnReduceSum", *square, over.axes, over.keep, total.dtype, total);
  call(op, "aclnnDivs", total, static_cast<double>(n - over.less), y);
}
}  // namespace
ABOUT(ReduceStdV2Update, Vector, "Variance of x about the given mean, on request its root",
      "以给定均值计算的方差，可取平方根")
IR_OP(ReduceStdV2Update, ReduceStdV2Update, (In, x), (In, mean), (Out, output_var), (Ints, dim), (Bool, if_std, false),
      (Bool, unbiased, true), (Bool, keepdim, false), (Int, correction, 1)) {
  const Dims at = all_or(op, dim, x->rank);
  ir::result(op, "output_var", *output_var, ir::reduced(*x, at, keepdim), x->dtype);
  const Spread over{at, keepdim, unbiased ? int64_t{correction} : 0};
  if (!if_std) return variance_about(op, x, mean, over, *output_var);
  const TensorView variance = ir::temporary(op, x->dtype, ir::dims_of(*output_var));
  variance_about(op, x, mean, over, variance);
  call(op, "aclnnSqrt", variance, output_var);
}
ABOUT(ReduceStdWithMean, Vector, "Standard deviation of x about the given mean, on request its reciprocal",
      "以给定均值计算的标准差，可取倒数")
IR_OP(ReduceStdWithMean, ReduceStdWithMean, (In, x), (In, mean), (Out, y), (Ints, dim, nullptr), (Bool, unbiased, true),
      (Bool, keepdim, false), (Bool, invert, false), (Float, epsilon, 0.001f), (Int, correction, 1)) {
  const Dims at = all_or(op, dim, x->rank);
  ir::result(op, "y", *y, ir::reduced(*x, at, keepdim), x->dtype);
  const TensorView variance = ir::temporary(op, x->dtype, ir::dims_of(*y));
  variance_about(op, x, mean, {at, keepdim, unbiased ? int64_t{correction} : 0}, variance);
  if (!invert) return call(op, "aclnnSqrt", variance, y);
  Temp more;
  call(op, "aclnnAdds", variance, epsilon, 1, more);
  call(op, "aclnnRsqrt", *more, y);
}

// --- counts -------------------------------------------------------------------------------------------------------
IR_OP(Bincount, aclnnBincount, (In, array), (In, size), (In, weights), (Out, bins)) {
  const int64_t n = integer_of(op, "size", size.handle);
  ir::result(op, "bins", *bins, {n}, weights->dtype);
  call(op, "aclnnBincount", array, weights->empty() ? OptIn{nullptr} : OptIn{weights.handle}, n, bins);
}
IR_OP(Histogram, aclnnHistc, (In, x), (Out, y), (Int, bins, 100), (Float, min, 0), (Float, max, 0)) {
  call(op, "aclnnHistc", x, bins, min, max, y);
}

// --- more sums ----------------------------------------------------------------------------------------------------
ABOUT(SquareSumV2, Vector, "y1 = the sum of x^2 over axis, y2 = x", "y1 = 沿 axis 的平方和，y2 = x")
IR_OP(SquareSumV2, SquareSumV2, (In, x), (Out, y1), (Out, y2), (Ints, axis), (Bool, keep_dims, false)) {
  sum_squares(op, "y1", x, ir::axes_of(op, "axis", *axis, x->rank), keep_dims, y1);
  ir::copy(op, "y2", *x, y2, x->dtype);
}
ABOUT(FusedMulAddNL2loss, Vector, "y1 = x1 * x3 + x2, y2 = the sum of x1^2 / 2",
      "y1 = x1 * x3 + x2，y2 = x1^2 之和的一半")
IR_OP(FusedMulAddNL2loss, FusedMulAddNL2loss, (In, x1), (In, x2), (In, x3), (Out, y1), (Out, y2)) {
  Temp product;
  call(op, "aclnnMul", x1, x3, product);
  call(op, "aclnnAdd", *product, x2, 1, y1);
  ir::result(op, "y2", *y2, {}, x1->dtype);
  call(op, "aclnnMuls", ir::reshaped(op, square_sum(op, *x1, {}), {}), 0.5, y2);
}
IR_OP(LpNormReduce, LpNormReduceV2, (In, x), (Out, y), (Int, p, 2), (Ints, axes, nullptr), (Bool, keepdim, false),
      (Float, epsilon, 1e-12f)) {
  require_tiny(op, epsilon);
  norm_without_root(op, x, order_of(static_cast<double>(p)), *axes, keepdim, y);
}
IR_OP(LpNormUpdate, LpNormUpdateV2, (In, x), (Out, y), (Int, p, 2), (Float, epsilon, 1e-12f)) {
  require_tiny(op, epsilon);
  root_of_norm(op, x, order_of(static_cast<double>(p)), y);
}
ABOUT(AllFinite, Vector, "Whether no element is NaN or an infinity", "是否全部元素均为有限值")
IR_OP(AllFinite, AllFinite, (In, gradient), (Out, is_finite)) {
  Temp finite;
  call(op, "aclnnIsFinite", gradient, finite);
  const TensorView one = ir::temporary(op, DType::Bool, {});
  call(op, "aclnnAll", *finite, ir::all_axes(gradient->rank), false, one);
  if (op.inferring()) return ir::suggest(op, *is_finite, {}, DType::Bool);
  op.require(is_finite->numel() == 1, "is_finite is {}, want one element", describe(*is_finite));
  call(op, "aclnnInplaceCopy", is_finite, ir::reshaped(op, one, ir::dims_of(*is_finite)));
}
ABOUT(CosineSimilarity, Vector, "x1 . x2 / max(|x1| |x2|, eps) along dim", "沿 dim 的余弦相似度")
IR_OP(CosineSimilarity, CosineSimilarity, (In, input_x1), (In, input_x2), (Out, output_y), (Int, dim, 1),
      (Float, eps, 1e-8f)) {
  Temp product, least;
  call(op, "aclnnMul", input_x1, input_x2, product);
  const Dims at = {ir::axis_of(op, "dim", dim, product->rank)};
  const Dims dims = ir::reduced(*product, at, false);
  ir::result(op, "output_y", *output_y, dims, product->dtype);
  const auto along = [&](const TensorView& v) {
    const TensorView total = ir::temporary(op, v.dtype, dims);
    call(op, "aclnnReduceSum", v, at, false, total.dtype, total);
    return total;
  };
  const auto size = [&](const In& x) {
    Temp square, root;
    const TensorView all = x->expand_as(*product);
    call(op, "aclnnMul", all, all, square);
    call(op, "aclnnSqrt", along(*square), root);
    return *root;
  };
  Temp sizes;
  call(op, "aclnnMul", size(input_x1), size(input_x2), sizes);
  call(op, "aclnnClampMin", *sizes, eps, least);
  call(op, "aclnnDiv", along(*product), *least, output_y);
}

// --- more counts --------------------------------------------------------------------------------------------------
namespace {
/// Counts of `bins` ranges of the same width. Values outside go to the first and the last one, or nowhere.
void histogram(Op& op, const In& x, const In& low, const In* high, int64_t bins, bool keep_all, DType type,
               const Out& y) {
  op.require(bins > 0, "there are {} bins, want 1 or more", bins);
  ir::result(op, "y", *y, {bins}, type);
  op.work(x->numel());
  op.launch([=, from = *x, least = *low, most = high ? **high : TensorView(), to = *y] {
    const std::vector<double> v = linalg::gather(from), first = linalg::gather(least);
    double a = first.at(0), b = most.data ? linalg::gather(most).at(0) : first.at(1);
    if (!keep_all && a == b && !v.empty()) {
      a = *std::ranges::min_element(v);
      b = *std::ranges::max_element(v);
    }
    if (a == b) a -= 1, b += 1;
    std::vector<double> counts(static_cast<size_t>(bins));
    for (double value : v) {
      if (!keep_all && !(value >= a && value <= b)) continue;
      const double place = std::floor((value - a) / (b - a) * static_cast<double>(bins));
      ++counts[static_cast<size_t>(std::clamp(place, 0.0, static_cast<double>(bins - 1)))];
    }
    linalg::scatter(to, counts);
  });
}
}  // namespace
ABOUT(HistogramFixedWidth, AICPU, "Counts of values in ranges of the same width; those outside go to the ends",
      "等宽区间计数，越界值计入两端")
IR_OP(HistogramFixedWidth, HistogramFixedWidth, (In, x), (In, range), (In, nbins), (Out, y), (Int, dtype, 3)) {
  histogram(op, x, range, nullptr, integer_of(op, "nbins", nbins.handle), true, static_cast<DType>(dtype), y);
}
IR_OP(HistogramFixedWidthD, HistogramFixedWidth, (In, x), (In, range), (Out, y), (Int, nbins), (Int, dtype, 3)) {
  histogram(op, x, range, nullptr, nbins, true, static_cast<DType>(dtype), y);
}
ABOUT(HistogramV2, AICPU, "Counts of values between min and max in ranges of the same width",
      "min 与 max 之间的等宽区间计数")
IR_OP(HistogramV2, HistogramV2, (In, x), (In, min), (In, max), (Out, y), (Int, bins, 100),
      (Type, y_dtype, DType::Int32)) {
  histogram(op, x, min, &max, bins, false, y_dtype, y);
}
ABOUT(DenseBincount, AICPU, "Weights (or ones) added up by the numbers of input, for each row",
      "按 input 的值累计权重，逐行进行")
IR_OP(DenseBincount, DenseBincount, (In, input), (In, size), (In, weights), (Out, output),
      (Bool, binary_output, false)) {
  op.require(input->rank == 1 || input->rank == 2, "input is {}, want a vector or a matrix", describe(*input));
  const int64_t bins = integer_of(op, "size", size.handle);
  op.require(bins >= 0, "size is {}, want 0 or more", bins);
  Dims dims = {bins};
  if (input->rank == 2) dims.insert(dims.begin(), input->dims[0]);
  ir::result(op, "output", *output, dims, weights->dtype);
  op.require(weights->empty() || weights->same_shape(*input), "weights is {}, want none or those of {}",
             describe(*weights), describe(*input));
  op.launch([=, from = *input, by = *weights, to = *output] {
    const std::vector<double> v = linalg::gather(from), w = linalg::gather(by);
    std::vector<double> sums(static_cast<size_t>(to.numel()));
    const size_t row = from.rank == 2 ? static_cast<size_t>(from.dims[1]) : v.size();
    for (size_t i = 0; i < v.size(); ++i) {
      if (v[i] < 0) throw Error(code::kRtAicpuException, "DenseBincount: input has {}, want 0 or more", v[i]);
      if (v[i] >= static_cast<double>(bins)) continue;
      double& at = sums[i / row * static_cast<size_t>(bins) + static_cast<size_t>(v[i])];
      at = binary_output ? 1 : at + (w.empty() ? 1 : w[i]);
    }
    linalg::scatter(to, sums);
  });
}

}  // namespace updraft
