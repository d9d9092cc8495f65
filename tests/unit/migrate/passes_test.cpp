// Each finding has one author, and each node of a source one pass that changes it: over the examples of all rules and
// the whole corpus.
#include "migrate/rewrite/passes.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>

#include "migrate/names/module.h"
#include "migrate/rewrite/options/options.h"
#include "migrate/rewrite/tensorflow/options.h"
#include "migrate/rules/rule.h"
#include "migrate/run/registry.h"

namespace updraft::migrate {
namespace {

using rewrite::Pass;

const Pass* author(std::string_view rule) {
  const Pass* found = nullptr;
  for (const Pass& pass : rewrite::passes())
    if (pass.makes(rule)) {
      EXPECT_EQ(found, nullptr) << rule << " is claimed by " << found->name << " and by " << pass.name;
      found = &pass;
    }
  return found;
}

/// What the passes did beyond what they declare, over one source.
std::set<std::string> offences(const std::string& text, const std::string& path, const rules::RuleSet& rules,
                               const std::string& framework) {
  std::set<std::string> found;
  const names::Project project([&](const std::string&) { return text; }, {path});
  const names::Module module(path, text, &project);
  const rewrite::Facts facts;
  rewrite::Chosen chosen;
  chosen.specify_device = chosen.similar = chosen.mixed_precision = true;
  chosen.affine_model = chosen.amp_model = "model";
  const TensorFlowOptions tensorflow;
  rewrite::Extras extras;
  extras.facts = &facts;
  extras.chosen = framework == "pytorch" ? &chosen : nullptr;
  extras.tensorflow = &tensorflow;
  std::set<syntax::NodeId> seen;
  std::size_t before = 0;
  extras.watch = [&](const Pass& pass, const rewrite::Sites& s) {
    for (std::size_t i = before; i < s.findings.size(); ++i)
      if (!pass.makes(s.findings[i].rule)) found.insert(std::string(pass.name) + " makes " + s.findings[i].rule);
    before = s.findings.size();
    for (syntax::NodeId id = 0; id < module.tree().size(); ++id)
      if (s.claims.owner(id) == pass.name && seen.insert(id).second && !pass.may_claim(module.tree().kind(id)))
        found.insert(std::string(pass.name) + " takes nodes of kind " +
                     std::to_string(static_cast<int>(module.tree().kind(id))) + ": " +
                     std::string(module.tree().text(id)));
    for (const auto& clash : s.claims.clashes())
      found.insert(std::string(clash.first) + " and " + std::string(clash.second) + " take " +
                   std::string(module.tree().text(clash.node)));
  };
  const std::vector<Finding> findings = rewrite::python(module, rules, framework, Confidence::Review, extras);
  std::map<std::uint32_t, std::pair<std::uint32_t, const Finding*>> edits;  // begin → end, by whom
  for (const Finding& f : findings) {
    if (!f.applied) continue;
    for (const Edit& e : f.edits) {
      if (e.begin == e.end) continue;  // several may write at one place
      const auto [at, fresh] = edits.try_emplace(e.begin, e.end, &f);
      const auto clashes = [&](const Finding& other) {
        if (author(other.rule) != author(f.rule))
          found.insert(other.rule + " and " + f.rule + " edit " + text.substr(e.begin, e.end - e.begin));
      };
      if (!fresh) clashes(*at->second.second);
      else if (at != edits.begin() && std::prev(at)->second.first > e.begin) clashes(*std::prev(at)->second.second);
      else if (std::next(at) != edits.end() && std::next(at)->first < e.end) clashes(*std::next(at)->second.second);
    }
  }
  return found;
}

TEST(Passes, EachRuleOfPythonHasOneAuthor) {
  ASSERT_FALSE(run::registry().empty());
  for (const run::RuleInfo& rule : run::registry()) {
    if (rule.id.starts_with("TX") || rule.id.starts_with("IO") || rule.id == "PY001") {
      (void)author(rule.id);  // of other texts as well, or of no pass: files that cannot be read
      continue;
    }
    EXPECT_NE(author(rule.id), nullptr) << rule.id << " is claimed by no pass (rewrite/passes.cpp)";
  }
}

class Claimed : public testing::TestWithParam<const char*> {};

TEST_P(Claimed, ByOnePassEach) {
  rules::RuleSet rules;
  rules::add_builtin(rules, GetParam());
  std::size_t sources = 0;
  for (const rules::Rule& rule : rules.all())
    for (const rules::Example& example : rule.examples) {
      for (const std::string& offence : offences(example.before, "main.py", rules, GetParam()))
        ADD_FAILURE() << offence << "\nin " << rule.source << ":\n" << example.before;
      ++sources;
    }
  for (const auto& entry : std::filesystem::directory_iterator(UPDRAFT_TEST_SOURCES "/tests/migrate/corpus")) {
    if (entry.path().extension() != ".case") continue;
    std::ifstream file(entry.path());
    std::string line, path, text;
    const auto done = [&] {
      if (path.ends_with(".py") && !text.empty()) {
        for (const std::string& offence : offences(text, path, rules, GetParam()))
          ADD_FAILURE() << offence << "\nin " << entry.path().filename() << ":\n" << text;
        ++sources;
      }
      path.clear(), text.clear();
    };
    while (std::getline(file, line)) {
      if (line.starts_with("=== ")) done();
      if (line.starts_with("--- ")) {
        done();
        std::istringstream head(line.substr(4));
        std::string kind;
        head >> kind >> path;
        if (kind != "before" && kind != "keep") path.clear();
        else if (path.empty()) path = "main.py";
      } else if (!path.empty()) {
        text += line + "\n";
      }
    }
    done();
  }
  EXPECT_GT(sources, 300U);
}

INSTANTIATE_TEST_SUITE_P(Passes, Claimed, testing::Values("pytorch", "tensorflow"));

TEST(Passes, ASecondClaimIsFound) {
  rewrite::Claims claims(3);
  claims.begin("one");
  claims.take(1);
  claims.take(1);  // one's own
  EXPECT_TRUE(claims.clashes().empty());
  claims.begin("two");
  claims.take(2);
  claims.take(1);
  ASSERT_EQ(claims.clashes().size(), 1U);
  EXPECT_EQ(claims.clashes()[0].node, 1U);
  EXPECT_EQ(claims.clashes()[0].first, "one");
  EXPECT_EQ(claims.clashes()[0].second, "two");
  EXPECT_EQ(claims.owner(1), "one");
  EXPECT_FALSE(claims.taken(0));
}

}  // namespace
}  // namespace updraft::migrate
