// Connectionist temporal classification. The lengths are tensors here, and the plan needs their values.
#include "ops/ir/shapes.h"

namespace updraft {
namespace {

/// torch_npu adds the length of the longest target to the blank's class, times the number of classes.
int64_t blank_class(const Op& op, const TensorView& log_probs, int64_t blank) {
  op.require(log_probs.rank == 3 && log_probs.dims[2] > 0, "log_probs is {}, want [T,N,C]", describe(log_probs));
  op.require(blank >= 0, "attribute blank is {}, want a class", blank);
  return blank % log_probs.dims[2];
}

}  // namespace

IR_OP(CTCLossV2, aclnnCtcLoss, (In, log_probs), (In, targets), (In, input_lengths), (In, target_lengths),
      (Out, neg_log_likelihood), (Out, log_alpha), (Int, blank, 0), (Text, reduction, "mean"),
      (Bool, zero_infinity, false)) {
  ir::want(op, "reduction", reduction, "mean");  // nothing is reduced: neg_log_likelihood has a value a sequence
  call(op, "aclnnCtcLoss", log_probs, targets, op.integers("input_lengths", input_lengths.handle),
       op.integers("target_lengths", target_lengths.handle), blank_class(op, *log_probs, blank), zero_infinity,
       neg_log_likelihood, log_alpha);
}

IR_OP(CTCLossV2Grad, aclnnCtcLossBackward, (In, grad_out), (In, log_probs), (In, targets), (In, input_lengths),
      (In, target_lengths), (In, neg_log_likelihood), (In, log_alpha), (Out, grad), (Int, blank, 0),
      (Text, reduction, "mean"), (Bool, zero_infinity, false)) {
  ir::want(op, "reduction", reduction, "mean");  // nothing is reduced: grad_out has a value a sequence
  op.result_like("grad", *grad, *log_probs, log_probs->dtype);
  call(op, "aclnnCtcLossBackward", grad_out, log_probs, targets, op.integers("input_lengths", input_lengths.handle),
       op.integers("target_lengths", target_lengths.handle), neg_log_likelihood, log_alpha,
       blank_class(op, *log_probs, blank), zero_infinity, grad);
}

}  // namespace updraft
