// Observers: who wants to know what the process' devices do, while they do it. Profiling, dump, overflow detection and
// a debugger are observers. docs/internals/observers.md says what they may rely on and what they may do.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/api_call.h"
#include "base/error.h"
#include "base/parallel.h"
#include "base/watch.h"
#include "device/argument.h"
#include "device/task.h"

namespace updraft {

class Device;
class Stream;

namespace watch {
/// What orders work, in the order of the calls: submissions, records and waits, synchronisations, memory and handles.
inline constexpr uint32_t kOrder = 16;
/// With kOrder, for who looks at calls in their order: no times, and no begin and end of operators on streams, of
/// which `submitted` has told. Graphs, their nodes, copies, host functions, waits and what no task does have them.
inline constexpr uint32_t kBrief = 32;
}  // namespace watch

/// How a task ended.
enum class Outcome : uint8_t {
  Done,
  Failed,   ///< it threw, or the wait or collective that it was ended in a failure
  Skipped,  ///< it never began: its stream had failed before
  Dropped,  ///< its stream was aborted before it began, or while it was parked
};

/// A task, or a copy that is no task. Pointers hold during the callback.
struct TaskEvent {
  static constexpr int32_t kNoStream = INT32_MIN;  ///< synchronous copies and sets

  uint64_t id = 0;           ///< unique in the process, from 1 on; increasing along a stream
  uint64_t correlation = 0;  ///< ApiCall::correlation of the call that submitted it; 0: none, or nobody listened then
  int32_t device = -1;
  int32_t stream = kNoStream;  ///< other negative numbers: streams of the library, on which graphs are replayed
  uint32_t model = 0;          ///< the captured graph that runs it; 0: none
  int32_t index = -1;          ///< place in the graph's order of capture; -1: of a run of the graph, but no task of it
  /// Of nodes that the graph engine runs: names of graph and node, else "". How many executions of the graph began
  /// before this one.
  const char* graph = "";
  const char* node = "";
  uint64_t execution = 0;
  TaskKind kind = TaskKind::Compute;
  Outcome outcome = Outcome::Done;  ///< at the end
  const char* name = "";            ///< "aclnnAdd", "MEMCPY_ASYNC", "EVENT_WAIT", "HcclAllReduce" …
  Cost cost;
  int32_t thread = 0;            ///< that runs it; at the end of a wait: that ended it
  int32_t submitter = 0;         ///< thread that submitted it; 0: nobody listened then
  Stamp submitted;               ///< 0: nobody listened then
  Stamp begun;                   ///< 0: it never began. Of waits: when the stream reached them
  Stamp ended;                   ///< 0 at the beginning
  bool arguments_known = false;  ///< false: nobody wants them, or the operator was planned before somebody did
  std::span<const Argument> arguments;
  const Error* failure = nullptr;  ///< what it failed with
};

/// Something that orders work of streams and the host, or memory and handles that come and go. Told in the thread that
/// does it, maybe with locks of the library: who is told calls nothing of the library and waits for nobody.
struct OrderEvent {
  enum class What : uint8_t {
    EventRecorded,  ///< `object` is put on the stream
    EventAwaited,   ///< what the stream is given from now on comes after the latest record
    EventReached,   ///< the host knows that the latest record is done
    StreamReached,  ///< the host knows that all is done that the stream was given
    SignalSet,      ///< a notify, or `value` at an address, is put on the stream
    SignalTaken,    ///< the stream waits for a notify, or for `value` at an address by `test`
    OthersAwaited,  ///< the stream waits for another process
    Made,           ///< a handle; `name` is its kind: "stream", "event", "notify", "context", "tensor" …
    Destroyed,      ///< a handle
    Allocated,      ///< `bytes` of memory at `object` (as this process touches it); `name`: "device", "mapped", "host"
    Freed,          ///< it goes
    Shared,         ///< other processes may write to the allocation that holds `object`
    Filled,         ///< a model is about to write `bytes` at `object`
    BlockTaken,     ///< a model takes memory at `object` from the client's allocator, which tells nobody
    BlockGivenBack,
    HostAccess,  ///< strict mode: code of the host touched memory of the device, and the process is about to end
    OutOfReach,  ///< a call is refused, or told of, since it reaches out of its memory: `text` says how
  };
  What what;
  const void* object = nullptr;
  int32_t device = -1;
  int32_t stream = TaskEvent::kNoStream;
  const void* client = nullptr;  ///< of memory: its address as the client has it
  size_t bytes = 0;
  uint64_t value = 0;
  int32_t test = -1;  ///< ValueTest; -1: a notify
  const char* name = "";
  const char* text = "";
  /// Of handles whose end is not told (tensors, scalars, lists, executors): describes the object that was made with
  /// that `value`; "" when it is gone. `text` is the call that made it.
  std::string (*left)(const void* object, uint64_t value) = nullptr;
};

/// Callbacks come from any thread, several at once, and hold up the stream (or the call) that they tell of.
class Observer {
 public:
  virtual ~Observer() = default;
  /// Just before it runs; a wait: when the stream has reached it.
  virtual void task_begun(const TaskEvent&) {}
  /// Once for each task_begun, before the stream goes on, and once for tasks that were skipped or dropped.
  virtual void task_ended(const TaskEvent&) {}
  /// With watch::kOrder: the task is about to be put on its stream, whose lock may be held (see OrderEvent). Tasks of a
  /// captured graph are told of before the piece that runs them.
  virtual void submitted(const TaskEvent&) {}
  virtual void ordered(const OrderEvent&) {}
  /// A call of the C interface has returned (all but handing the code to the client).
  virtual void call_ended(const ApiCall&) {}
};

/// From now on the observer is told of what it wants (bits of watch). Throws 507000 when it is subscribed already or
/// wants nothing.
void subscribe(std::shared_ptr<Observer> observer, uint32_t wants);
/// The observer is told of nothing more. When this returns no callback of it runs any more; called inside a callback
/// (of any observer) it does not wait. False when it is not subscribed.
bool unsubscribe(const Observer* observer);

/// While one lives operators record their arguments though nobody observes them: their tasks are kept, and run later
/// for observers that do not exist yet (captured graphs).
class KeepArguments {
 public:
  KeepArguments();
  ~KeepArguments();
  KeepArguments(const KeepArguments&) = delete;
};

// --- called by streams, graphs and devices while somebody listens ---------------------------------------------------
/// The task is put on the stream, whose lock is held.
void observe_submission(const Stream& stream, Task& task);
/// The stream is about to be given a piece of a captured graph in which this task is number `index`.
void observe_part(const Stream& stream, uint32_t model, int32_t index, const Task& task);
void tell_order(const OrderEvent& event);
inline void observe_order(const OrderEvent& event) {
  if (watched()) [[unlikely]]
    tell_order(event);
}
/// The same with a stream.
void tell_order(OrderEvent::What what, const void* object, const Stream& stream, uint64_t value = 0, int32_t test = -1);
inline void observe_order(OrderEvent::What what, const void* object, const Stream& stream, uint64_t value = 0,
                          int32_t test = -1) {
  if (watched()) [[unlikely]]
    tell_order(what, object, stream, value, test);
}
/// The stream has reached a control task.
void observe_begin(const Stream& stream, Task& task);
/// The task leaves the stream. Only for tasks with a record.
void observe_departure(const Stream& stream, Task& task);
/// An abort drops the task, which may be parked. Only for tasks with a record; the stream may be gone.
void observe_drop(Task& task);
/// Runs `run`, the task's work, between its begin and its end.
void run_observed(const Stream& stream, Task& task, FunctionRef<void()> run);
/// The same for a task of a captured graph, of which a piece runs in this thread.
void run_observed_in_graph(uint32_t model, int32_t index, const Task& task, FunctionRef<void()> run);
/// A node of the graph engine, as its event names it. The texts must live as long as the event.
struct NodePlace {
  uint32_t model = 0;
  int32_t index = -1;
  const char* graph = "";
  const char* node = "";
  uint64_t execution = 0;
};
void run_observed_in_graph(const NodePlace& place, const Task& task, FunctionRef<void()> run);
/// While one lives, what this thread runs at once (ops/call.h, run_here) is that node's work.
class NodeScope {
 public:
  explicit NodeScope(const NodePlace* place);  ///< null: no node
  ~NodeScope();
  NodeScope(const NodeScope&) = delete;
  /// The innermost of this thread; null: none.
  static const NodePlace* current();

 private:
  const NodePlace* outer_;
};
/// While one lives, what this thread submits belongs to a replay of that graph: is its task `index`, or none of them.
class ReplayScope {
 public:
  explicit ReplayScope(uint32_t model, int32_t index = -1);
  ~ReplayScope();
  ReplayScope(const ReplayScope&) = delete;

 private:
  uint32_t outer_model_;
  int32_t outer_index_;
};

/// Work that no task does (synchronous copies and sets). `device` is null when none takes part; `arguments` is called
/// when they are wanted.
void run_observed(const char* name, const Device* device, const Cost& cost, FunctionRef<void(ArgumentList&)> arguments,
                  FunctionRef<void()> run);

}  // namespace updraft
