// Tables as RFC 4180 has them, but with \n between rows, as the original tools' scripts and users expect. They are
// UTF-8; a table that is not plain ASCII starts with a byte order mark, without which Excel shows 中文 as noise.
#pragma once
#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>

namespace updraft::migrate::report {

class Csv {
 public:
  explicit Csv(std::initializer_list<std::string_view> columns);

  /// Starts a row; its fields follow.
  Csv& row();
  Csv& number(std::size_t value);
  /// A relative path. One that a spreadsheet would take for a formula gets ./ in front: it names the same file.
  Csv& path(std::string_view path);
  /// Free text or a name. One that a spreadsheet would take for a formula gets ' in front.
  Csv& text(std::string_view text);

  std::string finish() &&;

 private:
  void field(std::string_view text);

  std::string out_;
  std::size_t columns_ = 0, in_row_ = 0;
};

}  // namespace updraft::migrate::report
