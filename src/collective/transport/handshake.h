// How two processes prove to each other that they have the same key, without sending it. Messages have fixed sizes, so
// that a stranger cannot make us allocate:
//
//   initiator  Hello      which key (its identifier), a nonce
//   acceptor   Challenge  a nonce, HMAC(key, both nonces)
//   initiator  Proof      its address, HMAC(key, both nonces, both addresses)
//   acceptor   Welcome    go on, or why not
//
// It protects against strangers; who can change packets on their way is not kept out.
#pragma once
#include <array>
#include <cstdint>
#include <string>

#include "base/sha256.h"

namespace updraft::collective {

inline constexpr size_t kKeyBytes = 32;
inline constexpr size_t kAddressBytes = 128;
using Nonce = std::array<uint8_t, 32>;
using KeyId = std::array<uint8_t, 8>;
using Magic = std::array<char, 8>;
inline constexpr Magic kMagic = {'U', 'P', 'D', 'R', 'N', 'E', 'T', '1'};

struct Hello {
  Magic magic = kMagic;
  KeyId key;
  Nonce nonce;
};
struct Challenge {
  Magic magic = kMagic;
  Nonce nonce;
  Digest proof;
};
struct Proof {
  Digest proof;
  std::array<char, kAddressBytes> address{};  ///< ends with the first zero
};
struct Welcome {
  enum Status : uint64_t { kGoOn = 0, kGivenUp = 1 };
  Magic magic = kMagic;
  uint64_t status = kGoOn;
};
static_assert(sizeof(Hello) == 48 && sizeof(Challenge) == 72 && sizeof(Proof) == 160 && sizeof(Welcome) == 16);

Nonce make_nonce();
/// The first bytes of the key's SHA-256.
KeyId id_of(const std::string& key);
Digest acceptor_proof(const std::string& key, const Nonce& initiator, const Nonce& acceptor);
Digest initiator_proof(const std::string& key, const Nonce& initiator, const Nonce& acceptor,
                       const std::string& initiator_address, const std::string& acceptor_address);

}  // namespace updraft::collective
