// What all findings come to: counts, how ready files are, what is to be done next. Every report that sums up asks here,
// so that no two of them disagree.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "migrate/finding.h"

namespace updraft::migrate::report {

inline constexpr std::size_t kCategoryCount = static_cast<std::size_t>(Category::Failure) + 1;
inline constexpr std::size_t kConfidenceCount = static_cast<std::size_t>(Confidence::Certain) + 1;

/// Can the file run on the NPU as it now is?
enum class Readiness : std::uint8_t {
  Ready,      ///< nothing is left to do
  Attention,  ///< a person is to look: changes that are not made, APIs that nobody knows, numbers that may differ
  Blocked     ///< holds what the NPU does not have, or could not be read
};
std::string_view name(Readiness readiness) noexcept;

/// What a finding leaves to do.
enum class Weight : std::uint8_t { Nothing, Attention, Blocking };
Weight weight(const Finding& finding) noexcept;
Readiness readiness(const FileResult& file) noexcept;

/// INSERT, MODIFY or DELETE: what the finding's edits do.
std::string_view operation(const Finding& finding) noexcept;

struct Counts {
  std::array<std::size_t, kCategoryCount> category{};
  std::array<std::size_t, kConfidenceCount> applied{}, left{};  ///< changes by confidence: made, and not made

  std::size_t operator[](Category which) const noexcept { return category[static_cast<std::size_t>(which)]; }
  std::size_t changes_applied() const noexcept { return applied[0] + applied[1] + applied[2]; }
  std::size_t changes_left() const noexcept { return left[0] + left[1] + left[2]; }
  void add(const Finding& finding) noexcept;
};

/// One API, package or CUDA operator, with all its sites.
struct Subject {
  std::string name, suggestion;
  Text message;  ///< of the first site
  Category category = Category::Note;
  std::size_t sites = 0, files = 0;
};

/// A thing to do next, most urgent first; `category` names the findings that it is about.
struct Step {
  Text what;
  Category category;
  std::size_t sites;  ///< 0 for the last one, the trial run
};

struct Summary {
  Counts counts;
  std::array<std::size_t, 3> files{};  ///< with findings, by readiness
  std::size_t changed = 0, failed = 0;
  std::vector<Subject>
      subjects;  ///< what is unsupported, unknown, another package or CUDA source; the most sites first
  std::vector<Step> steps;
};

Summary summarize(const ProjectResult& result);

}  // namespace updraft::migrate::report
