// What differs within a line.
#pragma once
#include <string_view>
#include <utility>
#include <vector>

namespace updraft::migrate::report {

/// A line in pieces: those at even places are as in the other line, those at odd places differ. Pieces may be empty.
using Pieces = std::vector<std::string_view>;

/// Compares word by word. Lines that have little in common are one piece each, with nothing marked.
std::pair<Pieces, Pieces> highlight(std::string_view before, std::string_view after);

/// The line with the bytes [begin, end) marked.
Pieces mark(std::string_view line, std::size_t begin, std::size_t end);

}  // namespace updraft::migrate::report
