// The file Opdebug.Node_OpDebug… that says which operator overflowed, in the layout of 2048 bytes.
#pragma once
#include <cstddef>
#include <span>
#include <string>

#include "observe/overflow/detection.h"

namespace updraft::overflow {

/// The whole file: header and the one output with what was found.
std::string opdebug_file(const TaskEvent& task, const Finding& finding, uint64_t time);

/// What such an output says.
struct DebugInfo {
  std::string part;  ///< "AI Core", "L2 Atomic Add", "DHA Atomic Add"; empty where nothing is set
  uint64_t model = 0, stream = 0, task = 0, status = 0;
};
/// Throws Error 100006 when it does not have 2048 bytes.
DebugInfo read_opdebug(std::span<const std::byte> bytes);
/// The same as JSON with all fields.
std::string opdebug_json(std::span<const std::byte> bytes);

}  // namespace updraft::overflow
