#include "base/scratch.h"

#include <gtest/gtest.h>

#include <cstring>
#include <thread>
#include <vector>

namespace updraft {
namespace {

TEST(Scratch, ScopesNest) {
  ScratchScope outer;
  char* a = outer.take<char>(1000);
  std::memset(a, 1, 1000);
  char* inside = nullptr;
  {
    ScratchScope inner;
    inside = inner.take<char>(5 << 20);  // more than the block has
    std::memset(inside, 2, 5 << 20);
  }
  ScratchScope again;
  char* b = again.take<char>(100);
  std::memset(b, 3, 100);
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(a[i], 1) << "what a scope took stays where it is";
}

TEST(Scratch, IsAlignedAndNeverNull) {
  ScratchScope scratch;
  for (size_t n : {0, 1, 3, 63, 64, 65}) {
    void* p = scratch.take(n);
    ASSERT_NE(p, nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(p) % 64, 0u);
  }
}

TEST(Scratch, MemoryIsUsedAgain) {
  void* first = nullptr;
  {
    ScratchScope scratch;
    first = scratch.take(4096);
  }
  ScratchScope scratch;
  EXPECT_EQ(scratch.take(4096), first);
}

TEST(Scratch, OneBlockSufficesTheNextTime) {
  std::thread([] {
    for (int round = 0; round < 2; ++round) {
      ScratchScope scratch;
      for (int i = 0; i < 8; ++i) scratch.take(3 << 20);
    }
    const size_t held = scratch_held();
    {
      ScratchScope scratch;
      for (int i = 0; i < 8; ++i) scratch.take(3 << 20);
    }
    EXPECT_EQ(scratch_held(), held);
    EXPECT_LE(held, size_t{64} << 20);
  }).join();
}

TEST(Scratch, WhatIsNotNeededForLongIsGivenBack) {
  std::thread([] {
    {
      ScratchScope scratch;
      scratch.take(100 << 20);
    }
    EXPECT_GE(scratch_held(), size_t{100} << 20);
    for (int i = 0; i < 1000; ++i) {
      ScratchScope scratch;
      scratch.take(1000);
    }
    EXPECT_LE(scratch_held(), size_t{4} << 20);
  }).join();
}

TEST(Scratch, TooMuchIsBadAlloc) {
  ScratchScope scratch;
  EXPECT_THROW(scratch.take(size_t{1} << 60), std::bad_alloc);
  EXPECT_NE(scratch.take(100), nullptr);
}

TEST(Scratch, LentMemoryComesFirst) {
  std::thread([] {
    ScratchScope outer;
    char* mine = outer.take<char>(1000);
    std::memset(mine, 1, 1000);
    std::vector<char> memory(1 << 16);
    auto inside = [&](const void* p) { return p >= memory.data() && p < memory.data() + memory.size(); };
    {
      LentScratch lent(memory.data() + 1, memory.size() - 1);
      ScratchScope scratch;
      char* first = scratch.take<char>(1000);
      EXPECT_TRUE(inside(first));
      EXPECT_EQ(reinterpret_cast<uintptr_t>(first) % 64, 0u);
      {
        ScratchScope nested;
        char* second = nested.take<char>(1000);
        EXPECT_TRUE(inside(second));
        EXPECT_GE(second, first + 1000);
        EXPECT_FALSE(inside(nested.take(1 << 17))) << "more than was lent";
      }
      EXPECT_TRUE(inside(scratch.take(1000))) << "what the nested scope took is free again";
    }
    ScratchScope after;
    EXPECT_FALSE(inside(after.take(1000)));
    for (int i = 0; i < 1000; ++i) ASSERT_EQ(mine[i], 1);
  }).join();
}

TEST(Scratch, LoansNest) {
  std::thread([] {
    std::vector<char> a(4096), b(4096);
    auto in = [](const std::vector<char>& m, const void* p) { return p >= m.data() && p < m.data() + m.size(); };
    const size_t held = scratch_held();
    {
      LentScratch first(a.data(), a.size());
      {
        LentScratch second(b.data(), b.size());
        ScratchScope scratch;
        EXPECT_TRUE(in(b, scratch.take(100)));
      }
      ScratchScope scratch;
      EXPECT_TRUE(in(a, scratch.take(100)));
    }
    EXPECT_EQ(scratch_held(), held) << "loans are not the arena's";
    ScratchScope scratch;
    void* own = scratch.take(100);
    EXPECT_FALSE(in(a, own) || in(b, own));
  }).join();
}

TEST(Scratch, LoansThatAreTooSmallAreNoHarm) {
  std::thread([] {
    char memory[8];
    LentScratch lent(memory, sizeof memory);
    ScratchScope scratch;
    std::memset(scratch.take(1000), 1, 1000);
  }).join();
}

TEST(Scratch, PeakCountsWhatWasTakenTogether) {
  std::thread([] {
    reset_scratch_peak();
    {
      ScratchScope scratch;
      scratch.take(1 << 20);
      ScratchScope inner;
      inner.take(1 << 20);
    }
    EXPECT_GE(scratch_peak(), size_t{2} << 20);
    EXPECT_LE(scratch_peak(), size_t{3} << 20);
  }).join();
}

}  // namespace
}  // namespace updraft
