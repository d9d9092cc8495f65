// A TensorFlow project in memory, migrated.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "migrate/names/module.h"
#include "migrate/rewrite/passes.h"
#include "migrate/rewrite/tensorflow/options.h"
#include "migrate/rules/rule.h"
#include "migrate/source/edit.h"

namespace updraft::migrate::test {

struct Outcome {
  std::string text;
  std::vector<Finding> findings;

  const Finding* find(std::string_view rule) const {
    const auto found = std::find_if(findings.begin(), findings.end(), [&](const Finding& f) { return f.rule == rule; });
    return found == findings.end() ? nullptr : &*found;
  }
  std::size_t count(std::string_view rule) const {
    return static_cast<std::size_t>(
        std::count_if(findings.begin(), findings.end(), [&](const Finding& f) { return f.rule == rule; }));
  }
  /// The finding about an API; null where none is.
  const Finding* about(std::string_view api) const {
    const auto found = std::find_if(findings.begin(), findings.end(), [&](const Finding& f) { return f.api == api; });
    return found == findings.end() ? nullptr : &*found;
  }
};

inline const rules::RuleSet& tensorflow_rules() {
  static const auto* rules = [] {
    auto* set = new rules::RuleSet;
    rules::add_builtin(*set, "tensorflow");
    return set;
  }();
  return *rules;
}

using Files = std::map<std::string, std::string>;

inline Outcome migrate_file(const Files& files, const std::string& path, const TensorFlowOptions& options = {},
                            Confidence least = Confidence::Likely) {
  std::vector<std::string> python;
  for (const auto& [name, _] : files) python.push_back(name);
  const names::Project project(
      [&](const std::string& name) {
        const auto found = files.find(name);
        return found == files.end() ? std::string() : found->second;
      },
      python);
  const std::string& text = files.at(path);
  const names::Module module(path, text, &project);
  Outcome o;
  o.findings = rewrite::python(module, tensorflow_rules(), "tensorflow", least, {.tensorflow = &options});
  o.text = source::apply(text, o.findings);
  return o;
}

/// One file lib.py; a second run on what the first has made must change nothing.
inline Outcome migrate_text(const std::string& text, const TensorFlowOptions& options = {},
                            const std::string& path = "lib.py") {
  Outcome o = migrate_file({{path, text}}, path, options);
  EXPECT_EQ(migrate_file({{path, o.text}}, path, options).text, o.text) << "not idempotent";
  return o;
}

inline TensorFlowOptions eager(Strategy strategy = Strategy::None) { return {"", strategy, false}; }
inline TensorFlowOptions compat(Strategy strategy = Strategy::None) { return {"", strategy, true}; }

}  // namespace updraft::migrate::test
