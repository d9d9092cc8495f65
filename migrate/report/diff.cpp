#include "migrate/report/diff.h"

#include <fmt/format.h>
#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "migrate/report/files.h"

namespace updraft::migrate::report {

Lines::Lines(std::string_view text) : text_(text) {
  for (std::size_t at = 0; at < text.size();) {
    starts_.push_back(at);
    const std::size_t end = text.find('\n', at);
    at = end == std::string_view::npos ? text.size() : end + 1;
  }
}

std::size_t Lines::line_of(std::size_t byte) const noexcept {
  if (byte >= text_.size() && (text_.empty() || text_.back() == '\n')) return size();
  return static_cast<std::size_t>(std::upper_bound(starts_.begin(), starts_.end(), byte) - starts_.begin()) - 1;
}

Position Lines::position_of(std::size_t byte) const noexcept {
  const std::size_t line = line_of(byte);
  return {static_cast<std::uint32_t>(line + 1), static_cast<std::uint32_t>(std::min(byte, text_.size()) - start(line))};
}

std::string_view without_end(std::string_view line) noexcept {
  if (line.ends_with('\n')) line.remove_suffix(1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}
namespace {

/// Myers keeps one row for each difference: 16 MiB at this many.
constexpr std::int64_t kMostDifferences = 2000;

using Ids = std::vector<std::uint32_t>;

/// Appends the changes between a and b, whose first lines are numbered from old_base and new_base.
class Comparison {
 public:
  Comparison(std::span<const std::uint32_t> a, std::span<const std::uint32_t> b, std::uint32_t old_base,
             std::uint32_t new_base, std::vector<LineChange>& out)
      : a_(a), b_(b), old_base_(old_base), new_base_(new_base), out_(out) {}

  void run() {
    while (!a_.empty() && !b_.empty() && a_.front() == b_.front()) {
      a_ = a_.subspan(1);
      b_ = b_.subspan(1);
      ++old_base_;
      ++new_base_;
    }
    while (!a_.empty() && !b_.empty() && a_.back() == b_.back()) {
      a_ = a_.first(a_.size() - 1);
      b_ = b_.first(b_.size() - 1);
    }
    if (a_.empty() && b_.empty()) return;
    if (a_.empty() || b_.empty() || !myers()) add(0, a_.size(), 0, b_.size());
  }

 private:
  void add(std::size_t old_begin, std::size_t old_end, std::size_t new_begin, std::size_t new_end) {
    auto at = [](std::uint32_t base, std::size_t i) { return static_cast<std::uint32_t>(base + i); };
    const LineChange change{at(old_base_, old_begin), at(old_base_, old_end), at(new_base_, new_begin),
                            at(new_base_, new_end)};
    if (!out_.empty() && out_.back().old_end == change.old_begin && out_.back().new_end == change.new_begin) {
      out_.back().old_end = change.old_end;
      out_.back().new_end = change.new_end;
    } else {
      out_.push_back(change);
    }
  }

  bool myers() {
    const auto n = static_cast<std::int64_t>(a_.size()), m = static_cast<std::int64_t>(b_.size());
    const std::int64_t most = std::min(n + m, kMostDifferences);
    // furthest[d][k + d]: how far along a the paths with d differences get on diagonal k
    std::vector<std::vector<std::int32_t>> furthest;
    for (std::int64_t d = 0; d <= most; ++d) {
      std::vector<std::int32_t> row(static_cast<std::size_t>(2 * d + 1));
      for (std::int64_t k = -d; k <= d; k += 2) {
        std::int64_t x = d == 0 ? 0 : step(furthest.back(), d, k).first;
        std::int64_t y = x - k;
        while (x < n && y < m && x >= 0 && y >= 0 && a_[static_cast<std::size_t>(x)] == b_[static_cast<std::size_t>(y)])
          ++x, ++y;
        row[static_cast<std::size_t>(k + d)] = static_cast<std::int32_t>(x);
        if (x >= n && y >= m && x == n && y == m) {
          furthest.push_back(std::move(row));
          back(furthest, d, k);
          return true;
        }
      }
      furthest.push_back(std::move(row));
    }
    return false;
  }

  /// Where diagonal k of round d starts, and whether by a line of b (down) instead of one of a.
  std::pair<std::int64_t, bool> step(const std::vector<std::int32_t>& last, std::int64_t d, std::int64_t k) const {
    // the rows of round d - 1 hold diagonals -(d-1) … d-1
    auto at = [&](std::int64_t diagonal) -> std::int64_t { return last[static_cast<std::size_t>(diagonal + d - 1)]; };
    const bool down = k == -d || (k != d && at(k - 1) < at(k + 1));
    return {down ? at(k + 1) : at(k - 1) + 1, down};
  }

  void back(const std::vector<std::vector<std::int32_t>>& furthest, std::int64_t d, std::int64_t k) {
    std::vector<LineChange> steps;  // from the end
    for (; d > 0; --d) {
      const auto [x, down] = step(furthest[static_cast<std::size_t>(d - 1)], d, k);
      const auto start = static_cast<std::uint32_t>(x), other = static_cast<std::uint32_t>(x - k);
      if (down) steps.push_back({start, start, other - 1, other});
      else steps.push_back({start - 1, start, other, other});
      k += down ? 1 : -1;
    }
    for (auto it = steps.rbegin(); it != steps.rend(); ++it)
      add(it->old_begin, it->old_end, it->new_begin, it->new_end);
  }

  std::span<const std::uint32_t> a_, b_;
  std::uint32_t old_base_, new_base_;
  std::vector<LineChange>& out_;
};

/// Compares the lines [begin, end) of both texts.
void compare(const Lines& before, std::size_t old_begin, std::size_t old_end, const Lines& after, std::size_t new_begin,
             std::size_t new_end, std::vector<LineChange>& out) {
  std::unordered_map<std::string_view, std::uint32_t> known;
  auto ids = [&](const Lines& lines, std::size_t begin, std::size_t end) {
    Ids list;
    list.reserve(end - begin);
    for (std::size_t i = begin; i < end; ++i)
      list.push_back(known.try_emplace(lines[i], static_cast<std::uint32_t>(known.size())).first->second);
    return list;
  };
  const Ids a = ids(before, old_begin, old_end), b = ids(after, new_begin, new_end);
  Comparison(a, b, static_cast<std::uint32_t>(old_begin), static_cast<std::uint32_t>(new_begin), out).run();
}

}  // namespace

std::vector<Edit> applied_edits(const FileResult& file) {
  std::vector<Edit> edits;
  for (const Finding& finding : file.findings)
    if (finding.applied) edits.insert(edits.end(), finding.edits.begin(), finding.edits.end());
  // stable: texts inserted at one place stand in the order of their findings
  std::stable_sort(edits.begin(), edits.end(),
                   [](const Edit& a, const Edit& b) { return std::pair(a.begin, a.end) < std::pair(b.begin, b.end); });
  edits.erase(std::unique(edits.begin(), edits.end()), edits.end());
  return edits;
}

std::vector<Placed> place(std::string_view before, std::string_view after, std::span<const Edit> edits) {
  std::vector<Placed> placed;
  placed.reserve(edits.size());
  std::size_t read = 0, written = 0;
  for (const Edit& edit : edits) {
    if (edit.begin < read || edit.end < edit.begin || edit.end > before.size()) return {};
    const std::size_t kept = edit.begin - read;
    if (after.substr(std::min(written, after.size()), kept) != before.substr(read, kept)) return {};
    written += kept;
    if (after.substr(std::min(written, after.size()), edit.text.size()) != edit.text) return {};
    placed.push_back({edit, written});
    written += edit.text.size();
    read = edit.end;
  }
  if (written > after.size() || after.substr(written) != before.substr(read)) return {};
  return placed;
}

std::vector<LineChange> line_changes(const Lines& before, const Lines& after, std::span<const Edit> edits) {
  std::vector<LineChange> changes;
  const std::vector<Placed> placed = place(before.text(), after.text(), edits);
  if (placed.empty()) {
    compare(before, 0, before.size(), after, 0, after.size(), changes);
    return changes;
  }
  for (std::size_t i = 0; i < placed.size();) {
    const std::size_t old_begin = before.line_of(placed[i].edit.begin), new_begin = after.line_of(placed[i].after);
    std::size_t old_end = old_begin, new_end = new_begin;
    // edits that share a line are one change
    for (; i < placed.size() && (old_end == old_begin || before.line_of(placed[i].edit.begin) < old_end); ++i) {
      const std::size_t last = before.line_of(placed[i].edit.end);
      old_end = std::max(old_end, last + 1);
      new_end = std::max(new_end, after.line_of(placed[i].after + placed[i].edit.text.size()) + 1);
    }
    compare(before, std::min(old_begin, before.size()), std::min(old_end, before.size()), after,
            std::min(new_begin, after.size()), std::min(new_end, after.size()), changes);
  }
  return changes;
}
namespace {

constexpr std::uint32_t kContext = 3;

void add_line(std::string& out, char mark, std::string_view line) {
  out += mark;
  out += line;
  if (!line.ends_with('\n')) out += "\n\\ No newline at end of file\n";
}

/// "12,3": the first line from 1, and how many where that is not one. Of no lines the one before is named.
std::string range(std::uint32_t begin, std::uint32_t end) {
  const std::uint32_t count = end - begin;
  return count == 1 ? fmt::format("{}", begin + 1) : fmt::format("{},{}", count == 0 ? begin : begin + 1, count);
}

void add_hunk(std::string& out, const Lines& before, const Lines& after, const LineChange* first,
              const LineChange* last) {
  const std::uint32_t lead = std::min(kContext, first->old_begin);
  const auto tail = static_cast<std::uint32_t>(std::min<std::size_t>(kContext, before.size() - last->old_end));
  std::uint32_t at = first->old_begin - lead;
  fmt::format_to(std::back_inserter(out), "@@ -{} +{} @@\n", range(at, last->old_end + tail),
                 range(first->new_begin - lead, last->new_end + tail));
  for (const LineChange* change = first; change <= last; ++change) {
    for (; at < change->old_begin; ++at) add_line(out, ' ', before[at]);
    for (; at < change->old_end; ++at) add_line(out, '-', before[at]);
    for (std::uint32_t i = change->new_begin; i < change->new_end; ++i) add_line(out, '+', after[i]);
  }
  for (; at < last->old_end + tail; ++at) add_line(out, ' ', before[at]);
}

}  // namespace

std::string quoted_path(std::string_view prefix, std::string_view path) {
  const bool plain = is_utf8(path) && std::none_of(path.begin(), path.end(), [](char c) {
                       return static_cast<unsigned char>(c) < 0x20 || c == 0x7F || c == '"' || c == '\\';
                     });
  if (plain) return std::string(prefix) + std::string(path);
  std::string out = "\"" + std::string(prefix);
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') out += {'\\', c};
    else if (c == '\n') out += "\\n";
    else if (c == '\t') out += "\\t";
    else if (byte < 0x20 || byte >= 0x7F) out += fmt::format("\\{:03o}", byte);
    else out += c;
  }
  return out + "\"";
}

std::string unified_diff(const FileResult& file) {
  if (!file.changed || file.before == file.after) return {};
  const Lines before(file.before), after(file.after);
  const std::vector<LineChange> changes = line_changes(before, after, applied_edits(file));
  const std::string a = quoted_path("a/", file.path), b = quoted_path("b/", file.path);
  // a tab ends a name that holds spaces, or the readers would take its end for a date
  const char* end = a.front() != '"' && a.find(' ') != std::string::npos ? "\t" : "";
  std::string out = fmt::format("diff --git {} {}\n--- {}{}\n+++ {}{}\n", a, b, a, end, b, end);
  for (std::size_t i = 0; i < changes.size();) {
    std::size_t last = i;
    while (last + 1 < changes.size() && changes[last + 1].old_begin - changes[last].old_end <= 2 * kContext) ++last;
    add_hunk(out, before, after, &changes[i], &changes[last]);
    i = last + 1;
  }
  return out;
}

std::string unified_diff(const ProjectResult& result) {
  std::string out;
  for (const FileResult& file : result.files) out += unified_diff(file);
  return out;
}

}  // namespace updraft::migrate::report
