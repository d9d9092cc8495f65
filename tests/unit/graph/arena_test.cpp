// Memory of tensors that do not live at the same time.
#include "graph/planner/arena.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace updraft::graph {
namespace {

TEST(Arena, WhatIsReleasedIsUsedAgain) {
  ArenaPlan arena;
  const size_t a = arena.allocate(100), b = arena.allocate(100);
  EXPECT_NE(a, b);
  arena.release(a);
  EXPECT_EQ(arena.allocate(120), a);
  arena.release(b);
  EXPECT_EQ(arena.bytes(), 256u);
}

TEST(Arena, GapsBesideEachOtherBecomeOne) {
  ArenaPlan arena;
  const size_t a = arena.allocate(64), b = arena.allocate(64), c = arena.allocate(64);
  arena.allocate(64);
  arena.release(a);
  arena.release(c);
  arena.release(b);
  EXPECT_EQ(arena.allocate(192), a);
  EXPECT_EQ(arena.bytes(), 256u);
}

TEST(Arena, TheBlockGrowsByWhatItsLastGapLacks) {
  ArenaPlan arena;
  arena.allocate(64);
  const size_t last = arena.allocate(64);
  arena.release(last);
  EXPECT_EQ(arena.allocate(640), last);
  EXPECT_EQ(arena.bytes(), 704u);
}

TEST(Arena, NothingThatLivesOverlaps) {
  std::mt19937 random(7);
  ArenaPlan arena;
  std::map<size_t, size_t> live;
  for (int i = 0; i < 20000; ++i) {
    if (!live.empty() && random() % 2) {
      auto gone = live.begin();
      std::advance(gone, static_cast<std::ptrdiff_t>(random() % live.size()));
      arena.release(gone->first);
      live.erase(gone);
      continue;
    }
    const size_t bytes = random() % 5000, offset = arena.allocate(bytes);
    EXPECT_EQ(offset % ArenaPlan::kAlign, 0u);
    const auto next = live.lower_bound(offset);
    if (next != live.end()) { ASSERT_LE(offset + bytes, next->first); }
    if (next != live.begin()) { ASSERT_LE(std::prev(next)->first + std::prev(next)->second, offset); }
    ASSERT_LE(offset + bytes, arena.bytes());
    live.emplace(offset, std::max<size_t>(bytes, 1));
  }
}

}  // namespace
}  // namespace updraft::graph
