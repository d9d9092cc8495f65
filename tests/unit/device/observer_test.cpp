// What observers are told of streams: begin and end of everything, also of what fails, waits, is skipped or dropped;
// while others subscribe and leave.
#include "device/observer.h"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <new>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <vector>

#include "device/device.h"
#include "device/stream.h"
#include "device/waits/event.h"
#include "recorder.h"
#include "work.h"

namespace updraft {
namespace {

using namespace std::chrono_literals;

/// Keeps a stream busy until it is told to go on.
struct Gate {
  std::atomic<bool> entered{false}, open{false};
  /// Until it is opened.
  void wait() {
    entered = true;
    while (!open) std::this_thread::sleep_for(100us);
  }
  Task* task() {
    return new Work([this] { wait(); }, TaskKind::Host);
  }
  void wait_entered() const {
    while (!entered) std::this_thread::sleep_for(100us);
  }
};

struct Observers : testing::Test {
  Device& device = Device::get(0);
  Stream* a = device.create_stream(0, 0);
  Stream* b = device.create_stream(0, 0);
  ~Observers() override {
    device.destroy_stream(a);
    device.destroy_stream(b);
  }
};

/// Begin, end, begin, end … with the same ids, which grow.
void expect_pairs(const std::vector<Seen>& seen, size_t tasks) {
  ASSERT_EQ(seen.size(), 2 * tasks);
  for (size_t i = 0; i < tasks; ++i) {
    const Seen &begin = seen[2 * i], &end = seen[2 * i + 1];
    ASSERT_FALSE(begin.end);
    ASSERT_TRUE(end.end);
    ASSERT_EQ(begin.event.id, end.event.id);
    if (i) { ASSERT_GT(begin.event.id, seen[2 * i - 2].event.id); }
  }
}

TEST_F(Observers, NothingIsKeptWhenNobodyListens) {
  EXPECT_EQ(g_watched.load(), 0u);
  Task* running = nullptr;
  TaskRecord* record = nullptr;
  Task* task = new Work([&] { record = running->record; });
  running = task;
  a->submit(task);
  a->synchronize(10s);
  EXPECT_EQ(record, nullptr);
  auto recorder = std::make_shared<Recorder>();
  subscribe(recorder, watch::kTasks);
  EXPECT_EQ(g_watched.load(), watch::kTasks | watch::kFull);
  EXPECT_TRUE(unsubscribe(recorder.get()));
  EXPECT_FALSE(unsubscribe(recorder.get()));
  EXPECT_EQ(g_watched.load(), 0u);
  a->submit(new Work);
  a->synchronize(10s);
  EXPECT_EQ(recorder->size(), 0u);
}

/// Holds what ends a record until it is told to go on.
class LateEnd final : public Observer {
 public:
  explicit LateEnd(Gate& gate) : gate_(gate) {}
  void task_begun(const TaskEvent&) override {}
  void task_ended(const TaskEvent& event) override {
    if (std::string_view(event.name) == "EVENT_RECORD") gate_.wait();
  }

 private:
  Gate& gate_;
};

// Whoever has seen the event that was recorded last finds the stream idle, however long the record takes to leave it.
TEST_F(Observers, AStreamIsIdleOnceItsLastEventIsReached) {
  for (const uint32_t flags : {0u, Event::kIpc}) {
    Gate before, end;
    Subscribed<LateEnd> late(watch::kTasks, std::make_shared<LateEnd>(end));
    auto event = std::make_shared<Event>(flags);
    a->submit(before.task());
    event->record(*a);
    EXPECT_FALSE(a->idle());
    before.open = true;
    event->synchronize(10'000);
    end.wait_entered();
    EXPECT_TRUE(a->idle()) << flags;
    a->submit(new Work);
    EXPECT_FALSE(a->idle()) << flags;
    end.open = true;
    a->synchronize(10s);
    EXPECT_TRUE(a->idle()) << flags;
  }
}

TEST_F(Observers, SeveralSeeEveryTask) {
  Subscribed<Recorder> first(watch::kTasks), second(watch::kTasks | watch::kArguments | watch::kRawTimes);
  constexpr size_t kTasks = 30;
  for (size_t i = 0; i < kTasks; ++i)
    a->submit(new Work([] {},
                       i % 3 == 0   ? TaskKind::Compute
                       : i % 3 == 1 ? TaskKind::Copy
                                    : TaskKind::Host,
                       i % 2 ? 1 : INT64_MAX));
  a->synchronize(10s);
  for (auto* recorder : {first.get(), second.get()}) {
    const auto seen = recorder->of_stream(a->id());
    expect_pairs(seen, kTasks);
    for (const Seen& s : seen) {
      const TaskEvent& e = s.event;
      EXPECT_EQ(e.device, 0);
      EXPECT_EQ(s.name, "Work");
      EXPECT_EQ(e.outcome, Outcome::Done);
      EXPECT_EQ(e.failure, nullptr);
      EXPECT_EQ(e.model, 0u);
      EXPECT_EQ(e.index, -1);
      EXPECT_EQ(e.correlation, 0u) << "no call of the C interface submitted it";
      EXPECT_EQ(e.submitter, thread_number());
      EXPECT_GT(e.thread, 0);
      EXPECT_EQ(e.cost.flops, 7);
      EXPECT_EQ(e.cost.bytes, 11);
      EXPECT_EQ(e.cost.unit, Unit::Vector);
      EXPECT_TRUE(e.arguments_known);
      EXPECT_EQ(s.arguments, std::vector<std::string>{"amount=5"});
      EXPECT_GT(e.submitted.monotonic, 0u);
      EXPECT_GE(e.begun.monotonic, e.submitted.monotonic);
      EXPECT_GT(e.begun.raw, 0u);
      if (s.end) {
        EXPECT_GE(e.ended.monotonic, e.begun.monotonic);
        EXPECT_GE(e.ended.raw, e.begun.raw);
      } else {
        EXPECT_EQ(e.ended.monotonic, 0u);
      }
    }
  }
}

TEST_F(Observers, TakeOnlyWhatTheyWant) {
  {
    Subscribed<Recorder> tasks(watch::kTasks);
    a->submit(new Work);
    a->synchronize(10s);
    const auto seen = tasks->of_stream(a->id());
    expect_pairs(seen, 1);
    EXPECT_FALSE(seen[0].event.arguments_known);
    EXPECT_EQ(seen[0].event.begun.raw, 0u);
  }
  Subscribed<Recorder> calls(watch::kCalls);
  a->submit(new Work);
  a->synchronize(10s);
  EXPECT_TRUE(calls->of_stream(a->id()).empty());
  EXPECT_THROW(subscribe(std::make_shared<Recorder>(), 0), Error);
  EXPECT_THROW(subscribe(std::make_shared<Recorder>(), watch::kArguments), Error);
  EXPECT_THROW(subscribe(nullptr, watch::kTasks), Error);
  auto twice = std::make_shared<Recorder>();
  Subscribed<Recorder> once(watch::kTasks, twice);
  EXPECT_THROW(subscribe(twice, watch::kCalls), Error);
}

/// Counts what is put on streams, and keeps the rest as a recorder does.
struct Submissions final : Observer {
  Recorder rest;
  std::atomic<int> submitted_count{0};
  void submitted(const TaskEvent&) override { ++submitted_count; }
  void task_begun(const TaskEvent& event) override { rest.task_begun(event); }
  void task_ended(const TaskEvent& event) override { rest.task_ended(event); }
  void call_ended(const ApiCall& call) override { rest.call_ended(call); }
};

TEST_F(Observers, ABriefOneHearsOfOperatorsOnceAndTakesNoTimes) {
  constexpr uint32_t kBrief = watch::kTasks | watch::kCalls | watch::kOrder | watch::kBrief;
  const auto run = [&] {
    TaskRecord* record = nullptr;
    Task* task = new Work([&] { record = task->record; });
    a->submit(task);
    a->submit(new Work([] {}, TaskKind::Copy));
    a->submit(new Work([] {}, TaskKind::Host));
    a->synchronize(10s);
    { const ApiScope call("aCall"); }
    return record;
  };
  Subscribed<Submissions> brief(kBrief);
  EXPECT_EQ(run(), nullptr);
  EXPECT_EQ(brief->submitted_count, 3);
  const auto seen = brief->rest.of_stream(a->id());
  expect_pairs(seen, 2);  // not of the first
  EXPECT_EQ(seen[1].event.kind, TaskKind::Copy);
  EXPECT_EQ(seen[3].event.kind, TaskKind::Host);
  EXPECT_EQ(seen[3].event.ended.monotonic, 0u);
  ASSERT_EQ(brief->rest.calls("aCall").size(), 1u);
  EXPECT_EQ(brief->rest.calls("aCall")[0].call.begin.monotonic, 0u);
  {
    // One beside it that wants all gets all.
    Subscribed<Recorder> full(watch::kTasks | watch::kCalls);
    EXPECT_NE(run(), nullptr);
    const auto all = full->of_stream(a->id());
    expect_pairs(all, 3);
    for (const Seen& s : all) {
      EXPECT_GT(s.event.submitted.monotonic, 0u);
      EXPECT_GT(s.event.begun.monotonic, 0u);
    }
    EXPECT_GT(full->calls("aCall")[0].call.end.monotonic, 0u);
    EXPECT_EQ(brief->submitted_count, 6);
  }
  EXPECT_EQ(run(), nullptr);
}

TEST_F(Observers, ABriefOneMayComeAndGoWhileWorkIsQueued) {
  Gate gate;
  Subscribed<Recorder> full(watch::kTasks);
  {
    Subscribed<Submissions> brief(watch::kTasks | watch::kOrder | watch::kBrief);
    a->submit(gate.task());
    a->submit(new Work);
    gate.wait_entered();
  }
  gate.open = true;
  a->synchronize(10s);
  expect_pairs(full->of_stream(a->id()), 2);
  unsubscribe(full.get());
  Gate other;
  auto brief = std::make_shared<Submissions>();
  subscribe(brief, watch::kTasks | watch::kOrder | watch::kBrief);
  a->submit(other.task());
  a->submit(new Work);  // without a record
  other.wait_entered();
  subscribe(full.observer(), watch::kTasks);
  other.open = true;
  a->synchronize(10s);
  EXPECT_EQ(full->of_stream(a->id()).size(), 6u);  // that one, too, has a begin and an end
  unsubscribe(brief.get());
}

TEST_F(Observers, AFailureEndsTheTaskAndSkipsTheRest) {
  a->failure_mode = 1;
  Subscribed<Recorder> recorder(watch::kTasks | watch::kArguments);
  Gate gate;
  a->submit(gate.task());
  a->submit(new Work([] { throw Error(code::kRtAicoreException, "index 7 is out of range"); }));
  a->submit(new Work);
  a->submit(new Work);
  gate.open = true;
  EXPECT_THROW(a->synchronize(10s), Error);
  a->submit(new Work([] { throw std::bad_alloc(); }));
  EXPECT_THROW(a->synchronize(10s), Error);
  a->submit(new Work([] { throw std::runtime_error("odd"); }, TaskKind::Copy));
  EXPECT_THROW(a->synchronize(10s), Error);
  const auto seen = recorder->of_stream(a->id());
  ASSERT_EQ(seen.size(), 10u);
  EXPECT_EQ(seen[1].event.outcome, Outcome::Done);
  EXPECT_FALSE(seen[2].end);
  EXPECT_EQ(seen[3].event.outcome, Outcome::Failed);
  EXPECT_EQ(seen[3].code, code::kRtAicoreException);
  EXPECT_EQ(seen[3].failure, "index 7 is out of range");
  EXPECT_GE(seen[3].event.ended.monotonic, seen[3].event.begun.monotonic);
  for (size_t i : {4, 5}) {
    EXPECT_TRUE(seen[i].end) << "what is skipped never begins";
    EXPECT_EQ(seen[i].event.outcome, Outcome::Skipped);
    EXPECT_EQ(seen[i].event.begun.monotonic, 0u);
    EXPECT_EQ(seen[i].code, code::kRtAicoreException);
    EXPECT_EQ(seen[i].name, "Work");
    EXPECT_EQ(seen[i].arguments.size(), 1u);
  }
  EXPECT_EQ(seen[7].event.outcome, Outcome::Failed);
  EXPECT_EQ(seen[7].code, code::kRtMemoryAllocation);
  EXPECT_EQ(seen[9].failure, "odd");
}

TEST_F(Observers, AnAbortDropsWhatHasNotBegun) {
  Subscribed<Recorder> recorder(watch::kTasks);
  Gate gate;
  a->submit(gate.task());
  gate.wait_entered();
  a->submit(new Work);
  a->submit(new Work);
  a->abort();
  gate.open = true;
  a->synchronize(10s);
  const auto seen = recorder->of_stream(a->id());
  ASSERT_EQ(seen.size(), 4u);
  size_t dropped = 0;
  for (const Seen& s : seen) {
    if (s.event.outcome != Outcome::Dropped) continue;
    ++dropped;
    EXPECT_TRUE(s.end);
    EXPECT_EQ(s.event.begun.monotonic, 0u);
    EXPECT_EQ(s.failure, "");
  }
  EXPECT_EQ(dropped, 2u);
}

TEST_F(Observers, AWaitLastsUntilTheRecord) {
  Subscribed<Recorder> recorder(watch::kTasks);
  Gate gate;
  auto event = std::make_shared<Event>(0);
  a->submit(gate.task());
  gate.wait_entered();
  event->record(*a);
  event->wait(*b);
  b->submit(new Work);
  {
    const auto seen = recorder->of_stream(b->id());
    ASSERT_EQ(seen.size(), 1u) << "the stream has reached the wait";
    EXPECT_EQ(seen[0].name, "EVENT_WAIT");
    EXPECT_FALSE(seen[0].end);
    EXPECT_EQ(seen[0].event.kind, TaskKind::Control);
  }
  std::this_thread::sleep_for(5ms);
  gate.open = true;
  a->synchronize(10s);
  b->synchronize(10s);
  const auto waited = recorder->of_stream(b->id()), recorded = recorder->of_stream(a->id());
  expect_pairs(waited, 2);
  expect_pairs(recorded, 2);
  EXPECT_EQ(recorded[2].name, "EVENT_RECORD");
  EXPECT_EQ(waited[1].name, "EVENT_WAIT");
  EXPECT_EQ(waited[1].event.outcome, Outcome::Done);
  EXPECT_GE(waited[1].event.ended.monotonic - waited[1].event.begun.monotonic, 4'000'000u);
  EXPECT_EQ(waited[1].event.submitter, thread_number());
  EXPECT_EQ(waited[1].event.thread, recorded[3].event.thread) << "the thread that recorded ended it";
  EXPECT_LE(waited[1].event.ended.monotonic, waited[2].event.begun.monotonic);
}

TEST_F(Observers, AStreamMayGoOnAfterAFailure) {
  Subscribed<Recorder> recorder(watch::kTasks);
  auto event = std::make_shared<Event>(0);
  a->submit(new Work([] { throw Error(code::kRtAicoreException, "no"); }));
  event->record(*a);
  a->submit(new Work);
  EXPECT_THROW(a->synchronize(10s), Error);
  const auto seen = recorder->of_stream(a->id());
  expect_pairs(seen, 3);
  EXPECT_EQ(seen[1].event.outcome, Outcome::Failed);
  EXPECT_EQ(seen[3].event.outcome, Outcome::Done) << "the failure is not the record's";
  EXPECT_EQ(seen[5].event.outcome, Outcome::Done);
}

TEST_F(Observers, AnAbortDropsAParkedWait) {
  Subscribed<Recorder> recorder(watch::kTasks);
  Gate gate;
  auto event = std::make_shared<Event>(0);
  a->submit(gate.task());
  event->record(*a);
  event->wait(*b);
  b->submit(new Work);
  b->abort();
  b->synchronize(10s);
  gate.open = true;
  a->synchronize(10s);
  const auto seen = recorder->of_stream(b->id());
  ASSERT_EQ(seen.size(), 3u);
  EXPECT_FALSE(seen[0].end);
  EXPECT_EQ(seen[1].name, "EVENT_WAIT");
  EXPECT_EQ(seen[1].event.id, seen[0].event.id);
  EXPECT_EQ(seen[1].event.outcome, Outcome::Dropped);
  EXPECT_GT(seen[1].event.begun.monotonic, 0u);
  EXPECT_EQ(seen[2].event.outcome, Outcome::Dropped);
  EXPECT_EQ(seen[2].event.begun.monotonic, 0u);
}

TEST_F(Observers, AWaitThatTakesTooLongFails) {
  Subscribed<Recorder> recorder(watch::kTasks);
  Gate gate;
  auto event = std::make_shared<Event>(0);
  a->submit(gate.task());
  event->record(*a);
  event->wait(*b, 10ms);
  EXPECT_THROW(b->synchronize(10s), Error);
  gate.open = true;
  a->synchronize(10s);
  const auto seen = recorder->of_stream(b->id());
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_EQ(seen[1].event.outcome, Outcome::Failed);
  EXPECT_EQ(seen[1].code, code::kRtWaitTimeout);
}

TEST_F(Observers, AWaitForAFailedStreamFails) {
  a->failure_mode = b->failure_mode = 1;
  Subscribed<Recorder> recorder(watch::kTasks);
  Gate gate;
  auto event = std::make_shared<Event>(0);
  a->submit(gate.task());
  a->submit(new Work([] { throw Error(code::kRtAicoreException, "no"); }));
  event->record(*a);
  event->wait(*b);
  b->submit(new Work);
  gate.open = true;
  EXPECT_THROW(b->synchronize(10s), Error);
  EXPECT_THROW(a->synchronize(10s), Error);
  const auto waited = recorder->of_stream(b->id());
  ASSERT_EQ(waited.size(), 3u);
  EXPECT_EQ(waited[1].event.outcome, Outcome::Failed);
  EXPECT_EQ(waited[1].code, code::kRtAicoreException);
  EXPECT_EQ(waited[2].event.outcome, Outcome::Skipped);
  const auto recorded = recorder->of_stream(a->id());
  EXPECT_EQ(recorded.back().name, "EVENT_RECORD");
  EXPECT_EQ(recorded.back().event.outcome, Outcome::Done) << "a record is made also on a stream that has failed";
}

TEST_F(Observers, MayComeWhileWorkIsQueued) {
  Gate gate;
  a->submit(gate.task());
  gate.wait_entered();
  a->submit(new Work);
  a->submit(new Work([] {}, TaskKind::Compute, 1));
  Subscribed<Recorder> recorder(watch::kTasks | watch::kArguments);
  a->submit(new Work);
  gate.open = true;
  a->synchronize(10s);
  const auto seen = recorder->of_stream(a->id());
  ASSERT_EQ(seen.size(), 6u) << "of the task that ran already neither begin nor end";
  for (size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(seen[i].end, i % 2 == 1);
    EXPECT_EQ(seen[i].event.submitted.monotonic == 0, i < 4);
    EXPECT_EQ(seen[i].event.submitter == 0, i < 4);
    EXPECT_EQ(seen[i].arguments.size(), 1u);
  }
}

TEST_F(Observers, MayLeaveWhileWorkIsQueued) {
  auto early = std::make_shared<Recorder>();
  subscribe(early, watch::kTasks);
  Subscribed<Recorder> late(watch::kTasks);
  Gate gate;
  a->submit(gate.task());
  gate.wait_entered();
  a->submit(new Work);
  EXPECT_TRUE(unsubscribe(early.get()));
  gate.open = true;
  a->synchronize(10s);
  EXPECT_EQ(early->of_stream(a->id()).size(), 1u);
  expect_pairs(late->of_stream(a->id()), 2);
  // The last one leaves: what was noted at submission goes, too.
  Gate again;
  a->submit(again.task());
  a->submit(new Work([] { throw Error(code::kRtAicoreException, "no"); }));
  a->submit(new Work);
  unsubscribe(late.get());
  again.open = true;
  EXPECT_THROW(a->synchronize(10s), Error);
}

class Leaver final : public Observer {
 public:
  void task_begun(const TaskEvent&) override {
    ++calls;
    EXPECT_TRUE(unsubscribe(this));
  }
  void task_ended(const TaskEvent&) override { ++calls; }
  static inline std::atomic<int> calls{0};
  static inline std::atomic<int> gone{0};
  ~Leaver() override { ++gone; }
};

TEST_F(Observers, MayLeaveFromACallback) {
  Leaver::calls = Leaver::gone = 0;
  subscribe(std::make_shared<Leaver>(), watch::kTasks);  // the list owns it
  a->submit(new Work);
  a->submit(new Work);
  a->synchronize(10s);
  EXPECT_EQ(Leaver::calls, 1);
  EXPECT_EQ(Leaver::gone, 1) << "nobody needs it any more";
}

class Slow final : public Observer {
 public:
  void task_begun(const TaskEvent&) override {
    entered = true;
    while (!open) std::this_thread::sleep_for(100us);
    left = true;
  }
  std::atomic<bool> entered{false}, open{false}, left{false};
};

TEST_F(Observers, LeavingWaitsForCallbacks) {
  auto slow = std::make_shared<Slow>();
  subscribe(slow, watch::kTasks);
  a->submit(new Work);
  while (!slow->entered) std::this_thread::sleep_for(100us);
  std::atomic<bool> returned{false};
  std::thread leaver([&] {
    EXPECT_TRUE(unsubscribe(slow.get()));
    EXPECT_TRUE(slow->left);
    returned = true;
  });
  std::this_thread::sleep_for(20ms);
  EXPECT_FALSE(returned);
  slow->open = true;
  leaver.join();
  a->synchronize(10s);
}

class Guarded final : public Observer {
 public:
  void task_begun(const TaskEvent&) override { EXPECT_TRUE(subscribed); }
  void task_ended(const TaskEvent& event) override {
    EXPECT_TRUE(subscribed);
    EXPECT_GT(event.begun.monotonic, 0u);
    ++ends;
  }
  void call_ended(const ApiCall&) override {}
  std::atomic<bool> subscribed{false};
  std::atomic<int> ends{0};
};

TEST_F(Observers, ComeAndGoUnderLoad) {
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (Stream* stream : {a, b})
    threads.emplace_back([&, stream] {
      auto event = std::make_shared<Event>(0);
      for (int i = 0; !stop; ++i) {
        stream->submit(new Work([] {}, i % 3 ? TaskKind::Compute : TaskKind::Host, i % 2 ? 1 : INT64_MAX));
        event->record(*stream);
        event->wait(stream == a ? *b : *a);
        if (i % 16 == 0) stream->synchronize(20s);
      }
    });
  std::vector<std::thread> observers;
  std::atomic<int> ends{0};
  for (int t = 0; t < 2; ++t)
    observers.emplace_back([&] {
      for (int round = 0; round < 200; ++round) {
        auto guarded = std::make_shared<Guarded>();
        guarded->subscribed = true;
        subscribe(guarded, watch::kTasks | (round % 2 ? watch::kArguments : watch::kCalls));
        std::this_thread::sleep_for(std::chrono::microseconds(50 * (round % 7)));
        EXPECT_TRUE(unsubscribe(guarded.get()));
        guarded->subscribed = false;
        ends += guarded->ends;
      }
    });
  for (auto& t : observers) t.join();
  stop = true;
  for (auto& t : threads) t.join();
  a->synchronize(20s);
  b->synchronize(20s);
  EXPECT_GT(ends, 0);
  EXPECT_EQ(g_watched.load(), 0u);
}

class Thrower final : public Observer {
 public:
  void task_begun(const TaskEvent&) override { throw std::runtime_error("begin"); }
  void task_ended(const TaskEvent&) override { throw 7; }
};

TEST_F(Observers, AnObserverThatThrowsHarmsNobody) {
  Subscribed<Thrower> thrower(watch::kTasks);
  Subscribed<Recorder> recorder(watch::kTasks);
  int ran = 0;
  a->submit(new Work([&] { ++ran; }));
  a->submit(new Work([&] { ++ran; }));
  EXPECT_NO_THROW(a->synchronize(10s));
  EXPECT_EQ(ran, 2);
  expect_pairs(recorder->of_stream(a->id()), 2);
}

class Submitter final : public Observer {
 public:
  explicit Submitter(Stream& stream) : stream_(stream) {}
  void task_ended(const TaskEvent& event) override {
    if (event.stream == stream_.id() || ++done_ > 1) return;
    std::make_shared<Event>(0)->record(stream_);  // in this thread: the stream is idle
  }

 private:
  Stream& stream_;
  int done_ = 0;
};

TEST_F(Observers, WhatACallbackRunsItselfIsNotObserved) {
  Subscribed<Submitter> submitter(watch::kTasks, std::make_shared<Submitter>(*b));
  Subscribed<Recorder> recorder(watch::kTasks);
  a->submit(new Work);
  a->synchronize(10s);
  b->synchronize(10s);
  expect_pairs(recorder->of_stream(a->id()), 1);
  EXPECT_TRUE(recorder->of_stream(b->id()).empty());
}

TEST_F(Observers, StreamsOfTwoThreadsAreTwoOrders) {
  Subscribed<Recorder> recorder(watch::kTasks);
  constexpr size_t kTasks = 500;
  std::vector<std::thread> threads;
  for (Stream* stream : {a, b})
    threads.emplace_back([stream] {
      for (size_t i = 0; i < kTasks; ++i) stream->submit(new Work([] {}, TaskKind::Compute, i % 2 ? 1 : INT64_MAX));
    });
  for (auto& t : threads) t.join();
  a->synchronize(20s);
  b->synchronize(20s);
  expect_pairs(recorder->of_stream(a->id()), kTasks);
  expect_pairs(recorder->of_stream(b->id()), kTasks);
}

TEST_F(Observers, CallsInsideCallsAreTheLibrarysOwn) {
  Subscribed<Recorder> recorder(watch::kTasks | watch::kCalls);
  {
    ApiScope outer("outer");
    {
      ApiScope inner("inner");
      inner.code(7);
      a->submit(new Work([] { ApiScope late("late"); }));
    }
    a->submit(new Work);
  }
  a->submit(new Work);
  a->synchronize(10s);
  const auto outer = recorder->calls("outer"), inner = recorder->calls("inner"), late = recorder->calls("late");
  ASSERT_EQ(outer.size(), 1u);
  ASSERT_EQ(inner.size(), 1u);
  ASSERT_EQ(late.size(), 1u);
  EXPECT_EQ(outer[0].call.depth, 0u);
  EXPECT_EQ(inner[0].call.depth, 1u);
  EXPECT_EQ(inner[0].call.code, 7);
  EXPECT_EQ(late[0].call.depth, 1u) << "made by a task";
  EXPECT_NE(inner[0].call.correlation, outer[0].call.correlation);
  const auto seen = recorder->of_stream(a->id());
  expect_pairs(seen, 3);
  EXPECT_EQ(seen[1].event.correlation, outer[0].call.correlation) << "the call that the client made";
  EXPECT_EQ(seen[3].event.correlation, outer[0].call.correlation);
  EXPECT_EQ(seen[5].event.correlation, 0u);
}

TEST(Argument, ReadsAsText) {
  const int64_t dims[] = {2, 3};
  const TensorArgument tensor{TensorView::contiguous(nullptr, DType::Float, dims, 2)};
  EXPECT_EQ(describe({"self", Direction::In, -1, tensor}), "self=FLOAT[2,3]");
  EXPECT_EQ(describe({"out", Direction::Out, 1, tensor}), "->out[1]=FLOAT[2,3]");
  EXPECT_EQ(describe({"selfRef", Direction::InOut, -1, tensor}), "<->selfRef=FLOAT[2,3]");
  EXPECT_EQ(describe({"bias", Direction::In, -1, AbsentArgument{}}), "bias=none");
  EXPECT_EQ(describe({"keep", Direction::In, -1, true}), "keep=true");
  EXPECT_EQ(describe({"dim", Direction::In, -1, int64_t{-1}}), "dim=-1");
  EXPECT_EQ(describe({"eps", Direction::In, -1, 0.5}), "eps=0.5");
  EXPECT_EQ(describe({"dtype", Direction::In, -1, DType::Float16}), "dtype=FLOAT16");
  EXPECT_EQ(describe({"layout", Direction::In, -1, std::string("BNSD")}), "layout=\"BNSD\"");
  EXPECT_EQ(describe({"mask", Direction::In, -1, std::vector<bool>{true, false}}), "mask=[true,false]");
  EXPECT_EQ(describe({"dims", Direction::In, -1, std::vector<int64_t>{}}), "dims=[]");
  EXPECT_EQ(describe({"ks", Direction::In, -1, std::vector<std::vector<int64_t>>{{1}, {2, 3}}}), "ks=[[1],[2,3]]");
  EXPECT_EQ(describe({"names", Direction::In, -1, std::vector<std::string>{"a", "b"}}), "names=[\"a\",\"b\"]");
  ScalarArgument half{DType::Float16, {}};
  half.bytes[1] = 0x3c;
  EXPECT_EQ(describe({"alpha", Direction::In, -1, half}), "alpha=1");
}

}  // namespace
}  // namespace updraft
