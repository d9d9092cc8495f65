// JSON as users write it into option files: with // and # comments, and commas before a closing bracket.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace updraft::graph {

/// Throws OptionError with the option's name, the file, and the place.
nlohmann::json parse_relaxed_json(const std::string& option, const std::string& file, const std::string& text);

}  // namespace updraft::graph
