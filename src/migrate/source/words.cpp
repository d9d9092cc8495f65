#include "migrate/source/words.h"

#include <algorithm>

namespace updraft::migrate::source {

Words::Words(const std::vector<std::string>& words) : count_(words.size()) {
  for (const std::string& word : words) lengths_.push_back(word.size());
  for (const std::string& word : words)
    for (const char c : word)
      if (auto& k = classes_[static_cast<unsigned char>(c)]; k == 0)
        k = static_cast<std::uint8_t>(std::min<std::size_t>(width_++, 255));
  constexpr std::uint32_t kNone = ~std::uint32_t{0};
  next_.assign(width_, kNone);
  found_.emplace_back();
  for (std::uint32_t w = 0; w < words.size(); ++w) {
    if (words[w].empty()) continue;
    std::uint32_t state = 0;
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
    const std::uint32_t state = queue[head];
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
  ends_.resize(found_.size());
  for (std::size_t s = 0; s < found_.size(); ++s) ends_[s] = !found_[s].empty();
}

bool Words::any(std::string_view text) const noexcept {
  std::uint32_t state = 0;
  for (const char c : text) {
    state = next_[state * width_ + classes_[static_cast<unsigned char>(c)]];
    if (ends_[state]) return true;
  }
  return false;
}

bool Words::any_name(std::string_view text) const noexcept {
  const auto part = [&](std::size_t at) {
    const auto c = static_cast<unsigned char>(text[at]);
    return c == '_' || c >= 0x80 || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  };
  std::uint32_t state = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    state = next_[state * width_ + classes_[static_cast<unsigned char>(text[i])]];
    if (!ends_[state] || (i + 1 < text.size() && part(i + 1))) continue;
    for (const std::uint32_t w : found_[state])
      if (const std::size_t before = i + 1 - lengths_[w]; before == 0 || !part(before - 1)) return true;
  }
  return false;
}

std::vector<bool> Words::all(std::string_view text) const {
  std::vector<bool> seen(count_);
  std::size_t missing = count_;
  std::uint32_t state = 0;
  for (const char c : text) {
    state = next_[state * width_ + classes_[static_cast<unsigned char>(c)]];
    if (!ends_[state]) continue;
    for (const std::uint32_t w : found_[state])
      if (!seen[w]) {
        seen[w] = true;
        if (--missing == 0) return seen;
      }
  }
  return seen;
}

}  // namespace updraft::migrate::source
