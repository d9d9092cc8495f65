#include "migrate/text/notebook/notebook.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <string>

#include "migrate/rules/rule.h"
#include "migrate/source/words.h"
#include "migrate/text/file.h"
#include "migrate/text/notebook/json.h"
#include "migrate/text/sheet.h"
#include "migrate/text/shell/rules.h"

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
          magic(k, MagicLine::Kind::Read, k + 1);
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

namespace {

using source::is_name_byte;

using Token = JsonReader::Token;
using Kind = JsonReader::Kind;

struct Cell {
  std::string type, language;
  std::vector<Token> source;  ///< its strings
  std::size_t number = 0;     ///< from 1, of all cells
};

struct Notebook {
  std::vector<Cell> cells;
  std::string language;  ///< of the kernel
  bool has_cells = false;
  std::optional<std::pair<std::size_t, Text>> error;
};

/// Reads what is needed: root.cells[] or root.worksheets[].cells[], and the kernel's language.
class Reader {
 public:
  explicit Reader(std::string_view json) : json_(json, false) {}

  Notebook run() {
    for (;;) {
      const Token token = json_.next();
      if (token.kind == Kind::Error) {
        book_.error = {token.begin, json_.error()};
        return std::move(book_);
      }
      if (token.kind == Kind::End) return std::move(book_);
      take(token);
    }
  }

 private:
  // Keys are kept for the first levels only; deeper ones (outputs) do not matter.
  static constexpr std::size_t kLevels = 8;

  bool at(std::initializer_list<std::string_view> path, std::size_t depth) const {
    return depth == path.size() && std::equal(path.begin(), path.end(), keys_);
  }

  /// In a cell, `base` levels down: cells/[] or worksheets/[]/cells/[].
  std::optional<std::size_t> cell_level(std::size_t depth) const {
    if (depth >= 2 && keys_[0] == "cells" && keys_[1] == "[]") return 2;
    if (depth >= 4 && keys_[0] == "worksheets" && keys_[1] == "[]" && keys_[2] == "cells" && keys_[3] == "[]") return 4;
    return std::nullopt;
  }

  void take(const Token& token) {
    const std::size_t depth = json_.depth();
    switch (token.kind) {
      case Kind::Key:
        if (depth <= kLevels) keys_[depth - 1] = token.end - token.begin > 100 ? std::string() : json_.decoded(token);
        if (const auto level = cell_level(depth - 1);
            level && *level == depth - 1 && !book_.cells.empty() && is_source(keys_[depth - 1]))
          book_.cells.back().source.clear();  // of two keys with this name the last one counts
        if (depth == 1 && keys_[0] == "cells") book_.has_cells = true, book_.cells.clear(), number_ = 0;
        if (depth == 1 && keys_[0] == "worksheets") book_.has_cells = true;
        break;
      case Kind::ArrayBegin:
        if (depth <= kLevels) keys_[depth - 1] = "[]";
        break;
      case Kind::ObjectBegin:
        if (depth <= kLevels) keys_[depth - 1].clear();
        if (const auto level = cell_level(depth - 1); level && *level == depth - 1) {
          book_.cells.emplace_back();
          book_.cells.back().number = ++number_;
        }
        break;
      case Kind::String: string(token, depth); break;
      default: break;
    }
  }

  static bool is_source(std::string_view key) { return key == "source" || key == "input"; }

  void string(const Token& token, std::size_t depth) {
    if (const auto level = cell_level(depth); level && !book_.cells.empty()) {
      const std::string& key = keys_[*level];
      Cell& cell = book_.cells.back();
      if (depth == *level + 1) {
        if (key == "cell_type") cell.type = json_.decoded(token);
        else if (key == "language") cell.language = json_.decoded(token);
        else if (is_source(key)) cell.source.push_back(token);
      } else if (depth == *level + 2 && is_source(key) && keys_[*level + 1] == "[]") {
        cell.source.push_back(token);
      }
      return;
    }
    if (at({"metadata", "language_info", "name"}, depth)) book_.language = json_.decoded(token);
    if (at({"metadata", "kernelspec", "language"}, depth) && book_.language.empty())
      book_.language = json_.decoded(token);
  }

  JsonReader json_;
  Notebook book_;
  std::string keys_[kLevels + 1];
  std::size_t number_ = 0;
};

/// Is the last thing an escaped newline?
bool ends_in_newline(std::string_view json) {
  if (!json.ends_with("\\n")) return false;
  std::size_t backslashes = 0;
  while (backslashes + 1 < json.size() && json[json.size() - 2 - backslashes] == '\\') ++backslashes;
  return backslashes % 2 == 1;
}

/// How text is written into the strings of a source: escaped, and in lists with a new element for each new line.
Embedded::Encode encoder(std::string_view json, const Cell& cell, bool ascii) {
  std::string separator;
  if (cell.source.size() > 1) {
    const std::size_t begin = cell.source[0].end, end = cell.source[1].begin;
    if (end > begin && end - begin < 200) separator = json.substr(begin, end - begin);
  } else if (cell.source.size() == 1 && cell.source[0].begin >= 2) {
    // A list of one: the blanks between its bracket and the string.
    std::size_t at = cell.source[0].begin - 1;
    const std::size_t end = at;
    while (at > 0 && std::string_view(" \t\r\n").find(json[at - 1]) != std::string_view::npos && end - at < 200) --at;
    if (at > 0 && json[at - 1] == '[') separator = "\"," + std::string(json.substr(at, end - at)) + "\"";
  }
  return [json, separator, ascii](std::string_view text, std::uint32_t begin,
                                  std::uint32_t end) -> std::optional<std::string> {
    if (separator.empty()) return json_escaped(text, ascii);
    std::string out;
    if (begin == end && end < json.size() && json[end] == '"' && ends_in_newline(json.substr(0, begin)))
      out = separator;
    while (!text.empty()) {
      const std::size_t newline = text.find('\n');
      const std::string_view line = text.substr(0, newline == std::string_view::npos ? newline : newline + 1);
      text.remove_prefix(line.size());
      out += json_escaped(line, ascii);
      const bool last = text.empty() && end < json.size() && json[end] == '"';
      if (newline != std::string_view::npos && !last) out += separator;
    }
    return out;
  };
}

void embed(std::string_view json, const Cell& cell, Embedded& into) {
  for (const Token& string : cell.source) embed_json(json, string.begin, string.end, into);
}

/// A part of an embedded text as a text of its own.
Embedded part(const Embedded& whole, std::string_view json, std::size_t begin, std::size_t end) {
  Embedded out;
  for (std::size_t i = begin; i < end; ++i) {
    const auto [from, to] = whole.outer(i, i + 1);
    const std::string_view byte = std::string_view(whole.text()).substr(i, 1);
    if (to == from + 1 && json[from] == byte[0]) {
      out.same(byte, from);
      continue;
    }
    std::size_t k = i + 1;  // all bytes of one escape
    while (k < end && whole.outer(k, k + 1) == std::pair(from, to)) ++k;
    out.unit(std::string_view(whole.text()).substr(i, k - i), from, to);
    i = k - 1;
  }
  out.split_edits();
  return out;
}

/// The cells that run in the kernel, one after another.
struct Module {
  struct Place {
    std::size_t begin, end;  ///< in the module
    const Cell* cell;
  };
  Embedded text;
  std::vector<Place> places;
  std::vector<Embedded::Encode> encoders;

  std::size_t place_at(std::size_t offset) const {
    const auto after = std::upper_bound(places.begin(), places.end(), offset,
                                        [](std::size_t o, const Place& p) { return o < p.begin; });
    return after == places.begin() ? 0 : static_cast<std::size_t>(after - places.begin()) - 1;
  }
};

class Migration {
 public:
  Migration(std::string_view json, const PythonFindings& python, int depth)
      : json_(json), python_(python), sheet_(json), depth_(depth) {
    ascii_ = std::all_of(json.begin(), json.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
  }

  std::vector<Finding> run() {
    const Notebook book = Reader(json_).run();
    if (book.error) {
      sheet_.add("TX101", book.error->first, std::min(book.error->first + 1, json_.size()),
                 rules::told("TX101", {book.error->second}));
      return sheet_.take();
    }
    if (!book.has_cells) {
      sheet_.add("TX102", 0, 0);
      return sheet_.take();
    }
    if (!is_python(book.language)) return {};
    for (const Cell& cell : book.cells)
      if (cell.type == "code" && is_python(cell.language)) take(cell);
    run_module();
    return sheet_.take();
  }

 private:
  static bool is_python(std::string_view language) {
    return language.empty() || language == "python" || language == "Python" || language == "ipython" ||
           language == "python3";
  }

  void take(const Cell& cell) {
    Embedded whole;
    embed(json_, cell, whole);
    const CellMagic magic = cell_magic(whole.text());
    const auto encode = encoder(json_, cell, ascii_);
    if (!magic.name.empty() && !keeps_python(magic.name)) {
      other(cell, whole, magic, encode);
      return;
    }
    // The cell joins the module; its commands are looked at by themselves.
    const std::size_t begin = module_.text.text().size();
    embed(json_, cell, module_.text);
    const std::size_t end = module_.text.text().size();
    const auto lines = mask(module_.text.text().data() + begin, end - begin);
    for (const MagicLine& line : lines) command(cell, whole, line, encode);
    module_.places.push_back({begin, end, &cell});
    module_.encoders.push_back(encode);
    module_.text.filler("\n");
  }

  void command(const Cell& cell, const Embedded& whole, const MagicLine& line, const Embedded::Encode& encode) {
    if (line.kind == MagicLine::Kind::Other || line.begin >= line.end) return;
    Embedded text = part(whole, json_, line.begin, line.end);
    text.encode_by(encode);
    if (line.kind == MagicLine::Kind::Shell || line.kind == MagicLine::Kind::Read) {
      ShellOptions options;
      options.lines = true;
      options.depth = depth_;
      std::vector<Finding> found = shell(text.text(), python_, options);
      if (line.kind == MagicLine::Kind::Read)
        for (Finding& f : found)
          if (f.rule == "TX321") f.confidence = Confidence::Review;  // what reads it knows nvidia-smi's output
      adopt(cell, line.begin, whole, std::move(found), text);
      return;
    }
    // %env NAME=value, %env NAME value
    std::size_t name = 0;
    while (name < text.text().size() && is_name_byte(text.text()[name])) ++name;
    const std::string_view all = text.text();
    if (name == 0 || name >= all.size()) return;
    std::string assignment(all.substr(0, name));
    std::size_t value = name;
    while (value < all.size() && (all[value] == ' ' || all[value] == '=')) ++value;
    const std::string_view rest = all.substr(value);
    assignment += "=\"";
    // As an assignment of a shell, so that one table rules; only edits of the name can come of it.
    std::string plain(rest.substr(0, rest.find_first_of("\"\\$`\n")));
    assignment += plain + "\"";
    std::vector<Finding> found = shell(assignment, {});
    std::erase_if(found, [&](const Finding& f) { return f.begin != 0 || f.end != name; });
    adopt(cell, line.begin, whole, std::move(found), text);
  }

  /// %%bash, %%writefile train.py, %%html …
  void other(const Cell& cell, const Embedded& whole, const CellMagic& magic, const Embedded::Encode& encode) {
    std::string_view name = magic.name, arguments = magic.arguments;
    const bool script = name == "script";
    if (script) {
      name = arguments.substr(0, arguments.find(' '));
      while (name.starts_with("/") && name.find('/', 1) != std::string_view::npos)
        name.remove_prefix(name.find('/', 1));
      if (name.starts_with('/')) name.remove_prefix(1);
    }
    Embedded text = part(whole, json_, magic.body, whole.text().size());
    text.encode_by(encode);
    std::vector<Finding> found;
    if (name == "bash" || name == "sh" || name == "shell" || name == "system" || name == "sx" || name == "!" ||
        name == "zsh") {
      ShellOptions options;
      options.depth = depth_;
      found = shell(text.text(), python_, options);
    } else if (name.starts_with("python") || name == "pypy") {
      if (python_) found = python_(text.text());
    } else if (name == "writefile" || name == "file") {
      while (arguments.starts_with("-")) {
        arguments.remove_prefix(std::min(arguments.find(' '), arguments.size()));
        arguments.remove_prefix(std::min(arguments.find_first_not_of(' '), arguments.size()));
      }
      found = file_findings(arguments, text.text(), python_, depth_ + 1);
    } else if (name == "cu" || name == "cuda" || name == "nvcc" || name == "cuda_group_save") {
      found = file_findings("cell.cu", text.text(), python_, depth_ + 1);
    }
    adopt(cell, magic.body, whole, std::move(found), text);
  }

  static void say_where(Finding& f, const Cell& cell, std::size_t line) {
    f.message = rules::told("notebook.where", {f.message, std::to_string(cell.number), std::to_string(line)});
  }

  void adopt(const Cell& cell, std::size_t begin, const Embedded& whole, std::vector<Finding> found,
             const Embedded& text) {
    if (found.empty()) return;
    const auto lines_before =
        std::count(whole.text().begin(), whole.text().begin() + static_cast<std::ptrdiff_t>(begin), '\n');
    for (Finding& f : found) say_where(f, cell, static_cast<std::size_t>(lines_before) + std::max(1u, f.from.line));
    sheet_.adopt(std::move(found), text);
  }

  void run_module() {
    if (!python_ || module_.places.empty()) return;
    std::vector<Finding> found = python_(module_.text.text());
    std::sort(found.begin(), found.end(), [](const Finding& a, const Finding& b) { return a.begin < b.begin; });
    module_.text.split_edits();
    // Which cell's strings a place belongs to decides how text is written there.
    module_.text.encode_by(
        [this](std::string_view text, std::uint32_t begin, std::uint32_t end) -> std::optional<std::string> {
          const auto after = std::upper_bound(
              module_.places.begin(), module_.places.end(), begin, [](std::uint32_t b, const Module::Place& p) {
                return p.cell->source.empty() ? false : b < p.cell->source.front().begin;
              });
          if (after == module_.places.begin()) return std::nullopt;
          return module_.encoders[static_cast<std::size_t>(after - module_.places.begin()) - 1](text, begin, end);
        });
    std::size_t counted = 0, newlines = 0, counted_in = ~std::size_t{0};
    const std::string& text = module_.text.text();
    for (Finding& f : found) {
      const std::size_t index = module_.place_at(f.begin);
      const Module::Place& place = module_.places[index];
      if (counted_in != index) counted_in = index, counted = place.begin, newlines = 0;
      const std::size_t stop = std::clamp<std::size_t>(f.begin, counted, text.size());
      newlines += static_cast<std::size_t>(std::count(text.begin() + static_cast<std::ptrdiff_t>(counted),
                                                      text.begin() + static_cast<std::ptrdiff_t>(stop), '\n'));
      counted = stop;
      say_where(f, *place.cell, newlines + 1);
      for (Edit& e : f.edits) settle(e);
    }
    sheet_.adopt(std::move(found), module_.text);
  }

  /// A new line at the start of a cell goes to the end of the one before: there it follows what it was written for, and
  /// a cell magic stays first.
  void settle(Edit& edit) const {
    if (edit.begin != edit.end || !edit.text.ends_with('\n')) return;
    std::size_t index = module_.place_at(edit.begin);
    if (edit.begin == module_.places[index].end + 1) ++index;  // after the last cell
    // empty cells lie at the same place: the last of them is found
    if (index < module_.places.size() && module_.places[index].begin != edit.begin) return;
    while (index > 0) {
      const Module::Place& before = module_.places[--index];
      if (before.begin == before.end) continue;
      edit.begin = edit.end = static_cast<std::uint32_t>(before.end);
      const bool own_line = module_.text.text()[before.end - 1] == '\n';
      edit.text.pop_back();
      if (!own_line) edit.text.insert(0, "\n");
      return;
    }
  }

  std::string_view json_;
  const PythonFindings& python_;
  Sheet sheet_;
  int depth_;
  bool ascii_ = false;
  Module module_;
};

}  // namespace

std::vector<Finding> notebook(std::string_view json, const PythonFindings& python, int depth) {
  if (auto failure = too_large(json, "TX101"); !failure.empty()) return failure;
  if (depth > kDeepest) return {};
  return Migration(json, python, depth).run();
}

}  // namespace updraft::migrate::text
