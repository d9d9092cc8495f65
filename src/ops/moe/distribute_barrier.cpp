// Waits until all ranks of a group have come so far.
#include "ops/exchange.h"
#include "ops/moe/distribute.h"

namespace updraft {

void moe_distribute::plan_barrier(Op& op, const char* group, int64_t ranks) {
  op.require(group && *group, "group is empty, want the name of a communicator (HcclGetCommName)");
  op.require(ranks > 0, "worldSize is {}, want how many ranks {} has", ranks, group);
  auto exchange = std::make_shared<Exchange>();
  exchange->group = group;
  exchange->ranks = ranks;
  const Transfer::Side one = exchange->place(1, DType::Float);
  exchange->transfers = {{Transfer::Kind::AllReduceSum, DType::Float, 1, one, one}};
  op.work(1);
  op.launch(BetweenRanks{
      exchange, [e = exchange.get(), one] { write_all(e->view(one, DType::Float, {1}), std::vector<float>{1}); }, {}});
}

using namespace moe_distribute;

ABOUT(aclnnDistributeBarrier, Vector, "Waits for all ranks of group; xRef only says what comes before and after",
      "等待通信域内所有卡，xRef 仅用于排定先后")
ACLNN(aclnnDistributeBarrier, (InOut, xRef), (Text, group), (Int, worldSize)) {
  not_read(xRef);
  plan_barrier(op, group, worldSize);
}
ABOUT(aclnnDistributeBarrierV2, Vector, "As aclnnDistributeBarrier; timeOut is left to HCCL_EXEC_TIMEOUT",
      "同 aclnnDistributeBarrier，超时由 HCCL_EXEC_TIMEOUT 决定")
ACLNN(aclnnDistributeBarrierV2, (InOut, xRef), (OptIn, timeOutOptional), (OptIn, elasticInfoOptional), (Text, group),
      (Int, worldSize)) {
  not_read(xRef, timeOutOptional);
  refuse(op, "elasticInfo", static_cast<bool>(elasticInfoOptional));
  plan_barrier(op, group, worldSize);
}

namespace {
[[maybe_unused]] const WaitsForRanks waiting[] = {WaitsForRanks(aclnnDistributeBarrier_info),
                                                  WaitsForRanks(aclnnDistributeBarrierV2_info)};
}  // namespace

}  // namespace updraft
