// JSON, INI and TOML; YAML has a file of its own.
#include <algorithm>

#include "migrate/source/words.h"
#include "migrate/support/messages.h"
#include "migrate/text/config/config.h"
#include "migrate/text/notebook/json.h"

namespace updraft::migrate::text {

std::optional<ConfigError> read_json(std::string_view text, bool comments, ConfigHandler& handler) {
  using Kind = JsonReader::Kind;
  JsonReader json(text, comments);
  KeyPath path;  // one level for each open bracket
  for (;;) {
    const JsonReader::Token token = json.next();
    const Scalar scalar{token.begin, token.end, json.raw(token),
                        token.kind == Kind::Plain ? Scalar::Style::Plain : Scalar::Style::Json, !token.escaped};
    switch (token.kind) {
      case Kind::ObjectBegin: path.push(""); break;
      case Kind::ArrayBegin: path.push("[]"); break;
      case Kind::ObjectEnd:
      case Kind::ArrayEnd: path.pop(); break;
      case Kind::Key:
        path.replace(scalar.raw.substr(0, 200));
        handler.key(path, scalar);
        break;
      case Kind::String:
      case Kind::Plain: handler.value(path, scalar); break;
      case Kind::End: return std::nullopt;
      case Kind::Error: return ConfigError{token.begin, json.error()};
    }
  }
}

// INI, setup.cfg, .properties: sections, key = value, values that go on in indented lines.

void read_ini(std::string_view text, ConfigHandler& handler) {
  KeyPath path;
  bool in_value = false;
  std::size_t at = text.starts_with("\xef\xbb\xbf") ? 3 : 0;
  const auto is_blank = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
  const auto emit = [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i + 1 < end; ++i)  // a comment after the value
      if (is_blank(text[i]) && (text[i + 1] == '#' || text[i + 1] == ';')) end = i;
    while (begin < end && is_blank(text[begin])) ++begin;
    while (end > begin && is_blank(text[end - 1])) --end;
    Scalar s;
    if (end - begin >= 2 && (text[begin] == '"' || text[begin] == '\'') && text[end - 1] == text[begin]) {
      s.style = Scalar::Style::Quoted;
      ++begin;
      --end;
    }
    if (begin == end) return;
    s.begin = begin;
    s.end = end;
    s.raw = text.substr(begin, end - begin);
    s.direct = s.raw.find('\\') == std::string_view::npos;
    handler.value(path, s);
  };
  while (at < text.size()) {
    const std::size_t begin = at;
    const std::size_t end = std::min(text.find('\n', at), text.size());
    at = std::min(end + 1, text.size());
    std::size_t first = begin;
    while (first < end && is_blank(text[first])) ++first;
    if (first == end) continue;
    const char c = text[first];
    if (c == '#' || c == ';') continue;
    if (first > begin && in_value) {
      emit(first, end);
      continue;
    }
    in_value = false;
    if (c == '[') {
      while (path.depth() > 0) path.pop();
      const std::size_t close = text.substr(0, end).find(']', first);
      path.push(text.substr(
          first + 1,
          std::min<std::size_t>(close == std::string_view::npos ? end - first - 1 : close - first - 1, 200)));
      path.push("");
      continue;
    }
    const std::size_t separator = text.substr(0, end).find_first_of("=:", first);
    if (separator == std::string_view::npos) continue;
    std::size_t key_end = separator;
    while (key_end > first && is_blank(text[key_end - 1])) --key_end;
    if (key_end == first) continue;
    if (path.depth() == 0) path.push("");
    const Scalar key{first, key_end, text.substr(first, key_end - first), Scalar::Style::Plain, true};
    path.replace(key.raw.substr(0, 200));
    handler.key(path, key);
    in_value = true;
    emit(separator + 1, end);
  }
}

// TOML: tables, dotted keys, strings of all four kinds, arrays and inline tables over any number of lines.
namespace {

using source::is_name_byte;

class Toml {
 public:
  Toml(std::string_view text, ConfigHandler& handler) : text_(text), handler_(handler) {}

  std::optional<ConfigError> run() {
    if (text_.starts_with("\xef\xbb\xbf")) at_ = 3;
    for (;;) {
      space(true);
      if (at_ >= text_.size() || error_) return error_;
      if (text_[at_] == '[') header();
      else statement();
    }
  }

 private:
  char peek(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }

  /// Blanks and comments, and newlines where they mean nothing.
  void space(bool newlines) {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == ' ' || c == '\t' || c == '\r' || (newlines && c == '\n')) ++at_;
      else if (c == '#') at_ = std::min(text_.find('\n', at_), text_.size());
      else return;
    }
  }

  void fail(std::size_t at, std::string_view key) {
    if (!error_) error_ = ConfigError{at, support::told(key)};
  }

  /// One part of a dotted key.
  std::optional<Scalar> part() {
    Scalar s;
    if (peek() == '"' || peek() == '\'') return string();
    s.begin = at_;
    while (at_ < text_.size() &&
           (is_name_byte(text_[at_]) || text_[at_] == '-' || static_cast<unsigned char>(text_[at_]) >= 0x80))
      ++at_;
    s.end = at_;
    if (s.end == s.begin) return std::nullopt;
    s.raw = text_.substr(s.begin, s.end - s.begin);
    return s;
  }

  /// a.b."c": pushes its parts; how many. The last part is what the handler sees.
  std::size_t keys(Scalar& last) {
    std::size_t pushed = 0;
    for (;;) {
      space(false);
      const auto p = part();
      if (!p) {
        fail(at_, "read.key");
        return pushed;
      }
      last = *p;
      path_.push(p->raw.substr(0, 200));
      ++pushed;
      space(false);
      if (peek() != '.') return pushed;
      ++at_;
    }
  }

  void header() {
    while (path_.depth() > 0) path_.pop();
    const bool array = peek(1) == '[';
    at_ += array ? 2 : 1;
    Scalar last;
    keys(last);
    if (error_) return;
    if (peek() != ']') {
      fail(at_, "read.table_end");
      return;
    }
    at_ += array && peek(1) == ']' ? 2 : 1;
    if (array) path_.push("[]");
  }

  void statement() {
    Scalar last;
    const std::size_t pushed = keys(last);
    if (!error_ && peek() != '=') fail(at_, "read.equals");
    if (error_) return;
    handler_.key(path_, last);
    ++at_;
    value();
    if (error_) return;
    for (std::size_t i = 0; i < pushed; ++i) path_.pop();
    space(false);
    if (at_ < text_.size() && peek() != '\n') fail(at_, "read.line_end");
  }

  Scalar string() {
    const std::size_t start = at_;
    const char quote = peek();
    const bool many = peek(1) == quote && peek(2) == quote;
    at_ += many ? 3 : 1;
    Scalar s;
    s.begin = at_;
    s.style = many ? Scalar::Style::Block : Scalar::Style::Quoted;
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '\\' && quote == '"') {
        s.direct = false;
        ++at_;
      } else if (c == '\n') {
        s.direct = false;
        if (!many) break;
      } else if (c == quote && (!many || (peek(1) == quote && peek(2) == quote))) {
        if (many)  // up to two quotes may belong to the text
          while (peek(3) == quote) ++at_;
        s.end = at_;
        at_ += many ? 3 : 1;
        s.raw = text_.substr(s.begin, s.end - s.begin);
        return s;
      }
    }
    fail(start, "read.string_end");
    at_ = text_.size();
    s.begin = s.end = start;
    return s;
  }

  /// A value with all that is in it.
  void value() {
    struct Open {
      char bracket;
      std::size_t pushed;  ///< parts of the key of an inline table's entry
    };
    const std::size_t start = at_;
    std::vector<Open> open;
    do {
      space(!open.empty());
      if (at_ >= text_.size() || error_) break;
      const char c = text_[at_];
      if (!open.empty() && (c == ']' || c == '}')) {
        for (; open.back().pushed > 0; --open.back().pushed) path_.pop();
        if (open.back().bracket == '[') path_.pop();
        open.pop_back();
        ++at_;
        continue;
      }
      if (!open.empty() && c == ',') {
        for (; open.back().pushed > 0; --open.back().pushed) path_.pop();
        ++at_;
        continue;
      }
      if (!open.empty() && open.back().bracket == '{' && open.back().pushed == 0) {
        Scalar last;
        open.back().pushed = keys(last);
        if (!error_ && peek() != '=') fail(at_, "read.equals");
        if (error_) break;
        handler_.key(path_, last);
        ++at_;
        space(true);
        continue;
      }
      if (c == '[' || c == '{') {
        open.push_back({c, 0});
        if (c == '[') path_.push("[]");
        ++at_;
        continue;
      }
      if (c == '"' || c == '\'') {
        const Scalar s = string();
        if (!error_) handler_.value(path_, s);
        continue;
      }
      Scalar s;
      s.begin = at_;
      while (at_ < text_.size() && std::string_view(",]}#\n\r \t[{=").find(text_[at_]) == std::string_view::npos) ++at_;
      s.end = at_;
      if (s.end == s.begin) {
        fail(at_, "read.value");
        break;
      }
      s.raw = text_.substr(s.begin, s.end - s.begin);
      handler_.value(path_, s);
    } while (!open.empty());
    if (!open.empty() && !error_) fail(start, "read.bracket_end");
  }

  std::string_view text_;
  ConfigHandler& handler_;
  std::size_t at_ = 0;
  KeyPath path_;
  std::optional<ConfigError> error_;
};

}  // namespace

std::optional<ConfigError> read_toml(std::string_view text, ConfigHandler& handler) {
  return Toml(text, handler).run();
}

// YAML as far as keys, values and their places go: block and flow collections, plain, quoted and block scalars,
// anchors, tags, comments, documents. Forgiving of templates ({{ … }}) that fill files in.

namespace {

bool is_blank(char c) { return c == ' ' || c == '\t'; }
bool ends_line(char c) { return c == '\n' || c == '\r'; }

class Yaml {
 public:
  Yaml(std::string_view text, ConfigHandler& handler) : text_(text), handler_(handler) {}

  std::optional<ConfigError> run() {
    if (text_.starts_with("\xef\xbb\xbf")) at_ = 3;
    while (at_ < text_.size() && !error_) line();
    return error_;
  }

 private:
  struct Level {
    std::size_t column;
    bool list;
  };

  char peek(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\n'; }
  bool at_end() const { return at_ >= text_.size() || ends_line(text_[at_]); }
  std::size_t line_end(std::size_t at) const { return std::min(text_.find('\n', at), text_.size()); }
  void next_line() { at_ = std::min(line_end(at_) + 1, text_.size()); }
  void blanks() {
    while (at_ < text_.size() && is_blank(text_[at_])) ++at_;
  }
  void pop() {
    levels_.pop_back();
    path_.pop();
  }
  void fail(std::size_t at, std::string_view key) {
    if (!error_) error_ = ConfigError{at, support::told(key)};
    at_ = text_.size();
  }

  void line() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    std::size_t column = at_ - begin;
    blanks();
    if (at_end() || peek() == '#') {
      next_line();
      return;
    }
    const std::string_view marker = text_.substr(begin, 3);
    const char after = begin + 3 < text_.size() ? text_[begin + 3] : '\n';
    if (column == 0 && ((marker == "---" || marker == "...") && (is_blank(after) || ends_line(after)))) {
      while (!levels_.empty()) pop();
      at_ = begin + 3;
      blanks();
      if (!at_end() && peek() != '#') node(~std::size_t{0}, begin);
      next_line();
      return;
    }
    if (column == 0 && peek() == '%') {
      next_line();
      return;
    }
    while (!levels_.empty() && levels_.back().column > column) pop();
    const bool dash = peek() == '-' && (is_blank(peek(1)) || ends_line(peek(1)));
    while (!levels_.empty() && levels_.back().column == column && levels_.back().list && !dash) pop();
    entries(begin);
    if (at_ < text_.size() && !fresh_line_) next_line();
    fresh_line_ = false;
  }

  /// "- - key: value": what stands on a line from here on.
  void entries(std::size_t begin) {
    for (;;) {
      const std::size_t column = at_ - begin;
      if (peek() == '-' && (is_blank(peek(1)) || ends_line(peek(1)))) {
        if (levels_.empty() || levels_.back().column != column || !levels_.back().list) enter(column, true, "[]");
        ++at_;
        blanks();
        if (at_end() || peek() == '#') return;
        continue;
      }
      if (peek() == '?' && (is_blank(peek(1)) || ends_line(peek(1)))) {
        ++at_;
        blanks();
        if (at_end()) return;
        continue;
      }
      if (peek() == ':' && (is_blank(peek(1)) || ends_line(peek(1)))) ++at_, blanks();
      if (at_end()) return;
      if (!key(column)) {
        node(levels_.empty() ? ~std::size_t{0} : levels_.back().column, begin);
        return;
      }
      blanks();
      if (at_end() || peek() == '#') return;
      node(column, begin);
      return;
    }
  }

  void enter(std::size_t column, bool list, std::string_view key) {
    levels_.push_back({column, list});
    path_.push(key);
  }

  /// "key:" here: read, with what leads to its value.
  bool key(std::size_t column) {
    const std::size_t start = at_;
    while (peek() == '&' || peek() == '!') {
      const std::size_t word = at_;
      while (!at_end() && !is_blank(peek())) ++at_;
      blanks();
      if (at_end() || at_ == word) {
        at_ = start;
        return false;
      }
    }
    Scalar scalar;
    scalar.begin = at_;
    if (peek() == '"' || peek() == '\'') {
      const char quote = peek();
      std::size_t end = at_ + 1;
      while (end < text_.size() && !ends_line(text_[end]) && text_[end] != quote)
        end += text_[end] == '\\' && quote == '"' ? 2 : 1;
      if (end >= text_.size() || text_[end] != quote) {
        at_ = start;
        return false;
      }
      scalar.begin = at_ + 1;
      scalar.end = end;
      scalar.style = Scalar::Style::Quoted;
      at_ = end + 1;
      blanks();
    } else {
      if (std::string_view("[{|>#*@`%").find(peek()) != std::string_view::npos && text_.substr(at_, 2) != "<<") {
        at_ = start;
        return false;
      }
      while (!at_end() && !(peek() == ':' && (is_blank(peek(1)) || ends_line(peek(1)))) &&
             !(peek() == '#' && is_blank(text_[at_ - 1])))
        ++at_;
      scalar.end = at_;
      while (scalar.end > scalar.begin && is_blank(text_[scalar.end - 1])) --scalar.end;
    }
    if (at_end() || peek() != ':' || !(is_blank(peek(1)) || ends_line(peek(1)))) {
      at_ = start;
      return false;
    }
    ++at_;
    scalar.raw = text_.substr(scalar.begin, scalar.end - scalar.begin);
    scalar.direct = scalar.raw.find_first_of("\\'\"") == std::string_view::npos;
    if (levels_.empty() || levels_.back().column != column || levels_.back().list)
      enter(column, false, scalar.raw.substr(0, 200));
    else path_.replace(scalar.raw.substr(0, 200));
    handler_.key(path_, scalar);
    return true;
  }

  /// A value; `parent` is the column of its key or dash, all ones at the top.
  void node(std::size_t parent, std::size_t line_begin) {
    while (peek() == '&' || peek() == '!') {
      while (!at_end() && !is_blank(peek())) ++at_;
      blanks();
    }
    if (at_end() || peek() == '#') return;
    switch (peek()) {
      case '*': return;
      case '|':
      case '>': block(parent); return;
      case '[':
      case '{': flow(); return;
      case '"':
      case '\'': quoted(); return;
      default: plain(parent, line_begin);
    }
  }

  std::size_t column_of(std::size_t line) const {
    const std::size_t first = std::min(text_.find_first_not_of(' ', line), text_.size());
    return first - line;
  }
  bool blank_line(std::size_t line) const {
    const std::size_t first = std::min(text_.find_first_not_of(" \t\r", line), text_.size());
    return first >= text_.size() || text_[first] == '\n';
  }
  /// Does the line belong to a scalar whose parent stands in this column?
  bool deeper(std::size_t line, std::size_t parent) const {
    return parent == ~std::size_t{0} ? text_.substr(line, 3) != "---" && text_.substr(line, 3) != "..."
                                     : column_of(line) > parent;
  }

  void block(std::size_t parent) {
    const bool folded = peek() == '>';
    next_line();
    const std::size_t begin = at_;
    std::size_t end = begin;
    while (at_ < text_.size()) {
      const bool blank = blank_line(at_);
      if (!blank && !deeper(at_, parent)) break;
      next_line();
      if (!blank) end = at_;
    }
    fresh_line_ = true;
    emit(begin, end, folded ? Scalar::Style::Folded : Scalar::Style::Block, false);
  }

  void emit(std::size_t begin, std::size_t end, Scalar::Style style, bool direct) {
    handler_.value(path_, {begin, end, text_.substr(begin, end - begin), style, direct});
  }

  void plain(std::size_t parent, std::size_t) {
    const std::size_t begin = at_;
    std::size_t end = plain_end(at_);
    at_ = end;
    bool one_line = true;
    const bool comment = [&] {
      std::size_t k = end;
      while (k < text_.size() && is_blank(text_[k])) ++k;
      return k < text_.size() && text_[k] == '#';
    }();
    while (!comment) {  // lines that go on
      std::size_t next = std::min(line_end(at_) + 1, text_.size());
      while (next < text_.size() && blank_line(next)) next = std::min(line_end(next) + 1, text_.size());
      if (next >= text_.size() || !deeper(next, parent)) break;
      const std::size_t first = std::min(text_.find_first_not_of(" \t", next), text_.size());
      if (first >= text_.size() || text_[first] == '#') break;
      if (parent == ~std::size_t{0}) break;
      end = plain_end(first);
      one_line = false;
      at_ = std::max(end, first);
    }
    emit(begin, end, one_line ? Scalar::Style::Plain : Scalar::Style::Folded, one_line);
  }

  std::size_t plain_end(std::size_t at) const {
    std::size_t end = at;
    while (at < text_.size() && !ends_line(text_[at])) {
      if (text_[at] == '#' && at > 0 && is_blank(text_[at - 1])) break;
      ++at;
      if (!is_blank(text_[at - 1])) end = at;
    }
    return end;
  }

  Scalar quoted_scalar() {
    const char quote = peek();
    const std::size_t start = at_++;
    Scalar s;
    s.begin = at_;
    s.style = Scalar::Style::Quoted;
    for (;; ++at_) {
      at_ = std::min(text_.find_first_of(quote == '"' ? "\"\\\n" : "'\n", at_), text_.size());
      if (at_ >= text_.size()) {
        fail(start, "read.string_end");
        s.begin = s.end = start;
        return s;
      }
      if (text_[at_] == '\\') {
        s.direct = false;
        ++at_;
      } else if (text_[at_] == '\n') {
        s.direct = false;
      } else if (quote == '\'' && peek(1) == '\'') {
        s.direct = false;
        ++at_;
      } else {
        break;
      }
    }
    s.end = at_++;
    s.raw = text_.substr(s.begin, s.end - s.begin);
    return s;
  }

  void quoted() {
    const Scalar s = quoted_scalar();
    if (!error_) handler_.value(path_, s);
  }

  /// [ … ] and { … } over any number of lines.
  void flow() {
    const std::size_t start = at_;
    std::string open;
    while (at_ < text_.size() && !error_) {
      const char c = text_[at_];
      if (is_blank(c) || ends_line(c)) {
        ++at_;
      } else if (c == '#' && at_ > 0 && (is_blank(text_[at_ - 1]) || ends_line(text_[at_ - 1]))) {
        at_ = line_end(at_);
      } else if (c == '[' || c == '{') {
        open += c;
        path_.push(c == '[' ? "[]" : "");
        ++at_;
      } else if (c == ']' || c == '}') {
        open.pop_back();
        path_.pop();
        ++at_;
        if (open.empty()) return;
      } else if (c == ',') {
        if (open.back() == '{') path_.replace("");
        ++at_;
      } else if (c == ':') {
        ++at_;
      } else if (c == '&' || c == '!' || c == '*') {
        while (at_ < text_.size() && !is_blank(text_[at_]) && !ends_line(text_[at_]) &&
               std::string_view(",]}").find(text_[at_]) == std::string_view::npos)
          ++at_;
      } else {
        flow_scalar(open.back() == '{');
      }
    }
    while (!open.empty()) {
      open.pop_back();
      path_.pop();
    }
    fail(start, "read.bracket_end");
  }

  void flow_scalar(bool map) {
    Scalar s;
    if (peek() == '"' || peek() == '\'') {
      s = quoted_scalar();
      if (error_) return;
    } else {
      s.begin = at_;
      while (at_ < text_.size() && std::string_view(",[]{}\n\r").find(text_[at_]) == std::string_view::npos &&
             !(text_[at_] == ':' &&
               (is_blank(peek(1)) || std::string_view(",[]{}\n\r").find(peek(1)) != std::string_view::npos)) &&
             !(text_[at_] == '#' && is_blank(text_[at_ - 1])))
        ++at_;
      s.end = at_;
      while (s.end > s.begin && is_blank(text_[s.end - 1])) --s.end;
      s.raw = text_.substr(s.begin, s.end - s.begin);
    }
    std::size_t k = at_;
    while (k < text_.size() && is_blank(text_[k])) ++k;
    if (map && k < text_.size() && text_[k] == ':') {
      path_.replace(s.raw.substr(0, 200));
      handler_.key(path_, s);
      at_ = k + 1;
    } else {
      handler_.value(path_, s);
    }
  }

  std::string_view text_;
  ConfigHandler& handler_;
  std::size_t at_ = 0;
  std::vector<Level> levels_;
  KeyPath path_;
  bool fresh_line_ = false;  ///< a block scalar ended: the next line begins here
  std::optional<ConfigError> error_;
};

}  // namespace

std::optional<ConfigError> read_yaml(std::string_view text, ConfigHandler& handler) {
  return Yaml(text, handler).run();
}

}  // namespace updraft::migrate::text
