// A rank's connection to the root of its communicator.
#pragma once
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "collective/bootstrap/connection.h"
#include "collective/departed.h"

namespace updraft::collective {

class Member : public std::enable_shared_from_this<Member> {
 public:
  using Clock = EventLoop::Clock;
  struct Events {
    std::function<void(uint32_t rank, bool left)> gone;      ///< another rank's connection ended
    std::function<void(uint32_t rank, const Error&)> fault;  ///< another rank reports a failure
    std::function<void(const std::string& why)> root_lost;   ///< nobody supervises any more
  };

  /// Connects (again and again until the deadline while nobody listens, or the root has no place), proves the key.
  /// Throws EI0015 with what went wrong and what to look at. `check` is called ten times a second while one waits, here
  /// and until watch(); it throws when that has no sense any more.
  static std::shared_ptr<Member> join(const std::string& ip, uint16_t port, const std::string& key, uint32_t rank,
                                      uint32_t ranks, Clock::time_point deadline, std::function<void()> check = {});
  ~Member();

  /// All ranks call this in the same order; every rank gets all blobs by rank. Throws EI0015 when one does not come.
  std::vector<std::string> exchange(const std::string& blob, Clock::time_point deadline);
  void put(const std::string& key, const std::string& value);
  /// Waits until rank `source` has put the key. Throws EI0015 when it has gone without.
  std::string get(const std::string& key, uint32_t source, Clock::time_point deadline);
  /// Throws when a rank has gone, or the root: before the communicator is complete that is its end.
  void check();

  /// Called in the loop's thread from now on, also for what happened before.
  void watch(Events events);
  /// Tells all other ranks.
  void report(const Error& fault);
  /// Leaves: the others see it as a farewell, not as a death. Idempotent.
  void leave();
  /// The address by which the root sees us from here.
  const std::string& local_ip() const { return local_ip_; }

 private:
  Member() = default;
  void start(int fd);
  void throw_if_gone() const;
  void on_frame(uint8_t type, const std::string& payload);
  void on_end(const std::string& why, bool broken);
  template <class T>
  T wait(Clock::time_point deadline, const std::string& what, const std::function<std::optional<T>()>& ready);

  std::string key_, nonce_, root_nonce_, root_name_, local_ip_;
  uint32_t rank_ = 0, ranks_ = 0;
  std::shared_ptr<Connection> connection_;  // loop's thread
  std::function<void()> check_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool welcome_ = false, left_ = false, shown_out_ = false;
  std::optional<Error> failure_;
  uint32_t next_exchange_ = 0;
  std::map<uint32_t, std::vector<std::string>> gathered_;
  std::map<std::string, std::optional<std::string>> values_;  // nothing: who would put it has gone
  Departed gone_;
  std::vector<std::pair<uint32_t, Error>> faults_;
  Events events_;
};

}  // namespace updraft::collective
