// What clients tell of a communicator that the operations need not know: settings, address ranges, registered memory.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "collective/communicator.h"

namespace updraft {

class ClientState {
 public:
  static ClientState& of(const collective::Communicator& communicator);
  /// The communicator is gone.
  static void forget(const collective::Communicator& communicator);

  std::atomic<int32_t> deterministic;  ///< HCCL_DETERMINISTIC: 0, 1, 2

  struct Range {
    size_t bytes;
    std::map<const char*, size_t> active;  ///< memory that is mapped there: start -> bytes
  };
  std::mutex mutex;
  std::map<const char*, Range> ranges;  ///< start -> range; with the lock

 private:
  ClientState();
};

/// Memory that HcclCommRegister or HcclCommSymWinRegister was given.
struct Window {
  std::weak_ptr<collective::Communicator> communicator;
  const char* start;
  uint64_t bytes;
  bool symmetric;
};

}  // namespace updraft
