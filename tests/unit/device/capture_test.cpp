// Captured graphs: what waits, and host functions, are replayed where they belong; several streams keep their order.
#include <gtest/gtest.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "acl/acl.h"

namespace {

using namespace std::chrono_literals;
constexpr int kSecond = 20000;  // milliseconds: who needs longer hangs

void count(void* n) { ++*static_cast<std::atomic<int>*>(n); }
void note_thread(void* text) {
  char name[16] = {};
  pthread_getname_np(pthread_self(), name, sizeof name);
  static_cast<std::string*>(text)->assign(name);
}

struct Capture : testing::Test {
  void SetUp() override {
    aclInit(nullptr);
    ASSERT_EQ(aclrtSetDevice(0), 0);
    for (aclrtStream* stream : {&a, &b, &c, &d}) ASSERT_EQ(aclrtCreateStream(stream), 0);
    for (aclrtEvent* event : {&fork, &join}) ASSERT_EQ(aclrtCreateEvent(event), 0);
    ASSERT_EQ(aclrtCreateNotify(&notify, 0), 0);
    ASSERT_EQ(aclrtMalloc(&memory, kBytes, ACL_MEM_MALLOC_HUGE_FIRST), 0);
    ASSERT_EQ(aclrtMemset(memory, kBytes, 0, kBytes), 0);
  }
  void TearDown() override {
    if (graph) { EXPECT_EQ(aclmdlRIDestroy(graph), 0); }
    for (aclrtStream stream : {a, b, c, d})
      if (stream) { EXPECT_EQ(aclrtDestroyStreamForce(stream), 0); }
    for (aclrtEvent event : {fork, join}) EXPECT_EQ(aclrtDestroyEvent(event), 0);
    EXPECT_EQ(aclrtDestroyNotify(notify), 0);
    EXPECT_EQ(aclrtFree(memory), 0);
  }
  void begin() const { ASSERT_EQ(aclmdlRICaptureBegin(a, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL), 0); }
  void end() { ASSERT_EQ(aclmdlRICaptureEnd(a, &graph), 0); }
  // b begins where a is.
  void fork_off() const {
    ASSERT_EQ(aclrtRecordEvent(fork, a), 0);
    ASSERT_EQ(aclrtStreamWaitEvent(b, fork), 0);
  }
  void join_again() const {
    ASSERT_EQ(aclrtRecordEvent(join, b), 0);
    ASSERT_EQ(aclrtStreamWaitEvent(a, join), 0);
  }
  uint64_t* word(int i) const { return static_cast<uint64_t*>(memory) + i; }
  void set(int i, int byte, aclrtStream stream) const { ASSERT_EQ(aclrtMemsetAsync(word(i), 8, byte, 8, stream), 0); }
  int first_byte(int i) const {
    uint64_t value = 0;
    EXPECT_EQ(aclrtMemcpy(&value, 8, word(i), 8, ACL_MEMCPY_DEVICE_TO_HOST), 0);
    return static_cast<int>(value & 255);
  }
  void replay(aclrtStream stream) const { ASSERT_EQ(aclmdlRIExecuteAsync(graph, stream), 0); }

  static constexpr size_t kBytes = 4096;
  aclrtStream a = nullptr, b = nullptr, c = nullptr, d = nullptr;
  aclrtEvent fork = nullptr, join = nullptr;
  aclrtNotify notify = nullptr;
  aclmdlRI graph = nullptr;
  void* memory = nullptr;
};

// Captured first, run last: b waits for what a does.
TEST_F(Capture, ANotifyOrdersTheStreamsOfAReplay) {
  begin();
  fork_off();
  ASSERT_EQ(aclrtWaitAndResetNotify(notify, b, 0), 0);
  set(0, 2, b);
  set(0, 1, a);
  set(1, 3, a);
  ASSERT_EQ(aclrtRecordNotify(notify, a), 0);
  join_again();
  set(2, 4, a);
  end();
  for (int i = 0; i < 100; ++i) {
    ASSERT_EQ(aclrtMemset(memory, kBytes, 0, 24), 0);
    replay(c);
    ASSERT_EQ(aclrtSynchronizeStreamWithTimeout(c, kSecond), 0);
    ASSERT_EQ(first_byte(0), 2);
    ASSERT_EQ(first_byte(1), 3);
    ASSERT_EQ(first_byte(2), 4);
  }
}

TEST_F(Capture, AValueOrdersTheStreamsOfAReplay) {
  begin();
  ASSERT_EQ(aclrtValueWrite(word(5), 0, 0, a), 0);
  fork_off();
  ASSERT_EQ(aclrtValueWait(word(5), 9, 1, b), 0);
  set(0, 2, b);
  set(0, 1, a);
  ASSERT_EQ(aclrtValueWrite(word(5), 9, 0, a), 0);
  join_again();
  end();
  for (int i = 0; i < 50; ++i) replay(i % 2 ? c : a);
  ASSERT_EQ(aclrtSynchronizeStreamWithTimeout(c, kSecond), 0);
  ASSERT_EQ(aclrtSynchronizeStreamWithTimeout(a, kSecond), 0);
  EXPECT_EQ(first_byte(0), 2);
  EXPECT_EQ(first_byte(5), 9);
}

// On one stream, a replay waits for what another stream does, and holds no engine meanwhile.
TEST_F(Capture, AReplayWaitsWithoutAnEngine) {
  begin();
  set(0, 1, a);
  ASSERT_EQ(aclrtWaitAndResetNotify(notify, a, 0), 0);
  ASSERT_EQ(aclrtValueWait(word(5), 1, 0, a), 0);
  set(0, 2, a);
  end();
  replay(c);
  set(1, 7, d);
  ASSERT_EQ(aclrtSynchronizeStreamWithTimeout(d, kSecond), 0);
  EXPECT_EQ(first_byte(1), 7);
  EXPECT_EQ(aclrtSynchronizeStreamWithTimeout(c, 100), 107020);
  ASSERT_EQ(aclrtRecordNotify(notify, d), 0);
  EXPECT_EQ(aclrtSynchronizeStreamWithTimeout(c, 100), 107020);
  ASSERT_EQ(aclrtValueWrite(word(5), 1, 0, d), 0);
  ASSERT_EQ(aclrtSynchronizeStreamWithTimeout(c, kSecond), 0);
  EXPECT_EQ(first_byte(0), 2);
}

TEST_F(Capture, HostFunctionsRunOnHostThreads) {
  std::atomic<int> ran{0};
  std::string thread;
  begin();
  set(0, 1, a);
  ASSERT_EQ(aclrtLaunchHostFunc(a, count, &ran), 0);
  ASSERT_EQ(aclrtLaunchHostFunc(a, note_thread, &thread), 0);
  set(0, 2, a);
  end();
  EXPECT_EQ(ran, 0);
  for (int i = 0; i < 3; ++i) replay(c);
  ASSERT_EQ(aclrtSynchronizeStreamWithTimeout(c, kSecond), 0);
  EXPECT_EQ(ran, 3);
  EXPECT_NE(thread.find("host"), std::string::npos) << thread;
  EXPECT_EQ(first_byte(0), 2);
}

TEST_F(Capture, CallbacksRunWhereTheStreamReports) {
  std::atomic<int> ran{0};
  const auto self = static_cast<uint64_t>(pthread_self());
  ASSERT_EQ(aclrtSubscribeReport(self, a), 0);
  begin();
  ASSERT_EQ(aclrtLaunchCallback(count, &ran, ACL_CALLBACK_BLOCK, a), 0);
  set(0, 2, a);
  end();
  replay(c);
  EXPECT_EQ(aclrtSynchronizeStreamWithTimeout(c, 100), 107020);
  EXPECT_EQ(first_byte(0), 0);
  ASSERT_EQ(aclrtProcessReport(kSecond), 0);
  ASSERT_EQ(aclrtSynchronizeStreamWithTimeout(c, kSecond), 0);
  EXPECT_EQ(ran, 1);
  EXPECT_EQ(first_byte(0), 2);
  ASSERT_EQ(aclrtUnSubscribeReport(self, a), 0);
}

// Streams ordered by events alone: as captured, whichever way they depend on each other.
TEST_F(Capture, EventsKeepTheirOrderAcrossStreams) {
  begin();
  fork_off();
  for (int i = 0; i < 10; ++i) {
    set(0, 2 * i, a);
    ASSERT_EQ(aclrtRecordEvent(fork, a), 0);
    ASSERT_EQ(aclrtStreamWaitEvent(b, fork), 0);
    set(0, 2 * i + 1, b);
    ASSERT_EQ(aclrtRecordEvent(join, b), 0);
    ASSERT_EQ(aclrtStreamWaitEvent(a, join), 0);
  }
  std::atomic<int> ran{0};
  ASSERT_EQ(aclrtLaunchHostFunc(b, count, &ran), 0);  // makes it a replay on two streams
  join_again();
  end();
  for (int i = 0; i < 20; ++i) {
    replay(c);
    ASSERT_EQ(aclrtSynchronizeStreamWithTimeout(c, kSecond), 0);
    ASSERT_EQ(first_byte(0), 19);
    ASSERT_EQ(ran, i + 1);
  }
}

// The waits of a dropped replay go with it, on all its streams; the next one is a new one.
TEST_F(Capture, AReplayIsDroppedWhole) {
  begin();
  fork_off();
  ASSERT_EQ(aclrtWaitAndResetNotify(notify, b, 0), 0);
  set(0, 2, b);
  join_again();
  end();
  for (int i = 0; i < 20; ++i) {
    replay(d);
    if (i % 2) std::this_thread::sleep_for(2ms);
    ASSERT_EQ(aclrtDestroyStreamForce(d), 0);
    ASSERT_EQ(aclrtCreateStream(&d), 0);
  }
  ASSERT_EQ(aclrtSynchronizeDeviceWithTimeout(kSecond), 0);
  EXPECT_EQ(first_byte(0), 0);
  replay(c);
  ASSERT_EQ(aclrtRecordNotify(notify, d), 0);
  ASSERT_EQ(aclrtSynchronizeStreamWithTimeout(c, kSecond), 0);
  EXPECT_EQ(first_byte(0), 2);
}

// A failure on a side stream is the replaying stream's, once.
TEST_F(Capture, AFailureOfALaneIsToldOnce) {
  begin();
  fork_off();
  ASSERT_EQ(aclrtLaunchHostFunc(
                b, [](void*) { throw 7; }, nullptr),
            0);
  join_again();
  end();
  for (int i = 0; i < 3; ++i) {
    replay(c);
    EXPECT_EQ(aclrtSynchronizeStreamWithTimeout(c, kSecond), 507000);
    EXPECT_EQ(aclrtSynchronizeDeviceWithTimeout(kSecond), 0);
  }
}

// A submit that meets the end of its capture runs the task or records it, and touches no graph that has gone.
TEST_F(Capture, SubmitsMeetTheEndOfTheCapture) {
  std::atomic<bool> over{false};
  std::thread other([&] {
    ASSERT_EQ(aclrtSetDevice(0), 0);
    while (!over) ASSERT_EQ(aclrtMemsetAsync(word(0), 8, 1, 8, a), 0);
  });
  for (int i = 0; i < 300; ++i) {
    aclmdlRI made = nullptr;
    ASSERT_EQ(aclmdlRICaptureBegin(a, ACL_MODEL_RI_CAPTURE_MODE_RELAXED), 0);
    ASSERT_EQ(aclmdlRICaptureEnd(a, &made), 0);
    ASSERT_EQ(aclmdlRIDestroy(made), 0);
  }
  over = true;
  other.join();
}

// A synchronisation in the middle is refused, and the capture is whole.
TEST_F(Capture, SynchronisationsMeetTheEndOfTheCapture) {
  std::atomic<bool> over{false};
  std::thread other([&] {
    ASSERT_EQ(aclrtSetDevice(0), 0);
    while (!over) {
      const int code = aclrtSynchronizeStream(a);
      ASSERT_TRUE(code == 0 || code == 107027) << code;
    }
  });
  for (int i = 0; i < 300; ++i) {
    aclmdlRI made = nullptr;
    ASSERT_EQ(aclmdlRICaptureBegin(a, ACL_MODEL_RI_CAPTURE_MODE_RELAXED), 0);
    ASSERT_EQ(aclmdlRICaptureEnd(a, &made), 0);
    ASSERT_EQ(aclmdlRIDestroy(made), 0);
  }
  over = true;
  other.join();
  EXPECT_EQ(aclrtSynchronizeStream(a), 0);
}

TEST_F(Capture, TheDebugFileIsATrace) {
  begin();
  fork_off();
  set(0, 1, a);
  ASSERT_EQ(aclrtRecordNotify(notify, b), 0);
  join_again();
  end();
  const std::string path = "/tmp/updraft-capture-" + std::to_string(getpid()) + ".json";
  ASSERT_EQ(aclmdlRIDebugJsonPrint(graph, path.c_str(), 0), 0);
  std::ifstream in(path);
  const auto json = nlohmann::json::parse(in);
  std::remove(path.c_str());
  ASSERT_TRUE(json.is_array());
  // The streams meet by two events, whose records and waits are named so that torch_npu pairs them.
  std::vector<std::string> names;
  for (const auto& event : json) {
    names.push_back(event["name"]);
    EXPECT_EQ(event["ph"], "X");
    EXPECT_EQ(event["dur"], 1);
    EXPECT_EQ(event["tid"], "stream" + std::to_string(event["args"]["Stream Id"].get<int>()));
    EXPECT_EQ(names.back().rfind(event["args"]["Task Type"].get<std::string>(), 0), 0u) << names.back();
  }
  EXPECT_EQ(names, (std::vector<std::string>{"EVENT_RECORD_0", "EVENT_WAIT_0", "MEMSET_ASYNC", "NOTIFY_RECORD",
                                             "EVENT_RECORD_1", "EVENT_WAIT_1"}));
  EXPECT_EQ(json[0]["tid"], json[5]["tid"]);
  EXPECT_EQ(json[1]["tid"], json[4]["tid"]);
  EXPECT_NE(json[0]["tid"], json[1]["tid"]);
}

}  // namespace
