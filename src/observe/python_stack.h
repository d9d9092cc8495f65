// Where a thread stands in Python, asked of the interpreter that is in the process.
#pragma once
#include <string>
#include <tuple>
#include <vector>

#include "base/parallel.h"

namespace updraft {

struct PythonFrame {
  std::string file;
  int line = 0;
  std::string function;
  bool operator<(const PythonFrame& o) const {
    return std::tie(file, line, function) < std::tie(o.file, o.line, o.function);
  }
};

/// The frames of the calling thread, the innermost first, `most` at most. Empty where there is no interpreter, where it
/// ends, and in threads that run no Python. Takes the interpreter's lock, so the caller holds none that a thread with
/// it may wait for.
std::vector<PythonFrame> python_stack(size_t most);

/// A place in Python without its text. The code stays for as long as the process: the first time that it is seen, a
/// reference to it is taken.
struct PythonPlace {
  void* code = nullptr;
  int at = 0;  ///< the instruction; with a Python that does not tell it (before 3.11) the line
};
/// Calls `f` with the calling thread's frames, the innermost first, while it has the interpreter's lock. `wait`: waits
/// for that lock; else `f` is called only where the thread has it. Not called where there are no frames.
void with_python_places(size_t most, bool wait, FunctionRef<void(const PythonPlace*, size_t)> f);
/// The text of a place; inside with_python_places() alone.
PythonFrame python_frame(const PythonPlace& place);

}  // namespace updraft
