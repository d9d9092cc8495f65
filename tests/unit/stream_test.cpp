// The engine and parking contract: FIFO streams, waits that hold no engine, failures that surface at synchronisation.
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <thread>
#include <vector>

#include "device/context.h"
#include "device/device.h"
#include "device/event.h"
#include "device/stream.h"

namespace updraft {
namespace {

using namespace std::chrono_literals;

class Work final : public Task {
 public:
  explicit Work(std::function<void()> f, TaskKind k = TaskKind::Compute, int64_t amount = INT64_MAX)
      : f_(std::move(f)) {
    kind = k;
    work = amount;
  }
  void run() override { f_(); }
  void release() override { delete this; }
  const char* name() const override { return "Work"; }

 private:
  std::function<void()> f_;
};

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

}  // namespace
}  // namespace updraft
