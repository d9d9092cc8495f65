#include "device/observer.h"

#include <condition_variable>
#include <mutex>
#include <new>
#include <optional>
#include <string_view>

#include "base/log.h"
#include "device/capture/told_lanes.h"
#include "device/device.h"
#include "device/stream.h"

namespace updraft {

// What is kept of a task between its submission and its end, while somebody listens.
struct TaskRecord {
  TaskEvent event;
  uint64_t serial = 0;      ///< the latest subscription when it began: later ones are not told of its end
  bool begun = false;       ///< who listened then was told
  bool had_failed = false;  ///< its stream, when it began
  ArgumentList arguments;
};

namespace {

// Places for observers. They are never freed, so that who walks the list needs no lock; `running` counts those who are
// about to call, or call, the observer.
struct Slot {
  std::atomic<Observer*> observer{nullptr};
  std::atomic<uint32_t> wants{0};
  std::atomic<uint64_t> since{0};
  std::atomic<int> running{0};
  std::shared_ptr<Observer> keep;  ///< with the lock; null: the slot is free
  uint64_t settled = 0;            ///< with the lock: how many observers have left it
  Slot* next = nullptr;
};

std::atomic<Slot*> g_slots{nullptr};
std::atomic<uint64_t> g_serial{0};
std::atomic<uint64_t> g_ids{0};

struct Shared {
  std::mutex mutex;
  std::condition_variable settled;
  int keeping = 0;  ///< KeepArguments that live
};
Shared& shared() {
  static auto* s = new Shared;  // outlives static destruction
  return *s;
}

thread_local bool t_telling = false;                // inside a callback
thread_local const TaskEvent* t_running = nullptr;  // the task that this thread runs
struct Replay {
  uint32_t model = 0;
  int32_t index = -1;
};
thread_local Replay t_replay;

uint64_t next_id() { return g_ids.fetch_add(1, std::memory_order_relaxed) + 1; }

// With the lock.
void count_wants() {
  uint32_t bits = shared().keeping ? watch::kArguments : 0;
  for (Slot* slot = g_slots; slot; slot = slot->next) {
    const uint32_t wants = slot->wants.load(std::memory_order_relaxed);
    bits |= wants;
    if (wants && !(wants & watch::kBrief)) bits |= watch::kFull;
  }
  uint32_t now = g_watched.load(std::memory_order_relaxed);
  while (!g_watched.compare_exchange_weak(now, bits | (now & watch::kUndecided))) {}
}

// The observer has left and nobody calls it any more: its place is free.
void settle(Slot& slot) {
  std::shared_ptr<Observer> last;  // its destructor runs without the lock
  std::lock_guard lock(shared().mutex);
  if (slot.observer.load() || slot.running.load() || !slot.keep) return;
  last.swap(slot.keep);
  ++slot.settled;
  shared().settled.notify_all();
}

template <class F>
void call(Observer& observer, F&& f) {
  try {
    f(observer);
  } catch (const std::exception& e) {
    UPDRAFT_LOG(kError, "RUNTIME", "an observer failed: {}", e.what());
  } catch (...) { UPDRAFT_LOG(kError, "RUNTIME", "an observer failed"); }
}

// Tells those who want `bit` and were subscribed at `serial`.
template <class F>
void tell(uint32_t bit, uint64_t serial, F&& f) {
  if (t_telling) return;  // an observer's own doing
  t_telling = true;
  for (Slot* slot = g_slots.load(std::memory_order_acquire); slot; slot = slot->next) {
    if (!(slot->wants.load(std::memory_order_relaxed) & bit)) continue;
    // Either unsubscribe() sees this count, or this thread sees that the observer has left (both seq_cst).
    slot->running.fetch_add(1);
    Observer* observer = slot->observer.load();
    if (observer && slot->since.load(std::memory_order_relaxed) <= serial &&
        (slot->wants.load(std::memory_order_relaxed) & bit))
      call(*observer, f);
    if (slot->running.fetch_sub(1) == 1 && !slot->observer.load()) settle(*slot);
  }
  t_telling = false;
}

void tell_call(const ApiCall& call) {
  tell(watch::kCalls, UINT64_MAX, [&](Observer& o) { o.call_ended(call); });
}

std::unique_ptr<TaskRecord> make_record(uint32_t bits) {
  auto record = std::make_unique<TaskRecord>();
  record->event.id = next_id();
  record->event.submitted = wanted_stamp(bits);
  return record;
}

void describe_task(TaskEvent& event, const Task& task) {
  event.kind = task.kind;
  event.name = task.name();
  event.cost = task.cost;
  if (!event.model) event.model = task.model();
}

void describe_place(TaskEvent& event, const Stream& stream) {
  event.device = stream.device().index();
  event.stream = stream.id();
}

void show_arguments(TaskRecord& record) {
  record.event.arguments = record.arguments.all();
  record.event.arguments_known = record.arguments.known();
}

void tell_begin(TaskRecord& record, uint32_t bits) {
  show_arguments(record);
  TaskEvent& event = record.event;
  record.begun = true;
  event.thread = thread_number();
  event.begun = wanted_stamp(bits);
  record.serial = g_serial.load(std::memory_order_acquire);
  tell(watch::kTasks, record.serial, [&](Observer& o) { o.task_begun(event); });
  event.begun = wanted_stamp(bits);  // the callbacks are no part of the task
}

void tell_end(TaskRecord& record, uint32_t bits, Outcome outcome, const Error* failure) {
  TaskEvent& event = record.event;
  event.ended = wanted_stamp(bits);
  event.thread = thread_number();
  event.outcome = outcome;
  event.failure = failure;
  tell(watch::kTasks, record.serial, [&](Observer& o) { o.task_ended(event); });
}

void tell_unbegun(TaskRecord& record, uint32_t bits, const Task& task, Outcome outcome, const Error* failure) {
  describe_task(record.event, task);
  if (bits & watch::kArguments) task.arguments(record.arguments);
  show_arguments(record);
  tell_end(record, bits, outcome, failure);
}

// Begin, work and end of a record whose event is complete but for its times.
void run_between(TaskRecord& record, uint32_t bits, FunctionRef<void()> run) {
  struct Running {
    const TaskEvent* before = t_running;
    ~Running() { t_running = before; }
  } running;
  tell_begin(record, bits);
  t_running = &record.event;
  auto end = [&](Outcome outcome, const Error* failure) { tell_end(record, watched_bits(), outcome, failure); };
  try {
    run();
  } catch (const Error& e) {
    end(Outcome::Failed, &e);
    throw;
  } catch (const std::bad_alloc&) {
    const Error e(code::kRtMemoryAllocation, "the host is out of memory");
    end(Outcome::Failed, &e);
    throw;
  } catch (const std::exception& e) {
    const Error error(code::kRtInternal, "{}", e.what());
    end(Outcome::Failed, &error);
    throw;
  } catch (...) {
    const Error error(code::kRtInternal, "it threw something that is no std::exception");
    end(Outcome::Failed, &error);
    throw;
  }
  end(Outcome::Done, nullptr);
}

// The record's arguments are made when it begins: these are only for now.
void tell_submission(TaskEvent& event, const Task& task, uint32_t bits) {
  describe_task(event, task);
  ArgumentList arguments;
  if (bits & watch::kArguments) task.arguments(arguments);
  event.arguments = arguments.all();
  event.arguments_known = arguments.known();
  tell(watch::kOrder, UINT64_MAX, [&](Observer& o) { o.submitted(event); });
  event.arguments = {};
  event.arguments_known = false;
}

// With watch::kBrief alone its submission is all that is told of it.
bool told_once(const Task& task, uint32_t bits) {
  if (bits & watch::kFull || task.kind != TaskKind::Compute) return false;
  const std::string_view name = task.name();
  return name != "MODEL_EXECUTE" && name != "MEMCPY_ASYNC";  // little copies are run as operators are
}

// The record of a task that is about to begin; made now when nobody listened at its submission.
TaskRecord& record_of(const Stream& stream, Task& task, uint32_t bits) {
  if (!task.record) {
    task.record = make_record(bits).release();
    task.record->event.submitted = {};
  }
  describe_task(task.record->event, task);
  describe_place(task.record->event, stream);
  if (bits & watch::kArguments) task.arguments(task.record->arguments);
  return *task.record;
}

}  // namespace

void subscribe(std::shared_ptr<Observer> observer, uint32_t wants) {
  wants &= watch::kTasks | watch::kArguments | watch::kCalls | watch::kRawTimes | watch::kOrder | watch::kBrief;
  if (!observer || !(wants & (watch::kTasks | watch::kCalls)))
    throw Error(code::kRtInternal, "an observer must want tasks or calls");
  std::lock_guard lock(shared().mutex);
  Slot* free = nullptr;
  for (Slot* slot = g_slots; slot; slot = slot->next) {
    if (slot->keep == observer)
      throw Error(code::kRtInternal, "the observer is subscribed already, or callbacks of it still run");
    if (!slot->keep) free = slot;
  }
  if (!free) {
    free = new Slot;
    free->next = g_slots;
    g_slots.store(free, std::memory_order_release);
  }
  const uint64_t since = g_serial.load(std::memory_order_relaxed) + 1;
  set_call_sink(tell_call);
  free->since.store(since);
  free->keep = std::move(observer);
  free->observer.store(free->keep.get());
  free->wants.store(wants);
  g_serial.store(since, std::memory_order_release);
  count_wants();
}

bool unsubscribe(const Observer* observer) {
  std::shared_ptr<Observer> last;
  std::unique_lock lock(shared().mutex);
  Slot* slot = g_slots;
  while (slot && (!observer || slot->observer.load() != observer)) slot = slot->next;
  if (!slot) return false;
  slot->wants.store(0);
  slot->observer.store(nullptr);
  count_wants();
  if (slot->running.load() == 0) {
    last.swap(slot->keep);
    ++slot->settled;
    return true;
  }
  if (t_telling) return true;  // who leaves last settles it
  const uint64_t settled = slot->settled;
  shared().settled.wait(lock, [&] { return slot->settled != settled; });
  return true;
}

KeepArguments::KeepArguments() {
  std::lock_guard lock(shared().mutex);
  ++shared().keeping;
  count_wants();
}
KeepArguments::~KeepArguments() {
  std::lock_guard lock(shared().mutex);
  --shared().keeping;
  count_wants();
}

ReplayScope::ReplayScope(uint32_t model, int32_t index) : outer_model_(t_replay.model), outer_index_(t_replay.index) {
  t_replay = {model, index};
}
ReplayScope::~ReplayScope() { t_replay = {outer_model_, outer_index_}; }

void observe_submission(const Stream& stream, Task& task) {
  const uint32_t bits = watched_bits();
  delete std::exchange(task.record, nullptr);
  if (!(bits & watch::kTasks)) return;
  const auto fill = [&](TaskEvent& event) {
    event.correlation = current_correlation();
    event.submitter = thread_number();
    event.model = t_replay.model;
    event.index = t_replay.index;
    describe_place(event, stream);
    if (bits & watch::kOrder) tell_submission(event, task, bits);
  };
  if (told_once(task, bits)) {
    TaskEvent event;
    event.id = next_id();
    return fill(event);
  }
  task.record = make_record(bits).release();
  task.record->serial = g_serial.load(std::memory_order_acquire);
  fill(task.record->event);
}

void observe_part(const Stream& stream, uint32_t model, int32_t index, const Task& task) {
  observe_part_of_lane(stream, stream.id(), model, index, task);
}

void observe_part_of_lane(const Stream& stream, int32_t place, uint32_t model, int32_t index, const Task& task) {
  const uint32_t bits = watched_bits();
  if (!(bits & watch::kOrder)) return;
  TaskEvent event;
  event.id = next_id();
  event.correlation = current_correlation();
  event.submitter = thread_number();
  event.model = model;
  event.index = index;
  describe_place(event, stream);
  event.stream = place;
  tell_submission(event, task, bits);
}

void tell_order(const OrderEvent& event) {
  if (watched_bits() & watch::kOrder) tell(watch::kOrder, UINT64_MAX, [&](Observer& o) { o.ordered(event); });
}

void tell_order(OrderEvent::What what, const void* object, const Stream& stream, uint64_t value, int32_t test) {
  OrderEvent event{.what = what, .object = object};
  event.device = stream.device().index();
  event.stream = stream.id();
  event.value = value;
  event.test = test;
  tell_order(event);
}

void observe_begin(const Stream& stream, Task& task) {
  const uint32_t bits = watched_bits();
  if (!(bits & watch::kTasks)) return;
  TaskRecord& record = record_of(stream, task, bits);
  record.had_failed = stream.has_failed();
  tell_begin(record, bits);
}

void observe_departure(const Stream& stream, Task& task) {
  const std::unique_ptr<TaskRecord> record(std::exchange(task.record, nullptr));
  const uint32_t bits = watched_bits();
  if (!(bits & watch::kTasks)) return;
  const std::optional<Error> failure = stream.failure();
  if (!record->begun) {
    if (failure) tell_unbegun(*record, bits, task, Outcome::Skipped, &*failure);
    return;  // else nobody listened when it ran
  }
  const bool failed = failure && !record->had_failed;
  tell_end(*record, bits, failed ? Outcome::Failed : Outcome::Done, failed ? &*failure : nullptr);
}

void observe_drop(Task& task) {
  const std::unique_ptr<TaskRecord> record(std::exchange(task.record, nullptr));
  const uint32_t bits = watched_bits();
  if (!(bits & watch::kTasks)) return;
  if (record->begun) tell_end(*record, bits, Outcome::Dropped, nullptr);
  else tell_unbegun(*record, bits, task, Outcome::Dropped, nullptr);
}

void run_observed(const Stream& stream, Task& task, FunctionRef<void()> run) {
  const uint32_t bits = watched_bits();
  // What a host function calls is the client's doing, what operators call is ours.
  std::optional<InsideLibrary> inside;
  if (bits && task.kind != TaskKind::Host) inside.emplace();
  if (!(bits & watch::kTasks) || (!task.record && told_once(task, bits))) return run();
  TaskRecord& record = record_of(stream, task, bits);
  struct Free {
    Task& task;
    ~Free() { delete std::exchange(task.record, nullptr); }
  } free{task};
  run_between(record, bits, run);
}

namespace {
thread_local const NodePlace* t_node = nullptr;
}
NodeScope::NodeScope(const NodePlace* place) : outer_(t_node) { t_node = place; }
NodeScope::~NodeScope() { t_node = outer_; }
const NodePlace* NodeScope::current() { return t_node; }

void run_observed_in_graph(uint32_t model, int32_t index, const Task& task, FunctionRef<void()> run) {
  run_observed_in_graph({model, index}, task, run);
}

void run_observed_in_graph(const NodePlace& place, const Task& task, FunctionRef<void()> run) {
  const uint32_t bits = watched_bits();
  if (!(bits & watch::kTasks)) return run();
  TaskRecord record;
  TaskEvent& event = record.event;
  if (t_running) {  // the piece of the graph: submitted for all that is in it
    event.correlation = t_running->correlation;
    event.submitted = t_running->submitted;
    event.submitter = t_running->submitter;
  }
  event.id = next_id();
  event.model = place.model;
  event.index = place.index;
  event.graph = place.graph;
  event.node = place.node;
  event.execution = place.execution;
  describe_task(event, task);
  if (const Stream* stream = executing_stream()) describe_place(event, *stream);
  if (bits & watch::kArguments) task.arguments(record.arguments);
  run_between(record, bits, run);
}

void run_observed(const char* name, const Device* device, const Cost& cost, FunctionRef<void(ArgumentList&)> arguments,
                  FunctionRef<void()> run) {
  const uint32_t bits = watched_bits();
  if (!(bits & watch::kTasks)) return run();
  const std::unique_ptr<TaskRecord> record = make_record(bits);
  TaskEvent& event = record->event;
  event.correlation = current_correlation();
  event.submitter = thread_number();
  event.device = device ? device->index() : -1;
  event.kind = TaskKind::Copy;
  event.name = name;
  event.cost = cost;
  if (bits & watch::kArguments) arguments(record->arguments);
  run_between(*record, bits, run);
}

}  // namespace updraft
