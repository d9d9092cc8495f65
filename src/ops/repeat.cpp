#include "ops/repeat.h"

#include <map>
#include <memory>
#include <mutex>

#include "device/stream.h"

namespace updraft {
namespace {

struct Runs {
  int count = 0;
  bool destroyed = false;
};
std::mutex g_mutex;
std::map<aclOpExecutor*, Runs>& runs() {
  static auto* m = new std::map<aclOpExecutor*, Runs>;
  return *m;
}

// A task is on one queue at a time, so each run is a task of its own.
class RepeatTask final : public Task {
 public:
  explicit RepeatTask(aclOpExecutor& executor) : executor_(executor) {
    kind = executor.kind;
    work = executor.work;
    cost = executor.cost;
    std::lock_guard lock(g_mutex);
    ++runs()[&executor].count;
  }
  void run() override { executor_.run(); }
  void release() override {
    bool last = false;
    {
      std::lock_guard lock(g_mutex);
      auto it = runs().find(&executor_);
      if (--it->second.count == 0) {
        last = it->second.destroyed;
        runs().erase(it);
      }
    }
    if (last) recycle_executor(&executor_);
    delete this;
  }
  const char* name() const override { return executor_.name(); }
  void arguments(ArgumentList& list) const override { executor_.arguments(list); }

 private:
  aclOpExecutor& executor_;
};

}  // namespace

void launch_repeated(aclOpExecutor& executor, Stream& stream) { stream.submit(new RepeatTask(executor)); }

void destroy_executor(aclOpExecutor& executor) {
  {
    std::lock_guard lock(g_mutex);
    if (auto it = runs().find(&executor); it != runs().end()) {
      it->second.destroyed = true;
      executor.state = aclOpExecutor::State::Free;  // the handle is gone at once
      return;
    }
  }
  recycle_executor(&executor);
}

}  // namespace updraft
