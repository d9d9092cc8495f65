// Which copy of an expert a token takes, where ranks have copies of busy experts, and which choices weigh enough.
#include <algorithm>

#include "ops/gathered.h"
#include "ops/op.h"

namespace updraft {

SAMPLE(aclnnMoeUpdateExpert,
       "expertIds=i32[3,2]:0..4 eplbTable=i32[4,3]:1..3 expertScalesOptional=f32[3,2] pruningThresholdOptional=f32[2] "
       "activeMaskOptional=bool[3] localRankId=1 worldSize=4 balanceMode=0 balancedExpertIds=i32[3,2] "
       "balancedActiveMask=bool[3,2]")
ABOUT(aclnnMoeUpdateExpert, Vector,
      "The places that eplb_table gives each expert, by rank or by token; which choices weigh enough",
      "按 eplb_table 将逻辑专家映射到物理专家（按卡或按 token 均衡），并按阈值剪枝")
ACLNN(aclnnMoeUpdateExpert, (In, expertIds), (In, eplbTable), (OptIn, expertScalesOptional),
      (OptIn, pruningThresholdOptional), (OptIn, activeMaskOptional), (Int, localRankId), (Int, worldSize),
      (Int, balanceMode), (Out, balancedExpertIds), (Out, balancedActiveMask)) {
  op.require(expertIds->rank == 2 && is_integral(expertIds->dtype), "expert_ids is {}, want integers [tokens, choices]",
             describe(*expertIds));
  op.require(eplbTable->rank == 2 && is_integral(eplbTable->dtype) && eplbTable->dims[1] > 1,
             "eplb_table is {}, want integers [experts, 1 + places]", describe(*eplbTable));
  op.require(balanceMode == 0 || balanceMode == 1, "balance_mode is {}, want 0 (by rank) or 1 (by token)", balanceMode);
  op.require(balanceMode == 1 || (localRankId >= 0 && localRankId < worldSize),
             "local_rank_id is {} and world_size {}: want the number of a rank", localRankId, worldSize);
  const int64_t tokens = expertIds->dims[0], choices = expertIds->dims[1];
  const bool prunes = expertScalesOptional && pruningThresholdOptional;
  op.require(prunes || (!expertScalesOptional && !pruningThresholdOptional && !activeMaskOptional),
             "expert_scales and pruning_threshold belong together, and active_mask to both");
  if (prunes) {
    op.require_same_shape("expert_scales", *expertScalesOptional, "expert_ids", *expertIds);
    op.require(pruningThresholdOptional->numel() == choices, "pruning_threshold is {}, want {} values",
               describe(*pruningThresholdOptional), choices);
    op.require(!activeMaskOptional || activeMaskOptional->numel() == tokens, "active_mask has {} values, want {}",
               activeMaskOptional ? activeMaskOptional->numel() : 0, tokens);
  }
  op.result_like("balanced_expert_ids", *balancedExpertIds, *expertIds, expertIds->dtype);
  op.result_like("balanced_active_mask", *balancedActiveMask, *expertIds, DType::Bool);
  op.work(8 * expertIds->numel());
  const int64_t rank = localRankId, ranks = worldSize;
  const bool by_token = balanceMode == 1;
  op.launch([=, ids = *expertIds, table = *eplbTable, scales = optional_view(expertScalesOptional),
             threshold = optional_view(pruningThresholdOptional), active = optional_view(activeMaskOptional),
             to = *balancedExpertIds, kept = *balancedActiveMask] {
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
