// What the NPU and TensorFlow's CPU kernels do while a session runs that asks for a trace (RunOptions.trace_level).
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace updraft::npu_device {

/// While one lives a CPU kernel works on the node, for the traces that are on.
class HostWork {
 public:
  HostWork(const std::string& node, std::string_view type);
  ~HostWork();
  HostWork(const HostWork&) = delete;

 private:
  const std::string& node_;
  const std::string_view type_;
  const uint64_t begun_;  ///< CLOCK_MONOTONIC in ns; 0: nobody wants to know
};

}  // namespace updraft::npu_device
