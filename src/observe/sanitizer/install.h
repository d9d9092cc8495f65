// The process' sanitizer, for those who tell it of what is no call of the C interface.
#pragma once

namespace updraft::sanitizer {

/// A caching allocator in this process gives out, or takes back, a block.
void tell_block(const void* at, bool taken);

}  // namespace updraft::sanitizer
