// Copies and sets as observers see them: asynchronous ones are tasks, synchronous ones events without a task.
#pragma once
#include <cstddef>
#include <cstdint>

#include "base/parallel.h"
#include "base/watch.h"
#include "device/task.h"

namespace updraft {

class ArgumentList;

/// Bytes that are read and bytes that are written count both.
Cost copy_cost(size_t n);
Cost set_cost(size_t n);

/// Addresses are those at which this process may touch the memory.
void copy_arguments(ArgumentList& list, void* to, const void* from, size_t n, int32_t kind);
void copy_2d_arguments(ArgumentList& list, void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                       size_t height, int32_t kind);
void set_arguments(ArgumentList& list, void* to, int value, size_t n);

// In the calling thread, between begin and end where somebody listens. Addresses are the client's.
void run_observed_copy(void* to, const void* from, size_t n, int32_t kind, FunctionRef<void()> run);
void run_observed_copy_2d(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height,
                          int32_t kind, FunctionRef<void()> run);
void run_observed_set(void* to, int value, size_t n, FunctionRef<void()> run);

template <class Run>
void observe_copy(void* to, const void* from, size_t n, int32_t kind, Run&& run) {
  if (watched()) [[unlikely]]
    run_observed_copy(to, from, n, kind, run);
  else run();
}
template <class Run>
void observe_copy_2d(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height,
                     int32_t kind, Run&& run) {
  if (watched()) [[unlikely]]
    run_observed_copy_2d(to, to_pitch, from, from_pitch, width, height, kind, run);
  else run();
}
template <class Run>
void observe_set(void* to, int value, size_t n, Run&& run) {
  if (watched()) [[unlikely]]
    run_observed_set(to, value, n, run);
  else run();
}

}  // namespace updraft
