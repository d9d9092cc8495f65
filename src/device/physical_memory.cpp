#include "device/physical_memory.h"

#include <algorithm>
#include <map>
#include <mutex>

#include "device/memory.h"

namespace updraft {
namespace {

struct Mapping {
  size_t bytes;
  const DeviceMemory* device;
  uint64_t offset;
};

std::mutex g_mutex;
std::map<uintptr_t, Mapping>& mappings() {
  static auto* all = new std::map<uintptr_t, Mapping>;
  return *all;
}

}  // namespace

void add_mapping(const void* at, size_t bytes, const DeviceMemory& device, uint64_t offset) {
  std::lock_guard lock(g_mutex);
  mappings()[reinterpret_cast<uintptr_t>(at)] = {bytes, &device, offset};
}

void remove_mapping(const void* at) {
  std::lock_guard lock(g_mutex);
  mappings().erase(reinterpret_cast<uintptr_t>(at));
}

std::vector<FilePart> file_parts(const void* p, size_t bytes, const DeviceMemory& device) {
  auto from = reinterpret_cast<uintptr_t>(p);
  const uintptr_t heap = from - reinterpret_cast<uintptr_t>(device.base());
  if (heap < device.file_bytes()) {
    if (bytes > device.file_bytes() - heap) return {};
    return {{heap, bytes}};
  }
  std::vector<FilePart> parts;
  std::lock_guard lock(g_mutex);
  auto it = mappings().upper_bound(from);
  if (it != mappings().begin()) --it;
  for (; bytes > 0; ++it) {
    if (it == mappings().end() || from < it->first || from - it->first >= it->second.bytes ||
        it->second.device != &device)
      return {};
    const uint64_t skipped = from - it->first, offset = it->second.offset + skipped;
    const size_t here = std::min<size_t>(bytes, it->second.bytes - skipped);
    if (!parts.empty() && parts.back().offset + parts.back().bytes == offset) parts.back().bytes += here;
    else parts.push_back({offset, here});
    from += here;
    bytes -= here;
  }
  return parts;
}

}  // namespace updraft
