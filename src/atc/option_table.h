// The options of atc: one row each. What is checked, `atc --help` and docs/reference/atc-options.md come from it.
#pragma once
#include <span>
#include <string>
#include <string_view>

namespace updraft::atc {

/// What becomes of an option.
enum class Effect : uint8_t {
  Works,     ///< it does what its line says
  Accepted,  ///< it changes nothing here; the line says why, and atc prints it
  Refused,   ///< the line says what to do instead
};

enum class Kind : uint8_t {
  Text,
  Choice,   ///< one of `values`, which | separates
  Boolean,  ///< true or false
  File,     ///< must be there
};

struct Option {
  const char* name;
  const char* group;
  Kind kind;
  const char* values;  ///< of a Choice; else how the value looks
  const char* standard;
  Effect effect;
  const char* about;
  const char* about_zh;
};

std::span<const Option> options();
/// Null where there is none of that name.
const Option* find_option(std::string_view name);
/// The option's name that is most like it.
std::string nearest_option(std::string_view name);

/// `atc --help`.
std::string help();
/// docs/reference/atc-options.md, or its twin in Chinese.
std::string options_page(bool chinese);

}  // namespace updraft::atc
