// A project in memory, converted to several cards.
#pragma once
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "migrate/names/module.h"
#include "migrate/rewrite/distributed/conversion.h"
#include "migrate/rewrite/passes.h"
#include "migrate/rules/rule.h"
#include "migrate/source/edit.h"

namespace updraft::migrate {

using Files = std::map<std::string, std::string>;

struct Converted {
  Files files;
  std::vector<Finding> findings;
  bool converted = false;

  const std::string& main() const { return files.at("main.py"); }
  bool finds(const std::string& rule) const {
    for (const Finding& f : findings)
      if (f.rule == rule) return true;
    return false;
  }
  bool says(const std::string& words) const {
    for (const Finding& f : findings)
      if (f.message.en.find(words) != std::string::npos) return true;
    return false;
  }
};

inline Converted convert(const Files& files, const std::string& model = "model") {
  static const rules::RuleSet& rules = *[] {
    auto* r = new rules::RuleSet;
    rules::add_builtin(*r, "pytorch");
    return r;
  }();
  std::vector<std::string> paths;
  for (const auto& [path, text] : files) paths.push_back(path);
  const auto read = [&](const std::string& path) { return files.contains(path) ? files.at(path) : std::string(); };
  const names::Project project(read, paths);
  const rewrite::Conversion conversion(project, read, {"main.py", model});
  Converted c;
  c.converted = conversion.converted();
  for (const auto& [path, text] : files) {
    const names::Module module(path, text, &project);
    auto findings = rewrite::python(module, rules, "pytorch", Confidence::Likely, {.conversion = &conversion});
    c.files[path] = source::apply(text, findings);
    for (const Finding& f : findings) {
      if (f.rule.starts_with("PT35")) {
        EXPECT_FALSE(f.message.en.empty() || f.message.zh.empty()) << f.rule;
        EXPECT_TRUE(f.edits.empty() || f.applied) << f.rule << ": " << f.message.en << " is not applied in\n" << text;
      }
      c.findings.push_back(f);
    }
    // what comes out has no syntax error that was not there before
    if (module.tree().errors().empty()) { EXPECT_TRUE(syntax::Tree(c.files[path]).errors().empty()) << c.files[path]; }
  }
  return c;
}

inline Converted convert(const std::string& main, const std::string& model = "model") {
  return convert(Files{{"main.py", main}}, model);
}

/// Twice is as once.
inline void expect_idempotent(const Converted& once) {
  const Converted twice = convert(once.files);
  EXPECT_FALSE(twice.converted);
  EXPECT_EQ(twice.files, once.files);
}

#define EXPECT_HAS(text, part) \
  EXPECT_NE((text).find(part), std::string::npos) << "wanted: " << (part) << "\nin:\n" << (text)
#define EXPECT_LACKS(text, part) \
  EXPECT_EQ((text).find(part), std::string::npos) << "not wanted: " << (part) << "\nin:\n" << (text)

}  // namespace updraft::migrate
