#include "device/waits/event.h"

#include <time.h>

#include <algorithm>
#include <chrono>

#include "base/error.h"
#include "device/capture/capture.h"
#include "device/device.h"
#include "device/observer.h"
#include "device/stream.h"
#include "device/waits/shared_event.h"

namespace updraft {
namespace {

uint64_t now_ns() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<uint64_t>(t.tv_sec) * 1000000000u + static_cast<uint64_t>(t.tv_nsec);
}

class RecordTask final : public Task {
 public:
  RecordTask(std::shared_ptr<Event> event, uint64_t generation) : event_(std::move(event)), generation_(generation) {
    kind = TaskKind::Control;
  }
  Control control(Stream& stream) override {
    done_ = true;
    stream.head_is_over();
    event_->complete(generation_, stream.stopped() ? stream.failure() : std::nullopt);
    return Control::Done;
  }
  void release() override {
    if (!done_) event_->complete(generation_, std::nullopt);  // dropped by an abort: nobody must wait for it for ever
    delete this;
  }
  const char* name() const override { return "EVENT_RECORD"; }

 private:
  std::shared_ptr<Event> event_;
  uint64_t generation_;
  bool done_ = false;
};

class EventWaitTask final : public WaitTask {
 public:
  EventWaitTask(std::shared_ptr<Event> event, uint64_t generation, std::chrono::nanoseconds limit)
      : WaitTask(event, limit), event_(std::move(event)), generation_(generation) {}
  void release() override {
    event_->wait_over();
    WaitTask::release();
  }
  const char* name() const override { return "EVENT_WAIT"; }

 protected:
  bool over(Stream&) override { return event_->done(generation_); }
  Arrival arrive(Stream& stream, uint64_t ticket, Timer::Clock::time_point limit) override {
    return event_->arrive(generation_, stream, ticket, limit);
  }
  void passed(Stream& stream) override {
    if (auto failure = event_->failure(generation_)) stream.fail(*failure, name());
  }

 private:
  std::shared_ptr<Event> event_;
  uint64_t generation_;
};

class ResetTask final : public Task {
 public:
  ResetTask(std::shared_ptr<Event> event, uint64_t generation) : event_(std::move(event)), generation_(generation) {
    kind = TaskKind::Control;
  }
  Control control(Stream&) override {
    event_->forget_record(generation_);
    return Control::Done;
  }
  void release() override { delete this; }
  const char* name() const override { return "EVENT_RESET"; }

 private:
  std::shared_ptr<Event> event_;
  uint64_t generation_;
};

}  // namespace

Event::Event(uint32_t flags, std::shared_ptr<SharedEvent> shared)
    : flags_(flags), shared_(!shared && (flags & kIpc) ? SharedEvent::create() : std::move(shared)) {}
Event::~Event() { observe_order({.what = OrderEvent::What::Destroyed, .object = this}); }

void Event::record(Stream& stream) {
  if (shared_) return shared_->record(stream);
  uint64_t generation;
  if (auto graph = stream.capture()) {
    if (const auto at = graph->record(stream)) {
      std::lock_guard lock(mutex_);
      capture_ = graph;
      capture_record_ = *at;
      return;
    }
  }
  {
    std::lock_guard lock(mutex_);
    capture_.reset();
    generation = ++recorded_;
  }
  observe_order(OrderEvent::What::EventRecorded, this, stream);
  stream.submit(new RecordTask(shared_from_this(), generation));
}

void Event::wait(Stream& stream, std::chrono::nanoseconds limit) {
  if (shared_) {
    observe_order(OrderEvent::What::OthersAwaited, this, stream);
    return shared_->wait(stream, limit);
  }
  uint64_t generation = 0;
  std::shared_ptr<CapturedGraph> graph;
  uint32_t record = 0;
  {
    std::lock_guard lock(mutex_);
    graph = capturing();
    record = capture_record_;
    if (!graph) {
      if (stream.capturing()) return;  // recorded before the capture began: the replay comes later anyway
      observe_order(OrderEvent::What::EventAwaited, this, stream);
      if (is_done(recorded_) && !failure_) return;
      generation = recorded_;
      ++waits_;
    }
  }
  if (graph) {
    graph->wait(stream, record);  // a stream that waits for captured work joins the capture
  } else {
    stream.submit(new EventWaitTask(shared_from_this(), generation, limit));
  }
}

void Event::reset(Stream& stream) {
  if (shared_) return shared_->reset(stream);
  uint64_t generation;
  {
    std::lock_guard lock(mutex_);
    capture_.reset();
    if (stream.capturing()) return;  // inside a graph an event is nothing but order
    generation = recorded_;
  }
  if (generation) stream.submit(new ResetTask(shared_from_this(), generation));
}

void Event::forget_record(uint64_t generation) {
  std::lock_guard lock(mutex_);
  if (recorded_ != generation) return;  // it has been recorded again
  reset_ = generation;
  time_ = 0;
  failure_.reset();
}

std::shared_ptr<CapturedGraph> Event::capturing() const {
  auto graph = capture_.lock();
  return graph && graph->capturing() ? graph : nullptr;
}

bool Event::recorded() const {
  if (shared_) return false;  // what processes share of it is gone with the last handle
  std::lock_guard lock(mutex_);
  return recorded_ != reset_ || capturing();
}

bool Event::reached() const {
  std::lock_guard lock(mutex_);
  return !shared_ && !capturing() && is_done(recorded_) && !failure_;
}

bool Event::query() const {
  if (shared_) return shared_->query();
  std::lock_guard lock(mutex_);
  const bool over = is_done(recorded_);
  if (over) observe_order({.what = OrderEvent::What::EventReached, .object = this});
  return over;
}

bool Event::waits_done() const {
  if (shared_) return shared_->query();
  std::lock_guard lock(mutex_);
  return waits_ == 0;
}

void Event::wait_over() {
  std::lock_guard lock(mutex_);
  --waits_;
}

void Event::synchronize(int32_t timeout_ms) {
  if (shared_) return shared_->synchronize(timeout_ms);
  std::unique_lock lock(mutex_);
  if (capturing()) throw Error(code::kRtFeatureNotSupport, "the event was recorded on a stream that is being captured");
  uint64_t target = recorded_;
  auto reached = [&] { return is_done(target); };
  if (timeout_ms < 0) {
    done_.wait(lock, reached);
  } else if (!done_.wait_for(lock, std::chrono::milliseconds(timeout_ms), reached)) {
    throw Error(code::kRtWaitTimeout, "the event was not reached within {} ms", timeout_ms);
  }
  observe_order({.what = OrderEvent::What::EventReached, .object = this});
  if (failure_) throw *failure_;
}

std::optional<Error> Event::failure(uint64_t generation) const {
  std::lock_guard lock(mutex_);
  return generation == latest_done_ ? failure_ : std::nullopt;
}

uint64_t Event::timestamp() const {
  if (shared_) throw Error(code::kRtFeatureNotSupport, "an event between processes (flag {:#x}) has no time", kIpc);
  std::lock_guard lock(mutex_);
  if (time_ == 0 || !is_done(recorded_))
    throw Error(code::kRtEventTimestampInvalid, "the event has no time yet: {}",
                !recorded_            ? "it was never recorded"
                : reset_ == recorded_ ? "it was reset"
                                      : "its record is not done");
  observe_order({.what = OrderEvent::What::EventReached, .object = this});
  return time_;
}

void Event::complete(uint64_t generation, const std::optional<Error>& failure) {
  std::vector<Stream*> ready;
  {
    std::lock_guard lock(mutex_);
    if (generation == done_to_ + 1) {
      ++done_to_;
      while (std::erase(done_early_, done_to_ + 1)) ++done_to_;
    } else {
      done_early_.push_back(generation);
    }
    if (generation > latest_done_) {
      latest_done_ = generation;
      failure_ = failure;
      time_ = now_ns();
    }
    std::erase_if(parked_, [&](const Entry& entry) {
      if (entry.what != generation) return false;
      ready.push_back(entry.stream);
      return true;
    });
    done_.notify_all();
  }
  for (Stream* stream : ready) {
    if (failure) stream->fail(*failure, "EVENT_WAIT");
    stream->device().unpark(*stream);
  }
}

bool Event::done(uint64_t generation) const {
  std::lock_guard lock(mutex_);
  return is_done(generation);
}

bool Event::is_done(uint64_t generation) const {
  return generation <= done_to_ || std::ranges::find(done_early_, generation) != done_early_.end();
}

Arrival Event::arrive(uint64_t generation, Stream& stream, uint64_t ticket, Timer::Clock::time_point limit) {
  std::lock_guard lock(mutex_);
  return is_done(generation) ? Arrival::Over : park(ticket, stream, limit, generation);
}

}  // namespace updraft
