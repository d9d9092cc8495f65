// Who wrote and read each byte last.
#pragma once
#include <cstddef>
#include <map>
#include <vector>

#include "base/parallel.h"
#include "observe/sanitizer/runs.h"
#include "observe/sanitizer/work.h"

namespace updraft::sanitizer {

class Shadow {
 public:
  /// Called with what may run at the same time as the work: `wrote`: it wrote there, else it read.
  using Conflict = FunctionRef<void(const Work& earlier, bool wrote)>;

  void read(Range bytes, const WorkRef& work, Conflict conflict);
  void write(Range bytes, const WorkRef& work, Conflict conflict);
  /// Tells of all that touched the bytes, once each.
  void each(Range bytes, FunctionRef<void(const Work& earlier, bool wrote)> f) const;
  void forget(Range bytes);
  /// Forgets whose work is over for everybody.
  void forget(FunctionRef<bool(const Work&)> over);
  size_t size() const { return cells_.size(); }

 private:
  struct Cell {
    uintptr_t end = 0;
    WorkRef write;
    std::vector<WorkRef> reads;  ///< since then: the latest of each slot
  };
  using Cells = std::map<uintptr_t, Cell>;
  static void read(Cell& cell, const WorkRef& work, Conflict conflict);
  /// Cells begin and end at this place.
  void cut(uintptr_t at);
  Cells::const_iterator first(Range bytes) const;

  Cells cells_;
};

}  // namespace updraft::sanitizer
