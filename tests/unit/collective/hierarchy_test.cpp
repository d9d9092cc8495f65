// Schedules of two levels, and of blocks of different sizes: run here on arrays, where an element is the set of members
// whose part is in it.
#include <gtest/gtest.h>

#include <map>
#include <numeric>

#include "base/error.h"
#include "collective/algorithm/division.h"
#include "every.h"

namespace updraft::collective {
namespace {

const std::vector<std::vector<int>> kGroups = {{1},       {2},          {3},    {1, 1},          {3, 1},    {1, 3, 2},
                                               {2, 3, 4}, {5, 1, 1, 1}, {4, 4}, {1, 1, 1, 1, 1}, {3, 3, 3}, {7, 5}};

bool blocks(Kind kind) { return kind == Kind::ReduceScatter || kind == Kind::AllGather || kind == Kind::Scatter; }

using Buffers = std::vector<std::vector<uint64_t>>;  // by member, element: a bit for each member; 0: not filled yet

void run(const std::vector<Schedule>& all, Buffers& data) {
  const size_t p = all.size();
  for (const Schedule& s : all) ASSERT_EQ(s.size(), all[0].size()) << "members have different numbers of rounds";
  for (size_t k = 0; k < all[0].size(); ++k) {
    const Buffers before = data;
    std::map<std::pair<size_t, size_t>, std::vector<Transfer>> sent;  // from, to
    for (size_t r = 0; r < p; ++r)
      for (const Transfer& t : all[r][k].sends) {
        ASSERT_TRUE(t.count > 0 && t.offset + t.count <= data[r].size() && static_cast<size_t>(t.peer) != r);
        sent[{r, static_cast<size_t>(t.peer)}].push_back(t);
      }
    for (size_t r = 0; r < p; ++r)
      for (const Transfer& t : all[r][k].receives) {
        const auto from = static_cast<size_t>(t.peer);
        auto& queue = sent[{from, r}];
        ASSERT_FALSE(queue.empty());
        ASSERT_EQ(queue[0].offset, t.offset);
        ASSERT_EQ(queue[0].count, t.count);
        queue.erase(queue.begin());
        for (uint64_t e = t.offset; e < t.offset + t.count; ++e) {
          ASSERT_NE(before[from][e], 0u) << "nothing is there to be sent";
          ASSERT_FALSE(all[r][k].combine && (data[r][e] & before[from][e])) << "a part counts twice";
          data[r][e] = all[r][k].combine ? data[r][e] | before[from][e] : before[from][e];
        }
      }
    for (const auto& [ends, queue] : sent) ASSERT_TRUE(queue.empty()) << "a send is not received";
  }
}

void try_one(Kind kind, const LevelAlgorithms& algorithms, const std::vector<int>& groups,
             const std::vector<uint64_t>& borders, int root) {
  const int p = std::accumulate(groups.begin(), groups.end(), 0);
  std::vector<Schedule> all;
  for (int r = 0; r < p; ++r) all.push_back(make_hierarchical_schedule(kind, algorithms, r, groups, borders, root));
  const uint64_t everyone = (uint64_t{1} << p) - 1;
  const auto owner = [&](uint64_t e) {
    int b = 0;
    while (blocks(kind) && e >= borders[static_cast<size_t>(b) + 1]) ++b;
    return b;
  };
  Buffers data(static_cast<size_t>(p), std::vector<uint64_t>(borders.back()));
  for (int r = 0; r < p; ++r)
    for (uint64_t e = 0; e < borders.back(); ++e)
      if (reduces(kind) || (kind == Kind::AllGather ? owner(e) == r : r == root))
        data[static_cast<size_t>(r)][e] = uint64_t{1} << r;
  ASSERT_NO_FATAL_FAILURE(run(all, data));
  for (int r = 0; r < p; ++r)
    for (uint64_t e = 0; e < borders.back(); ++e) {
      const bool matters = kind == Kind::Reduce                                   ? r == root
                           : kind == Kind::ReduceScatter || kind == Kind::Scatter ? owner(e) == r
                                                                                  : true;
      const int source = kind == Kind::AllGather ? owner(e) : root;
      const uint64_t want = reduces(kind) ? everyone : uint64_t{1} << source;
      ASSERT_TRUE(!matters || data[static_cast<size_t>(r)][e] == want) << "member " << r << " element " << e;
    }
}

TEST(Hierarchy, EveryPairOfAlgorithmsAndSizes) {
  for (const auto& groups : kGroups) {
    const int p = std::accumulate(groups.begin(), groups.end(), 0);
    for (const Kind kind : kKinds)
      for (const Algorithm inside : kAlgorithms)
        for (const Algorithm between : kAlgorithms) {
          if (!has_schedule(kind, inside) || !has_schedule(kind, between)) continue;
          for (const uint64_t n : {0u, 1u, 5u, 12u, 37u}) {
            std::vector<uint64_t> borders = {0};
            if (!blocks(kind)) borders.push_back(n);
            else  // blocks of different sizes, some of nothing
              for (int b = 0; b < p; ++b) borders.push_back(borders.back() + (n * static_cast<uint64_t>(b + 3)) % 7);
            const bool rooted = kind == Kind::Broadcast || kind == Kind::Reduce || kind == Kind::Scatter;
            for (int root = 0; root < (rooted ? p : 1); ++root) {
              SCOPED_TRACE(std::string(name_of(kind)) + " " + name_of(inside) + " " + name_of(between) + " " +
                           std::to_string(groups.size()) + " groups, n " + std::to_string(n) + " root " +
                           std::to_string(root));
              ASSERT_NO_FATAL_FAILURE(try_one(kind, {inside, between}, groups, borders, root));
            }
          }
        }
  }
}

/// What a member sends to other groups.
uint64_t crossing(const Schedule& schedule, const std::vector<int>& groups, int me) {
  const auto group_of = [&](int member) {
    size_t g = 0;
    while (member >= groups[g]) member -= groups[g++];
    return g;
  };
  uint64_t n = 0;
  for (const Round& round : schedule)
    for (const Transfer& t : round.sends)
      if (group_of(t.peer) != group_of(me)) n += t.count;
  return n;
}

TEST(Hierarchy, LittleCrossesTheUpperLevel) {
  // Of 3 + 1 members the three share what goes to the other group: n elements each way, whatever is inside.
  const std::vector<int> groups = {3, 1};
  constexpr uint64_t n = 3000;
  for (const Algorithm a : {Algorithm::Ring, Algorithm::HalvingDoubling, Algorithm::NHR, Algorithm::NB}) {
    uint64_t up = 0;
    for (int r = 0; r < 3; ++r) {
      const uint64_t mine = crossing(make_hierarchical_schedule(Kind::AllReduce, {a, a}, r, groups, {0, n}), groups, r);
      EXPECT_EQ(mine, n / 3) << name_of(a);
      up += mine;
    }
    EXPECT_EQ(up, n);
    EXPECT_EQ(crossing(make_hierarchical_schedule(Kind::AllReduce, {a, a}, 3, groups, {0, n}), groups, 3), n);
  }
}

TEST(Hierarchy, PiecesCoverEveryMembersShare) {
  for (const auto& sizes : kGroups)
    for (int g = 0; g < static_cast<int>(sizes.size()); ++g) {
      const int size = sizes[static_cast<size_t>(g)];
      for (int i = 0; i < size; ++i) {
        const auto pieces = pieces_of(sizes, g, i);
        ASSERT_FALSE(pieces.empty());
        EXPECT_EQ(pieces.front().from, (Fraction{static_cast<uint64_t>(i), static_cast<uint64_t>(size)}));
        EXPECT_EQ(pieces.back().to, (Fraction{static_cast<uint64_t>(i) + 1, static_cast<uint64_t>(size)}));
        for (size_t k = 0; k < pieces.size(); ++k) {
          if (k) { EXPECT_EQ(pieces[k].from, pieces[k - 1].to); }
          EXPECT_EQ(pieces[k].owners[static_cast<size_t>(g)], i);
          for (size_t other = 0; other < sizes.size(); ++other) {  // each owner has the same piece
            bool found = false;
            for (const Piece& theirs : pieces_of(sizes, static_cast<int>(other), pieces[k].owners[other]))
              found |= theirs.from == pieces[k].from && theirs.to == pieces[k].to && theirs.owners == pieces[k].owners;
            EXPECT_TRUE(found);
          }
        }
      }
    }
}

TEST(Hierarchy, ExtentsBeyondWhatAProductHolds) {
  const uint64_t n = uint64_t{1} << 63;
  const Extent all({0, n});
  EXPECT_EQ(all.at({1, 3}), n / 3);
  EXPECT_EQ(all.at({2, 3}), n / 3 * 2 + 1);
  EXPECT_EQ(all.at({3, 3}), n);
  const Extent uneven({10, 20, 20, 50});
  EXPECT_EQ(uneven.at({0, 1}), 10u);
  EXPECT_EQ(uneven.at({1, 6}), 15u);
  EXPECT_EQ(uneven.at({1, 2}), 20u);
  EXPECT_EQ(uneven.at({5, 6}), 35u);
}

TEST(Hierarchy, RefusesWhatDoesNotFit) {
  const auto make = [](Kind kind, std::vector<int> groups, std::vector<uint64_t> borders, int root = 0) {
    return make_hierarchical_schedule(kind, {Algorithm::Ring, Algorithm::NB}, 0, groups, borders, root);
  };
  EXPECT_THROW(make(Kind::AllReduce, {2, 2}, {0, 1, 2, 3, 4}), Error);
  EXPECT_THROW(make(Kind::AllGather, {2, 2}, {0, 4}), Error);
  EXPECT_THROW(make(Kind::Broadcast, {2, 2}, {0, 4}, 4), Error);
  EXPECT_THROW(make(Kind::AllReduce, {2, 0}, {0, 4}), Error);
  EXPECT_THROW(make(Kind::AllReduce, {}, {0, 4}), Error);
  EXPECT_THROW(make_hierarchical_schedule(Kind::Broadcast, {Algorithm::AHC, Algorithm::NB}, 0, {2, 2}, {0, 4}), Error);
}

}  // namespace
}  // namespace updraft::collective
