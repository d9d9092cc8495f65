// The code that oneDNN makes for new sizes, made by several threads.
#pragma once
#include <atomic>
#include <functional>
#include <thread>
#include <vector>

namespace updraft::graph {

/// While one lives, threads beside the caller's plan steps from the last one backwards and throw the plans away: what a
/// product or a convolution of these sizes wants is then in the caches of kernels/onednn.h when the caller, who plans
/// the steps from the first one on, comes to it. As many threads as a team has beside the caller, and none where there
/// are few steps.
class PlanAhead {
 public:
  /// `steps` in ascending order. `plan` is called in several threads; what it throws is forgotten, because the caller
  /// meets it, too.
  PlanAhead(std::vector<size_t> steps, std::function<void(size_t)> plan);
  ~PlanAhead();
  PlanAhead(const PlanAhead&) = delete;
  /// The caller plans this step now.
  void reached(size_t step) { reached_.store(step, std::memory_order_relaxed); }

 private:
  void work();

  const std::vector<size_t> steps_;
  const std::function<void(size_t)> plan_;
  std::atomic<size_t> left_, reached_ = 0;
  std::vector<std::thread> threads_;
};

}  // namespace updraft::graph
