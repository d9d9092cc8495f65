// Mixtures of experts: their operators of the C interface, by the names of graphs.
#include "kernels/pipeline.h"
#include "ops/gathered.h"
#include "ops/ir/shapes.h"

namespace updraft {
namespace {

/// Where tokens go: x [B, tokens, K] names experts, each of which takes `capacity` tokens of a batch.
struct Router {
  int64_t capacity, experts;
  bool first_choices_first = false;  ///< of all tokens, before any second choice; otherwise token after token

  Router(Op& op, const In& x, const In& capacity_, const In& expert_num, const In& drop_type, const Out& dispatch,
         const Out& combine)
      : capacity(integer_of(op, "capacity", capacity_.handle)),
        experts(integer_of(op, "expert_num", expert_num.handle)) {
    const int64_t how = integer_of(op, "drop_type", drop_type.handle);
    op.require(how == 0 || how == 1, "drop_type is {}, want 0 (token after token) or 1 (choice after choice)", how);
    first_choices_first = how == 1;
    op.require(x->rank == 3 && is_integral(x->dtype), "x is {}, want integers [batch, tokens, choices]", describe(*x));
    op.require(capacity > 0 && experts > 0, "capacity is {} and expert_num {}, want 1 or more", capacity, experts);
    ir::result(op, "dispatch_index", *dispatch, {x->dims[0], experts, capacity}, DType::Int32);
    op.result_like("combine_index", *combine, *x, DType::Int32);
    op.work(8 * x->numel() + dispatch->numel());
  }

  /// Tokens count from 1. A place in combine is expert * (capacity + 1) + its place there, which is 0 of a token that
  /// is dropped: its expert is full, or the probabilities up to this choice reach the threshold.
  void run(const TensorView& x, const TensorView& dispatch, const TensorView& combine, const TensorView& probability,
           float threshold) const {
    const int64_t batches = x.dims[0], tokens = x.dims[1], choices = x.dims[2], each = tokens * choices;
    std::vector<int64_t> chosen(static_cast<size_t>(x.numel()));
    std::vector<float> chances(static_cast<size_t>(probability.data ? x.numel() : 0));
    if (!chosen.empty()) gather_to(chosen.data(), DType::Int64, x);
    if (!chances.empty()) gather_to(chances.data(), DType::Float, probability);
    for (size_t row = 0; row < chances.size(); row += static_cast<size_t>(choices)) {  // the sum up to each choice
      for (size_t k = 1; k < static_cast<size_t>(choices); ++k) chances[row + k] += chances[row + k - 1];
    }
    std::vector<int32_t> taken(static_cast<size_t>(batches * experts * capacity)), places(chosen.size());
    for (int64_t b = 0; b < batches; ++b) {
      std::vector<int64_t> counts(static_cast<size_t>(experts));
      for (int64_t n = 0; n < each; ++n) {
        const int64_t token = first_choices_first ? n % tokens : n / choices;
        const auto at =
            static_cast<size_t>(b * each + token * choices + (first_choices_first ? n / tokens : n % choices));
        const int64_t expert = chosen[at];
        if (expert < 0 || expert >= experts)
          throw Error(code::kAclnnParamInvalid, "x has expert {}, want 0 to {}", expert, experts - 1);
        int64_t& count = counts[static_cast<size_t>(expert)];
        const bool kept = count < capacity && (chances.empty() || chances[at] < threshold);
        if (kept)
          taken[static_cast<size_t>((b * experts + expert) * capacity + count++)] = static_cast<int32_t>(token + 1);
        places[at] = static_cast<int32_t>(expert * (capacity + 1) + (kept ? count : 0));
      }
    }
    copy_elements(dispatch, TensorView::contiguous(taken.data(), DType::Int32, dispatch.dims, dispatch.rank));
    copy_elements(combine, TensorView::contiguous(places.data(), DType::Int32, combine.dims, combine.rank));
  }
};

}  // namespace

ABOUT(CustTopKRouter, AICPU, "MindSpore's TopKRouter: which tokens each expert takes, and where each token went",
      "MindSpore 的 TopKRouter：各专家接收的 token 及各 token 的去向")
IR_OP(CustTopKRouter, CustTopKRouter, (In, x), (In, capacity), (In, expert_num), (In, drop_type), (Out, dispatch_index),
      (Out, combine_index)) {
  const Router router(op, x, capacity, expert_num, drop_type, dispatch_index, combine_index);
  op.launch([router, x = *x, dispatch = *dispatch_index, combine = *combine_index] {
    router.run(x, dispatch, combine, TensorView(), 0);
  });
}
ABOUT(CustTopPRouter, AICPU, "As TopKRouter, of the choices whose probabilities together stay below threshold",
      "同 TopKRouter，仅保留累计概率小于 threshold 的选择")
IR_OP(CustTopPRouter, CustTopPRouter, (In, x), (In, capacity), (In, expert_num), (In, drop_type), (In, threshold),
      (In, router_prob), (Out, dispatch_index), (Out, combine_index)) {
  op.require_same_shape("router_prob", *router_prob, "x", *x);
  const Router router(op, x, capacity, expert_num, drop_type, dispatch_index, combine_index);
  const auto limit = static_cast<float>(number_of(op, "threshold", threshold.handle));
  op.launch([router, limit, x = *x, chances = *router_prob, dispatch = *dispatch_index, combine = *combine_index] {
    router.run(x, dispatch, combine, chances, limit);
  });
}

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

IR_OP(DynamicQuantV2, aclnnDynamicQuantV2, (In, x), (OptIn, smooth_scales), (OptIn, group_index), (Out, y),
      (Out, scale), (Out, offset), (Int, dst_type, 2)) {
  call(op, "aclnnDynamicQuantV2", x, smooth_scales, group_index, dst_type, y, scale, offset);
}
IR_OP(RotateQuant, aclnnRotateQuant, (In, x), (In, rotation), (OptIn, alpha), (Out, y), (Out, scale), (Int, y_dtype, 0),
      (Int, axis, -1), (Text, round_mode, "rint"), (Int, scale_alg, 0), (Float, dst_type_max, 0),
      (Bool, transpose_y, false)) {
  // The function has no parameter for it: the type of y tells.
  if (y->dtype == DType::Undefined && y_dtype == static_cast<int64_t>(DType::Int4))
    op.suggest(*y, {x->dims[0], x->dims[1] / 8}, DType::Int32);
  call(op, "aclnnRotateQuant", x, rotation, alpha, axis, round_mode, scale_alg, dst_type_max, transpose_y, y, scale);
}
IR_OP(AddRmsNormDynamicQuant, aclnnAddRmsNormDynamicQuantV2, (In, x1), (In, x2), (In, gamma), (OptIn, smooth_scale1),
      (OptIn, smooth_scale2), (OptIn, beta), (Out, y1), (Out, y2), (Out, x), (Out, scale1), (Out, scale2),
      (Float, epsilon, 1e-6f), (Bools, output_mask, nullptr), (Int, dst_type, 2)) {
  ir::want(op, "dst_type", dst_type, static_cast<int64_t>(DType::Int8));
  const StepArgument mask = output_mask.size() ? StepArgument(output_mask) : StepArgument(nullptr);
  call(op, "aclnnAddRmsNormDynamicQuantV2", x1, x2, gamma, smooth_scale1, smooth_scale2, beta, epsilon, mask, y1, y2, x,
       scale1, scale2);
}
IR_OP(GroupQuant, aclnnGroupQuant, (In, x), (In, scale), (In, group_index), (OptIn, offset), (Out, y),
      (Int, dst_type, 2)) {
  if (dst_type == static_cast<int64_t>(DType::Int8)) op.result_like("y", *y, *x, DType::Int8);
  call(op, "aclnnGroupQuant", x, scale, group_index, offset, dst_type, y);
}
IR_OP(MoeGatingTopK, aclnnMoeGatingTopK, (In, x), (OptIn, bias), (OptIn, input_ids), (OptIn, tid2eid), (Out, y),
      (Out, expert_idx), (Out, y2), (Int, k), (Int, k_group, 1), (Int, group_count, 1), (Int, group_select_mode, 0),
      (Int, renorm, 0), (Int, norm_type, 0), (Bool, out_flag, false), (Float, routed_scaling_factor, 1),
      (Float, eps, 1e-20f)) {
  op.require(!input_ids && !tid2eid,
             "input_ids or tid2eid is given, want neither: experts by tokens are not implemented");
  if (!out_flag) op.result_like("y2", *y2, *x, DType::Float);
  call(op, "aclnnMoeGatingTopK", x, bias, k, k_group, group_count, group_select_mode, renorm, norm_type, out_flag,
       routed_scaling_factor, eps, y, expert_idx, out_flag ? StepArgument(y2) : StepArgument(nullptr));
}
IR_OP(MoeInitRoutingV3, aclnnMoeInitRoutingV3, (In, x), (In, expert_idx), (OptIn, scale), (OptIn, offset),
      (Out, expanded_x), (Out, expanded_row_idx), (Out, expert_tokens_count_or_cumsum), (Out, expanded_scale),
      (Int, active_num, -1), (Int, expert_capacity, -1), (Int, expert_num, -1), (Int, drop_pad_mode, 0),
      (Int, expert_tokens_num_type, 0), (Bool, expert_tokens_num_flag, false), (Int, quant_mode, -1),
      (Ints, active_expert_range, nullptr), (Int, row_idx_type, 0)) {
  const StepArgument range = active_expert_range.size() ? StepArgument(active_expert_range) : StepArgument(nullptr);
  call(op, "aclnnMoeInitRoutingV3", x, expert_idx, scale, offset, active_num, expert_capacity, expert_num,
       drop_pad_mode, expert_tokens_num_type, expert_tokens_num_flag, quant_mode, range, row_idx_type, expanded_x,
       expanded_row_idx, expert_tokens_count_or_cumsum, expanded_scale);
}
IR_OP(MoeFinalizeRoutingV2, aclnnMoeFinalizeRoutingV2, (In, expanded_x), (In, expanded_row_idx), (OptIn, x1),
      (OptIn, x2), (OptIn, bias), (OptIn, scales), (OptIn, expert_idx), (Out, y), (Int, drop_pad_mode, 0),
      (Int, K, 1)) {
  (void)K;  // scales says it, too
  call(op, "aclnnMoeFinalizeRoutingV2", expanded_x, expanded_row_idx, x1, x2, bias, scales, expert_idx, drop_pad_mode,
       y);
}
IR_OP(MoeReRouting, aclnnMoeReRouting, (In, tokens), (In, expert_token_num_per_rank), (OptIn, per_token_scales),
      (Out, permute_tokens), (Out, permute_per_token_scales), (Out, permute_token_idx), (Out, expert_token_num),
      (Int, expert_token_num_type, 1), (Int, idx_type, 0)) {
  if (!per_token_scales) ir::suggest(op, *permute_per_token_scales, {tokens->dims[0]}, DType::Float);
  call(op, "aclnnMoeReRouting", tokens, expert_token_num_per_rank, per_token_scales, expert_token_num_type, idx_type,
       permute_tokens, per_token_scales ? StepArgument(permute_per_token_scales) : StepArgument(nullptr),
       permute_token_idx, expert_token_num);
}

// The IR has no need_schedule for the first, but clients give it.
IR_OP(AttentionWorkerCombine, aclnnAttentionWorkerCombine, (In, schedule_context), (In, expert_scales), (In, layer_id),
      (Out, y), (Out, next_layer_id), (Int, hidden_size, 0), (Int, token_dtype, 0), (Int, need_schedule, 0)) {
  call(op, "aclnnAttentionWorkerCombine", schedule_context, expert_scales, layer_id, hidden_size, token_dtype,
       need_schedule, y, next_layer_id);
}
IR_OP(FfnWorkerBatching, aclnnFfnWorkerBatching, (In, schedule_context), (Out, y), (Out, group_list),
      (Out, session_ids), (Out, micro_batch_ids), (Out, token_ids), (Out, expert_offsets), (Out, dynamic_scale),
      (Out, actual_token_num), (Int, expert_num), (Ints, max_out_shape), (Int, token_dtype, 0), (Int, need_schedule, 0),
      (Int, layer_num, 0)) {
  call(op, "aclnnFfnWorkerBatching", schedule_context, expert_num, max_out_shape, token_dtype, need_schedule, layer_num,
       y, group_list, session_ids, micro_batch_ids, token_ids, expert_offsets, dynamic_scale, actual_token_num);
}

IR_OP(MoeUpdateExpert, aclnnMoeUpdateExpert, (In, expert_ids), (In, eplb_table), (OptIn, expert_scales),
      (OptIn, pruning_threshold), (OptIn, active_mask), (Out, balanced_expert_ids), (Out, balanced_active_mask),
      (Int, local_rank_id, -1), (Int, world_size, -1), (Int, balance_mode, 0)) {
  call(op, "aclnnMoeUpdateExpert", expert_ids, eplb_table, expert_scales, pruning_threshold, active_mask, local_rank_id,
       world_size, balance_mode, balanced_expert_ids, balanced_active_mask);
}

}  // namespace updraft
