#include "migrate/report/tensorflow.h"

#include <fmt/format.h>

#include <array>
#include <map>
#include <utility>

#include "migrate/report/line_changes.h"
#include "migrate/report/lines.h"
#include "migrate/report/utf8.h"

namespace updraft::migrate::report {
namespace {

struct Names {
  std::string_view id, en, zh;
};
constexpr std::array<Names, 8> kNames = {{
    {"supported", "supported", "支持（无需迁移）"},
    {"supported-after-migration", "supported once migrated", "工具迁移后API功能支持"},
    {"runs-after-migration", "trains once migrated", "工具迁移后训练功能打通"},
    {"unsupported-harmless", "unsupported, nothing to do", "不支持（不影响迁移，无需干预）"},
    {"unsupported", "unsupported, do not use", "不支持（无迁移方案，建议不使用）"},
    {"deprecated", "deprecated", "废弃类"},
    {"analysing", "under analysis", "分析中"},
    {"not-involved", "no operator is involved", "不涉及"},
}};

const Names& names(SupportClass support) noexcept { return kNames[static_cast<std::size_t>(support)]; }

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

std::string_view name(SupportClass support) noexcept { return names(support).id; }

std::string_view title(SupportClass support, Language language) noexcept {
  return language == Language::zh ? names(support).zh : names(support).en;
}

std::optional<SupportClass> support_of(std::string_view name) noexcept {
  for (std::size_t i = 0; i < kNames.size(); ++i)
    if (name == kNames[i].id || name == kNames[i].en || name == kNames[i].zh) return static_cast<SupportClass>(i);
  return std::nullopt;
}

std::optional<SupportClass> support_class(const Finding& finding) noexcept {
  if (finding.api.empty()) return std::nullopt;
  if (auto told = support_of(finding.suggestion)) return told;
  switch (finding.category) {
    case Category::Change: return finding.applied ? SupportClass::SupportedMigrated : SupportClass::Analysing;
    case Category::Unsupported: return SupportClass::Unsupported;
    case Category::Unknown: return SupportClass::Analysing;
    default: return std::nullopt;
  }
}

SupportCounts support_counts(const ProjectResult& result, bool once) {
  SupportCounts counts;
  std::map<std::string_view, SupportClass> seen;
  for (const FileResult& file : result.files)
    for (const Finding& finding : file.findings) {
      const auto which = support_class(finding);
      if (!which || (once && !seen.emplace(finding.api, *which).second)) continue;
      ++counts.total;
      switch (*which) {
        case SupportClass::Supported:
        case SupportClass::SupportedMigrated:
        case SupportClass::RunsMigrated: ++counts.supported; break;
        case SupportClass::UnsupportedHarmless:
        case SupportClass::Unsupported:
        case SupportClass::Deprecated: ++counts.unsupported; break;
        case SupportClass::Analysing: ++counts.analysing; break;
        case SupportClass::NotInvolved: ++counts.not_involved; break;
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
      const auto which = support_class(finding);
      if (finding.category == Category::Failure)
        out += fmt::format("{}:{}, {}\n", path, finding.from.line, one_line(in(finding.message, Language::en)));
      else if (which == SupportClass::Unsupported || (which == SupportClass::Deprecated && !finding.applied))
        out += fmt::format("{}:{}, NPU Unsupport API: {}\n", path, finding.from.line, one_line(finding.api));
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

}  // namespace updraft::migrate::report
