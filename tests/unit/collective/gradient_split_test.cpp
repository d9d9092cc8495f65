// Split strategies of hccl.split.api against cases computed by hand.
#include "collective/fusion/gradient_split.h"

#include <gtest/gtest.h>

#include <numeric>

#include "base/error.h"
#include "collective/topology/groups.h"

namespace updraft::collective {

bool operator==(const Segment& a, const Segment& b) { return a.first == b.first && a.last == b.last; }
void PrintTo(const Segment& s, std::ostream* out) { *out << '[' << s.first << ',' << s.last << ']'; }

namespace {

using Segments = std::vector<Segment>;

class GradientSplit : public testing::Test {
 protected:
  void TearDown() override { forget_split(kWorldGroup); }
  static Segments split(const std::vector<uint64_t>& bytes) { return split_gradients(kWorldGroup, bytes); }
};

/// Sizes of ResNet-50's gradients (convolutions, gamma and beta of the normalisations, the classifier's weight), those
/// of the last layer first, as backward makes them: 160.
std::vector<uint64_t> resnet50() {
  std::vector<uint64_t> forward;
  auto convolution = [&](uint64_t in, uint64_t out, uint64_t kernel) {
    forward.push_back(in * out * kernel * kernel * 4);
    forward.push_back(out * 4);
    forward.push_back(out * 4);
  };
  convolution(3, 64, 7);
  uint64_t in = 64;
  const uint64_t blocks[] = {3, 4, 6, 3};
  for (uint64_t stage = 0, width = 64; stage < 4; ++stage, width *= 2)
    for (uint64_t block = 0; block < blocks[stage]; ++block) {
      if (block == 0) convolution(in, width * 4, 1);
      convolution(in, width, 1);
      convolution(width, width, 3);
      convolution(width, width * 4, 1);
      in = width * 4;
    }
  forward.push_back(2048 * 1000 * 4);
  return {forward.rbegin(), forward.rend()};
}

TEST_F(GradientSplit, TheDefaultIsResNet50sBest) {
  const auto sizes = resnet50();
  ASSERT_EQ(sizes.size(), 160u);
  ASSERT_EQ(std::accumulate(sizes.begin(), sizes.end(), uint64_t{0}), 25'556'032u * 4);
  EXPECT_EQ(split(sizes), (Segments{{0, 107}, {108, 159}}));
}

TEST_F(GradientSplit, TheDefaultMayGiveOneSegment) {
  EXPECT_EQ(split({10, 90}), (Segments{{0, 1}}));
  EXPECT_EQ(split({7}), (Segments{{0, 0}}));
  EXPECT_EQ(split({}), Segments{});
}

TEST_F(GradientSplit, ByIndex) {
  split_by_index(kWorldGroup, {20, 100, 159});
  EXPECT_EQ(split(std::vector<uint64_t>(160, 4)), (Segments{{0, 20}, {21, 100}, {101, 159}}));
  EXPECT_THROW(split(std::vector<uint64_t>(161, 4)), Error);
  split_by_index(kWorldGroup, {0, 1, 2, 3, 4, 5, 6, 7});
  EXPECT_EQ(split(std::vector<uint64_t>(8, 4)).size(), 8u);
}

TEST_F(GradientSplit, BySize) {
  split_by_size(kWorldGroup, {60, 20, 20});  // 150 MB into 90, 30, 30
  EXPECT_EQ(split(std::vector<uint64_t>(15, 10'000'000)), (Segments{{0, 8}, {9, 11}, {12, 14}}));
  // 50 of 100 are not 60 %, 70 are; 80 % come with the third
  EXPECT_EQ(split({50, 20, 10, 20}), (Segments{{0, 1}, {2, 2}, {3, 3}}));
  // the first has 98 %, more than the first two want: the second gets nothing
  EXPECT_EQ(split({98, 1, 1}), (Segments{{0, 0}, {1, 2}}));
  EXPECT_EQ(split({0, 0, 0}), (Segments{{0, 2}}));
  split_by_size(kWorldGroup, {33.3, 33.3, 33.4});
  EXPECT_EQ(split({333, 333, 334}), (Segments{{0, 0}, {1, 1}, {2, 2}}));
  split_by_size(kWorldGroup, {0, 100, 0});
  EXPECT_EQ(split({5, 5}), (Segments{{0, 1}}));
  split_by_size(kWorldGroup, {12.5, 12.5, 12.5, 12.5, 12.5, 12.5, 12.5, 12.5});
  EXPECT_EQ(split(std::vector<uint64_t>(16, 4)).size(), 8u);
}

TEST_F(GradientSplit, SizeWinsOverIndexInAnyOrder) {
  const std::vector<uint64_t> sizes(10, 4);
  split_by_index(kWorldGroup, {2, 9});
  split_by_size(kWorldGroup, {50, 50});
  EXPECT_EQ(split(sizes), (Segments{{0, 4}, {5, 9}}));
  forget_split(kWorldGroup);
  split_by_size(kWorldGroup, {50, 50});
  split_by_index(kWorldGroup, {2, 9});
  EXPECT_EQ(split(sizes), (Segments{{0, 4}, {5, 9}}));
}

TEST_F(GradientSplit, RefusesWhatIsNoStrategy) {
  auto refused = [](auto&& call) {
    try {
      call();
    } catch (const Error& e) { return e.text().starts_with("EI0003: "); }
    return false;
  };
  for (const std::vector<int64_t>& last :
       std::vector<std::vector<int64_t>>{{}, {-1}, {3, 3}, {5, 4}, {int64_t{1} << 40}, {0, 1, 2, 3, 4, 5, 6, 7, 8}})
    EXPECT_TRUE(refused([&] { split_by_index(kWorldGroup, last); })) << testing::PrintToString(last);
  for (const std::vector<double>& percents : std::vector<std::vector<double>>{
           {}, {99}, {60, 41}, {-10, 110}, {std::nan(""), 100}, {101, -1}, {10, 10, 10, 10, 10, 10, 10, 10, 20}})
    EXPECT_TRUE(refused([&] { split_by_size(kWorldGroup, percents); })) << testing::PrintToString(percents);
  EXPECT_TRUE(refused([] { split_by_size("", {100}); }));
  EXPECT_TRUE(refused([] { split_by_size(std::string(128, 'g'), {100}); }));
  EXPECT_TRUE(refused([] { split_by_index("nobody made it", {1}); }));
  EXPECT_EQ(split({1, 1}), (Segments{{0, 1}})) << "what was refused is not kept";
}

}  // namespace
}  // namespace updraft::collective
