// Experts on many ranks: how tokens go to the ranks of their experts (distribute_dispatch.cpp) and come back
// (distribute_combine.cpp), for the operators of the C interface and of graphs. The first `shared_ranks` ranks have a
// shared expert each, which takes every token; the experts among which a token chooses lie on the others in equal
// parts. Facts: op-plugin's pages and tests of npu_moe_distribute_dispatch(_v2) and npu_moe_distribute_combine(_v2).
// A card's limits (16 ranks and more on A2, hidden sizes, HCCL_BUFFSIZE) are not limits here.
#pragma once
#include <memory>
#include <vector>

#include "ops/exchange.h"
#include "ops/gathered.h"
#include "ops/op.h"

namespace updraft::moe_distribute {

/// What all operators of a layer are told in the same words.
struct Deployment {
  const char* group;
  int64_t ranks, rank, experts;
  const char* tp_group;
  int64_t tp_ranks, tp_rank, shard_type, shared_experts, shared_ranks, global_tokens;
  /// Experts behind the others that no rank has: their numbers follow the experts', in this order.
  int64_t zero_experts = 0, copy_experts = 0, const_experts = 0;

  int64_t of_rank() const { return experts / (ranks - shared_ranks); }
  bool is_shared(int64_t r) const { return r < shared_ranks; }
  int64_t experts_of(int64_t r) const { return is_shared(r) ? 1 : of_rank(); }
  /// Ranks that have the same shared expert.
  int64_t copies_of_shared() const { return shared_ranks / shared_experts; }
  int64_t all_experts() const { return experts + zero_experts + copy_experts + const_experts; }
};

/// Where one row goes.
struct Row {
  int64_t expert;  ///< among those of the rank
  int64_t token;
  int64_t choice;  ///< -1: of a shared expert
};

/// The exchange of rows between all ranks: every rank gives every other a block of `bytes`, whose rows are in the order
/// of experts and tokens. Sizes are those of the most that can come.
struct Blocks {
  Deployment d;
  int64_t tokens, choices;  ///< this rank's
  int64_t rows;             ///< of a block
  int64_t row_bytes;
  int64_t head_bytes;  ///< in front of the rows

  Blocks() = default;
  /// Checks what all operators are told; expert_ids is [tokens, choices].
  Blocks(const Op& op, const Deployment& d, const TensorView& expert_ids, const TensorView& active, int64_t row_bytes,
         int64_t head_bytes);

  int64_t bytes() const { return head_bytes + rows * row_bytes; }
  /// What this rank's tokens are to be sent to each rank. Both ways ask, so that rows need no address. Fails the stream
  /// for experts that do not exist and for more than a block holds.
  std::vector<std::vector<Row>> routed(const TensorView& expert_ids, const TensorView& active) const;
  /// The most rows that may come to this rank.
  int64_t arriving() const;
};

/// One exchange of all blocks. Plans that derive from it are copied into the works before and behind it.
class BlockExchange {
 public:
  explicit BlockExchange(const Blocks& blocks);
  /// Where the block for, or of, a rank lies while the works run.
  char* to_send(int64_t rank) const { return block(send_, rank); }
  char* received(int64_t rank) const { return block(receive_, rank); }
  /// Row i behind the head of a block.
  char* row(char* block, int64_t i) const { return block + blocks.head_bytes + i * blocks.row_bytes; }
  /// Launches plan.pack(), the exchange and plan.unpack(), one behind the other.
  template <class Plan>
  static void launch(Op& op, const Plan& plan) {
    op.launch(BetweenRanks{plan.exchange_, [plan] { plan.pack(); }, [plan] { plan.unpack(); }});
  }

  Blocks blocks;

 private:
  char* block(const Transfer::Side& side, int64_t rank) const {
    return exchange_->view(side, DType::Int8, {blocks.bytes() * blocks.d.ranks}).as<char>() + rank * blocks.bytes();
  }
  std::shared_ptr<Exchange> exchange_;
  Transfer::Side send_, receive_;
};

struct Dispatch {
  Deployment d;
  TensorView x, expert_ids;
  TensorView scales, active, expert_scales;  ///< may be absent
  int64_t quant_mode, counts_type;
};
struct Dispatched {
  Out expand_x;
  OptOut dynamic_scales;
  Out expand_idx, expert_token_nums, ep_recv_counts;
  OptOut tp_recv_counts, expand_scales;
};
/// `long_index`: expand_idx has room for what a card writes for its second form of combine.
void plan_dispatch(Op& op, const Dispatch& what, const Dispatched& to, bool long_index);

struct Combine {
  Deployment d;
  TensorView expand_x, expert_ids, ep_send_counts, expert_scales;
  TensorView active, shared_x;                  ///< may be absent
  TensorView ori_x{}, alpha1{}, alpha2{}, v{};  ///< of copy and const experts; may be absent
  int64_t out_type, quant_mode, list_type;
};
/// out [tokens, H] = for each token the sum over its experts of expert_scales * their rows.
void plan_combine(Op& op, const Combine& what, const Out& out);

struct AddNorm {
  TensorView residual, gamma;
  double eps;
};
/// x = what plan_combine() gives + residual; y = its root-mean-square norm.
void plan_combine(Op& op, const Combine& what, const AddNorm& norm, const Out& y, const Out& rstd, const Out& x);

/// Waits for all ranks of the group.
void plan_barrier(Op& op, const char* group, int64_t ranks);

/// Arguments that tell a card where rows lie, which Blocks::routed() knows, and how it moves the data.
template <class... T>
void not_read(const T&...) {}
/// What only other products have.
void refuse(const Op& op, const char* name, bool given);

}  // namespace updraft::moe_distribute
