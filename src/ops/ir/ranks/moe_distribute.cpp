// Experts on many ranks (MoeDistributeDispatch …) by the names of graphs. Like collectives they are operations of a
// stream: the graph's executor puts them there between its parts.
#include "ops/exchange.h"
#include "ops/ir/shapes.h"
#include "ops/moe/distribute.h"

namespace updraft {
namespace {

using namespace moe_distribute;

OptOut optional(const Out& out) { return {out.handle}; }

Dispatched results(const Op& op, const Dispatch& what, const Out& expand_x, const Out& dynamic_scales,
                   const Out& expand_idx, const Out& expert_token_nums, const Out& ep_recv_count,
                   const Out& tp_recv_count, const Out& expand_scales, int64_t y_dtype) {
  const DType type = what.quant_mode ? DType::Int8 : what.x.dtype;
  op.require(y_dtype == 0 || y_dtype == static_cast<int64_t>(type), "attribute y_dtype is {}, want {} ({})", y_dtype,
             static_cast<int64_t>(type), name_of(type));
  return {expand_x,
          optional(dynamic_scales),
          expand_idx,
          expert_token_nums,
          ep_recv_count,
          optional(tp_recv_count),
          optional(expand_scales)};
}

void refuse_factors(const Op& op, const OptIn& activation_scale, const OptIn& weight_scale, const OptIn& group_list) {
  refuse(op, "activation_scale, weight_scale or group_list", activation_scale || weight_scale || group_list);
}

}  // namespace

// What several types have in common.
#define DISPATCH_TENSORS (In, x), (In, expert_ids), (OptIn, scales), (OptIn, x_active_mask), (OptIn, expert_scales)
#define DISPATCH_RESULTS                                                                                     \
  (Out, expand_x), (Out, dynamic_scales), (Out, expand_idx), (Out, expert_token_nums), (Out, ep_recv_count), \
      (Out, tp_recv_count), (Out, expand_scales)
#define DISPATCH_RESULT_NAMES \
  expand_x, dynamic_scales, expand_idx, expert_token_nums, ep_recv_count, tp_recv_count, expand_scales
#define DEPLOYMENT_NUMBERS                                                                                     \
  (Text, group_ep), (Int, ep_world_size), (Int, ep_rank_id), (Int, moe_expert_num), (Text, group_tp, ""),      \
      (Int, tp_world_size, 0), (Int, tp_rank_id, 0), (Int, expert_shard_type, 0), (Int, shared_expert_num, 1), \
      (Int, shared_expert_rank_num, 0)
#define DEPLOYMENT                                                                                             \
  group_ep, ep_world_size, ep_rank_id, moe_expert_num, group_tp, tp_world_size, tp_rank_id, expert_shard_type, \
      shared_expert_num, shared_expert_rank_num, global_bs
#define SPECIAL_NUMBERS (Int, zero_expert_num, 0), (Int, copy_expert_num, 0), (Int, const_expert_num, 0)
#define DISPATCH_VIEWS                                                                                            \
  *x, *expert_ids, optional_view(scales), optional_view(x_active_mask), optional_view(expert_scales), quant_mode, \
      expert_token_nums_type

IR_OP(MoeDistributeDispatch, aclnnMoeDistributeDispatch, DISPATCH_TENSORS, DISPATCH_RESULTS, DEPLOYMENT_NUMBERS,
      (Int, quant_mode, 0), (Int, global_bs, 0), (Int, expert_token_nums_type, 1)) {
  const Dispatch what{{DEPLOYMENT}, DISPATCH_VIEWS};
  plan_dispatch(op, what, results(op, what, DISPATCH_RESULT_NAMES, 0), false);
}
IR_OP(MoeDistributeDispatchV2, aclnnMoeDistributeDispatchV4, DISPATCH_TENSORS, (OptIn, elastic_info),
      (OptIn, performance_info), DISPATCH_RESULTS, DEPLOYMENT_NUMBERS, (Int, quant_mode, 0), (Int, global_bs, 0),
      (Int, expert_token_nums_type, 1), (Text, comm_alg, ""), SPECIAL_NUMBERS, (Int, y_dtype, 0)) {
  not_read(comm_alg);
  refuse(op, "elastic_info", static_cast<bool>(elastic_info));
  refuse(op, "performance_info", static_cast<bool>(performance_info));
  const Dispatch what{{DEPLOYMENT, zero_expert_num, copy_expert_num, const_expert_num}, DISPATCH_VIEWS};
  plan_dispatch(op, what, results(op, what, DISPATCH_RESULT_NAMES, y_dtype), true);
}

#define COMBINE_TENSORS(INDEX) (In, expand_x), (In, expert_ids), (In, INDEX), (In, ep_send_counts), (In, expert_scales)
#define COMBINE_OPTIONS                                                                              \
  (OptIn, tp_send_counts), (OptIn, x_active_mask), (OptIn, activation_scale), (OptIn, weight_scale), \
      (OptIn, group_list), (OptIn, expand_scales)
#define COMBINE_SPECIAL                                                                           \
  (OptIn, shared_expert_x), (OptIn, elastic_info), (OptIn, ori_x), (OptIn, const_expert_alpha_1), \
      (OptIn, const_expert_alpha_2), (OptIn, const_expert_v)
#define COMBINE_NUMBERS \
  DEPLOYMENT_NUMBERS, (Int, global_bs, 0), (Int, out_dtype, 0), (Int, comm_quant_mode, 0), (Int, group_list_type, 0)
#define COMBINE_VIEWS *expand_x, *expert_ids, *ep_send_counts, *expert_scales, optional_view(x_active_mask)
#define COMBINE_SPECIAL_VIEWS                                                                \
  optional_view(shared_expert_x), optional_view(ori_x), optional_view(const_expert_alpha_1), \
      optional_view(const_expert_alpha_2), optional_view(const_expert_v)
#define COMBINE_MODES out_dtype, comm_quant_mode, group_list_type

IR_OP(MoeDistributeCombine, aclnnMoeDistributeCombine, COMBINE_TENSORS(expand_idx), COMBINE_OPTIONS, (Out, x),
      COMBINE_NUMBERS) {
  not_read(expand_idx, tp_send_counts, expand_scales);
  refuse_factors(op, activation_scale, weight_scale, group_list);
  plan_combine(op, {{DEPLOYMENT}, COMBINE_VIEWS, {}, {}, {}, {}, {}, COMBINE_MODES}, x);
}
IR_OP(MoeDistributeCombineV2, aclnnMoeDistributeCombineV4, COMBINE_TENSORS(assist_info_for_combine), COMBINE_OPTIONS,
      COMBINE_SPECIAL, (OptIn, performance_info), (Out, x), COMBINE_NUMBERS, (Text, comm_alg, ""), SPECIAL_NUMBERS) {
  not_read(assist_info_for_combine, tp_send_counts, expand_scales, comm_alg);
  refuse_factors(op, activation_scale, weight_scale, group_list);
  refuse(op, "elastic_info", static_cast<bool>(elastic_info));
  refuse(op, "performance_info", static_cast<bool>(performance_info));
  plan_combine(op,
               {{DEPLOYMENT, zero_expert_num, copy_expert_num, const_expert_num},
                COMBINE_VIEWS,
                COMBINE_SPECIAL_VIEWS,
                COMBINE_MODES},
               x);
}
IR_OP(MoeDistributeCombineAddRmsNorm, aclnnMoeDistributeCombineAddRmsNormV2, COMBINE_TENSORS(assist_info),
      (In, residual_x), (In, gamma), COMBINE_OPTIONS, COMBINE_SPECIAL, (Out, y), (Out, rstd), (Out, x), COMBINE_NUMBERS,
      (Text, comm_alg, ""), (Float, norm_eps, 1e-6F), SPECIAL_NUMBERS) {
  not_read(assist_info, tp_send_counts, expand_scales, comm_alg);
  refuse_factors(op, activation_scale, weight_scale, group_list);
  refuse(op, "elastic_info", static_cast<bool>(elastic_info));
  plan_combine(op,
               {{DEPLOYMENT, zero_expert_num, copy_expert_num, const_expert_num},
                COMBINE_VIEWS,
                COMBINE_SPECIAL_VIEWS,
                COMBINE_MODES},
               {*residual_x, *gamma, norm_eps}, y, rstd, x);
}

IR_OP(DistributeBarrier, aclnnDistributeBarrierV2, (InOut, x_ref), (OptIn, time_out), (OptIn, elastic_info),
      (Text, group), (Int, world_size)) {
  not_read(x_ref, time_out);
  refuse(op, "elastic_info", static_cast<bool>(elastic_info));
  plan_barrier(op, group, world_size);
}

namespace {
[[maybe_unused]] const WaitsForRanks waiting[] = {
    WaitsForRanks(MoeDistributeDispatch_ir_info),          WaitsForRanks(MoeDistributeDispatchV2_ir_info),
    WaitsForRanks(MoeDistributeCombine_ir_info),           WaitsForRanks(MoeDistributeCombineV2_ir_info),
    WaitsForRanks(MoeDistributeCombineAddRmsNorm_ir_info), WaitsForRanks(DistributeBarrier_ir_info),
};
}  // namespace

}  // namespace updraft
