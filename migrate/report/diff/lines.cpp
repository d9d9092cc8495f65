#include "migrate/report/diff/lines.h"

#include <algorithm>
#include <cstdint>

namespace updraft::migrate::report {

Lines::Lines(std::string_view text) : text_(text) {
  for (std::size_t at = 0; at < text.size();) {
    starts_.push_back(at);
    const std::size_t end = text.find('\n', at);
    at = end == std::string_view::npos ? text.size() : end + 1;
  }
}

std::size_t Lines::line_of(std::size_t byte) const noexcept {
  if (byte >= text_.size() && (text_.empty() || text_.back() == '\n')) return size();
  return static_cast<std::size_t>(std::upper_bound(starts_.begin(), starts_.end(), byte) - starts_.begin()) - 1;
}

Position Lines::position_of(std::size_t byte) const noexcept {
  const std::size_t line = line_of(byte);
  return {static_cast<std::uint32_t>(line + 1), static_cast<std::uint32_t>(std::min(byte, text_.size()) - start(line))};
}

std::string_view without_end(std::string_view line) noexcept {
  if (line.ends_with('\n')) line.remove_suffix(1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

}  // namespace updraft::migrate::report
