// What a run changed, by lines: unified diffs, and which lines of a text became which of another.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "migrate/finding.h"

namespace updraft::migrate::report {

// Where the lines of a text start. A line ends with its \n, which belongs to it; \r is an ordinary byte of the line.

class Lines {
 public:
  explicit Lines(std::string_view text);

  std::string_view text() const noexcept { return text_; }
  std::size_t size() const noexcept { return starts_.size(); }
  /// Line i from 0, with its end.
  std::string_view operator[](std::size_t i) const noexcept {
    return text_.substr(starts_[i], (i + 1 < starts_.size() ? starts_[i + 1] : text_.size()) - starts_[i]);
  }
  /// Offset of the first byte of line i; the end of the text for i >= size().
  std::size_t start(std::size_t i) const noexcept { return i < starts_.size() ? starts_[i] : text_.size(); }
  /// The line from 0 that the byte is in; size() behind the last line's \n.
  std::size_t line_of(std::size_t byte) const noexcept;
  Position position_of(std::size_t byte) const noexcept;

 private:
  std::string_view text_;
  std::vector<std::size_t> starts_;
};

/// A line without its \n or \r\n.
std::string_view without_end(std::string_view line) noexcept;

// Which lines of a text became which of another.

/// Lines [old_begin, old_end) became [new_begin, new_end), counted from 0. Between two changes stand equal lines.
struct LineChange {
  std::uint32_t old_begin, old_end, new_begin, new_end;

  bool operator==(const LineChange&) const = default;
};

/// With the edits that made `after` the cost is that of reading both texts once. Without them, or where they do not
/// give `after`, lines are compared (Myers' O(ND), ended where texts have next to nothing in common).
std::vector<LineChange> line_changes(const Lines& before, const Lines& after, std::span<const Edit> edits = {});

/// The edits of all applied findings of the file, by position, each once.
std::vector<Edit> applied_edits(const FileResult& file);

/// An edit and where its text begins in the edited file.
struct Placed {
  Edit edit;
  std::size_t after;
};
/// The edits with their places in `after`; empty where they do not make `after` of `before`.
std::vector<Placed> place(std::string_view before, std::string_view after, std::span<const Edit> edits);

// Unified diffs as `git apply` and `patch` take them: applied to the input's root they give the output, byte for byte.

/// Empty for a file that is not changed.
std::string unified_diff(const FileResult& file);
std::string unified_diff(const ProjectResult& result);

/// The path as a diff's header has it: in quotes, with octal escapes, where it holds control characters, quotes, \ or
/// bytes that are no UTF-8.
std::string quoted_path(std::string_view prefix, std::string_view path);

}  // namespace updraft::migrate::report
