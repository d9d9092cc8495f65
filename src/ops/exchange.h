// Operations between ranks that are part of an operator (aclnnMatmulAllReduce). An engine never waits for other ranks,
// so three things follow each other on the stream of such an operator: its work, these operations, the work behind
// them.
#pragma once
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "device/device_block.h"
#include "tensor/view.h"

struct aclOpExecutor;

namespace updraft {

class Stream;
struct OpInfo;

/// One operation. Both sides are contiguous.
struct Transfer {
  enum class Kind : uint8_t { AllReduceSum, AllGather, ReduceScatterSum, AllToAll, AllToAllV };
  /// One side: memory of the client as it sees it, or (null) a place in the operator's block.
  struct Side {
    void* data = nullptr;
    size_t offset = 0;
  };
  Kind kind;
  DType dtype;
  /// Elements of what one rank gives (AllGather) or gets (AllReduce, ReduceScatter), or gets from each (AllToAll);
  /// not of AllToAllV.
  int64_t count;
  Side send, receive;
  /// AllToAllV: elements for and from each rank, which lie in the order of the ranks.
  std::vector<uint64_t> send_counts{}, receive_counts{};
};

struct Exchange {
  std::string group;  ///< the communicator's name
  int64_t ranks = 0;  ///< how many the shapes speak of; 0: any number
  int64_t rank = -1;  ///< which of them this one says it is; -1: it does not say
  std::vector<Transfer> transfers;
  size_t room = 0;    ///< bytes of the block
  DeviceBlock block;  ///< between the works; it is there when they run

  void* address(const Transfer::Side& side) const { return side.data ? side.data : block.data() + side.offset; }
  /// A place in the block of so many elements.
  Transfer::Side place(int64_t elements, DType type);
  /// What lies there, as kernels read it, contiguous in this shape.
  TensorView view(const Transfer::Side& side, DType type, std::initializer_list<int64_t> dims) const;
};

/// One without transfers yet; ranks and rank as above.
std::shared_ptr<Exchange> exchange_of(const char* group, int64_t ranks = 0, int64_t rank = -1);

/// What an operator that waits for other ranks gives to Op::launch(): its parts, which start_between_ranks() puts on
/// the stream one after the other. Either work may be empty.
struct BetweenRanks {
  std::shared_ptr<Exchange> exchange;
  std::function<void()> before, after;
  /// Where it would be a step of another operator, or run at once.
  [[noreturn]] void operator()() const;
};
/// Registers an operator that launches nothing else: [[maybe_unused]] const WaitsForRanks waits(aclnnX_info).
struct WaitsForRanks {
  explicit WaitsForRanks(const OpInfo& info);
};
/// True when the plan is one of such an operator and has parts.
bool waits_for_ranks(const aclOpExecutor& plan);
/// Takes over a plan for which that is true. Throws what the operations refuse.
void start_between_ranks(aclOpExecutor& plan, Stream& stream);

/// Puts the operations on the stream. Throws for a group that nobody has made, and what they refuse.
using ExchangeDoor = void (*)(const Exchange& exchange, Stream& stream);
/// Who knows groups of ranks (src/hccl) says once how it is done.
void set_exchange_door(ExchangeDoor door);

}  // namespace updraft
