// How large the cache is that the cores of this process share.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace updraft {

/// "32768K", "32M", "512": what Linux writes into a cache's `size`.
std::optional<int64_t> parse_cache_size(std::string_view text);

/// Bytes of one instance of the last level, from the folder of a core's caches; nothing when it cannot be read.
std::optional<int64_t> last_level_cache(const std::string& folder = "/sys/devices/system/cpu/cpu0/cache");

}  // namespace updraft
