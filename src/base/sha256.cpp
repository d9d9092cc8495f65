#include "base/sha256.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace updraft {
namespace {

constexpr size_t kBlock = 64;

// The first 32 bits of the fractional parts of the cube roots of the first 64 primes.
constexpr uint32_t kRound[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

class Sha256 {
 public:
  void update(const uint8_t* data, size_t bytes) {
    total_ += bytes;
    while (bytes > 0) {
      if (filled_ == 0 && bytes >= kBlock) {
        compress(data);
        data += kBlock;
        bytes -= kBlock;
        continue;
      }
      const size_t n = std::min(bytes, kBlock - filled_);
      std::memcpy(block_ + filled_, data, n);
      filled_ += n;
      data += n;
      bytes -= n;
      if (filled_ == kBlock) {
        compress(block_);
        filled_ = 0;
      }
    }
  }

  Digest finish() {
    const uint64_t bits = total_ * 8;
    block_[filled_++] = 0x80;
    if (filled_ > kBlock - 8) {
      std::memset(block_ + filled_, 0, kBlock - filled_);
      compress(block_);
      filled_ = 0;
    }
    std::memset(block_ + filled_, 0, kBlock - filled_);
    for (size_t i = 0; i < 8; ++i) block_[kBlock - 1 - i] = static_cast<uint8_t>(bits >> (8 * i));
    compress(block_);
    Digest digest;
    for (size_t i = 0; i < 32; ++i) digest[i] = static_cast<uint8_t>(state_[i / 4] >> (24 - 8 * (i % 4)));
    return digest;
  }

 private:
  void compress(const uint8_t* p) {
    uint32_t w[64];
    for (int i = 0; i < 16; ++i, p += 4)
      w[i] = uint32_t{p[0]} << 24 | uint32_t{p[1]} << 16 | uint32_t{p[2]} << 8 | uint32_t{p[3]};
    for (int i = 16; i < 64; ++i) {
      const uint32_t a = w[i - 15], b = w[i - 2];
      w[i] = w[i - 16] + w[i - 7] + (std::rotr(a, 7) ^ std::rotr(a, 18) ^ (a >> 3)) +
             (std::rotr(b, 17) ^ std::rotr(b, 19) ^ (b >> 10));
    }
    uint32_t s[8];
    std::memcpy(s, state_, sizeof s);
    for (int i = 0; i < 64; ++i) {
      const uint32_t choose = (s[4] & s[5]) ^ (~s[4] & s[6]), majority = (s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]);
      const uint32_t t1 =
          s[7] + (std::rotr(s[4], 6) ^ std::rotr(s[4], 11) ^ std::rotr(s[4], 25)) + choose + kRound[i] + w[i];
      const uint32_t t2 = (std::rotr(s[0], 2) ^ std::rotr(s[0], 13) ^ std::rotr(s[0], 22)) + majority;
      for (int j = 7; j > 0; --j) s[j] = s[j - 1];
      s[4] += t1;
      s[0] = t1 + t2;
    }
    for (int i = 0; i < 8; ++i) state_[i] += s[i];
  }

  uint32_t state_[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  uint8_t block_[kBlock];
  size_t filled_ = 0;
  uint64_t total_ = 0;
};

}  // namespace

Digest sha256(const void* data, size_t bytes) {
  Sha256 hash;
  hash.update(static_cast<const uint8_t*>(data), bytes);
  return hash.finish();
}

Digest hmac_sha256(const void* key, size_t key_bytes, const void* data, size_t bytes) {
  uint8_t pad[kBlock] = {};
  if (key_bytes > kBlock) {
    const Digest digest = sha256(key, key_bytes);
    std::memcpy(pad, digest.data(), digest.size());
  } else if (key_bytes > 0) {
    std::memcpy(pad, key, key_bytes);
  }
  for (uint8_t& b : pad) b ^= 0x36;
  Sha256 inner;
  inner.update(pad, kBlock);
  inner.update(static_cast<const uint8_t*>(data), bytes);
  const Digest digest = inner.finish();
  for (uint8_t& b : pad) b ^= 0x36 ^ 0x5c;
  Sha256 outer;
  outer.update(pad, kBlock);
  outer.update(digest.data(), digest.size());
  return outer.finish();
}

bool equal_in_constant_time(const void* a, const void* b, size_t bytes) {
  const auto *x = static_cast<const volatile uint8_t*>(a), *y = static_cast<const volatile uint8_t*>(b);
  uint8_t different = 0;
  for (size_t i = 0; i < bytes; ++i) different = static_cast<uint8_t>(different | (x[i] ^ y[i]));
  return different == 0;
}

}  // namespace updraft
