// What oneDNN and OpenBLAS call for libgomp's functions: regions whose parts run at once, loops dealt out, barriers.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <thread>
#include <vector>

#include "base/parallel.h"

extern "C" {
void updraft_GOMP_parallel_start(void (*)(void*), void*, unsigned);
void updraft_GOMP_parallel_end();
void updraft_GOMP_parallel(void (*)(void*), void*, unsigned, unsigned);
void updraft_GOMP_barrier();
bool updraft_GOMP_loop_static_start(long, long, long, long, long*, long*);
bool updraft_GOMP_loop_static_next(long*, long*);
void updraft_GOMP_loop_end_nowait();
int updraft_omp_get_max_threads();
int updraft_omp_get_num_threads();
int updraft_omp_get_thread_num();
int updraft_omp_in_parallel();
}

namespace updraft {
namespace {

/// As a compiler writes `#pragma omp parallel num_threads(n)`.
void region(unsigned n, const std::function<void()>& body) {
  auto call = [](void* f) { (*static_cast<const std::function<void()>*>(f))(); };
  void* data = const_cast<std::function<void()>*>(&body);
  updraft_GOMP_parallel_start(call, data, n);
  call(data);
  updraft_GOMP_parallel_end();
}

template <class F>
void on_engine(int threads, F&& f) {
  std::thread([&] {
    set_parallel_threads(threads);
    f();
  }).join();
}

TEST(OpenMp, EachThreadHasItsPartAtOnce) {
  for (int threads : {2, 3, 8})
    on_engine(threads, [&] {
      EXPECT_EQ(updraft_omp_get_max_threads(), threads);
      for (int round = 0; round < 200; ++round) {
        std::vector<std::atomic<int>> seen(static_cast<size_t>(threads));
        std::atomic<int> here{0};
        region(0, [&] {
          EXPECT_EQ(updraft_omp_get_num_threads(), threads);
          EXPECT_TRUE(updraft_omp_in_parallel());
          ++seen[static_cast<size_t>(updraft_omp_get_thread_num())];
          ++here;
          while (here < threads) std::this_thread::yield();  // hangs where one thread does two parts
        });
        for (auto& s : seen) EXPECT_EQ(s, 1);
        if (round % 50 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
      EXPECT_EQ(updraft_omp_get_num_threads(), 1);
      EXPECT_EQ(updraft_omp_get_thread_num(), 0);
    });
}

TEST(OpenMp, OneCallIsAWholeRegion) {
  struct Region {
    std::atomic<int> parts{0}, width{0};
    std::atomic<unsigned> seen{0};
  } region;
  updraft_GOMP_parallel(
      [](void* data) {
        auto& r = *static_cast<Region*>(data);
        r.width = updraft_omp_get_num_threads();
        r.seen |= 1u << updraft_omp_get_thread_num();
        ++r.parts;
      },
      &region, 3, 0);
  EXPECT_EQ(region.parts, 3);
  EXPECT_EQ(region.width, 3);
  EXPECT_EQ(region.seen, 7u);
}

TEST(OpenMp, RegionsOfOtherWidthsAndRangesTakeTurns) {
  on_engine(3, [] {
    for (int round = 0; round < 300; ++round) {
      std::atomic<int> parts{0};
      std::atomic<int64_t> sum{0};
      const unsigned width = 1 + static_cast<unsigned>(round) % 6;  // more than the engine has, too
      region(width, [&] { ++parts; });
      EXPECT_EQ(parts, static_cast<int>(width));
      parallel_for(100, 1, [&](int64_t begin, int64_t end) { sum += end - begin; });
      EXPECT_EQ(sum, 100);
    }
  });
}

TEST(OpenMp, ARegionWithinHasOneThread) {
  on_engine(4, [] {
    std::atomic<int> inner{0};
    region(4, [&] {
      const int outer = updraft_omp_get_thread_num();
      EXPECT_EQ(updraft_omp_get_max_threads(), 1);
      region(4, [&] {
        EXPECT_EQ(updraft_omp_get_num_threads(), 1);
        EXPECT_EQ(updraft_omp_get_thread_num(), 0);
        updraft_GOMP_barrier();
        ++inner;
      });
      EXPECT_EQ(updraft_omp_get_thread_num(), outer);
    });
    EXPECT_EQ(inner, 4);
    inner = 0;
    parallel_for(4, 1, [&](int64_t begin, int64_t end) {
      EXPECT_TRUE(updraft_omp_in_parallel());
      for (; begin < end; ++begin) region(0, [&] { ++inner; });
    });
    EXPECT_EQ(inner, 4);
  });
}

TEST(OpenMp, BarriersKeepStepsApart) {
  on_engine(4, [] {
    constexpr int kSteps = 500;
    std::atomic<int> done[kSteps]{};
    region(4, [&] {
      for (int step = 0; step < kSteps; ++step) {
        ++done[step];
        updraft_GOMP_barrier();
        EXPECT_EQ(done[step], 4) << step;
      }
    });
  });
}

TEST(OpenMp, LoopsAreDealtOutOnce) {
  on_engine(3, [] {
    struct Case {
      long first, end, step, chunk;
    };
    for (const Case& c : {Case{0, 100, 1, 0},
                          {0, 2, 1, 0},
                          {5, 5, 1, 0},
                          {9, 5, 1, 0},
                          {0, 100, 1, 7},
                          {3, 100, 4, 2},
                          {100, 3, -3, 0},
                          {100, 3, -3, 5},
                          {0, 1, 1, 64}}) {
      std::vector<std::atomic<int>> seen(128);
      region(3, [&] {
        long from, to;
        for (bool more = updraft_GOMP_loop_static_start(c.first, c.end, c.step, c.chunk, &from, &to); more;
             more = updraft_GOMP_loop_static_next(&from, &to))
          for (long i = from; c.step > 0 ? i < to : i > to; i += c.step) ++seen[static_cast<size_t>(i)];
        updraft_GOMP_loop_end_nowait();
      });
      for (long i = 0; i < 128; ++i) {
        const bool in = c.step > 0 ? i >= c.first && i < c.end && (i - c.first) % c.step == 0
                                   : i <= c.first && i > c.end && (c.first - i) % -c.step == 0;
        EXPECT_EQ(seen[static_cast<size_t>(i)], in ? 1 : 0) << i << " of " << c.first << " to " << c.end;
      }
    }
  });
}

}  // namespace
}  // namespace updraft
