// Operations between ranks that are part of operators (ops/exchange.h).
#include "ops/exchange.h"

#include <numeric>

#include "base/boundary.h"
#include "device/stream.h"
#include "hccl/api.h"
#include "hccl/group.h"
#include "hccl/hccl.h"

namespace updraft {
namespace {

/// Where parts begin that lie one behind the other.
std::vector<uint64_t> begins(const std::vector<uint64_t>& counts) {
  std::vector<uint64_t> at(counts.size());
  std::exclusive_scan(counts.begin(), counts.end(), at.begin(), uint64_t{0});
  return at;
}

void run(const Exchange& exchange, Stream& stream) {
  void* const comm = communicator_of_group(exchange.group, stream.device());
  const auto ranks = static_cast<int64_t>(communicator_of(comm)->size());
  if (exchange.ranks && exchange.ranks != ranks)
    throw Error(code::kAclnnParamInvalid, "the outputs are those of {} ranks, group {} has {}", exchange.ranks,
                exchange.group, ranks);
  if (const int64_t rank = communicator_of(comm)->rank(); exchange.rank >= 0 && exchange.rank != rank)
    throw Error(code::kAclnnParamInvalid, "the call says that it is rank {}, in group {} it is rank {}", exchange.rank,
                exchange.group, rank);
  for (const Transfer& t : exchange.transfers) {
    const auto type = static_cast<HcclDataType>(collective_type(t.dtype));
    const auto count = static_cast<uint64_t>(t.count);
    void *const send = exchange.address(t.send), *const receive = exchange.address(t.receive);
    int failed = 0;
    switch (t.kind) {
      case Transfer::Kind::AllReduceSum:
        failed = HcclAllReduce(send, receive, count, type, HCCL_REDUCE_SUM, comm, &stream);
        break;
      case Transfer::Kind::AllGather: failed = HcclAllGather(send, receive, count, type, comm, &stream); break;
      case Transfer::Kind::ReduceScatterSum:
        failed = HcclReduceScatter(send, receive, count, type, HCCL_REDUCE_SUM, comm, &stream);
        break;
      case Transfer::Kind::AllToAll:
        failed = HcclAlltoAll(send, count, type, receive, count, type, comm, &stream);
        break;
      case Transfer::Kind::AllToAllV: {
        const std::vector<uint64_t> from = begins(t.send_counts), to = begins(t.receive_counts);
        failed = HcclAlltoAllV(send, t.send_counts.data(), from.data(), type, receive, t.receive_counts.data(),
                               to.data(), type, comm, &stream);
        break;
      }
    }
    if (failed) throw Error(code::kRtCommunication, "{}", take_error_text());
  }
}

[[maybe_unused]] const bool registered = (set_exchange_door(&run), true);

}  // namespace
}  // namespace updraft
