// Element types, and the values that operations are tested with: a rank's element has a value that follows from its
// rank and place, so every result can be computed without communicating.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "hccl/hccl.h"

namespace hccl_test {

/// Values repeat after so many elements: a prime, so that no block lands on another one's values unnoticed.
inline constexpr uint64_t kPeriod = 8191;

struct Number {
  const char* name;
  HcclDataType id;
  uint32_t size;           ///< bytes
  int exponent, mantissa;  ///< bits; 0: an integer
  bool is_signed;

  bool is_float() const { return mantissa != 0; }
  double decode(uint64_t bits) const;
  uint64_t encode(double value) const;        ///< of a value that the type can hold
  static Number of(const std::string& name);  ///< throws std::invalid_argument
  static std::string names();
};

/// Bits of a rank's element. For products the values of floats are powers of two, for the rest small integers;
/// integers take the whole range and wrap around.
uint64_t source(const Number& number, HcclReduceOp op, int rank, uint64_t index);

/// What a result must be: these bits, or, where sums of floats may be rounded in any order, a value not further away.
struct Wanted {
  uint64_t bits;
  double value, tolerance;
};

/// One period of: a rank's elements; the reduction over all ranks.
std::vector<Wanted> elements_of(const Number& number, HcclReduceOp op, int rank);
std::vector<Wanted> reduced(const Number& number, HcclReduceOp op, int ranks);

}  // namespace hccl_test
