// Where the lines of a text start. A line ends with its \n, which belongs to it; \r is an ordinary byte of the line.
#pragma once
#include <cstddef>
#include <string_view>
#include <vector>

#include "migrate/finding.h"

namespace updraft::migrate::report {

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

}  // namespace updraft::migrate::report
