#include "graph/compile/option_file.h"

#include <algorithm>
#include <cctype>

#include "base/json_text.h"
#include "graph/compile/option_error.h"
#include "graph/ir/bytes.h"

namespace updraft::graph {
namespace {

/// The text without comments and such commas; lines stay where they are.
std::string strict(const std::string& text) {
  std::string made;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      made += c;
      if (c == '\\' && i + 1 < text.size()) made += text[++i];
      else if (c == '"') quoted = false;
      continue;
    }
    if (c == '#' || (c == '/' && i + 1 < text.size() && text[i + 1] == '/')) {
      while (i + 1 < text.size() && text[i + 1] != '\n') ++i;
      continue;
    }
    if (c == '}' || c == ']') {
      const size_t last = made.find_last_not_of(" \t\r\n");
      if (last != std::string::npos && made[last] == ',') made[last] = ' ';
    }
    quoted = c == '"';
    made += c;
  }
  return made;
}

}  // namespace

std::string option_file_text(const std::string& option, const std::string& path) {
  try {
    return std::string(Bytes::of_file(path).text());
  } catch (const Error& e) { throw OptionError(option, path, e.text()); }
}

nlohmann::json parse_relaxed_json(const std::string& option, const std::string& file, const std::string& text) {
  const std::string clean = strict(text);
  try {
    return parse_json(clean);
  } catch (const nlohmann::json::parse_error& e) {
    const auto end = clean.begin() + static_cast<std::ptrdiff_t>(std::min(e.byte, clean.size()));
    throw OptionError(option, file, fmt::format("line {} is no JSON", std::count(clean.begin(), end, '\n') + 1));
  }
}

}  // namespace updraft::graph
