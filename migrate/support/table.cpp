#include "migrate/support/table.h"

#include <algorithm>
#include <bit>
#include <functional>

namespace updraft::migrate::support {
namespace {

std::string_view line_at(std::string_view text, size_t at) {
  const size_t end = text.find('\n', at);
  return text.substr(at, end == std::string_view::npos ? end : end - at);
}

}  // namespace

std::string_view Row::cell(size_t index) const {
  std::string_view rest = line_;
  for (; index > 0; --index) {
    const size_t tab = rest.find('\t');
    if (tab == std::string_view::npos) return {};
    rest.remove_prefix(tab + 1);
  }
  return rest.substr(0, rest.find('\t'));
}

Row Row::next() const {
  const char* after = line_.data() + line_.size();
  if (line_.empty() || after >= end_) return {};
  ++after;  // the line feed
  return {line_at({after, static_cast<size_t>(end_ - after)}, 0), end_};
}

Table::Table(std::string_view text) : rows_(text) {
  const auto drop_line = [&] { rows_.remove_prefix(std::min(line_at(rows_, 0).size() + 1, rows_.size())); };
  while (rows_.starts_with('#')) drop_line();
  drop_line();  // the heading
  const auto lines = static_cast<size_t>(std::count(rows_.begin(), rows_.end(), '\n')) + 1;
  slots_.resize(std::bit_ceil(2 * lines));
  std::string_view before;
  for (Row row = first(); row; row = row.next()) {
    const std::string_view key = row.key();
    if (key.data() != rows_.data() && key == before) continue;  // the first of several is found
    before = key;
    size_t slot = std::hash<std::string_view>{}(key) & (slots_.size() - 1);
    while (slots_[slot] != 0) slot = (slot + 1) & (slots_.size() - 1);
    slots_[slot] = static_cast<uint32_t>(key.data() - rows_.data()) + 1;
  }
}

Table Table::of(std::string_view file) { return Table(embedded(file)); }

Row Table::at(size_t offset) const { return {line_at(rows_, offset), rows_.data() + rows_.size()}; }

Row Table::first() const { return at(0); }

Row Table::find(std::string_view key) const {
  for (size_t slot = std::hash<std::string_view>{}(key);; ++slot) {
    const uint32_t found = slots_[slot & (slots_.size() - 1)];
    if (found == 0) return {};
    const std::string_view rest = rows_.substr(found - 1);
    // the whole key, not its beginning, and no more than it
    if (rest.starts_with(key) && rest.substr(0, rest.find_first_of("\t\n")) == key) return at(found - 1);
  }
}

}  // namespace updraft::migrate::support
