// An observer that keeps what it is told, for tests.
#pragma once
#include <algorithm>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "device/observer.h"

namespace updraft {

/// An event with copies of what only lives during the callback.
struct Seen {
  bool end = false;
  TaskEvent event;
  std::string name, failure;
  int code = 0;
  std::vector<std::string> arguments;  ///< as describe() has them
};
struct SeenCall {
  ApiCall call;
  std::string name;
  std::vector<std::string> arguments;
};

class Recorder final : public Observer {
 public:
  /// What happened to the tasks of a stream.
  std::vector<Seen> of_stream(int32_t stream) const {
    std::lock_guard lock(mutex_);
    std::vector<Seen> found;
    std::ranges::copy_if(seen_, std::back_inserter(found), [&](const Seen& s) { return s.event.stream == stream; });
    return found;
  }
  /// The ends of tasks with this name.
  std::vector<Seen> ends(const std::string& name) const {
    std::lock_guard lock(mutex_);
    std::vector<Seen> found;
    std::ranges::copy_if(seen_, std::back_inserter(found), [&](const Seen& s) { return s.end && s.name == name; });
    return found;
  }
  /// The calls of the client with this name.
  std::vector<SeenCall> calls(const std::string& name) const {
    std::lock_guard lock(mutex_);
    std::vector<SeenCall> found;
    std::ranges::copy_if(calls_, std::back_inserter(found), [&](const SeenCall& c) { return c.name == name; });
    return found;
  }
  size_t size() const {
    std::lock_guard lock(mutex_);
    return seen_.size() + calls_.size();
  }

  void task_begun(const TaskEvent& event) override { keep(event, false); }
  void task_ended(const TaskEvent& event) override { keep(event, true); }
  void call_ended(const ApiCall& call) override {
    SeenCall seen{call, call.name, {}};
    for (size_t i = 0; i < call.argument_count; ++i) seen.arguments.push_back(describe(call.arguments[i]));
    std::lock_guard lock(mutex_);
    calls_.push_back(std::move(seen));
  }

 private:
  void keep(const TaskEvent& event, bool end) {
    Seen seen;
    seen.end = end;
    seen.event = event;
    seen.name = event.name;
    if (event.failure) {
      seen.failure = event.failure->text();
      seen.code = event.failure->code();
    }
    for (const Argument& a : event.arguments) seen.arguments.push_back(describe(a));
    std::lock_guard lock(mutex_);
    seen_.push_back(std::move(seen));
  }

  mutable std::mutex mutex_;
  std::vector<Seen> seen_;
  std::vector<SeenCall> calls_;
};

/// Subscribed while it lives.
template <class T>
class Subscribed {
 public:
  explicit Subscribed(uint32_t wants, std::shared_ptr<T> observer = std::make_shared<T>())
      : observer_(std::move(observer)) {
    subscribe(observer_, wants);
  }
  ~Subscribed() { unsubscribe(observer_.get()); }
  Subscribed(const Subscribed&) = delete;
  T* operator->() const { return observer_.get(); }
  T* get() const { return observer_.get(); }
  const std::shared_ptr<T>& observer() const { return observer_; }

 private:
  std::shared_ptr<T> observer_;
};

}  // namespace updraft
