// Messages between processes that do not share memory. One transport a process, used by all communicators; TCP is
// always there, UCX where it is installed.
#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"

namespace updraft::collective {

/// Called once, in the transport's thread, when a message is over: error is null when it went well. It must be quick
/// and must not call the transport.
using Completion = std::function<void(const Error* error)>;

/// The other end. Failed peers stay failed: every later call completes with the error (but for receives of small
/// messages that had arrived before an orderly end of the other process). The connection ends with the last pointer to
/// the peer; what is under way then completes with an error.
class Peer {
 public:
  virtual ~Peer() = default;
};

class Transport {
 public:
  virtual ~Transport() = default;

  /// "tcp" or "ucx".
  virtual const char* name() const = 0;
  /// What others need to reach this process (at most 4 KiB of any bytes). Hand it to them by the bootstrap.
  virtual std::string address() const = 0;
  /// The peer behind an address; connects when first used. `key` (32 bytes) authenticates both sides: a stranger who
  /// connects without it is refused and logged.
  virtual std::shared_ptr<Peer> peer(const std::string& address, const std::string& key) = 0;

  /// Starts a message of `bytes` (0 is fine) with `tag`. Messages of one tag are matched in the order in which they
  /// were sent; they may be over in another order, and those of different tags may overtake each other. The memory
  /// belongs to the transport until the completion. A send is over when its memory is free again: a small one maybe
  /// long before it is received. A receive of another size than what was sent fails the peer on both sides with
  /// HCCL_E_PARA.
  virtual void send(Peer& peer, uint64_t tag, const void* data, size_t bytes, Completion done) = 0;
  virtual void receive(Peer& peer, uint64_t tag, void* data, size_t bytes, Completion done) = 0;

  /// Gives up everything that is under way with the peer, which is failed from now on: completions come with the error
  /// before this returns. The other end is told and fails with HCCL_E_REMOTE.
  virtual void cancel(Peer& peer, const Error& why) = 0;
};

/// Options of a transport.
struct TransportOptions {
  std::string bind_ip;                   ///< the address of this host that peers reach (numeric, IPv4 or IPv6)
  std::string interface;                 ///< that has bind_ip; UCX uses no other. "": as UCX thinks
  uint16_t first_port = 0, ports = 0;    ///< listen on one of these; 0: any free one
  std::vector<std::string> allowed_ips;  ///< numeric addresses of those who may connect; empty: everybody with the key
  std::chrono::milliseconds connect_timeout{120000};   ///< a peer that is not reached by then fails (EI0006)
  std::chrono::milliseconds handshake_timeout{10000};  ///< strangers are shown the door by then
  std::chrono::milliseconds heartbeat{5000};           ///< a connection carries a sign of life at least that often
  std::chrono::milliseconds lost_after{30000};         ///< a peer that is silent for so long is lost
};
std::unique_ptr<Transport> make_tcp_transport(const TransportOptions& options);
/// Null when libupdraft_net_ucx.so or UCX itself is not there; `why` then says what is missing.
std::unique_ptr<Transport> make_ucx_transport(const TransportOptions& options, std::string* why);

}  // namespace updraft::collective
