#include "migrate/text/notebook/json.h"

#include <cstdio>

#include "migrate/support/messages.h"
#include "migrate/text/sheet.h"

namespace updraft::migrate::text {
namespace {

constexpr std::string_view kBom = "\xef\xbb\xbf";

int hex4(std::string_view text, std::size_t at, std::size_t end) {
  if (at + 4 > end) return -1;
  int value = 0;
  for (std::size_t i = at; i < at + 4; ++i) {
    const char c = text[i];
    const int digit = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                             : -1;
    if (digit < 0) return -1;
    value = value * 16 + digit;
  }
  return value;
}

void append_utf8(std::string& out, unsigned code) {
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xc0 | code >> 6);
    out += static_cast<char>(0x80 | (code & 63));
  } else if (code < 0x10000) {
    out += static_cast<char>(0xe0 | code >> 12);
    out += static_cast<char>(0x80 | (code >> 6 & 63));
    out += static_cast<char>(0x80 | (code & 63));
  } else {
    out += static_cast<char>(0xf0 | code >> 18);
    out += static_cast<char>(0x80 | (code >> 12 & 63));
    out += static_cast<char>(0x80 | (code >> 6 & 63));
    out += static_cast<char>(0x80 | (code & 63));
  }
}

bool is_plain(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '+' || c == '.';
}

bool is_number(std::string_view s) {
  std::size_t i = 0;
  const auto digits = [&] {
    const std::size_t from = i;
    while (i < s.size() && s[i] >= '0' && s[i] <= '9') ++i;
    return i > from;
  };
  if (i < s.size() && s[i] == '-') ++i;
  if (!digits()) return false;
  if (i < s.size() && s[i] == '.') {
    ++i;
    if (!digits()) return false;
  }
  if (i < s.size() && (s[i] == 'e' || s[i] == 'E')) {
    ++i;
    if (i < s.size() && (s[i] == '+' || s[i] == '-')) ++i;
    if (!digits()) return false;
  }
  return i == s.size();
}

}  // namespace

JsonReader::JsonReader(std::string_view text, bool comments) : text_(text), comments_(comments) {
  if (text_.starts_with(kBom)) at_ = kBom.size();
}

bool JsonReader::skip_blank() {
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
      ++at_;
    } else if (comments_ && (c == '#' || text_.substr(at_, 2) == "//")) {
      const std::size_t end = text_.find('\n', at_);
      at_ = end == std::string_view::npos ? text_.size() : end + 1;
    } else if (comments_ && text_.substr(at_, 2) == "/*") {
      const std::size_t end = text_.find("*/", at_ + 2);
      if (end == std::string_view::npos) return false;
      at_ = end + 2;
    } else {
      break;
    }
  }
  return true;
}

JsonReader::Token JsonReader::fail(std::string_view key) {
  error_ = support::told(key);
  want_ = Want::Nothing;
  return {Kind::Error, at_, std::min(at_ + 1, text_.size()), false};
}

void JsonReader::after_value() { want_ = open_.empty() ? Want::Nothing : Want::CommaOrEnd; }

JsonReader::Token JsonReader::close(char bracket) {
  const Kind kind = bracket == '}' ? Kind::ObjectEnd : Kind::ArrayEnd;
  open_.pop_back();
  after_value();
  ++at_;
  return {kind, at_ - 1, at_, false};
}

JsonReader::Token JsonReader::string(Kind kind) {
  const char quote = text_[at_];
  Token token{kind, at_ + 1, 0, false};
  std::size_t i = at_ + 1;
  for (; i < text_.size() && text_[i] != quote; ++i) {
    const auto c = static_cast<unsigned char>(text_[i]);
    if (c < 0x20 && !(comments_ && c == '\t')) {
      at_ = i;
      return fail("read.control");
    }
    if (c != '\\') continue;
    token.escaped = true;
    ++i;
    if (i >= text_.size()) break;
    const char e = text_[i];
    const bool known = std::string_view("\"\\/bfnrt").find(e) != std::string_view::npos || (comments_ && e == '\'');
    if (!known && !(e == 'u' && hex4(text_, i + 1, text_.size()) >= 0)) {
      at_ = i - 1;
      return fail("read.escape");
    }
  }
  if (i >= text_.size()) return fail("read.string_end");
  token.end = i;
  at_ = i + 1;
  if (kind == Kind::Key) want_ = Want::Colon;
  else after_value();
  return token;
}

JsonReader::Token JsonReader::plain() {
  std::size_t i = at_;
  while (i < text_.size() && is_plain(text_[i])) ++i;
  const std::string_view word = text_.substr(at_, i - at_);
  // Python writes the last three
  if (word != "true" && word != "false" && word != "null" && word != "NaN" && word != "Infinity" &&
      word != "-Infinity" && !is_number(word))
    return fail("read.value");
  const Token token{Kind::Plain, at_, i, false};
  at_ = i;
  after_value();
  return token;
}

JsonReader::Token JsonReader::next() {
  for (;;) {
    if (want_ == Want::Nothing && !error_.empty()) return {Kind::Error, at_, at_, false};
    if (!skip_blank()) return fail("read.comment_end");
    if (at_ >= text_.size()) {
      if (want_ == Want::Nothing) return {Kind::End, at_, at_, false};
      if (open_.empty()) return fail("read.empty");
      return fail(open_.back() == '{' ? "read.object_end" : "read.list_end");
    }
    const char c = text_[at_];
    const bool quote = c == '"' || (comments_ && c == '\'');
    switch (want_) {
      case Want::Nothing: return fail("read.more");
      case Want::Colon:
        if (c != ':') return fail("read.colon");
        ++at_;
        want_ = Want::Value;
        continue;
      case Want::CommaOrEnd:
        if (c == (open_.back() == '{' ? '}' : ']')) return close(c);
        if (c != ',') return fail("read.comma");
        ++at_;
        want_ = open_.back() == '{' ? (comments_ ? Want::KeyOrEnd : Want::NextKey)
                                    : (comments_ ? Want::ValueOrEnd : Want::Value);
        continue;
      case Want::KeyOrEnd:
        if (c == '}') return close(c);
        [[fallthrough]];
      case Want::NextKey:
        if (!quote) return fail("read.quoted_key");
        return string(Kind::Key);
      case Want::ValueOrEnd:
        if (c == ']') return close(c);
        [[fallthrough]];
      case Want::Value:
        if (quote) return string(Kind::String);
        if (c != '{' && c != '[') return plain();
        open_.push_back(c);
        want_ = c == '{' ? Want::KeyOrEnd : Want::ValueOrEnd;
        ++at_;
        return {c == '{' ? Kind::ObjectBegin : Kind::ArrayBegin, at_ - 1, at_, false};
    }
  }
}

std::string JsonReader::decoded(const Token& token) const {
  if (!token.escaped) return std::string(raw(token));
  Embedded embedded;
  embed_json(text_, token.begin, token.end, embedded);
  return embedded.text();
}

void embed_json(std::string_view text, std::size_t begin, std::size_t end, Embedded& into) {
  std::size_t at = begin;
  while (at < end) {
    const std::size_t found = text.substr(0, end).find('\\', at);
    const std::size_t stop = found == std::string_view::npos ? end : found;
    into.same(text.substr(at, stop - at), at);
    at = stop;
    if (at + 1 >= end) {
      into.same(text.substr(at, end - at), at);  // a backslash at the end: the tokenizer lets none through
      return;
    }
    std::string bytes;
    std::size_t length = 2;
    switch (text[at + 1]) {
      case 'n': bytes = "\n"; break;
      case 't': bytes = "\t"; break;
      case 'r': bytes = "\r"; break;
      case 'b': bytes = "\b"; break;
      case 'f': bytes = "\f"; break;
      case 'u': {
        const int high = hex4(text, at + 2, end);
        if (high < 0) {
          bytes = "u";
          break;
        }
        length = 6;
        auto code = static_cast<unsigned>(high);
        if (high >= 0xd800 && high < 0xdc00 && text.substr(at + 6, 2) == "\\u") {
          const int low = hex4(text, at + 8, end);
          if (low >= 0xdc00 && low < 0xe000) {
            code = 0x10000 + ((code - 0xd800) << 10) + (static_cast<unsigned>(low) - 0xdc00);
            length = 12;
          }
        }
        append_utf8(bytes, code);
        break;
      }
      default: bytes = text[at + 1];
    }
    into.unit(bytes, at, at + length);
    at += length;
  }
}

std::string json_escaped(std::string_view text, bool ascii) {
  std::string out;
  const auto u = [&](unsigned code) {
    char buffer[8];
    std::snprintf(buffer, sizeof buffer, "\\u%04x", code & 0xffffu);
    out += buffer;
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += static_cast<char>(c);
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (c == '\r') {
      out += "\\r";
    } else if (c < 0x20) {
      u(c);
    } else if (c < 0x80 || !ascii) {
      out += static_cast<char>(c);
    } else {
      const int more = c >= 0xf0 ? 3 : c >= 0xe0 ? 2 : c >= 0xc0 ? 1 : 0;
      unsigned code = more == 3 ? c & 7u : more == 2 ? c & 15u : more == 1 ? c & 31u : c;
      int have = 0;
      while (have < more && i + 1 < text.size() && (static_cast<unsigned char>(text[i + 1]) & 0xc0) == 0x80) {
        code = code << 6 | (static_cast<unsigned char>(text[++i]) & 63u);
        ++have;
      }
      if (code >= 0x10000) {
        u(0xd800 + ((code - 0x10000) >> 10));
        u(0xdc00 + ((code - 0x10000) & 0x3ff));
      } else {
        u(code);
      }
    }
  }
  return out;
}

}  // namespace updraft::migrate::text
