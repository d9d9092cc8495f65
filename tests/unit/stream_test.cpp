// The engine and parking contract: FIFO streams, waits that hold no engine, failures that surface at synchronisation.
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <thread>
#include <vector>

#include "device/context.h"
#include "device/device.h"
#include "device/event.h"
#include "device/service_thread.h"
#include "device/stream.h"
#include "work.h"

namespace updraft {
namespace {

using namespace std::chrono_literals;

struct Streams : testing::Test {
  Device& device = Device::get(0);
  Stream* a = device.create_stream(0, 0);
  Stream* b = device.create_stream(0, 0);
  ~Streams() override {
    device.destroy_stream(a);
    device.destroy_stream(b);
  }
};

TEST_F(Streams, RunTasksInOrderAcrossEngines) {
  std::vector<int> seen;
  for (int i = 0; i < 300; ++i) {
    TaskKind kind = i % 3 == 0 ? TaskKind::Compute : i % 3 == 1 ? TaskKind::Copy : TaskKind::Host;
    a->submit(new Work([&seen, i] { seen.push_back(i); }, kind, i % 2 ? 1 : INT64_MAX));
  }
  a->synchronize();
  ASSERT_EQ(seen.size(), 300u);
  for (int i = 0; i < 300; ++i) EXPECT_EQ(seen[static_cast<size_t>(i)], i);
  EXPECT_TRUE(a->idle());
}

TEST_F(Streams, ManyThreadsSubmitToOneStream) {
  std::atomic<int> inside{0}, done{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 500; ++i)
        a->submit(new Work(
            [&] {
              EXPECT_EQ(inside.fetch_add(1), 0);
              inside.fetch_sub(1);
              ++done;
            },
            TaskKind::Compute, i % 2 ? 1 : INT64_MAX));
    });
  for (auto& t : threads) t.join();
  a->synchronize();
  EXPECT_EQ(done, 2000);
}

TEST_F(Streams, AWaitHoldsNoEngine) {
  auto event = std::make_shared<Event>(0);
  std::atomic<bool> release{false}, ran{false};
  a->submit(new Work(
      [&] {
        while (!release) std::this_thread::sleep_for(1ms);
      },
      TaskKind::Host));
  event->record(*a);
  event->wait(*b);
  bool after = false;
  b->submit(new Work([&] { after = true; }));
  Stream* c = device.create_stream(0, 0);
  c->submit(new Work([&] { ran = true; }));
  c->synchronize(10s);  // b waits, c's work runs on the same engine
  EXPECT_TRUE(ran);
  EXPECT_FALSE(event->query());
  EXPECT_FALSE(b->idle());
  release = true;
  b->synchronize(10s);
  EXPECT_TRUE(after);
  EXPECT_TRUE(event->query());
  EXPECT_TRUE(event->waits_done());
  device.destroy_stream(c);
}

TEST_F(Streams, WaitsInOppositeOrderDoNotDeadlock) {
  // Stream a: record x, wait y; stream b: record y, wait x. What each waits for was recorded before it waits.
  for (int round = 0; round < 200; ++round) {
    auto x = std::make_shared<Event>(0), y = std::make_shared<Event>(0);
    a->submit(new Work([] {}));
    b->submit(new Work([] {}));
    x->record(*a);
    y->record(*b);
    y->wait(*a);
    x->wait(*b);
    a->submit(new Work([] {}));
    b->submit(new Work([] {}));
  }
  a->synchronize(20s);
  b->synchronize(20s);
}

TEST_F(Streams, AnEventMayBeDestroyedWhileItIsOnAStream) {
  std::atomic<bool> release{false};
  a->submit(new Work(
      [&] {
        while (!release) std::this_thread::sleep_for(1ms);
      },
      TaskKind::Host));
  {
    auto event = std::make_shared<Event>(0);
    event->record(*a);
    event->wait(*b);
  }
  release = true;
  b->synchronize(10s);
}

TEST_F(Streams, EventTimesGrow) {
  auto start = std::make_shared<Event>(0), end = std::make_shared<Event>(0);
  EXPECT_THROW(start->timestamp(), Error);
  start->record(*a);
  a->submit(new Work([] { std::this_thread::sleep_for(5ms); }));
  end->record(*a);
  a->synchronize();
  EXPECT_GE(end->timestamp() - start->timestamp(), 4000000u);
}

TEST_F(Streams, AFailureSurfacesAtSynchronisationAndIsThenOver) {
  a->failure_mode = 1;
  bool skipped = true;
  a->submit(new Work([] { throw Error(code::kRtAicoreException, "index 7 is out of range"); }));
  a->submit(new Work([&] { skipped = false; }));
  try {
    a->synchronize();
    FAIL() << "the failure was lost";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), code::kRtAicoreException);
    EXPECT_NE(e.text().find("index 7"), std::string::npos);
  }
  EXPECT_TRUE(skipped);
  a->submit(new Work([&] { skipped = false; }));
  a->synchronize();
  EXPECT_FALSE(skipped);
}

TEST_F(Streams, AFailureFollowsTheEventsToOtherStreams) {
  auto early = std::make_shared<Event>(0), late = std::make_shared<Event>(0), after = std::make_shared<Event>(0);
  std::atomic<bool> release{false};
  std::atomic<int> computed{0};
  Stream* c = device.create_stream(0, 0);
  for (Stream* stream : {a, b, c}) stream->failure_mode = 1;
  a->submit(new Work([&] {
    while (!release) std::this_thread::sleep_for(1ms);
    throw Error(507015, "index out of range");
  }));
  early->record(*a);
  early->wait(*b);  // parked when the failure comes
  b->submit(new Work([&] { ++computed; }));
  release = true;
  EXPECT_THROW(b->synchronize(10s), Error);
  late->record(*a);
  while (!late->query()) std::this_thread::sleep_for(1ms);
  late->wait(*c);  // the failure has come before
  c->submit(new Work([&] { ++computed; }));
  EXPECT_THROW(c->synchronize(10s), Error);
  EXPECT_EQ(computed, 0);
  EXPECT_THROW(late->synchronize(), Error);
  // Reported, it is over: what is recorded from then on is good.
  EXPECT_THROW(a->synchronize(), Error);
  after->record(*a);
  after->wait(*b);
  b->submit(new Work([&] { ++computed; }));
  b->synchronize(10s);
  after->synchronize();
  EXPECT_EQ(computed, 1);
  device.destroy_stream(c);
}

TEST_F(Streams, SynchroniseTimesOutAndTheWorkGoesOn) {
  std::atomic<bool> release{false};
  a->submit(new Work([&] {
    while (!release) std::this_thread::sleep_for(1ms);
  }));
  try {
    a->synchronize(20ms);
    FAIL() << "no time-out";
  } catch (const Error& e) { EXPECT_EQ(e.code(), code::kRtTaskTimeout); }
  release = true;
  a->synchronize(10s);
}

TEST_F(Streams, AbortDropsWhatHasNotStarted) {
  std::atomic<bool> started{false}, release{false}, ran{false};
  a->submit(new Work([&] {
    started = true;
    while (!release) std::this_thread::sleep_for(1ms);
  }));
  a->submit(new Work([&] { ran = true; }));
  while (!started) std::this_thread::sleep_for(1ms);
  a->abort();
  release = true;
  a->synchronize(10s);
  EXPECT_FALSE(ran);
}

TEST_F(Streams, AStreamGoesOnAfterAFailureUnlessItIsToStop) {
  auto event = std::make_shared<Event>(0);
  std::atomic<int> ran{0};
  a->submit(new Work([] { throw Error(507015, "first"); }));
  a->submit(new Work([] { throw 7; }));
  a->submit(new Work([&] { ++ran; }));
  event->record(*a);
  event->wait(*b);
  b->submit(new Work([&] { ++ran; }));
  b->synchronize(10s);
  EXPECT_EQ(ran, 2);
  try {
    a->synchronize(10s);
    FAIL() << "the failure was lost";
  } catch (const Error& e) { EXPECT_NE(e.text().find("first"), std::string::npos) << e.text(); }
}

// A host that runs ahead waits while the stream computes, and only then.
TEST_F(Streams, AFullQueueHoldsTheHostUp) {
  constexpr int kTasks = 20000;
  std::atomic<bool> release{false};
  std::atomic<int> submitted{0}, ran{0};
  a->submit(new Work([&] {
    while (!release) std::this_thread::sleep_for(1ms);
  }));
  std::thread host([&] {
    for (int i = 0; i < kTasks; ++i) {
      a->submit(new Work([&] { ++ran; }));
      ++submitted;
    }
  });
  for (int before = -1; before != submitted || before == 0;) {
    before = submitted;
    std::this_thread::sleep_for(100ms);
  }
  EXPECT_GT(submitted, 1000);
  EXPECT_LT(submitted, 10000);
  EXPECT_EQ(ran, 0);
  release = true;
  host.join();
  a->synchronize(60s);
  EXPECT_EQ(ran, kTasks);
}

TEST_F(Streams, AnAbortLetsGoWhoWaitsForRoom) {
  std::atomic<bool> release{false}, over{false};
  a->submit(new Work([&] {
    while (!release) std::this_thread::sleep_for(1ms);
  }));
  std::thread host([&] {
    for (int i = 0; i < 6000; ++i) a->submit(new Work([] {}));
    over = true;
  });
  while (!over) {
    std::this_thread::sleep_for(20ms);
    a->abort();
  }
  host.join();
  release = true;
  try {
    a->synchronize(60s);
  } catch (const Error& e) { EXPECT_EQ(e.code(), code::kRtDeviceTaskAbort); }
}

TEST_F(Streams, TasksMaySubmitToTheirOwnStreamWithoutEnd) {
  std::atomic<int> ran{0};
  a->submit(new Work([&] {
    for (int i = 0; i < 10000; ++i) a->submit(new Work([&] { ++ran; }));
  }));
  while (ran < 10000) std::this_thread::sleep_for(1ms);
  a->synchronize(10s);
}

TEST_F(Streams, HigherPriorityGoesFirstAndNobodyStarves) {
  Stream* high = device.create_stream(0, 0);
  Stream* low = device.create_stream(7, 0);
  Stream* middle = device.create_stream(9, 0);
  middle->set_priority(3);
  EXPECT_EQ(middle->priority(), 3u);
  std::atomic<bool> started{false}, release{false};
  a->submit(new Work([&] {
    started = true;
    while (!release) std::this_thread::sleep_for(1ms);
  }));
  while (!started) std::this_thread::sleep_for(1ms);
  std::string order;  // by the one thread of the engine
  low->submit(new Work([&] { order += 'l'; }));
  middle->submit(new Work([&] { order += 'm'; }));
  high->submit(new Work([&] { order += 'h'; }));
  release = true;
  for (Stream* stream : {low, middle, high}) stream->synchronize(10s);
  EXPECT_EQ(order, "hml");
  // A stream of high priority that always has work lets the other through now and then.
  std::atomic<bool> low_ran{false}, second{false};
  std::atomic<int> before_low{0};
  std::function<void()> again = [&] {
    if (!second) return;
    if (!low_ran && ++before_low < 100000) b->submit(new Work(again)), high->submit(new Work(again));
  };
  std::atomic<bool> occupied{false};
  release = false;
  a->submit(new Work([&] {
    occupied = true;
    while (!release) std::this_thread::sleep_for(1ms);
  }));
  while (!occupied) std::this_thread::sleep_for(1ms);
  second = true;
  low->submit(new Work([&] { low_ran = true; }));
  high->submit(new Work(again));
  b->submit(new Work(again));
  release = true;
  low->synchronize(60s);
  EXPECT_LT(before_low, 1000);
  high->synchronize(60s);
  b->synchronize(60s);
  for (Stream* stream : {low, middle, high}) device.destroy_stream(stream);
}

// No thread left in the container: an error at synchronisation, and work again once there is one.
TEST_F(Streams, AThreadThatCannotBeStartedIsReported) {
  static int last = Device::count();
  Device& other = Device::get(--last);  // whose engines no test has started
  Stream* stream = other.create_stream(0, 0);
  for (const TaskKind kind : {TaskKind::Host, TaskKind::Copy}) {
    bool ran = false;
    refuse_service_threads(true);
    stream->submit(new Work([&] { ran = true; }, kind));
    try {
      stream->synchronize(20s);
      ADD_FAILURE() << "no failure";
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), code::kRtResourceAllocFail);
      EXPECT_NE(e.text().find("pids limit"), std::string::npos) << e.text();
    }
    EXPECT_FALSE(ran);
    refuse_service_threads(false);
    stream->submit(new Work([&] { ran = true; }, kind));
    stream->synchronize(20s);
    EXPECT_TRUE(ran);
  }
  other.destroy_stream(stream);
}

}  // namespace
}  // namespace updraft
