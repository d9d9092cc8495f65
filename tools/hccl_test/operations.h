// The operations: what each rank gives and must get, and the call itself.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "options.h"

namespace hccl_test {

/// A part of the receive buffer: `count` elements from `at` on are those of `rank` from its element `from` on;
/// rank kReduced: the reduction over all ranks.
struct Segment {
  uint64_t at, count;
  int rank;
  uint64_t from;
};
inline constexpr int kReduced = -1;

/// One rank's part of an operation of one size.
struct Plan {
  uint64_t bytes = 0;              ///< the size as it is reported: of the larger buffer, the same on every rank
  uint64_t send = 0, receive = 0;  ///< elements of the buffers
  bool one_buffer = false;         ///< the receive buffer is the input, too
  std::vector<Segment> wanted;     ///< the rest of the receive buffer must stay as it was
  std::function<HcclResult(void* send, void* receive, HcclComm, aclrtStream)> run;
};

bool is_operation(const std::string& name);
std::string operation_names();
Plan plan(const Options& options, int rank, int ranks, uint64_t bytes);

}  // namespace hccl_test
