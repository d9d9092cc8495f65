#include "migrate/report/guide/log.h"

#include <fmt/format.h>

#include <iterator>
#include <string_view>

#include "migrate/report/summary.h"
#include "migrate/report/utf8.h"

namespace updraft::migrate::report {
namespace {

std::string_view level(const Finding& finding) noexcept {
  if (finding.category == Category::Failure) return "ERROR";
  return weight(finding) == Weight::Nothing ? "INFO" : "WARNING";
}

/// What was done: the edit's kind, or for what is only told its category.
std::string_view action(const Finding& finding) noexcept {
  if (finding.applied) return operation(finding);
  return finding.category == Category::Change ? "not changed" : name(finding.category);
}

}  // namespace

std::string log(const ProjectResult& result, Language language) {
  std::string out;
  auto line = [&](std::string_view level, const std::string& text) {
    fmt::format_to(std::back_inserter(out), "[{}] {}\n", level, text);
  };
  const Request& request = result.request;
  const bool zh = language == Language::zh;
  line("INFO", one_line(request.command));
  line("INFO", fmt::format("{} {} -> {}", zh ? "迁移" : "migrating", one_line(request.input),
                           request.output.empty() ? (zh ? "（不写输出）" : "(no output)") : one_line(request.output)));
  line("INFO", fmt::format(fmt::runtime(zh ? "{} {}，依据 {} 的支持情况，产品 {}，改动的最低把握：{}"
                                           : "{} {}, support as of {}, product {}, changes at least {}"),
                           one_line(request.framework), one_line(request.version), one_line(request.facts),
                           one_line(request.product), name(request.least)));
  for (const FileResult& file : result.files) {
    const std::string path = one_line(file.path);
    for (const Finding& finding : file.findings) {
      std::string text = fmt::format("{}:{}: {} {} ({})", path, finding.from.line, action(finding),
                                     one_line(finding.rule), name(finding.confidence));
      if (!finding.api.empty()) text += " " + one_line(finding.api);
      if (!finding.suggestion.empty()) text += " -> " + one_line(finding.suggestion);
      line(level(finding), text + ": " + one_line(in(finding.message, language)));
    }
    if (file.failed) line("ERROR", path + (zh ? "：未能迁移，原样复制" : ": not migrated, copied as it is"));
    else if (file.changed) line("INFO", path + (zh ? "：已迁移" : ": migrated"));
  }
  const Summary summary = summarize(result);
  for (const Step& step : summary.steps) line("INFO", (zh ? "下一步：" : "next: ") + one_line(in(step.what, language)));
  line("INFO",
       fmt::format(
           fmt::runtime(zh ? "扫描 {} 个文件（Python {} 个），改动 {} 个文件共 {} 处，待确认 {} 处，失败 {} "
                             "个文件，用时 {:.2f} 秒"
                           : "{} files seen ({} Python), {} changed at {} places, {} places left, {} failed, {:.2f} s"),
           result.seen, result.python, summary.changed, summary.counts.changes_applied(), summary.counts.changes_left(),
           summary.failed, result.seconds));
  return out;
}

}  // namespace updraft::migrate::report
