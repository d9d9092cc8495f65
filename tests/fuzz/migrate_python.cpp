// Any bytes as a Python source: the rules never crash, edits fit, and a second run changes nothing.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "migrate/names/module.h"
#include "migrate/rewrite/passes.h"
#include "migrate/rules/rule.h"
#include "migrate/source/edit.h"

namespace {

using namespace updraft::migrate;

std::string rewritten(const std::string& text, const rules::RuleSet& rules) {
  const names::Project project([&](const std::string&) { return text; }, {"main.py"});
  const names::Module module("main.py", text, &project);
  const rewrite::Facts facts;
  rewrite::facts_may_apply(text, facts);
  auto findings = rewrite::python(module, rules, "pytorch", Confidence::Likely, {.facts = &facts});
  for (const Finding& f : findings)
    if (f.begin > f.end || f.end > text.size()) std::abort();
  return source::apply(text, findings);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const rules::RuleSet* const rules = [] {
    auto* r = new rules::RuleSet;
    rules::add_builtin(*r, "pytorch");
    return r;
  }();
  const std::string once = rewritten(std::string(reinterpret_cast<const char*>(data), size), *rules);
  const std::string twice = rewritten(once, *rules);
  if (rewritten(twice, *rules) != twice) std::abort();  // broken syntax may take two runs, never more
  return 0;
}
