#include "migrate/report/table.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <stdexcept>
#include <utility>

#include "base/error.h"
#include "migrate/report/files.h"

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

namespace updraft::migrate {
namespace {

constexpr std::array<uint32_t, 256> make_table() {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1) ? 0xEDB88320u : 0u);
    table[i] = value;
  }
  return table;
}

void put(std::string& out, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i));
}

constexpr uint64_t kMost = std::numeric_limits<uint32_t>::max();

/// What a local header and the central directory say alike: version 2.0, UTF-8 names, stored, 1980-01-01.
void put_description(std::string& out, uint32_t sum, uint64_t size, size_t name_size) {
  put(out, 20, 2);
  put(out, 0x0800, 2);
  put(out, 0, 2);
  put(out, 0, 2);
  put(out, (1 << 5) | 1, 2);
  put(out, sum, 4);
  put(out, size, 4);
  put(out, size, 4);
  put(out, name_size, 2);
  put(out, 0, 2);
}

}  // namespace

uint32_t crc32(std::string_view bytes) {
  static constexpr std::array<uint32_t, 256> kTable = make_table();
  uint32_t sum = ~0u;
  for (const char c : bytes) sum = (sum >> 8) ^ kTable[(sum ^ static_cast<unsigned char>(c)) & 0xFF];
  return ~sum;
}

void ZipWriter::add(std::string_view name, std::string_view content) {
  if (name.size() > 0xFFFF || entries_ >= 0xFFFF || bytes_.size() + name.size() + content.size() + 64 > kMost)
    throw std::length_error("a zip archive holds 65535 entries and 4 GiB, this is more: " + std::string(name));
  const uint64_t offset = bytes_.size();
  const uint32_t sum = crc32(content);
  put(bytes_, 0x04034b50, 4);
  put_description(bytes_, sum, content.size(), name.size());
  bytes_ += name;
  bytes_ += content;

  put(directory_, 0x02014b50, 4);
  put(directory_, 20, 2);
  put_description(directory_, sum, content.size(), name.size());
  put(directory_, 0, 2);  // comment
  put(directory_, 0, 2);  // disk
  put(directory_, 0, 2);  // internal and
  put(directory_, 0, 4);  // external attributes
  put(directory_, offset, 4);
  directory_ += name;
  ++entries_;
}

std::string ZipWriter::finish() && {
  const uint64_t start = bytes_.size();
  if (start + directory_.size() > kMost) throw std::length_error("a zip archive holds 4 GiB, this is more");
  bytes_ += directory_;
  put(bytes_, 0x06054b50, 4);
  put(bytes_, 0, 4);  // disks
  put(bytes_, entries_, 2);
  put(bytes_, entries_, 2);
  put(bytes_, directory_.size(), 4);
  put(bytes_, start, 4);
  put(bytes_, 0, 2);
  return std::move(bytes_);
}

namespace {

constexpr size_t kMostRows = 1048576, kMostColumns = 16384, kMostUnits = 32767, kMostNameUnits = 31;
constexpr std::string_view kHead = "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>\n";
constexpr std::string_view kMain = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
constexpr std::string_view kDocument = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
constexpr std::string_view kPackage = "http://schemas.openxmlformats.org/package/2006/";
constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
constexpr std::string_view kCut = "\xE2\x80\xA6";
enum Style : int { kPlain, kHeading, kWrapped };

void append_number(std::string& out, int64_t value) {
  std::array<char, 24> digits;
  out.append(digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr);
}

void append_width(std::string& out, double width) {
  std::array<char, 32> digits;
  const double sane = std::clamp(width, 1.0, 255.0);
  out.append(digits.data(),
             std::to_chars(digits.data(), digits.data() + digits.size(), sane, std::chars_format::fixed, 2).ptr);
}

/// The next character of UTF-8 text, U+FFFD with one byte consumed where it is none.
std::string_view next_character(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text.front());
  const size_t size = lead < 0x80 ? 1 : lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (size == 1) return text.substr(0, 1);
  if (lead < 0xC2 || lead > 0xF4 || text.size() < size) return {};
  for (size_t i = 1; i < size; ++i)
    if ((static_cast<unsigned char>(text[i]) & 0xC0) != 0x80) return {};
  const auto second = static_cast<unsigned char>(text[1]);
  // over-long forms, surrogates, beyond U+10FFFF
  if ((lead == 0xE0 && second < 0xA0) || (lead == 0xED && second >= 0xA0) || (lead == 0xF0 && second < 0x90) ||
      (lead == 0xF4 && second >= 0x90))
    return {};
  if (size == 3 && lead == 0xEF && second == 0xBF && static_cast<unsigned char>(text[2]) >= 0xBE)
    return {};  // U+FFFE, U+FFFF
  return text.substr(0, size);
}

/// Whether text begins like _x0041_, which spreadsheets read as a character.
bool looks_escaped(std::string_view text) {
  if (text.size() < 7 || text[0] != '_' || text[1] != 'x' || text[6] != '_') return false;
  return std::all_of(text.begin() + 2, text.begin() + 6, [](unsigned char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
  });
}

/// Text as XML, at most `most` UTF-16 units of it; what XML cannot hold becomes U+FFFD.
void append_text(std::string& out, std::string_view text, size_t most) {
  size_t units = 0;
  while (!text.empty()) {
    const std::string_view good = next_character(text);
    const std::string_view character = good.empty() ? kReplacement : good;
    const size_t size = good.empty() ? 1 : good.size();
    const size_t width = character.size() == 4 ? 2 : 1;
    if (units + width > most - 1 && text.size() > size) {  // more follows: leave room for the sign of the cut
      out += kCut;
      return;
    }
    if (units + width > most) return;
    units += width;
    const char c = character.front();
    if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else if (c == '"') {
      out += "&quot;";
    } else if (c == '\r') {
      out += "_x000D_";
    } else if (static_cast<unsigned char>(c) < 0x20 && c != '\t' && c != '\n') {
      out += kReplacement;
    } else if (c == '_' && looks_escaped(text)) {
      out += "_x005F_";
    } else {
      out += character;
    }
    text.remove_prefix(size);
  }
}

/// 0 is A, 26 is AA.
std::string column_name(size_t index) {
  std::string name;
  for (++index; index > 0; index = (index - 1) / 26)
    name.insert(name.begin(), static_cast<char>('A' + (index - 1) % 26));
  return name;
}

void append_cell(std::string& out, size_t row, size_t column, const XlsxCell& cell, Style style) {
  out += "<c r=\"";
  out += column_name(column);
  append_number(out, static_cast<int64_t>(row));
  if (style != kPlain) {
    out += "\" s=\"";
    append_number(out, style);
  }
  if (const int64_t* number = std::get_if<int64_t>(&cell)) {
    out += "\"><v>";
    append_number(out, *number);
    out += "</v></c>";
  } else {
    out += "\" t=\"inlineStr\"><is><t xml:space=\"preserve\">";
    append_text(out, std::get<std::string_view>(cell), kMostUnits);
    out += "</t></is></c>";
  }
}

std::string join(std::initializer_list<std::string_view> parts) {
  std::string out;
  for (const std::string_view part : parts) out += part;
  return out;
}

std::string styles() {
  return join(
      {kHead, "<styleSheet xmlns=\"", kMain, "\">",
       "<fonts count=\"2\"><font><sz val=\"11\"/><name val=\"Calibri\"/></font>"
       "<font><b/><sz val=\"11\"/><name val=\"Calibri\"/></font></fonts>"
       "<fills count=\"3\"><fill><patternFill patternType=\"none\"/></fill><fill><patternFill "
       "patternType=\"gray125\"/></fill>"
       "<fill><patternFill patternType=\"solid\"><fgColor rgb=\"FFD9E1F2\"/><bgColor "
       "indexed=\"64\"/></patternFill></fill></fills>"
       "<borders count=\"1\"><border><left/><right/><top/><bottom/><diagonal/></border></borders>"
       "<cellStyleXfs count=\"1\"><xf numFmtId=\"0\" fontId=\"0\" fillId=\"0\" borderId=\"0\"/></cellStyleXfs>"
       "<cellXfs count=\"3\"><xf numFmtId=\"0\" fontId=\"0\" fillId=\"0\" borderId=\"0\" xfId=\"0\"/>"
       "<xf numFmtId=\"0\" fontId=\"1\" fillId=\"2\" borderId=\"0\" xfId=\"0\" applyFont=\"1\" applyFill=\"1\"/>"
       "<xf numFmtId=\"0\" fontId=\"0\" fillId=\"0\" borderId=\"0\" xfId=\"0\" applyAlignment=\"1\">"
       "<alignment vertical=\"top\" wrapText=\"1\"/></xf></cellXfs>"
       "<cellStyles count=\"1\"><cellStyle name=\"Normal\" xfId=\"0\" builtinId=\"0\"/></cellStyles></styleSheet>"});
}

}  // namespace

std::string Xlsx::unique_name(std::string_view name) const {
  std::string clean;
  for (size_t units = 0; !name.empty();) {
    const std::string_view good = next_character(name);
    const std::string_view character = good.empty() ? kReplacement : good;
    const size_t width = character.size() == 4 ? 2 : 1;
    if ((units += width) > kMostNameUnits - 5) break;  // room for " (99)"
    const bool refused = std::string_view("[]:*?/\\'").find(character) != std::string_view::npos ||
                         static_cast<unsigned char>(character.front()) < 0x20;
    clean += refused ? std::string_view("_") : character;
    name.remove_prefix(good.empty() ? 1 : good.size());
  }
  if (clean.empty()) clean = "Sheet";
  // spreadsheets compare names without regard to case
  const auto lower = [](std::string text) {
    std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) {
      return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : static_cast<char>(c);
    });
    return text;
  };
  std::string candidate = clean;
  for (size_t i = 2;
       std::any_of(sheets_.begin(), sheets_.end(), [&](const Sheet& s) { return lower(s.name) == lower(candidate); });
       ++i)
    candidate = clean + " (" + std::to_string(i) + ")";
  return candidate;
}

void Xlsx::open(std::string name, const std::vector<XlsxColumn>& columns) {
  Sheet& sheet = sheets_.emplace_back();
  sheet.name = std::move(name);
  sheet.columns = columns;
  for (XlsxColumn& column : sheet.columns) sheet.titles.emplace_back(std::exchange(column.title, {}));
  sheet.count = 1;
  sheet.rows = "<row r=\"1\">";
  for (size_t i = 0; i < columns.size(); ++i)
    append_cell(sheet.rows, 1, i, std::string_view(sheet.titles[i]), kHeading);
  sheet.rows += "</row>";
}

void Xlsx::add_sheet(std::string_view name, std::vector<XlsxColumn> columns) {
  if (columns.empty() || columns.size() > kMostColumns)
    throw std::invalid_argument("a sheet has 1 to 16384 columns, got " + std::to_string(columns.size()));
  open(unique_name(name), columns);
}

void Xlsx::add_row(std::span<const XlsxCell> cells) {
  if (sheets_.empty()) throw std::logic_error("add_sheet comes before add_row");
  if (cells.size() > sheets_.back().columns.size())
    throw std::invalid_argument("the sheet has " + std::to_string(sheets_.back().columns.size()) +
                                " columns, the row " + std::to_string(cells.size()) + " cells");
  if (sheets_.back().count == kMostRows) {
    std::vector<XlsxColumn> columns = sheets_.back().columns;
    std::vector<std::string> titles = sheets_.back().titles;
    for (size_t i = 0; i < columns.size(); ++i) columns[i].title = titles[i];
    open(unique_name(sheets_.back().name), columns);
  }
  Sheet& sheet = sheets_.back();
  const size_t row = ++sheet.count;
  sheet.rows += "<row r=\"";
  append_number(sheet.rows, static_cast<int64_t>(row));
  sheet.rows += "\">";
  for (size_t i = 0; i < cells.size(); ++i)
    append_cell(sheet.rows, row, i, cells[i], sheet.columns[i].wrap ? kWrapped : kPlain);
  sheet.rows += "</row>";
}

std::string Xlsx::finish() && {
  if (sheets_.empty()) throw std::logic_error("a spreadsheet has at least one sheet");
  std::string types =
      join({kHead, "<Types xmlns=\"", kPackage, "content-types\">",
            "<Default Extension=\"rels\" ContentType=\"application/vnd.openxmlformats-package.relationships+xml\"/>"
            "<Default Extension=\"xml\" ContentType=\"application/xml\"/>"
            "<Override PartName=\"/xl/workbook.xml\" ContentType=\"application/"
            "vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml\"/>"
            "<Override PartName=\"/xl/styles.xml\" ContentType=\"application/"
            "vnd.openxmlformats-officedocument.spreadsheetml.styles+xml\"/>"});
  std::string workbook = join({kHead, "<workbook xmlns=\"", kMain, "\" xmlns:r=\"", kDocument, "\"><sheets>"});
  std::string links = join({kHead, "<Relationships xmlns=\"", kPackage, "relationships\">"});
  std::string filters;
  for (size_t i = 0; i < sheets_.size(); ++i) {
    const std::string number = std::to_string(i + 1);
    types +=
        join({"<Override PartName=\"/xl/worksheets/sheet", number,
              ".xml\" ContentType=\"application/vnd.openxmlformats-officedocument.spreadsheetml.worksheet+xml\"/>"});
    std::string name;
    append_text(name, sheets_[i].name, kMostNameUnits);
    workbook += join({"<sheet name=\"", name, "\" sheetId=\"", number, "\" r:id=\"rId", number, "\"/>"});
    links += join({"<Relationship Id=\"rId", number, "\" Type=\"", kDocument, "/worksheet\" Target=\"worksheets/sheet",
                   number, ".xml\"/>"});
    const std::string last = column_name(sheets_[i].columns.size() - 1);
    filters +=
        join({"<definedName name=\"_xlnm._FilterDatabase\" localSheetId=\"", std::to_string(i), "\" hidden=\"1\">'",
              name, "'!$A$1:$", last, "$", std::to_string(sheets_[i].count), "</definedName>"});
  }
  types += "</Types>";
  workbook += join({"</sheets><definedNames>", filters, "</definedNames></workbook>"});
  links += join({"<Relationship Id=\"rId", std::to_string(sheets_.size() + 1), "\" Type=\"", kDocument,
                 "/styles\" Target=\"styles.xml\"/></Relationships>"});

  ZipWriter zip;
  zip.add("[Content_Types].xml", types);
  zip.add("_rels/.rels",
          join({kHead, "<Relationships xmlns=\"", kPackage, "relationships\"><Relationship Id=\"rId1\" Type=\"",
                kDocument, "/officeDocument\" Target=\"xl/workbook.xml\"/></Relationships>"}));
  zip.add("xl/workbook.xml", workbook);
  zip.add("xl/_rels/workbook.xml.rels", links);
  zip.add("xl/styles.xml", styles());
  for (size_t i = 0; i < sheets_.size(); ++i) {
    Sheet& sheet = sheets_[i];
    const std::string corner = column_name(sheet.columns.size() - 1) + std::to_string(sheet.count);
    std::string body = join(
        {kHead, "<worksheet xmlns=\"", kMain, "\"><dimension ref=\"A1:", corner, "\"/>", "<sheetViews><sheetView",
         i == 0 ? " tabSelected=\"1\"" : "", " workbookViewId=\"0\">",
         "<pane ySplit=\"1\" topLeftCell=\"A2\" activePane=\"bottomLeft\" state=\"frozen\"/></sheetView></sheetViews>",
         "<cols>"});
    for (size_t column = 0; column < sheet.columns.size(); ++column) {
      const std::string number = std::to_string(column + 1);
      body += join({"<col min=\"", number, "\" max=\"", number, "\" width=\""});
      append_width(body, sheet.columns[column].width);
      body += "\" customWidth=\"1\"/>";
    }
    body += "</cols><sheetData>";
    body += std::exchange(sheet.rows, {});
    body += join({"</sheetData><autoFilter ref=\"A1:", corner, "\"/></worksheet>"});
    zip.add("xl/worksheets/sheet" + std::to_string(i + 1) + ".xml", body);
  }
  return std::move(zip).finish();
}

}  // namespace updraft::migrate
