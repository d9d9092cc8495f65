// The process' sanitizer, for those who tell it of what is no call of the C interface.
#pragma once
#include <cstdint>
#include <span>

namespace updraft::sanitizer {

/// A caching allocator in this process gives out, or takes back, a block.
void tell_block(const void* at, bool taken);
/// All of its blocks that are in use, seen after blocks_now() was `since`.
void tell_blocks(std::span<void* const> blocks, uint64_t since);
uint64_t blocks_now();

/// Code of the host has touched a page of pinned memory that is protected; true when it may go on.
bool tell_host_touched(const void* at, bool writes);

/// From now on the thread's copies to the host are operands of an operator that runs there, maybe to be written over.
void set_fallback(bool on);
bool in_fallback();

}  // namespace updraft::sanitizer
