// Notebooks: what was JSON stays JSON.
#include "migrate/text/notebook/notebook.h"

#include "migrate/text/notebook/json.h"
#include "migrate_text.h"

namespace {

bool is_json(std::string_view text) {
  using updraft::migrate::text::JsonReader;
  JsonReader json(text, false);
  for (;;) {
    const auto kind = json.next().kind;
    if (kind == JsonReader::Kind::End) return true;
    if (kind == JsonReader::Kind::Error) return false;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto run = [](std::string_view text) {
    // Bytes alone, or as the source of a cell.
    return fuzz::settles(text, [](std::string_view t) { return updraft::migrate::text::notebook(t, fuzz::python); });
  };
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::string out = run(text);
  fuzz::demand(is_json(text) == is_json(out), "JSON became none", text);
  const std::string cell = "{\"cells\":[{\"cell_type\":\"code\",\"source\":[\"" +
                           updraft::migrate::text::json_escaped(text, false) + "\"]}]}";
  fuzz::demand(is_json(run(cell)), "JSON became none", cell);
  return 0;
}
