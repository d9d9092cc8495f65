// JSON with the place of every token: without recursion, in linear time, and forgiving of comments where asked.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "migrate/finding.h"

namespace updraft::migrate::text {

class Embedded;

class JsonReader {
 public:
  enum class Kind : std::uint8_t { ObjectBegin, ObjectEnd, ArrayBegin, ArrayEnd, Key, String, Plain, End, Error };
  struct Token {
    Kind kind = Kind::End;
    std::size_t begin = 0, end = 0;  ///< of strings and keys what stands between the quotes
    bool escaped = false;            ///< has a backslash
  };

  /// With `comments`, also // and /* */ and # at the start of a line, commas after the last element, single quotes.
  JsonReader(std::string_view text, bool comments);

  Token next();
  const Text& error() const noexcept { return error_; }  ///< after Kind::Error
  std::size_t depth() const noexcept { return open_.size(); }

  std::string_view raw(const Token& token) const { return text_.substr(token.begin, token.end - token.begin); }
  std::string decoded(const Token& token) const;

 private:
  enum class Want : std::uint8_t { Value, ValueOrEnd, KeyOrEnd, NextKey, Colon, CommaOrEnd, Nothing };

  bool skip_blank();  ///< false at a comment that does not end
  Token fail(std::string_view key);
  Token close(char bracket);
  Token string(Kind kind);
  Token plain();
  void after_value();

  std::string_view text_;
  bool comments_;
  std::size_t at_ = 0;
  std::vector<char> open_;  ///< '{' or '['
  Want want_ = Want::Value;
  Text error_;
};

/// The text of a string's content appended to `into`, escapes resolved.
void embed_json(std::string_view text, std::size_t begin, std::size_t end, Embedded& into);
/// As the content of a JSON string; `ascii` escapes everything else.
std::string json_escaped(std::string_view text, bool ascii);

}  // namespace updraft::migrate::text
