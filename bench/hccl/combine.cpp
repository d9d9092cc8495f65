// Bandwidth of the arithmetic of collectives (collective/reduce.h) in one thread, next to memcpy: GB read and written a
// second. Not built by default: ninja -C build/release bench_combine && build/release/bench/hccl/bench_combine [MiB]
#include <sys/mman.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "base/parallel.h"
#include "collective/copy.h"
#include "collective/reduce.h"

using namespace updraft::collective;

namespace {

char* memory(size_t bytes) {
  void* p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) std::exit(1);
  madvise(p, bytes, MADV_HUGEPAGE);
  std::memset(p, 1, bytes);
  return static_cast<char*>(p);
}

// Of this thread's own time: what else runs on the machine takes memory bandwidth, but not the clock.
double now() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

template <class F>
double seconds_of(const F& f) {
  const double start = now();
  f();
  return now() - start;
}

/// Two blocks in the small pages of shared memory, as all-to-all of two ranks has them.
void two_copies(size_t bytes) {
  std::vector<char*> block;
  for (int i = 0; i < 4; ++i) {
    void* p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) std::exit(1);
    block.push_back(static_cast<char*>(std::memset(p, 1, bytes)));
  }
  double one_by_one = 1e9, side_by_side = 1e9;
  for (int round = 0; round < 15; ++round) {
    one_by_one = std::min(one_by_one, seconds_of([&] {
                            copy_bytes(block[1], block[0], bytes);
                            copy_bytes(block[3], block[2], bytes);
                          }));
    side_by_side = std::min(side_by_side, seconds_of([&] {
                              copy_all({{block[1], block[0], bytes}, {block[3], block[2], bytes}});
                            }));
  }
  std::printf("two copies one after the other %.2f ms, side by side %.2f ms, ratio %.2f\n", one_by_one * 1e3,
              side_by_side * 1e3, one_by_one / side_by_side);
}

}  // namespace

int main(int argc, char** argv) {
  const size_t bytes = static_cast<size_t>(argc > 1 ? std::atoi(argv[1]) : 32) << 20;
  updraft::set_parallel_threads(1);
  two_copies(bytes);
  std::vector<char*> from, to;
  for (int i = 0; i < 16; ++i) from.push_back(memory(bytes)), to.push_back(memory(bytes));
  std::printf("%zu MiB an array, the best of 15 rounds in turn with memcpy\n", bytes >> 20);
  for (Type type : {Type::Float32, Type::Float16, Type::BFloat16, Type::Int8})
    for (int arrays : {2, 4, 8, 16})
      for (bool in_place : {true, false}) {
        const std::vector<const void*> in(from.begin(), from.begin() + arrays);
        std::vector<void*> out(to.begin(), to.begin() + arrays);
        if (in_place) out.assign(from.begin(), from.begin() + arrays);
        double ours = 1e9, copy = 1e9;
        for (int round = 0; round < 15; ++round) {
          copy = std::min(copy, seconds_of([&] { std::memcpy(to[0], from[0], bytes); }));
          ours = std::min(ours, seconds_of([&] {
                            reduce_blocks(type, Op::Sum, in.data(), arrays, out.data(), arrays,
                                          static_cast<int64_t>(bytes / size_of(type)));
                          }));
        }
        const double rate = 2.0 * arrays * static_cast<double>(bytes) / ours / 1e9;
        const double memcpy_rate = 2.0 * static_cast<double>(bytes) / copy / 1e9;
        std::printf("%-5s %2d to %2d %-8s %6.1f GB/s, memcpy %5.1f, ratio %.2f\n", name_of(type), arrays, arrays,
                    in_place ? "in place" : "apart", rate, memcpy_rate, rate / memcpy_rate);
      }
}
