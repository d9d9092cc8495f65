// YAML, JSON, TOML, INI, requirements and Dockerfiles; the first byte chooses.
#include "migrate/text/config/config.h"

#include "migrate_text.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  using updraft::migrate::text::ConfigForm;
  const auto form = static_cast<ConfigForm>(1 + data[0] % 7);
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  fuzz::settles(text, [&](std::string_view t) { return updraft::migrate::text::config(form, t, fuzz::python); });
  return 0;
}
