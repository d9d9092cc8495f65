// Which gradients one all-reduce carries: hccl.split.api's strategies, and what they make of a model.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace updraft::collective {

/// Gradients first to last, both included.
struct Segment {
  uint32_t first, last;
};

inline constexpr size_t kMostSegments = 8;
/// Of the data, in percent: what ResNet-50 wants (its last 3.46 % are the 52 gradients nearest to the input).
inline constexpr double kDefaultPercents[] = {96.54, 3.46};

/// Segments end with these gradients: strictly ascending, not negative, at most 8. Throws Error (HCCL_E_PARA, EI0003).
void split_by_index(const std::string& group, std::vector<int64_t> last);
/// Segments have these parts of the data, in percent: not negative, 100 together, at most 8. They win over
/// split_by_index() of the group, whichever came first.
void split_by_size(const std::string& group, std::vector<double> percents);
/// Forgets both; to be called when the group ends.
void forget_split(const std::string& group);

/// What was said of the group, in words; empty where nothing was: for those who keep what they made by it.
std::string split_strategy(const std::string& group);

/// The segments of gradients with these sizes, in the order in which they become ready; logs "segment result".
/// A segment by size ends with the first gradient at which the data so far reaches its percentage; one that got no
/// gradient is left out. Throws when the indices of split_by_index() do not end with the last gradient.
std::vector<Segment> split_gradients(const std::string& group, const std::vector<uint64_t>& bytes);

}  // namespace updraft::collective
