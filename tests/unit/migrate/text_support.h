// What the tests of migrate/text share: an engine for Python that knows three words, and running twice.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "migrate/finding.h"
#include "migrate/text/sheet.h"

namespace updraft::migrate::text {

/// .cuda() becomes .npu(), "cuda" in quotes "npu", and import torch is followed by import torch_npu: enough to see
/// where edits of a Python source end up.
inline std::vector<Finding> small_python(std::string_view source) {
  std::vector<Finding> found;
  const auto add = [&](std::size_t begin, std::size_t end, std::string text) {
    Finding f;
    f.rule = "PT1";
    f.category = Category::Change;
    f.begin = static_cast<std::uint32_t>(begin);
    f.end = static_cast<std::uint32_t>(end);
    f.message = {"en", "zh"};
    f.edits.push_back({f.begin, f.end, std::move(text)});
    found.push_back(std::move(f));
  };
  for (std::size_t at = 0; (at = source.find(".cuda()", at)) != std::string_view::npos; ++at) add(at, at + 7, ".npu()");
  for (const std::string_view quoted : {"'cuda'", "\"cuda\""})
    for (std::size_t at = 0; (at = source.find(quoted, at)) != std::string_view::npos; ++at) add(at + 1, at + 5, "npu");
  const std::string_view import = "import torch\n";
  const std::size_t at = source.find(import);
  if (at != std::string_view::npos && source.find("torch_npu") == std::string_view::npos)
    add(at + import.size(), at + import.size(), "import torch_npu\n");
  std::sort(found.begin(), found.end(), [](const Finding& a, const Finding& b) { return a.begin < b.begin; });
  std::size_t counted = 0;
  std::uint32_t line = 1;
  for (Finding& f : found) {
    line += static_cast<std::uint32_t>(
        std::count(source.begin() + static_cast<std::ptrdiff_t>(counted), source.begin() + f.begin, '\n'));
    counted = f.begin;
    f.from.line = line;
  }
  return found;
}

using Scan = std::function<std::vector<Finding>(std::string_view)>;

inline bool has(const std::vector<Finding>& findings, std::string_view rule) {
  return std::any_of(findings.begin(), findings.end(), [&](const Finding& f) { return f.rule == rule; });
}

inline std::size_t changes(const std::vector<Finding>& findings) {
  return static_cast<std::size_t>(
      std::count_if(findings.begin(), findings.end(), [](const Finding& f) { return !f.edits.empty(); }));
}

/// Findings keep their promises: places inside the text, both languages, edits that do not touch each other.
inline void expect_sound(std::string_view text, const std::vector<Finding>& findings) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> edits;
  std::uint32_t before = 0;
  for (const Finding& f : findings) {
    EXPECT_LE(f.begin, f.end);
    EXPECT_LE(f.end, text.size());
    EXPECT_LE(before, f.begin) << "sorted";
    before = f.begin;
    EXPECT_FALSE(f.rule.empty());
    EXPECT_FALSE(f.message.en.empty());
    EXPECT_FALSE(f.message.zh.empty());
    const auto newlines = std::count(text.begin(), text.begin() + f.begin, '\n');
    EXPECT_EQ(f.from.line, 1u + static_cast<std::uint32_t>(newlines)) << f.rule;
    const std::size_t line = f.begin == 0 ? 0 : text.rfind('\n', f.begin - 1) + 1;
    EXPECT_EQ(f.from.column, f.begin - line) << f.rule;
    for (const Edit& e : f.edits) {
      EXPECT_LE(e.begin, e.end);
      EXPECT_LE(e.end, text.size());
      edits.emplace_back(e.begin, e.end);
    }
  }
  std::sort(edits.begin(), edits.end());
  for (std::size_t i = 1; i < edits.size(); ++i) EXPECT_LE(edits[i - 1].second, edits[i].first);
}

/// The text after its changes; a second run over it finds nothing to change.
inline std::string migrated(std::string_view text, const Scan& scan, Confidence least = Confidence::Likely) {
  const std::vector<Finding> found = scan(text);
  expect_sound(text, found);
  std::string out = applied(text, found, least);
  const std::vector<Finding> again = scan(out);
  expect_sound(out, again);
  EXPECT_EQ(applied(out, again, least), out) << "not idempotent";
  for (const Finding& f : again)
    EXPECT_FALSE(!f.edits.empty() && f.confidence >= least) << f.rule << ": " << f.message.en;
  return out;
}

}  // namespace updraft::migrate::text
