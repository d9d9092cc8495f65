// Any bytes as a file of rules: it is read or refused with an Error.
#include <cstdint>
#include <string_view>

#include "base/error.h"
#include "migrate/rules/rule.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    updraft::migrate::rules::load(std::string_view(reinterpret_cast<const char*>(data), size), "fuzz.yaml");
  } catch (const updraft::Error&) {}
  return 0;
}
