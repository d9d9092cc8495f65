// What was meant by a name that there is not.
#pragma once
#include <algorithm>
#include <cctype>
#include <cstddef>
#include <functional>
#include <ranges>
#include <string_view>
#include <utility>
#include <vector>

namespace updraft {

/// Letters to insert, leave out or replace to make one name of the other; small and capital letters are the same.
inline size_t edit_distance(std::string_view a, std::string_view b) {
  const auto same = [](char x, char y) {
    return std::tolower(static_cast<unsigned char>(x)) == std::tolower(static_cast<unsigned char>(y));
  };
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t corner = std::exchange(row[0], i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = corner + (same(a[i - 1], b[j - 1]) ? 0 : 1);
      corner = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row.back();
}

/// The name of a range that is nearest to `name`, the first of equals. `view(element)` gives its name. The range is not
/// empty.
template <class Range, class View = std::identity>
std::string_view nearest_name(std::string_view name, const Range& range, View view = {}) {
  return std::invoke(view, *std::ranges::min_element(range, {}, [&](const auto& element) {
                       return edit_distance(name, std::invoke(view, element));
                     }));
}

}  // namespace updraft
