// copy_all: every byte arrives and none beside it, at any alignment, also where the copies differ in size.
#include "collective/copy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "collective/reduce.h"

namespace updraft::collective {
namespace {

struct Plan {
  size_t bytes, to, from;  // offsets: alignment
};

void check(const std::vector<Plan>& plans) {
  constexpr size_t kMargin = 128;
  std::mt19937 random(7);
  std::vector<std::vector<char>> from, to, wanted;
  for (const Plan& p : plans) {
    from.emplace_back(p.bytes + p.from + kMargin);
    for (char& c : from.back()) c = static_cast<char>(random());
    to.emplace_back(p.bytes + p.to + 2 * kMargin, 'x');
    wanted.push_back(to.back());
    std::copy_n(from.back().begin() + static_cast<ptrdiff_t>(p.from), p.bytes,
                wanted.back().begin() + static_cast<ptrdiff_t>(kMargin + p.to));
  }
  std::vector<Copy> copies;
  for (size_t i = 0; i < plans.size(); ++i)
    copies.push_back({to[i].data() + kMargin + plans[i].to, from[i].data() + plans[i].from, plans[i].bytes});
  copy_all(copies);
  for (size_t i = 0; i < plans.size(); ++i) EXPECT_TRUE(to[i] == wanted[i]) << "copy " << i << " of " << plans.size();
}

TEST(CollectiveCopy, Small) {
  for (size_t n : {0, 1, 63, 64, 65, 1000})
    for (size_t to : {0, 1, 63}) check({{n, to, 3}, {n / 2, 0, to}, {n + 5, 7, 0}});
}

TEST(CollectiveCopy, PastTheCaches) {
  const auto large = static_cast<size_t>(cached_bytes());
  check({{large, 0, 0}, {large, 0, 0}});
  check({{large + 17, 5, 11}, {large / 2 + 1, 62, 0}, {large / 3, 1, 1}});
  check({{3 * large, 33, 0}, {0, 0, 0}, {10, 63, 1}});
  check({{1, 0, 0}, {3 * large + 1, 9, 0}});
}

TEST(CollectiveCopy, TheSamePlaceStaysAsItIs) {
  std::vector<char> data(static_cast<size_t>(cached_bytes()), 'a');
  copy_all({{data.data(), data.data(), data.size()}, {nullptr, nullptr, 0}});
  EXPECT_TRUE(std::all_of(data.begin(), data.end(), [](char c) { return c == 'a'; }));
}

}  // namespace
}  // namespace updraft::collective
