// Steps that are planned ahead by other threads.
#include "graph/executor/plan_ahead.h"

#include <gtest/gtest.h>

#include <chrono>
#include <mutex>
#include <set>
#include <stdexcept>

#include "base/parallel.h"

namespace updraft::graph {
namespace {

struct Record {
  std::mutex mutex;
  std::vector<size_t> steps;
  std::set<std::thread::id> threads;
  int width = 0, library = 0;

  void add(size_t step) {
    std::lock_guard lock(mutex);
    steps.push_back(step);
    threads.insert(std::this_thread::get_id());
    width = parallel_width();
    library = library_width();
  }
  size_t count() {
    std::lock_guard lock(mutex);
    return steps.size();
  }
};

std::vector<size_t> numbers(size_t n) {
  std::vector<size_t> all;
  for (size_t i = 0; i < n; ++i) all.push_back(2 * i);
  return all;
}

void wait_for(const std::function<bool()>& done) {
  for (int i = 0; i < 20000 && !done(); ++i) std::this_thread::sleep_for(std::chrono::microseconds(500));
}

TEST(PlanAhead, EachStepOnceByOtherThreadsAsTheCallerWould) {
  set_parallel_threads(3);
  Record record;
  {
    PlanAhead ahead(numbers(40), [&](size_t step) { record.add(step); });
    wait_for([&] { return record.count() == 39; });  // the first is the caller's, who begins there
  }
  EXPECT_EQ(record.steps.size(), 39u);
  EXPECT_EQ(std::set(record.steps.begin(), record.steps.end()).size(), 39u);
  EXPECT_FALSE(record.threads.contains(std::this_thread::get_id()));
  EXPECT_EQ(record.width, 3);
  EXPECT_EQ(record.library, library_width());
}

TEST(PlanAhead, StepsThatTheCallerHasReachedStay) {
  set_parallel_threads(2);
  Record record;
  std::atomic<bool> go = false;
  {
    PlanAhead ahead(numbers(20), [&](size_t step) {
      record.add(step);
      while (!go) std::this_thread::yield();
    });
    wait_for([&] { return record.count() == 1; });
    ahead.reached(34);
    go = true;
    wait_for([&] { return record.count() == 2; });
  }
  EXPECT_EQ(record.steps, (std::vector<size_t>{38, 36}));
}

TEST(PlanAhead, RefusalsAreLeftToTheCaller) {
  set_parallel_threads(2);
  std::atomic<int> calls = 0;
  {
    PlanAhead ahead(numbers(8), [&](size_t) {
      ++calls;
      throw std::runtime_error("refused");
    });
    wait_for([&] { return calls == 7; });
  }
  EXPECT_EQ(calls, 7);
}

TEST(PlanAhead, FewStepsAndOneThreadAreTheCallers) {
  for (const auto& [threads, steps] : {std::pair<int, size_t>{1, 40}, {4, 3}}) {
    set_parallel_threads(threads);
    PlanAhead ahead(numbers(steps), [](size_t) { ADD_FAILURE(); });
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

}  // namespace
}  // namespace updraft::graph
