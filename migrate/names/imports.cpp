#include "migrate/names/imports.h"

#include <algorithm>

#include "migrate/source/bytes.h"

namespace updraft::migrate::names {
namespace {

bool is_blank(char c) noexcept { return c == ' ' || c == '\t' || c == '\r'; }

std::string_view word(std::string_view text, std::size_t& at) {
  while (at < text.size() && (is_blank(text[at]) || text[at] == '\n' || text[at] == ',' || text[at] == '\\')) ++at;
  const std::size_t start = at;
  while (at < text.size() && (source::is_name_byte(text[at]) || text[at] == '.')) ++at;
  return text.substr(start, at - start);
}

/// The names of an import list that ends with its line, or with its parenthesis.
template <class Visit>
void items(std::string_view text, std::size_t at, Visit visit) {
  while (at < text.size() && is_blank(text[at])) ++at;
  const bool open = at < text.size() && text[at] == '(';
  std::size_t end = open ? text.find(')', at) : text.find('\n', at);
  end = std::min({end, text.size(), at + 20000});
  std::string_view list = text.substr(at + open, end - at - open);
  for (std::size_t i = 0; i < list.size();) {
    if (list[i] == '#') {
      i = std::min(list.find('\n', i), list.size());
      continue;
    }
    const std::size_t before = i;
    const std::string_view name = word(list, i);
    if (name == "as") {
      word(list, i);
    } else if (!name.empty()) {
      visit(name);
    }
    if (i == before) ++i;
  }
}

}  // namespace

std::vector<std::string> imported_modules(std::string_view text) {
  std::vector<std::string> modules;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t start = at;
    while (start < text.size() && is_blank(text[start])) ++start;
    const std::string_view line = text.substr(start);
    at = std::min(text.find('\n', at), text.size() - 1) + 1;
    if (line.starts_with("import ")) {
      items(text, start + 7, [&](std::string_view name) { modules.emplace_back(name); });
    } else if (line.starts_with("from ")) {
      std::size_t i = start + 5;
      const std::string module(word(text, i));
      if (module.empty() || word(text, i) != "import") continue;
      modules.push_back(module);
      const std::string stem = module.ends_with('.') ? module : module + ".";
      items(text, i, [&](std::string_view name) { modules.push_back(stem + std::string(name)); });
    }
  }
  return modules;
}

}  // namespace updraft::migrate::names
