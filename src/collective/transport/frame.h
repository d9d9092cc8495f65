// What travels on an established connection of the TCP transport. The initiator's messages go to the acceptor; the
// acceptor answers on the same connection and sends its own messages on one that it initiates.
#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>

#include "base/error.h"

namespace updraft::collective {

enum class Frame : uint32_t {
  // from the initiator
  Eager = 1,     ///< a: tag; payload: the whole message
  Announce = 2,  ///< a: tag, b: bytes; a large message, the n-th of this connection, waits for its receive
  Data = 3,      ///< a: number of the announced message; payload: its next part
  // from the acceptor
  Ready = 4,   ///< a: number of the announced message, which is wanted now
  Credit = 5,  ///< a: so much of the eager window is free again
  // from both
  Alive = 6,
  Failed = 7,  ///< a: code; payload: text. The sender has given up the peer
};

struct FrameHeader {
  Frame type;
  uint32_t length = 0;  ///< bytes of payload that follow
  uint64_t a = 0, b = 0;
};
static_assert(sizeof(FrameHeader) == 24 && std::endian::native == std::endian::little);

inline constexpr size_t kEagerBytes = 64 << 10;  ///< the largest message that is sent before it is wanted
inline constexpr size_t kEagerWindow = 4 << 20;  ///< as much may wait at the receiver
inline constexpr size_t kEagerOverhead = 64;     ///< what a message takes of the window besides its bytes
inline constexpr size_t kPartBytes = 1 << 20;    ///< of a large message, between which others get their turn
inline constexpr size_t kTextBytes = 1024;       ///< the longest text of a failure
inline constexpr size_t kAnnounced = 1 << 20;    ///< as many large messages may wait for their receives
constexpr size_t window_of(size_t bytes) { return bytes + kEagerOverhead; }

/// The peer cannot go on. `tell`: the other end does not know yet.
struct PeerFailure {
  Error error;
  bool tell;
};

/// Takes the frames of a connection, one after the other. May throw PeerFailure.
class FrameSink {
 public:
  struct Body {
    void* data;
    size_t bytes;
  };
  virtual ~FrameSink() = default;
  /// Says where the payload goes: exactly header.length bytes.
  virtual Body begin(const FrameHeader& header) = 0;
  virtual void end() = 0;
};

}  // namespace updraft::collective
