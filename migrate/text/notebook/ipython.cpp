#include "migrate/text/notebook/ipython.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "migrate/source/bytes.h"

namespace updraft::migrate::text {
namespace {

using source::is_name_byte;

constexpr std::array<std::string_view, 9> kPythonMagics = {"time",  "timeit", "capture", "prun",  "memit",
                                                           "mprun", "lprun",  "debug",   "notify"};
constexpr std::array<std::string_view, 6> kExpressionMagics = {"time", "timeit", "prun", "memit", "lprun", "mprun"};

using source::among;
std::size_t line_end(std::string_view text, std::size_t at) { return std::min(text.find('\n', at), text.size()); }

std::string_view magic_name(std::string_view text, std::size_t at) {
  std::size_t end = at;
  while (end < text.size() && (is_name_byte(text[end]) || text[end] == '.')) ++end;
  return text.substr(at, end - at);
}

/// Walks the bytes of a cell as Python's tokenizer does, as far as strings, comments and brackets go.
class Masker {
 public:
  Masker(char* cell, std::size_t size) : cell_(cell), text_(cell, size) {}

  std::vector<MagicLine> run() {
    const CellMagic magic = cell_magic(text_);
    if (!magic.name.empty()) {
      const std::size_t begin = static_cast<std::size_t>(magic.name.data() - text_.data()) - 2;
      fill(begin, line_end(text_, begin));
    }
    while (at_ < text_.size()) {
      if (logical_line_ && depth_ == 0) {
        logical_line_ = false;
        if (line()) continue;
      }
      token();
    }
    return std::move(lines_);
  }

 private:
  /// The magic line that begins here, if one does: masked.
  bool line() {
    std::size_t first = at_;
    while (first < text_.size() && (text_[first] == ' ' || text_[first] == '\t')) ++first;
    if (first >= text_.size()) return false;
    const char c = text_[first];
    const char next = first + 1 < text_.size() ? text_[first + 1] : '\0';
    if (c == '!') {
      magic(first, MagicLine::Kind::Shell, first + (next == '!' ? 2 : 1));
      return true;
    }
    if (c == '?' || (c == '%' && (is_name_byte(next) || next == '%'))) {
      percent(first, first);
      return true;
    }
    const std::size_t end = line_end(text_, first);
    // name = !command, name = %magic
    if (std::isalpha(static_cast<unsigned char>(c)) || c == '_') {
      std::size_t k = first;
      while (k < end &&
             (is_name_byte(text_[k]) || std::string_view(".,[] \t").find(text_[k]) != std::string_view::npos))
        ++k;
      if (k < end && text_[k] == '=') {
        ++k;
        while (k < end && (text_[k] == ' ' || text_[k] == '\t')) ++k;
        if (k + 1 < end && text_[k] == '!' && text_[k + 1] != '=') {
          magic(k, MagicLine::Kind::Shell, k + 1);
          return true;
        }
        if (k + 1 < end && text_[k] == '%' && is_name_byte(text_[k + 1])) {
          percent(k, first);
          return true;
        }
      }
      // name?, name??
      std::size_t last = end;
      while (last > first && std::isspace(static_cast<unsigned char>(text_[last - 1]))) --last;
      if (last > first + 1 && text_[last - 1] == '?') {
        std::size_t q = last;
        while (q > first && text_[q - 1] == '?') --q;
        const std::string_view object = text_.substr(first, q - first);
        if (std::all_of(object.begin(), object.end(), [](char o) { return is_name_byte(o) || o == '.' || o == '*'; })) {
          magic(first, MagicLine::Kind::Other, first);
          return true;
        }
      }
    }
    return false;
  }

  /// %name … at `at`; `statement` is where its line begins.
  void percent(std::size_t at, std::size_t statement) {
    const std::size_t skip = text_.substr(at, 2) == "%%" ? 2 : 1;
    const std::string_view name = magic_name(text_, at + skip);
    std::size_t rest = at + skip + name.size();
    const std::size_t end = line_end(text_, at);
    while (rest < end && (text_[rest] == ' ' || text_[rest] == '\t')) ++rest;
    if (among(kExpressionMagics, name) && at == statement) {
      while (rest < end && text_[rest] == '-') {  // %timeit -n 10 expression
        const bool attached = rest + 2 < end && text_[rest + 2] != ' ';
        const bool takes =
            rest + 1 < end && std::string_view("nrpstlTDf").find(text_[rest + 1]) != std::string_view::npos;
        while (rest < end && text_[rest] != ' ') ++rest;
        while (rest < end && text_[rest] == ' ') ++rest;
        if (takes && !attached) {
          while (rest < end && text_[rest] != ' ') ++rest;
          while (rest < end && text_[rest] == ' ') ++rest;
        }
      }
      if (rest < end && text_[rest] != '\r') {  // the expression stays
        std::fill(cell_ + at, cell_ + rest, ' ');
        cell_[at] = '0';
        cell_[at + 1] = ';';
        at_ = rest;
        return;
      }
    }
    if (name == "env" || name == "set_env") magic(at, MagicLine::Kind::Variable, rest);
    else if (name == "pip" || name == "conda" || name == "mamba" || name == "uv")
      magic(at, MagicLine::Kind::Shell, at + skip);
    else if (name == "run") magic(at, MagicLine::Kind::Shell, rest);
    else if (name == "sx" || name == "system") magic(at, MagicLine::Kind::Shell, rest);
    else magic(at, MagicLine::Kind::Other, rest);
  }

  /// Masks from `at` to the end of the line (lines that end in a backslash go on); the command begins at `command`.
  void magic(std::size_t at, MagicLine::Kind kind, std::size_t command) {
    std::size_t end = line_end(text_, at);
    for (;;) {
      std::size_t last = end;
      if (last > at && text_[last - 1] == '\r') --last;
      if (end >= text_.size() || last <= at || text_[last - 1] != '\\') break;
      end = line_end(text_, end + 1);
    }
    lines_.push_back({kind, std::min(command, end), end});
    fill(at, end);
    at_ = end;
  }

  /// An expression without names, then blanks; newlines inside become blanks too.
  void fill(std::size_t begin, std::size_t end) {
    if (begin >= end) return;
    const bool returns = cell_[end - 1] == '\r' && end - begin > 1;
    std::fill(cell_ + begin, cell_ + end - (returns ? 1 : 0), ' ');
    if (end - begin - (returns ? 1 : 0) >= 2) {
      cell_[begin] = '[';
      cell_[begin + 1] = ']';
    } else {
      cell_[begin] = '0';
    }
  }

  void token() {
    const char c = text_[at_];
    if (c == '\n') {
      logical_line_ = true;
      ++at_;
    } else if (c == '#') {
      at_ = line_end(text_, at_);
    } else if (c == '\\') {
      at_ += text_.substr(at_, 3) == "\\\r\n" ? 3 : 2;
    } else if (c == '\'' || c == '"') {
      string(c);
    } else {
      if (c == '(' || c == '[' || c == '{') ++depth_;
      if ((c == ')' || c == ']' || c == '}') && depth_ > 0) --depth_;
      ++at_;
    }
  }

  void string(char quote) {
    const std::string three(3, quote);
    const bool triple = text_.substr(at_, 3) == three;
    at_ += triple ? 3 : 1;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '\\') {
        at_ += 2;
      } else if (triple && c == quote && text_.substr(at_, 3) == three) {
        at_ += 3;
        return;
      } else if (!triple && c == quote) {
        ++at_;
        return;
      } else if (!triple && c == '\n') {
        return;  // a string that does not end: so does the line
      } else {
        ++at_;
      }
    }
  }

  char* cell_;
  std::string_view text_;  ///< of the same bytes
  std::size_t at_ = 0;
  int depth_ = 0;
  bool logical_line_ = true;
  std::vector<MagicLine> lines_;
};

}  // namespace

CellMagic cell_magic(std::string_view cell) {
  std::size_t at = 0;
  for (;;) {  // IPython drops blank lines before it
    const std::size_t end = line_end(cell, at);
    const std::string_view line = cell.substr(at, end - at);
    if (line.find_first_not_of(" \t\r") != std::string_view::npos || end >= cell.size()) break;
    at = end + 1;
  }
  if (cell.substr(at, 2) != "%%") return {};
  const std::string_view name = magic_name(cell, at + 2);
  std::string_view whole = cell.substr(at + 2);
  if (name.empty() && !whole.starts_with("!")) return {};
  const std::size_t end = line_end(cell, at);
  std::size_t rest = at + 2 + name.size();
  while (rest < end && (cell[rest] == ' ' || cell[rest] == '\t')) ++rest;
  std::size_t last = end;
  while (last > rest && std::isspace(static_cast<unsigned char>(cell[last - 1]))) --last;
  return {name.empty() ? whole.substr(0, 1) : name, cell.substr(rest, last - rest), std::min(end + 1, cell.size())};
}

bool keeps_python(std::string_view magic) { return among(kPythonMagics, magic); }

std::vector<MagicLine> mask(char* cell, std::size_t size) { return Masker(cell, size).run(); }

}  // namespace updraft::migrate::text
