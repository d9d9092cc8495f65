#include "migrate/support/messages.h"

#include <cstddef>

#include "base/error.h"

namespace updraft::migrate::support {
namespace {

/// A text with the parts in the places of its braces.
std::string filled(std::string_view text, std::initializer_list<Part> parts, std::string Text::*language) {
  std::string out;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const bool place = text[at] == '{' && at + 2 < text.size() && text[at + 2] == '}' && text[at + 1] >= '0' &&
                       static_cast<std::size_t>(text[at + 1] - '0') < parts.size();
    if (!place) {
      out += text[at];
      continue;
    }
    out += (parts.begin() + (text[at + 1] - '0'))->text.*language;
    at += 2;
  }
  return out;
}

const Table& messages() {
  static const Table table = Table::of("messages.tsv");
  return table;
}

}  // namespace

bool has_message(std::string_view key) { return static_cast<bool>(messages().find(key)); }

Bilingual message(std::string_view key) {
  const Row row = messages().find(key);
  if (!row) throw Error(code::kAclInternal, "{} is no message of support/data/messages.tsv", key);
  return {row.cell(1), row.cell(2)};
}

Text told(std::string_view key, std::initializer_list<Part> parts) {
  const Bilingual text = message(key);
  return {filled(text.en, parts, &Text::en), filled(text.zh, parts, &Text::zh)};
}

}  // namespace updraft::migrate::support
