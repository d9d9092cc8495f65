#include "collective/fusion/gradient_split.h"

#include <cmath>
#include <iterator>
#include <map>
#include <mutex>

#include "base/log.h"
#include "collective/error.h"
#include "collective/topology/groups.h"

namespace updraft::collective {
namespace {

struct Strategy {
  std::vector<int64_t> last;
  std::vector<double> percents;
};
std::mutex g_mutex;
std::map<std::string, Strategy>& strategies() {
  static auto* all = new std::map<std::string, Strategy>;
  return *all;
}

void check_group(const std::string& group) {
  // A script may set the world's strategy before anything says what the world is.
  if (group == kWorldGroup) return;
  find_group(group);
}

void check_number(size_t segments) {
  if (segments < 1 || segments > kMostSegments)
    throw Error(result::kPara, "EI0003: {} segments; want 1 to {}", segments, kMostSegments);
}

std::vector<Segment> by_index(const std::vector<int64_t>& last, const std::string& group, uint32_t gradients) {
  if (last.back() != static_cast<int64_t>(gradients) - 1)
    throw Error(
        result::kPara,
        "EI0003: set_split_strategy_by_idx([{}]) for group {}: there are {} gradients, so that the last index must "
        "be {}",
        fmt::join(last, ", "), group, gradients, gradients - 1);
  std::vector<Segment> segments;
  uint32_t first = 0;
  for (int64_t end : last) {
    segments.push_back({first, static_cast<uint32_t>(end)});
    first = static_cast<uint32_t>(end) + 1;
  }
  return segments;
}

std::vector<Segment> by_size(const std::vector<double>& percents, const std::vector<uint64_t>& bytes) {
  double total = 0;
  for (uint64_t b : bytes) total += static_cast<double>(b);
  const auto gradients = static_cast<uint32_t>(bytes.size());
  std::vector<Segment> segments;
  uint32_t first = 0, next = 0;
  double data = 0, percent = 0;
  for (size_t i = 0; i + 1 < percents.size() && total > 0; ++i) {
    percent += percents[i];
    // a hair less: 33.3 + 33.3 + 33.4 is not 100 in binary
    while (next < gradients && data < total * (percent / 100 - 1e-12)) data += static_cast<double>(bytes[next++]);
    if (next > first) segments.push_back({first, next - 1});
    first = next;
  }
  if (gradients > first) segments.push_back({first, gradients - 1});
  return segments;
}

}  // namespace

void split_by_index(const std::string& group, std::vector<int64_t> last) {
  check_group_name(group);
  check_number(last.size());
  for (size_t i = 0; i < last.size(); ++i) {
    if (last[i] < 0 || last[i] > INT32_MAX)
      throw Error(result::kPara, "EI0003: gradient index {} in [{}]: want 0 to {}", last[i], fmt::join(last, ", "),
                  INT32_MAX);
    if (i > 0 && last[i] <= last[i - 1])
      throw Error(result::kPara, "EI0003: gradient index {} comes after {} in [{}]: want ascending indices", last[i],
                  last[i - 1], fmt::join(last, ", "));
  }
  check_group(group);
  std::lock_guard lock(g_mutex);
  strategies()[group].last = std::move(last);
}

void split_by_size(const std::string& group, std::vector<double> percents) {
  check_group_name(group);
  check_number(percents.size());
  double sum = 0;
  for (double p : percents) {
    if (!(p >= 0 && p <= 100))
      throw Error(result::kPara, "EI0003: a segment of {} % in [{}]: want 0 to 100", p, fmt::join(percents, ", "));
    sum += p;
  }
  if (std::abs(sum - 100) > 1e-6)
    throw Error(result::kPara, "EI0003: the percentages [{}] are {} together: want 100", fmt::join(percents, ", "),
                sum);
  check_group(group);
  std::lock_guard lock(g_mutex);
  strategies()[group].percents = std::move(percents);
}

void forget_split(const std::string& group) {
  std::lock_guard lock(g_mutex);
  strategies().erase(group);
}

std::string split_strategy(const std::string& group) {
  std::lock_guard lock(g_mutex);
  const auto found = strategies().find(group);
  if (found == strategies().end()) return {};
  const Strategy& strategy = found->second;
  return strategy.percents.empty() ? fmt::format("indices {}", fmt::join(strategy.last, ","))
                                   : fmt::format("sizes {}", fmt::join(strategy.percents, ","));
}

std::vector<Segment> split_gradients(const std::string& group, const std::vector<uint64_t>& bytes) {
  check_group_name(group);
  if (bytes.size() > INT32_MAX)
    throw Error(result::kPara, "EI0003: {} gradients; want at most {}", bytes.size(), INT32_MAX);
  Strategy strategy;
  {
    std::lock_guard lock(g_mutex);
    if (auto found = strategies().find(group); found != strategies().end()) strategy = found->second;
  }
  if (bytes.empty()) return {};
  if (strategy.percents.empty() && strategy.last.empty())
    strategy.percents.assign(std::begin(kDefaultPercents), std::end(kDefaultPercents));
  const std::vector<Segment> segments = strategy.percents.empty()
                                            ? by_index(strategy.last, group, static_cast<uint32_t>(bytes.size()))
                                            : by_size(strategy.percents, bytes);
  std::string list;
  for (const Segment& s : segments) list += fmt::format(" [{},{}]", s.first, s.last);
  UPDRAFT_LOG(kInfo, "HCCL", "segment result of group {}: segment index list:{}", group, list);
  return segments;
}

}  // namespace updraft::collective
