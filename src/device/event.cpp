#include "device/event.h"

#include <time.h>

#include <chrono>

#include "base/error.h"
#include "device/capture.h"
#include "device/device.h"
#include "device/stream.h"

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
    event_->complete(generation_, stream.has_failed() ? stream.failure() : std::nullopt);
    return Control::Done;
  }
  void run() override {
    done_ = true;
    event_->complete(generation_, std::nullopt);
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

class WaitTask final : public Task {
 public:
  WaitTask(std::shared_ptr<Event> event, uint64_t generation) : event_(std::move(event)), generation_(generation) {
    kind = TaskKind::Control;
  }
  Control control(Stream& stream) override {
    if (!event_->done_or_park(generation_, stream)) return Control::Parked;
    if (auto failure = event_->failure()) stream.fail(*failure, name());
    return Control::Done;
  }
  void run() override {}
  void release() override {
    event_->wait_over();
    delete this;
  }
  const char* name() const override { return "EVENT_WAIT"; }

 private:
  std::shared_ptr<Event> event_;
  uint64_t generation_;
};

}  // namespace

void Event::record(Stream& stream) {
  uint64_t generation;
  {
    std::lock_guard lock(mutex_);
    capture_.reset();
    if (CapturedGraph* graph = stream.capture()) {
      capture_ = graph->weak_from_this();
      return;  // order inside a graph is the order of capture
    }
    generation = ++recorded_;
  }
  stream.submit(new RecordTask(shared_from_this(), generation));
}

void Event::wait(Stream& stream) {
  uint64_t generation;
  {
    std::lock_guard lock(mutex_);
    if (auto graph = capturing()) {
      // A stream that waits for captured work joins the capture.
      if (!stream.capture()) graph->join(stream);
      return;
    }
    if (stream.capture()) return;  // recorded before the capture began: the replay comes later anyway
    if (completed_ >= recorded_ && !failure_) return;
    generation = recorded_;
    ++waits_;
  }
  stream.submit(new WaitTask(shared_from_this(), generation));
}

void Event::reset(Stream&) {
  std::lock_guard lock(mutex_);
  capture_.reset();
}

std::shared_ptr<CapturedGraph> Event::capturing() const {
  auto graph = capture_.lock();
  return graph && graph->capturing() ? graph : nullptr;
}

bool Event::query() const {
  std::lock_guard lock(mutex_);
  return completed_ >= recorded_;
}

bool Event::waits_done() const {
  std::lock_guard lock(mutex_);
  return waits_ == 0;
}

void Event::wait_over() {
  std::lock_guard lock(mutex_);
  --waits_;
}

void Event::synchronize(int32_t timeout_ms) {
  std::unique_lock lock(mutex_);
  if (capturing()) throw Error(code::kRtFeatureNotSupport, "the event was recorded on a stream that is being captured");
  uint64_t target = recorded_;
  auto reached = [&] { return completed_ >= target; };
  if (timeout_ms < 0) {
    done_.wait(lock, reached);
  } else if (!done_.wait_for(lock, std::chrono::milliseconds(timeout_ms), reached)) {
    throw Error(code::kRtWaitTimeout, "the event was not reached within {} ms", timeout_ms);
  }
  if (failure_) throw *failure_;
}

std::optional<Error> Event::failure() const {
  std::lock_guard lock(mutex_);
  return failure_;
}

uint64_t Event::timestamp() const {
  std::lock_guard lock(mutex_);
  if (time_ == 0 || completed_ < recorded_)
    throw Error(code::kRtEventTimestampInvalid, "the event has no time yet: {}",
                recorded_ ? "its record is not done" : "it was never recorded");
  return time_;
}

void Event::complete(uint64_t generation, const std::optional<Error>& failure) {
  std::vector<Stream*> ready;
  {
    std::lock_guard lock(mutex_);
    if (generation >= completed_) failure_ = failure;
    completed_ = std::max(completed_, generation);
    time_ = now_ns();
    std::erase_if(parked_, [&](const auto& entry) {
      if (entry.first > completed_) return false;
      ready.push_back(entry.second);
      return true;
    });
    done_.notify_all();
  }
  for (Stream* stream : ready) {
    if (failure) stream->fail(*failure, "EVENT_WAIT");
    stream->device().unpark(*stream);
  }
}

bool Event::done_or_park(uint64_t generation, Stream& stream) {
  std::lock_guard lock(mutex_);
  if (completed_ >= generation) return true;
  parked_.emplace_back(generation, &stream);
  return false;
}

}  // namespace updraft
