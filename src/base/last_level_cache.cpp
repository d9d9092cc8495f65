#include "base/last_level_cache.h"

#include <charconv>
#include <fstream>
#include <limits>

namespace updraft {

std::optional<int64_t> parse_cache_size(std::string_view text) {
  int64_t size = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), size);
  if (error != std::errc() || size <= 0) return std::nullopt;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
  const int shift = text.empty() ? 0 : text == "K" ? 10 : text == "M" ? 20 : text == "G" ? 30 : -1;
  if (shift < 0 || size > (std::numeric_limits<int64_t>::max() >> shift)) return std::nullopt;
  return size << shift;
}

std::optional<int64_t> last_level_cache(const std::string& folder) {
  int highest = 0;
  std::optional<int64_t> size;
  for (int index = 0;; ++index) {
    const std::string cache = folder + "/index" + std::to_string(index);
    int level = 0;
    if (!(std::ifstream(cache + "/level") >> level)) return size;
    std::string kind, text;
    std::ifstream(cache + "/type") >> kind;
    if (level <= highest || kind == "Instruction" || !(std::ifstream(cache + "/size") >> text)) continue;
    if (const auto found = parse_cache_size(text)) {
      highest = level;
      size = found;
    }
  }
}

}  // namespace updraft
