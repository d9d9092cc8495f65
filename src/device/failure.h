// Who wants to know at once that a task failed. Observers (device/observer.h) are told of every task and see more; this
// costs nothing until something fails.
#pragma once
#include <cstdint>
#include <string_view>

namespace updraft {

struct Failure {
  int32_t device;
  int32_t stream;
  int32_t code;
  std::string_view task;  ///< "aclnnAdd"
  std::string_view text;
};

/// Called in the thread that met the failure, which may hold up the stream; it must not wait for a stream. Null:
/// nobody.
using FailureListener = void (*)(const Failure&);
void listen_to_failures(FailureListener listener);

}  // namespace updraft
