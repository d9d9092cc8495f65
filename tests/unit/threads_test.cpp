// Many threads use the whole interface at once: for ThreadSanitizer, and for results that do not depend on the timing.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "acl/acl.h"
#include "aclnn/acl_meta.h"

extern "C" int aclnnInplaceAddsGetWorkspaceSize(aclTensor*, const aclScalar*, const aclScalar*, uint64_t*,
                                                aclOpExecutor**);
extern "C" int aclnnInplaceAdds(void*, uint64_t, aclOpExecutor*, aclrtStream);

namespace {

constexpr int kThreads = 4, kRounds = 30;
constexpr int64_t kElements = 40000;  // enough for several workers

int add_one(void* data, aclrtStream stream) {
  float one = 1;
  int64_t dims[] = {kElements};
  aclTensor* t = aclCreateTensor(dims, 1, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, dims, 1, data);
  aclScalar* scalar = aclCreateScalar(&one, ACL_FLOAT);
  uint64_t workspace = 0;
  aclOpExecutor* executor = nullptr;
  int code = aclnnInplaceAddsGetWorkspaceSize(t, scalar, scalar, &workspace, &executor);
  if (code == 0) code = aclnnInplaceAdds(nullptr, workspace, executor, stream);
  aclDestroyTensor(t);
  aclDestroyScalar(scalar);
  return code;
}

// Each thread adds to memory of its own and, in turns that events order, to memory of all.
TEST(Threads, ShareADevice) {
  aclInit(nullptr);
  ASSERT_EQ(aclrtSetDevice(0), 0);
  void* shared = nullptr;
  ASSERT_EQ(aclrtMalloc(&shared, kElements * 4, ACL_MEM_MALLOC_HUGE_FIRST), 0);
  ASSERT_EQ(aclrtMemset(shared, kElements * 4, 0, kElements * 4), 0);
  std::vector<aclrtEvent> turns(kThreads * kRounds + 1);
  for (aclrtEvent& e : turns) ASSERT_EQ(aclrtCreateEvent(&e), 0);
  std::atomic<int> turn{0}, called{0};
  std::vector<std::thread> threads;
  for (int k = 0; k < kThreads; ++k)
    threads.emplace_back([&, k] {
      ASSERT_EQ(aclrtSetDevice(0), 0);
      aclrtStream stream = nullptr;
      ASSERT_EQ(aclrtCreateStream(&stream), 0);
      for (int round = 0; round < kRounds; ++round) {
        void* own = nullptr;
        ASSERT_EQ(aclrtMalloc(&own, kElements * 4, ACL_MEM_MALLOC_HUGE_FIRST), 0);
        ASSERT_EQ(aclrtMemsetAsync(own, kElements * 4, 0, kElements * 4, stream), 0);
        ASSERT_EQ(add_one(own, stream), 0);
        const int mine = round * kThreads + k;
        while (turn != mine) std::this_thread::yield();
        ASSERT_EQ(aclrtStreamWaitEvent(stream, turns[static_cast<size_t>(mine)]), 0);
        ASSERT_EQ(add_one(shared, stream), 0);
        ASSERT_EQ(aclrtRecordEvent(turns[static_cast<size_t>(mine) + 1], stream), 0);
        turn = mine + 1;
        auto count = [](void* n) { ++*static_cast<std::atomic<int>*>(n); };
        ASSERT_EQ(aclrtLaunchHostFunc(stream, count, &called), 0);
        std::vector<float> back(kElements);
        ASSERT_EQ(aclrtMemcpyAsync(back.data(), kElements * 4, own, kElements * 4, ACL_MEMCPY_DEVICE_TO_HOST, stream),
                  0);
        ASSERT_EQ(aclrtSynchronizeStream(stream), 0);
        EXPECT_EQ(back.front(), 1);
        EXPECT_EQ(back.back(), 1);
        ASSERT_EQ(aclrtFree(own), 0);
      }
      ASSERT_EQ(aclrtDestroyStream(stream), 0);
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(called, kThreads * kRounds);
  std::vector<float> back(kElements);
  ASSERT_EQ(aclrtMemcpy(back.data(), kElements * 4, shared, kElements * 4, ACL_MEMCPY_DEVICE_TO_HOST), 0);
  EXPECT_EQ(back.front(), kThreads * kRounds);
  EXPECT_EQ(back.back(), kThreads * kRounds);
  for (aclrtEvent e : turns) EXPECT_EQ(aclrtDestroyEvent(e), 0);
  EXPECT_EQ(aclrtFree(shared), 0);
}

// Each thread captures on a stream of its own and replays.
TEST(Threads, CaptureApart) {
  aclInit(nullptr);
  std::vector<std::thread> threads;
  for (int k = 0; k < kThreads; ++k)
    threads.emplace_back([] {
      ASSERT_EQ(aclrtSetDevice(0), 0);
      aclrtStream stream = nullptr;
      ASSERT_EQ(aclrtCreateStream(&stream), 0);
      void* p = nullptr;
      ASSERT_EQ(aclrtMalloc(&p, kElements * 4, ACL_MEM_MALLOC_HUGE_FIRST), 0);
      ASSERT_EQ(aclrtMemset(p, kElements * 4, 0, kElements * 4), 0);
      ASSERT_EQ(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_THREAD_LOCAL), 0);
      ASSERT_EQ(add_one(p, stream), 0);
      aclmdlRI graph = nullptr;
      ASSERT_EQ(aclmdlRICaptureEnd(stream, &graph), 0);
      for (int i = 0; i < 5; ++i) ASSERT_EQ(aclmdlRIExecuteAsync(graph, stream), 0);
      ASSERT_EQ(aclrtSynchronizeStream(stream), 0);
      float value = 0;
      ASSERT_EQ(aclrtMemcpy(&value, 4, p, 4, ACL_MEMCPY_DEVICE_TO_HOST), 0);
      EXPECT_EQ(value, 5);
      ASSERT_EQ(aclmdlRIDestroy(graph), 0);
      ASSERT_EQ(aclrtFree(p), 0);
      ASSERT_EQ(aclrtDestroyStream(stream), 0);
    });
  for (std::thread& t : threads) t.join();
}

}  // namespace
