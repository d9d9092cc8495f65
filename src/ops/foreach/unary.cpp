// Foreach operators of one list: out[i] = f(x[i]).
#include "kernels/rows/activation.h"
#include "kernels/rows/arithmetic.h"
#include "kernels/rows/functions.h"
#include "kernels/rows/special.h"
#include "ops/foreach/list.h"

namespace updraft {

#define UPDRAFT_FOREACH_UNARY(NAME, row) \
  ACLNN(NAME, (Tensors, x), (OutTensors, out)) { plan_list(op, ew::row, {&x}, out); }

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

ABOUT(aclnnForeachAbs, Vector, "out[i] = abs(x[i]) for each tensor of the list", "对列表中每个张量计算绝对值")
ABOUT(aclnnForeachExp, Vector, "out[i] = exp(x[i]) for each tensor of the list", "对列表中每个张量计算自然指数")
ABOUT(aclnnForeachExpm1, Vector, "out[i] = exp(x[i]) - 1 for each tensor of the list",
      "对列表中每个张量计算 exp(x[i]) - 1")
ABOUT(aclnnForeachNeg, Vector, "out[i] = -x[i] for each tensor of the list", "对列表中每个张量取相反数")
ABOUT(aclnnForeachReciprocal, Vector, "out[i] = 1 / x[i] for each tensor of the list", "对列表中每个张量取倒数")
ABOUT(aclnnForeachSign, Vector, "out[i] = sign of x[i] for each tensor of the list",
      "对列表中每个张量取符号 -1、0 或 1")
ABOUT(aclnnForeachSqrt, Vector, "out[i] = sqrt(x[i]) for each tensor of the list", "对列表中每个张量计算平方根")
ABOUT(aclnnForeachAcos, Vector, "out[i] = arccosine of x[i] for each tensor of the list", "对列表中每个张量计算反余弦")
ABOUT(aclnnForeachAsin, Vector, "out[i] = arcsine of x[i] for each tensor of the list", "对列表中每个张量计算反正弦")
ABOUT(aclnnForeachAtan, Vector, "out[i] = arctangent of x[i] for each tensor of the list", "对列表中每个张量计算反正切")
ABOUT(aclnnForeachCos, Vector, "out[i] = cos(x[i]) for each tensor of the list", "对列表中每个张量计算余弦")
ABOUT(aclnnForeachCosh, Vector, "out[i] = cosh(x[i]) for each tensor of the list", "对列表中每个张量计算双曲余弦")
ABOUT(aclnnForeachErf, Vector, "out[i] = error function of x[i] for each tensor of the list",
      "对列表中每个张量计算误差函数")
ABOUT(aclnnForeachErfc, Vector, "out[i] = 1 - erf(x[i]) for each tensor of the list",
      "对列表中每个张量计算互补误差函数")
ABOUT(aclnnForeachLog, Vector, "out[i] = natural logarithm of x[i] for each tensor of the list",
      "对列表中每个张量计算自然对数")
ABOUT(aclnnForeachLog10, Vector, "out[i] = logarithm of x[i] to base 10 for each tensor of the list",
      "对列表中每个张量计算以 10 为底的对数")
ABOUT(aclnnForeachLog1p, Vector, "out[i] = log(1 + x[i]) for each tensor of the list",
      "对列表中每个张量计算 ln(1 + x[i])")
ABOUT(aclnnForeachLog2, Vector, "out[i] = logarithm of x[i] to base 2 for each tensor of the list",
      "对列表中每个张量计算以 2 为底的对数")
ABOUT(aclnnForeachSigmoid, Vector, "out[i] = 1 / (1 + exp(-x[i])) for each tensor of the list",
      "对列表中每个张量计算 sigmoid")
ABOUT(aclnnForeachSin, Vector, "out[i] = sin(x[i]) for each tensor of the list", "对列表中每个张量计算正弦")
ABOUT(aclnnForeachSinh, Vector, "out[i] = sinh(x[i]) for each tensor of the list", "对列表中每个张量计算双曲正弦")
ABOUT(aclnnForeachTan, Vector, "out[i] = tan(x[i]) for each tensor of the list", "对列表中每个张量计算正切")
ABOUT(aclnnForeachTanh, Vector, "out[i] = tanh(x[i]) for each tensor of the list", "对列表中每个张量计算双曲正切")

#undef UPDRAFT_FOREACH_UNARY

namespace {
Ew round_row(int64_t mode) {
  switch (mode) {
    case 1: return ew::round;
    case 2: return ew::floor;
    case 3: return ew::ceil;
    case 4: return ew::round_away;
    case 5: return ew::trunc;
    case 7: return ew::frac;
    default:
      throw Error(code::kAclnnParamInvalid,
                  "roundMode is {}, want 1 (round, halves to even), 2 (floor), 3 (ceil), 4 (round, halves away from "
                  "zero), 5 (trunc) or 7 (frac)",
                  mode);
  }
}

ListJob round_job(int64_t mode, const Tensors& x, const Tensors& out) {
  const Compute compute = list_compute(x, out);
  if (compute != Compute::I64) return ListJob(list_kernel(round_row(mode), compute), compute, 1);
  ListJob job(list_kernel(ew::copy, compute), compute, 1);  // integers are round
  job.copy_only();
  return job;
}
}  // namespace

ABOUT(aclnnForeachRoundOffNumberV2, Vector,
      "Rounds each tensor of the list: 1 nearest, 2 down, 3 up, 4 halves away, 5 to zero, 7 fraction",
      "按 roundMode 对列表中每个张量取整：1 最近、2 向下、3 向上、4 四舍五入、5 向零、7 取小数部分")
ACLNN(aclnnForeachRoundOffNumberV2, (Tensors, x), (Scalar, roundMode), (OutTensors, out)) {
  if (out.size() == 0) return;
  if (op.inferring()) suggest_list(op, {&x}, out, [](DType common) { return common; });
  launch_list(op, round_job(roundMode->to_int(), x, out), {&x}, out);
}

// The mode lies in device memory: the row is chosen when the work runs.
SAMPLE(aclnnForeachRoundOffNumber, "roundMode=i8[1]:1..2")
ABOUT(aclnnForeachRoundOffNumber, Vector, "As aclnnForeachRoundOffNumberV2, with roundMode in a tensor",
      "与 aclnnForeachRoundOffNumberV2 相同，roundMode 为单元素张量")
ACLNN(aclnnForeachRoundOffNumber, (Tensors, x), (In, roundMode), (OutTensors, out)) {
  if (out.size() == 0) return;
  if (op.inferring()) suggest_list(op, {&x}, out, [](DType common) { return common; });
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
