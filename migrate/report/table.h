// Tables of reports: CSV and spreadsheets.
#pragma once
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace updraft::migrate::report {

// Tables as RFC 4180 has them, but with \n between rows, as the original tools' scripts and users expect. They are
// UTF-8; a table that is not plain ASCII starts with a byte order mark, without which Excel shows 中文 as noise.

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

namespace updraft::migrate {

// A zip archive of stored (uncompressed) entries, the same bytes for the same content.

class ZipWriter {
 public:
  /// Entries are read in the order in which they were added. Throws std::length_error beyond 4 GiB or 65535 entries.
  void add(std::string_view name, std::string_view content);
  /// The archive; nothing can be added after it.
  std::string finish() &&;

 private:
  std::string bytes_;
  std::string directory_;
  uint32_t entries_ = 0;
};

/// The checksum of zip and PNG (polynomial 0xEDB88320).
uint32_t crc32(std::string_view bytes);

// Spreadsheets (Office Open XML) of plain tables: a styled heading that stays in view, a filter on every column,
// widths.

/// A text or a whole number. Texts are never taken for formulas.
using XlsxCell = std::variant<std::string_view, int64_t>;

struct XlsxColumn {
  std::string_view title;
  double width = 16;  ///< in characters
  bool wrap = false;  ///< long texts go over several lines
};

class Xlsx {
 public:
  /// The next table. The name is cut to what spreadsheets accept (31 characters, none of []:*?/\) and made unique.
  void add_sheet(std::string_view name, std::vector<XlsxColumn> columns);
  /// A row of the last sheet; cells beyond the columns are an error. After 1048575 rows the table goes on in a further
  /// sheet.
  void add_row(std::span<const XlsxCell> cells);
  void add_row(std::initializer_list<XlsxCell> cells) { add_row(std::span(cells.begin(), cells.size())); }

  /// The file. Nothing can be added after it; without a sheet it is an error (std::logic_error), since no program opens
  /// it.
  std::string finish() &&;

 private:
  struct Sheet {
    std::string name;
    std::vector<XlsxColumn> columns;
    std::vector<std::string> titles;  // what columns' titles refer to
    std::string rows;                 // as XML
    size_t count = 0;                 // with the heading
  };

  void open(std::string name, const std::vector<XlsxColumn>& columns);
  std::string unique_name(std::string_view name) const;

  std::vector<Sheet> sheets_;
};

}  // namespace updraft::migrate
