// The loops behind the measures, in blocks of floats.
#pragma once
#include <cstddef>
#include <limits>

namespace updraft::compare {

/// Sums over pairs of elements.
struct Sums {
  double xy = 0, xx = 0, yy = 0, absolute = 0, square = 0, relative = 0, x = 0, y = 0;
  float max_absolute = 0, max_relative = 0;
  float x_min = std::numeric_limits<float>::infinity(), x_max = -std::numeric_limits<float>::infinity();
  float y_min = std::numeric_limits<float>::infinity(), y_max = -std::numeric_limits<float>::infinity();
  bool nan = false;        ///< some difference is NaN
  bool nan_input = false;  ///< some element is NaN
  void add(const Sums& other);
};
void add_sums(Sums& to, const float* x, const float* y, size_t n);

/// How an array is scaled to [0, 1], and its mean.
struct Scale {
  float min, range;
  double mean;
};
struct Spread {
  double x_sum = 0, y_sum = 0;        ///< of the scaled elements, each at least 1.2e-7
  double x_square = 0, y_square = 0;  ///< of the squared distances from the mean
  void add(const Spread& other);
};
void add_spread(Spread& to, const Scale& sx, const Scale& sy, const float* x, const float* y, size_t n);

/// The sum of p ln(p / q), where p and q are the scaled elements by their sums.
double divergence_of(const Scale& sx, const Scale& sy, float x_sum, float y_sum, const float* x, const float* y,
                     size_t n);

}  // namespace updraft::compare
