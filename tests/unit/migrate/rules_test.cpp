// Every rule's examples are its tests.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "migrate/names/module.h"
#include "migrate/rewrite/passes.h"
#include "migrate/rules/rule.h"
#include "migrate/source/edit.h"

namespace updraft::migrate {
namespace {

struct Outcome {
  std::string text;
  std::vector<Finding> findings;
};

Outcome rewrite(const std::string& text, const rules::RuleSet& rules, const std::string& framework) {
  const names::Project project([&](const std::string&) { return text; }, {"main.py"});
  const names::Module module("main.py", text, &project);
  Outcome o;
  o.findings = rewrite::python(module, rules, framework, Confidence::Likely);
  o.text = source::apply(text, o.findings);
  return o;
}

class Examples : public testing::TestWithParam<const char*> {};

TEST_P(Examples, OfEveryRule) {
  rules::RuleSet rules;
  rules::add_builtin(rules, GetParam());
  ASSERT_FALSE(rules.all().empty());
  std::set<std::string> shown;  // of the rules that one entry makes by a table, the first has the examples
  for (const rules::Rule& rule : rules.all())
    if (!rule.examples.empty()) shown.insert(rule.source);
  for (const rules::Rule& rule : rules.all()) {
    EXPECT_TRUE(shown.contains(rule.source)) << rule.source << ": " << rule.id << " has no examples";
    EXPECT_FALSE(rule.message.zh.empty() || rule.message.zh == rule.message.en) << rule.source << ": no Chinese reason";
    for (const rules::Example& example : rule.examples) {
      const Outcome first = rewrite(example.before, rules, GetParam());
      EXPECT_EQ(first.text, example.after) << rule.source << ": " << rule.id;
      const std::string wanted = !example.finds.empty()            ? example.finds
                                 : example.before != example.after ? rule.id
                                                                   : "";
      if (!wanted.empty()) {
        bool found = false;
        for (const Finding& f : first.findings) found = found || f.rule == wanted;
        EXPECT_TRUE(found) << rule.source << ": " << wanted << " finds nothing in\n" << example.before;
      }
      EXPECT_EQ(rewrite(first.text, rules, GetParam()).text, first.text) << rule.source << ": not idempotent";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Rules, Examples, testing::Values("pytorch", "tensorflow"));

}  // namespace
}  // namespace updraft::migrate
