// The search for many words: what counts anywhere, what counts as a whole identifier.
#include "migrate/source/words.h"

#include <gtest/gtest.h>

namespace updraft::migrate::source {
namespace {

TEST(MigrateWords, NamesCountWholeAndOthersAnywhere) {
  const Words words({"cuda", "nccl"}, {"half", "is_available", "lf"});
  EXPECT_TRUE(words.any("x = 'mycuda:0'"));
  EXPECT_TRUE(words.any("x.half()"));
  EXPECT_TRUE(words.any("half"));
  EXPECT_TRUE(words.any("lf"));
  EXPECT_FALSE(words.any("half_open, behalf, halfs, self, is_available_"));
  EXPECT_TRUE(words.any("behalf half_ half"));
  EXPECT_FALSE(words.any(""));
}

TEST(MigrateWords, AWordWithinAnotherIsFound) {
  const Words words({"abcd", "bc"}, {});
  EXPECT_TRUE(words.any("abce"));
  EXPECT_EQ(words.all("xabcd"), (std::vector<bool>{true, true}));
  EXPECT_EQ(words.all("bc"), (std::vector<bool>{false, true}));
}

}  // namespace
}  // namespace updraft::migrate::source
