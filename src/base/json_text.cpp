#include "base/json_text.h"

#include <istream>

namespace updraft {
namespace {

template <class Json>
std::string text_of(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

std::string json_text(const nlohmann::json& json, int indent) { return text_of(json, indent); }
std::string json_text(const nlohmann::ordered_json& json, int indent) { return text_of(json, indent); }

nlohmann::json parse_json(std::string_view text, bool comments) {
  using Json = nlohmann::json;
  try {
    return Json::parse(text, nullptr, true, comments);
  } catch (const Json::out_of_range& e) {
    // A number beyond double. The exception does not say where, but it ends with the number in quotation marks.
    std::string number = e.what();
    number = number.substr(0, number.rfind('\''));
    number = number.substr(number.rfind('\'') + 1);
    const size_t at = text.find(number);
    throw Json::parse_error::create(101, at == text.npos ? text.size() : at + 1,
                                    "syntax error: " + number + " is too large for a double", nullptr);
  }
}
nlohmann::json try_json(std::string_view text, bool comments) {
  return nlohmann::json::parse(text, nullptr, false, comments);
}
nlohmann::json try_json(std::istream& in) { return nlohmann::json::parse(in, nullptr, false); }

}  // namespace updraft
