// The engine and parking contract: FIFO streams, waits that hold no engine, failures that surface at synchronisation.
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <thread>
#include <vector>

#include "device/chain/flat_chain.h"
#include "device/context.h"
#include "device/device.h"
#include "device/stream.h"
#include "device/threads/service_thread.h"
#include "device/waits/event.h"
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
  std::atomic<int> of_a{0}, of_b{0}, early{0};
  for (int round = 0; round < 200; ++round) {
    auto x = std::make_shared<Event>(0), y = std::make_shared<Event>(0);
    a->submit(new Work([&] { ++of_a; }, TaskKind::Host));
    b->submit(new Work([&] { ++of_b; }, TaskKind::Host));
    x->record(*a);
    y->record(*b);
    y->wait(*a);
    x->wait(*b);
    a->submit(new Work([&, round] { early += of_b <= round; }, TaskKind::Host));
    b->submit(new Work([&, round] { early += of_a <= round; }, TaskKind::Host));
  }
  a->synchronize(20s);
  b->synchronize(20s);
  EXPECT_EQ(of_a, 200);
  EXPECT_EQ(of_b, 200);
  EXPECT_EQ(early, 0) << "tasks ran before what their streams waited for";
}

TEST_F(Streams, AnEventMayBeDestroyedWhileItIsOnAStream) {
  std::atomic<bool> release{false}, done{false}, early{false};
  a->submit(new Work(
      [&] {
        while (!release) std::this_thread::sleep_for(1ms);
        done = true;
      },
      TaskKind::Host));
  {
    auto event = std::make_shared<Event>(0);
    event->record(*a);
    event->wait(*b);
  }
  b->submit(new Work([&] { early = !done; }));
  EXPECT_FALSE(b->idle()) << "the stream does not wait for the event that its owner gave up";
  release = true;
  b->synchronize(10s);
  EXPECT_FALSE(early);
  EXPECT_TRUE(done);
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

/// Adds `step` to each element of one array, a piece at a time.
class FlatTask final : public Task, public FlatWork {
 public:
  FlatTask(std::vector<int64_t>& array, int64_t step, std::vector<int64_t>& order, std::atomic<int>& released)
      : array_(array), step_(step), order_(order), released_(released) {
    work = INT64_MAX;
  }
  void run() override { run_piece(0, 0, elements(0)); }
  void release() override {
    ++released_;
    delete this;
  }
  const char* name() const override { return "FlatTask"; }
  const FlatWork* flat() const override { return this; }
  size_t rows() const override { return 1; }
  int64_t elements(size_t) const override { return static_cast<int64_t>(array_.size()); }
  int arrays(size_t, FlatArray* to) const override {
    to[0] = {reinterpret_cast<const char*>(array_.data()), array_.size() * sizeof(int64_t)};
    return 1;
  }
  void run_piece(size_t, int64_t begin, int64_t n) const override {
    if (begin == 0) order_.push_back(step_);  // pieces of one place are computed by one thread
    for (int64_t i = begin; i < begin + n; ++i)
      array_[static_cast<size_t>(i)] = array_[static_cast<size_t>(i)] * 3 + step_;
    if (hold && begin == 0) {
      arrived = true;
      while (hold) std::this_thread::yield();
    }
  }
  static inline std::atomic<bool> hold{false}, arrived{false};

 private:
  std::vector<int64_t>& array_;
  const int64_t step_;
  std::vector<int64_t>& order_;
  std::atomic<int>& released_;
};

struct FlatTasks : Streams {
  std::vector<int64_t> array = std::vector<int64_t>(100'000), order;
  std::atomic<int> released{0};
  void submit(int64_t step) { a->submit(new FlatTask(array, step, order, released)); }
  /// Tasks are given back when they count as done already.
  void wait_for_released(int n) {
    while (released < n) std::this_thread::yield();
    EXPECT_EQ(released, n);
  }
  /// What the steps 1 … n give.
  static int64_t after(int64_t n) {
    int64_t x = 0;
    for (int64_t step = 1; step <= n; ++step) x = x * 3 + step;
    return x;
  }
};

TEST_F(FlatTasks, RunTogetherInTheirOrder) {
  std::atomic<bool> go{false};
  a->submit(new Work([&] {
    while (!go) std::this_thread::yield();
  }));
  for (int64_t step = 1; step <= 5; ++step) submit(step);
  int64_t seen = -1;
  a->submit(new Work([&] { seen = array[99'999]; }));
  for (int64_t step = 6; step <= 8; ++step) submit(step);
  go = true;
  a->synchronize();
  EXPECT_EQ(seen, after(5)) << "a task between them sees those before it, and none behind it";
  EXPECT_EQ(array, std::vector<int64_t>(100'000, after(8)));
  EXPECT_EQ(order, (std::vector<int64_t>{1, 2, 3, 4, 5, 6, 7, 8}));
  wait_for_released(8);
}

TEST_F(FlatTasks, AnAbortDropsNoneThatIsRunning) {
  std::atomic<bool> go{false};
  a->submit(new Work([&] {
    while (!go) std::this_thread::yield();
  }));
  for (int64_t step = 1; step <= 4; ++step) submit(step);
  bool ran = false;
  a->submit(new Work([&] { ran = true; }));
  submit(5);
  FlatTask::hold = true;
  FlatTask::arrived = false;
  go = true;
  while (!FlatTask::arrived) std::this_thread::yield();
  a->abort();  // 1 … 4 have begun
  EXPECT_EQ(released, 1) << "the one that stood behind";
  FlatTask::hold = false;
  a->synchronize();
  EXPECT_EQ(array, std::vector<int64_t>(100'000, after(4)));
  wait_for_released(5);
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
