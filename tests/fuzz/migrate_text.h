// What the fuzz targets of migrate/text demand of every text: findings inside it, edits that do not touch each other,
// and a second run over the changed text that changes nothing more.
#pragma once
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "migrate/finding.h"
#include "migrate/text/sheet.h"

namespace fuzz {

using updraft::migrate::Confidence;
using updraft::migrate::Finding;
using Scan = std::function<std::vector<Finding>(std::string_view)>;

inline void demand(bool holds, const char* what, std::string_view text) {
  if (holds) return;
  std::fprintf(stderr, "%s\n--- text\n%.*s\n---\n", what, static_cast<int>(text.size()), text.data());
  std::abort();
}

inline void sound(std::string_view text, const std::vector<Finding>& findings) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> edits;
  for (const Finding& f : findings) {
    demand(f.begin <= f.end && f.end <= text.size(), "a finding outside the text", text);
    demand(!f.rule.empty() && !f.message.en.empty() && !f.message.zh.empty(), "a finding without rule or words", text);
    for (const auto& e : f.edits) {
      demand(e.begin <= e.end && e.end <= text.size(), "an edit outside the text", text);
      edits.emplace_back(e.begin, e.end);
    }
  }
  std::sort(edits.begin(), edits.end());
  for (std::size_t i = 1; i < edits.size(); ++i) demand(edits[i - 1].second <= edits[i].first, "edits overlap", text);
}

inline std::string settles(std::string_view text, const Scan& scan) {
  const auto first = scan(text);
  sound(text, first);
  const std::string out = updraft::migrate::text::applied(text, first, Confidence::Likely);
  const auto second = scan(out);
  sound(out, second);
  const std::string again = updraft::migrate::text::applied(out, second, Confidence::Likely);
  if (again != out) std::fprintf(stderr, "--- after the second run\n%s\n", again.c_str());
  demand(again == out, "a second run changes more", out);
  return out;
}

/// Knows .cuda() and "cuda" only.
inline std::vector<Finding> python(std::string_view source) {
  std::vector<Finding> found;
  const auto add = [&](std::size_t begin, std::size_t end, const char* text) {
    Finding f;
    f.rule = "PT1";
    f.category = updraft::migrate::Category::Change;
    f.begin = static_cast<std::uint32_t>(begin);
    f.end = static_cast<std::uint32_t>(end);
    f.message = {"en", "zh"};
    f.edits.push_back({f.begin, f.end, text});
    found.push_back(std::move(f));
  };
  for (std::size_t at = 0; (at = source.find(".cuda()", at)) != std::string_view::npos; ++at) add(at, at + 7, ".npu()");
  for (std::size_t at = 0; (at = source.find("\"cuda\"", at)) != std::string_view::npos; at += 5)
    add(at + 1, at + 5, "npu");  // a quote may end one and begin the next
  const std::size_t import = source.find("import torch\n");
  if (import != std::string_view::npos && source.find("torch_npu") == std::string_view::npos)
    add(import + 13, import + 13, "import torch_npu\n");
  return found;
}

}  // namespace fuzz
