// A profile that starts and stops while threads work: for ThreadSanitizer, and nothing of what runs within is lost.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "acl/acl.h"
#include "acl/acl_prof.h"
#include "device/device.h"
#include "observe/profiling/export/profile.h"
#include "observe/profiling/recorder.h"
#include "observe/profiling/session.h"

namespace updraft::profiling {
namespace {

class Folder {
 public:
  Folder() {
    char name[] = "/tmp/updraft-recorder-XXXXXX";
    path = mkdtemp(name);
  }
  ~Folder() { std::filesystem::remove_all(path); }
  std::string path;
};

constexpr int kThreads = 4;

// Each thread sets memory on a stream of its own, until it has done so many.
void set_memory(int times, std::atomic<int>* done = nullptr) {
  ASSERT_EQ(aclrtSetDevice(0), 0);
  aclrtStream stream = nullptr;
  void* memory = nullptr;
  ASSERT_EQ(aclrtCreateStream(&stream), 0);
  ASSERT_EQ(aclrtMalloc(&memory, 4096, ACL_MEM_MALLOC_HUGE_FIRST), 0);
  for (int i = 0; i < times; ++i) {
    ASSERT_EQ(aclrtMemsetAsync(memory, 4096, i % 7, 4096, stream), 0);
    if (i % 10 == 9) { ASSERT_EQ(aclrtSynchronizeStream(stream), 0); }
    if (done) ++*done;
  }
  ASSERT_EQ(aclrtSynchronizeStream(stream), 0);
  ASSERT_EQ(aclrtFree(memory), 0);
  ASSERT_EQ(aclrtDestroyStream(stream), 0);
}

Settings all_of(const std::string& folder) {
  Settings s;
  s.output = folder;
  s.data = data::kTaskTime | data::kAclApi | data::kRuntimeApi | data::kMarkers | data::kAicoreShape;
  s.memory_frequency = 100;
  s.host_cpu = s.host_memory = true;
  return s;
}

size_t sets_in(const Profile& p) {
  size_t count = 0;
  for (const TaskRecord& task : p.tasks) count += p.text(task.name).substr(0, 6) == "MEMSET";
  return count;
}

TEST(ProfilingRecorder, LosesNothingOfManyThreads) {
  aclInit(nullptr);
  ASSERT_EQ(aclrtSetDevice(0), 0);
  const Folder folder;
  prepare(folder.path);
  start(all_of(folder.path));
  std::vector<std::thread> threads;
  for (int k = 0; k < kThreads; ++k) threads.emplace_back([] { set_memory(500); });
  for (std::thread& t : threads) t.join();
  stop();
  finish();
  const auto profiles = find_profiles(folder.path);
  ASSERT_EQ(profiles.size(), 1u);
  const Profile p = read_profile(profiles[0]);
  EXPECT_EQ(p.damaged + p.lost, 0u);
  EXPECT_EQ(sets_in(p), kThreads * 500u);
}

TEST(ProfilingRecorder, StartsAndStopsWhileThreadsWork) {
  aclInit(nullptr);
  ASSERT_EQ(aclrtSetDevice(0), 0);
  const Folder folder;
  std::atomic<int> done{0};
  std::atomic<bool> over{false};
  std::vector<std::thread> threads;
  for (int k = 0; k < kThreads; ++k)
    threads.emplace_back([&] {
      while (!over) set_memory(50, &done);
    });
  prepare(folder.path);
  size_t flushes = 0;
  for (int i = 0; i < 6; ++i) {
    start(all_of(folder.path));
    const int wanted = done + 100;
    while (done < wanted) {
      if (const auto running = recorder()) running->flush(), ++flushes;
      std::this_thread::yield();
    }
    stop();
  }
  finish();
  over = true;
  for (std::thread& t : threads) t.join();
  const Profile p = read_profile(find_profiles(folder.path).at(0));  // all six in one folder
  EXPECT_EQ(p.damaged + p.lost, 0u);
  EXPECT_GE(sets_in(p), 6u * 100 - 6 * kThreads * 10);  // those that had begun before a start are not told
  EXPECT_GT(flushes, 0u);
}

}  // namespace
}  // namespace updraft::profiling
