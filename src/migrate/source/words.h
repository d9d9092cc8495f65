// Search for many words at once (Aho-Corasick): most files of a project say nothing about a GPU and need no parsing.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace updraft::migrate::source {

class Words {
 public:
  explicit Words(const std::vector<std::string>& words);

  /// Whether any of them stands in the text.
  bool any(std::string_view text) const noexcept;
  /// Likewise, but only where a word is a whole identifier.
  bool any_name(std::string_view text) const noexcept;
  /// Which of them do, by their index; looks on until all have been seen.
  std::vector<bool> all(std::string_view text) const;

 private:
  std::array<std::uint8_t, 256> classes_{};  // bytes that no word has are one class, 0
  std::size_t width_ = 1;
  std::vector<std::uint32_t> next_;                // state × class → state
  std::vector<std::vector<std::uint32_t>> found_;  // words that end in a state
  std::vector<bool> ends_;
  std::vector<std::size_t> lengths_;
  std::size_t count_ = 0;
};

}  // namespace updraft::migrate::source
