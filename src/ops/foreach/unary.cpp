// Foreach operators of one list: out[i] = f(x[i]).
#include "ops/foreach/list.h"

namespace updraft {

#define UPDRAFT_FOREACH_UNARY(NAME, row) \
  ACLNN(NAME, (Tensors, x), (Tensors, out)) { plan_list(op, Ew::row, {&x}, out); }

UPDRAFT_FOREACH_UNARY(aclnnForeachAbs, abs)
UPDRAFT_FOREACH_UNARY(aclnnForeachExp, exp)
UPDRAFT_FOREACH_UNARY(aclnnForeachExpm1, expm1)
UPDRAFT_FOREACH_UNARY(aclnnForeachNeg, neg)
UPDRAFT_FOREACH_UNARY(aclnnForeachReciprocal, reciprocal)
UPDRAFT_FOREACH_UNARY(aclnnForeachSign, sign)
UPDRAFT_FOREACH_UNARY(aclnnForeachSqrt, sqrt)
UPDRAFT_FOREACH_UNARY(aclnnForeachAcos, acos)
UPDRAFT_FOREACH_UNARY(aclnnForeachAsin, asin)
UPDRAFT_FOREACH_UNARY(aclnnForeachAtan, atan)
UPDRAFT_FOREACH_UNARY(aclnnForeachCos, cos)
UPDRAFT_FOREACH_UNARY(aclnnForeachCosh, cosh)
UPDRAFT_FOREACH_UNARY(aclnnForeachErf, erf)
UPDRAFT_FOREACH_UNARY(aclnnForeachErfc, erfc)
UPDRAFT_FOREACH_UNARY(aclnnForeachLog, log)
UPDRAFT_FOREACH_UNARY(aclnnForeachLog10, log10)
UPDRAFT_FOREACH_UNARY(aclnnForeachLog1p, log1p)
UPDRAFT_FOREACH_UNARY(aclnnForeachLog2, log2)
UPDRAFT_FOREACH_UNARY(aclnnForeachSigmoid, sigmoid)
UPDRAFT_FOREACH_UNARY(aclnnForeachSin, sin)
UPDRAFT_FOREACH_UNARY(aclnnForeachSinh, sinh)
UPDRAFT_FOREACH_UNARY(aclnnForeachTan, tan)
UPDRAFT_FOREACH_UNARY(aclnnForeachTanh, tanh)

#undef UPDRAFT_FOREACH_UNARY

namespace {
Ew round_row(int64_t mode) {
  switch (mode) {
    case 1: return Ew::round;
    case 2: return Ew::floor;
    case 3: return Ew::ceil;
    case 5: return Ew::trunc;
    case 7: return Ew::frac;
    default:
      throw Error(code::kAclnnParamInvalid,
                  "roundMode is {}, want 1 (round), 2 (floor), 3 (ceil), 5 (trunc) or 7 (frac)", mode);
  }
}

ListJob round_job(int64_t mode, const Tensors& x, const Tensors& out) {
  const Compute compute = list_compute(x, out);
  if (compute != Compute::I64) return ListJob(list_kernel(round_row(mode), compute), compute, 1);
  ListJob job(list_kernel(Ew::copy, compute), compute, 1);  // integers are round
  job.copy_only();
  return job;
}
}  // namespace

ACLNN(aclnnForeachRoundOffNumberV2, (Tensors, x), (Scalar, roundMode), (Tensors, out)) {
  if (out.size() == 0) return;
  launch_list(op, round_job(roundMode->to_int(), x, out), {&x}, out);
}

// The mode lies in device memory: the row is chosen when the work runs.
ACLNN(aclnnForeachRoundOffNumber, (Tensors, x), (In, roundMode), (Tensors, out)) {
  if (out.size() == 0) return;
  require_lists(op, {{"out", &out}, {"x", &x}});
  op.require(roundMode->numel() == 1, "roundMode is {}, want one element", describe(*roundMode));
  std::vector<std::pair<TensorView, TensorView>> pairs;
  for (size_t i = 0; i < out.size(); ++i)
    if (!out[i].empty()) pairs.emplace_back(x[i], out[i]);
  op.launch([pairs = std::move(pairs), mode = *roundMode] {
    int64_t value = 0;
    kernels().load[static_cast<int>(mode.dtype)][static_cast<int>(Compute::I64)](&value, mode.data, 0, 1);
    for (const auto& [from, to] : pairs) {
      const Compute compute = compute_of(from.dtype);
      if (compute == Compute::I64) copy_elements(to, from);
      else run_elementwise(elementwise_kernel(round_row(value), compute), compute, {from}, {to}, Params{});
    }
  });
}

}  // namespace updraft
