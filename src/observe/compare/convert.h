// Conversion of dump files into arrays, and the report of overflows.
#pragma once
#include <optional>
#include <string>
#include <vector>

namespace updraft::compare {

struct ConvertOptions {
  std::string from;  ///< a file, files by commas, or a folder
  std::string output = ".";
  std::string type = "npy";                ///< npy, bin, msnpy, pt
  std::string format;                      ///< -f: the layout to convert to
  std::vector<int64_t> shape;              ///< -s
  std::optional<int> input, output_index;  ///< -i, -o: that tensor alone
  int threads = 0;
};
/// Says on stdout what it wrote. Returns how many files could not be converted; each is told on stderr.
int convert(const ConvertOptions& options);

struct OverflowOptions {
  std::string from, output;
  int top = 1;
};
/// Writes overflow_summary_TIME.txt and what it converted, and prints the summary. Returns how many overflows there
/// are.
int report_overflows(const OverflowOptions& options);

}  // namespace updraft::compare
