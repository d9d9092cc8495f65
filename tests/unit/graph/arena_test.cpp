// Memory of tensors that do not live at the same time.
#include "graph/planner/arena.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <vector>

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

void expect_apart(const std::vector<Lifetime>& tensors, const SharedBlock& block) {
  ASSERT_EQ(block.offsets.size(), tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i) {
    const size_t begin = block.offsets[i], end = begin + arena_bytes(tensors[i].bytes);
    EXPECT_EQ(begin % ArenaPlan::kAlign, 0u);
    EXPECT_LE(end, block.bytes);
    for (size_t j = 0; j < i; ++j) {
      if (tensors[i].last < tensors[j].first || tensors[j].last < tensors[i].first) continue;
      const size_t other = block.offsets[j];
      EXPECT_TRUE(end <= other || other + arena_bytes(tensors[j].bytes) <= begin) << i << " " << j;
    }
  }
}

TEST(SharedBlock, TheLargestComeFirst) {
  // small ones that live on must not stand where the large one would fit
  const std::vector<Lifetime> tensors = {{100, 0, 2}, {100, 1, 3}, {100, 2, 4}, {400, 4, 5}, {100, 5, 6}};
  const SharedBlock block = share_block(tensors);
  expect_apart(tensors, block);
  EXPECT_EQ(block.bytes, arena_bytes(400) + arena_bytes(100));
}

TEST(SharedBlock, NothingThatLivesOverlaps) {
  std::mt19937 random(3);
  for (int round = 0; round < 30; ++round) {
    std::vector<Lifetime> tensors(random() % 120);
    for (Lifetime& t : tensors) {
      t.bytes = random() % 9 ? random() % 5000 : 0;
      t.first = random() % 100;
      t.last = t.first + random() % 12;
    }
    std::map<size_t, size_t> live;  // by step
    for (const Lifetime& t : tensors)
      for (size_t s = t.first; s <= t.last; ++s) live[s] += arena_bytes(t.bytes);
    size_t least = 0;
    for (const auto& [step, bytes] : live) least = std::max(least, bytes);
    const SharedBlock block = share_block(tensors);
    expect_apart(tensors, block);
    EXPECT_GE(block.bytes, least);
    EXPECT_LE(block.bytes, least * 3 / 2 + 4096);
  }
}

TEST(SharedBlock, TensorsThatAllLiveUntilTheEndTakeNoLongTime) {
  std::vector<Lifetime> tensors(20000);
  for (size_t i = 0; i < tensors.size(); ++i) tensors[i] = {64 + i % 7 * 64, i, 2 * tensors.size() - i};
  size_t sum = 0;
  for (const Lifetime& t : tensors) sum += t.bytes;
  EXPECT_EQ(share_block(tensors).bytes, sum);
}

}  // namespace
}  // namespace updraft::graph
