// For loops that look at memory of another thread: lets the CPU's other thread of the core go on.
#pragma once

namespace updraft {

inline void pause_briefly() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

}  // namespace updraft
