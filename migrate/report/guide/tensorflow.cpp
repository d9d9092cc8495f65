#include "migrate/report/guide/guide.h"

#include <fmt/format.h>
#include <algorithm>
#include <cstdint>
#include <set>
#include <string_view>
#include <utility>

#include "migrate/report/diff.h"
#include "migrate/report/files.h"
#include "migrate/report/table.h"

namespace updraft::migrate::report {
namespace {

/// The path as the user gave it: below the input.
std::string full_path(const ProjectResult& result, const FileResult& file) {
  const std::string& input = result.request.input;
  if (input.empty() || input == "." || input == file.path || input.ends_with("/" + file.path))
    return one_line(input.empty() || input == "." ? file.path : input);
  return one_line(input.ends_with('/') ? input + file.path : input + "/" + file.path);
}

std::string_view trimmed(std::string_view line) noexcept {
  const std::size_t begin = line.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return {};
  return line.substr(begin, line.find_last_not_of(" \t\r\n") - begin + 1);
}

}  // namespace

std::optional<TfClass> support_class(const Finding& finding, std::size_t version) {
  const std::string_view root = std::string_view(finding.api).substr(0, finding.api.find('.'));
  if (root != "tf" && root != "tensorflow" && root != "hvd" && root != "horovod") return std::nullopt;
  const TfClass known = lookup_tf(finding.api, version).support;
  return known == TfClass::analysing && finding.category == Category::Unsupported ? TfClass::no_avoid : known;
}

SupportCounts support_counts(const ProjectResult& result, bool once) {
  SupportCounts counts;
  std::set<std::string_view> apis;
  for (const FileResult& file : result.files) {
    std::set<std::pair<std::uint32_t, std::string_view>> uses;
    for (const Finding& finding : file.findings) {
      const auto which = support_class(finding, nearest_tf(result.request.facts));
      if (!which || !uses.emplace(finding.begin, finding.api).second) continue;
      if (once && !apis.insert(finding.api).second) continue;
      ++counts.total;
      switch (count_as(*which)) {
        case TfCount::support: ++counts.supported; break;
        case TfCount::unsupport: ++counts.unsupported; break;
        case TfCount::no_operator: ++counts.not_involved; break;
        case TfCount::analysing: ++counts.analysing; break;
      }
    }
  }
  return counts;
}

std::string success_report(const ProjectResult& result) {
  std::string out;
  for (const FileResult& file : result.files) {
    if (!file.changed) continue;
    const std::string path = full_path(result, file);
    const Lines before(file.before), after(file.after);
    auto entry = [&](std::size_t line, std::string_view what, std::string_view text) {
      out += fmt::format("{}:{} {}{}\n", path, line + 1, what, one_line(trimmed(text)));
    };
    for (const LineChange& change : line_changes(before, after, applied_edits(file))) {
      for (std::size_t i = change.new_begin; i < change.new_end; ++i)
        if (!trimmed(after[i]).empty()) entry(i, "", after[i]);
      if (change.new_begin != change.new_end) continue;
      for (std::size_t i = change.old_begin; i < change.old_end; ++i)
        if (!trimmed(before[i]).empty()) entry(change.new_begin, "deleted: ", before[i]);
    }
  }
  return out;
}

std::string failed_report(const ProjectResult& result) {
  std::string out;
  for (const FileResult& file : result.files) {
    const std::string path = full_path(result, file);
    bool any = false;
    for (const Finding& finding : file.findings) {
      const auto which = support_class(finding, nearest_tf(result.request.facts));
      if (finding.category == Category::Failure)
        out += fmt::format("{}:{}, {}\n", path, finding.from.line, one_line(in(finding.message, Language::en)));
      else if (which == TfClass::no_avoid || (which == TfClass::deprecated && !finding.applied))
        out += fmt::format("{}:{}, NPU Unsupport API: {}\n", path, finding.from.line, one_line(finding.api));
      else if (finding.category == Category::Change && !finding.applied)
        out += fmt::format("{}:{}, left for review ({}): {}\n", path, finding.from.line, finding.rule,
                           one_line(in(finding.message, Language::en)));
      else if (finding.category == Category::Unsupported)
        out += fmt::format("{}:{}, {}\n", path, finding.from.line, one_line(in(finding.message, Language::en)));
      else continue;
      any = true;
    }
    if (any && !file.failed) out += fmt::format("Finish conver file: {}\n", path);
    if (!any && file.failed) out += fmt::format("{}:1, the file could not be migrated and was copied as it is\n", path);
  }
  return out;
}

std::string api_brief_report(const ProjectResult& result) {
  auto line = [&](std::string_view start, bool once) {
    const SupportCounts c = support_counts(result, once);
    return fmt::format(
        "{}: Total API: {}, in which Support: {}, Unsupport: {}, No operator is involved: {}, Analysing: {}\n", start,
        c.total, c.supported, c.unsupported, c.not_involved, c.analysing);
  };
  return line("1.In brief", false) + line("2.After eliminate duplicate", true);
}

std::vector<ReportFile> tensorflow_files(const ProjectResult& result) {
  return {{"success_report.txt", success_report(result), true},
          {"failed_report.txt", failed_report(result), true},
          {"api_brief_report.txt", api_brief_report(result)}};
}

std::string api_analysis_table(const ProjectResult& result) {
  Xlsx book;
  book.add_sheet("api_analysis_report", {{"序号", 8},
                                         {"脚本文件名", 36},
                                         {"代码行", 10},
                                         {"模块名", 28},
                                         {"API名", 44},
                                         {"工具迁移API支持度", 40},
                                         {"说明", 60}});
  std::int64_t number = 0;
  for (const FileResult& file : result.files) {
    std::set<std::pair<std::uint32_t, std::string_view>> seen;  // several findings may be about one use
    for (const Finding& finding : file.findings) {
      const auto support = support_class(finding, nearest_tf(result.request.facts));
      if (!support || !seen.emplace(finding.begin, finding.api).second) continue;
      const std::string_view api = finding.api;
      // tensorflow.keras of tensorflow.keras.layers.Dense; of an API right below the framework, the framework
      const std::size_t first = api.find('.'), dot = first == std::string_view::npos ? first : api.find('.', first + 1);
      book.add_row({++number, std::string_view(file.path), static_cast<std::int64_t>(finding.from.line),
                    api.substr(0, dot != std::string_view::npos ? dot : first), api, describe(*support).zh,
                    std::string_view(finding.message.zh)});
    }
  }
  return std::move(book).finish();
}

}  // namespace updraft::migrate::report
