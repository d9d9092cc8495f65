// The files of page/ as they were when the program was built (cmake/embed.cmake).
#pragma once
#include <span>
#include <string_view>

namespace updraft::migrate::report {

/// A file of page/ by its name ("page.js"); empty where there is none.
std::string_view embedded(std::string_view name);
std::span<const std::string_view> embedded_names();

}  // namespace updraft::migrate::report
