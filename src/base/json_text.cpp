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
  return nlohmann::json::parse(text, nullptr, true, comments);
}
nlohmann::json try_json(std::string_view text, bool comments) {
  return nlohmann::json::parse(text, nullptr, false, comments);
}
nlohmann::json try_json(std::istream& in) { return nlohmann::json::parse(in, nullptr, false); }

}  // namespace updraft
