#include "device/stream.h"

#include "base/config.h"
#include "base/log.h"
#include "base/parallel.h"
#include "device/capture.h"
#include "device/device.h"
#include "device/observer.h"

namespace updraft {
namespace {
// Up to this much work the hand-over to the engine costs more than the task.
constexpr int64_t kInlineWork = 16 << 10;
}  // namespace

Stream::Stream(Device& device, int32_t id, uint32_t priority, uint32_t flags)
    : device_(device), id_(id), priority_(priority), flags_(flags) {}

Stream::~Stream() {
  if (CapturedGraph* graph = capture()) graph->leave(*this);
  std::unique_lock lock(mutex_);
  ++waiting_;
  done_.wait(lock, [&] { return !held_ && !head_; });
}

void Stream::submit(Task* task) {
  if (CapturedGraph* graph = capture()) {
    graph->add(task);
    return;
  }
  std::unique_lock lock(mutex_);
  task->next = nullptr;
  if (watched()) [[unlikely]]
    observe_submission(*this, *task);
  ++submitted_;
  if (tail_) {
    tail_->next = task;
  } else {
    head_ = task;
  }
  tail_ = task;
  if (held_) return;
  held_ = true;
  if (task->kind == TaskKind::Compute && task->work <= kInlineWork && Config::get().inline_tasks) {
    lock.unlock();
    SerialSection serial;
    run_head(true);
    return;
  }
  advance(lock);
}

// With the token and the lock: handles control tasks and hands the stream to the engine of its head. Who gave the token
// away must not touch the stream any more, not even its lock: it may be over and destroyed.
void Stream::advance(std::unique_lock<std::mutex>& lock) {
  while (head_) {
    if (head_->kind != TaskKind::Control) {
      Task* task = head_;
      lock.unlock();
      device_.ready(*this, task->kind);
      return;
    }
    Task* task = head_;
    lock.unlock();
    if (watched()) [[unlikely]]
      observe_begin(*this, *task);
    Control state = task->control(*this);
    if (state == Control::Parked) return;
    lock.lock();
    pop(lock);
  }
  held_ = false;
  if (waiting_) done_.notify_all();
}

void Stream::pop(std::unique_lock<std::mutex>& lock) {
  Task* task = head_;
  if (task->record) [[unlikely]] {  // observers see its end before those who wait for the stream
    lock.unlock();
    observe_departure(*this, *task);
    lock.lock();
  }
  head_ = task->next;
  if (!head_) tail_ = nullptr;
  ++completed_;
  if (waiting_) done_.notify_all();
  lock.unlock();
  task->release();
  lock.lock();
}

void Stream::resume() {
  std::unique_lock lock(mutex_);
  pop(lock);
  advance(lock);
}

void Stream::run_head(bool inline_run) {
  std::unique_lock lock(mutex_);
  Task* task = head_;
  TaskKind kind = task->kind;
  do {
    task = head_;
    lock.unlock();
    if (!has_failed()) {
      try {
        device_.execute(*this, *task);
      } catch (const Error& e) { fail(e, task->name()); } catch (const std::bad_alloc&) {
        fail(Error(code::kRtMemoryAllocation, "the host is out of memory"), task->name());
      } catch (const std::exception& e) { fail(Error(code::kRtInternal, "{}", e.what()), task->name()); }
    }
    lock.lock();
    pop(lock);
    // An engine keeps the stream while nobody else waits for it; the submitting thread hands over at once.
  } while (!inline_run && head_ && head_->kind == kind && !device_.contended(kind));
  advance(lock);
}

void Stream::fail(const Error& e, const char* task) {
  UPDRAFT_LOG(kError, "RUNTIME", "stream {} of device {}: task {} failed: {} (code {})", id_, device_.index(), task,
              e.text(), e.code());
  std::lock_guard lock(mutex_);
  if (failure_) return;
  failure_ = Error(e.code(), "{}: {}", task, e.text());
  failed_.store(true, std::memory_order_release);
}

std::optional<Error> Stream::failure() const {
  std::lock_guard lock(mutex_);
  return failure_;
}

void Stream::synchronize(std::chrono::milliseconds timeout) {
  if (capture()) {
    capture()->invalidate();
    throw Error(code::kRtFeatureNotSupport, "stream {} is being captured: it cannot be synchronised", id_);
  }
  std::unique_lock lock(mutex_);
  const uint64_t target = submitted_;
  auto reached = [&] { return completed_ >= target; };
  if (!reached()) {
    ++waiting_;
    bool ok = true;
    if (timeout.count() < 0) {
      done_.wait(lock, reached);
    } else {
      ok = done_.wait_for(lock, timeout, reached);
    }
    --waiting_;
    if (!ok)
      throw Error(code::kRtTaskTimeout, "stream {} did not finish within {} ms: {} tasks are left", id_,
                  timeout.count(), target - completed_);
  }
  if (failure_) {
    Error e = *failure_;
    failure_.reset();
    failed_.store(false, std::memory_order_release);
    throw e;
  }
}

bool Stream::idle() const {
  std::lock_guard lock(mutex_);
  return completed_ == submitted_;
}

void Stream::abort() {
  Task* rest;
  {
    std::lock_guard lock(mutex_);
    if (!head_) return;
    rest = head_->next;
    head_->next = nullptr;
    tail_ = head_;
    for (Task* task = rest; task; task = task->next) ++completed_;
    if (waiting_) done_.notify_all();
  }
  // Without the lock: a dropped record lets other streams go on.
  while (rest) {
    Task* task = rest;
    rest = task->next;
    if (task->record) [[unlikely]]
      observe_drop(*task);
    task->release();
  }
}

}  // namespace updraft
