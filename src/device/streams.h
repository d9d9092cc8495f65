// The pool behind aclrtStream handles.
#pragma once
#include "base/handle_pool.h"
#include "device/stream.h"

namespace updraft {
HandlePool<Stream>& stream_pool();
/// The stream, which stays until the pin goes; throws 107017 when the handle is none.
StreamPin pin_stream(const void* handle);
/// True when the handle is a stream that need not be waited for and has no failure to report.
bool settled(const void* handle);
}  // namespace updraft
