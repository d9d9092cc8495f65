// What sessions of TensorFlow 1 need of npu_device beside the device itself
// (python/updraft/tree/tfplugin/…/npu_device/_session).
#include <algorithm>
#include <cstring>

#include "npu_device/collective_operators.h"
#include "npu_device/runtime.h"

namespace updraft::npu_device {

/// Makes the NPU's operators known to TensorFlow, whose library is loaded: graphs have them before there is a device.
/// Returns 0, or -1 with a text of at most `size` bytes.
extern "C" __attribute__((visibility("default"))) int updraft_npu_device_register_operators(const char* library,
                                                                                            char* text, size_t size) {
  std::string failure;
  try {
    load(library);
    register_collectives();
    return 0;
  } catch (const StatusError& e) { failure = e.text(); } catch (const std::exception& e) {
    failure = e.what();
  }
  if (size) {
    const size_t length = std::min(size - 1, failure.size());
    std::memcpy(text, failure.data(), length);
    text[length] = 0;
  }
  return -1;
}

}  // namespace updraft::npu_device
