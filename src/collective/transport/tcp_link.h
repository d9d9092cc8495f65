// One TCP connection: its handshake's state, then its frames.
#pragma once
#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "collective/transport/handshake.h"
#include "collective/transport/receiver.h"
#include "collective/transport/sender.h"
#include "collective/transport/socket.h"

namespace updraft::collective {

using Clock = std::chrono::steady_clock;
struct TcpLink;

/// The other process as the transport's thread sees it; all but the constants belong to that thread.
struct TcpPeer {
  TcpPeer(std::string address_of, const Endpoint& at, const KeyId& id)
      : address(std::move(address_of)), where(at.text()), endpoint(at), key(id) {}

  const std::string address;  ///< as given by the other process
  const std::string where;    ///< 10.0.0.2:60000, for texts
  const Endpoint endpoint;
  const KeyId key;

  int handles = 0;             ///< of users; 0: it has connected, and nobody here has asked for it so far
  std::optional<Error> error;  ///< failed
  Sender sender;
  Receiver receiver;
  TcpLink* out = nullptr;  ///< that we have initiated: our messages
  TcpLink* in = nullptr;   ///< that it has initiated: its messages
  bool dirty = false;      ///< has something new to write

  bool wanted = false;  ///< we are connected, or try to be until `give_up`
  Clock::time_point give_up, next_try;
  std::chrono::milliseconds pause{0};
  std::string last_reason;         ///< why the last try failed
  std::optional<Error> parting;    ///< `out` has ended, why; `in` may still bring messages
  Clock::time_point parting_over;  ///< until then
};

struct TcpLink {
  enum class Phase {
    Connecting,  // initiator
    AwaitChallenge,
    AwaitWelcome,
    AwaitHello,  // acceptor
    Parked,      // its key is not known yet
    AwaitProof,
    Open,
    Leaving,  ///< writes what is left, then waits for the other end to close
  };
  static bool before_open(Phase p) { return p < Phase::Open; }

  Descriptor socket;
  Phase phase = Phase::Connecting;
  bool initiator = false;
  std::string where;
  std::shared_ptr<TcpPeer> peer;  ///< from Open on, and always at the initiator
  Clock::time_point deadline;     ///< of the handshake or of leaving
  Clock::time_point last_read, last_write;
  uint32_t interest = 0;  ///< in epoll
  bool shut = false;

  Hello hello;
  Nonce nonce;
  char small[256];  ///< what has come of a message of the handshake or of a frame's header
  size_t have = 0;
  FrameSink::Body body{};  ///< where the rest of the payload goes

  FrameSink& sink() { return initiator ? static_cast<FrameSink&>(peer->sender) : peer->receiver; }
  Outbox& outbox() { return initiator ? peer->sender.outbox : peer->receiver.outbox; }

  enum class Read { More, Nothing, End, Broken };
  /// Handshake: reads `bytes` in all into `small`. More: it is there as a whole.
  Read read_small(size_t bytes);
  /// Open: reads what there is, up to a limit. May throw PeerFailure.
  Read read_frames(char* scratch, size_t scratch_bytes);
  /// Leaving: reads and forgets.
  Read discard(char* scratch, size_t scratch_bytes);
  bool write_small(const void* data, size_t bytes);
  bool in_frame() const { return have > 0 || body.bytes > 0; }

 private:
  void parse(const char* data, size_t bytes);
};

}  // namespace updraft::collective
