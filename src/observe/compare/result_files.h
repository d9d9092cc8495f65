// What a comparison leaves: the csv file, the page, the advice.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "observe/compare/comparison.h"

namespace updraft::compare {

/// "result_20261124183512", with the local time.
std::string result_stem();

/// A csv cell: in quotes where it has a comma, a quote or a line's end.
std::string csv_cell(const std::string& text);

std::string result_csv(const Comparison& of, const std::vector<Line>& lines);
/// The table of -map.
std::string mapping_csv(const Comparison& of, const std::vector<Line>& lines);

/// The first operator whose outputs differ though its inputs agree; else the first that differs. None: nothing differs.
struct Divergence {
  size_t line = 0;
  bool inputs_agree = false;
};
/// A tensor differs when its cosine is below `threshold`, or (where there is none) its relative Euclidean distance
/// above 1 - threshold.
bool differs(const Comparison& of, const Line& line, double threshold);
std::optional<Divergence> first_divergence(const Comparison& of, const std::vector<Line>& lines, double threshold);

/// A page of its own: the first divergence on top, then every line. Opens without a network.
std::string result_page(const Comparison& of, const std::vector<Line>& lines, double threshold);

/// The three lines of -advisor.
std::string advice(const Comparison& of, const std::vector<Line>& lines);

/// Writes a whole file; throws Error 100003.
void write_file(const std::string& path, std::string_view text);

}  // namespace updraft::compare
