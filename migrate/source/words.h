// Words in a text: which bytes they are of, and the search for many of them at once.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

// Search for many words at once (Aho-Corasick): most files of a project say nothing about a GPU and need no parsing.

namespace updraft::migrate::source {

class Words {
 public:
  /// `names` count only where they are whole identifiers, the others anywhere.
  explicit Words(const std::vector<std::string>& anywhere, const std::vector<std::string>& names = {});

  /// Whether any of them stands in the text.
  bool any(std::string_view text) const noexcept;
  /// Which of them do, by their index; looks on until all have been seen. Of words that count anywhere.
  std::vector<bool> all(std::string_view text) const;

 private:
  /// Set in a transition into a state where words end.
  static constexpr std::uint32_t kEnds = 1U << 31;

  std::array<std::uint8_t, 256> classes_{};  // bytes that no word has are one class, 0
  std::uint32_t width_ = 1;
  std::vector<std::uint32_t> next_;                // row of a state + class → row of the next state
  std::vector<std::vector<std::uint32_t>> found_;  // words that end in a state
  std::vector<std::size_t> lengths_;
  std::size_t anywhere_ = 0;  // how many of the words are no names
};

/// Whether a word of five letters or more stands in a text: three times as fast as find(), which stops at each of its
/// first letters.
inline bool says(std::string_view text, std::string_view word) noexcept {
  return ::memmem(text.data(), text.size(), word.data(), word.size()) != nullptr;
}

// Classes of bytes, and lists of words.

// Classes of bytes that every reader here asks for; of ASCII only, whatever the locale.

constexpr bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }
constexpr bool is_letter(char c) noexcept { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
/// Of a name: letters, digits and _.
constexpr bool is_name_byte(char c) noexcept { return is_letter(c) || is_digit(c) || c == '_'; }
constexpr char lower(char c) noexcept { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// Is a word one of a list?

/// `list` is a container of string views.
bool among(const auto& list, std::string_view word) noexcept {
  return std::find(list.begin(), list.end(), word) != list.end();
}

}  // namespace updraft::migrate::source
