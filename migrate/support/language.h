// The two languages of everything that a user reads.
#pragma once
#include <cstdint>
#include <string_view>

namespace updraft::migrate {

enum class Language : uint8_t { en, zh };

struct Bilingual {
  std::string_view en, zh;

  std::string_view in(Language language) const { return language == Language::zh ? zh : en; }
  bool operator==(const Bilingual&) const = default;
};

}  // namespace updraft::migrate
