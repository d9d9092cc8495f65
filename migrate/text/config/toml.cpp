// TOML: tables, dotted keys, strings of all four kinds, arrays and inline tables over any number of lines.
#include <algorithm>

#include "migrate/source/bytes.h"

#include "migrate/text/config/reader.h"

namespace updraft::migrate::text {
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
