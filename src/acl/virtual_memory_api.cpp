// Virtual memory management (expandable segments) and memory shared between processes.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "acl/api.h"
#include "acl/shared_handles.h"
#include "base/accepted.h"
#include "device/observer.h"
#include "device/physical_memory.h"

using namespace updraft;

namespace {

// Physical memory: part of a device's memory file, so that collectives find it in the peers' mappings of that file; or
// of another process' file.
struct Physical {
  Physical(int device, size_t bytes, void* memory)
      : device(device), bytes(bytes), memory(memory), file(Device::get(device).memory().fd()) {
    offset = static_cast<size_t>(static_cast<char*>(memory) - Device::get(device).memory().base());
  }
  Physical(int device, size_t bytes, int file, size_t offset, int record)
      : device(device), bytes(bytes), file(file), offset(offset), record(record) {}
  ~Physical();
  int device;
  size_t bytes;
  void* memory = nullptr;  // null: imported, the file is ours to close
  int file;
  size_t offset = 0;
  int record = -1;  // of an export: see below
};
using Shared = std::shared_ptr<Physical>;

SharedHandles<Physical>& pool() {
  static auto* p = new SharedHandles<Physical>(1 << 16);
  return *p;
}
Shared checked(const void* handle) {
  need(handle, "handle");
  if (Shared s = pool().find(handle)) return s;
  throw Error(code::kRtInvalidHandle, "{} is not physical memory (freed, or never allocated)", handle);
}

constexpr size_t kGranularity = 2u << 20;

// Mappings keep their physical memory alive.
std::mutex g_mutex;
std::map<void*, Shared>& mappings() {
  static auto* m = new std::map<void*, Shared>;
  return *m;
}

// Exported memory is named by a small file that says where it lies. Importers hold a shared lock on it as long as they
// have the memory, which is not given to others before they are through (or have died).
constexpr uint64_t kExportMagic = 0x3174726f70784564;  // a descriptor may have been used for another file since
struct ExportRecord {
  uint64_t magic;
  int64_t file;
  uint64_t offset, bytes;
};

struct Waiting {
  int device, record;
  void* memory;
};
std::mutex g_waiting_mutex;
std::vector<Waiting>& waiting() {
  static auto* all = new std::vector<Waiting>;
  return *all;
}

void free_what_nobody_imports() {
  std::lock_guard lock(g_waiting_mutex);
  std::erase_if(waiting(), [](const Waiting& w) {
    if (flock(w.record, LOCK_EX | LOCK_NB) != 0) return false;
    close(w.record);
    Device::get(w.device).memory().free(w.memory, DeviceMemory::Owner::Library);
    return true;
  });
}

Physical::~Physical() {
  if (!memory) {
    close(file);
    close(record);
  } else if (record < 0) {
    Device::get(device).memory().free(memory, DeviceMemory::Owner::Library);
  } else {
    {
      std::lock_guard lock(g_waiting_mutex);
      waiting().push_back({device, record, memory});
    }
    free_what_nobody_imports();
  }
}

// Another process of this user opens our memory through /proc: no descriptor passing, no name in /dev/shm, and the
// memory is gone with the last process that uses it.
int open_peer(pid_t pid, int fd) {
  const std::string path = fmt::format("/proc/{}/fd/{}", pid, fd);
  char target[64] = {};
  if (readlink(path.c_str(), target, sizeof target - 1) >= 0 &&
      !std::string_view(target).starts_with("/memfd:updraft-"))
    throw Error(code::kRtParamInvalid, "file {} of process {} is {}, not memory of a device", fd, pid, target);
  int opened = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (opened < 0)
    throw Error(code::kRtParamInvalid, "the memory of process {} cannot be opened: {}", pid, std::strerror(errno));
  return opened;
}

}  // namespace

ACL_API aclrtReserveMemAddress(void** p, size_t bytes, size_t, void*, uint64_t) {
  return guard("aclrtReserveMemAddress", [&] {
    need(p, "virPtr");
    // torch_npu reserves before it sets a device: without a context it is device 0's range.
    Context* context = current_context_or_null();
    *p = (context ? context->device() : Device::get(0)).memory().reserve(bytes);
  });
}
ACL_API aclrtReleaseMemAddress(void* p) {
  return guard("aclrtReleaseMemAddress", [&] {
    Device* device = Device::owner(p);
    if (!device) throw Error(code::kRtParamInvalid, "{} is not a reserved address", p);
    device->memory().release(p);
  });
}

ACL_API aclrtMallocPhysical(void** handle, size_t bytes, const void* property, uint64_t) {
  return guard("aclrtMallocPhysical", [&] {
    need(handle, "handle");
    need(property, "prop");
    if (bytes == 0 || bytes % kGranularity)
      throw Error(code::kRtParamInvalid, "size {} is not a multiple of the granularity {}", bytes, kGranularity);
    // aclrtPhysicalMemProp: handleType, allocationType, memAttr, {location id, location type}, reserve
    uint32_t id = static_cast<const uint32_t*>(property)[3];
    Device& device = Device::get(static_cast<int>(id));
    free_what_nobody_imports();
    void* memory = device.memory().allocate(bytes, DeviceMemory::Owner::Library);
    *handle = pool().create(std::make_shared<Physical>(device.index(), bytes, memory));
  });
}
ACL_API aclrtFreePhysical(void* handle) {
  return guard("aclrtFreePhysical", [&] {
    checked(handle);
    pool().destroy(handle);
  });
}

ACL_API aclrtMapMem(void* p, size_t bytes, size_t offset, void* handle, uint64_t) {
  return guard("aclrtMapMem", [&] {
    const Shared physical = checked(handle);
    Device* device = Device::owner(p);
    if (!device) throw Error(code::kRtParamInvalid, "{} is not a reserved address", p);
    if (offset > physical->bytes || bytes > physical->bytes - offset)
      throw Error(code::kRtParamInvalid, "{} bytes at offset {} are asked for, the physical memory has {}", bytes,
                  offset, physical->bytes);
    device->memory().map(p, bytes, physical->file, physical->offset + offset);
    if (physical->memory) add_mapping(p, bytes, Device::get(physical->device).memory(), physical->offset + offset);
    std::lock_guard lock(g_mutex);
    mappings()[p] = physical;
  });
}
ACL_API aclrtUnmapMem(void* p) {
  return guard("aclrtUnmapMem", [&] {
    Device* device = Device::owner(p);
    if (!device) throw Error(code::kRtParamInvalid, "{} is not mapped", p);
    device->memory().unmap(p);
    remove_mapping(p);
    Shared last;  // may be freed with it, without the lock
    std::lock_guard lock(g_mutex);
    if (auto it = mappings().find(p); it != mappings().end()) {
      last = std::move(it->second);
      mappings().erase(it);
    }
  });
}
ACCEPTED(aclrtMemSetAccess, "every device of the process may use a mapping", "进程内所有设备均可访问该映射")
ACL_API aclrtMemSetAccess(void* p, size_t, void*, size_t) {
  return guard("aclrtMemSetAccess", [&] { need(p, "virPtr"); });  // every device of the process may
}
ACL_API aclrtMemGetAllocationGranularity(const void* property, int32_t option, size_t* bytes) {
  return guard("aclrtMemGetAllocationGranularity", [&] {
    need(property, "prop");
    need(bytes, "granularity");
    if (option != 0 && option != 1) throw Error(code::kRtParamInvalid, "option {} is unknown, want 0 or 1", option);
    *bytes = kGranularity;
  });
}

// A shareable handle is (pid, descriptor of the export's record) of the exporter.
ACL_API aclrtMemExportToShareableHandle(void* handle, int32_t, uint64_t, uint64_t* shareable) {
  return guard("aclrtMemExportToShareableHandle", [&] {
    need(shareable, "shareableHandle");
    const Shared shared = checked(handle);
    Physical& physical = *shared;
    if (!physical.memory)
      throw Error(code::kRtParamInvalid, "{} was imported: its exporter exports it to others as well", handle);
    std::lock_guard lock(g_waiting_mutex);
    if (physical.record < 0) {
      const int record = memfd_create("updraft-export", MFD_CLOEXEC);
      const ExportRecord text{kExportMagic, physical.file, physical.offset, physical.bytes};
      if (record < 0 || pwrite(record, &text, sizeof text, 0) != static_cast<ssize_t>(sizeof text)) {
        const int why = errno;
        if (record >= 0) close(record);
        throw Error(code::kRtMemoryAllocation, "no file for an export: {}", std::strerror(why));
      }
      physical.record = record;
    }
    *shareable = static_cast<uint64_t>(getpid()) << 32 | static_cast<uint32_t>(physical.record);
  });
}
ACL_API aclrtMemImportFromShareableHandle(uint64_t shareable, int32_t device, void** handle) {
  return guard("aclrtMemImportFromShareableHandle", [&] {
    need(handle, "handle");
    Device::get(device);
    const auto pid = static_cast<pid_t>(shareable >> 32);
    const int record = open_peer(pid, static_cast<int>(shareable & 0xffffffffu));
    ExportRecord text{};
    int file = -1;
    try {
      if (flock(record, LOCK_SH | LOCK_NB) != 0 ||
          pread(record, &text, sizeof text, 0) != static_cast<ssize_t>(sizeof text) || text.magic != kExportMagic)
        throw Error(code::kRtParamInvalid, "process {} exports no memory by {:#x}, or has freed it", pid, shareable);
      file = open_peer(pid, static_cast<int>(text.file));
      struct stat info;
      if (fstat(file, &info) != 0 || text.offset > static_cast<uint64_t>(info.st_size) ||
          text.bytes > static_cast<uint64_t>(info.st_size) - text.offset)
        throw Error(code::kRtParamInvalid, "process {} exports {} bytes at {}, its memory ends before", pid, text.bytes,
                    text.offset);
    } catch (...) {
      close(record);
      if (file >= 0) close(file);
      throw;
    }
    *handle = pool().create(std::make_shared<Physical>(device, text.bytes, file, text.offset, record));
  });
}
ACCEPTED(aclrtMemSetPidToShareableHandle, "every process of the same user may import", "同一用户的任何进程均可导入")
ACL_API aclrtMemSetPidToShareableHandle(uint64_t, int32_t* pids, size_t count) {
  return guard("aclrtMemSetPidToShareableHandle", [&] {
    if (count) need(pids, "pid");  // any process of this user may import
  });
}

// --- IPC: a key names process, device, offset and size; the importer maps the exporter's whole device file. ---------
namespace {
struct Descriptor {
  int fd;
  ~Descriptor() { close(fd); }
};

struct Import {
  Device* device;
  void* at;
  size_t reserved;
};
std::multimap<std::string, Import>& imports() {  // a key may be imported several times
  static auto* m = new std::multimap<std::string, Import>;
  return *m;
}
}  // namespace

ACL_API aclrtIpcMemGetExportKey(void* p, size_t bytes, char* key, size_t length, uint64_t) {
  return guard("aclrtIpcMemGetExportKey", [&] {
    need(p, "devPtr");
    need(key, "key");
    Device* device = Device::owner(p);
    void* base = nullptr;
    size_t size = 0;
    if (!device || !device->memory().find(p, &base, &size))
      throw Error(code::kRtParamInvalid, "{} is not allocated device memory", p);
    size_t offset = static_cast<size_t>(static_cast<char*>(p) - device->memory().base());
    std::string text = fmt::format("updraft:{}:{}:{}:{}", getpid(), device->memory().fd(), offset, bytes);
    if (text.size() + 1 > length)
      throw Error(code::kRtParamInvalid, "key has {} bytes of room, want {}", length, text.size() + 1);
    std::memset(key, 0, length);
    std::memcpy(key, text.data(), text.size());
    observe_order({.what = OrderEvent::What::Shared, .object = host_address(p), .bytes = bytes});
  });
}
ACCEPTED(aclrtIpcMemSetImportPid, "every process of the same user may import", "同一用户的任何进程均可导入")
ACL_API aclrtIpcMemSetImportPid(const char* key, int32_t*, size_t) {
  return guard("aclrtIpcMemSetImportPid", [&] { need(key, "key"); });
}
ACL_API aclrtIpcMemImportByKey(void** p, const char* key, uint64_t) {
  return guard("aclrtIpcMemImportByKey", [&] {
    need(p, "devPtr");
    need(key, "key");
    int pid = 0, fd = 0;
    size_t offset = 0, bytes = 0;
    if (std::sscanf(key, "updraft:%d:%d:%zu:%zu", &pid, &fd, &offset, &bytes) != 4)
      throw Error(code::kRtParamInvalid, "\"{}\" is not a key of aclrtIpcMemGetExportKey",
                  std::string(key, strnlen(key, 64)));
    Device& device = current_device();
    size_t page = offset / kGranularity * kGranularity;
    Descriptor peer{open_peer(pid, fd)};
    struct stat info;
    if (fstat(peer.fd, &info) != 0 || offset > static_cast<size_t>(info.st_size) ||
        bytes > static_cast<size_t>(info.st_size) - offset)
      throw Error(code::kRtParamInvalid, "the key names {} bytes at {}, the memory of process {} ends before", bytes,
                  offset, pid);
    size_t span = (offset - page + bytes + kGranularity - 1) / kGranularity * kGranularity;
    char* at = static_cast<char*>(device.memory().reserve(span));
    try {
      device.memory().map(at, span, peer.fd, page);
    } catch (...) {
      device.memory().release(at);
      throw;
    }
    std::lock_guard lock(g_mutex);
    imports().emplace(key, Import{&device, at, span});
    *p = at + (offset - page);
  });
}
ACL_API aclrtIpcMemClose(const char* key) {
  return guard("aclrtIpcMemClose", [&] {
    need(key, "key");
    std::lock_guard lock(g_mutex);
    auto it = imports().find(key);
    if (it == imports().end()) return;  // the exporter closes too
    it->second.device->memory().unmap(it->second.at);
    it->second.device->memory().release(it->second.at);
    imports().erase(it);
  });
}
