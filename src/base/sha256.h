// SHA-256 (FIPS 180-4) and HMAC (RFC 2104), for the handshakes of the collectives.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

namespace updraft {

using Digest = std::array<uint8_t, 32>;

Digest sha256(const void* data, size_t bytes);
Digest hmac_sha256(const void* key, size_t key_bytes, const void* data, size_t bytes);

/// True when both are the same; takes the same time wherever they differ.
bool equal_in_constant_time(const void* a, const void* b, size_t bytes);

}  // namespace updraft
