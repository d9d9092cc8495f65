// Files that options name.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace updraft::graph {

/// What stands in the file. Throws OptionError where it is missing, empty, no file or cannot be read.
std::string option_file_text(const std::string& option, const std::string& path);

/// JSON as users write it: with // and # comments, and commas before a closing bracket. Throws OptionError with the
/// option's name, the file, and the place.
nlohmann::json parse_relaxed_json(const std::string& option, const std::string& file, const std::string& text);

}  // namespace updraft::graph
