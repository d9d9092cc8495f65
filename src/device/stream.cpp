#include "device/stream.h"

#include <algorithm>
#include <vector>

#include "base/config.h"
#include "base/log.h"
#include "base/parallel.h"
#include "device/capture/capture.h"
#include "device/chain/flat_chain.h"
#include "device/device.h"
#include "device/failure.h"
#include "device/failure_summary.h"
#include "device/observer.h"
#include "device/waits/time_limits.h"

namespace updraft {
namespace {
// Up to this much work the hand-over to the engine costs more than the task.
constexpr int64_t kInlineWork = 16 << 10;
// A host that has this many tasks queued waits until there are no more than kRoom: tasks hold memory.
constexpr uint64_t kMostQueued = 4096;
constexpr uint64_t kRoom = 3072;
// So long a head that is no computation may take before it counts as waiting for somebody.
constexpr auto kPatience = std::chrono::milliseconds(5);
// Tasks are chained from so much work on: smaller arrays stay in the cache from one task to the next.
constexpr int64_t kChainWork = 256 << 10;
constexpr size_t kMostChained = 1024;  // an optimizer of 400 tensors has more than 500

// Computations (of models also in threads of their own) and copies always end. Waits and host functions may wait for
// the very thread that submits.
bool ends_by_itself(const Task& task) {
  return task.kind == TaskKind::Compute || task.kind == TaskKind::Copy || task.composite;
}

std::atomic<FailureListener> g_listener{nullptr};
}  // namespace

void listen_to_failures(FailureListener listener) { g_listener = listener; }

Stream::Stream(Device& device, int32_t id, uint32_t priority, uint32_t flags)
    : device_(device), id_(id), priority_(priority), flags_(flags) {}

Stream::~Stream() {
  if (auto graph = capture()) graph->leave(*this);
  std::unique_lock lock(mutex_);
  ++waiting_;
  done_.wait(lock, [&] { return !held_ && !head_ && pins_ == 0; });
  observe_order(OrderEvent::What::StreamReached, this, *this);
}

void Stream::submit(Task* task) {
  if (capturing()) [[unlikely]]
    if (auto graph = capture(); graph && graph->add(*this, task)) return;
  std::unique_lock lock(mutex_);
  if (submitted_ - completed_ >= kMostQueued) wait_for_room(lock);
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

// Back-pressure. Nobody is held up by a head that waits for others (an event, a value, a host function): what it waits
// for may be what this thread does next.
void Stream::wait_for_room(std::unique_lock<std::mutex>& lock) {
  if (executing_device()) return;  // a task that submits: the engine that would make room is this thread
  ++throttled_;
  while (submitted_ - completed_ > kRoom && stuck_at_ != completed_) {
    const uint64_t before = completed_;
    room_.wait_for(lock, kPatience);
    if (completed_ == before && head_ && !ends_by_itself(*head_)) stuck_at_ = before;
  }
  --throttled_;
}

// With the token and the lock: handles control tasks and hands the stream to the engine of its head. Who gave the token
// away must not touch the stream any more, not even its lock: it may be over and destroyed.
void Stream::advance(std::unique_lock<std::mutex>& lock) {
  while (head_) {
    Task* task = head_;
    lock.unlock();
    try {
      if (task->kind != TaskKind::Control) {
        device_.ready(*this, task->kind);
        return;
      }
      if (watched()) [[unlikely]]
        observe_begin(*this, *task);
      if (task->control(*this) == Control::Parked) return;
    } catch (...) { fail_by_exception(task->name()); }  // the token is still here
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
    if (dropping()) observe_drop(*task);
    else observe_departure(*this, *task);
    lock.lock();
  }
  head_ = task->next;
  if (!head_) tail_ = nullptr;
  if (with_head_) --with_head_;
  if (dropping()) dropping_.store(false, std::memory_order_release);
  // Before anybody hears of its end: who then submits at once finds the stream free, and may run a little task itself.
  lock.unlock();
  task->release();
  lock.lock();
  ++completed_;
  if (waiting_) done_.notify_all();
  if (throttled_ && submitted_ - completed_ <= kRoom) room_.notify_all();
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
    if (!inline_run && task->work >= kChainWork && task->next && run_chain(lock)) continue;
    lock.unlock();
    if (!stopped()) {
      try {
        try {
          device_.execute(*this, *task);
        } catch (...) { rethrow_with_summary(*task); }
      } catch (...) { fail_by_exception(task->name()); }
    }
    lock.lock();
    pop(lock);
    // An engine keeps the stream while nobody else waits for it; the submitting thread hands over at once.
  } while (!inline_run && head_ && head_->kind == kind && !device_.contended(kind));
  advance(lock);
}

namespace {
class ChainTask final : public Task {
 public:
  ChainTask(const FlatChain& chain, const char* name) : chain_(chain), name_(name) {}
  void run() override { chain_.run(); }
  void release() override {}
  const char* name() const override { return name_; }

 private:
  const FlatChain& chain_;
  const char* name_;
};

const FlatWork* flat_work_of(const Task& task) {
  return task.kind == TaskKind::Compute && !task.record ? task.flat() : nullptr;
}
}  // namespace

// With the lock. Runs the head together with what stands behind it, where they are element by element work; false:
// there is nothing to run together. Not while somebody listens or measures, since each task is then to be seen by
// itself.
bool Stream::run_chain(std::unique_lock<std::mutex>& lock) {
  if (watched() || stopped() || !flat_work_of(*head_) || !flat_work_of(*head_->next)) return false;
  if (has_close_limit()) return false;  // a chain counts as one operator against it
  FlatChain chain;
  const char* name = head_->name();
  try {
    for (const Task* task = head_; task && chain.works() < kMostChained; task = task->next) {
      const FlatWork* work = flat_work_of(*task);
      if (!work || !chain.add(*work)) break;
    }
  } catch (const std::bad_alloc&) { return false; }  // one after the other needs no memory
  if (chain.works() < 2) return false;
  with_head_ = chain.works() - 1;
  lock.unlock();
  ChainTask together(chain, name);
  try {
    device_.execute(*this, together);
  } catch (...) { fail_by_exception(name); }
  lock.lock();
  for (size_t i = chain.works(); i > 0; --i) pop(lock);
  return true;
}

// In a catch clause.
void Stream::fail_by_exception(const char* task) {
  try {
    throw;
  } catch (const Error& e) { fail(e, task); } catch (const std::bad_alloc&) {
    fail(code::kRtMemoryAllocation, "the host is out of memory", task);
  } catch (const std::exception& e) { fail(code::kRtInternal, e.what(), task); } catch (...) {
    fail(code::kRtInternal, "it threw something that is no std::exception", task);
  }
}

// Called in threads that nobody guards: what has no memory left for a text still fails the stream.
void Stream::fail(int code, std::string_view text, const char* task) noexcept {
  try {
    // The first words are those that people look for in a plog.
    const bool model = std::string_view(task) == "MODEL_EXECUTE";
    const std::string line =
        fmt::format("{}: stream {} of device {}: task {} failed: {} (code {})",
                    model ? fmt::format("model execute error, error code = {:#x}", code) : "task exception", id_,
                    device_.index(), task, text, code);
    UPDRAFT_LOG(kError, "RUNTIME", "{}", line);
    log::write_of_device(device_.index(), log::kError, "RUNTIME", __FILE__, __LINE__, line);
  } catch (...) {}
  if (const FailureListener listener = g_listener) listener({device_.index(), id_, code, task, text});
  std::lock_guard lock(mutex_);
  if (failure_) return;
  try {
    failure_ = Error(code, "{}: {}", task, text);
  } catch (...) { failure_ = Error(code, std::string()); }
  failed_.store(true, std::memory_order_release);
}

std::optional<Error> Stream::failure() const {
  std::lock_guard lock(mutex_);
  return failure_;
}

std::shared_ptr<CapturedGraph> Stream::capture() const {
  if (!capturing()) return nullptr;
  std::lock_guard lock(mutex_);
  return capture_;
}

void Stream::set_capture(std::shared_ptr<CapturedGraph> graph) {
  std::lock_guard lock(mutex_);
  capturing_.store(graph != nullptr, std::memory_order_release);
  capture_.swap(graph);
}

void Stream::synchronize(std::chrono::milliseconds timeout) {
  // Refused without a trace: the capture goes on, and whoever catches this may end it as usual. A stream that updates a
  // group of tasks only lends them its name: what it was given before can be waited for.
  if (const auto graph = capture(); graph && graph->handle)
    throw Error(code::kRtStreamCaptured, "stream {} is being captured: it cannot be synchronised", id_);
  std::unique_lock lock(mutex_);
  const uint64_t target = submitted_, aborts = aborts_;
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
  observe_order(OrderEvent::What::StreamReached, this, *this);
  if (failure_) {
    Error e = *failure_;
    failure_.reset();
    failed_.store(false, std::memory_order_release);
    throw e;
  }
  if (aborts != aborts_)
    throw Error(code::kRtDeviceTaskAbort, "tasks of stream {} were dropped by an abort while it was waited for", id_);
}

bool Stream::idle() const {
  std::lock_guard lock(mutex_);
  return std::max(completed_, over_) == submitted_;
}

void Stream::head_is_over() {
  std::lock_guard lock(mutex_);
  over_ = completed_ + 1;
}

// For an abort: takes out what is dropped, and the token with it when the head is.
Task* Stream::take_dropped() {
  std::lock_guard lock(mutex_);
  if (!head_) return nullptr;
  bool head_too = false;
  if (head_->kind == TaskKind::Control) {
    // A head that is parked is taken out of where it waits. One that is about to park will see the flag there, under
    // the same lock.
    dropping_.store(true, std::memory_order_release);
    head_too = head_->forget(*this);
  }
  Task* last = head_;  // that is running
  for (size_t i = 0; i < with_head_; ++i) last = last->next;
  Task* dropped = head_too ? head_ : last->next;
  if (head_too) {
    head_ = tail_ = nullptr;
    held_ = false;
    dropping_.store(false, std::memory_order_release);
  } else {
    last->next = nullptr;
    tail_ = last;
  }
  if (dropped) ++aborts_;
  for (Task* task = dropped; task; task = task->next) ++completed_;
  if (waiting_) done_.notify_all();
  if (throttled_) room_.notify_all();
  return dropped;
}

void Stream::abort() {
  Stream* self = this;
  abort({&self, 1});
}

void Stream::abort(std::span<Stream* const> streams) {
  std::vector<Task*> dropped;
  dropped.reserve(streams.size());
  for (Stream* stream : streams) dropped.push_back(stream->take_dropped());
  // Without a lock, and when all have been dropped: a dropped record lets streams go on. The streams are not touched.
  for (Task* next : dropped)
    while (next) {
      Task* task = std::exchange(next, next->next);
      if (task->record) [[unlikely]]
        observe_drop(*task);
      task->release();
    }
}

StreamPin::StreamPin(Stream& stream) : stream_(&stream) {
  std::lock_guard lock(stream.mutex_);
  ++stream.pins_;
}

StreamPin::~StreamPin() {
  if (!stream_) return;
  std::lock_guard lock(stream_->mutex_);
  if (--stream_->pins_ == 0 && stream_->waiting_) stream_->done_.notify_all();
}

}  // namespace updraft
