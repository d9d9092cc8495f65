// The one door to threads for kernels. Ranges are split by position only, so that a result never depends on
// which thread computed it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>

namespace updraft {

/// A non-owning reference to a callable; the callable must outlive the call.
template <class Signature>
class FunctionRef;
template <class R, class... Args>
class FunctionRef<R(Args...)> {
 public:
  template <class F>
    requires(!std::is_same_v<std::remove_cvref_t<F>, FunctionRef>)
  FunctionRef(F&& f)
      : object_(const_cast<void*>(static_cast<const void*>(std::addressof(f)))), call_([](void* o, Args... args) -> R {
          return (*static_cast<std::remove_reference_t<F>*>(o))(static_cast<Args>(args)...);
        }) {}
  R operator()(Args... args) const { return call_(object_, static_cast<Args>(args)...); }

 private:
  void* object_;
  R (*call_)(void*, Args...);
};

/// Calls body(begin, end) on disjoint ranges that cover [0, n), some of them in each thread. Ranges hold at least
/// `grain` elements (but for the last) and are multiples of it; runs in the calling thread when one range is enough.
/// Exceptions that a body throws reach the caller.
void parallel_for(int64_t n, int64_t grain, FunctionRef<void(int64_t, int64_t)> body);

/// std::memcpy, by several threads where there are bytes enough for them. What is read and what is written must not
/// overlap.
void parallel_copy(void* to, const void* from, size_t bytes);

/// Workers that parallel_for may use in this thread (1 inside another parallel_for and in serial sections).
int parallel_width();

/// Threads that oneDNN and OpenBLAS would use in this thread.
int library_width();

/// While one lives, parallel_for runs serially in this thread.
class SerialSection {
 public:
  SerialSection();
  ~SerialSection();
  SerialSection(const SerialSection&) = delete;

 private:
  bool before_;
};

/// oneDNN divides some sums (convolutions, products with long inner dimensions) by the number of threads. Deterministic
/// operators give it the same number on every machine and with every UPDRAFT_THREADS, so that the bits are the same,
/// too; our own kernels' bits never depend on it.
constexpr int kFixedSplit = 8;
/// ACL_OPT_DETERMINISTIC, which torch.use_deterministic_algorithms sets before an operator is planned.
void set_deterministic(bool on);
bool deterministic();

/// While one lives, oneDNN and OpenBLAS run in this thread with so many threads; 0: with as many as before.
class LibraryWidth {
 public:
  explicit LibraryWidth(int threads);
  ~LibraryWidth();
  LibraryWidth(const LibraryWidth&) = delete;

 private:
  int before_;
};
struct FixedSplit : LibraryWidth {
  explicit FixedSplit(bool on) : LibraryWidth(on ? kFixedSplit : 0) {}
};
/// As in the thread of an engine: what is asked of oneDNN when an operator is planned is true when it runs.
struct EngineSplit : LibraryWidth {
  EngineSplit();
};

/// Nanoseconds that idle threads of a team look for more work before they sleep: about what waking one costs. Longer,
/// and they would take the core from the threads that bring the next work.
constexpr int64_t kTeamPatience = 20'000;

/// Sets the worker count of this thread's team; engines call it once.
void set_parallel_threads(int n);

}  // namespace updraft
