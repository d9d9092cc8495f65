// What Linux says of caches: the highest level that holds data, of one instance.
#include "base/last_level_cache.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "collective/reduce.h"

namespace updraft::collective {
namespace {

class Caches {
 public:
  Caches() { std::filesystem::remove_all(folder_); }
  ~Caches() { std::filesystem::remove_all(folder_); }
  void add(const std::string& level, const std::string& type, const std::string& size) {
    const auto cache = folder_ / ("index" + std::to_string(count_++));
    std::filesystem::create_directories(cache);
    std::ofstream(cache / "level") << level << "\n";
    std::ofstream(cache / "type") << type << "\n";
    if (!size.empty()) std::ofstream(cache / "size") << size << "\n";
  }
  std::string folder() const { return folder_; }

 private:
  std::filesystem::path folder_ = testing::TempDir() + "updraft-caches-" + std::to_string(getpid());
  int count_ = 0;
};

TEST(LastLevelCache, Sizes) {
  EXPECT_EQ(parse_cache_size("32768K\n"), 32 << 20);
  EXPECT_EQ(parse_cache_size("3M"), 3 << 20);
  EXPECT_EQ(parse_cache_size("1G"), 1 << 30);
  EXPECT_EQ(parse_cache_size("512"), 512);
  for (const char* bad : {"", "K", "-1K", "0", "12X", "12KB", "99999999999999999999", "9223372036854775807K"})
    EXPECT_EQ(parse_cache_size(bad), std::nullopt) << bad;
}

TEST(LastLevelCache, IsTheHighestLevelWithData) {
  Caches caches;
  EXPECT_EQ(last_level_cache(caches.folder()), std::nullopt);
  caches.add("1", "Data", "32K");
  caches.add("1", "Instruction", "64K");
  EXPECT_EQ(last_level_cache(caches.folder()), 32 << 10);
  caches.add("3", "Unified", "32768K");
  caches.add("2", "Unified", "1024K");
  caches.add("4", "Unified", "");  // a machine that does not say
  EXPECT_EQ(last_level_cache(caches.folder()), 32 << 20);
}

TEST(LastLevelCache, BoundsWhatIsTakenAsCached) {
  EXPECT_GE(cached_bytes(), 2 << 20);
  EXPECT_LE(cached_bytes(), 32 << 20);
  if (const auto size = last_level_cache()) { EXPECT_LE(cached_bytes(), std::max<int64_t>(*size, 2 << 20)); }
}

}  // namespace
}  // namespace updraft::collective
