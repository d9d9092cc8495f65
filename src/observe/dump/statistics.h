// Figures of a tensor: what a dump writes of it in place of its data, and what messages say of an operator's arguments.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "tensor/view.h"

namespace updraft::dump {

/// Of the finite elements: least, greatest, mean; of all: how many are not. Parts of complex numbers count each.
struct Statistics {
  int64_t count = 0;  ///< elements
  int64_t nan = 0, positive_infinity = 0, negative_infinity = 0;
  double min = 0, max = 0, mean = 0;  ///< NaN where no element is finite
  double l2 = 0;                      ///< root of the sum of the squares of the finite ones
  bool finite() const { return nan == 0 && positive_infinity == 0 && negative_infinity == 0; }
};
/// Of types that this library computes with; of others all are 0 but the count.
Statistics statistics_of(const TensorView& view);

/// True when all elements are finite; types without NaN and infinity always are. Leaves off at the first that is not.
bool all_finite(const TensorView& view);
/// True when some element of a float16 tensor has the largest magnitude that the type has (65504).
bool has_largest(const TensorView& view);

/// "min -1.5, max 2, mean 0.25" and ", 3 NaN" where there are some.
std::string describe(const Statistics& statistics);

/// Copies the elements in row-major order to `to`, which has view.bytes().
void copy_elements(const TensorView& view, std::byte* to);
/// The same in pieces of a few MiB, one after the other: no second tensor is needed to write one.
void copy_pieces(const TensorView& view, const std::function<void(const std::byte*, size_t)>& take);

}  // namespace updraft::dump
