// The other process as the UCX transport's thread sees it. A TCP connection beside UCX's own ones authenticates it,
// carries the addresses, notices its death (UCX's sockets live on in forked children) and says why it gave up.
#pragma once
#include <ucp/api/ucp.h>

#include <array>
#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/sha256.h"
#include "collective/transport/transport.h"

namespace updraft::collective {

using Clock = std::chrono::steady_clock;
struct UcxPeer;
class UcxLoop;

/// A message that UCX has.
struct UcxMessage {
  UcxLoop* loop;
  std::shared_ptr<UcxPeer> peer;
  Completion done;
  size_t bytes;
  bool receive;
  void* request = nullptr;
  bool* ended = nullptr;  ///< for who starts it
  bool given_up = false;  ///< its user has been told; only UCX still has to end it
};

/// What both sides send first, over TCP.
struct UcxGreeting {
  std::array<char, 8> magic = {'U', 'P', 'D', 'R', 'U', 'C', 'X', '1'};
  std::array<uint8_t, 32> nonce;  ///< makes the tags of what this side receives
  uint64_t address_bytes = 0;     ///< of the UCX worker's address, which follows
};
static_assert(sizeof(UcxGreeting) == 48);

struct UcxPeer : std::enable_shared_from_this<UcxPeer> {
  UcxLoop* loop = nullptr;
  std::string address, key, where;
  std::shared_ptr<Peer> control;
  int handles = 0;
  bool started = false;
  bool ready = false;  ///< the endpoint is there
  ucp_ep_h endpoint = nullptr;
  bool wiring = false;  ///< UCX still connects: 1.13 aborts the process when it is closed then
  Clock::time_point give_up;
  void* closing = nullptr;  ///< the request of its end
  Clock::time_point closing_over;
  std::optional<Error> error;
  std::optional<Error> parting;  ///< will be the error at `parting_over`, unless the connection beside says better
  Clock::time_point parting_over;
  bool parting_tell = false;  ///< the other end does not know yet

  UcxGreeting mine, theirs;
  std::string worker;  ///< address
  struct Waiting {
    uint64_t tag;
    const void* data;
    size_t bytes;
    Completion done;
  };
  std::deque<Waiting> waiting;  ///< sends until it is ready
  std::set<UcxMessage*> messages;
  std::vector<Completion> broken;  ///< over with an error, whose reason is not known yet
};

/// The tag that UCX matches: nobody without the key can guess it, and no two peers or tags share it (but for 2^-64).
inline ucp_tag_t ucx_tag(const std::string& key, const UcxGreeting& receiver, uint64_t tag) {
  std::array<uint8_t, 40> text;
  std::copy(receiver.nonce.begin(), receiver.nonce.end(), text.begin());
  for (size_t i = 0; i < 8; ++i) text[32 + i] = static_cast<uint8_t>(tag >> (8 * i));
  const Digest digest = hmac_sha256(key.data(), key.size(), text.data(), text.size());
  ucp_tag_t made = 0;
  for (size_t i = 0; i < 8; ++i) made |= ucp_tag_t{digest[i]} << (8 * i);
  return made;
}

}  // namespace updraft::collective
