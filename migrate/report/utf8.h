// Sources and file names are bytes; reports are UTF-8.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace updraft::migrate::report {

/// Bytes of the well-formed code point (RFC 3629) that stands at `at`; 0 where there is none.
std::size_t code_point_at(std::string_view text, std::size_t at) noexcept;

bool is_utf8(std::string_view text) noexcept;

/// Each byte that is part of no code point becomes U+FFFD.
std::string repaired(std::string_view text);

/// As repaired(), and control characters become \n, \t or \x1b, so that a hostile name cannot start a line of its own.
std::string one_line(std::string_view text);

/// UTF-16 code units that the text takes. A byte that is part of no code point counts as one, like its U+FFFD.
std::size_t utf16_length(std::string_view text) noexcept;

std::string base64(std::string_view bytes);

}  // namespace updraft::migrate::report
