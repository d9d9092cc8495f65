// Memory of what builds of models write.
#include "graph/ir/large_blocks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <thread>

#include "graph/ir/bytes.h"

namespace updraft::graph {
namespace {

constexpr size_t kSize = (size_t{3} << 20) + 5, kText = LargeBlocks::kLeast + 3;

TEST(LargeBlocks, AreKeptOnceTheyAreAskedForAgain) {
  LargeBlocks blocks;
  for (int i = 0; i < 2; ++i) {
    blocks.give_back(blocks.take(kSize));
    EXPECT_EQ(blocks.kept(), 0u) << "one build must not keep memory";
  }
  const LargeBlocks::Block first = blocks.take(kSize);
  EXPECT_GE(first.bytes, kSize);
  std::memset(first.data, 7, first.bytes);
  blocks.give_back(first);
  EXPECT_EQ(blocks.kept(), first.bytes);
  const LargeBlocks::Block larger = blocks.take(2 * kSize), smaller = blocks.take(kSize / 2);
  EXPECT_NE(larger.data, first.data) << "it has no room";
  EXPECT_NE(smaller.data, first.data) << "most of it would be wasted";
  const LargeBlocks::Block again = blocks.take(kSize - 100), beside = blocks.take(kSize);
  EXPECT_EQ(again.data, first.data);
  EXPECT_NE(beside.data, first.data);
  EXPECT_EQ(blocks.kept(), 0u);
  for (const LargeBlocks::Block& block : {larger, smaller, again, beside}) blocks.give_back(block);
  EXPECT_THROW(blocks.take(SIZE_MAX), std::bad_alloc);
  EXPECT_THROW(blocks.take(SIZE_MAX / 2), std::bad_alloc);
}

TEST(LargeBlocks, KeepABoundedAmount) {
  LargeBlocks blocks;
  constexpr size_t kLarge = size_t{300} << 20;  // of which nothing is touched
  std::vector<LargeBlocks::Block> all;
  for (int i = 0; i < 6; ++i) all.push_back(blocks.take(kLarge));
  for (const LargeBlocks::Block& block : all) blocks.give_back(block);
  EXPECT_EQ(blocks.kept(), 3 * kLarge);
}

TEST(LargeBlocks, BytesOfManyThreads) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([t] {
      for (int i = 0; i < 8; ++i) {
        const Bytes bytes = Bytes::make(kText, [&](std::byte* to) { std::memset(to, t, kText); });
        const Bytes copy = Bytes::copy_of(bytes.data(), bytes.size());
        ASSERT_EQ(reinterpret_cast<uintptr_t>(copy.data()) % 64, 0u);
        ASSERT_TRUE(std::ranges::all_of(copy.span(), [&](std::byte b) { return b == static_cast<std::byte>(t); }));
      }
    });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace updraft::graph
