// The language that a plain-text report is written in. JSON and the page carry both.
#pragma once
#include <cstdint>
#include <string>

#include "migrate/finding.h"

namespace updraft::migrate::report {

enum class Language : std::uint8_t { En, Zh };

/// The sentence in that language, or in the other where it has none.
inline const std::string& in(const Text& text, Language language) noexcept {
  if (language == Language::Zh) return text.zh.empty() ? text.en : text.zh;
  return text.en.empty() ? text.zh : text.en;
}

}  // namespace updraft::migrate::report
