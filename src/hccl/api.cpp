#include "hccl/api.h"

#include <map>
#include <mutex>

#include "device/device.h"

namespace updraft {

namespace result = collective::result;

int hccl_guard(const char* name, FunctionRef<void()> body) noexcept {
  int code = 0;
  guard(
      name,
      [&] {
        try {
          body();
        } catch (const Error& e) {
          code = e.code();
          if (code == code::kRtMemoryAllocation) code = result::kOutOfMemory;
          if (code > 25) code = code / 1000 == 107 ? result::kPara : result::kRuntime;
          throw Error(code, "{}", e.text());
        } catch (const std::bad_alloc&) {
          code = result::kMemory;
          throw Error(code, "EI0007: the host is out of memory");
        } catch (const std::exception& e) {
          code = result::kInternal;
          throw Error(code, "{}", e.what());
        }
      },
      Forked::Allowed);  // communicators know their process, and a child may destroy its copies
  return code;
}

HandlePool<CommunicatorPointer>& communicator_pool() {
  static auto* pool = new HandlePool<CommunicatorPointer>(1 << 16);
  return *pool;
}

namespace {
std::mutex g_names;

/// Ranks of one process have one name, each on its device.
using NameOnDevice = std::pair<std::string, const Device*>;
std::map<NameOnDevice, void*>& handles_by_name() {
  static auto* names = new std::map<NameOnDevice, void*>;
  return *names;
}
}  // namespace

void* keep_communicator(CommunicatorPointer communicator) {
  const NameOnDevice name(communicator->name(), &communicator->device());
  void* handle = communicator_pool().create(std::move(communicator));
  std::lock_guard lock(g_names);
  handles_by_name()[name] = handle;
  return handle;
}

void* communicator_named(const std::string& name, const Device& device) {
  std::lock_guard lock(g_names);
  const auto found = handles_by_name().find({name, &device});
  return found == handles_by_name().end() ? nullptr : found->second;
}

CommunicatorPointer take_communicator(const void* handle) {
  std::lock_guard lock(g_names);
  CommunicatorPointer taken = find_communicator(handle);
  if (taken) {
    communicator_pool().destroy(handle);
    std::erase_if(handles_by_name(), [&](const auto& named) { return named.second == handle; });
  }
  return taken;
}

// A watchdog destroys communicators that other threads are about to use: the pointer must not go while it is copied.
CommunicatorPointer find_communicator(const void* handle) {
  CommunicatorPointer found;
  auto& pool = communicator_pool();
  pool.locked(pool.ref(handle), [&](const CommunicatorPointer& communicator) { found = communicator; });
  return found;
}

CommunicatorPointer communicator_of(const void* handle) {
  need_pointer(handle, "comm");
  if (auto communicator = find_communicator(handle)) return communicator;
  throw Error(result::kPara, "EI0003: {} is not a communicator (destroyed, or never initialised)", handle);
}

void check_buffer(const collective::Communicator& comm, const void* p, size_t bytes, const char* name) {
  if (bytes == 0) return;
  need_pointer(p, name);
  const DeviceMemory& memory = comm.device().memory();
  if (memory.covers(p, static_cast<const char*>(p) + bytes)) return;
  if (!memory.contains(p))
    throw Error(result::kPara, "EI0003: {} ({}) is not memory of device {}, which the communicator is on", name, p,
                comm.device().index());
  if (bytes > memory.room_at(p))
    throw Error(result::kPara, "EI0003: {} ({}) has {} bytes of memory from there on, the operation needs {}", name, p,
                memory.room_at(p), bytes);
}

}  // namespace updraft

/// Text of a result; static storage.
extern "C" UPDRAFT_API const char* HcclGetErrorString(int code) {
  static const char* const texts[] = {"no error",
                                      "invalid parameter",
                                      "null pointer",
                                      "out of memory",
                                      "internal error",
                                      "not supported",
                                      "not found",
                                      "not available",
                                      "system call failed",
                                      "timed out",
                                      "file cannot be opened",
                                      "TCP connection failed",
                                      "RoCE connection failed",
                                      "TCP transfer failed",
                                      "RoCE transfer failed",
                                      "runtime failed",
                                      "driver failed",
                                      "profiling failed",
                                      "CCE failed",
                                      "network failed",
                                      "try again",
                                      "a remote rank failed",
                                      "the communicator is suspended",
                                      "a retry of an operation failed",
                                      "out of device memory"};
  return code >= 0 && code < static_cast<int>(sizeof texts / sizeof *texts) ? texts[code] : "unknown error";
}
