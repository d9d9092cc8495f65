// What the ranks of several hosts do together (between.h), run here on sets: an element is where it comes from, and a
// bit for each host whose part is in it. What a host's ranks have for each other is done before and after, as they do
// it in memory. And how a round's data lands (landing.h).
#include "collective/algorithm/between.h"

#include <gtest/gtest.h>

#include <map>
#include <numeric>

#include "collective/algorithm/landing.h"
#include "every.h"

namespace updraft::collective {
namespace {

struct Layout {
  std::vector<std::vector<int>> hosts;  ///< ranks
  std::vector<int> pods;
};
const std::vector<Layout> kLayouts = {
    {{{0}, {1}}, {2}},
    {{{0, 1}, {2, 3}}, {2}},
    {{{0, 2}, {1, 3}, {4, 5}}, {3}},
    {{{0, 1, 2}, {3}}, {2}},
    {{{0}, {1, 2}, {3, 4, 5}}, {3}},
    {{{1, 4}, {0, 2, 3}, {5}, {6, 7}}, {4}},
    {{{0}, {1}, {2}, {3}}, {2, 2}},
    {{{0, 1}, {2, 3}, {4, 5}}, {1, 1, 1}},
    {{{0, 1}, {2, 3}, {4, 5}}, {2, 1}},
    {{{0}, {1, 2}, {3, 4, 5}}, {1, 2}},
};

struct Cell {
  uint64_t who = 0;                 ///< hosts; 0: nothing is here
  std::pair<int, uint64_t> what{};  ///< of a block: its rank, and which element; else -1 and which element
  bool operator==(const Cell&) const = default;
};

/// By rank. Fails where a rule of schedule.h is broken.
void run(const std::vector<Schedule>& all, std::vector<std::vector<Cell>>& data) {
  size_t rounds = 0;
  for (const Schedule& s : all) rounds = std::max(rounds, s.size());
  for (size_t k = 0; k < rounds; ++k) {
    const auto before = data;
    std::map<std::pair<size_t, size_t>, std::vector<Transfer>> sent;  // from, to
    for (size_t r = 0; r < all.size(); ++r)
      if (k < all[r].size())
        for (const Transfer& t : all[r][k].sends) sent[{r, static_cast<size_t>(t.peer)}].push_back(t);
    for (size_t r = 0; r < all.size(); ++r) {
      if (k >= all[r].size()) continue;
      for (const Transfer& t : all[r][k].receives) {
        auto& queue = sent[{static_cast<size_t>(t.peer), r}];
        ASSERT_FALSE(queue.empty()) << "nobody sends what is received";
        const Transfer from = queue.front();
        queue.erase(queue.begin());
        ASSERT_EQ(from.count, t.count);
        for (uint64_t i = 0; i < t.count; ++i) {
          // offsets are those of each side's own buffer
          ASSERT_LT(from.offset + i, before[static_cast<size_t>(t.peer)].size());
          ASSERT_LT(t.offset + i, data[r].size());
          const Cell& theirs = before[static_cast<size_t>(t.peer)][from.offset + i];
          Cell& mine = data[r][t.offset + i];
          ASSERT_NE(theirs.who, 0u) << "nothing is there to be sent";
          if (all[r][k].combine) {
            ASSERT_EQ(mine.what, theirs.what);
            ASSERT_EQ(mine.who & theirs.who, 0u) << "a part counts twice";
            mine.who |= theirs.who;
          } else {
            mine = theirs;
          }
        }
      }
    }
    for (const auto& [ends, queue] : sent) ASSERT_TRUE(queue.empty()) << "a send is not received";
  }
}

void try_one(const Layout& layout, const Between::Operation& call) {
  const Between plan(layout.hosts, layout.pods);
  const bool whole = call.kind == Kind::AllReduce || call.kind == Kind::Broadcast || call.kind == Kind::Reduce;
  const bool combines =
      whole ? call.kind != Kind::Broadcast : call.kind == Kind::ReduceScatter || call.kind == Kind::ReduceScatterV;
  const auto hosts = static_cast<int>(layout.hosts.size());
  const uint64_t everyone = (uint64_t{1} << hosts) - 1;
  size_t ranks = 0;
  for (const auto& host : layout.hosts) ranks += host.size();
  std::vector<Schedule> all(ranks);
  std::vector<std::vector<Cell>> data(ranks);
  const auto each = [&](const auto& body) {
    for (int h = 0; h < hosts; ++h)
      for (size_t i = 0; i < layout.hosts[static_cast<size_t>(h)].size(); ++i)
        body(h, static_cast<size_t>(layout.hosts[static_cast<size_t>(h)][i]), Carrier(plan, h, static_cast<int>(i)));
  };
  std::map<std::pair<int, uint64_t>, int> covered;  // elements of each host's share: exactly once
  each([&](int host, size_t rank, const Carrier& carrier) {
    all[rank] = carrier.schedule(call);
    std::vector<Cell>& cells = data[rank];
    if (call.kind == Kind::Barrier) {
      cells.assign(carrier.pieces(), {uint64_t{1} << host, {-1, 0}});
    } else if (whole) {
      const Block share = carrier.share(call.count);
      for (uint64_t i = 0; i < share.count; ++i) {
        ++covered[{host, share.offset + i}];
        cells.push_back({combines || host == call.root_host ? uint64_t{1} << host : 0, {-1, share.offset + i}});
      }
    } else {
      const uint64_t n = carrier.visit(call, [&](int of, uint64_t at, int block, uint64_t offset, uint64_t count) {
        ASSERT_EQ(at, cells.size());
        const bool gathers = call.kind == Kind::AllGather || call.kind == Kind::AllGatherV;
        for (uint64_t i = 0; i < count; ++i) {
          ++covered[{host, static_cast<uint64_t>(block) << 32 | (offset + i)}];
          const bool filled = combines || (gathers ? of == host : host == call.root_host);
          cells.push_back({filled ? uint64_t{1} << host : 0, {block, offset + i}});
        }
      });
      ASSERT_EQ(n, cells.size());
    }
  });
  for (const auto& [what, times] : covered) ASSERT_EQ(times, 1);
  if (call.kind != Kind::Barrier) {
    uint64_t elements = whole ? call.count : call.count * ranks;
    for (const uint64_t count : call.counts) elements += count;
    ASSERT_EQ(covered.size(), elements * static_cast<uint64_t>(hosts));
  }
  const auto before = data;
  ASSERT_NO_FATAL_FAILURE(run(all, data));
  each([&](int host, size_t rank, const Carrier&) {
    std::map<int, int> host_of;
    for (int h = 0; h < hosts; ++h)
      for (const int r : layout.hosts[static_cast<size_t>(h)]) host_of[r] = h;
    for (size_t i = 0; i < data[rank].size(); ++i) {
      const Cell& cell = data[rank][i];
      const int owner = cell.what.first < 0 ? -1 : host_of[before[rank][i].what.first];
      uint64_t want = everyone;
      switch (call.kind) {
        case Kind::Broadcast:
        case Kind::Scatter: want = uint64_t{1} << call.root_host; break;
        case Kind::AllGather:
        case Kind::AllGatherV: want = uint64_t{1} << owner; break;
        default: break;
      }
      const bool scatters =
          call.kind == Kind::Scatter || call.kind == Kind::ReduceScatter || call.kind == Kind::ReduceScatterV;
      const bool matters = call.kind == Kind::Reduce ? host == call.root_host : !scatters || owner == host;
      if (!matters) continue;
      ASSERT_EQ(cell, (Cell{want, before[rank][i].what})) << "rank " << rank << " element " << i;
    }
  });
}

TEST(Between, EveryKindByEveryAlgorithmOnEveryLayout) {
  for (size_t l = 0; l < kLayouts.size(); ++l) {
    const Layout& layout = kLayouts[l];
    size_t ranks = 0;
    for (const auto& host : layout.hosts) ranks += host.size();
    for (const Kind kind : {Kind::AllReduce, Kind::ReduceScatter, Kind::AllGather, Kind::Broadcast, Kind::Reduce,
                            Kind::Scatter, Kind::AllGatherV, Kind::ReduceScatterV, Kind::Barrier})
      for (int a = 0; a <= static_cast<int>(Algorithm::Pairwise); ++a)
        for (const uint64_t n : {0u, 1u, 7u, 30u}) {
          const auto wish = static_cast<Algorithm>(a);
          Between::Operation call{kind, n, 4, 0, {wish, wish}};
          if (kind == Kind::AllGatherV || kind == Kind::ReduceScatterV) {
            call.count = 0;
            for (size_t r = 0; r < ranks; ++r) call.counts.push_back((r * 5 + 3) % 7 * n);
          }
          for (int root = 0; root < (has_root(kind) ? static_cast<int>(layout.hosts.size()) : 1); ++root) {
            call.root_host = root;
            SCOPED_TRACE(std::string(name_of(kind)) + " " + name_of(wish) + " layout " + std::to_string(l) + " n " +
                         std::to_string(n) + " root " + std::to_string(root));
            ASSERT_NO_FATAL_FAILURE(try_one(layout, call));
          }
        }
  }
}

// 2 hosts of 2 ranks, blocks of 1, 2, 3 and 4: rank 0 carries those of ranks 0 and 2, rank 1 those of 1 and 3.
TEST(Between, BlocksOfAnySizes) {
  const Between plan({{0, 1}, {2, 3}}, {2});
  const Between::Operation call{Kind::AllGatherV, 0, 4, 0, {Algorithm::Ring, Algorithm::Ring}, {1, 2, 3, 4}};
  const Schedule schedule = Carrier(plan, 0, 1).schedule(call);
  ASSERT_EQ(schedule.size(), 1u);
  ASSERT_EQ(schedule[0].sends.size(), 1u);
  EXPECT_EQ(schedule[0].sends[0].peer, 3);
  EXPECT_EQ(schedule[0].sends[0].count, 2u);
  EXPECT_EQ(schedule[0].receives[0].count, 4u);
  EXPECT_EQ(schedule[0].receives[0].offset, 2u);
}

// 4 hosts, 1 MB: over TCP rounds cost more than bytes, over RDMA it is the other way round where that can be.
TEST(Between, TheLinkDecidesWhereNobodyWishes) {
  const auto chosen = [](const LinkCost& link, double bytes) {
    return Between({{0}, {1}, {2}}, {3}, link).levels(Kind::Broadcast, {}, bytes).inside;
  };
  // ring: 2 (α + nβ); NB: scatter and gather, 4 α + 4/3 nβ: 2/3 nβ against 2 α
  EXPECT_EQ(chosen(kTcp, 100e3), choose(Kind::Broadcast, 3, 100e3, kTcp));
  EXPECT_EQ(chosen(kTcp, 140e3), Algorithm::Ring);
  EXPECT_NE(chosen(kTcp, 160e3), Algorithm::Ring);
  EXPECT_EQ(chosen(kRdma, 180e3), Algorithm::Ring);
  EXPECT_NE(chosen(kRdma, 200e3), Algorithm::Ring);
}

TEST(Between, WishesWithoutAFormAreNamed) {
  const Between plan({{0}, {1}, {2}, {3}}, {2, 2});
  const auto levels = plan.levels(Kind::Broadcast, {Algorithm::AHC, Algorithm::Ring}, 1e6);
  ASSERT_EQ(levels.unheard.size(), 1u);
  EXPECT_EQ(levels.unheard[0].level, 1);
  EXPECT_EQ(levels.unheard[0].wish, Algorithm::AHC);
  EXPECT_EQ(levels.unheard[0].instead, levels.inside);
  EXPECT_EQ(levels.between, Algorithm::Ring);
  EXPECT_TRUE(plan.levels(Kind::AllReduce, {Algorithm::AHC, Algorithm::Auto}, 1e6).unheard.empty());
}

std::vector<std::pair<uint64_t, uint64_t>> landings(const Round& round) {
  std::vector<std::pair<uint64_t, uint64_t>> all;
  for (const Block& b : landings_of(round)) all.emplace_back(b.offset, b.count);
  return all;
}

TEST(Landing, PiecesWhereNothingIsInTheWay) {
  using Runs = std::vector<std::pair<uint64_t, uint64_t>>;
  EXPECT_EQ(landings({{{1, 0, 10}}, {{1, 10, 10}}, true}), (Runs{{10, 10}}));
  EXPECT_EQ(landings({{{1, 0, 10}}, {{1, 10, 10}}, false}), Runs{}) << "nothing is combined";
  EXPECT_EQ(landings({{}, {{1, 10, 10}, {2, 10, 10}, {3, 0, 10}}, true}), (Runs{{10, 10}, {0, 10}}));
  EXPECT_EQ(landings({{}, {{1, 10, 10}, {2, 15, 10}}, true}), Runs{}) << "they overlap in part";
  EXPECT_EQ(landings({{}, {{1, 10, 10}, {2, 10, 5}}, true}), Runs{}) << "one is a part of the other";
  EXPECT_EQ(landings({{{1, 19, 10}}, {{1, 10, 10}}, true}), Runs{}) << "its last element is still being sent";
  EXPECT_EQ(landings({{{1, 20, 10}, {2, 0, 10}}, {{1, 10, 10}}, true}), (Runs{{10, 10}}));
  EXPECT_EQ(landings({{{1, 0, 40}}, {{1, 30, 5}, {2, 10, 5}}, true}), Runs{});
}

}  // namespace
}  // namespace updraft::collective
