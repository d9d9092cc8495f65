// What a source imports, read off its lines without parsing it.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace updraft::migrate::names {

/// Modules of its import statements as written, relative ones with their dots; of `from m import a, b` m, m.a and m.b.
std::vector<std::string> imported_modules(std::string_view text);

}  // namespace updraft::migrate::names
