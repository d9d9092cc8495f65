// What the sanitizer remembers of a task, a copy or an allocation for its reports.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "observe/sanitizer/clock.h"
#include "tensor/view.h"

namespace updraft::sanitizer {

/// Where something was asked for. Filled in when the call returns: locks of the library may be held before.
struct Site {
  const char* call = "";  ///< of the C interface
  uint32_t stack = 0;     ///< Python's (stacks.h); 0: none
  int32_t thread = 0;
};

struct Touched {
  TensorView view;
  const char* parameter = "";
  bool read = false, written = false;
};

/// A task on a stream, or something that the host does to memory.
struct Work {
  const std::string* name = nullptr;
  StreamKey stream;
  Moment moment;
  uint64_t serial = 0;  ///< grows with the order of the calls
  uint32_t model = 0;   ///< of a captured graph
  std::vector<Touched> touched;
  std::shared_ptr<Site> site;
};
using WorkRef = std::shared_ptr<const Work>;

}  // namespace updraft::sanitizer
