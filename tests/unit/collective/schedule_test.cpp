// All ranks' schedules are run here on arrays, round by round, with the rules of schedule.h.
#include "collective/algorithm/schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <numeric>
#include <string>

#include "base/error.h"
#include "collective/error.h"
#include "every.h"

namespace updraft::collective {
namespace {

constexpr int kRanks[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 32};

bool divided(Kind kind) { return kind == Kind::AllReduce || kind == Kind::Broadcast || kind == Kind::Reduce; }
uint64_t elements(Kind kind, int p, uint64_t n) { return divided(kind) ? n : n * static_cast<uint64_t>(p); }

/// An element: who is in it (a bit each; none: not filled yet) and the sum.
struct Cell {
  uint64_t who = 0;
  int64_t sum = 0;
  bool operator==(const Cell&) const = default;
};
Cell combine(const Cell& a, const Cell& b) {
  if (a.who & b.who) throw std::logic_error("a contribution is counted twice");
  if (!a.who || !b.who) throw std::logic_error("something that is not filled is combined");
  return {a.who | b.who, a.sum + b.sum};
}
float combine(float a, float b) { return a + b; }
void require_filled(const Cell& c) {
  if (!c.who) throw std::logic_error("something that is not filled is sent");
}
void require_filled(float) {}

using Schedules = std::vector<Schedule>;

/// Throws std::logic_error where the schedules break the rules.
template <class T>
void run(const Schedules& all, std::vector<std::vector<T>>& data) {
  const size_t p = all.size();
  for (const Schedule& schedule : all)
    if (schedule.size() != all[0].size()) throw std::logic_error("the ranks have different numbers of rounds");
  struct Part {
    uint64_t offset;
    std::vector<T> data;
  };
  for (size_t k = 0; k < all[0].size(); ++k) {
    std::map<std::pair<size_t, size_t>, std::vector<Part>> messages;  // from, to
    for (size_t r = 0; r < p; ++r) {
      for (const Transfer& send : all[r][k].sends) {
        const auto to = static_cast<size_t>(send.peer);
        if (send.count == 0 || to == r || to >= p || send.offset + send.count > data[r].size())
          throw std::logic_error("a wrong send");
        const auto begin = data[r].begin() + static_cast<ptrdiff_t>(send.offset);
        messages[{r, to}].push_back({send.offset, {begin, begin + static_cast<ptrdiff_t>(send.count)}});
        for (const T& value : messages[{r, to}].back().data) require_filled(value);
      }
    }
    for (size_t r = 0; r < p; ++r) {
      // element -> the parts that came, by rank
      std::map<uint64_t, std::map<size_t, T>> came;
      for (const Transfer& receive : all[r][k].receives) {
        const auto from = static_cast<size_t>(receive.peer);
        auto& queue = messages[{from, r}];
        if (queue.empty() || queue[0].offset != receive.offset || queue[0].data.size() != receive.count)
          throw std::logic_error("a receive does not match its send");
        for (uint64_t i = 0; i < receive.count; ++i)
          if (!came[receive.offset + i].emplace(from, queue[0].data[i]).second)
            throw std::logic_error("an element comes twice from a rank");
        queue.erase(queue.begin());
      }
      for (auto& [element, parts] : came) {
        if (!all[r][k].combine) {
          if (parts.size() != 1) throw std::logic_error("an element is stored twice");
          data[r][element] = parts.begin()->second;
          continue;
        }
        parts.emplace(r, data[r][element]);
        T result = parts.begin()->second;
        for (auto it = std::next(parts.begin()); it != parts.end(); ++it) result = combine(result, it->second);
        data[r][element] = result;
      }
    }
    for (const auto& [ends, queue] : messages)
      if (!queue.empty()) throw std::logic_error("a send is not received");
  }
}

int64_t value_of(size_t rank, uint64_t element) {
  return static_cast<int64_t>(rank + 1) * 1000003 + static_cast<int64_t>(element) * 7 + 1;
}

/// What every rank starts with, and in `want` what must be where.
std::vector<std::vector<Cell>> start(Kind kind, int ranks, uint64_t n, int root) {
  const auto p = static_cast<size_t>(ranks);
  std::vector<std::vector<Cell>> data(p, std::vector<Cell>(elements(kind, ranks, n)));
  for (size_t r = 0; r < p; ++r) {
    for (uint64_t e = 0; e < data[r].size(); ++e) {
      const bool filled = kind == Kind::AllReduce || kind == Kind::ReduceScatter || kind == Kind::Reduce ||
                          (kind == Kind::AllGather ? e / n == r : r == static_cast<size_t>(root));
      if (filled) data[r][e] = {uint64_t{1} << r, value_of(r, e)};
    }
  }
  return data;
}

std::string wrong(Kind kind, uint64_t n, int root, const std::vector<std::vector<Cell>>& data) {
  const size_t p = data.size();
  for (size_t r = 0; r < p; ++r) {
    for (uint64_t e = 0; e < data[r].size(); ++e) {
      Cell want;
      const auto from = [&](size_t rank) { return Cell{uint64_t{1} << rank, value_of(rank, e)}; };
      const uint64_t block = n > 0 ? e / n : 0;
      bool care = true;
      switch (kind) {
        case Kind::AllGather: want = from(block); break;
        case Kind::Broadcast: want = from(static_cast<size_t>(root)); break;
        case Kind::Scatter:
          want = from(static_cast<size_t>(root));
          care = block == r;
          break;
        default:
          for (size_t rank = 0; rank < p; ++rank) want = {want.who | from(rank).who, want.sum + from(rank).sum};
          care = kind == Kind::AllReduce || (kind == Kind::Reduce ? r == static_cast<size_t>(root) : block == r);
      }
      if (care && !(data[r][e] == want))
        return fmt::format("rank {} element {}: {:x} {} instead of {:x} {}", r, e, data[r][e].who, data[r][e].sum,
                           want.who, want.sum);
    }
  }
  return "";
}

Schedules schedules(Kind kind, Algorithm algorithm, int p, uint64_t n, int root = 0) {
  Schedules all;
  for (int r = 0; r < p; ++r) all.push_back(make_schedule(kind, algorithm, r, p, n, root));
  return all;
}
Schedules grouped(Kind kind, Algorithm algorithm, const std::vector<int>& groups, uint64_t n) {
  Schedules all;
  const int p = std::accumulate(groups.begin(), groups.end(), 0);
  for (int r = 0; r < p; ++r) all.push_back(make_grouped_schedule(kind, algorithm, r, groups, n));
  return all;
}

std::string check(Kind kind, uint64_t n, int root, const Schedules& all) {
  auto data = start(kind, static_cast<int>(all.size()), n, root);
  try {
    run(all, data);
  } catch (const std::logic_error& e) { return e.what(); }
  return wrong(kind, n, root, data);
}

class ScheduleOf : public testing::TestWithParam<Algorithm> {};

TEST_P(ScheduleOf, EveryContributionCountsOnceAndArrives) {
  for (const Kind kind : kKinds) {
    if (!has_schedule(kind, GetParam())) continue;
    const bool rooted = kind == Kind::Broadcast || kind == Kind::Reduce || kind == Kind::Scatter;
    for (const int p : kRanks) {
      const auto ranks = static_cast<uint64_t>(p);
      for (const uint64_t n : {uint64_t{0}, uint64_t{1}, ranks - 1, ranks, 5 * ranks + 3, uint64_t{1000}}) {
        // n = 1000 with p blocks is p * p * 1000 cells: for a few p only
        if (!divided(kind) && n == 1000 && p != 3 && p != 8 && p != 17) continue;
        for (int root = 0; root < (rooted ? p : 1); ++root) {
          if (n > ranks && root > 2 && root != p - 1) continue;
          EXPECT_EQ(check(kind, n, root, schedules(kind, GetParam(), p, n, root)), "")
              << name_of(kind) << " p " << p << " n " << n << " root " << root;
        }
      }
    }
  }
}

TEST_P(ScheduleOf, AllRanksHaveTheSameBits) {
  for (const int p : kRanks) {
    const uint64_t n = 5 * static_cast<uint64_t>(p) + 3;
    std::vector<std::vector<float>> data(static_cast<size_t>(p), std::vector<float>(n));
    for (size_t r = 0; r < data.size(); ++r)
      for (uint64_t e = 0; e < n; ++e) data[r][e] = std::sin(static_cast<float>(r * 31 + e * 17)) * 1e3f;
    std::vector<float> in_order = data[0];
    for (size_t r = 1; r < data.size(); ++r)
      for (uint64_t e = 0; e < n; ++e) in_order[e] += data[r][e];
    run(schedules(Kind::AllReduce, GetParam(), p, n), data);
    for (const auto& mine : data) EXPECT_EQ(std::memcmp(mine.data(), data[0].data(), n * sizeof(float)), 0) << p;
    if (GetParam() == Algorithm::Mesh) {
      EXPECT_EQ(std::memcmp(in_order.data(), data[0].data(), n * sizeof(float)), 0) << p;
    }
  }
}

// Rounds, bytes and combined bytes are the terms of the formula: each is the prediction with the other two for nothing.
TEST_P(ScheduleOf, TermsOfTheFormula) {
  for (const Kind kind : kKinds) {
    if (!has_schedule(kind, GetParam())) continue;
    for (const int p : kRanks) {
      const uint64_t n = 64 * static_cast<uint64_t>(divided(kind) ? p : 1);
      for (const int root : {0, p - 1}) {
        const Schedules all = schedules(kind, GetParam(), p, n, root);
        const bool parallel = GetParam() == Algorithm::Mesh || GetParam() == Algorithm::Pipeline;
        double bytes = 0, combined = 0;
        for (size_t k = 0; k < all[0].size(); ++k) {
          uint64_t most_bytes = 0, most_combined = 0;
          for (const Schedule& schedule : all) {
            uint64_t sent = 0, received = 0;
            std::map<int, uint64_t> links;
            for (const Transfer& t : schedule[k].sends) sent += t.count, links[t.peer] += t.count;
            for (const Transfer& t : schedule[k].receives) received += t.count;
            if (parallel) {
              sent = 0;
              for (const auto& [peer, count] : links) sent = std::max(sent, count);
            }
            most_bytes = std::max(most_bytes, sent);
            if (schedule[k].combine) most_combined = std::max(most_combined, received);
          }
          bytes += static_cast<double>(most_bytes);
          combined += static_cast<double>(most_combined);
        }
        const auto whole = static_cast<double>(elements(kind, p, n));
        const auto where = fmt::format("{} p {} root {}", name_of(kind), p, root);
        EXPECT_EQ(static_cast<double>(all[0].size()), predict(kind, GetParam(), p, whole, {1, 0, 0})) << where;
        const std::vector<int> groups = default_groups(GetParam(), p);
        if (GetParam() == Algorithm::AHC && groups.front() != groups.back()) continue;  // an estimate
        EXPECT_NEAR(bytes, predict(kind, GetParam(), p, whole, {0, 1, 0}), 1e-9 * whole) << where;
        EXPECT_NEAR(combined, predict(kind, GetParam(), p, whole, {0, 0, 1}), 1e-9 * whole) << where;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Schedule, ScheduleOf, testing::ValuesIn(kAlgorithms), [](const auto& info) {
  std::string name = name_of(info.param);
  std::erase_if(name, [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); });
  return name;
});

TEST(Schedule, GroupsOfAnySize) {
  const std::vector<std::vector<int>> all_groups = {{1},       {2, 3}, {3, 2},    {1, 1, 1},       {4, 4, 4},
                                                    {8, 4, 1}, {5, 7}, {1, 6, 2}, {1, 1, 5, 3, 8}, {16, 16}};
  for (const auto& groups : all_groups) {
    for (const Kind kind : {Kind::AllReduce, Kind::ReduceScatter, Kind::AllGather}) {
      for (const uint64_t n : {0, 1, 2, 7, 83}) {
        EXPECT_EQ(check(kind, n, 0, grouped(kind, Algorithm::AHC, groups, n)), "")
            << name_of(kind) << " groups " << groups.size() << " of " << groups[0] << " n " << n;
        if (std::all_of(groups.begin(), groups.end(), [&](int g) { return g == groups[0]; })) {
          EXPECT_EQ(check(kind, n, 0, grouped(kind, Algorithm::Pipeline, groups, n)), "")
              << name_of(kind) << " groups " << groups.size() << " of " << groups[0] << " n " << n;
        }
      }
    }
  }
}

// AHC's point: each element crosses between the groups 2 (G - 1) times for AllReduce, whatever their sizes.
TEST(Schedule, AhcCrossesTheSlowLevelRarely) {
  const std::vector<int> groups = {2, 3, 4};
  const uint64_t n = 120;
  const auto group_of = [](int rank) { return rank < 2 ? 0 : rank < 5 ? 1 : 2; };
  uint64_t crossing = 0;
  const Schedules all = grouped(Kind::AllReduce, Algorithm::AHC, groups, n);
  for (int r = 0; r < 9; ++r)
    for (const Round& round : all[static_cast<size_t>(r)])
      for (const Transfer& t : round.sends) crossing += group_of(t.peer) != group_of(r) ? t.count : 0;
  EXPECT_EQ(crossing, 2 * (groups.size() - 1) * n);
}

TEST(Schedule, CheapForManyRanks) {
  const int p = 16384;
  for (const Algorithm algorithm : {Algorithm::HalvingDoubling, Algorithm::NB}) {
    for (const int rank : {0, 1, 7777, p - 1}) {
      size_t transfers = 0;
      for (const Round& round : make_schedule(Kind::AllReduce, algorithm, rank, p - 1 + (rank == p - 1), 25'000'000))
        transfers += round.sends.size() + round.receives.size();
      EXPECT_LE(transfers, 120u);
    }
  }
  for (const Algorithm algorithm : {Algorithm::Mesh, Algorithm::Ring, Algorithm::NHR}) {
    size_t transfers = 0;
    for (const Round& round : make_schedule(Kind::AllReduce, algorithm, 5, p, 25'000'000))
      transfers += round.sends.size() + round.receives.size();
    EXPECT_LE(transfers, 4u * p);
  }
}

TEST(Schedule, PairwiseMeetsEveryPeerOnce) {
  for (const int p : kRanks) {
    std::vector<std::vector<Exchange>> all;
    for (int r = 0; r < p; ++r) all.push_back(pairwise_peers(r, p));
    for (int r = 0; r < p; ++r) {
      const auto& mine = all[static_cast<size_t>(r)];
      ASSERT_EQ(mine.size(), static_cast<size_t>(p - 1));
      std::vector<int> met(static_cast<size_t>(p));
      for (size_t k = 0; k < mine.size(); ++k) {
        ++met[static_cast<size_t>(mine[k].to)];
        EXPECT_EQ(all[static_cast<size_t>(mine[k].to)][k].from, r);
        EXPECT_EQ(all[static_cast<size_t>(mine[k].from)][k].to, r);
      }
      for (int peer = 0; peer < p; ++peer) EXPECT_EQ(met[static_cast<size_t>(peer)], peer == r ? 0 : 1);
    }
  }
}

template <class F>
std::string refusal(F f) {
  try {
    f();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), result::kPara);
    return e.text();
  }
  return "";
}

TEST(Schedule, Refusals) {
  using enum Algorithm;
  EXPECT_FALSE(has_schedule(Kind::Broadcast, AHC));
  EXPECT_FALSE(has_schedule(Kind::AllToAll, Pairwise));
  EXPECT_FALSE(has_schedule(Kind::AllReduce, Auto));
  EXPECT_NE(refusal([] { make_schedule(Kind::AllReduce, Pairwise, 0, 2, 1); }).find("pairwise"), std::string::npos);
  EXPECT_NE(refusal([] { make_schedule(Kind::Send, Ring, 0, 2, 1); }).find("HcclSend"), std::string::npos);
  EXPECT_NE(refusal([] { make_schedule(Kind::AllReduce, Ring, 2, 2, 1); }).find("[0, 2)"), std::string::npos);
  EXPECT_NE(refusal([] { make_schedule(Kind::AllReduce, Ring, -1, 2, 1); }).find("[0, 2)"), std::string::npos);
  EXPECT_NE(refusal([] { make_schedule(Kind::AllReduce, Ring, 0, 0, 1); }), "");
  EXPECT_NE(refusal([] { make_schedule(Kind::Broadcast, Ring, 0, 2, 1, 2); }).find("root"), std::string::npos);
  EXPECT_NE(refusal([] { make_schedule(Kind::AllGather, Ring, 0, 2, UINT64_MAX); }).find("64 bits"), std::string::npos);
  EXPECT_NE(refusal([] {
              make_grouped_schedule(Kind::AllReduce, Pipeline, 0, {2, 3}, 1);
            }).find("one size"),
            std::string::npos);
  EXPECT_NE(refusal([] { make_grouped_schedule(Kind::AllReduce, AHC, 0, {2, 0}, 1); }), "");
  EXPECT_NE(refusal([] { make_grouped_schedule(Kind::AllReduce, AHC, 0, {}, 1); }), "");
  EXPECT_NE(refusal([] { make_grouped_schedule(Kind::AllReduce, Ring, 0, {2, 2}, 1); }), "");
  EXPECT_NE(refusal([] { predict(Kind::AllToAll, Ring, 4, 1, {1, 1, 1}); }), "");
}

// The formulas of the guide, by hand: 8 ranks, 800 bytes, α = 3, β = 0.5, γ = 0.25.
TEST(Schedule, PredictionsByHand) {
  using enum Algorithm;
  const LinkCost cost{3, 0.5, 0.25};
  const auto all_reduce = [&](Algorithm a) { return predict(Kind::AllReduce, a, 8, 800, cost); };
  EXPECT_DOUBLE_EQ(all_reduce(Mesh), 2 * 3 + 2 * 100 * 0.5 + 700 * 0.25);
  EXPECT_DOUBLE_EQ(all_reduce(Ring), 14 * 3 + 2 * 700 * 0.5 + 700 * 0.25);
  EXPECT_DOUBLE_EQ(all_reduce(HalvingDoubling), 6 * 3 + 2 * 700 * 0.5 + 700 * 0.25);
  EXPECT_DOUBLE_EQ(all_reduce(NHR), 6 * 3 + 2 * 700 * 0.5 + 700 * 0.25);
  EXPECT_DOUBLE_EQ(predict(Kind::Broadcast, Ring, 8, 800, cost), 7 * (3 + 400.0));
  EXPECT_DOUBLE_EQ(predict(Kind::Broadcast, HalvingDoubling, 7, 800, cost), 3 * (3 + 400.0));
  EXPECT_DOUBLE_EQ(predict(Kind::AllToAll, Pairwise, 8, 800, cost), 7 * 3 + 700 * 0.5);
  EXPECT_EQ(predict(Kind::AllReduce, Ring, 1, 800, cost), 0);
}

TEST(Schedule, Choice) {
  const LinkCost cost{10e-6, 1e-10, 1e-11};
  EXPECT_EQ(choose(Kind::AllReduce, 2, 1e6, cost), Algorithm::Ring);  // all the same: the first
  EXPECT_EQ(choose(Kind::AllReduce, 16, 1e6, cost), Algorithm::HalvingDoubling);
  EXPECT_EQ(choose(Kind::AllReduce, 17, 1e6, cost), Algorithm::NHR);
  EXPECT_EQ(choose(Kind::Broadcast, 16, 1e2, cost), Algorithm::HalvingDoubling);  // latency counts
  EXPECT_EQ(choose(Kind::Broadcast, 16, 1e9, cost), Algorithm::NHR);              // bytes count
  EXPECT_EQ(choose(Kind::AllToAll, 16, 1e9, cost), Algorithm::Pairwise);
}

}  // namespace
}  // namespace updraft::collective
