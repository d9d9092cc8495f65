// JSON as text and back. nlohmann's code for both is large, so it is in one source.
#pragma once
#include <iosfwd>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace updraft {

/// In one line, or with so many blanks a level. Bytes that are no UTF-8 are replaced.
std::string json_text(const nlohmann::json& json, int indent = -1);
std::string json_text(const nlohmann::ordered_json& json, int indent = -1);

/// Throws nlohmann::json::parse_error where the text is none. `comments` are passed over.
nlohmann::json parse_json(std::string_view text, bool comments = false);
/// What is_discarded() where the text is none.
nlohmann::json try_json(std::string_view text, bool comments = false);
nlohmann::json try_json(std::istream& in);

}  // namespace updraft
