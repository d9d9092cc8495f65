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

TEST(PrimitiveCache, TheLeastRecentlyUsedIsDropped) {
  Cache<Counted> cache(3);
  int made = 0;
  auto get = [&](int64_t number) {
    Key key;
    key.add(number);
    return cache.get(key, [&] { return Counted{++made}; });
  };
  const auto first = get(1);
  get(2);
  get(3);
  get(1);  // 2 is the oldest now
  get(4);
  EXPECT_EQ(cache.size(), 3u);
  EXPECT_EQ(made, 4);
  get(1);
  get(3);
  get(4);
  EXPECT_EQ(made, 4) << "these three were kept";
  get(2);
  EXPECT_EQ(made, 5);
  get(1);
  EXPECT_EQ(made, 6) << "1 was the oldest";
  EXPECT_EQ(first->value, 1) << "who uses an entry keeps it";
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
