// Where a thread stands in Python, asked of the interpreter that is in the process.
#pragma once
#include <string>
#include <tuple>
#include <vector>

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

}  // namespace updraft
