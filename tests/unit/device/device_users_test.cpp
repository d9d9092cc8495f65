// Who uses a device: aclrtSetDevice and aclrtResetDevice count, and contexts of one's own are apart.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "../error_text.h"
#include "acl/acl.h"

namespace {

bool active(int32_t device) {
  uint32_t flags = 0;
  int32_t is = -1;
  EXPECT_EQ(aclrtGetPrimaryCtxState(device, &flags, &is), 0);
  return is == 1;
}

// Devices that no other test of this program uses.
constexpr int32_t kDevice = 5, kOther = 6;

struct DeviceUsers : testing::Test {
  static void SetUpTestSuite() { aclInit(nullptr); }
  void TearDown() override {
    aclrtResetDeviceForce(kDevice);
    aclrtResetDeviceForce(kOther);
  }
};

TEST_F(DeviceUsers, TheLastResetReleases) {
  ASSERT_EQ(aclrtSetDevice(kDevice), 0);
  ASSERT_EQ(aclrtSetDevice(kDevice), 0);
  EXPECT_TRUE(active(kDevice));
  EXPECT_EQ(aclrtResetDevice(kDevice), 0);
  EXPECT_TRUE(active(kDevice));
  int32_t device = -1;
  EXPECT_EQ(aclrtGetDevice(&device), 0);
  EXPECT_EQ(device, kDevice);
  EXPECT_EQ(aclrtResetDevice(kDevice), 0);
  EXPECT_FALSE(active(kDevice));
  EXPECT_EQ(aclrtGetDevice(&device), 107002);
  EXPECT_EQ(aclrtResetDevice(kDevice), 0);  // nothing is left to undo
}

TEST_F(DeviceUsers, AnotherThreadsResetDoesNotTakeMyContext) {
  ASSERT_EQ(aclrtSetDevice(kDevice), 0);
  std::thread([] {
    EXPECT_EQ(aclrtSetDevice(kDevice), 0);
    EXPECT_EQ(aclrtResetDevice(kDevice), 0);
  }).join();
  void* p = nullptr;
  EXPECT_EQ(aclrtMalloc(&p, 64, ACL_MEM_MALLOC_HUGE_FIRST), 0) << error_text();
  EXPECT_EQ(aclrtFree(p), 0);
  EXPECT_EQ(aclrtResetDevice(kDevice), 0);
}

TEST_F(DeviceUsers, SeveralDevicesInOneThread) {
  ASSERT_EQ(aclrtSetDevice(kDevice), 0);
  ASSERT_EQ(aclrtSetDevice(kOther), 0);
  EXPECT_EQ(aclrtResetDevice(kDevice), 0);  // the other one stays the thread's
  int32_t device = -1;
  EXPECT_EQ(aclrtGetDevice(&device), 0);
  EXPECT_EQ(device, kOther);
  EXPECT_FALSE(active(kDevice));
  EXPECT_EQ(aclrtResetDevice(kOther), 0);
  EXPECT_EQ(aclrtGetDevice(&device), 107002);
}

TEST_F(DeviceUsers, TheLastResetWaits) {
  ASSERT_EQ(aclrtSetDevice(kDevice), 0);
  static std::atomic<bool> go, done;
  go = done = false;
  auto work = [](void*) {
    while (!go) std::this_thread::yield();
    done = true;
  };
  ASSERT_EQ(aclrtLaunchHostFunc(nullptr, work, nullptr), 0);
  std::thread release([] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    go = true;
  });
  EXPECT_EQ(aclrtResetDevice(kDevice), 0);
  EXPECT_TRUE(done);
  release.join();
}

TEST_F(DeviceUsers, ForceReleasesWhateverTheCount) {
  ASSERT_EQ(aclrtSetDevice(kDevice), 0);
  ASSERT_EQ(aclrtSetDevice(kDevice), 0);
  EXPECT_EQ(aclrtResetDeviceForce(kDevice), 0);
  EXPECT_FALSE(active(kDevice));
  int32_t device = -1;
  EXPECT_EQ(aclrtGetDevice(&device), 107002);
  ASSERT_EQ(aclrtSetDevice(kDevice), 0);  // counts from the start again
  EXPECT_EQ(aclrtResetDevice(kDevice), 0);
  EXPECT_FALSE(active(kDevice));
}

TEST_F(DeviceUsers, ContextsOfOnesOwnAreApart) {
  ASSERT_EQ(aclrtSetDevice(kDevice), 0);
  aclrtContext primary = nullptr, own = nullptr;
  ASSERT_EQ(aclrtGetCurrentContext(&primary), 0);
  ASSERT_EQ(aclrtCreateContext(&own, kDevice), 0);
  EXPECT_EQ(aclrtResetDevice(kDevice), 0);
  int32_t device = -1;
  EXPECT_EQ(aclrtGetDevice(&device), 0) << "aclrtCreateContext made its context the thread's";
  EXPECT_EQ(device, kDevice);
  EXPECT_EQ(aclrtSynchronizeStream(nullptr), 0);
  EXPECT_EQ(aclrtSetCurrentContext(primary), 107017);
  EXPECT_EQ(aclrtDestroyContext(own), 0);
  EXPECT_EQ(aclrtGetDevice(&device), 107002);
}

TEST_F(DeviceUsers, ThePrimaryContextIsNotTheClientsToDestroy) {
  ASSERT_EQ(aclrtSetDevice(kDevice), 0);
  aclrtContext primary = nullptr;
  ASSERT_EQ(aclrtGetCurrentContext(&primary), 0);
  EXPECT_EQ(aclrtDestroyContext(primary), 107000);
  EXPECT_NE(error_text().find("aclrtResetDevice"), std::string::npos);
  ASSERT_EQ(aclrtSetDevice(kDevice), 0);
  EXPECT_EQ(aclrtSynchronizeStream(nullptr), 0);
  EXPECT_EQ(aclrtResetDevice(kDevice), 0);
  EXPECT_EQ(aclrtResetDevice(kDevice), 0);
}

// Threads that come and go in pairs of set and reset while another one works.
TEST_F(DeviceUsers, ThreadsComeAndGo) {
  ASSERT_EQ(aclrtSetDevice(kDevice), 0);
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int k = 0; k < 3; ++k)
    threads.emplace_back([&] {
      while (!stop) {
        ASSERT_EQ(aclrtSetDevice(kDevice), 0);
        ASSERT_EQ(aclrtSynchronizeStream(nullptr), 0);
        ASSERT_EQ(aclrtResetDevice(kDevice), 0);
      }
    });
  for (int i = 0; i < 200; ++i) {
    void* p = nullptr;
    ASSERT_EQ(aclrtMalloc(&p, 4096, ACL_MEM_MALLOC_HUGE_FIRST), 0) << error_text();
    ASSERT_EQ(aclrtMemsetAsync(p, 4096, 1, 4096, nullptr), 0);
    ASSERT_EQ(aclrtSynchronizeStream(nullptr), 0);
    ASSERT_EQ(aclrtFree(p), 0);
  }
  stop = true;
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(aclrtResetDevice(kDevice), 0);
  EXPECT_FALSE(active(kDevice));
}

TEST_F(DeviceUsers, LastErrorsAreTheThreads) {
  aclrtGetLastError(ACL_RT_THREAD_LEVEL);
  EXPECT_EQ(aclrtPeekAtLastError(ACL_RT_THREAD_LEVEL), 0);
  EXPECT_EQ(aclrtFree(nullptr), 107000);
  std::thread([] { EXPECT_EQ(aclrtPeekAtLastError(ACL_RT_THREAD_LEVEL), 0); }).join();
  EXPECT_EQ(aclrtSetDevice(kDevice), 0);  // a call that works leaves it
  EXPECT_EQ(aclrtPeekAtLastError(ACL_RT_THREAD_LEVEL), 107000);
  EXPECT_EQ(aclrtGetLastError(ACL_RT_THREAD_LEVEL), 107000);
  EXPECT_EQ(aclrtGetLastError(ACL_RT_THREAD_LEVEL), 0);
  EXPECT_EQ(aclrtPeekAtLastError(static_cast<aclrtLastErrLevel>(7)), 107000);
  EXPECT_NE(error_text().find("level 7"), std::string::npos);
  aclrtGetLastError(ACL_RT_THREAD_LEVEL);
}

TEST_F(DeviceUsers, FiguresAreTrue) {
  ASSERT_EQ(aclrtSetDevice(kDevice), 0);
  void* p = nullptr;
  ASSERT_EQ(aclrtMalloc(&p, 32 << 20, ACL_MEM_MALLOC_HUGE_FIRST), 0);
  ASSERT_EQ(aclrtFree(p), 0);
  aclrtMemUsageInfo info{};
  size_t count = 0;
  ASSERT_EQ(aclrtGetMemUsageInfo(kDevice, &info, 1, &count), 0);
  EXPECT_EQ(info.curMemSize, 0u);
  EXPECT_GE(info.memPeakSize, size_t{32} << 20);
  EXPECT_LT(info.memPeakSize, size_t{40} << 20);
  aclrtUuid a{}, again{}, b{};
  ASSERT_EQ(aclrtDeviceGetUuid(kDevice, &a), 0);
  ASSERT_EQ(aclrtDeviceGetUuid(kDevice, &again), 0);
  ASSERT_EQ(aclrtDeviceGetUuid(kOther, &b), 0);
  EXPECT_EQ(std::memcmp(&a, &again, sizeof a), 0);
  EXPECT_NE(std::memcmp(&a, &b, sizeof a), 0);
  // Not the bytes that every host would have.
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(&a), sizeof a).find("updraft"), std::string::npos);
}

}  // namespace
