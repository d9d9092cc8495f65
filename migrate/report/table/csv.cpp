#include "migrate/report/table/csv.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "migrate/report/utf8.h"

namespace updraft::migrate::report {
namespace {

/// Spreadsheets compute a cell that starts so, also behind a tab or a line break.
bool formula(std::string_view text) noexcept {
  return !text.empty() && std::string_view("=+-@\t\r\n").find(text.front()) != std::string_view::npos;
}

}  // namespace

Csv::Csv(std::initializer_list<std::string_view> columns) : columns_(columns.size()), in_row_(columns.size()) {
  for (std::size_t i = 0; i < columns.size(); ++i) (out_ += i ? "," : "") += columns.begin()[i];
  out_ += '\n';
}

Csv& Csv::row() {
  in_row_ = 0;
  return *this;
}

Csv& Csv::number(std::size_t value) {
  field(std::to_string(value));
  return *this;
}

Csv& Csv::path(std::string_view path) {
  field(formula(path) ? "./" + repaired(path) : repaired(path));
  return *this;
}

Csv& Csv::text(std::string_view text) {
  field(formula(text) ? "'" + repaired(text) : repaired(text));
  return *this;
}

void Csv::field(std::string_view text) {
  if (in_row_ == columns_) throw Error(code::kAclInternal, "a row of {} columns has more fields", columns_);
  if (in_row_) out_ += ',';
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) {
    out_ += text;
  } else {
    out_ += '"';
    for (const char c : text) {
      if (c == '"') out_ += '"';
      out_ += c;
    }
    out_ += '"';
  }
  if (++in_row_ == columns_) out_ += '\n';
}

std::string Csv::finish() && {
  if (in_row_ != columns_) throw Error(code::kAclInternal, "a row of {} columns has {} fields", columns_, in_row_);
  const bool ascii = std::all_of(out_.begin(), out_.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
  return ascii ? std::move(out_) : "\xEF\xBB\xBF" + out_;
}

}  // namespace updraft::migrate::report
