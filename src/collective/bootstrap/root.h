// The root of a communicator: the rendezvous that all ranks connect to and that stays while the communicator lives.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "collective/bootstrap/connection.h"

namespace updraft::collective {

struct RootOptions {
  std::string ip;          ///< numeric address to listen on
  uint16_t port = 0;       ///< 0: any free one
  std::string key;         ///< 32 bytes that members prove to know
  double timeout = 120;    ///< seconds from the first member to the last
  uint32_t ranks = 0;      ///< 0: as the first member says
  bool whitelist = false;  ///< only these addresses may connect
  std::vector<std::string> allowed;
};

class Root : public std::enable_shared_from_this<Root> {
 public:
  /// Starts to listen; it lives until all members have gone. Throws EI0019-like errors (HCCL_E_TCP_CONNECT) that name
  /// the address when the port is taken.
  static std::shared_ptr<Root> open(const RootOptions& options);
  ~Root();
  uint16_t port() const { return port_; }
  /// Gives up when nobody ever joined.
  void close();

 private:
  struct Guest {
    std::shared_ptr<Connection> connection;
    std::string nonce, ip;
    int rank = -1;
    bool left = false, proven = false;
    uint64_t timer = 0;
    EventLoop::Clock::time_point since;
  };
  using GuestPointer = std::shared_ptr<Guest>;

  explicit Root(const RootOptions& options) : options_(options) {}
  void accept_all();
  bool make_room();
  void on_frame(const GuestPointer& guest, uint8_t type, const std::string& payload);
  void on_hello(const GuestPointer& guest, const std::string& payload);
  void on_end(const GuestPointer& guest, const std::string& why);
  void refuse(const GuestPointer& guest, int code, const std::string& text);
  void stop_listening();
  void out_of_time();
  void give_up(const Error& verdict);
  static bool reclaim(uint16_t port);
  void release();
  template <class F>
  void each_member(F&& f) {
    for (auto& [rank, guest] : std::map<uint32_t, GuestPointer>(members_)) f(rank, guest);
  }

  RootOptions options_;
  int listener_ = -1;
  uint16_t port_ = 0;
  uint32_t ranks_ = 0, joined_ = 0, present_ = 0;
  uint64_t deadline_ = 0, pause_ = 0;
  std::shared_ptr<Root> self_;             // while it is in use
  std::map<Guest*, GuestPointer> guests_;  // not proven yet
  std::map<uint32_t, GuestPointer> members_;
  struct Gather {
    uint32_t arrived = 0;
    std::vector<bool> from;
    std::vector<std::string> blobs;
  };
  std::map<uint32_t, Gather> gathers_;
  std::map<std::string, std::string> values_;
  struct Waiting {
    GuestPointer guest;
    uint32_t source;  // who will put it
  };
  std::map<std::string, std::vector<Waiting>> waiting_;
  std::map<uint32_t, bool> gone_;  // rank -> left by itself
  std::optional<Error> verdict_;   // why there will be no communicator
  std::set<uint32_t> told_;        // who knows it, or is dead
};

}  // namespace updraft::collective
