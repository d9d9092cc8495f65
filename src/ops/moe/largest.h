// The best experts of a row of scores.
#pragma once
#include <cstdint>
#include <vector>

namespace updraft::moe {

/// order = the indices of the k largest of n numbers, the first of equal ones first.
void largest(const float* x, int64_t n, int64_t k, std::vector<int64_t>& order);

}  // namespace updraft::moe
