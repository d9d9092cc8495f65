// Operators in a row that torch_npu has one operator for.
#pragma once
#include <cstddef>
#include <deque>
#include <string>

namespace updraft::readiness {

inline constexpr size_t kLongestChain = 24;

/// The chain that the last of these operators (aclnn names, in the order of their calls) completes; "": none.
std::string chain_that_ends(const std::deque<std::string>& latest);

}  // namespace updraft::readiness
