#include "migrate/report/page/highlight.h"

#include <algorithm>
#include <cstdint>

namespace updraft::migrate::report {
namespace {

/// The table of the comparison grows with the product of the words.
constexpr std::size_t kMostWords = 400;

bool in_word(char c) noexcept {
  const auto byte = static_cast<unsigned char>(c);
  return ((byte | 0x20) >= 'a' && (byte | 0x20) <= 'z') || (c >= '0' && c <= '9') || c == '_' || byte >= 0x80;
}

/// Identifiers and numbers, runs of space, and other characters one by one. Code points stay whole.
Pieces words(std::string_view line) {
  Pieces list;
  for (std::size_t i = 0; i < line.size();) {
    std::size_t end = i + 1;
    if (in_word(line[i]))
      while (end < line.size() && in_word(line[end])) ++end;
    else if (line[i] == ' ')
      while (end < line.size() && line[end] == ' ') ++end;
    list.push_back(line.substr(i, end - i));
    i = end;
  }
  return list;
}

/// Joins words into alternating pieces; views of one line lie side by side.
Pieces join(std::string_view line, const Pieces& words, const std::vector<bool>& same) {
  Pieces pieces(1, line.substr(0, 0));
  for (std::size_t i = 0; i < words.size(); ++i) {
    const bool marked = pieces.size() % 2 == 0;
    const std::string_view last = pieces.back();
    if (same[i] != marked) pieces.back() = {last.data(), last.size() + words[i].size()};
    else pieces.push_back(words[i]);
  }
  return pieces;
}

/// Of long lines: all between what they begin and what they end with.
std::pair<Pieces, Pieces> ends_apart(std::string_view before, const Pieces& a, std::string_view after,
                                     const Pieces& b) {
  std::size_t first = 0, last = 0, head = 0, tail = 0;  // words, bytes
  const std::size_t most = std::min(a.size(), b.size());
  for (; first < most && a[first] == b[first]; ++first) head += a[first].size();
  for (; last < most - first && a[a.size() - 1 - last] == b[b.size() - 1 - last]; ++last)
    tail += a[a.size() - 1 - last].size();
  return {mark(before, head, before.size() - tail), mark(after, head, after.size() - tail)};
}

}  // namespace

std::pair<Pieces, Pieces> highlight(std::string_view before, std::string_view after) {
  const Pieces a = words(before), b = words(after);
  std::pair<Pieces, Pieces> plain{{before}, {after}};
  if (a.empty() || b.empty()) return plain;
  if (a.size() > kMostWords || b.size() > kMostWords) return ends_apart(before, a, after, b);
  // longest[i][j]: most words in common of a from i and b from j
  const std::size_t width = b.size() + 1;
  std::vector<std::uint16_t> longest((a.size() + 1) * width);
  for (std::size_t i = a.size(); i-- > 0;)
    for (std::size_t j = b.size(); j-- > 0;)
      longest[i * width + j] = a[i] == b[j] ? static_cast<std::uint16_t>(longest[(i + 1) * width + j + 1] + 1)
                                            : std::max(longest[(i + 1) * width + j], longest[i * width + j + 1]);
  std::vector<bool> same_a(a.size()), same_b(b.size());
  std::size_t common = 0;
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    if (a[i] == b[j]) {
      common += a[i].find_first_not_of(" \t") == std::string_view::npos ? 0 : a[i].size();
      same_a[i++] = same_b[j++] = true;
    } else if (longest[(i + 1) * width + j] >= longest[i * width + j + 1]) {
      ++i;
    } else {
      ++j;
    }
  }
  if (common * 3 < std::min(before.size(), after.size())) return plain;
  return {join(before, a, same_a), join(after, b, same_b)};
}

Pieces mark(std::string_view line, std::size_t begin, std::size_t end) {
  begin = std::min(begin, line.size());
  end = std::clamp(end, begin, line.size());
  return {line.substr(0, begin), line.substr(begin, end - begin), line.substr(end)};
}

}  // namespace updraft::migrate::report
