// Waits of streams through the C interface: their limits, aborts while they last, values, host functions,
// back-pressure.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "../sanitizers.h"
#include "acl/acl.h"
#include "aclnn/acl_meta.h"
#include "flags.h"

extern "C" int aclnnInplaceAddsGetWorkspaceSize(aclTensor*, const aclScalar*, const aclScalar*, uint64_t*,
                                                aclOpExecutor**);
extern "C" int aclnnInplaceAdds(void*, uint64_t, aclOpExecutor*, aclrtStream);

namespace {

using namespace std::chrono_literals;
constexpr int kWaitTimeout = 107019, kAborted = 107022, kTimeInvalid = 107006, kOperatorTimeout = 507014;
constexpr uint32_t kGreaterOrEqual = 0, kEqual = 1;  // of aclrtValueWait

void count(void* n) { ++*static_cast<std::atomic<int>*>(n); }
void throw_int(void*) { throw 7; }

struct Waits : testing::Test {
  void SetUp() override {
    aclInit(nullptr);
    ASSERT_EQ(aclrtSetDevice(0), 0);
    ASSERT_EQ(aclrtCreateStream(&a), 0);
    ASSERT_EQ(aclrtCreateStream(&b), 0);
    ASSERT_EQ(aclrtCreateEvent(&event), 0);
    ASSERT_EQ(aclrtCreateNotify(&notify, 0), 0);
    ASSERT_EQ(aclrtMalloc(&memory, kBytes, ACL_MEM_MALLOC_HUGE_FIRST), 0);
    ASSERT_EQ(aclrtMemset(memory, kBytes, 0, kBytes), 0);
  }
  void TearDown() override {
    go = true;
    for (aclrtStream stream : {a, b})
      if (stream) { EXPECT_EQ(aclrtDestroyStreamForce(stream), 0); }
    EXPECT_EQ(aclrtDestroyEvent(event), 0);
    EXPECT_EQ(aclrtDestroyNotify(notify), 0);
    EXPECT_EQ(aclrtFree(memory), 0);
  }
  // An event that is reached when `go` is set.
  void record_late(aclrtStream stream) {
    ASSERT_EQ(aclrtLaunchHostFunc(stream, wait_for_flag, &go), 0);
    ASSERT_EQ(aclrtRecordEvent(event, stream), 0);
  }
  uint64_t* word(int i) const { return static_cast<uint64_t*>(memory) + i; }
  uint64_t read(int i) const {
    uint64_t value = 0;
    EXPECT_EQ(aclrtMemcpy(&value, 8, word(i), 8, ACL_MEMCPY_DEVICE_TO_HOST), 0);
    return value;
  }
  void write(int i, uint64_t value) const {
    ASSERT_EQ(aclrtMemcpy(word(i), 8, &value, 8, ACL_MEMCPY_HOST_TO_DEVICE), 0);
  }
  int add_one(int64_t elements, aclrtStream stream) const {
    float one = 1;
    aclTensor* t = aclCreateTensor(&elements, 1, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, &elements, 1, memory);
    aclScalar* scalar = aclCreateScalar(&one, ACL_FLOAT);
    uint64_t workspace = 0;
    aclOpExecutor* executor = nullptr;
    int code = aclnnInplaceAddsGetWorkspaceSize(t, scalar, scalar, &workspace, &executor);
    if (code == 0) code = aclnnInplaceAdds(nullptr, workspace, executor, stream);
    aclDestroyTensor(t);
    aclDestroyScalar(scalar);
    return code;
  }

  static constexpr size_t kBytes = 4 << 20;
  aclrtStream a = nullptr, b = nullptr;
  aclrtEvent event = nullptr;
  aclrtNotify notify = nullptr;
  void* memory = nullptr;
  std::atomic<bool> go{false};
  std::atomic<int> ran{0};
};

TEST_F(Waits, AnEventThatDoesNotComeInTimeFailsTheStream) {
  record_late(a);
  ASSERT_EQ(aclrtSetStreamFailureMode(b, 1), 0);
  ASSERT_EQ(aclrtStreamWaitEventWithTimeout(b, event, 1), 0);
  ASSERT_EQ(aclrtLaunchHostFunc(b, count, &ran), 0);
  EXPECT_EQ(aclrtSynchronizeStream(b), kWaitTimeout);
  EXPECT_NE(std::string(aclGetRecentErrMsg()).find("within 1 s"), std::string::npos);
  EXPECT_EQ(ran, 0);
  ASSERT_EQ(aclrtLaunchHostFunc(b, count, &ran), 0);
  EXPECT_EQ(aclrtSynchronizeStream(b), 0);
  EXPECT_EQ(ran, 1);
  aclrtEventWaitStatus status;
  EXPECT_EQ(aclrtQueryEventWaitStatus(event, &status), 0);
  EXPECT_EQ(status, ACL_EVENT_WAIT_STATUS_COMPLETE);
  EXPECT_EQ(aclrtStreamWaitEventWithTimeout(b, event, -1), 107000);
}

TEST_F(Waits, TheLimitOfTheProcessHoldsForLaterWaits) {
  record_late(a);
  ASSERT_EQ(aclrtSetOpWaitTimeout(1), 0);
  ASSERT_EQ(aclrtStreamWaitEvent(b, event), 0);
  ASSERT_EQ(aclrtSetOpWaitTimeout(0), 0);
  EXPECT_EQ(aclrtSynchronizeStream(b), kWaitTimeout);
  ASSERT_EQ(aclrtStreamWaitEvent(b, event), 0);
  EXPECT_EQ(aclrtSynchronizeStreamWithTimeout(b, 1500), 107020);
  go = true;
  EXPECT_EQ(aclrtSynchronizeStream(b), 0);
}

TEST_F(Waits, ANotifyThatDoesNotComeInTimeFailsTheStream) {
  ASSERT_EQ(aclrtWaitAndResetNotify(notify, a, 1), 0);
  EXPECT_EQ(aclrtSynchronizeStream(a), kWaitTimeout);
  // The flag that comes afterwards is the next wait's.
  ASSERT_EQ(aclrtRecordNotify(notify, b), 0);
  ASSERT_EQ(aclrtSynchronizeStream(b), 0);
  ASSERT_EQ(aclrtWaitAndResetNotify(notify, a, 1), 0);
  EXPECT_EQ(aclrtSynchronizeStream(a), 0);
}

TEST_F(Waits, ALimitThatPassesAfterTheWaitDoesNothing) {
  for (int i = 0; i < 200; ++i) {
    aclrtStream stream = nullptr;
    aclrtEvent late = nullptr;
    std::atomic<bool> reached{false};
    ASSERT_EQ(aclrtCreateStream(&stream), 0);
    ASSERT_EQ(aclrtCreateEvent(&late), 0);
    ASSERT_EQ(aclrtLaunchHostFunc(a, wait_for_flag, &reached), 0);
    ASSERT_EQ(aclrtRecordEvent(late, a), 0);
    ASSERT_EQ(aclrtStreamWaitEventWithTimeout(stream, late, 1 + i % 2), 0);
    reached = true;
    ASSERT_EQ(aclrtSynchronizeStream(stream), 0);
    ASSERT_EQ(aclrtDestroyStream(stream), 0);
    ASSERT_EQ(aclrtDestroyEvent(late), 0);
    ASSERT_EQ(aclrtSynchronizeStream(a), 0);
  }
  std::this_thread::sleep_for(2100ms);
}

TEST_F(Waits, AnOperatorThatRunsForTooLongFailsWhenItEnds) {
  uint64_t actual = 0;
  ASSERT_EQ(aclrtSetOpExecuteTimeOutV2(1, &actual), 0);
  EXPECT_EQ(actual, 1u);
  ASSERT_EQ(add_one(kBytes / 4, a), 0);
  EXPECT_EQ(aclrtSynchronizeStream(a), kOperatorTimeout);
  EXPECT_NE(std::string(aclGetRecentErrMsg()).find("aclnnInplaceAdds"), std::string::npos);
  ASSERT_EQ(aclrtSetOpExecuteTimeOut(1000), 0);
  ASSERT_EQ(add_one(kBytes / 4, a), 0);
  EXPECT_EQ(aclrtSynchronizeStream(a), 0);
  ASSERT_EQ(aclrtSetOpExecuteTimeOutV2(0, &actual), 0);
  EXPECT_EQ(actual, UINT64_MAX);  // the longest: none
  ASSERT_EQ(add_one(kBytes / 4, a), 0);
  EXPECT_EQ(aclrtSynchronizeStream(a), 0);
  EXPECT_EQ(aclrtSetOpExecuteTimeOutV2(1, nullptr), 107000);
}

// Whatever the stream waits for, force drops it and what is behind it.
TEST_F(Waits, AStreamThatWaitsCanBeDestroyedByForce) {
  record_late(a);
  for (int what = 0; what < 4; ++what) {
    aclrtStream stream = nullptr;
    ASSERT_EQ(aclrtCreateStream(&stream), 0);
    switch (what) {
      case 0: ASSERT_EQ(aclrtStreamWaitEvent(stream, event), 0); break;
      case 1: ASSERT_EQ(aclrtWaitAndResetNotify(notify, stream, 100), 0); break;
      case 2: ASSERT_EQ(aclrtValueWait(word(0), 1, kEqual, stream), 0); break;
      default:
        ASSERT_EQ(aclrtSubscribeReport(12345, stream), 0);
        ASSERT_EQ(aclrtLaunchCallback(count, &ran, ACL_CALLBACK_BLOCK, stream), 0);
    }
    ASSERT_EQ(aclrtLaunchHostFunc(stream, count, &ran), 0);
    ASSERT_EQ(aclrtDestroyStreamForce(stream), 0) << what;
  }
  // What the dropped ones waited for comes, and finds nobody.
  go = true;
  ASSERT_EQ(aclrtRecordNotify(notify, a), 0);
  ASSERT_EQ(aclrtValueWrite(word(0), 1, 0, a), 0);
  EXPECT_EQ(aclrtSynchronizeStream(a), 0);
  ASSERT_EQ(aclrtWaitAndResetNotify(notify, b, 0), 0);
  EXPECT_EQ(aclrtSynchronizeStream(b), 0);
  EXPECT_EQ(ran, 0);
}

TEST_F(Waits, AnAbortOfTheDeviceEndsAllWaitsAndTellsWhoWaits) {
  record_late(a);
  ASSERT_EQ(aclrtStreamWaitEvent(b, event), 0);
  ASSERT_EQ(aclrtLaunchHostFunc(b, count, &ran), 0);
  std::atomic<int> code{-1};
  std::thread waiting([&] {
    ASSERT_EQ(aclrtSetDevice(0), 0);
    code = aclrtSynchronizeStream(b);
  });
  std::this_thread::sleep_for(500ms);
  EXPECT_EQ(code, -1);
  ASSERT_EQ(aclrtDeviceTaskAbort(0, 0), 0);
  waiting.join();
  EXPECT_EQ(code, kAborted);
  go = true;  // the host function had begun
  EXPECT_EQ(aclrtSynchronizeDevice(), 0);
  ASSERT_EQ(aclrtLaunchHostFunc(b, count, &ran), 0);
  EXPECT_EQ(aclrtSynchronizeDevice(), 0);
  EXPECT_EQ(ran, 1);
}

// Streams park and are aborted at any moment.
TEST_F(Waits, AbortsAndWakesMeetAtOnce) {
  std::atomic<bool> over{false};
  std::thread aborting([&] {
    ASSERT_EQ(aclrtSetDevice(0), 0);
    while (!over) ASSERT_EQ(aclrtStreamAbort(b), 0);
  });
  for (int i = 0; i < 3000; ++i) {
    ASSERT_EQ(aclrtRecordEvent(event, a), 0);
    ASSERT_EQ(aclrtStreamWaitEventWithTimeout(b, event, 50), 0);
    ASSERT_EQ(aclrtValueWrite(word(0), static_cast<uint64_t>(i), 0, a), 0);
    ASSERT_EQ(aclrtValueWait(word(0), static_cast<uint64_t>(i), kGreaterOrEqual, b), 0);
    ASSERT_EQ(aclrtRecordNotify(notify, a), 0);
    ASSERT_EQ(aclrtWaitAndResetNotify(notify, b, 0), 0);
  }
  EXPECT_EQ(aclrtSynchronizeStream(a), 0);
  const int code = aclrtSynchronizeStreamWithTimeout(b, 60000);
  EXPECT_TRUE(code == 0 || code == kAborted) << code;
  over = true;
  aborting.join();
}

TEST_F(Waits, ValuesDoNotWaitForEachOther) {
  ASSERT_EQ(aclrtValueWait(word(0), 5, kGreaterOrEqual, a), 0);
  ASSERT_EQ(aclrtLaunchHostFunc(a, count, &ran), 0);
  ASSERT_EQ(aclrtValueWait(word(1), 3, kEqual, b), 0);
  ASSERT_EQ(aclrtValueWrite(word(0), 6, 0, b), 0);
  aclrtStream c = nullptr;
  ASSERT_EQ(aclrtCreateStream(&c), 0);
  ASSERT_EQ(aclrtLaunchHostFunc(c, count, &ran), 0);
  ASSERT_EQ(aclrtSynchronizeStreamWithTimeout(c, 20000), 0);  // a host function is not behind the waits
  EXPECT_EQ(ran, 1);
  write(1, 3);  // by the host: nobody tells the stream
  EXPECT_EQ(aclrtSynchronizeStreamWithTimeout(b, 20000), 0);
  EXPECT_EQ(aclrtSynchronizeStreamWithTimeout(a, 20000), 0);
  EXPECT_EQ(ran, 2);
  EXPECT_EQ(read(0), 6u);
  ASSERT_EQ(aclrtDestroyStream(c), 0);
}

TEST_F(Waits, HostFunctionsOfStreamsMayWaitForEachOther) {
  std::vector<aclrtStream> streams(6);
  std::vector<std::atomic<bool>> flags(7);
  for (size_t i = 0; i < streams.size(); ++i) {
    ASSERT_EQ(aclrtCreateStream(&streams[i]), 0);
    ASSERT_EQ(aclrtLaunchHostFunc(streams[i], wait_for_flag, &flags[i + 1]), 0);
    ASSERT_EQ(aclrtLaunchHostFunc(streams[i], set_flag, &flags[i]), 0);
  }
  ASSERT_EQ(aclrtLaunchHostFunc(a, set_flag, &flags[6]), 0);
  for (aclrtStream stream : streams) {
    EXPECT_EQ(aclrtSynchronizeStreamWithTimeout(stream, 20000), 0);
    EXPECT_EQ(aclrtDestroyStream(stream), 0);
  }
}

TEST_F(Waits, AHostFunctionMayThrowAnything) {
  ASSERT_EQ(aclrtLaunchHostFunc(a, throw_int, nullptr), 0);
  EXPECT_EQ(aclrtSynchronizeStream(a), 507000);
  ASSERT_EQ(aclrtSubscribeReport(static_cast<uint64_t>(pthread_self()), a), 0);
  ASSERT_EQ(aclrtLaunchCallback(throw_int, nullptr, ACL_CALLBACK_BLOCK, a), 0);
  EXPECT_EQ(aclrtProcessReport(20000), 500000);
  EXPECT_EQ(aclrtSynchronizeStream(a), 507000);
  EXPECT_EQ(aclrtSynchronizeStream(a), 0);
}

TEST_F(Waits, FailureModesGoOnAndStop) {
  for (uint64_t mode : {0, 1}) {
    ran = 0;
    ASSERT_EQ(aclrtSetStreamFailureMode(a, mode), 0);
    ASSERT_EQ(aclrtLaunchHostFunc(a, throw_int, nullptr), 0);
    ASSERT_EQ(aclrtLaunchHostFunc(a, count, &ran), 0);
    EXPECT_EQ(aclrtSynchronizeStream(a), 507000);
    EXPECT_EQ(ran, mode == 0);
    aclrtStreamAttrValue value{};
    ASSERT_EQ(aclrtGetStreamAttribute(a, ACL_STREAM_ATTR_FAILURE_MODE, &value), 0);
    EXPECT_EQ(value.failureMode, mode);
  }
  EXPECT_EQ(aclrtSetStreamFailureMode(a, 2), 107000);
  aclrtStreamAttrValue unknown{};
  unknown.failureMode = 2;
  EXPECT_EQ(aclrtSetStreamAttribute(a, ACL_STREAM_ATTR_FAILURE_MODE, &unknown), 107000);
  EXPECT_EQ(aclrtSetStreamOverflowSwitch(a, 2), 107000);
}

TEST_F(Waits, APriorityThatIsSetIsTheOneThatIsRead) {
  aclrtStreamAttrValue value{};
  value.reserve[0] = 3;
  ASSERT_EQ(aclrtSetStreamAttribute(a, ACL_STREAM_ATTR_PRIORITY, &value), 0);
  uint32_t priority = 0;
  ASSERT_EQ(aclrtStreamGetPriority(a, &priority), 0);
  EXPECT_EQ(priority, 3u);
  value = {};
  ASSERT_EQ(aclrtGetStreamAttribute(a, ACL_STREAM_ATTR_PRIORITY, &value), 0);
  EXPECT_EQ(value.reserve[0], 3u);
}

TEST_F(Waits, CallbackThreadsChangeWhileOthersLaunch) {
  std::atomic<bool> over{false};
  std::atomic<int> calls{0};
  std::thread worker([&] {
    while (!over) aclrtProcessReport(1);
  });
  const uint64_t id = static_cast<uint64_t>(worker.native_handle());
  std::thread launcher([&] {
    ASSERT_EQ(aclrtSetDevice(0), 0);
    for (int i = 0; i < 200; ++i) {
      const int code = aclrtLaunchCallback(count, &calls, ACL_CALLBACK_NO_BLOCK, a);
      ASSERT_TRUE(code == 0 || code == 107015) << code;
    }
  });
  for (int i = 0; i < 200; ++i) {
    ASSERT_EQ(aclrtSubscribeReport(id, a), 0);
    ASSERT_EQ(aclrtUnSubscribeReport(id, a), 0);
  }
  launcher.join();
  over = true;
  worker.join();
}

TEST_F(Waits, AResetIsInTheStreamsOrder) {
  uint64_t time = 0;
  ASSERT_EQ(aclrtRecordEvent(event, a), 0);
  ASSERT_EQ(aclrtSynchronizeStream(a), 0);
  ASSERT_EQ(aclrtLaunchHostFunc(a, wait_for_flag, &go), 0);
  ASSERT_EQ(aclrtResetEvent(event, a), 0);
  EXPECT_EQ(aclrtEventGetTimestamp(event, &time), 0);
  go = true;
  ASSERT_EQ(aclrtSynchronizeStream(a), 0);
  EXPECT_EQ(aclrtEventGetTimestamp(event, &time), kTimeInvalid);
  ASSERT_EQ(aclrtStreamWaitEvent(b, event), 0);
  EXPECT_EQ(aclrtSynchronizeStream(b), 0);
  // A record after the reset is the one that counts.
  ASSERT_EQ(aclrtResetEvent(event, a), 0);
  ASSERT_EQ(aclrtRecordEvent(event, a), 0);
  ASSERT_EQ(aclrtSynchronizeStream(a), 0);
  EXPECT_EQ(aclrtEventGetTimestamp(event, &time), 0);
}

// The host queues as much as it likes behind something that it does itself later.
TEST_F(Waits, AWaitingStreamTakesAnyNumberOfTasks) {
  ASSERT_EQ(aclrtLaunchHostFunc(a, wait_for_flag, &go), 0);
  ASSERT_EQ(aclrtWaitAndResetNotify(notify, b, 0), 0);
  for (int i = 0; i < 20000; ++i) {
    ASSERT_EQ(aclrtValueWrite(word(0), static_cast<uint64_t>(i), 0, a), 0);
    ASSERT_EQ(aclrtValueWrite(word(1), static_cast<uint64_t>(i), 0, b), 0);
  }
  go = true;
  ASSERT_EQ(aclrtRecordNotify(notify, a), 0);
  EXPECT_EQ(aclrtSynchronizeStreamWithTimeout(b, 60000), 0);
  EXPECT_EQ(read(0), 19999u);
  EXPECT_EQ(read(1), 19999u);
}

#ifndef UPDRAFT_SANITIZED  // their allocators keep what is freed
size_t resident() {
  std::ifstream statm("/proc/self/statm");
  size_t pages = 0;
  statm >> pages >> pages;
  return pages * 4096;
}

TEST_F(Waits, AHostThatRunsAheadHoldsLittleMemory) {
  for (int i = 0; i < 5000; ++i) { ASSERT_EQ(add_one(50000, a), 0); }
  ASSERT_EQ(aclrtSynchronizeStream(a), 0);
  const size_t before = resident();
  size_t most = 0;
  for (int i = 0; i < 100000; ++i) {
    ASSERT_EQ(add_one(50000, a), 0);
    if (i % 1000 == 0) most = std::max(most, resident());
  }
  ASSERT_EQ(aclrtSynchronizeStream(a), 0);
  EXPECT_LT(most, before + (64u << 20));  // 100,000 launches hold 330 MB
}
#endif

// Streams and events go while other threads wait for them, query them and abort them.
TEST_F(Waits, StreamsAndEventsAreDestroyedWhileOthersWait) {
  std::atomic<bool> over{false};
  std::vector<std::thread> threads;
  for (int k = 0; k < 3; ++k)
    threads.emplace_back([&, k] {
      ASSERT_EQ(aclrtSetDevice(0), 0);
      aclrtUtilizationInfo info{};
      while (!over) {
        if (k == 0) {
          const int code = aclrtSynchronizeDevice();
          ASSERT_TRUE(code == 0 || code == kAborted) << code;
        } else if (k == 1) {
          ASSERT_EQ(aclrtDeviceTaskAbort(0, 0), 0);
          std::this_thread::sleep_for(200us);
        } else {
          ASSERT_EQ(aclrtGetDeviceUtilizationRate(0, &info), 0);
          std::this_thread::sleep_for(50us);
        }
      }
    });
  for (int i = 0; i < 300; ++i) {
    aclrtStream stream = nullptr;
    ASSERT_EQ(aclrtCreateStream(&stream), 0);
    ASSERT_EQ(aclrtLaunchHostFunc(stream, count, &ran), 0);
    ASSERT_EQ(aclrtMemsetAsync(memory, 64, 0, 64, stream), 0);
    ASSERT_EQ(aclrtDestroyStream(stream), 0);
  }
  over = true;
  for (std::thread& t : threads) t.join();
  for (int i = 0; i < 100; ++i) {
    go = false;
    aclrtEvent short_lived = nullptr;
    ASSERT_EQ(aclrtCreateEvent(&short_lived), 0);
    ASSERT_EQ(aclrtLaunchHostFunc(a, wait_for_flag, &go), 0);
    ASSERT_EQ(aclrtRecordEvent(short_lived, a), 0);
    std::atomic<bool> began{false};
    std::thread waiting([&] {
      began = true;
      const int code = aclrtSynchronizeEvent(short_lived);
      EXPECT_TRUE(code == 0 || code == 107017) << code;  // destroyed before the call got to it
    });
    until(began);
    ASSERT_EQ(aclrtDestroyEvent(short_lived), 0);
    go = true;
    waiting.join();
  }
}

// torch_npu's process group records one event for all of its collectives, on whichever stream they come from.
TEST_F(Waits, AWaitIsForTheRecordOfItsTimeWhateverIsRecordedLater) {
  std::atomic<int> passed{0};
  aclrtStream c = nullptr;
  ASSERT_EQ(aclrtCreateStream(&c), 0);
  record_late(a);
  ASSERT_EQ(aclrtStreamWaitEvent(b, event), 0);
  ASSERT_EQ(aclrtLaunchHostFunc(b, count, &passed), 0);
  for (int i = 0; i < 3; ++i) ASSERT_EQ(aclrtRecordEvent(event, c), 0);
  ASSERT_EQ(aclrtSynchronizeEvent(event), 0);  // the latest record, whose stream has nothing else to do
  aclrtEventRecordedStatus status = ACL_EVENT_RECORDED_STATUS_NOT_READY;
  EXPECT_EQ(aclrtQueryEventStatus(event, &status), 0);
  EXPECT_EQ(status, ACL_EVENT_RECORDED_STATUS_COMPLETE);
  std::this_thread::sleep_for(20ms);
  EXPECT_EQ(passed, 0);
  go = true;
  EXPECT_EQ(aclrtSynchronizeStream(b), 0);
  EXPECT_EQ(passed, 1);
  ASSERT_EQ(aclrtRecordEvent(event, a), 0);  // and then they are in order again
  ASSERT_EQ(aclrtStreamWaitEvent(b, event), 0);
  EXPECT_EQ(aclrtSynchronizeStream(b), 0);
  EXPECT_EQ(aclrtDestroyStream(c), 0);
}

// torch_npu's thread of one device destroys an event right after its record, before the thread of another device has
// made its call to wait for it.
TEST_F(Waits, ForAnEventDestroyedJustNowWaitsForItsRecord) {
  aclrtEvent short_lived = nullptr, unrecorded = nullptr, forgotten = nullptr;
  for (aclrtEvent* e : {&short_lived, &unrecorded, &forgotten}) ASSERT_EQ(aclrtCreateEvent(e), 0);
  ASSERT_EQ(aclrtLaunchHostFunc(a, wait_for_flag, &go), 0);
  ASSERT_EQ(aclrtMemsetAsync(word(0), 8, 1, 8, a), 0);
  for (aclrtEvent e : {short_lived, forgotten}) ASSERT_EQ(aclrtRecordEvent(e, a), 0);
  for (aclrtEvent e : {forgotten, short_lived, unrecorded}) ASSERT_EQ(aclrtDestroyEvent(e), 0);

  ASSERT_EQ(aclrtStreamWaitEvent(b, short_lived), 0);
  ASSERT_EQ(aclrtMemcpyAsync(word(1), 8, word(0), 8, ACL_MEMCPY_DEVICE_TO_DEVICE, b), 0);
  EXPECT_EQ(aclrtSynchronizeStreamWithTimeout(b, 50), 107020);
  EXPECT_EQ(aclrtStreamWaitEvent(b, unrecorded), 107017);
  EXPECT_EQ(aclrtRecordEvent(short_lived, b), 107017);
  EXPECT_EQ(aclrtDestroyEvent(short_lived), 107017);
  go = true;
  EXPECT_EQ(aclrtSynchronizeStream(b), 0);
  EXPECT_EQ(read(1), 0x0101010101010101u);

  // A thread of torch_npu may be 4096 calls late, in which no other event gets the handle.
  for (int i = 0; i < 8192; ++i) {
    aclrtEvent other = nullptr;
    ASSERT_EQ(aclrtCreateEvent(&other), 0);
    if (i < 8000) { ASSERT_NE(other, forgotten); }
    ASSERT_EQ(aclrtDestroyEvent(other), 0);
    if (i == 5000) { ASSERT_EQ(aclrtStreamWaitEvent(b, forgotten), 0); }
  }
  EXPECT_EQ(aclrtStreamWaitEvent(b, forgotten), 107017);
}

TEST_F(Waits, ForAnEventThatIsDestroyedInTheMeantimeIsNotRefused) {
  for (int i = 0; i < 300; ++i) {
    aclrtEvent short_lived = nullptr;
    ASSERT_EQ(aclrtCreateEvent(&short_lived), 0);
    ASSERT_EQ(aclrtRecordEvent(short_lived, a), 0);
    std::atomic<int> ready{0};
    auto together = [&](auto&& call) {
      ++ready;
      while (ready < 2) std::this_thread::yield();
      EXPECT_EQ(call(), 0);
    };
    std::thread destroying([&] { together([&] { return aclrtDestroyEvent(short_lived); }); });
    together([&] { return aclrtStreamWaitEvent(b, short_lived); });
    destroying.join();
  }
}

}  // namespace
