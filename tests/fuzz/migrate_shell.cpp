// Shell scripts, makefiles (by the first byte), and, of the same bytes, C++ and CMake sources.
#include "migrate/text/shell/rules.h"

#include "migrate/text/readers.h"
#include "migrate_text.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  updraft::migrate::text::ShellOptions options;
  options.makefile = data[0] & 1;
  options.lines = data[0] & 2;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  fuzz::settles(text, [&](std::string_view t) { return updraft::migrate::text::shell(t, fuzz::python, options); });
  fuzz::sound(text, updraft::migrate::text::cuda_source(text));
  fuzz::sound(text, updraft::migrate::text::cmake(text));
  return 0;
}
