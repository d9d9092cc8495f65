// Foreach operators of three lists (the optimizers' inner steps), copies and zeros.
#include <cstring>

#include "ops/foreach/list.h"

namespace updraft {
namespace {}  // namespace

#define UPDRAFT_FOREACH_POINTWISE(NAME, row)                                                          \
  ACLNN(NAME##Scalar, (Tensors, x), (Tensors, y), (Tensors, z), (In, scalar), (Tensors, out)) {       \
    op.require(scalar->numel() == 1, "scalar is {}, want one element", describe(*scalar));            \
    plan_list(op, Ew::row, {&x, &y, &z}, out, *scalar);                                               \
  }                                                                                                   \
  ACLNN(NAME##ScalarV2, (Tensors, x), (Tensors, y), (Tensors, z), (Scalar, scalar), (Tensors, out)) { \
    plan_list(op, Ew::row, {&x, &y, &z}, out, with_scalar(*scalar));                                  \
  }                                                                                                   \
  ACLNN(NAME##ScalarList, (Tensors, x), (Tensors, y), (Tensors, z), (In, scalars), (Tensors, out)) {  \
    plan_list(op, Ew::row, {&x, &y, &z}, out, *scalars);                                              \
  }

UPDRAFT_FOREACH_POINTWISE(aclnnForeachAddcmul, addcmul)
UPDRAFT_FOREACH_POINTWISE(aclnnForeachAddcdiv, addcdiv)
#undef UPDRAFT_FOREACH_POINTWISE

ACLNN(aclnnForeachLerpList, (Tensors, x), (Tensors, y), (Tensors, weight), (Tensors, out)) {
  plan_list(op, Ew::lerp, {&x, &y, &weight}, out);
}
ACLNN(aclnnForeachLerpScalar, (Tensors, x), (Tensors, y), (Scalar, weight), (Tensors, out)) {
  plan_list(op, ForeachRow::lerp_p, {&x, &y}, out, with_scalar(*weight));
}

ACLNN(aclnnForeachCopy, (Tensors, src), (Tensors, dst)) {
  if (dst.size() == 0) return;
  const DType from = src.size() ? src[0].dtype : dst[0].dtype, to = dst[0].dtype;
  const Compute compute = compute_of(to == DType::Bool || is_integral(from, true) ? from : to);
  ListJob job(list_kernel(Ew::copy, compute), compute, 1);
  job.copy_only();
  launch_list(op, std::move(job), {&src}, dst);
}

ACLNN(aclnnForeachZeroInplace, (Tensors, x)) {
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
