#include "migrate/support/table.h"

#include <algorithm>

#include "migrate/support/embedded.h"

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
}

Table Table::of(std::string_view file) { return Table(embedded(file)); }

Row Table::first() const { return {line_at(rows_, 0), rows_.data() + rows_.size()}; }

Row Table::find(std::string_view key) const {
  size_t low = 0, high = rows_.size();  // both stand at the beginning of a line, or at the end
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    const size_t before = middle == 0 ? std::string_view::npos : rows_.rfind('\n', middle - 1);
    const size_t start = before == std::string_view::npos || before < low ? low : before + 1;
    const std::string_view line = line_at(rows_, start);
    if (line.substr(0, line.find('\t')) < key) low = std::min(start + line.size() + 1, rows_.size());
    else high = start;
  }
  const Row row(line_at(rows_, low), rows_.data() + rows_.size());
  return low < rows_.size() && row.key() == key ? row : Row{};
}

}  // namespace updraft::migrate::support
