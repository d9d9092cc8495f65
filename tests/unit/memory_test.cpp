#include "device/memory.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <random>

#include "base/error.h"

namespace updraft {
namespace {

constexpr size_t kLimit = 64 << 20;

TEST(DeviceMemory, AllocatesAlignedAndFreesOnce) {
  DeviceMemory memory(900, kLimit);
  void* p = memory.allocate(1000);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(p) % 512, 0u);
  std::memset(host_address(p), 7, 1000);
  void* base;
  size_t bytes;
  EXPECT_TRUE(memory.find(static_cast<char*>(p) + 999, &base, &bytes));
  EXPECT_EQ(base, p);
  memory.free(p);
  EXPECT_THROW(memory.free(p), Error);
  EXPECT_THROW(memory.free(&base), Error);
  EXPECT_EQ(memory.used(), 0u);
}

TEST(DeviceMemory, OutOfMemoryNamesTheSizesAndIsRecoverable) {
  DeviceMemory memory(901, kLimit);
  void* p = memory.allocate(kLimit / 2);
  try {
    memory.allocate(kLimit);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), code::kRtMemoryAllocation);
    EXPECT_NE(e.text().find("UPDRAFT_MEMORY"), std::string::npos) << e.text();
  }
  EXPECT_THROW(memory.allocate(~size_t{0}), Error);
  memory.free(p);
  memory.free(memory.allocate(kLimit));
}

TEST(DeviceMemory, RandomAllocationsNeverOverlap) {
  DeviceMemory memory(902, kLimit);
  std::mt19937 random(1);
  std::map<char*, size_t> live;
  for (int i = 0; i < 4000; ++i) {
    if (live.size() > 40 || (!live.empty() && random() % 3 == 0)) {
      auto it = std::next(live.begin(), static_cast<long>(random() % live.size()));
      memory.free(it->first);
      live.erase(it);
    } else {
      size_t n = 1 + random() % (256 << 10);
      char* p = static_cast<char*>(memory.allocate(n));
      auto next = live.lower_bound(p);
      if (next != live.end()) { EXPECT_LE(p + n, next->first); }
      if (next != live.begin()) {
        auto before = std::prev(next);
        EXPECT_LE(before->first + before->second, p);
      }
      live[p] = n;
    }
  }
  for (auto [p, n] : live) memory.free(p);
  memory.free(memory.allocate(kLimit));  // the free ranges were merged again
}

TEST(DeviceMemory, ReservedAddressesMapAndUnmap) {
  DeviceMemory memory(903, kLimit);
  char* p = static_cast<char*>(memory.reserve(8 << 20));
  EXPECT_TRUE(memory.contains(p));
  memory.map(p, 2 << 20, memory.fd(), 0);
  memory.map(p + (2 << 20), 2 << 20, memory.fd(), 0);  // the same pages twice
  std::memset(host_address(p), 5, 2 << 20);
  EXPECT_EQ(*static_cast<char*>(host_address(p + (2 << 20) + 17)), 5);
  EXPECT_THROW(memory.release(p), Error);
  EXPECT_THROW(memory.map(p + (7 << 20), 2 << 20, memory.fd(), 0), Error);
  memory.unmap(p);
  memory.unmap(p + (2 << 20));
  EXPECT_THROW(memory.unmap(p), Error);
  memory.release(p);
  EXPECT_THROW(memory.release(p), Error);
}

TEST(HostMemory, KnowsWhatIsPinned) {
  HostMemory& host = HostMemory::get();
  char* p = static_cast<char*>(host.allocate(100));
  EXPECT_TRUE(host.contains(p + 50));
  host.free(p);
  EXPECT_FALSE(host.contains(p));
  EXPECT_THROW(host.free(p), Error);
  int own = 0;
  host.add(&own, sizeof own);
  EXPECT_THROW(host.add(&own, sizeof own), Error);
  EXPECT_TRUE(host.contains(&own));
  EXPECT_THROW(host.free(&own), Error);
  host.remove(&own);
  EXPECT_THROW(host.remove(&own), Error);
}

}  // namespace
}  // namespace updraft
