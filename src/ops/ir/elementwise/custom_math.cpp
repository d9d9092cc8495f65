// Types of MindSpore's own (Cust…): functions of elements, pooling, grids and equations.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "ops/gathered.h"
#include "ops/ir/shapes.h"
#include "ops/linalg/dense.h"

namespace updraft {
namespace {

using ir::Dims;

void each(Op& op, const In& x, const Out& y, double (*function)(double)) {
  op.require(is_floating(x->dtype), "x is {}, want floating point", describe(*x));
  op.result_like("y", *y, *x, x->dtype);
  op.work(x->numel() * 32);
  op.launch([from = *x, to = *y, function] {
    std::vector<double> v = linalg::gather(from);
    for (double& e : v) e = function(e);
    linalg::scatter(to, v);
  });
}
double log_gamma(double x) { return std::lgamma(x); }

TensorView solved(Op& op, const TensorView& right, const TensorView& factor, bool upper, bool transpose, bool unit) {
  const TensorView x = ir::temporary(op, right.dtype, ir::dims_of(right)),
                   kept = ir::temporary(op, factor.dtype, ir::dims_of(factor));
  call(op, "aclnnTriangularSolve", right, factor, upper, transpose, unit, x, kept);
  return x;
}

}  // namespace

ABOUT(Lgamma, Vector, "y = log |gamma(x)|", "y = log |gamma(x)|")
IR_OP(Lgamma, Lgamma, (In, x), (Out, y)) { each(op, x, y, log_gamma); }
IR_OP(CustLgamma, Lgamma, (In, x), (Out, y)) { each(op, x, y, log_gamma); }
ABOUT(NextAfter, Vector, "The number next to x1 towards x2", "x1 朝 x2 方向的下一个浮点数")
IR_OP(NextAfter, NextAfter, (In, x1), (In, x2), (Out, output)) {
  op.require(x1->dtype == x2->dtype && (x1->dtype == DType::Float || x1->dtype == DType::Double),
             "x1 is {} and x2 {}, want FLOAT or DOUBLE", describe(*x1), describe(*x2));
  op.result_broadcast("output", *output, *x1, *x2, x1->dtype);
  if (op.inferring()) return;
  op.launch([a = x1->expand_as(*output), b = x2->expand_as(*output), to = *output] {
    std::vector<double> v = linalg::gather(a);
    const std::vector<double> w = linalg::gather(b);
    const bool single = to.dtype == DType::Float;
    for (size_t i = 0; i < v.size(); ++i)
      v[i] = single ? static_cast<double>(std::nextafter(static_cast<float>(v[i]), static_cast<float>(w[i])))
                    : std::nextafter(v[i], w[i]);
    linalg::scatter(to, v);
  });
}
IR_OP(CustSinc, aclnnSinc, (In, x), (Out, y)) { call(op, "aclnnSinc", x, y); }
IR_OP(CustLogit, aclnnLogit, (In, x), (Out, output), (Float, eps, -1)) { call(op, "aclnnLogit", x, eps, output); }
IR_OP(CustGcd, aclnnGcd, (In, x1), (In, x2), (Out, y)) { call(op, "aclnnGcd", x1, x2, y); }
IR_OP(CustPolar, aclnnPolar, (In, abs), (In, angle), (Out, y)) { call(op, "aclnnPolar", abs, angle, y); }
IR_OP(CustLogicalXor, aclnnLogicalXor, (In, x), (In, y), (Out, output)) { call(op, "aclnnLogicalXor", x, y, output); }
ABOUT(CustLcm, Vector, "The least common multiples", "最小公倍数")
IR_OP(CustLcm, CustLcm, (In, x1), (In, x2), (Out, y)) {
  Temp divisor, least, quotient, product;
  call(op, "aclnnGcd", x1, x2, divisor);
  call(op, "aclnnClampMin", *divisor, 1, least);  // of 0 and 0 it is 0
  call(op, "aclnnFloorDivide", x1, *least, quotient);
  call(op, "aclnnMul", *quotient, x2, product);
  call(op, "aclnnAbs", *product, y);
}
ABOUT(CustHypot, Vector, "y = sqrt(x1^2 + x2^2)", "y = sqrt(x1^2 + x2^2)")
IR_OP(CustHypot, CustHypot, (In, x1), (In, x2), (Out, y)) {
  op.result_broadcast("y", *y, *x1, *x2, promote(x1->dtype, x2->dtype));
  if (op.inferring()) return;
  op.launch([a = x1->expand_as(*y), b = x2->expand_as(*y), to = *y] {
    std::vector<double> v = linalg::gather(a);
    const std::vector<double> w = linalg::gather(b);
    for (size_t i = 0; i < v.size(); ++i) v[i] = std::hypot(v[i], w[i]);
    linalg::scatter(to, v);
  });
}
ABOUT(CustHeaviside, Vector, "0 below 0, 1 above, values at 0", "x<0 取 0，x>0 取 1，x=0 取 values")
IR_OP(CustHeaviside, CustHeaviside, (In, x), (In, values), (Out, y)) {
  Temp above, zero, step(x->dtype);
  call(op, "aclnnGtScalar", x, 0, above);
  call(op, "aclnnEqScalar", x, 0, zero);
  call(op, "aclnnCast", *above, x->dtype, step);
  call(op, "aclnnSWhere", *zero, values, *step, y);
}
IR_OP(CustReal, Real, (In, input), (Out, output)) {
  op.require(is_complex(input->dtype), "input is {}, want complex numbers", describe(*input));
  const TensorView real = complex_part(*input, 0);
  ir::copy(op, "output", real, output, real.dtype);
}
ABOUT(CustEps, Vector, "The distance from 1 to the next number of the type of x", "x 的类型的机器精度")
IR_OP(CustEps, CustEps, (In, x), (Out, y)) {
  op.result_like("y", *y, *x, x->dtype);
  const double eps = x->dtype == DType::Float16    ? 0x1p-10
                     : x->dtype == DType::BFloat16 ? 0x1p-7
                     : x->dtype == DType::Double   ? std::numeric_limits<double>::epsilon()
                                                   : 0x1p-23;
  op.require(is_floating(x->dtype), "x is {}, want floating point", describe(*x));
  call(op, "aclnnInplaceFillScalar", y, eps);
}
IR_OP(CustLogSpace, aclnnLogSpace, (In, start), (In, end), (Out, y), (Int, steps), (Int, base), (Type, dtype)) {
  op.result("y", *y, {steps}, dtype);
  call(op, "aclnnLogSpace", number_of(op, "start", start.handle), number_of(op, "end", end.handle), steps,
       static_cast<double>(base), y);
}

ABOUT(Shrink, Vector, "x nearer to 0 by bias beyond lambd, 0 within", "|x| 超过 lambd 时向 0 收缩 bias，否则为 0")
IR_OP(Shrink, Shrink, (In, input_x), (Out, output_y), (Float, lambd, 0.5f), (Float, bias, 0)) {
  op.require(is_floating(input_x->dtype), "input_x is {}, want floating point", describe(*input_x));
  op.result_like("output_y", *output_y, *input_x, input_x->dtype);
  op.work(input_x->numel() * 2);
  op.launch([from = *input_x, to = *output_y, limit = static_cast<double>(lambd), by = static_cast<double>(bias)] {
    std::vector<double> v = linalg::gather(from);
    for (double& e : v) e = e > limit ? e - by : e < -limit ? e + by : std::isnan(e) ? e : 0;
    linalg::scatter(to, v);
  });
}
ABOUT(PopulationCount, Vector, "How many bits of each element are 1", "各元素二进制中 1 的个数")
IR_OP(PopulationCount, PopulationCount, (In, x), (Out, y)) {
  const int64_t bytes = size_of(x->dtype);
  op.require(!is_floating(x->dtype) && !is_complex(x->dtype) && bytes <= 2, "x is {}, want integers of 8 or 16 bits",
             describe(*x));
  op.result_like("y", *y, *x, DType::UInt8);
  op.work(x->numel() * 2);
  op.launch([from = *x, to = *y, mask = bytes == 1 ? 0xffu : 0xffffu] {
    std::vector<double> v = linalg::gather(from);
    for (double& e : v) e = std::popcount(static_cast<uint32_t>(static_cast<int64_t>(e)) & mask);
    linalg::scatter(to, v);
  });
}
ABOUT(Ger, Vector, "The outer product of two vectors", "两个向量的外积")
IR_OP(Ger, Ger, (In, x1), (In, x2), (Out, y)) {
  op.require(x1->rank == 1 && x2->rank == 1, "x1 is {} and x2 {}, want vectors", describe(*x1), describe(*x2));
  call(op, "aclnnMul", unsqueeze(*x1, 1), unsqueeze(*x2, 0), y);
}
ABOUT(Scale, Vector, "y = x * scale + bias, from a dimension on", "y = x * scale + bias，自某一维起广播")
IR_OP(Scale, Scale, (In, x), (In, scale), (OptIn, bias), (Out, y), (Int, axis, 1), (Int, num_axes, 1),
      (Bool, scale_from_blob, true)) {
  (void)num_axes, (void)scale_from_blob;  // the shape of scale says it
  const auto first = static_cast<int>(ir::axis_of(op, "axis", axis, x->rank));
  op.require(first + scale->rank <= x->rank, "scale is {}, x is {} and has fewer dimensions from {} on",
             describe(*scale), describe(*x), first);
  const auto spread = [&](TensorView v) {
    while (v.rank < x->rank - first) v = unsqueeze(v, v.rank);
    return v;
  };
  op.result_like("y", *y, *x, x->dtype);
  if (!bias) return call(op, "aclnnMul", x, spread(*scale), y);
  Temp scaled;
  call(op, "aclnnMul", x, spread(*scale), scaled);
  call(op, "aclnnAdd", *scaled, spread(*bias), 1, y);
}

// --- windows ------------------------------------------------------------------------------------------------------
namespace {
/// -1 keeps the size of x.
Dims pooled_sizes(const Op& op, const TensorView& x, Dims sizes) {
  op.require((x.rank == 4 || x.rank == 5) && sizes.size() == 3, "x is {}, want [N], C, D, H, W and three sizes",
             describe(x));
  for (size_t d = 0; d < 3; ++d)
    if (sizes[d] < 0) sizes[d] = x.dims[x.rank - 3 + static_cast<int>(d)];
  return sizes;
}
}  // namespace
IR_OP(CustAdaptiveAvgPool3d, aclnnAdaptiveAvgPool3d, (In, x), (Out, y), (Ints, output_size)) {
  call(op, "aclnnAdaptiveAvgPool3d", x, pooled_sizes(op, *x, *output_size), y);
}
IR_OP(CustAdaptiveAvgPool3dGrad, aclnnAdaptiveAvgPool3dBackward, (In, input_grad), (In, orig_input_shape),
      (Out, output_grad)) {
  const Dims dims = ir::shape_from(op, "orig_input_shape", orig_input_shape, *output_grad);
  ir::result(op, "output_grad", *output_grad, dims, input_grad->dtype);
  call(op, "aclnnAdaptiveAvgPool3dBackward", input_grad, ir::temporary(op, input_grad->dtype, dims), output_grad);
}
IR_OP(CustAdaptiveMaxPool3d, aclnnAdaptiveMaxPool3d, (In, x), (In, output_size), (Out, y), (Out, argmax)) {
  const Dims sizes = pooled_sizes(op, *x, op.integers("output_size", output_size.handle));
  Dims dims = ir::dims_of(*x);
  std::copy(sizes.begin(), sizes.end(), dims.end() - 3);
  ir::result(op, "y", *y, dims, x->dtype);
  ir::result(op, "argmax", *argmax, dims, DType::Int32);
  call(op, "aclnnAdaptiveMaxPool3d", x, sizes, y, argmax);
}
namespace {
/// Gradients go to the places that argmax names among those of each channel; what is named twice is added.
void to_places(Op& op, const char* name, const In& grad, const In& x, const In& argmax, int spatial, const Out& y) {
  op.require_same_shape("argmax", *argmax, "the gradient", *grad);
  op.require(x->rank >= spatial && grad->rank == x->rank, "x is {} and the gradient {}", describe(*x), describe(*grad));
  op.result_like(name, *y, *x, grad->dtype);
  Dims rows(x->dims, x->dims + x->rank - spatial), out = rows;
  rows.push_back(ir::count_of(Dims(grad->dims + x->rank - spatial, grad->dims + x->rank)));
  out.push_back(ir::count_of(Dims(x->dims + x->rank - spatial, x->dims + x->rank)));
  const TensorView zeros = ir::temporary(op, grad->dtype, out), sums = ir::temporary(op, grad->dtype, out),
                   places = ir::temporary(op, DType::Int64, ir::dims_of(*argmax));
  call(op, "aclnnInplaceZero", zeros);
  call(op, "aclnnInplaceCopy", places, argmax);
  call(op, "aclnnScatterAdd", zeros, static_cast<int64_t>(out.size()) - 1, ir::reshaped(op, places, rows),
       ir::reshaped(op, *grad, rows), sums);
  call(op, "aclnnInplaceCopy", y, ir::reshaped(op, sums, ir::dims_of(*x)));
}
}  // namespace
ABOUT(CustAdaptiveMaxPool3dGrad, Vector, "Gradients put where the largest elements were", "将梯度放回最大值所在位置")
IR_OP(CustAdaptiveMaxPool3dGrad, CustAdaptiveMaxPool3dGrad, (In, input_grad), (In, x), (In, argmax),
      (Out, output_grad)) {
  to_places(op, "output_grad", input_grad, x, argmax, 3, output_grad);
}
IR_OP(CustAdaptiveMaxPool2dGrad, CustAdaptiveMaxPool3dGrad, (In, y_grad), (In, x), (In, argmax), (Out, x_grad)) {
  to_places(op, "x_grad", y_grad, x, argmax, 2, x_grad);
}
namespace {
/// The elements of `grads` at the places that argmax names among those of each channel.
void from_places(Op& op, const In& x, const In& grads, const In& argmax, int spatial, const Out& y) {
  op.require_same_shape("argmax", *argmax, "x", *x);
  op.require(grads->rank == x->rank && x->rank >= spatial, "x is {} and grads {}", describe(*x), describe(*grads));
  op.result_like("y", *y, *x, grads->dtype);
  Dims rows(x->dims, x->dims + x->rank - spatial), at = rows;
  rows.push_back(ir::count_of(Dims(grads->dims + x->rank - spatial, grads->dims + x->rank)));
  at.push_back(ir::count_of(Dims(x->dims + x->rank - spatial, x->dims + x->rank)));
  const TensorView places = ir::temporary(op, DType::Int64, ir::dims_of(*argmax)),
                   taken = ir::temporary(op, grads->dtype, at);
  call(op, "aclnnInplaceCopy", places, argmax);
  call(op, "aclnnGather", ir::reshaped(op, *grads, rows), static_cast<int64_t>(at.size()) - 1,
       ir::reshaped(op, places, at), taken);
  call(op, "aclnnInplaceCopy", y, ir::reshaped(op, taken, ir::dims_of(*x)));
}
/// Elements put back to where they were the largest of a window, 0 elsewhere.
void unpool(Op& op, const In& x, const In& argmax, const Ints& ksize, const Ints& strides, const Ints& pads,
            const Ints& output_shape, const char* format, int spatial, const Out& y) {
  const auto n = static_cast<size_t>(spatial);
  ir::want(op, "data_format", format, spatial == 2 ? "NCHW" : "NCDHW");
  op.require(x->rank == spatial + 2, "x is {}, want {} dimensions", describe(*x), spatial + 2);
  op.require_same_shape("argmax", *argmax, "x", *x);
  const auto of = [&](const Ints& values, size_t d) {
    return values.size() == 0 ? int64_t{0} : values[values.size() == 1 ? 0 : values.size() - n + d];
  };
  Dims dims = ir::dims_of(*x);
  for (size_t d = 0; d < n; ++d) {
    const int64_t step = of(strides, d) ? of(strides, d) : of(ksize, d);
    dims[d + 2] = output_shape.size() ? of(output_shape, d) : (dims[d + 2] - 1) * step - 2 * of(pads, d) + of(ksize, d);
  }
  ir::result(op, "y", *y, dims, x->dtype);
  const TensorView places = ir::temporary(op, DType::Int64, ir::dims_of(*argmax));
  call(op, "aclnnInplaceCopy", places, argmax);
  Dims rows = {dims[0], dims[1], x->numel() / std::max<int64_t>(1, dims[0] * dims[1])};
  Dims out = {dims[0], dims[1], ir::count_of(Dims(dims.begin() + 2, dims.end()))};
  const TensorView zeros = ir::temporary(op, x->dtype, out), put = ir::temporary(op, x->dtype, out);
  call(op, "aclnnInplaceZero", zeros);
  call(op, "aclnnScatter", zeros, 2, ir::reshaped(op, places, rows), ir::reshaped(op, *x, rows), 0, put);
  call(op, "aclnnInplaceCopy", y, ir::reshaped(op, put, dims));
}
}  // namespace
#define UNPOOL(KIND, SPATIAL)                                                                                      \
  IR_OP(CustMaxUnpool##KIND, aclnnMaxUnpool2d, (In, x), (In, argmax), (Out, y), (Ints, ksize), (Ints, strides),    \
        (Ints, pads), (Ints, output_shape), (Text, data_format)) {                                                 \
    unpool(op, x, argmax, ksize, strides, pads, output_shape, data_format, SPATIAL, y);                            \
  }                                                                                                                \
  IR_OP(CustMaxUnpool##KIND##Grad, CustMaxUnpoolGrad, (In, x), (In, grads), (In, argmax), (Out, y), (Ints, ksize), \
        (Ints, strides), (Ints, pads), (Ints, output_shape), (Text, data_format)) {                                \
    (void)ksize, (void)strides, (void)pads, (void)output_shape; /* the shapes of x and grads */                    \
    ir::want(op, "data_format", data_format, (SPATIAL) == 2 ? "NCHW" : "NCDHW");                                   \
    from_places(op, x, grads, argmax, SPATIAL, y);                                                                 \
  }
ABOUT(CustMaxUnpoolGrad, Vector, "Gradient of unpooling: the elements of grads at the places of argmax",
      "反池化的反向梯度：取 grads 在 argmax 处的元素")
UNPOOL(2D, 2)
UNPOOL(3D, 3)
#undef UNPOOL
IR_OP(CustIm2col, aclnnIm2col, (In, x), (Out, y), (Ints, ksizes), (Ints, strides, 1), (Ints, dilations, 1),
      (Text, padding_mode, "CALCULATED"), (Ints, pads, 0)) {
  ir::want(op, "padding_mode", padding_mode, "CALCULATED");
  op.require(x->rank == 4, "x is {}, want [N, C, H, W]", describe(*x));
  const auto two = [&](const char* name, const Ints& values) {
    op.require(values.size() == 1 || values.size() == 2, "attribute {} has {} values, want 1 or 2", name,
               values.size());
    return Dims{values[0], values[values.size() - 1]};
  };
  const Dims k = two("ksizes", ksizes), s = two("strides", strides), d = two("dilations", dilations);
  // MindSpore makes one number four: before and after in each dimension.
  const bool sides = pads.size() == 4 && pads[0] == pads[1] && pads[2] == pads[3];
  const Dims p = sides ? Dims{pads[0], pads[2]} : two("pads", pads);
  int64_t places = 1;
  for (size_t i = 0; i < 2; ++i) places *= (x->dims[2 + i] + 2 * p[i] - d[i] * (k[i] - 1) - 1) / s[i] + 1;
  const Dims columns = {x->dims[0], x->dims[1] * k[0] * k[1], places};
  ir::result(op, "y", *y, {x->dims[0], x->dims[1], k[0] * k[1], places}, x->dtype);
  const TensorView all = ir::temporary(op, x->dtype, columns);
  call(op, "aclnnIm2col", x, k, d, p, s, all);
  call(op, "aclnnInplaceCopy", y, ir::reshaped(op, all, ir::dims_of(*y)));
}
namespace {
/// The shape of the grid for images or volumes of that shape.
Dims grid_of(const Op& op, const char* name, const Dims& size) {
  op.require(size.size() == 4 || size.size() == 5, "{} has {} values, want 4 or 5", name, size.size());
  Dims dims = size;
  dims.erase(dims.begin() + 1);
  dims.push_back(static_cast<int64_t>(size.size()) - 2);
  return dims;
}
}  // namespace
IR_OP(CustAffineGrid, aclnnAffineGrid, (In, theta), (In, output_size), (Out, output), (Bool, align_corners)) {
  const Dims size = op.integers("output_size", output_size.handle);
  ir::result(op, "output", *output, grid_of(op, "output_size", size), theta->dtype);
  call(op, "aclnnAffineGrid", theta, size, align_corners, output);
}
ABOUT(CustAffineGridGrad, AICPU, "Gradient of an affine grid for theta", "仿射网格对 theta 的反向梯度")
IR_OP(CustAffineGridGrad, CustAffineGridGrad, (In, y_grad), (In, x_size), (Out, x_grad), (Bool, align_corners)) {
  const Dims size = op.integers("x_size", x_size.handle);
  const Dims dims = grid_of(op, "x_size", size);
  const int64_t spatial = dims.back();
  op.require_shape("y_grad", *y_grad, dims.data(), static_cast<int>(dims.size()));
  op.require(is_floating(y_grad->dtype), "y_grad is {}, want numbers with a fraction", describe(*y_grad));
  ir::result(op, "x_grad", *x_grad, {size[0], spatial, spatial + 1}, y_grad->dtype);
  if (op.inferring() || x_grad->empty()) return;
  op.work(y_grad->numel() * 8);
  op.launch([=, by = *y_grad, to = *x_grad, corners = bool{align_corners}] {
    const std::vector<double> slopes = gathered<double>(by);
    std::vector<double> made(static_cast<size_t>(to.numel()));
    const int64_t points = ir::count_of(dims) / std::max<int64_t>(1, size[0] * spatial);
    for (int64_t i = 0; i < size[0] * points; ++i) {
      double place[4] = {0, 0, 0, 0};  // x, y, z of the point, then 1
      int64_t rest = i % points;
      for (int64_t d = 0; d < spatial; ++d) {
        const int64_t n = size[size.size() - 1 - static_cast<size_t>(d)], k = rest % n;
        rest /= n;
        if (!corners) place[d] = static_cast<double>(2 * k + 1) / static_cast<double>(n) - 1;
        else if (n > 1) place[d] = static_cast<double>(2 * k) / static_cast<double>(n - 1) - 1;
      }
      place[spatial] = 1;
      for (int64_t r = 0; r < spatial; ++r)
        for (int64_t c = 0; c <= spatial; ++c)
          made[static_cast<size_t>((i / points * spatial + r) * (spatial + 1) + c)] +=
              slopes[static_cast<size_t>(i * spatial + r)] * place[c];
    }
    write_all(to, made);
  });
}

// --- equations ----------------------------------------------------------------------------------------------------
ABOUT(CustCholeskySolve, Vector, "The solution of A y = x1, where x2 is the Cholesky factor of A",
      "由 Cholesky 因子 x2 解 A y = x1")
IR_OP(CustCholeskySolve, CustCholeskySolve, (In, x1), (In, x2), (Out, y), (Bool, upper)) {
  op.result_like("y", *y, *x1, x1->dtype);
  const TensorView half = solved(op, *x1, *x2, upper, upper, false);
  call(op, "aclnnInplaceCopy", y, solved(op, half, *x2, upper, !upper, false));
}
ABOUT(CustCholeskyInverse, Vector, "The inverse of the matrix of which x is the Cholesky factor",
      "由 Cholesky 因子求逆矩阵")
IR_OP(CustCholeskyInverse, CustCholeskyInverse, (In, x), (Out, y), (Bool, upper)) {
  op.require(x->rank >= 2 && x->dims[x->rank - 1] == x->dims[x->rank - 2], "x is {}, want square matrices",
             describe(*x));
  op.result_like("y", *y, *x, x->dtype);
  const TensorView one = ir::temporary(op, x->dtype, {x->dims[x->rank - 1], x->dims[x->rank - 1]});
  call(op, "aclnnEye", one.dims[0], one.dims[0], one);
  const TensorView half = solved(op, one.expand_as(*x), *x, upper, upper, false);
  call(op, "aclnnInplaceCopy", y, solved(op, half, *x, upper, !upper, false));
}
IR_OP(CustSolveTriangular, aclnnTriangularSolve, (In, a), (In, b), (In, trans), (In, lower), (In, unit_diagonal),
      (Out, x)) {
  const int64_t turn = integer_of(op, "trans", trans.handle);
  op.require(turn >= 0 && turn <= 2 && (turn < 2 || !is_complex(a->dtype)), "trans is {}, want 0, 1 or 2", turn);
  op.result_like("x", *x, *b, b->dtype);
  const bool vector = b->rank == a->rank - 1;
  TensorView right = *b;
  if (vector) right.dims[right.rank] = right.strides[right.rank] = 1, ++right.rank;
  const TensorView found = solved(op, right, *a, integer_of(op, "lower", lower.handle) == 0, turn != 0,
                                  integer_of(op, "unit_diagonal", unit_diagonal.handle) != 0);
  call(op, "aclnnInplaceCopy", x, ir::reshaped(op, found, ir::dims_of(*b)));
}
ABOUT(CustCorrelate, AICPU, "The cross-correlation of two vectors", "两个向量的互相关")
IR_OP(CustCorrelate, CustCorrelate, (In, a), (In, v), (Out, output), (Text, mode, "valid")) {
  op.require(a->rank == 1 && v->rank == 1 && a->numel() > 0 && v->numel() > 0, "a is {} and v {}, want vectors",
             describe(*a), describe(*v));
  const std::string_view word = mode;
  op.require(word == "valid" || word == "same" || word == "full", "attribute mode is \"{}\", want valid, same or full",
             word);
  op.require(!is_complex(a->dtype) && !is_complex(v->dtype), "a is {} and v {}, want real numbers", describe(*a),
             describe(*v));
  const int64_t n = a->numel(), m = v->numel(), least = std::min(n, m), most = std::max(n, m);
  const int64_t count = word == "valid" ? most - least + 1 : word == "same" ? most : n + m - 1;
  // Place k of the full result is where the last of v meets a[k]; "same" is its middle, as numpy has it.
  const int64_t half = (least - 1) / 2;
  const int64_t skip = word == "valid" ? least - 1 : word == "full" ? 0 : n < m ? least - 1 - half : half;
  op.result("output", *output, {count}, promote(a->dtype, v->dtype));
  op.work(n * m);
  op.launch([=, x = *a, w = *v, to = *output] {
    const std::vector<double> p = linalg::gather(x), q = linalg::gather(w);
    std::vector<double> sums(static_cast<size_t>(count));
    for (int64_t k = 0; k < count; ++k)
      for (int64_t j = 0; j < m; ++j) {
        const int64_t i = skip + k - (m - 1) + j;
        if (i >= 0 && i < n) sums[static_cast<size_t>(k)] += p[static_cast<size_t>(i)] * q[static_cast<size_t>(j)];
      }
    linalg::scatter(to, sums);
  });
}

}  // namespace updraft
