// Room for what a thread is about to allocate.
#pragma once
#include <cstddef>

namespace updraft {

/// The next `bytes` that this thread allocates, or so, but 16 MiB at most, need no system call. Without it the C
/// library makes the heap of a thread larger by a page at a time, and each time all page faults of the process wait.
void make_heap_room(size_t bytes);

}  // namespace updraft
