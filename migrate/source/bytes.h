// Classes of bytes that every reader here asks for; of ASCII only, whatever the locale.
#pragma once

namespace updraft::migrate::source {

constexpr bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }
constexpr bool is_letter(char c) noexcept { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
/// Of a name: letters, digits and _.
constexpr bool is_name_byte(char c) noexcept { return is_letter(c) || is_digit(c) || c == '_'; }
constexpr char lower(char c) noexcept { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

}  // namespace updraft::migrate::source
