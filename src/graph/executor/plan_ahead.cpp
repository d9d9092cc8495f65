#include "graph/executor/plan_ahead.h"

#include <algorithm>

#include "base/heap_room.h"
#include "base/parallel.h"
#include "base/signals_blocked.h"

namespace updraft::graph {

PlanAhead::PlanAhead(std::vector<size_t> steps, std::function<void(size_t)> plan)
    : steps_(std::move(steps)), plan_(std::move(plan)), left_(steps_.size()) {
  constexpr size_t kHeap = 32 << 10;  // what oneDNN allocates for one of them
  constexpr size_t kWorth = 4;        // steps for each thread, which takes as long to start as a small one to plan
  const int width = parallel_width(), library = library_width();
  const size_t threads = std::min(static_cast<size_t>(std::max(width - 1, 0)), steps_.size() / kWorth);
  SignalsBlocked blocked;
  for (size_t i = 0; i < threads; ++i)
    threads_.emplace_back([this, width, library] {
      // What oneDNN makes depends on how many threads it may use.
      set_parallel_threads(width);
      LibraryWidth as_the_caller(library);
      make_heap_room(steps_.size() * kHeap);
      work();
    });
}

PlanAhead::~PlanAhead() {
  left_.store(0);
  for (std::thread& thread : threads_) thread.join();
}

void PlanAhead::work() {
  for (size_t left = left_.load();;) {
    if (left == 0 || steps_[left - 1] <= reached_.load(std::memory_order_relaxed)) return;
    if (!left_.compare_exchange_weak(left, left - 1)) continue;
    try {
      plan_(steps_[left - 1]);
    } catch (...) {}
    left = left_.load();
  }
}

}  // namespace updraft::graph
