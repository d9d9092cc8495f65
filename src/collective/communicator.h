// A communicator: the ranks, their order of operations, and a thread that carries them out.
//
// An operation is a task of its stream that parks until it is over. Collectives of a communicator run one after
// another, in the order in which the host enqueued them; messages between two ranks run beside them, matched in the
// order of their enqueueing. While nothing is under way, a rank posts its operation in the submitting thread, and a
// small one whose other ranks are there already is over before the call returns.
#pragma once
#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"
#include "collective/bootstrap/member.h"
#include "collective/departed.h"
#include "collective/local_group.h"
#include "collective/request.h"
#include "collective/topology/environment.h"
#include "device/stream.h"
#include "device/task.h"

namespace updraft::collective {

class Network;
struct RemoteMessage;

/// "HcclAllReduce(count 10, fp32, sum)", for messages.
std::string describe_call(Kind kind, uint64_t count, Type type, Op op, uint32_t root);

struct CommunicatorOptions {
  std::string name;              ///< what HcclGetCommName says
  std::string key;               ///< 32 bytes: this communicator's secret
  std::string server;            ///< server_id of the rank table; "" : the host decides who shares memory
  std::string super_pod;         ///< of the rank table, or HCCL_LOGIC_SUPERPOD_ID; "": none, which is one as well
  Algorithms algorithms;         ///< config.hcclAlgo, else HCCL_ALGO
  double connect_timeout = 120;  ///< seconds to set up
  double exec_timeout = 1800;    ///< seconds an operation may wait for others; 0: for ever
};

class Communicator : public std::enable_shared_from_this<Communicator> {
 public:
  using Clock = std::chrono::steady_clock;

  /// Joins the communicator of `member`; returns when all ranks have. Throws EI0015 and the like.
  static std::shared_ptr<Communicator> create(std::shared_ptr<Member> member, uint32_t rank, uint32_t ranks,
                                              Device& device, const CommunicatorOptions& options);
  ~Communicator();

  /// Enqueues. The request has been checked; its buffers live until the stream is through.
  void enqueue(Request request, Stream& stream);
  /// 0, or the code of the failure that ended the communicator.
  int async_error() const { return async_error_.load(std::memory_order_acquire); }
  std::optional<Error> failure() const;
  /// Holds back what has not begun, until resume(); what is under way is carried out. Time held back does not count
  /// against the time that an operation may take.
  void suspend();
  /// Throws the failure that ended the communicator, if one did.
  void resume();
  /// Leaves. Operations that are under way fail; when it returns nothing touches the client's memory any more. While
  /// the process of a rank of this host is stopped in the middle of a copy from or to that memory, it does not return,
  /// nor do streams fail: the log names the process, which has to go on or to end.
  void close();

  const std::string& name() const { return options_.name; }
  uint32_t rank() const { return rank_; }
  uint32_t size() const { return ranks_; }
  Device& device() const { return device_; }
  Member& member() { return *member_; }
  const CommunicatorOptions& options() const { return options_; }
  /// Throws when one of these ranks is known to have died, or, `even_left`, to have left in good order, or when the
  /// root has gone by which they hear of each other.
  void throw_if_dead(const std::vector<uint32_t>& ranks, bool even_left = false) const;
  /// A number that is the same on all ranks for the n-th call with the same text (names of sub-communicators).
  uint64_t occurrence(const std::string& text);

  // --- tasks ---
  struct Operation {
    Request request;
    Stream* stream = nullptr;
    uint64_t ticket = 0;  ///< of a collective, from 1 on
    bool posted = false, inlined = false;
    Clock::time_point since;
    void* staged_send = nullptr;  ///< device memory that peers can reach, where the client's is not
    void* staged_receive = nullptr;
    size_t open_messages = 0;
    std::vector<uint64_t> numbers;  ///< of the messages, by pair and direction
  };
  /// Gives a collective its place in the order, a message its number. With enqueueing() held.
  void number(Operation& operation);
  /// True when the operation is over already.
  bool begin(Operation& operation, Stream& stream);
  /// Held while an operation is numbered and put on its stream: both orders must be the same.
  std::mutex& enqueueing() { return enqueueing_; }
  /// The operation will never begin (its stream was aborted).
  void drop(const Operation& operation);
  /// The same for one that may have begun (its stream is being aborted): its stream is resumed with the failure. Calls
  /// no stream and waits for nothing.
  void abandon(const Operation& operation);

 private:
  friend class Network;
  Communicator(std::shared_ptr<Member> member, uint32_t rank, uint32_t ranks, Device& device,
               const CommunicatorOptions& options);
  void connect();
  void loop();
  void execute(Operation& operation);
  void execute_locally(Operation& operation);
  void gather_locally(Operation& operation);
  void meet(const Operation& operation);
  void enter(Operation& operation);
  bool post(Operation& operation, bool watch);
  bool all_posted(const Operation& operation) const;
  bool worth_watching(const Operation& operation);
  bool watch(const Operation& operation);
  int cpu_of(int index, const Operation& operation) const;
  void leave_cpu_of(int index, const Operation& operation);
  /// The error that the operation is to fail with, if any.
  std::optional<Error> prepare(Operation& operation);
  void stage(Operation& operation);
  void unstage(Operation& operation);
  /// Frees what was staged, if anything was.
  void give_back(void*& staged);
  void check_agreement(const Operation& operation) const;
  [[noreturn]] void throw_difference(const Operation& operation) const;
  void check_pair(const Operation& operation, uint32_t from, uint64_t sent, uint32_t to, uint64_t expected) const;
  void complete(Operation& operation);
  bool advance_messages(std::unique_lock<std::mutex>& lock);
  void give_up(const Error& error, bool tell_others);
  void fail(const Error& error, bool tell_others);
  void announce(const Error& error, bool tell_others) const;
  void break_up(const Error& why) const;
  void fail_all(std::unique_lock<std::mutex>& lock);
  void wait_for_peers_to_stop() const;
  void throw_if_hopeless(const Operation& operation, bool all_arrived = false) const;
  void claim_peers(const Operation& operation);
  int given_up() const;
  [[noreturn]] void throw_given_up(int index, const Operation& operation) const;
  void throw_if_dead(const Operation& operation) const;
  bool gone(uint32_t rank) const;
  void lose(uint32_t rank, bool left);
  void note_departures();
  uint32_t culprit(uint32_t dead) const;
  std::string describe(const Operation& operation) const;
  std::string missing(const Operation& operation) const;
  void ring();

  /// Sleeps until `reached`; throws when the communicator fails, a rank that is needed is gone, or time is up.
  template <class F>
  void wait_until(F&& reached, const Operation& operation);
  void wait_for(const std::function<bool()>& reached, const Operation& operation);

  /// How long the news of a death or of a fault may take, which says more than that a rank of this host has given up.
  static constexpr auto kGrace = std::chrono::milliseconds(250);

  const pid_t pid_;  // a forked child has neither the thread nor the shared memory
  std::shared_ptr<Member> member_;
  const uint32_t rank_, ranks_;
  Device& device_;
  const CommunicatorOptions options_;
  std::unique_ptr<LocalGroup> group_;
  std::unique_ptr<Network> network_;  // null while all ranks share this host
  std::vector<int> local_index_;      // by rank; -1: on another host

  std::mutex enqueueing_;
  mutable std::mutex mutex_;
  std::map<uint64_t, Operation*> queue_;  // collectives by ticket
  const Operation* executing_ = nullptr;  // by the thread, without the lock
  uint64_t next_ = 1;                     // the ticket whose turn it is
  uint64_t tickets_ = 0, meetings_ = 0;
  struct Pending {
    Operation* operation;
    Message message;
    uint64_t number;
    bool posted = false;
    void* staged = nullptr;
    std::shared_ptr<RemoteMessage> remote;
    std::optional<Clock::time_point> failed_at;  // it is hopeless since then, and the reason may be on its way
  };
  std::list<Pending> messages_;
  std::vector<uint64_t> sends_, receives_;  // numbers given, by peer
  Departed gone_;
  std::optional<Error> failure_;
  std::map<std::string, uint64_t> occurrences_;
  std::atomic<int> async_error_{0};
  std::atomic<bool> hopeless_{false};  // something happened that waiters must look at
  bool unreported_ = false;            // failure_ came from abandon(): the thread tells the others
  bool closed_ = false, deep_sleep_ = false, suspended_ = false, root_lost_ = false;
  bool cores_for_ranks_ = false, cores_for_threads_ = false;  // of this host, so that spinning takes them from nobody
  int missed_ = 0, unwatched_ = 0;  // operations watched in vain in a row; operations since the last that was watched
  Clock::time_point next_move_;     // to another CPU, at the earliest
  Clock::duration between_moves_{};
  std::thread thread_;
};

}  // namespace updraft::collective
