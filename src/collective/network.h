// Operations of communicators that span hosts: within a host by shared memory, between hosts by schedules of messages.
// The ranks of a host share what is to be carried: where every host has as many, the l-th rank of each carries the l-th
// part of the data to the l-th ranks of the others, else each carries the pieces of division.h to their owners there.
#pragma once
#include <atomic>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "collective/algorithm/division.h"
#include "collective/algorithm/schedule.h"
#include "collective/communicator.h"
#include "collective/scratch.h"
#include "collective/transport/transport.h"

namespace updraft::collective {

class MessageTrace;
struct Flight;

/// Blocks of `count` elements, of the ranks in their order, into one.
void combine_blocks(const Request& request, const std::vector<const void*>& in, void* out, uint64_t count);

class Network {
 public:
  /// The ranks of each host, ascending within a host; hosts of a super pod are neighbours. `pods`: hosts of each pod.
  Network(Communicator& communicator, std::vector<std::vector<uint32_t>> hosts, std::vector<int> pods);
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
  struct Landing;
  using Operation = Communicator::Operation;

  void send(Flight& flight, uint32_t rank, uint8_t channel, const void* data, size_t bytes);
  void receive(Flight& flight, uint32_t rank, uint8_t channel, void* data, size_t bytes);
  void land(Flight& flight, const Operation& operation);
  void agree(const Operation& operation);
  void run(const Schedule& schedule, char* buffer, const Operation& operation);
  void run_round(const Round& round, size_t number, char* buffer, const Operation& operation);
  static std::vector<Landing> landings_of(const std::vector<Transfer>& receives);

  Extent divide(uint64_t n) const;
  Block mine(const Extent& whole) const;
  Extent blocks_on(int host, const Request& request) const;
  static Block part_of(const Extent& blocks, const Piece& piece);
  int host_of(uint32_t rank) const;
  template <class Visit>
  uint64_t visit_blocks(const Request& request, Visit visit) const;
  char* take_blocks(const Request& request);
  void take_own(const Request& request, const char* work, char* to) const;
  void run_divided(Kind kind, const Operation& operation, const Extent& whole, char* buffer, int root);
  void run_blocks(Kind kind, const Operation& operation, char* buffer, int root);
  void append(Schedule& all, Schedule one, const Piece& piece, uint64_t offset) const;
  Schedule between_hosts(Kind kind, const Operation& operation, const std::vector<uint64_t>& borders, int root);
  Algorithm choose_level(Kind kind, const Operation& operation, int level, int members, double bytes);

  void spread(const Operation& operation, const char* from, uint64_t count, uint64_t at, int except);
  void barrier(const Operation& operation);
  void reduce_scatter(Operation& operation);
  void all_reduce(Operation& operation);
  void all_gather(Operation& operation);
  void broadcast(Operation& operation);
  void reduce(Operation& operation);
  void scatter(Operation& operation);
  void exchange(Operation& operation);

  uint32_t rank_at(int host, int index) const { return hosts_[static_cast<size_t>(host)][static_cast<size_t>(index)]; }
  const char* sent_by(const Operation& operation, int index) const;
  char* received_by(const Operation& operation, int index) const;

  Communicator& communicator_;
  std::vector<std::vector<uint32_t>> hosts_;
  std::vector<int> pods_;                   ///< hosts of each super pod
  int host_ = 0, me_ = 0;                   ///< this rank's host, and its index there
  int hosts_n_ = 0, n_ = 0;                 ///< hosts, ranks of this one
  int most_ = 0;                            ///< ranks of the host that has the most
  bool alike_ = false;                      ///< all hosts have as many ranks
  std::vector<Piece> pieces_;               ///< what this rank carries
  std::set<std::pair<Kind, int>> unheard_;  ///< wishes of HCCL_ALGO that were logged as having no effect
  std::vector<std::shared_ptr<Peer>> peers_;
  Scratch work_, arrived_;  ///< what an operation works on, and what comes to it
  MessageTrace* trace_;     ///< null while nobody asks for it
};

}  // namespace updraft::collective
