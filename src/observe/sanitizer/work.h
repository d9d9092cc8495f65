// What the sanitizer remembers of a task, a copy or an allocation for its reports.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "observe/sanitizer/clock.h"
#include "observe/sanitizer/runs.h"
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
  Range reach = {};
  bool dense = false;  ///< every byte of its reach
};

/// An operator, copy or other task by its name, and what is peculiar to it.
struct Named {
  std::string name;
  bool carries = false;      ///< a copy, which may carry what nobody has written
  bool gathers = false;      ///< moves what may be written or not
  bool sizes_alone = false;  ///< reads no elements
  bool lasts = false;        ///< other work is done in it
};

/// A task on a stream, or something that the host does to memory.
struct Work {
  const Named* name = nullptr;
  StreamKey stream;
  Moment moment;
  uint64_t serial = 0;  ///< grows with the order of the calls
  uint32_t model = 0;   ///< of a captured graph
  std::vector<Touched> touched;
  std::shared_ptr<Site> site;
};
using WorkRef = std::shared_ptr<const Work>;

}  // namespace updraft::sanitizer
