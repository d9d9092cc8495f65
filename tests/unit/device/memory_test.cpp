#include "device/memory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <thread>
#include <vector>

#include "../sanitizers.h"
#include "base/error.h"
#include "device/process_record.h"

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

TEST(HostMemory, WhatItGaveMayBeRegisteredAsWell) {
  HostMemory& memory = HostMemory::get();
  void* p = memory.allocate(8192);
  EXPECT_THROW(memory.remove(p), Error);
  EXPECT_THROW(memory.add(p, 8193), Error);
  memory.add(p, 8192);
  EXPECT_THROW(memory.add(p, 8192), Error);
  memory.remove(p);
  EXPECT_TRUE(memory.contains(p));
  memory.add(p, 1);
  memory.free(p);  // registered or not
  EXPECT_FALSE(memory.contains(p));
  char own[16];
  memory.add(own, sizeof own);
  EXPECT_THROW(memory.free(own), Error);
  memory.remove(own);
  EXPECT_THROW(memory.remove(own), Error);
}

// Pages of freed memory stay, however much was freed before: what counts is how much is free at once.
TEST(DeviceMemory, FreedPagesAreKept) {
  constexpr size_t kBlock = size_t{256} << 20;
  DeviceMemory memory(905, size_t{2} << 30);
  char* first = static_cast<char*>(memory.allocate(kBlock));
  *static_cast<char*>(host_address(first)) = 7;
  memory.free(first);
  EXPECT_EQ(memory.kept(), kBlock);
  for (int i = 0; i < 8; ++i) {
    char* p = static_cast<char*>(memory.allocate(kBlock));
    ASSERT_EQ(p, first);
    EXPECT_EQ(memory.kept(), 0u);
    EXPECT_EQ(*static_cast<char*>(host_address(p)), 7) << "the page was given away in round " << i;
    memory.free(p);
  }
  // 1 GiB of them and no more.
  std::vector<void*> all;
  for (int i = 0; i < 6; ++i) {
    all.push_back(memory.allocate(kBlock));
    *static_cast<char*>(host_address(all.back())) = 7;
  }
  for (void* p : all) memory.free(p);
  EXPECT_EQ(memory.kept(), size_t{1} << 30);
  EXPECT_EQ(memory.peak(), 6 * kBlock);
  int there = 0;
  for (int i = 0; i < 6; ++i) {
    void* p = memory.allocate(kBlock);
    there += *static_cast<char*>(host_address(p)) == 7;
  }
  EXPECT_EQ(there, 4);
}

#ifndef UPDRAFT_SANITIZED
// torch_npu reserves 9/8 of the device for each stream and pool, of which captured graphs have their own.
TEST(DeviceMemory, AddressesAreReservedForManyStreamsAndPools) {
  constexpr size_t kDevice = size_t{8} << 30;
  DeviceMemory memory(906, kDevice);
  std::vector<char*> all;
  for (int i = 0; i < 100; ++i) all.push_back(static_cast<char*>(memory.reserve(kDevice / 8 * 9)));
  for (size_t i = 1; i < all.size(); ++i) EXPECT_GE(all[i] - all[i - 1], static_cast<ptrdiff_t>(kDevice / 8 * 9));
  for (char* p : all) EXPECT_TRUE(memory.contains(p));
  EXPECT_THROW(memory.reserve(size_t{1} << 46), Error);
  for (char* p : all) memory.release(p);
}

// A limit of addresses counts those that nobody uses: then the device asks for few, and says so when they are gone.
TEST(DeviceMemory, FewAddressesWhereTheyAreLimited) {
  const pid_t child = fork();
  if (child == 0) {
    size_t pages = 0;  // other devices of this process have theirs already
    std::ifstream("/proc/self/statm") >> pages;
    const rlim_t most = pages * 4096 + (size_t{64} << 30);
    const rlimit limit{most, most};
    if (setrlimit(RLIMIT_AS, &limit) != 0) _exit(2);
    try {
      DeviceMemory memory(907, size_t{1} << 30);
      memory.release(memory.reserve(size_t{2} << 30));
      try {
        memory.reserve(size_t{1} << 40);
      } catch (const Error& e) { _exit(std::strstr(e.what(), "ulimit -v") ? 0 : 3); }
      _exit(4);
    } catch (const Error&) { _exit(5); }
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}
#endif

TEST(Intervals, AddRemoveAndCount) {
  Intervals set;
  set.add(10, 20);
  set.add(20, 30);
  set.add(5, 12);
  EXPECT_EQ(set.total(), 25u);
  set.remove(0, 6);
  set.remove(15, 16);
  set.remove(29, 99);
  EXPECT_EQ(set.total(), 22u);
  set.add(0, 100);
  EXPECT_EQ(set.total(), 100u);
  set.remove(0, 100);
  EXPECT_EQ(set.total(), 0u);
  // Against one flag a byte.
  std::mt19937 random(1);
  std::vector<bool> flags(200);
  for (int i = 0; i < 2000; ++i) {
    const size_t begin = random() % 200, end = begin + random() % (201 - begin);
    const bool put = random() % 2;
    if (put) set.add(begin, end);
    else set.remove(begin, end);
    std::fill(flags.begin() + static_cast<ptrdiff_t>(begin), flags.begin() + static_cast<ptrdiff_t>(end), put);
    ASSERT_EQ(set.total(), static_cast<size_t>(std::count(flags.begin(), flags.end(), true)));
  }
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

TEST(DeviceMemory, GrowsWhereItLies) {
  DeviceMemory memory(908, kLimit);
  constexpr size_t kPart = 8 << 20;
  auto* p = static_cast<char*>(memory.allocate_to_grow(kPart));
  std::memset(host_address(p), 3, kPart);
  void* others[] = {memory.allocate(kPart), memory.allocate_to_grow(kPart)};
  EXPECT_TRUE(memory.grow(p, kPart));
  EXPECT_TRUE(memory.grow(p, 2 * kPart + 1));
  EXPECT_EQ(memory.used(), 4 * kPart + 512);
  EXPECT_TRUE(memory.covers(p, p + 2 * kPart + 1));
  EXPECT_EQ(memory.room_at(p), 2 * kPart + 512);
  std::memset(host_address(p + kPart), 4, kPart + 1);
  EXPECT_EQ(*static_cast<char*>(host_address(p + kPart - 1)), 3);
  EXPECT_THROW(memory.grow(p, kLimit), Error) << "there are the others";
  EXPECT_THROW(memory.grow(p, SIZE_MAX), Error);
  EXPECT_EQ(memory.used(), 4 * kPart + 512);
  for (void* other : others)
    EXPECT_TRUE(static_cast<char*>(other) + kPart <= p || static_cast<char*>(other) >= p + 2 * kPart + 512);
  memory.free(p, DeviceMemory::Owner::Library);
  EXPECT_EQ(memory.allocate_to_grow(kPart), p) << "where pages are";
  memory.free(others[0]);
  memory.free(others[1], DeviceMemory::Owner::Library);
  memory.free(p, DeviceMemory::Owner::Library);
  EXPECT_EQ(memory.used(), 0u);
  memory.free(memory.allocate(kLimit));  // in one piece
}

TEST(DeviceMemory, DoesNotGrowIntoAnother) {
  DeviceMemory memory(909, kLimit);
  constexpr size_t kBlock = 2 << 20;
  std::vector<void*> all;
  for (size_t used = 0; used + kBlock < kLimit; used += kBlock) all.push_back(memory.allocate_to_grow(kBlock));
  std::ranges::sort(all);
  for (size_t i = 1; i < all.size(); ++i)
    EXPECT_GE(static_cast<char*>(all[i]) - static_cast<char*>(all[i - 1]), static_cast<ptrdiff_t>(kBlock));
  auto* one = static_cast<char*>(memory.allocate(512, DeviceMemory::Owner::Library));
  void* next = memory.allocate(512);
  ASSERT_EQ(next, one + 512);
  EXPECT_TRUE(memory.grow(one, 512));
  EXPECT_FALSE(memory.grow(one, 513));
  EXPECT_EQ(memory.room_at(one), 512u);
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

// Another process with a record on a device: a child that holds the record's lock while the test writes into it.
class Other {
 public:
  // 1 is no number of a process that anybody starts.
  explicit Other(int device, pid_t pid = 1) {
    if (!std::getenv("UPDRAFT_RUN_DIR")) setenv("UPDRAFT_RUN_DIR", testing::TempDir().c_str(), 1);
    int ready[2];
    if (pipe(ready) != 0 || pipe(stop_) != 0) std::abort();
    const std::string folder = fmt::format("{}/devices/{}", std::getenv("UPDRAFT_RUN_DIR"), device);
    std::filesystem::create_directories(folder);
    path_ = fmt::format("{}/{}", folder, pid);
    child_ = fork();
    char byte = 0;
    if (child_ == 0) {
      close(stop_[1]);
      int fd = open(path_.c_str(), O_RDWR | O_CREAT, 0600);
      if (flock(fd, LOCK_EX) != 0 || ::write(ready[1], &byte, 1) != 1) _exit(1);
      [[maybe_unused]] ssize_t n = read(stop_[0], &byte, 1);
      _exit(0);
    }
    close(stop_[0]);
    EXPECT_EQ(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    close(ready[1]);
  }
  ~Other() {
    close(stop_[1]);
    waitpid(child_, nullptr, 0);
    unlink(path_.c_str());
  }
  void use(size_t bytes) const {
    const std::string text = fmt::format("{{\"used_bytes\": {}}}{:40}\n", bytes, "");
    int fd = open(path_.c_str(), O_WRONLY);
    EXPECT_EQ(pwrite(fd, text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
    close(fd);
  }

 private:
  std::string path_;
  int stop_[2];
  pid_t child_;
};

TEST(DeviceMemory, ProcessesShareTheLimitAndRecordsAreReadSeldom) {
  if (!std::getenv("UPDRAFT_RUN_DIR")) setenv("UPDRAFT_RUN_DIR", testing::TempDir().c_str(), 1);
  open_process_record(904);
  DeviceMemory memory(904, kLimit);
  Other other(904);
  other.use(48 << 20);
  EXPECT_EQ(other_processes_use(904), size_t{48} << 20);
  EXPECT_EQ(memory.available(), size_t{16} << 20);
  EXPECT_THROW(memory.allocate(32 << 20), Error);
  void* p = memory.allocate(8 << 20);
  other.use(0);
  void* q = memory.allocate(40 << 20);  // not refused by what was read a moment ago
  memory.free(q);

  const auto start = std::chrono::steady_clock::now();
  const uint64_t before = record_readings();
  for (int i = 0; i < 2000; ++i) memory.free(memory.allocate(4096));
  const auto waited = std::chrono::steady_clock::now() - start;
  EXPECT_LE(record_readings() - before, 2u + static_cast<uint64_t>(waited / std::chrono::milliseconds(100)));

  other.use(60 << 20);
  std::this_thread::sleep_for(std::chrono::milliseconds(150));
  EXPECT_THROW(memory.allocate(1 << 20), Error);  // what others took meanwhile is seen
  memory.free(p);
}

// In another container that shares the folder of records.
TEST(DeviceMemory, AProcessOfTheSameIdIsAnother) {
  Other other(905, getpid());
  other.use(48 << 20);
  open_process_record(905);
  open_process_record(905);  // there is one already
  update_process_record(905, 32 << 20);
  EXPECT_EQ(other_processes_use(905), size_t{48} << 20);
  other.use(1 << 20);
  EXPECT_EQ(other_processes_use(905), size_t{1} << 20);
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
