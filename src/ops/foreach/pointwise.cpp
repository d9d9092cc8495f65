// Foreach operators of three lists (the optimizers' inner steps), copies and zeros.
#include <cstring>

#include "kernels/rows/arithmetic.h"
#include "ops/foreach/list.h"

namespace updraft {
#define UPDRAFT_FOREACH_POINTWISE(NAME, row)                                                             \
  ACLNN(NAME##Scalar, (Tensors, x), (Tensors, y), (Tensors, z), (In, scalar), (OutTensors, out)) {       \
    op.require(scalar->numel() == 1, "scalar is {}, want one element", describe(*scalar));               \
    plan_list(op, ew::row, {&x, &y, &z}, out, *scalar);                                                  \
  }                                                                                                      \
  ACLNN(NAME##ScalarV2, (Tensors, x), (Tensors, y), (Tensors, z), (Scalar, scalar), (OutTensors, out)) { \
    plan_list(op, ew::row, {&x, &y, &z}, out, with_scalar(*scalar));                                     \
  }                                                                                                      \
  ACLNN(NAME##ScalarList, (Tensors, x), (Tensors, y), (Tensors, z), (In, scalars), (OutTensors, out)) {  \
    plan_list(op, ew::row, {&x, &y, &z}, out, *scalars);                                                 \
  }

UPDRAFT_FOREACH_POINTWISE(aclnnForeachAddcmul, addcmul)
UPDRAFT_FOREACH_POINTWISE(aclnnForeachAddcdiv, addcdiv)

ABOUT(aclnnForeachAddcmulScalar, Vector, "out[i] = x[i] + scalar * y[i] * z[i], the scalar in a tensor",
      "out[i] = x[i] + scalar * y[i] * z[i]，scalar 为单元素张量")
ABOUT(aclnnForeachAddcmulScalarV2, Vector, "out[i] = x[i] + scalar * y[i] * z[i]",
      "out[i] = x[i] + scalar * y[i] * z[i]，scalar 为标量")
ABOUT(aclnnForeachAddcmulScalarList, Vector, "out[i] = x[i] + scalars[i] * y[i] * z[i], scalars a tensor",
      "out[i] = x[i] + scalars[i] * y[i] * z[i]，scalars 为张量")
ABOUT(aclnnForeachAddcdivScalar, Vector, "out[i] = x[i] + scalar * y[i] / z[i], the scalar in a tensor",
      "out[i] = x[i] + scalar * y[i] / z[i]，scalar 为单元素张量")
ABOUT(aclnnForeachAddcdivScalarV2, Vector, "out[i] = x[i] + scalar * y[i] / z[i]",
      "out[i] = x[i] + scalar * y[i] / z[i]，scalar 为标量")
ABOUT(aclnnForeachAddcdivScalarList, Vector, "out[i] = x[i] + scalars[i] * y[i] / z[i], scalars a tensor",
      "out[i] = x[i] + scalars[i] * y[i] / z[i]，scalars 为张量")
#undef UPDRAFT_FOREACH_POINTWISE

ABOUT(aclnnForeachLerpList, Vector, "out[i] = x[i] + weight[i] * (y[i] - x[i])",
      "线性插值 out[i] = x[i] + weight[i] * (y[i] - x[i])")
ACLNN(aclnnForeachLerpList, (Tensors, x), (Tensors, y), (Tensors, weight), (OutTensors, out)) {
  plan_list(op, ew::lerp, {&x, &y, &weight}, out);
}
ABOUT(aclnnForeachLerpScalar, Vector, "out[i] = x[i] + weight * (y[i] - x[i]), weight a scalar",
      "线性插值 out[i] = x[i] + weight * (y[i] - x[i])，weight 为标量")
ACLNN(aclnnForeachLerpScalar, (Tensors, x), (Tensors, y), (Scalar, weight), (OutTensors, out)) {
  plan_list(op, ForeachRow::lerp_p, {&x, &y}, out, with_scalar(*weight));
}

ABOUT(aclnnForeachCopy, Vector, "dst[i] = src[i], converted to the data type of dst",
      "dst[i] = src[i]，转换为 dst 的数据类型")
ACLNN(aclnnForeachCopy, (Tensors, src), (OutTensors, dst)) {
  if (dst.size() == 0) return;
  if (op.inferring()) suggest_list(op, {&src}, dst, [](DType common) { return common; });
  const DType from = src.size() ? src[0].dtype : dst[0].dtype, to = dst[0].dtype;
  const Compute compute = compute_of(to == DType::Bool || is_integral(from, true) ? from : to);
  ListJob job(list_kernel(ew::copy, compute), compute, 1);
  job.copy_only();
  launch_list(op, std::move(job), {&src}, dst);
}

ABOUT(aclnnForeachZeroInplace, Vector, "Writes 0 to every element of every tensor of the list, in place",
      "原地将列表中每个张量清零")
ACLNN(aclnnForeachZeroInplace, (InOutTensors, x)) {
  ListUnits units;
  std::vector<std::pair<char*, int64_t>> flat;  // data and bytes an element
  std::vector<TensorView> strided;
  for (size_t i = 0; i < x.size(); ++i) {
    op.require(x.item(i) != nullptr, "x[{}] is null", i);
    if (x[i].empty()) continue;
    const TensorView* view = &x[i];
    if (lie_alike(&view, 1)) {
      flat.emplace_back(view->as<char>(), static_cast<int64_t>(size_of(view->dtype)));
      units.add(view->numel());
    } else {
      strided.push_back(*view);
    }
  }
  if (flat.empty() && strided.empty()) return;
  op.work(units.elements());
  op.launch([units = std::move(units), flat = std::move(flat), strided = std::move(strided)] {
    units.run([&](size_t i, int64_t, int64_t begin, int64_t n) {
      std::memset(flat[i].first + begin * flat[i].second, 0, static_cast<size_t>(n * flat[i].second));
    });
    for (const TensorView& v : strided) fill_elements(v, Params{});
  });
}

}  // namespace updraft
