// Shared by the AscendCL entry points: each is `return guard("name", [&] { … })` over the device library.
#pragma once
#include <cstddef>
#include <cstdint>

#include "base/boundary.h"
#include "base/error.h"
#include "device/context.h"
#include "device/device.h"
#include "device/stream.h"
#include "device/streams.h"

#define ACL_API extern "C" UPDRAFT_API int

namespace updraft {

/// Throws 107000 that names the argument when it is null.
inline void need(const void* p, const char* name) {
  if (!p) throw Error(code::kRtParamInvalid, "{} is null", name);
}

/// Device of the current context; without one, device 0's primary context is not made up: 107002.
inline Device& current_device() { return current_context().device(); }

}  // namespace updraft
