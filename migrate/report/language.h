// Sentences of findings in the language that a plain-text report is written in. JSON and the page carry both.
#pragma once
#include <string>

#include "migrate/finding.h"
#include "migrate/support/language.h"

namespace updraft::migrate::report {

/// The sentence in that language, or in the other where it has none.
inline const std::string& in(const Text& text, Language language) noexcept {
  if (language == Language::zh) return text.zh.empty() ? text.en : text.zh;
  return text.en.empty() ? text.zh : text.en;
}

}  // namespace updraft::migrate::report
