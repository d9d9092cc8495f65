// What lies behind mapped addresses (aclrtMapMem): parts of the memory file of a device, which peers have mapped as
// well.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace updraft {

class DeviceMemory;

/// Bytes of a device's memory file.
struct FilePart {
  uint64_t offset, bytes;
};

/// From now on `bytes` of the memory of `device` from `offset` of its file on are what is mapped at `at`.
void add_mapping(const void* at, size_t bytes, const DeviceMemory& device, uint64_t offset);
/// Nothing is mapped there any more. What add_mapping() does not know is passed over.
void remove_mapping(const void* at);

/// The parts of the device's file behind [p, p + bytes), in this order, joined where they follow each other. Nothing
/// when some of it is no memory, or lies in another file: that of another device, or memory imported from a process.
std::vector<FilePart> file_parts(const void* p, size_t bytes, const DeviceMemory& device);

}  // namespace updraft
