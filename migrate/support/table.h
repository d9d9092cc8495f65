// The two languages of everything that a user reads.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace updraft::migrate {

enum class Language : uint8_t { en, zh };

struct Bilingual {
  std::string_view en, zh;

  std::string_view in(Language language) const { return language == Language::zh ? zh : en; }
  bool operator==(const Bilingual&) const = default;
};

}  // namespace updraft::migrate

// The tables of data/: embedded in the program, and looked up by their first column.

namespace updraft::migrate::support {

// The tables of data/ as they were when the program was built (cmake/embed.cmake).

/// A file of data/ by its name ("torch_api.tsv"); empty where there is none.
std::string_view embedded(std::string_view name);
std::span<const std::string_view> embedded_names();

// A look-up in tab-separated text by its first column. Cells stay where they are in the text; an index of four bytes a
// row or two is made with the table, which the look-ups do at their first call.

class Table;

/// One line, and the way to the next.
class Row {
 public:
  Row() = default;

  explicit operator bool() const { return !line_.empty(); }
  std::string_view line() const { return line_; }
  std::string_view key() const { return cell(0); }
  /// A column's text; empty where the line is shorter.
  std::string_view cell(size_t index) const;
  /// The line below; false as a bool after the last.
  Row next() const;

 private:
  friend class Table;
  Row(std::string_view line, const char* end) : line_(line), end_(end) {}

  std::string_view line_;
  const char* end_ = nullptr;  // of the whole text
};

/// Lines that begin with '#' may stand before the heading, which is left out. Rows with one key stand together.
class Table {
 public:
  explicit Table(std::string_view text);
  /// A file of data/.
  static Table of(std::string_view file);

  /// The first row with this key; false as a bool where there is none.
  Row find(std::string_view key) const;
  Row first() const;

 private:
  Row at(size_t offset) const;

  std::string_view rows_;
  std::vector<uint32_t>
      slots_;  // open addressing: 1 + the offset of a row, 0 is free; a power of two, half full at most
};

}  // namespace updraft::migrate::support
