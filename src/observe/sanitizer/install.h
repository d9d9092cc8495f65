// The process' sanitizer, for those who tell it of what is no call of the C interface.
#pragma once

namespace updraft::sanitizer {

/// A caching allocator in this process gives out, or takes back, a block.
void tell_block(const void* at, bool taken);

/// Code of the host has touched a page of pinned memory that is protected; true when it may go on.
bool tell_host_touched(const void* at, bool writes);

/// From now on the thread's copies to the host are operands of an operator that runs there, maybe to be written over.
void set_fallback(bool on);
bool in_fallback();

}  // namespace updraft::sanitizer
