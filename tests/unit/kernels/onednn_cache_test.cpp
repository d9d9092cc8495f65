// The cache of primitives: what was not used for the longest time goes first.
#include <gtest/gtest.h>

#include "base/error.h"
#include "kernels/onednn.h"

namespace updraft::onednn {
namespace {

struct Counted {
  int value;
};

TEST(PrimitiveCache, MakesOnce) {
  Cache<Counted> cache;
  int made = 0;
  auto get = [&](int64_t a, int64_t b) {
    Key key;
    key.add(a, b);
    return cache.get(key, [&] { return Counted{++made}; });
  };
  EXPECT_EQ(get(1, 2)->value, 1);
  EXPECT_EQ(get(2, 1)->value, 2);
  EXPECT_EQ(get(1, 2)->value, 1);
  EXPECT_EQ(made, 2);
  EXPECT_EQ(cache.size(), 2u);
}

struct CountingCache {
  Cache<Counted> cache;
  int made = 0;
  std::shared_ptr<const Counted> get(int64_t number) {
    Key key;
    key.add(number);
    return cache.get(key, [&] { return Counted{++made}; });
  }
};

TEST(PrimitiveCache, TheLeastRecentlyUsedIsDropped) {
  CountingCache c{Cache<Counted>(3)};
  const auto first = c.get(1);
  c.get(2);
  c.get(3);
  c.get(1);  // 2 is the oldest now
  c.get(4);
  EXPECT_EQ(c.cache.size(), 3u);
  EXPECT_EQ(c.made, 4);
  c.get(3);
  EXPECT_EQ(c.made, 4) << "it was kept";
  c.get(2);
  EXPECT_EQ(c.made, 5);
  EXPECT_EQ(first->value, 1) << "who uses an entry keeps it";
}

TEST(PrimitiveCache, ShapesInUseOutliveShapesThatChange) {
  CountingCache c{Cache<Counted>(8, 16)};
  for (int step = 0; step < 1000; ++step) {
    // Each step plans and runs ten operators of the same shapes and thirty of shapes that never come again.
    for (int64_t kept = 0; kept < 10; ++kept)
      for (int i = 0; i < 3; ++i) c.get(kept);
    for (int64_t i = 0; i < 30; ++i)
      for (int k = 0; k < 2; ++k) c.get(1000 + step * 30 + i);
    ASSERT_LE(c.cache.size(), 24u);
  }
  EXPECT_EQ(c.made, 10 + 1000 * 30) << "those in use were made once";
}

TEST(PrimitiveCache, WhatIsUsedNoMoreIsDropped) {
  CountingCache c{Cache<Counted>(4, 4)};
  for (int64_t generation = 0; generation < 100; ++generation) {
    for (int64_t shape = 0; shape < 4; ++shape)
      for (int i = 0; i < 5; ++i) c.get(generation * 4 + shape);
    ASSERT_LE(c.cache.size(), 8u);
  }
  const int before = c.made;
  c.get(0);
  EXPECT_EQ(c.made, before + 1) << "the first generation is gone";
  c.get(99 * 4);
  EXPECT_EQ(c.made, before + 1) << "the last one is there";
}

TEST(PrimitiveCache, ManyKeysStayDistinct) {
  Cache<int64_t> cache(5000);
  for (int round = 0; round < 2; ++round)
    for (int64_t i = 0; i < 4000; ++i) {
      Key key;
      key.add(i % 63, i / 63);
      ASSERT_EQ(*cache.get(key, [&] { return i; }), i);
    }
}

TEST(PrimitiveCache, AKeyThatIsTooLongIsRefused) {
  Key key;
  EXPECT_THROW(
      {
        for (int i = 0; i < 1000; ++i) key.add(i);
      },
      Error);
}

}  // namespace
}  // namespace updraft::onednn
