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

ABOUT(MoeUpdateExpert, Vector,
      "The places that eplb_table gives each expert, by rank or by token; which choices weigh enough",
      "按 eplb_table 将逻辑专家映射到物理专家（按卡或按 token 均衡），并按阈值剪枝")
IR_OP(MoeUpdateExpert, MoeUpdateExpert, (In, expert_ids), (In, eplb_table), (OptIn, expert_scales),
      (OptIn, pruning_threshold), (OptIn, active_mask), (Out, balanced_expert_ids), (Out, balanced_active_mask),
      (Int, local_rank_id, -1), (Int, world_size, -1), (Int, balance_mode, 0)) {
  op.require(expert_ids->rank == 2 && is_integral(expert_ids->dtype),
             "expert_ids is {}, want integers [tokens, choices]", describe(*expert_ids));
  op.require(eplb_table->rank == 2 && is_integral(eplb_table->dtype) && eplb_table->dims[1] > 1,
             "eplb_table is {}, want integers [experts, 1 + places]", describe(*eplb_table));
  op.require(balance_mode == 0 || balance_mode == 1, "balance_mode is {}, want 0 (by rank) or 1 (by token)",
             balance_mode);
  op.require(balance_mode == 1 || (local_rank_id >= 0 && local_rank_id < world_size),
             "local_rank_id is {} and world_size {}: want the number of a rank", local_rank_id, world_size);
  const int64_t tokens = expert_ids->dims[0], choices = expert_ids->dims[1];
  const bool prunes = expert_scales && pruning_threshold;
  op.require(prunes || (!expert_scales && !pruning_threshold && !active_mask),
             "expert_scales and pruning_threshold belong together, and active_mask to both");
  if (prunes) {
    op.require_same_shape("expert_scales", *expert_scales, "expert_ids", *expert_ids);
    op.require(pruning_threshold->numel() == choices, "pruning_threshold is {}, want {} values",
               describe(*pruning_threshold), choices);
    op.require(!active_mask || active_mask->numel() == tokens, "active_mask has {} values, want {}",
               active_mask ? active_mask->numel() : 0, tokens);
  }
  op.result_like("balanced_expert_ids", *balanced_expert_ids, *expert_ids, expert_ids->dtype);
  op.result_like("balanced_active_mask", *balanced_active_mask, *expert_ids, DType::Bool);
  op.work(8 * expert_ids->numel());
  const int64_t rank = local_rank_id, ranks = world_size;
  const bool by_token = balance_mode == 1;
  op.launch([=, ids = *expert_ids, table = *eplb_table, scales = optional_view(expert_scales),
             threshold = optional_view(pruning_threshold), active = optional_view(active_mask),
             to = *balanced_expert_ids, kept = *balanced_active_mask] {
    const std::vector<int64_t> chosen = integers_of(ids), rows = integers_of(table);
    const int64_t experts = table.dims[0], row = table.dims[1];
    std::vector<int64_t> places(chosen.size());
    std::vector<uint8_t> keeps(chosen.size(), 1);
    for (size_t i = 0; i < chosen.size(); ++i) {
      const int64_t expert = chosen[i];
      if (expert < 0 || expert >= experts)
        throw Error(code::kAclnnParamInvalid, "expert_ids has {}, want 0 to {}", expert, experts - 1);
      const int64_t* of = rows.data() + expert * row;
      if (of[0] < 1 || of[0] >= row)
        throw Error(code::kAclnnParamInvalid, "eplb_table says {} places for expert {}, want 1 to {}", of[0], expert,
                    row - 1);
      const int64_t token = static_cast<int64_t>(i) / choices;
      const int64_t place = by_token ? token % of[0] : rank / ((ranks + of[0] - 1) / of[0]);
      places[i] = of[1 + std::min(place, of[0] - 1)];
    }
    if (given(scales)) {
      const std::vector<float> weights = floats_of(scales), least = floats_of(threshold);
      const std::vector<uint8_t> in_use = given(active) ? gathered<uint8_t>(active) : std::vector<uint8_t>();
      for (size_t t = 0, k = static_cast<size_t>(choices); t < static_cast<size_t>(tokens); ++t) {
        float sum = 0;
        for (size_t c = 0; c < k; ++c) sum += weights[t * k + c];
        for (size_t c = 0; c < k; ++c)
          keeps[t * k + c] = (in_use.empty() || in_use[t]) && !(weights[t * k + c] < least[c] * sum);
      }
    }
    write_all(to, places);
    if (!kept.empty()) copy_elements(kept, TensorView::contiguous(keeps.data(), DType::Bool, kept.dims, kept.rank));
  });
}

}  // namespace updraft
