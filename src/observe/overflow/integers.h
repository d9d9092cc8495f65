// Overflow of integers: sums, differences, products and negations that their type cannot hold, and negative numbers
// that become unsigned.
#pragma once
#include <cstdint>

#include "device/observer.h"

namespace updraft::overflow {

inline constexpr uint64_t kNegationOfSmallest = 0x8;  ///< -(-128) in int8
inline constexpr uint64_t kIntegerArithmetic = 0x10;
inline constexpr uint64_t kNegativeToUnsigned = 0x80;  ///< a negative float

/// The bits of the AI Core's status that the operator will set, from what it is about to read; 0 for operators that do
/// none of this. Call it before the operator runs.
uint64_t integer_status(const TaskEvent& task);

}  // namespace updraft::overflow
