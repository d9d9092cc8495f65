#include "migrate/report/page/excerpt.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace updraft::migrate::report {
namespace {

/// Changes of n lines into n lines become n changes, so that each line stands by its reason.
std::vector<Passage> changed_passages(const std::vector<LineChange>& changes) {
  std::vector<Passage> list;
  for (const LineChange& c : changes) {
    if (c.old_end - c.old_begin != c.new_end - c.new_begin) {
      list.push_back({c, true, {}});
      continue;
    }
    for (std::uint32_t i = 0; i < c.old_end - c.old_begin; ++i)
      list.push_back({{c.old_begin + i, c.old_begin + i + 1, c.new_begin + i, c.new_begin + i + 1}, true, {}});
  }
  return list;
}

/// The changed passage that the old lines [first, last] touch, or an insertion right beside them; null where there is
/// none.
Passage* touched(std::vector<Passage>& changed, std::uint32_t first, std::uint32_t last) {
  auto it = std::lower_bound(changed.begin(), changed.end(), first, [](const Passage& passage, std::uint32_t line) {
    return passage.lines.old_end < line || (passage.lines.old_end == line && passage.lines.old_begin != line);
  });
  for (; it != changed.end() && it->lines.old_begin <= last + 1; ++it) {
    const bool inserted = it->lines.old_begin == it->lines.old_end;
    if (inserted || it->lines.old_begin <= last) return &*it;
  }
  return nullptr;
}

}  // namespace

std::vector<Block> excerpt(const FileResult& file, const Lines& before, const Lines& after, std::uint32_t context) {
  if (file.before.empty() && file.after.empty()) return {};
  const auto lines = static_cast<std::uint32_t>(before.size());
  std::vector<Passage> changed, marked;
  if (file.changed) changed = changed_passages(line_changes(before, after, applied_edits(file)));
  for (std::size_t i = 0; i < file.findings.size(); ++i) {
    const Finding& finding = file.findings[i];
    auto line_of = [&](std::uint32_t byte) { return static_cast<std::uint32_t>(before.line_of(byte)); };
    Passage* home = nullptr;
    if (finding.applied)
      for (const Edit& edit : finding.edits)
        if ((home = touched(changed, line_of(edit.begin), line_of(edit.end)))) break;
    const std::uint32_t line = std::min(line_of(finding.begin), lines ? lines - 1 : 0);
    if (!home) {  // maybe told about a line that changed for another reason
      auto it = std::partition_point(changed.begin(), changed.end(),
                                     [&](const Passage& passage) { return passage.lines.old_end <= line; });
      if (it != changed.end() && it->lines.old_begin <= line) home = &*it;
    }
    if (!home) home = &marked.emplace_back(Passage{{line, std::min(line + 1, lines), 0, 0}, false, {}});
    home->findings.push_back(i);
  }
  // one passage for all findings of a line
  std::stable_sort(marked.begin(), marked.end(),
                   [](const Passage& a, const Passage& b) { return a.lines.old_begin < b.lines.old_begin; });
  std::vector<Passage> all;
  for (Passage& passage : marked) {
    if (!all.empty() && all.back().lines.old_begin == passage.lines.old_begin)
      all.back().findings.insert(all.back().findings.end(), passage.findings.begin(), passage.findings.end());
    else all.push_back(std::move(passage));
  }
  std::move(changed.begin(), changed.end(), std::back_inserter(all));
  std::stable_sort(all.begin(), all.end(), [](const Passage& a, const Passage& b) {
    return std::pair(a.lines.old_begin, a.lines.old_end) < std::pair(b.lines.old_begin, b.lines.old_end);
  });

  std::vector<Block> blocks;
  std::uint32_t old_at = 0, new_at = 0;  // shown up to here
  auto show_context = [&](std::uint32_t from, std::uint32_t until) {
    if (from < until)
      blocks.back().push_back({{from, until, new_at + (from - old_at), new_at + (until - old_at)}, false, {}});
  };
  for (Passage& passage : all) {
    const std::uint32_t begin = passage.lines.old_begin, gap = begin - old_at;
    if (blocks.empty() || gap > 2 * context) {
      if (!blocks.empty()) show_context(old_at, old_at + context);
      blocks.emplace_back();
      show_context(begin - std::min(context, gap), begin);
    } else {
      show_context(old_at, begin);
    }
    new_at += gap;
    if (!passage.changed) {
      passage.lines.new_begin = new_at;
      passage.lines.new_end = new_at + (passage.lines.old_end - begin);
    }
    old_at = passage.lines.old_end;
    new_at = passage.lines.new_end;
    blocks.back().push_back(std::move(passage));
  }
  if (!blocks.empty()) show_context(old_at, std::min(old_at + context, lines));
  return blocks;
}

}  // namespace updraft::migrate::report
