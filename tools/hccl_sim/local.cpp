#include "hccl_sim/local.h"

#include "collective/shared/region.h"

namespace hccl_sim {
namespace {

using namespace updraft::collective;

/// The operation's data: of the kinds that have a block for each rank, all of them.
double data_of(const Operation& op, int ranks) {
  const bool divided = op.kind == Kind::AllReduce || op.kind == Kind::Broadcast || op.kind == Kind::Reduce;
  return static_cast<double>(op.elements) * op.element_bytes * (divided ? 1 : ranks);
}

}  // namespace

bool is_inline(const Operation& op, int ranks) {
  const double bytes = static_cast<double>(op.elements) * op.element_bytes;
  return bytes <= static_cast<double>(kInlineBytes) && fits_inline(op.kind, static_cast<size_t>(bytes), ranks);
}

double meeting(const Link& intra, int ranks) { return ranks < 2 ? 0 : intra.cost.alpha + (ranks - 2) * intra.overhead; }

LocalWork work_of_one_server(const Operation& op, int ranks) {
  const double all = data_of(op, ranks), share = all / ranks, others = ranks - 1;
  if (is_inline(op, ranks)) {  // what everyone has put there is read by everyone
    if (op.kind == Kind::AllReduce || op.kind == Kind::Reduce) return {all * ranks + all, all * others};
    if (op.kind == Kind::ReduceScatter) return {all + share, share * others};
    return {2 * all, 0};
  }
  switch (op.kind) {
    case Kind::AllReduce: return {2 * all, share * others};
    case Kind::Reduce:
    case Kind::ReduceScatter: return {all + share, share * others};
    case Kind::AllGather: return {share + all, 0};
    case Kind::Broadcast: return {all, 0};
    case Kind::Scatter: return {2 * share, 0};
    case Kind::AllToAll: return {2 * all, 0};
    default: return {};
  }
}

LocalWork work_before(const Operation& op, int ranks, int cards, bool has_root) {
  // a card carries its part of everything
  const double all = data_of(op, ranks), carried = all / cards;
  switch (op.kind) {
    case Kind::AllReduce:
    case Kind::Reduce:
    case Kind::ReduceScatter: return {all + carried, carried * (cards - 1)};
    case Kind::AllGather: return {2 * all / ranks, 0};
    case Kind::Broadcast: return {has_root && cards > 1 ? 2 * carried : 0, 0};
    case Kind::Scatter: return {has_root ? 2 * carried : 0, 0};
    default: return {};
  }
}

LocalWork work_after(const Operation& op, int ranks, int cards, bool has_root, bool one_card_each) {
  const double all = data_of(op, ranks), carried = all / cards;
  switch (op.kind) {
    case Kind::AllReduce:
    case Kind::Broadcast: return {cards > 1 ? all : 0, 0};
    case Kind::Reduce: return {has_root ? 2 * carried : 0, 0};
    case Kind::ReduceScatter:
    case Kind::Scatter: return {2 * all / ranks, 0};
    case Kind::AllGather: return {one_card_each ? 0 : carried + all, 0};
    default: return {};
  }
}

}  // namespace hccl_sim
