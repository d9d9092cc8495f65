#include "explain.h"

#include <fmt/format.h>

#include <sstream>

#include "arguments.h"
#include "base/error.h"
#include "migrate/run/registry.h"

namespace updraft::migrate {
namespace {

void indented(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) fmt::print("    {}\n", line);
}

void show(const run::RuleInfo& rule, bool chinese) {
  fmt::print("{} ({}{})\n", rule.id, name(rule.category), rule.framework.empty() ? "" : ", " + rule.framework);
  fmt::print("{}\n", chinese ? rule.what.zh : rule.what.en);
  for (const rules::Example& example : rule.examples) {
    const bool kept = example.before == example.after;
    fmt::print("\n  {}\n", kept ? (chinese ? "保持不变：" : "stays as it is:") : (chinese ? "之前：" : "before:"));
    indented(example.before);
    if (kept) continue;
    fmt::print("  {}\n", chinese ? "之后：" : "after:");
    indented(example.after);
  }
  fmt::print("\n{}: # updraft: keep[{}]    --ignore {}\n", chinese ? "不使用该规则" : "to do without it", rule.id,
             rule.id);
}

}  // namespace

int explain(const Arguments& a) {
  if (a.list_rules) {
    for (const run::RuleInfo& rule : run::registry())
      fmt::print("{:<6} {:<12} {}\n", rule.id, name(rule.category), a.chinese ? rule.what.zh : rule.what.en);
    return 0;
  }
  if (!a.explain.empty()) {
    const run::RuleInfo* rule = run::find_rule(a.explain);
    if (!rule)
      throw Error(code::kAclInvalidParam,
                  "--explain {}: there is no rule of that id; updraft migrate --list-rules shows all", a.explain);
    show(*rule, a.chinese);
    return 0;
  }
  if (a.check_rules.empty()) return -1;
  const std::vector<std::string> failed = run::failed_examples(a.check_rules);
  for (const std::string& line : failed) fmt::print(stderr, "{}\n", line);
  if (failed.empty()) fmt::print("{}\n", a.chinese ? "全部示例通过" : "all examples come out as they say");
  return failed.empty() ? 0 : 1;
}

}  // namespace updraft::migrate
