// Operations of communicators that span hosts: within a host by shared memory, between hosts by schedules of messages.
#pragma once
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "collective/algorithm/schedule.h"
#include "collective/communicator.h"
#include "collective/transport/transport.h"

namespace updraft::collective {

class Network {
 public:
  /// The ranks of each host, ascending within a host; the hosts in the order of their first rank.
  Network(Communicator& communicator, std::vector<std::vector<uint32_t>> hosts);
  ~Network();
  /// What other ranks need to reach this one.
  std::string address() const;
  /// Addresses by rank.
  void connect(const std::vector<std::string>& addresses);

  /// A whole collective; returns when this rank is done with it.
  void execute(Communicator::Operation& operation);
  /// Starts a message; the state becomes 1 when it is done, 2 when it failed.
  std::shared_ptr<std::atomic<int>> message(const Message& message, uint64_t number);
  void rank_gone(uint32_t rank);

 private:
  Communicator& communicator_;
  std::vector<std::vector<uint32_t>> hosts_;
  std::vector<std::shared_ptr<Peer>> peers_;
};

}  // namespace updraft::collective
