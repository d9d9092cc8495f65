// Memory for the length of a scope: what kernels need beside their operands. Each thread has an arena of its own;
// scopes nest like calls, and what a scope took is given back when it ends.
//
//   ScratchScope scratch;
//   float* sums = scratch.take<float>(n);
//
// A steady state allocates nothing: the arena keeps its memory, and gives most of it back when it was much larger than
// needed for a while. What a scope has taken never moves, whatever nested scopes take.
#pragma once
#include <cstddef>

namespace updraft {

/// What a scope takes for so many bytes: whole cache lines, at least one.
constexpr size_t scratch_size(size_t bytes) { return ((bytes ? bytes : 1) + 63) / 64 * 64; }

class ScratchScope {
 public:
  ScratchScope();
  ~ScratchScope();
  ScratchScope(const ScratchScope&) = delete;
  ScratchScope& operator=(const ScratchScope&) = delete;

  /// At least `bytes`, 64-byte aligned, not initialised; never null. Throws std::bad_alloc. Only in the thread that
  /// made the scope. What is taken while a nested scope lives ends with the nested scope: take from the innermost.
  void* take(size_t bytes);
  template <class T>
  T* take(size_t n) {
    return static_cast<T*>(take(n * sizeof(T)));
  }

 private:
  size_t block_, used_;  ///< where the arena stood when the scope began
};

/// Memory of somebody else for the scopes of the calling thread while it lives: they take from it first, and from the
/// arena when it is used up.
class LentScratch {
 public:
  LentScratch(void* data, size_t bytes);
  ~LentScratch();
  LentScratch(const LentScratch&) = delete;
  LentScratch& operator=(const LentScratch&) = delete;

 private:
  size_t block_, used_, at_;  ///< where the arena stood before, and where the loan is
};

/// Bytes that the calling thread's arena holds, and the most that was in use at a time since reset_scratch_peak().
size_t scratch_held();
size_t scratch_peak();
void reset_scratch_peak();

}  // namespace updraft
