// Operations of communicators that span hosts: within a host by shared memory, between hosts by the schedules of
// algorithm/between.h, whose working buffer this fills and empties.
#pragma once
#include <atomic>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "collective/algorithm/between.h"
#include "collective/communicator.h"
#include "collective/scratch.h"
#include "collective/transport/transport.h"

namespace updraft::collective {

class MessageTrace;
struct Flight;
struct RemoteMessage;

/// Blocks of `count` elements, of the ranks in their order, into one.
void combine_blocks(const Request& request, const std::vector<const void*>& in, void* out, uint64_t count);

class Network {
 public:
  /// The ranks of each host, ascending within a host; hosts of a super pod are neighbours. `pods`: hosts of each pod.
  Network(Communicator& communicator, const std::vector<std::vector<uint32_t>>& hosts, const std::vector<int>& pods);
  ~Network();
  /// What other ranks need to reach this one.
  std::string address() const;
  /// Addresses by rank.
  void connect(const std::vector<std::string>& addresses);

  /// A whole collective; returns when this rank is done with it.
  void execute(Communicator::Operation& operation);
  /// Starts a message.
  std::shared_ptr<RemoteMessage> message(const Message& message, uint64_t number);
  /// Gives up what is under way: afterwards the transport touches no memory of the client.
  void abort(const Error& why);

 private:
  using Operation = Communicator::Operation;
  /// What neighbouring hosts compare.
  struct Header {
    uint64_t ticket, count;
    uint64_t counts;  ///< a digest of the counts by rank that all must have alike
    uint32_t root;
    Kind kind;
    Type type;
    Op op;
    uint8_t unused;
  };
  /// What a rank has for one other, and wants from it, in bytes.
  struct Pair {
    uint64_t sent, expected;
  };

  void send(Flight& flight, uint32_t rank, uint8_t channel, const void* data, size_t bytes);
  void receive(Flight& flight, uint32_t rank, uint8_t channel, void* data, size_t bytes);
  void land(Flight& flight, const Operation& operation);
  void agree(const Operation& operation);
  void exchange_pairs(Flight& flight, const Request& request);
  void run(const Schedule& schedule, char* buffer, const Operation& operation);
  void run_round(const Round& round, size_t number, char* buffer, const Operation& operation);

  int host_of(uint32_t rank) const;
  Between::Operation call_of(const Request& request);
  void tell_of_unheard(const Between::Operation& call);
  char* take_blocks(const Between::Operation& call, size_t element);
  void take_own(const Between::Operation& call, size_t element, const char* work, char* to) const;

  void spread(const Operation& operation, const char* from, uint64_t count, uint64_t at, int except);
  void barrier(const Operation& operation);
  void reduce_scatter(Operation& operation);
  void all_reduce(Operation& operation);
  void all_gather(Operation& operation);
  void broadcast(Operation& operation);
  void reduce(Operation& operation);
  void scatter(Operation& operation);
  void exchange(Operation& operation);

  const std::vector<int>& ranks_of(int host) const { return between_.ranks()[static_cast<size_t>(host)]; }
  const char* sent_by(const Operation& operation, int index) const;
  char* received_by(const Operation& operation, int index) const;

  Communicator& communicator_;
  const Between between_;
  const int host_, me_;                     ///< this rank's host, and its index there
  const Carrier carrier_;                   ///< what this rank carries
  const int hosts_n_, n_;                   ///< hosts, ranks of this one
  std::set<std::pair<Kind, int>> unheard_;  ///< wishes of HCCL_ALGO that were logged as having no effect
  std::vector<std::shared_ptr<Peer>> peers_;
  // The transport reads and writes these until it is told to give up, which may be after agree() has.
  Header mine_{}, theirs_{};
  std::vector<Pair> said_, heard_;  ///< by rank
  Scratch work_, arrived_;          ///< what an operation works on, and what comes to it
  MessageTrace* trace_;             ///< null while nobody asks for it
};

}  // namespace updraft::collective
