// JSON files of the interface's calls.
#pragma once
#include <nlohmann/json.hpp>

namespace updraft {

/// The object in a file; an empty file is an empty object. Throws Error 100003 when it cannot be read, 100006 when it
/// is no JSON object.
nlohmann::json read_json_object(const char* path);

}  // namespace updraft
