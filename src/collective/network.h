// Operations of communicators that span hosts: within a host by shared memory, between hosts by schedules of messages.
// When every host has the same number of ranks, the l-th rank of each host carries the l-th part of the data to the
// l-th ranks of the others; else each rank counts as a host of its own.
#pragma once
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "collective/algorithm/schedule.h"
#include "collective/communicator.h"
#include "collective/scratch.h"
#include "collective/transport/transport.h"

namespace updraft::collective {

class MessageTrace;

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
  /// Gives up what is under way: afterwards the transport touches no memory of the client.
  void abort(const Error& why);

 private:
  struct Flight;
  using Operation = Communicator::Operation;

  void send(Flight& flight, uint32_t rank, uint8_t channel, const void* data, size_t bytes);
  void receive(Flight& flight, uint32_t rank, uint8_t channel, void* data, size_t bytes);
  void land(Flight& flight, const Operation& operation);
  void agree(const Operation& operation);
  void run(const Schedule& schedule, char* buffer, const Operation& operation);
  void run_round(const Round& round, size_t number, char* buffer, const Operation& operation);
  Schedule schedule(Kind kind, const Operation& operation, uint64_t n, int root = 0) const;
  void spread(const Operation& operation, const char* from, uint64_t count, uint64_t at, int except);
  void reduce_scatter(Operation& operation);
  void all_reduce(Operation& operation);
  void all_gather(Operation& operation);
  void broadcast(Operation& operation);
  void reduce(Operation& operation);
  void scatter(Operation& operation);
  void exchange(Operation& operation);
  void reduce_scatter_v(Operation& operation);

  uint32_t rank_at(int host, int index) const { return hosts_[static_cast<size_t>(host)][static_cast<size_t>(index)]; }
  const char* sent_by(const Operation& operation, int index) const;
  char* received_by(const Operation& operation, int index) const;

  Communicator& communicator_;
  std::vector<std::vector<uint32_t>> hosts_;
  bool flat_ = false;        ///< the hosts differ in size: every rank is a host
  int host_ = 0, me_ = 0;    ///< this rank's host, and its index there
  int hosts_n_ = 0, n_ = 0;  ///< hosts, ranks of each
  std::vector<std::shared_ptr<Peer>> peers_;
  Scratch work_, arrived_;  ///< what an operation works on, and what comes to it
  MessageTrace* trace_;     ///< null while nobody asks for it
};

}  // namespace updraft::collective
