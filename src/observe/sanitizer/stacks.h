// Stacks of Python, each kept once.
#pragma once
#include <cstdint>
#include <map>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "observe/python_stack.h"

namespace updraft::sanitizer {

class Stacks {
 public:
  static constexpr size_t kMostFrames = 40;

  /// The calling thread's, 0 for none. It may wait for the interpreter's lock: the caller holds none of the library.
  uint32_t here();
  /// The same where the thread has the interpreter's lock already, else 0.
  uint32_t here_at_once();
  std::vector<PythonFrame> frames(uint32_t stack) const;
  void before_fork() { mutex_.lock(); }
  void after_fork() { mutex_.unlock(); }

 private:
  uint32_t keep(const PythonPlace* places, size_t count);

  mutable std::mutex mutex_;
  std::unordered_map<uint64_t, uint32_t> known_;  ///< by hash
  std::map<std::vector<PythonFrame>, uint32_t> by_lines_;
  std::vector<std::vector<PythonFrame>> stacks_;
};

}  // namespace updraft::sanitizer
