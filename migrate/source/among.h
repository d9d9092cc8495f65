// Is a word one of a list?
#pragma once
#include <algorithm>
#include <string_view>

namespace updraft::migrate::source {

/// `list` is a container of string views.
bool among(const auto& list, std::string_view word) noexcept {
  return std::find(list.begin(), list.end(), word) != list.end();
}

}  // namespace updraft::migrate::source
