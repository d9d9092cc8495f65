// The findings of one text while it is read. Lines and columns are counted once, at the end, so that any number of
// findings costs one pass.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "migrate/finding.h"

namespace updraft::migrate::text {

class Embedded;

class Sheet {
 public:
  explicit Sheet(std::string_view text) : text_(text) {}

  std::string_view text() const noexcept { return text_; }

  /// The reference lasts until the next finding.
  Finding& add(std::string_view rule, Category category, Confidence confidence, std::size_t begin, std::size_t end,
               Text message);
  /// A change of exactly [begin, end).
  Finding& change(std::string_view rule, Confidence confidence, std::size_t begin, std::size_t end,
                  std::string replacement, Text message);
  /// The findings of a text that stands inside this one. Edits that cannot be carried over leave the finding for
  /// review.
  void adopt(std::vector<Finding> inner, const Embedded& embedded);

  /// By position, with lines and columns. Of edits that collide the later ones are left for review.
  std::vector<Finding> take();

 private:
  std::string_view text_;
  std::vector<Finding> findings_;
};

/// Offsets are 32 bits wide: a larger text is one Failure, else nothing.
std::vector<Finding> too_large(std::string_view text, std::string_view rule);
inline constexpr std::size_t kLargest = 0xffffffffu;

/// Carried out, as a report or a test does it: all edits of all findings with at least this confidence.
std::string applied(std::string_view text, const std::vector<Finding>& findings, Confidence least = Confidence::Review);

}  // namespace updraft::migrate::text
