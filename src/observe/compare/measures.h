// The ten measures of how two arrays differ, in the terms and the texts of msaccucmp.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "observe/compare/array.h"

namespace updraft::compare {

enum Measure : uint8_t {
  kCosineSimilarity,
  kMaxAbsoluteError,
  kAccumulatedRelativeError,
  kRelativeEuclideanDistance,
  kKullbackLeiblerDivergence,
  kStandardDeviation,
  kMeanAbsoluteError,
  kRootMeanSquareError,
  kMaxRelativeError,
  kMeanRelativeError,
  kMeasures
};
const char* name_of(Measure measure);

/// Figures of two arrays x (mine) and y (golden) of the same number of elements, as float32 numbers; sums are of double
/// precision.
struct Figures {
  int64_t count = 0;
  double xy = 0, xx = 0, yy = 0;          ///< sums of products
  double max_absolute = 0, absolute = 0;  ///< of |x - y|: greatest, sum
  double square = 0;                      ///< sum of (x - y)^2
  double max_relative = 0, relative = 0;  ///< of |x / y - 1| where |y| > 2.2e-16: greatest, sum
  double x_sum = 0, y_sum = 0;
  float x_min = 0, x_max = 0, y_min = 0, y_max = 0;
  double x_deviation = 0, y_deviation = 0;  ///< standard deviations
  double divergence = 0;
  bool nan = false;  ///< some difference is NaN
};
/// Uses up to `threads` threads. The first `most` elements only, where it is not 0.
Figures figures_of(const Array& x, const Array& y, int threads, int64_t most = 0);

/// The cell of a table; where a measure has no meaning "NaN" and a reason.
struct Cell {
  std::string text;
  std::string reason;
  double value = 0;  ///< NaN where it is none
};
/// `scalar`: all sizes are 1. Names of the files are for reasons.
Cell cell_of(Measure measure, const Figures& figures, bool scalar, const std::string& mine, const std::string& golden);

/// All cells of the chosen measures.
struct Row {
  std::vector<Cell> cells;
  std::vector<std::string> reasons;
};
Row measure(const Array& x, const Array& y, const std::vector<Measure>& chosen, const std::string& mine,
            const std::string& golden, int threads, int64_t most = 0);

/// "all", or numbers and names by commas. Throws Error 100000 that names what is not known.
std::vector<Measure> parse_measures(const std::string& text);

/// "0.000123"; "nan" and "inf" as Python writes them.
std::string number_text(double value);

}  // namespace updraft::compare
