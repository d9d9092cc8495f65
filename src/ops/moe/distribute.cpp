#include "ops/moe/distribute.h"

#include <algorithm>
#include <string_view>

namespace updraft::moe_distribute {

void refuse(const Op& op, const char* name, bool given) {
  op.require(!given, "{} is given, which is not supported: leave it out", name);
}

Blocks::Blocks(const Op& op, const Deployment& deployment, const TensorView& expert_ids, const TensorView& active,
               int64_t row_bytes_, int64_t head_bytes_)
    : d(deployment), row_bytes(row_bytes_), head_bytes(head_bytes_) {
  op.require(d.group && *d.group, "group_ep is empty, want the name of a communicator (HcclGetCommName)");
  op.require(d.ranks > 0 && d.rank >= 0 && d.rank < d.ranks, "ep_rank_id is {} of ep_world_size {}, want 0 to {}",
             d.rank, d.ranks, d.ranks - 1);
  op.require(d.tp_ranks == 0 || d.tp_ranks == 1,
             "tp_world_size is {}: tensor parallelism is not supported, want 0 or 1", d.tp_ranks);
  op.require(d.tp_rank == 0, "tp_rank_id is {}, want 0", d.tp_rank);
  op.require(d.shard_type == 0, "expert_shard_type is {}, want 0 (ranks of shared experts come first)", d.shard_type);
  op.require(d.shared_ranks >= 0 && d.shared_ranks < d.ranks, "shared_expert_rank_num is {}, want 0 to {}",
             d.shared_ranks, d.ranks - 1);
  op.require(d.shared_ranks ? d.shared_experts > 0 && d.shared_ranks % d.shared_experts == 0
                            : d.shared_experts == 0 || d.shared_experts == 1,
             "shared_expert_num is {} and shared_expert_rank_num {}: want as many ranks for each shared expert, or no "
             "ranks and 0 or 1",
             d.shared_experts, d.shared_ranks);
  op.require(d.experts > 0 && d.experts % (d.ranks - d.shared_ranks) == 0,
             "moe_expert_num is {}, want as many experts on each of {} ranks", d.experts, d.ranks - d.shared_ranks);
  op.require(d.zero_experts >= 0 && d.copy_experts >= 0 && d.const_experts >= 0,
             "zero_expert_num is {}, copy_expert_num {} and const_expert_num {}, want 0 or more", d.zero_experts,
             d.copy_experts, d.const_experts);
  op.require(expert_ids.rank == 2 && expert_ids.dtype == DType::Int32 && expert_ids.dims[1] > 0,
             "expert_ids is {}, want INT32 [tokens, K]", describe(expert_ids));
  tokens = expert_ids.dims[0], choices = expert_ids.dims[1];
  if (d.global_tokens == 0) d.global_tokens = tokens * d.ranks;
  op.require(d.global_tokens > 0 && d.global_tokens % d.ranks == 0 && d.global_tokens / d.ranks >= tokens,
             "global_bs is {}, want 0 or {} times the most tokens that a rank has; this one has {}", d.global_tokens,
             d.ranks, tokens);
  if (given(active)) {
    const bool by_choice = active.rank == 2 && active.dims[1] == choices;
    op.require(active.dtype == DType::Bool && (active.rank == 1 || by_choice) && active.dims[0] == tokens,
               "x_active_mask is {}, want BOOL [{}] or [{}, {}]", describe(active), tokens, tokens, choices);
  }
  rows = d.global_tokens / d.ranks * std::min(d.of_rank(), choices);
}

int64_t Blocks::arriving() const {
  if (!d.is_shared(d.rank)) return d.global_tokens * std::min(d.of_rank(), choices);
  const int64_t copies = d.copies_of_shared();
  return d.global_tokens / d.ranks * ((d.ranks + copies - 1) / copies);
}

std::vector<std::vector<Row>> Blocks::routed(const TensorView& expert_ids, const TensorView& active) const {
  const std::vector<int64_t> ids = integers_of(expert_ids);
  const std::vector<int64_t> mask = given(active) ? integers_of(active) : std::vector<int64_t>();
  const bool by_choice = given(active) && active.rank == 2;
  auto takes_part = [&](int64_t token, int64_t choice) {
    return mask.empty() || mask[static_cast<size_t>(by_choice ? token * choices + choice : token)] != 0;
  };
  std::vector<std::vector<Row>> to(static_cast<size_t>(d.ranks));
  for (int64_t t = 0; t < tokens; ++t) {
    bool any = false;
    for (int64_t k = 0; k < choices; ++k) {
      if (!takes_part(t, k)) continue;
      any = true;
      const int64_t e = ids[static_cast<size_t>(t * choices + k)];
      if (e < 0 || e >= d.all_experts())
        fail_kernel(fmt::format("expert_ids has {} at [{}, {}], want 0 to {}", e, t, k, d.all_experts() - 1));
      if (e >= d.experts) continue;  // no rank has it
      to[static_cast<size_t>(d.shared_ranks + e / d.of_rank())].push_back({e % d.of_rank(), t, k});
    }
    if (!any || !d.shared_ranks) continue;
    for (int64_t s = 0, copies = d.copies_of_shared(); s < d.shared_experts; ++s)
      to[static_cast<size_t>(s * copies + d.rank % copies)].push_back({0, t, -1});
  }
  for (std::vector<Row>& block : to) {
    if (static_cast<int64_t>(block.size()) > rows)
      fail_kernel(fmt::format("expert_ids sends {} rows to one rank, at most {}: an expert may be named once in a row",
                              block.size(), rows));
    std::ranges::stable_sort(block, {}, &Row::expert);
  }
  return to;
}

BlockExchange::BlockExchange(const Blocks& b) : blocks(b), exchange_(exchange_of(b.d.group, b.d.ranks, b.d.rank)) {
  send_ = exchange_->place(b.bytes() * b.d.ranks, DType::Int8);
  receive_ = exchange_->place(b.bytes() * b.d.ranks, DType::Int8);
  exchange_->transfers = {{Transfer::Kind::AllToAll, DType::Int8, b.bytes(), send_, receive_}};
}

}  // namespace updraft::moe_distribute
