// Threads that stay from one parallel_for to the next: every element once, in any number of threads, whoever sleeps.
#include "base/team.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <numeric>
#include <thread>
#include <vector>

extern "C" int omp_in_parallel();

namespace updraft {
namespace {

// In a thread of its own, as an engine of `threads`.
template <class F>
void on_engine(int threads, F&& f) {
  std::thread([&] {
    set_parallel_threads(threads);
    f();
  }).join();
}

void expect_each_once(int64_t n, int64_t grain) {
  std::vector<int> seen(static_cast<size_t>(n));
  parallel_for(n, grain, [&](int64_t begin, int64_t end) {
    EXPECT_EQ(begin % grain, 0);
    EXPECT_TRUE(end == n || end % grain == 0);
    EXPECT_LT(begin, end);
    for (int64_t i = begin; i < end; ++i) ++seen[static_cast<size_t>(i)];
  });
  for (int64_t i = 0; i < n; ++i) ASSERT_EQ(seen[static_cast<size_t>(i)], 1) << i << " of " << n;
}

TEST(Team, CoversRangesOfEverySize) {
  for (int threads : {2, 3, 8})
    on_engine(threads, [] {
      for (int64_t n : {1, 2, 3, 7, 64, 1000, 10007})
        for (int64_t grain : {1, 3, 64}) expect_each_once(n, grain);
    });
}

// Two threads on one CPU take turns.
TEST(Team, KeepsOffTheCpuOfItsCaller) {
  cpu_set_t allowed;
  ASSERT_EQ(sched_getaffinity(0, sizeof allowed, &allowed), 0);
  if (CPU_COUNT(&allowed) < 2) GTEST_SKIP() << "one CPU";
  on_engine(2, [&] {
    const auto caller = std::this_thread::get_id();
    int apart = 0;
    for (int round = 0; round < 20; ++round) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));  // the other sleeps
      const int cpu = sched_getcpu();
      std::atomic<bool> ran{false};
      parallel_for(2, 1, [&](int64_t, int64_t) {
        if (std::this_thread::get_id() == caller) {
          while (!ran) sched_yield();
          return;
        }
        cpu_set_t mine;
        EXPECT_EQ(sched_getaffinity(0, sizeof mine, &mine), 0);
        EXPECT_EQ(CPU_COUNT(&mine), CPU_COUNT(&allowed) - 1);
        apart += !CPU_ISSET(cpu, &mine) && sched_getcpu() != cpu;
        ran = true;
      });
    }
    EXPECT_GT(apart, 10);  // the system may move the caller at any time
  });
}

// A process that may use one CPU only is left there.
TEST(Team, StaysWhereTheCallerMayRun) {
  cpu_set_t before, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  CPU_ZERO(&one);
  for (int cpu = 0; cpu < CPU_SETSIZE && !CPU_COUNT(&one); ++cpu)
    if (CPU_ISSET(cpu, &before)) CPU_SET(cpu, &one);
  on_engine(3, [&] {
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    parallel_for(300, 1, [&](int64_t, int64_t) {
      cpu_set_t mine;
      EXPECT_EQ(sched_getaffinity(0, sizeof mine, &mine), 0);
      EXPECT_TRUE(CPU_EQUAL(&mine, &one));
    });
  });
}

TEST(Team, RunsAtOnceAndAfterSleeping) {
  on_engine(4, [] {
    int64_t total = 0;
    for (int i = 0; i < 3000; ++i) {
      std::atomic<int64_t> sum{0};
      parallel_for(64, 1, [&](int64_t begin, int64_t end) { sum += end - begin; });
      total += sum;
      if (i % 300 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));  // the others fall asleep
    }
    EXPECT_EQ(total, 3000 * 64);
  });
}

TEST(Team, DoesTheWorkOfWhoIsHeldUp) {
  on_engine(2, [] {
    std::atomic<int64_t> done{0};
    std::atomic<bool> held{false}, alone{true};
    const auto caller = std::this_thread::get_id();
    parallel_for(64, 1, [&](int64_t begin, int64_t end) {
      if (std::this_thread::get_id() != caller && !held.exchange(true)) {
        int tries = 10000;  // of a millisecond
        while (done < 64 - (end - begin) && --tries > 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        alone = tries > 0;
      }
      done += end - begin;
    });
    EXPECT_EQ(done, 64);
    EXPECT_TRUE(alone) << "the caller waited instead of taking the rest of the other's share";
  });
}

TEST(Team, CarriesAnExceptionOfAnyThread) {
  on_engine(4, [] {
    for (int64_t bad : {0, 31, 63})
      EXPECT_THROW(parallel_for(64, 1,
                                [&](int64_t begin, int64_t end) {
                                  if (bad >= begin && bad < end) throw std::runtime_error("bad");
                                }),
                   std::runtime_error);
    expect_each_once(100, 1);
  });
}

TEST(Team, HasOneThreadInsideOfARange) {
  on_engine(4, [] {
    parallel_for(8, 1, [&](int64_t, int64_t) {
      EXPECT_EQ(parallel_width(), 1);
      EXPECT_EQ(library_width(), 1);
    });
    EXPECT_EQ(parallel_width(), 4);
    EXPECT_EQ(library_width(), 4);
  });
}

TEST(Team, LeavesNoRegionInAClientsThread) {
  std::thread([] {
    expect_each_once(1000, 1);
    EXPECT_FALSE(omp_in_parallel());
  }).join();
}

TEST(Team, AForkedChildGoesOnAlone) {
  on_engine(4, [] {
    expect_each_once(1000, 1);
    const pid_t child = fork();
    if (child == 0) {
      std::atomic<int64_t> sum{0};
      parallel_for(1000, 1, [&](int64_t begin, int64_t end) { sum += end - begin; });
      _exit(sum == 1000 ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    expect_each_once(1000, 1);
  });
}

}  // namespace
}  // namespace updraft
