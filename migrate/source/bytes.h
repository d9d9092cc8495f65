// Classes of bytes, and lists of words.
#pragma once
#include <algorithm>
#include <string_view>

namespace updraft::migrate::source {

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
