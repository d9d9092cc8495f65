// What the tasks of DVPP share: checks of pictures, and work on a stream.
#pragma once
#include <functional>
#include <span>

#include "acl/api.h"
#include "acl/media/handles.h"

namespace updraft {

/// Puts work on a stream, after it has seen that the channel is there. `pixels` is how much it is.
void submit_media(const char* name, const acldvppChannelDesc* channel, const void* stream, int64_t pixels,
                  std::function<void()> work);
acldvppChannelDesc& live_channel(const acldvppChannelDesc* handle);

/// A picture that is worked on: its memory, sizes and strides are right; throws 100000 with the rule that is broken.
/// A width stride of 0 or a height stride of 0 becomes the least one. The address is one that this process may read.
media::Picture checked_picture(const acldvppPicDesc* handle, const char* name);
/// `bytes` of device memory at p, readable here; throws 100000.
void* checked_memory(const void* p, size_t bytes, const char* name);

}  // namespace updraft
