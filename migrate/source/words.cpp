#include "migrate/source/words.h"

#include <algorithm>

namespace updraft::migrate::source {

Words::Words(const std::vector<std::string>& anywhere, const std::vector<std::string>& names)
    : anywhere_(anywhere.size()) {
  std::vector<std::string_view> words(anywhere.begin(), anywhere.end());
  words.insert(words.end(), names.begin(), names.end());
  for (std::string_view word : words) lengths_.push_back(word.size());
  for (std::string_view word : words)
    for (const char c : word)
      if (auto& k = classes_[static_cast<unsigned char>(c)]; k == 0)
        k = static_cast<std::uint8_t>(std::min<std::uint32_t>(width_++, 255));
  constexpr std::uint32_t kNone = ~std::uint32_t{0};
  next_.assign(width_, kNone);
  found_.emplace_back();
  for (std::uint32_t w = 0; w < words.size(); ++w) {
    if (words[w].empty()) continue;
    std::size_t state = 0;
    for (const char c : words[w]) {
      const std::size_t at = state * width_ + classes_[static_cast<unsigned char>(c)];
      if (next_[at] == kNone) {
        next_[at] = static_cast<std::uint32_t>(found_.size());
        next_.resize(next_.size() + width_, kNone);
        found_.emplace_back();
      }
      state = next_[at];
    }
    found_[state].push_back(w);
  }
  // breadth first: where a word cannot go on, the longest suffix does
  std::vector<std::uint32_t> fail(found_.size(), 0), queue = {0};
  for (std::size_t head = 0; head < queue.size(); ++head) {
    const std::size_t state = queue[head];
    for (std::size_t k = 0; k < width_; ++k) {
      std::uint32_t& to = next_[state * width_ + k];
      const std::uint32_t other = state == 0 ? 0 : next_[fail[state] * width_ + k];
      if (to == kNone) {
        to = other;
      } else {
        fail[to] = other;
        found_[to].insert(found_[to].end(), found_[other].begin(), found_[other].end());
        queue.push_back(to);
      }
    }
  }
  for (std::uint32_t& to : next_) to = to * width_ | (found_[to].empty() ? 0 : kEnds);
}

bool Words::any(std::string_view text) const noexcept {
  const auto part = [&](std::size_t at) {
    const auto c = static_cast<unsigned char>(text[at]);
    return c == '_' || c >= 0x80 || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  };
  std::uint32_t row = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    row = next_[row + classes_[static_cast<unsigned char>(text[i])]];
    if (!(row & kEnds)) continue;
    row &= ~kEnds;
    const bool whole = i + 1 == text.size() || !part(i + 1);
    for (const std::uint32_t w : found_[row / width_]) {
      if (w < anywhere_) return true;
      if (const std::size_t before = i + 1 - lengths_[w]; whole && (before == 0 || !part(before - 1))) return true;
    }
  }
  return false;
}

std::vector<bool> Words::all(std::string_view text) const {
  std::vector<bool> seen(anywhere_);
  std::size_t missing = anywhere_;
  std::uint32_t row = 0;
  for (const char c : text) {
    row = next_[row + classes_[static_cast<unsigned char>(c)]];
    if (!(row & kEnds)) continue;
    row &= ~kEnds;
    for (const std::uint32_t w : found_[row / width_])
      if (w < anywhere_ && !seen[w]) {
        seen[w] = true;
        if (--missing == 0) return seen;
      }
  }
  return seen;
}

}  // namespace updraft::migrate::source
