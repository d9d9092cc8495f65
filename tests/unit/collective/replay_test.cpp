// Captured collectives among others: a replay takes its numbers as calls do, whoever else enqueues meanwhile.
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "acl/acl.h"
#include "hccl/hccl.h"

namespace {

class Replay : public testing::Test {
 protected:
  static constexpr size_t kCount = 4;

  void SetUp() override {
    aclInit(nullptr);
    ASSERT_EQ(aclrtSetDevice(0), 0);
    ASSERT_EQ(aclrtCreateStream(&stream_), 0);
    HcclRootInfo info;
    ASSERT_EQ(HcclGetRootInfo(&info), HCCL_SUCCESS);
    ASSERT_EQ(HcclCommInitRootInfo(1, &info, 0, &comm_), HCCL_SUCCESS) << aclGetRecentErrMsg();
    for (void** p : {&in_, &out_}) ASSERT_EQ(aclrtMalloc(p, kCount * 4, ACL_MEM_MALLOC_HUGE_FIRST), 0);
    const std::vector<float> one(kCount, 1.f);
    ASSERT_EQ(aclrtMemcpy(in_, kCount * 4, one.data(), kCount * 4, ACL_MEMCPY_HOST_TO_DEVICE), 0);
    ASSERT_EQ(aclrtMemset(out_, kCount * 4, 0, kCount * 4), 0);
  }
  void TearDown() override {
    EXPECT_EQ(HcclCommDestroy(comm_), HCCL_SUCCESS);
    aclrtSynchronizeStream(stream_);  // what hangs has failed by now
    EXPECT_EQ(aclrtDestroyStream(stream_), 0);
    for (void* p : {in_, out_}) aclrtFree(p);
  }

  int reduce() { return HcclAllReduce(in_, out_, kCount, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, comm_, stream_); }
  void expect_done() {
    ASSERT_EQ(aclrtSynchronizeStreamWithTimeout(stream_, 60000), 0) << aclGetRecentErrMsg();
    std::vector<float> found(kCount);
    ASSERT_EQ(aclrtMemcpy(found.data(), kCount * 4, out_, kCount * 4, ACL_MEMCPY_DEVICE_TO_HOST), 0);
    EXPECT_EQ(found, std::vector<float>(kCount, 1.f));
  }

  aclrtStream stream_ = nullptr;
  HcclComm comm_ = nullptr;
  void *in_ = nullptr, *out_ = nullptr;
};

TEST_F(Replay, TakesNumbersInTheOrderOfTheStream) {
  aclmdlRI graph = nullptr;
  ASSERT_EQ(aclmdlRICaptureBegin(stream_, ACL_MODEL_RI_CAPTURE_MODE_RELAXED), 0);
  for (int k = 0; k < 3; ++k) ASSERT_EQ(reduce(), 0);
  ASSERT_EQ(aclmdlRICaptureEnd(stream_, &graph), 0);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      ASSERT_EQ(aclrtSetDevice(0), 0);
      for (int i = 0; i < 10000; ++i) ASSERT_EQ(t ? aclmdlRIExecuteAsync(graph, stream_) : reduce(), 0) << i;
    });
  for (std::thread& thread : threads) thread.join();
  expect_done();
  EXPECT_EQ(aclmdlRIDestroy(graph), 0);
}

TEST_F(Replay, OnAStreamThatIsCapturedBecomesPartOfThatGraph) {
  aclmdlRI inner = nullptr, outer = nullptr;
  ASSERT_EQ(aclmdlRICaptureBegin(stream_, ACL_MODEL_RI_CAPTURE_MODE_RELAXED), 0);
  ASSERT_EQ(reduce(), 0);
  ASSERT_EQ(aclmdlRICaptureEnd(stream_, &inner), 0);
  ASSERT_EQ(aclmdlRICaptureBegin(stream_, ACL_MODEL_RI_CAPTURE_MODE_RELAXED), 0);
  ASSERT_EQ(aclmdlRIExecuteAsync(inner, stream_), 0);
  ASSERT_EQ(aclmdlRICaptureEnd(stream_, &outer), 0);
  for (int k = 0; k < 2; ++k) ASSERT_EQ(aclmdlRIExecuteAsync(outer, stream_), 0);
  ASSERT_EQ(reduce(), 0);
  expect_done();
  EXPECT_EQ(aclmdlRIDestroy(outer), 0);
  EXPECT_EQ(aclmdlRIDestroy(inner), 0);
}

}  // namespace
