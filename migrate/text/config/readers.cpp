// JSON, INI and TOML; YAML has a file of its own.

#include <algorithm>

#include "migrate/source/bytes.h"
#include "migrate/text/config/reader.h"
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

  void fail(std::size_t at, std::string en, std::string zh) {
    if (!error_) error_ = ConfigError{at, {std::move(en), std::move(zh)}};
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
        fail(at_, "a key was wanted here", "此处应为键");
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
      fail(at_, "a ] was wanted after the name of the table", "表名后应为 ]");
      return;
    }
    at_ += array && peek(1) == ']' ? 2 : 1;
    if (array) path_.push("[]");
  }

  void statement() {
    Scalar last;
    const std::size_t pushed = keys(last);
    if (!error_ && peek() != '=') fail(at_, "a = was wanted after the key", "键后应为 =");
    if (error_) return;
    handler_.key(path_, last);
    ++at_;
    value();
    if (error_) return;
    for (std::size_t i = 0; i < pushed; ++i) path_.pop();
    space(false);
    if (at_ < text_.size() && peek() != '\n')
      fail(at_, "the end of the line was wanted after the value", "值之后应换行");
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
    fail(start, "a string does not end", "字符串没有结束");
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
        if (!error_ && peek() != '=') fail(at_, "a = was wanted after the key", "键后应为 =");
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
        fail(at_, "a value was wanted here", "此处应为值");
        break;
      }
      s.raw = text_.substr(s.begin, s.end - s.begin);
      handler_.value(path_, s);
    } while (!open.empty());
    if (!open.empty() && !error_) fail(start, "a bracket does not close", "括号没有闭合");
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

}  // namespace updraft::migrate::text
