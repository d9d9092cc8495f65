#include "migrate/report/diff/diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <vector>

#include "migrate/report/diff/line_changes.h"
#include "migrate/report/diff/lines.h"
#include "migrate/report/utf8.h"

namespace updraft::migrate::report {
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
