// JSON that is written as it goes, in the bytes of nlohmann's dump(): a report has a hundred thousand values, and a
// document of them takes longer to build than to write.
#pragma once
#include <charconv>
#include <concepts>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "migrate/report/files.h"

namespace updraft::migrate::report {

class Writer {
 public:
  explicit Writer(std::string& out) : out_(out) {}

  Writer& open(char bracket) {
    between();
    out_ += bracket;
    first_ = true;
    return *this;
  }
  Writer& close(char bracket) {
    out_ += bracket;
    first_ = false;
    return *this;
  }
  Writer& key(std::string_view name) {
    between();
    quoted(name);
    out_ += ':';
    first_ = true;
    return *this;
  }
  Writer& value(std::string_view text) {
    between();
    quoted(text);
    return *this;
  }
  Writer& value(bool yes) {
    between();
    out_ += yes ? "true" : "false";
    return *this;
  }
  Writer& value(std::unsigned_integral auto number) {
    between();
    char digits[24];
    out_.append(digits, std::to_chars(digits, digits + sizeof digits, std::uint64_t{number}).ptr);
    return *this;
  }
  /// JSON as it is.
  Writer& raw(std::string_view json) {
    between();
    out_ += json;
    return *this;
  }
  /// "NAME": VALUE
  Writer& field(std::string_view name, const auto& of) {
    key(name);
    if constexpr (std::convertible_to<decltype(of), std::string_view>) return value(std::string_view(of));
    else return value(of);
  }

 private:
  void between() {
    if (!first_) out_ += ',';
    first_ = false;
  }

  void quoted(std::string_view text) {
    if (!is_utf8(text)) {  // what is none becomes U+FFFD
      using Json = nlohmann::ordered_json;
      out_ += Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
      return;
    }
    out_ += '"';
    std::size_t plain = 0;
    for (std::size_t at = 0; at < text.size(); ++at) {
      const auto c = static_cast<unsigned char>(text[at]);
      if (c >= 0x20 && c != '"' && c != '\\') continue;
      out_ += text.substr(plain, at - plain);
      plain = at + 1;
      escaped(c);
    }
    out_ += text.substr(plain);
    out_ += '"';
  }

  void escaped(unsigned char c) {
    constexpr std::string_view known = "\b\t\n\f\r\"\\", letters = "btnfr\"\\", digits = "0123456789abcdef";
    out_ += '\\';
    if (const std::size_t at = known.find(static_cast<char>(c)); at != std::string_view::npos) {
      out_ += letters[at];
    } else {
      out_ += "u00";
      out_ += digits[c >> 4];
      out_ += digits[c & 15];
    }
  }

  std::string& out_;
  bool first_ = true;  // nothing stands before the next value
};

}  // namespace updraft::migrate::report
