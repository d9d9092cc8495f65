#include "migrate/report/table.h"

#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <stdexcept>
#include <string>

namespace updraft::migrate {
namespace {

uint64_t number(std::string_view bytes, size_t at, int size) {
  uint64_t value = 0;
  for (int i = size - 1; i >= 0; --i)
    value = value << 8 | static_cast<unsigned char>(bytes.at(at + static_cast<size_t>(i)));
  return value;
}

/// Reads an archive by its central directory, as readers do, and holds both descriptions of an entry against the
/// content.
std::map<std::string, std::string> unzip(const std::string& bytes) {
  std::map<std::string, std::string> entries;
  const size_t end = bytes.size() - 22;
  EXPECT_EQ(number(bytes, end, 4), 0x06054b50u);
  const size_t count = number(bytes, end + 10, 2);
  size_t at = number(bytes, end + 16, 4);
  EXPECT_EQ(at + number(bytes, end + 12, 4), end);
  for (size_t i = 0; i < count; ++i) {
    EXPECT_EQ(number(bytes, at, 4), 0x02014b50u);
    const size_t name_size = number(bytes, at + 28, 2), size = number(bytes, at + 24, 4),
                 local = number(bytes, at + 42, 4);
    const std::string name = bytes.substr(at + 46, name_size);
    EXPECT_EQ(number(bytes, local, 4), 0x04034b50u);
    EXPECT_EQ(bytes.substr(local + 4, 26), bytes.substr(at + 6, 26)) << name;
    EXPECT_EQ(bytes.substr(local + 30, name_size), name);
    const std::string content = bytes.substr(local + 30 + name_size, size);
    EXPECT_EQ(number(bytes, at + 16, 4), crc32(content)) << name;
    EXPECT_TRUE(entries.emplace(name, content).second) << name;
    at += 46 + name_size;
  }
  EXPECT_EQ(at, end);
  return entries;
}

std::string sheet_of(std::string_view text) {
  Xlsx book;
  book.add_sheet("s", {{"h", 8, true}});
  book.add_row({text});
  return unzip(std::move(book).finish()).at("xl/worksheets/sheet1.xml");
}

bool holds(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

TEST(MigrateZip, ChecksumsAndEmptyArchives) {
  EXPECT_EQ(crc32("123456789"), 0xCBF43926u);
  EXPECT_EQ(crc32(""), 0u);
  EXPECT_TRUE(unzip(ZipWriter().finish()).empty());
  ZipWriter zip;
  zip.add("empty", "");
  zip.add("深/a.txt", std::string("\0\xFF", 2));
  const auto entries = unzip(std::move(zip).finish());
  EXPECT_EQ(entries.at("empty"), "");
  EXPECT_EQ(entries.at("深/a.txt"), std::string("\0\xFF", 2));
}

TEST(MigrateXlsx, HasTheParts) {
  Xlsx book;
  book.add_sheet("api", {{"序号", 6}, {"API", 40}});
  book.add_row({int64_t{1}, "tf.abs"});
  book.add_row({std::numeric_limits<int64_t>::min()});
  const auto entries = unzip(std::move(book).finish());
  EXPECT_EQ(entries.size(), 6u);
  const std::string& sheet = entries.at("xl/worksheets/sheet1.xml");
  EXPECT_TRUE(holds(sheet, "<c r=\"A1\" s=\"1\" t=\"inlineStr\"><is><t xml:space=\"preserve\">序号</t></is></c>"));
  EXPECT_TRUE(holds(sheet, "<c r=\"A2\"><v>1</v></c>"));
  EXPECT_TRUE(holds(sheet, "<c r=\"A3\"><v>-9223372036854775808</v></c></row>"));
  EXPECT_TRUE(holds(sheet, "<autoFilter ref=\"A1:B3\"/>"));
  EXPECT_TRUE(holds(sheet, "<col min=\"2\" max=\"2\" width=\"40.00\" customWidth=\"1\"/>"));
  EXPECT_TRUE(holds(entries.at("xl/workbook.xml"), "'api'!$A$1:$B$3"));
}

TEST(MigrateXlsx, SameContentSameBytes) {
  const auto make = [] {
    Xlsx book;
    book.add_sheet("s", {{"h"}});
    book.add_row({"v"});
    return std::move(book).finish();
  };
  EXPECT_EQ(make(), make());
}

TEST(MigrateXlsx, TextsThatXmlCannotHold) {
  EXPECT_TRUE(holds(sheet_of("<a href=\"x\">&</a>"), ">&lt;a href=&quot;x&quot;&gt;&amp;&lt;/a&gt;<"));
  EXPECT_TRUE(holds(sheet_of(std::string_view("a\0b", 3)),
                    ">a\xEF\xBF\xBD"
                    "b<"));
  EXPECT_TRUE(holds(sheet_of("a\tb\nc"), ">a\tb\nc<"));
  EXPECT_TRUE(holds(sheet_of("\r"), ">_x000D_<"));
  EXPECT_TRUE(holds(sheet_of("_x0041_ _x004_"), ">_x005F_x0041_ _x004_<"));
  EXPECT_TRUE(holds(sheet_of("=1+1"), ">=1+1<"));
  EXPECT_TRUE(holds(sheet_of("  x "), "xml:space=\"preserve\">  x <"));
  for (const char* bad :
       {"\x80", "\xC0\xAF", "\xE0\x80\x80", "\xED\xA0\x80", "\xF5\x80\x80\x80", "\xF0\x9F", "\xEF\xBF\xBE", "\xFF"}) {
    const std::string sheet = sheet_of(bad);
    EXPECT_TRUE(holds(sheet, "\"preserve\">\xEF\xBF\xBD")) << bad;
    EXPECT_FALSE(holds(sheet, bad)) << bad;
  }
  EXPECT_TRUE(holds(sheet_of("中😀"), ">中😀<"));
}

TEST(MigrateXlsx, LongTextsAreCut) {
  const std::string full(32767, 'x');
  EXPECT_TRUE(holds(sheet_of(full), ">" + full + "<"));
  EXPECT_TRUE(holds(sheet_of(full + "y"), ">" + std::string(32766, 'x') + "…<"));
  // a character of two units does not go over the edge
  const std::string edge = std::string(32765, 'x') + "😀";
  EXPECT_TRUE(holds(sheet_of(edge), ">" + edge + "<"));
  EXPECT_TRUE(holds(sheet_of(edge + "z"), ">" + std::string(32765, 'x') + "…<"));
}

TEST(MigrateXlsx, NamesOfSheets) {
  Xlsx book;
  book.add_sheet("a/b[c]:*?\\'", {{"h"}});
  book.add_sheet("", {{"h"}});
  book.add_sheet("Dup & co", {{"h"}});
  book.add_sheet("dup & co", {{"h"}});
  book.add_sheet(std::string(60, 'n'), {{"h"}});
  const std::string workbook = unzip(std::move(book).finish()).at("xl/workbook.xml");
  for (const std::string_view name :
       {"a_b_c______", "Sheet", "Dup &amp; co", "dup &amp; co (2)", "nnnnnnnnnnnnnnnnnnnnnnnnnn"})
    EXPECT_TRUE(holds(workbook, "<sheet name=\"" + std::string(name) + "\" ")) << workbook;
}

TEST(MigrateXlsx, RowsBeyondASheetGoOn) {
  Xlsx book;
  std::string title = "h";
  book.add_sheet("s", {{title}});
  title = "changed";  // the heading of the second sheet is not read from here
  for (int64_t i = 0; i < 1048576; ++i) book.add_row({i});
  const auto entries = unzip(std::move(book).finish());
  EXPECT_TRUE(holds(entries.at("xl/worksheets/sheet1.xml"), "<autoFilter ref=\"A1:A1048576\"/>"));
  const std::string& second = entries.at("xl/worksheets/sheet2.xml");
  EXPECT_TRUE(holds(second, ">h<"));
  EXPECT_TRUE(holds(second, "<c r=\"A2\"><v>1048575</v></c>"));
}

TEST(MigrateXlsx, RefusesWhatNoProgramOpens) {
  EXPECT_THROW(Xlsx().finish(), std::logic_error);
  Xlsx book;
  EXPECT_THROW(book.add_row({"x"}), std::logic_error);
  EXPECT_THROW(book.add_sheet("s", {}), std::invalid_argument);
  EXPECT_THROW(book.add_sheet("s", std::vector<XlsxColumn>(16385)), std::invalid_argument);
  book.add_sheet("s", std::vector<XlsxColumn>(703));
  EXPECT_THROW(book.add_row(std::vector<XlsxCell>(704)), std::invalid_argument);
  book.add_row(std::vector<XlsxCell>(703));
  EXPECT_TRUE(holds(unzip(std::move(book).finish()).at("xl/worksheets/sheet1.xml"), "<c r=\"AAA2\""));
}

}  // namespace
}  // namespace updraft::migrate
