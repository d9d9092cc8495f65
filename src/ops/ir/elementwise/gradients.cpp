// Gradients of elementwise functions, from what went in or came out.
#include <algorithm>
#include <string_view>

#include "ops/ir/elementwise/arithmetic.h"
#include "ops/ir/shapes.h"

namespace updraft {

using ir::product, ir::quotient, ir::rest, ir::root;

namespace {

using ir::Dims;

/// sqrt(1 - x * x)
TensorView beside(Op& op, const In& x) { return root(op, rest(op, product(op, x, x))); }
void over(Op& op, const char* function, const In& y, const In& dy, const Out& z) {
  Temp below;
  call(op, function, y, below);
  call(op, "aclnnDiv", dy, *below, z);
}

/// v, summed over what a tensor of `dims` was repeated along.
void sum_to(Op& op, const char* name, const TensorView& v, const Dims& dims, const Out& y) {
  ir::result(op, name, *y, dims, v.dtype);
  const int more = v.rank - static_cast<int>(dims.size());
  Dims axes, kept;
  for (int d = 0; d < v.rank; ++d) {
    const bool repeated = d < more || (dims[static_cast<size_t>(d - more)] == 1 && v.dims[d] != 1);
    if (repeated) axes.push_back(d);
    kept.push_back(repeated ? 1 : v.dims[d]);
  }
  if (axes.empty()) return call(op, "aclnnInplaceCopy", y, v);
  const TensorView total = ir::temporary(op, v.dtype, kept);
  call(op, "aclnnReduceSum", v, axes, true, v.dtype, total);
  call(op, "aclnnInplaceCopy", y, ir::reshaped(op, total, dims));
}

/// Where `first` holds the gradient belongs to x1, else to x2.
void either(Op& op, const char* comparison, const In& grads, const In& x1, const In& x2, const Out& y1, const Out& y2) {
  Temp first, of_first, of_second;
  call(op, comparison, x1, x2, first);
  const TensorView none = ir::constant(op, grads->dtype, 0);
  call(op, "aclnnSWhere", *first, grads, none, of_first);
  call(op, "aclnnSWhere", *first, none, grads, of_second);
  sum_to(op, "y1", *of_first, ir::dims_of(*x1), y1);
  sum_to(op, "y2", *of_second, ir::dims_of(*x2), y2);
}

}  // namespace

ABOUT(AsinGrad, Vector, "z = dy / sqrt(1 - y^2), y what went into asin", "z = dy / sqrt(1 - y^2)，y 为 asin 的输入")
IR_OP(AsinGrad, AsinGrad, (In, y), (In, dy), (Out, z)) { call(op, "aclnnDiv", dy, beside(op, y), z); }
ABOUT(AcosGrad, Vector, "z = -dy / sqrt(1 - y^2), y what went into acos", "z = -dy / sqrt(1 - y^2)，y 为 acos 的输入")
IR_OP(AcosGrad, AcosGrad, (In, y), (In, dy), (Out, z)) { call(op, "aclnnNeg", quotient(op, dy, beside(op, y)), z); }
ABOUT(AtanGrad, Vector, "z = dy / (1 + y^2), y what went into atan", "z = dy / (1 + y^2)，y 为 atan 的输入")
IR_OP(AtanGrad, AtanGrad, (In, y), (In, dy), (Out, z)) {
  Temp more;
  call(op, "aclnnAdds", product(op, y, y), 1.0, 1, more);
  call(op, "aclnnDiv", dy, *more, z);
}
ABOUT(AsinhGrad, Vector, "z = dy / cosh(y), y what came out of asinh", "z = dy / cosh(y)，y 为 asinh 的输出")
IR_OP(AsinhGrad, AsinhGrad, (In, y), (In, dy), (Out, z)) { over(op, "aclnnCosh", y, dy, z); }
ABOUT(AcoshGrad, Vector, "z = dy / sinh(y), y what came out of acosh", "z = dy / sinh(y)，y 为 acosh 的输出")
IR_OP(AcoshGrad, AcoshGrad, (In, y), (In, dy), (Out, z)) { over(op, "aclnnSinh", y, dy, z); }

ABOUT(MaximumGrad, Vector, "Gradients of max(x1, x2): where they are equal it belongs to x1",
      "max(x1, x2) 的反向梯度，相等处归 x1")
IR_OP(MaximumGrad, MaximumGrad, (In, grads), (In, x1), (In, x2), (Out, y1), (Out, y2), (Bool, grad_x, true),
      (Bool, grad_y, true)) {
  (void)grad_x, (void)grad_y;  // both are given always
  either(op, "aclnnGeTensor", grads, x1, x2, y1, y2);
}
ABOUT(MinimumGrad, Vector, "Gradients of min(x1, x2): where they are equal it belongs to x1",
      "min(x1, x2) 的反向梯度，相等处归 x1")
IR_OP(MinimumGrad, MinimumGrad, (In, grads), (In, x1), (In, x2), (Out, y1), (Out, y2), (Bool, grad_x, true),
      (Bool, grad_y, true)) {
  (void)grad_x, (void)grad_y;
  either(op, "aclnnLeTensor", grads, x1, x2, y1, y2);
}

namespace {
/// Elements of mirrored borders, added to those that they are images of.
void mirror_grad(Op& op, const In& x, const In& paddings, std::string_view mode, const Out& y) {
  op.require(mode == "REFLECT" || mode == "SYMMETRIC", "attribute mode is \"{}\", want REFLECT or SYMMETRIC", mode);
  const Dims pads = op.integers("paddings", paddings.handle);
  op.require(pads.size() == 2 * static_cast<size_t>(x->rank), "paddings has {} values, want two for each of {}",
             pads.size(), describe(*x));
  const int64_t apart = mode == "REFLECT" ? 1 : 0;
  TensorView v = *x;
  for (int d = 0; d < x->rank; ++d) {
    const int64_t before = pads[2 * static_cast<size_t>(d)], behind = pads[2 * static_cast<size_t>(d) + 1];
    const int64_t size = v.dims[d] - before - behind;
    op.require(before >= 0 && behind >= 0 && size >= std::max(before, behind) + apart,
               "paddings are {} and {} in dimension {}, x is {}", before, behind, d, describe(*x));
    Dims dims = ir::dims_of(v);
    dims[static_cast<size_t>(d)] = size;
    const TensorView inner = ir::temporary(op, v.dtype, dims);
    call(op, "aclnnInplaceCopy", inner, ir::part_of(v, d, before, size));
    const auto add = [&](const TensorView& border, int64_t at) {
      if (border.dims[d] == 0) return;
      Temp turned;
      call(op, "aclnnFlip", border, Dims{d}, turned);
      call(op, "aclnnInplaceAdd", ir::part_of(inner, d, at, border.dims[d]), *turned, 1);
    };
    add(ir::part_of(v, d, 0, before), apart);
    add(ir::part_of(v, d, before + size, behind), size - behind - apart);
    v = inner;
  }
  ir::copy(op, v, y);
}
}  // namespace
ABOUT(MirrorPadGrad, Vector, "Gradient of MirrorPad", "MirrorPad 的反向梯度")
IR_OP(MirrorPadGrad, MirrorPadGrad, (In, x), (In, paddings), (Out, y), (Text, mode)) {
  mirror_grad(op, x, paddings, mode, y);
}

ABOUT(ConfusionMulGrad, Vector, "input0 * input1, and the sum of input1 * input2 over axes",
      "input0 * input1，以及 input1 * input2 沿 axes 之和")
IR_OP(ConfusionMulGrad, ConfusionMulGrad, (In, input0), (In, input1), (In, input2), (Out, output0), (Out, output1),
      (Ints, axes, nullptr), (Bool, keep_dims, false)) {
  call(op, "aclnnMul", input0, input1, output0);
  const TensorView both = product(op, input1, input2);
  const Dims at = ir::axes_of(op, "axes", *axes, both.rank), over_all = at.empty() ? ir::all_axes(both.rank) : at;
  ir::result(op, "output1", *output1, ir::reduced(both, over_all, keep_dims), both.dtype);
  call(op, "aclnnReduceSum", both, over_all, keep_dims, output1->dtype, output1);
}

}  // namespace updraft
