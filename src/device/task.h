// A unit of work on a stream.
#pragma once
#include <cstdint>
#include <string>

namespace updraft {

class Stream;
class ArgumentList;
class FlatWork;
struct TaskRecord;

enum class TaskKind : uint8_t {
  Compute,  ///< runs on the device's compute engine, may use all its threads
  Copy,     ///< runs on the device's copy engine
  Host,     ///< host function: has a thread to itself while it runs, never holds an engine
  Control,  ///< records and waits: handled while the stream advances, takes no engine
};

/// The part of the device that the product runs a task on.
enum class Unit : uint8_t { Other, Cube, Vector, MixCube, AICPU, SDMA };
constexpr const char* name_of(Unit unit) {
  constexpr const char* names[] = {"-", "Cube", "Vector", "MixCube", "AICPU", "SDMA"};
  return names[static_cast<int>(unit)];
}

/// What a task computes and moves, for observers.
struct Cost {
  int64_t flops = 0;
  int64_t bytes = 0;
  Unit unit = Unit::Other;
};

/// What the stream should do after a control task was looked at.
enum class Control : uint8_t { Done, Parked };

class Task {
 public:
  Task() = default;
  Task(const Task&) = delete;
  virtual ~Task() = default;

  /// The work (Compute, Copy, Host). Throws Error to fail the stream. May run several times when captured.
  virtual void run() {}
  /// Control tasks: Done, or Parked after arranging for stream.resume(). Throws only before it has parked.
  virtual Control control(Stream&) { return Control::Done; }
  /// An abort drops the stream's parked head: undoes the parking. True when nobody will resume the stream any more;
  /// false when the task is not parked, or will be resumed soon in any case. Called with the stream's lock: calls no
  /// stream.
  virtual bool forget(Stream&) { return false; }
  /// True for what each replay of a captured graph needs anew, on the stream itself (what parks, host functions): then
  /// replay() puts it there. False: run() does it.
  virtual bool replayed_by_stream() const { return false; }
  virtual void replay(Stream&) {}
  /// Called once when the stream (and no captured graph) needs the task any more.
  virtual void release() = 0;
  /// Name for messages, profiles and traces.
  virtual const char* name() const = 0;
  /// What it works on, for observers (device/argument.h). Called while it is on a stream, or when a graph runs it.
  virtual void arguments(ArgumentList&) const {}
  /// The same work for run(), where it is done element by element on flat arrays (device/chain/flat_chain.h); null: it
  /// is not.
  virtual const FlatWork* flat() const { return nullptr; }
  /// The captured graph that the task runs a piece of; 0: none.
  virtual uint32_t model() const { return 0; }

  TaskKind kind = TaskKind::Compute;
  int64_t work = 0;  ///< rough element operations: small ones may run in the submitting thread
  Cost cost;
  bool composite = false;  ///< a piece of a captured graph: what is in it is timed, it is not
  /// May wait for what another stream does: a captured graph of several streams that has such a task is replayed on as
  /// many streams.
  bool waits = false;
  Task* next = nullptr;          ///< the stream's queue
  TaskRecord* record = nullptr;  ///< what observers are told of it (device/observer.cpp); null: nobody listens
};

}  // namespace updraft
