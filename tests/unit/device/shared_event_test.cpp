// Events between processes: two handles of one event behave as one, and what is no handle is refused.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "../error_text.h"
#include "acl/acl.h"
#include "flags.h"

namespace {

using namespace std::chrono_literals;
constexpr int kParamInvalid = 107000, kWaitTimeout = 107019, kNotSupported = 207000;

struct SharedEvents : testing::Test {
  void SetUp() override {
    aclInit(nullptr);
    ASSERT_EQ(aclrtSetDevice(0), 0);
    ASSERT_EQ(aclrtCreateStream(&a), 0);
    ASSERT_EQ(aclrtCreateStream(&b), 0);
    ASSERT_EQ(aclrtCreateEventExWithFlag(&event, ACL_EVENT_IPC), 0);
    ASSERT_EQ(aclrtIpcGetEventHandle(event, &handle), 0) << error_text();
    ASSERT_EQ(aclrtIpcOpenEventHandle(handle, &other), 0) << error_text();
  }
  void TearDown() override {
    go = true;
    EXPECT_EQ(aclrtDestroyStreamForce(a), 0);
    EXPECT_EQ(aclrtDestroyStreamForce(b), 0);
    EXPECT_EQ(aclrtDestroyEvent(event), 0);
    EXPECT_EQ(aclrtDestroyEvent(other), 0);
  }
  aclrtEventRecordedStatus status(aclrtEvent e) {
    aclrtEventRecordedStatus s;
    EXPECT_EQ(aclrtQueryEventStatus(e, &s), 0);
    return s;
  }
  aclrtStream a = nullptr, b = nullptr;
  aclrtEvent event = nullptr, other = nullptr;
  aclrtIpcEventHandle handle{};
  std::atomic<bool> go{false}, reached{false};
};

TEST_F(SharedEvents, ARecordIsSeenThroughTheOtherHandle) {
  EXPECT_EQ(status(other), ACL_EVENT_RECORDED_STATUS_COMPLETE);  // never recorded: nothing to wait for
  ASSERT_EQ(aclrtLaunchHostFunc(a, wait_for_flag, &go), 0);
  ASSERT_EQ(aclrtRecordEvent(event, a), 0);
  EXPECT_EQ(status(other), ACL_EVENT_RECORDED_STATUS_NOT_READY);
  EXPECT_EQ(aclrtSynchronizeEventWithTimeout(other, 20), kWaitTimeout);
  ASSERT_EQ(aclrtStreamWaitEvent(b, other), 0);
  ASSERT_EQ(aclrtLaunchHostFunc(b, set_flag, &reached), 0);
  std::this_thread::sleep_for(20ms);
  EXPECT_FALSE(reached);
  go = true;
  ASSERT_EQ(aclrtSynchronizeEvent(other), 0);
  ASSERT_EQ(aclrtSynchronizeStream(b), 0);
  EXPECT_TRUE(reached);
  EXPECT_EQ(status(event), ACL_EVENT_RECORDED_STATUS_COMPLETE);
}

TEST_F(SharedEvents, AWaitIsForTheRecordOfItsTimeWhateverIsRecordedLater) {
  aclrtStream c = nullptr;
  ASSERT_EQ(aclrtCreateStream(&c), 0);
  ASSERT_EQ(aclrtLaunchHostFunc(a, wait_for_flag, &go), 0);
  ASSERT_EQ(aclrtRecordEvent(event, a), 0);
  ASSERT_EQ(aclrtStreamWaitEvent(b, other), 0);
  ASSERT_EQ(aclrtLaunchHostFunc(b, set_flag, &reached), 0);
  ASSERT_EQ(aclrtRecordEvent(event, c), 0);
  ASSERT_EQ(aclrtSynchronizeEvent(other), 0);
  std::this_thread::sleep_for(20ms);
  EXPECT_FALSE(reached);
  go = true;
  EXPECT_EQ(aclrtSynchronizeStream(b), 0);
  EXPECT_TRUE(reached);
  EXPECT_EQ(aclrtDestroyStream(c), 0);
}

TEST_F(SharedEvents, AWaitOutlivesTheEvent) {
  ASSERT_EQ(aclrtLaunchHostFunc(a, wait_for_flag, &go), 0);
  ASSERT_EQ(aclrtRecordEvent(event, a), 0);
  aclrtEvent third = nullptr;
  ASSERT_EQ(aclrtIpcOpenEventHandle(handle, &third), 0);
  ASSERT_EQ(aclrtStreamWaitEvent(b, third), 0);
  ASSERT_EQ(aclrtDestroyEvent(third), 0);
  go = true;
  EXPECT_EQ(aclrtSynchronizeStream(b), 0);
}

TEST_F(SharedEvents, ADroppedRecordHoldsNobodyUp) {
  ASSERT_EQ(aclrtLaunchHostFunc(a, wait_for_flag, &go), 0);
  ASSERT_EQ(aclrtRecordEvent(event, a), 0);
  std::thread abort([&] { EXPECT_EQ(aclrtStreamAbort(a), 0); });
  std::this_thread::sleep_for(5ms);
  go = true;
  abort.join();
  EXPECT_EQ(aclrtSynchronizeEventWithTimeout(other, 10000), 0);
}

TEST_F(SharedEvents, WhatIsNotOneIsRefused) {
  aclrtEvent plain = nullptr, none = nullptr;
  aclrtIpcEventHandle wrong{};
  ASSERT_EQ(aclrtCreateEvent(&plain), 0);
  EXPECT_EQ(aclrtIpcGetEventHandle(plain, &wrong), kParamInvalid);
  EXPECT_NE(error_text().find("ACL_EVENT_IPC"), std::string::npos);
  EXPECT_EQ(aclrtIpcOpenEventHandle(wrong, &none), kParamInvalid);
  aclrtIpcEventHandle gone;
  aclrtEvent short_lived = nullptr;
  ASSERT_EQ(aclrtCreateEventExWithFlag(&short_lived, ACL_EVENT_IPC), 0);
  ASSERT_EQ(aclrtIpcGetEventHandle(short_lived, &gone), 0);
  ASSERT_EQ(aclrtDestroyEvent(short_lived), 0);
  EXPECT_EQ(aclrtIpcOpenEventHandle(gone, &none), kParamInvalid);
  EXPECT_EQ(none, nullptr);
  uint64_t time = 0;
  EXPECT_EQ(aclrtEventGetTimestamp(event, &time), kNotSupported);
  EXPECT_EQ(aclrtDestroyEvent(plain), 0);
}

}  // namespace
