// Mixtures of experts: their operators of the C interface, by the names of graphs.
#include "ops/ir/shapes.h"

namespace updraft {

IR_OP(MoeGatingTopKSoftmax, aclnnMoeGatingTopKSoftmax, (In, x), (OptIn, finished), (Out, y), (Out, expert_idx),
      (Out, row_idx), (Int, k)) {
  call(op, "aclnnMoeGatingTopKSoftmax", x, finished, k, y, expert_idx, row_idx);
}
IR_OP(MoeInitRouting, aclnnMoeInitRouting, (In, x), (In, row_idx), (In, expert_idx), (Out, expanded_x),
      (Out, expanded_row_idx), (Out, expanded_expert_idx), (Int, active_num)) {
  call(op, "aclnnMoeInitRouting", x, row_idx, expert_idx, active_num, expanded_x, expanded_row_idx,
       expanded_expert_idx);
}
IR_OP(MoeComputeExpertTokens, aclnnMoeComputeExpertTokens, (In, sorted_experts), (Out, total_rows_before_expert),
      (Int, num_experts)) {
  call(op, "aclnnMoeComputeExpertTokens", sorted_experts, num_experts, total_rows_before_expert);
}
IR_OP(MoeFinalizeRouting, aclnnMoeFinalizeRouting, (In, expanded_x), (In, x1), (OptIn, x2), (In, bias), (In, scales),
      (In, expanded_row_idx), (In, expanded_expert_idx), (Out, y)) {
  call(op, "aclnnMoeFinalizeRouting", expanded_x, x1, x2, bias, scales, expanded_row_idx, expanded_expert_idx, y);
}
IR_OP(DynamicQuant, aclnnDynamicQuantV2, (In, x), (OptIn, smooth_scales), (OptIn, group_index), (Out, y), (Out, scale),
      (Int, dst_type, 2)) {
  call(op, "aclnnDynamicQuantV2", x, smooth_scales, group_index, dst_type, y, scale, nullptr);
}

}  // namespace updraft
