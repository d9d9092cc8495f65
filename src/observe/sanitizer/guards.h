// Pinned memory of the host that a copy may still use: its pages are protected until the host knows that the copy is
// done, so that code of the host which comes too early is seen. While a copy runs its pages are open.
#pragma once
#include <cstddef>
#include <cstdint>
#include <list>

#include "base/parallel.h"
#include "observe/sanitizer/runs.h"
#include "observe/sanitizer/work.h"

namespace updraft::sanitizer {

/// The whole pages of `used`, which lies in `allocation`; an allocation has its last page to itself. May be empty.
Range pages_of(Range used, Range allocation);

class Guards {
 public:
  /// `closed`: the copy writes there, so nobody may look; else nobody may write.
  void add(const WorkRef& work, Range pages, bool closed);
  /// A copy is about to touch the bytes, and has done so.
  void open(Range bytes);
  void close(Range bytes);
  /// What the host knows to be done, or what is not to be looked at any more.
  void release(FunctionRef<bool(const Work&)> over);
  void forget(Range bytes);
  /// Somebody touches the byte and is to go on: the pages of its guards are open from now on. Gives whose they were;
  /// null where none is.
  WorkRef touched(uintptr_t at, bool writes);
  bool empty() const { return guards_.empty(); }

 private:
  struct Guard {
    WorkRef work;
    Range pages;
    bool closed;
  };
  static constexpr size_t kMost = 1024;  ///< programs with more copies on their way are not looked at further
  /// After some guards have gone: the protection of the pages by those that are left.
  void apply(Range pages) const;

  std::list<Guard> guards_;
};

}  // namespace updraft::sanitizer
