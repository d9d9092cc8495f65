// Frames between the root of a communicator and its members. The root numbers nothing and knows no collectives: it
// checks who joins, gathers what members publish, keeps values for each other and passes on who has gone.
#pragma once
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/random_bytes.h"
#include "base/sha256.h"
#include "collective/error.h"

namespace updraft::collective {

enum RendezvousFrame : uint8_t {
  kChallenge = 1,  ///< root: nonce (32 bytes)
  kHello,          ///< member: rank u32, ranks u32, nonce (32), proof (32)
  kWelcome,        ///< root: proof (32)
  kExchange,       ///< member: id u32, blob
  kGathered,       ///< root: id u32, then the blobs by rank, each with its length u32
  kPut,            ///< member: key with its length u32, value
  kGet,            ///< member: rank u32 who will put it, key
  kValue,          ///< root: key with its length u32, value
  kFault,          ///< member: code u32, text; root: rank u32, code u32, text
  kLeave,          ///< member
  kGone,           ///< root: rank u32, left u32 (1: by itself, 0: its connection ended)
  kRefused,        ///< root: code u32, text
  kNone,           ///< root: key; who would put it has gone
};

class Writer {
 public:
  Writer& u32(uint32_t v) {
    text_.append(reinterpret_cast<const char*>(&v), 4);
    return *this;
  }
  Writer& bytes(std::string_view v) {
    text_ += v;
    return *this;
  }
  Writer& sized(std::string_view v) { return u32(static_cast<uint32_t>(v.size())).bytes(v); }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

/// Throws HCCL_E_INTERNAL when the frame is shorter than what is read.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}
  uint32_t u32() {
    uint32_t v;
    std::memcpy(&v, take(4).data(), 4);
    return v;
  }
  std::string_view bytes(size_t n) { return take(n); }
  std::string_view sized() { return take(u32()); }
  std::string_view rest() { return take(text_.size()); }

 private:
  std::string_view take(size_t n) {
    if (n > text_.size()) throw Error(result::kInternal, "EI0015: a frame of the rendezvous is too short");
    std::string_view v = text_.substr(0, n);
    text_.remove_prefix(n);
    return v;
  }
  std::string_view text_;
};

/// What a side proves to know the key with. `role` keeps the two directions apart.
inline std::string proof_of(std::string_view key, std::string_view role, std::string_view nonce, std::string_view other,
                            uint32_t rank, uint32_t ranks) {
  const std::string text = Writer().sized(role).bytes(nonce).bytes(other).u32(rank).u32(ranks).text();
  const Digest digest = hmac_sha256(key.data(), key.size(), text.data(), text.size());
  return std::string(reinterpret_cast<const char*>(digest.data()), digest.size());
}

/// For keys and nonces.
inline std::string random_bytes(size_t n) {
  std::string bytes(n, '\0');
  fill_random(bytes.data(), n, result::kSyscall);
  return bytes;
}

}  // namespace updraft::collective
