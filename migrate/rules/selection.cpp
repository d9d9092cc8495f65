#include "migrate/rules/selection.h"

#include <algorithm>

namespace updraft::migrate::rules {
namespace {

bool any(const std::vector<std::string>& list, std::string_view id) noexcept {
  return std::any_of(list.begin(), list.end(), [&](const std::string& item) { return id.starts_with(item); });
}

/// Whether a line says keep[…] with the rule among what stands in the brackets.
bool kept(std::string_view lines, std::string_view id) {
  for (std::size_t at = 0; (at = lines.find("updraft: keep[", at)) != std::string_view::npos;) {
    at += 14;
    std::string_view list = lines.substr(at, lines.find(']', at) - at);
    while (!list.empty()) {
      const std::size_t comma = list.find(',');
      std::string_view item = list.substr(0, comma);
      while (item.starts_with(' ')) item.remove_prefix(1);
      while (item.ends_with(' ')) item.remove_suffix(1);
      if (!item.empty() && id.starts_with(item)) return true;
      if (comma == std::string_view::npos) break;
      list.remove_prefix(comma + 1);
    }
  }
  return false;
}

}  // namespace

bool Selection::has(std::string_view id) const noexcept {
  return (select.empty() || any(select, id)) && !any(ignore, id);
}

void select(std::vector<Finding>& findings, std::string_view text, const Selection& selection) {
  const bool comments = text.find("updraft: keep[") != std::string_view::npos;
  if (selection.empty() && !comments) return;
  std::erase_if(findings, [&](const Finding& f) {
    if (f.category == Category::Failure) return false;
    if (!selection.has(f.rule)) return true;
    if (!comments || f.end > text.size()) return false;
    const std::size_t start = f.begin == 0 ? 0 : text.rfind('\n', f.begin - 1) + 1;  // npos + 1 is 0
    const std::size_t stop = std::min(text.find('\n', f.end), text.size());
    return kept(text.substr(start, stop - start), f.rule);
  });
}

}  // namespace updraft::migrate::rules
