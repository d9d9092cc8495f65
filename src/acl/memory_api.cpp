// Memory: allocation, copies, sets, attributes.
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "acl/api.h"
#include "acl/copies.h"
#include "acl/observed_copies.h"
#include "acl/poll_slack.h"
#include "base/accepted.h"
#include "base/config.h"
#include "device/capture/capture.h"
#include "device/host_layout.h"
#include "device/memory.h"
#include "device/observer.h"

using namespace updraft;

namespace {

// Unpinned host data up to this size is kept in the task; more is copied before the call returns.
constexpr size_t kStage = 64 << 10;

// Room behind a device pointer: a copy past it would damage another tensor silently.
void check_device_range(const void* p, size_t n, const char* what) {
  Device* device = Device::owner(p);
  if (!device) return;  // VMM of a peer, registered host memory
  size_t room = device->memory().room_at(p);
  if (n <= room && room) return;
  const std::string text =
      room ? fmt::format("{} {} has {} bytes of room on device {}, {} are wanted", what, p, room, device->index(), n)
           : fmt::format("{} {} is not allocated memory of device {}", what, p, device->index());
  observe_order({.what = OrderEvent::What::OutOfReach, .object = host_address(p), .bytes = n, .text = text.c_str()});
  throw Error(code::kRtParamInvalid, "{}", text);
}

void check_copy(const void* to, size_t room, const void* from, size_t n, int32_t kind) {
  if (n == 0) return;
  need(to, "dst");
  need(from, "src");
  if (room < n) throw Error(code::kRtParamInvalid, "destMax is {}, less than count {}", room, n);
  check_copy_kind(to, from, kind);
  check_device_range(to, n, "dst");
  check_device_range(from, n, "src");
}

// For formats that only the device makes (device/host_layout.h).
void note_copy(const void* to, const void* from, size_t n) {
  if (!Config::get().card_rules() || !Device::owner(to)) return;
  if (Device::owner(from)) note_device_copy(to, from, n);
  else note_host_write(to, n);
}

// Bytes from the first to the last of `height` rows; throws when there are none that could be.
size_t check_rows(const char* name, size_t pitch, size_t width, size_t height) {
  size_t bytes = 0;
  if (width > pitch || __builtin_mul_overflow(pitch, height - 1, &bytes) ||
      __builtin_add_overflow(bytes, width, &bytes))
    throw Error(code::kRtParamInvalid, "{} is {} for {} rows of width {}", name, pitch, height, width);
  return bytes;
}

void check_copy_2d(const void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height,
                   int32_t kind) {
  const size_t to_bytes = check_rows("dpitch", to_pitch, width, height);
  const size_t from_bytes = check_rows("spitch", from_pitch, width, height);
  check_copy(to, width, from, width, kind);
  check_device_range(to, to_bytes, "dst");
  check_device_range(from, from_bytes, "src");
}

void check_batch(void** to, size_t* rooms, void** from, size_t* sizes, size_t count) {
  if (count == 0) return;
  need(to, "dsts");
  need(rooms, "destMaxs");
  need(from, "srcs");
  need(sizes, "sizes");
}

// In the calling thread, at once.
void copy_now(void* to, const void* from, size_t n, int32_t kind) {
  observe_copy(to, from, n, kind, [&] { copy_bytes(host_address(to), host_address(from), n); });
}

class CopyTask final : public Task {
 public:
  CopyTask(void* to, const void* from, size_t n, int32_t kind_of_copy)
      : to_(to), from_(from), n_(n), kind_of_copy_(kind_of_copy) {
    kind = n >= kParallelCopy ? TaskKind::Copy : TaskKind::Compute;
    work = static_cast<int64_t>(n / 4);
    cost = copy_cost(n);
  }
  void stage() {
    staged_.assign(static_cast<const char*>(from_), static_cast<const char*>(from_) + n_);
    from_ = staged_.data();
  }
  void run() override { copy_bytes(to_, from_, n_); }
  void release() override { delete this; }
  const char* name() const override { return "MEMCPY_ASYNC"; }
  void arguments(ArgumentList& list) const override { copy_arguments(list, to_, from_, n_, kind_of_copy_); }

 private:
  void* to_;
  const void* from_;
  size_t n_;
  int32_t kind_of_copy_;
  std::vector<char> staged_;
};

class SetTask final : public Task {
 public:
  SetTask(void* to, int value, size_t n) : to_(to), value_(value), n_(n) {
    kind = n >= kParallelCopy ? TaskKind::Copy : TaskKind::Compute;
    work = static_cast<int64_t>(n / 4);
    cost = set_cost(n);
  }
  void run() override { set_bytes(to_, value_, n_); }
  void release() override { delete this; }
  const char* name() const override { return "MEMSET_ASYNC"; }
  void arguments(ArgumentList& list) const override { set_arguments(list, to_, value_, n_); }

 private:
  void* to_;
  int value_;
  size_t n_;
};

class RowsTask final : public Task {
 public:
  RowsTask(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height,
           int32_t kind_of_copy)
      : to_(to),
        to_pitch_(to_pitch),
        from_(from),
        from_pitch_(from_pitch),
        width_(width),
        height_(height),
        kind_of_copy_(kind_of_copy) {
    const size_t n = width * height;
    kind = n >= kParallelCopy ? TaskKind::Copy : TaskKind::Compute;
    work = static_cast<int64_t>(n / 4 + height);
    cost = copy_cost(n);
  }
  void stage() {
    staged_.resize(width_ * height_);
    copy_rows(staged_.data(), width_, from_, from_pitch_, width_, height_);
    from_ = staged_.data();
    from_pitch_ = width_;
  }
  void run() override { copy_rows(to_, to_pitch_, from_, from_pitch_, width_, height_); }
  void release() override { delete this; }
  const char* name() const override { return "MEMCPY_ASYNC"; }
  void arguments(ArgumentList& list) const override {
    copy_2d_arguments(list, to_, to_pitch_, from_, from_pitch_, width_, height_, kind_of_copy_);
  }

 private:
  void* to_;
  size_t to_pitch_;
  const void* from_;
  size_t from_pitch_, width_, height_;
  int32_t kind_of_copy_;
  std::vector<char> staged_;
};

bool pageable(const void* p) { return !Device::owner(p) && !HostMemory::get().contains(p); }

// The caller may free or change unpinned memory as soon as the call returns. `n` bytes are read, `reach` lie between
// the first and the last that are written.
template <class Copy>
void submit_copy(std::unique_ptr<Copy> task, const void* to, const void* from, size_t n, size_t reach, Stream& stream) {
  const bool wait = !stream.capturing() && (pageable(to) || (pageable(from) && n > kStage));
  if (pageable(from) && !wait) task->stage();
  stream.submit(task.release());
  if (wait) stream.synchronize();
  note_copy(to, from, reach);
}

void copy_async(void* to, size_t room, const void* from, size_t n, int32_t kind, Stream& stream) {
  check_copy(to, room, from, n, kind);
  if (n == 0) return;
  submit_copy(std::make_unique<CopyTask>(host_address(to), host_address(from), n, kind), to, from, n, n, stream);
}

int allocate(const char* name, void** p, size_t bytes, size_t extra) {
  return guard(name, [&] {
    restore_own();
    need(p, "devPtr");
    *p = nullptr;
    if (bytes == 0) throw Error(code::kRtParamInvalid, "size is 0: want at least 1 byte");
    if (bytes + extra < bytes) throw Error(code::kRtMemoryAllocation, "size {} is not possible", bytes);
    *p = current_device().memory().allocate(bytes + extra);
  });
}

}  // namespace

ACL_API aclrtMalloc(void** p, size_t bytes, int32_t) { return allocate("aclrtMalloc", p, bytes, 32); }
ACL_API aclrtMallocAlign32(void** p, size_t bytes, int32_t) { return allocate("aclrtMallocAlign32", p, bytes, 0); }
ACL_API aclrtMallocCached(void** p, size_t bytes, int32_t) { return allocate("aclrtMallocCached", p, bytes, 32); }
ACL_API aclrtMallocWithCfg(void** p, size_t bytes, int32_t, void*) {
  return allocate("aclrtMallocWithCfg", p, bytes, 32);
}

ACL_API aclrtFree(void* p) {
  return guard("aclrtFree", [&] {
    need(p, "devPtr");
    Device* device = Device::owner(p);
    if (!device) throw Error(code::kRtParamInvalid, "{} is not device memory", p);
    device->memory().free(p);
  });
}

ACL_API aclrtMallocHost(void** p, size_t bytes) {
  return guard("aclrtMallocHost", [&] {
    need(p, "hostPtr");
    if (bytes == 0) throw Error(code::kRtParamInvalid, "size is 0: want at least 1 byte");
    *p = HostMemory::get().allocate(bytes);
  });
}
ACL_API aclrtMallocHostWithCfg(void** p, uint64_t bytes, void*) { return aclrtMallocHost(p, bytes); }
ACL_API aclrtFreeHost(void* p) {
  return guard("aclrtFreeHost", [&] {
    need(p, "hostPtr");
    HostMemory::get().free(p);
  });
}
ACL_API aclrtHostRegister(void* p, uint64_t bytes, int32_t, void** device) {
  return guard("aclrtHostRegister", [&] {
    need(p, "ptr");
    HostMemory::get().add(p, bytes);
    if (device) *device = p;
  });
}
ACL_API aclrtHostRegisterV2(void* p, uint64_t bytes, uint32_t) {
  return guard("aclrtHostRegisterV2", [&] {
    need(p, "ptr");
    HostMemory::get().add(p, bytes);
  });
}
ACL_API aclrtHostGetDevicePointer(void* host, void** device, uint32_t) {
  return guard("aclrtHostGetDevicePointer", [&] {
    need(device, "pDevice");
    if (!HostMemory::get().contains(host)) throw Error(code::kRtParamInvalid, "host memory {} is not registered", host);
    *device = host;
  });
}
ACL_API aclrtHostUnregister(void* p) {
  return guard("aclrtHostUnregister", [&] {
    need(p, "ptr");
    HostMemory::get().remove(p);
  });
}

ACL_API aclrtMemcpy(void* to, size_t room, const void* from, size_t n, int32_t kind) {
  return guard("aclrtMemcpy", [&] {
    check_copy(to, room, from, n, kind);
    if (n) copy_now(to, from, n, kind);
    note_copy(to, from, n);
  });
}
ACL_API aclrtMemcpyAsync(void* to, size_t room, const void* from, size_t n, int32_t kind, void* stream) {
  return guard("aclrtMemcpyAsync", [&] { copy_async(to, room, from, n, kind, stream_of(stream)); });
}
ACL_API aclrtMemcpyAsyncWithCondition(void* to, size_t room, const void* from, size_t n, int32_t kind, void* stream) {
  return guard("aclrtMemcpyAsyncWithCondition", [&] { copy_async(to, room, from, n, kind, stream_of(stream)); });
}

ACL_API aclrtMemcpy2d(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height,
                      int32_t kind) {
  return guard("aclrtMemcpy2d", [&] {
    if (width == 0 || height == 0) return;
    check_copy_2d(to, to_pitch, from, from_pitch, width, height, kind);
    observe_copy_2d(to, to_pitch, from, from_pitch, width, height, kind,
                    [&] { copy_rows(host_address(to), to_pitch, host_address(from), from_pitch, width, height); });
    note_copy(to, from, check_rows("dpitch", to_pitch, width, height));
  });
}
ACL_API aclrtMemcpy2dAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height,
                           int32_t kind, void* stream) {
  return guard("aclrtMemcpy2dAsync", [&] {
    Stream& s = stream_of(stream);
    if (width == 0 || height == 0) return;
    check_copy_2d(to, to_pitch, from, from_pitch, width, height, kind);
    submit_copy(
        std::make_unique<RowsTask>(host_address(to), to_pitch, host_address(from), from_pitch, width, height, kind), to,
        from, width * height, check_rows("dpitch", to_pitch, width, height), s);
  });
}

ACL_API aclrtMemcpyBatch(void** to, size_t* rooms, void** from, size_t* sizes, size_t count, void*, size_t*, size_t,
                         size_t* failed) {
  return guard("aclrtMemcpyBatch", [&] {
    check_batch(to, rooms, from, sizes, count);
    for (size_t i = 0; i < count; ++i) {
      if (failed) *failed = i;
      check_copy(to[i], rooms[i], from[i], sizes[i], kDefault);
      if (sizes[i]) copy_now(to[i], from[i], sizes[i], kDefault);
      note_copy(to[i], from[i], sizes[i]);
    }
    if (failed) *failed = SIZE_MAX;
  });
}
ACL_API aclrtMemcpyBatchAsync(void** to, size_t* rooms, void** from, size_t* sizes, size_t count, void*, size_t*,
                              size_t, size_t* failed, void* stream) {
  return guard("aclrtMemcpyBatchAsync", [&] {
    check_batch(to, rooms, from, sizes, count);
    Stream& s = stream_of(stream);
    for (size_t i = 0; i < count; ++i) {
      if (failed) *failed = i;
      copy_async(to[i], rooms[i], from[i], sizes[i], kDefault, s);
    }
    if (failed) *failed = SIZE_MAX;
  });
}

ACL_API aclrtMemset(void* to, size_t room, int32_t value, size_t n) {
  return guard("aclrtMemset", [&] {
    need(to, "devPtr");
    if (room < n) throw Error(code::kRtParamInvalid, "maxCount is {}, less than count {}", room, n);
    check_device_range(to, n, "devPtr");
    if (n) observe_set(to, value, n, [&] { set_bytes(host_address(to), value, n); });
    note_device_write(to, n);
  });
}
ACL_API aclrtMemsetAsync(void* to, size_t room, int32_t value, size_t n, void* stream) {
  return guard("aclrtMemsetAsync", [&] {
    need(to, "devPtr");
    if (room < n) throw Error(code::kRtParamInvalid, "maxCount is {}, less than count {}", room, n);
    check_device_range(to, n, "devPtr");
    stream_of(stream).submit(new SetTask(host_address(to), value, n));
    note_device_write(to, n);
  });
}

ACCEPTED(aclrtMemFlush, "host and device see the same memory, without a cache between them",
         "主机与设备看到的是同一块内存，中间没有缓存")
ACL_API aclrtMemFlush(void*, size_t) { return 0; }
ACCEPTED(aclrtMemInvalidate, "host and device see the same memory, without a cache between them",
         "主机与设备看到的是同一块内存，中间没有缓存")
ACL_API aclrtMemInvalidate(void*, size_t) { return 0; }
ACCEPTED(aclrtCmoAsync, "it is a hint to fetch into a cache that is not there; the stream is checked",
         "仅为缓存预取提示，此处没有该缓存；会检查 stream")
ACL_API aclrtCmoAsync(void*, size_t, int32_t, void* stream) {
  return guard("aclrtCmoAsync", [&] { stream_of(stream); });  // a prefetch hint
}

ACL_API aclrtGetMemInfo(int32_t, size_t* free_bytes, size_t* total) {
  return guard("aclrtGetMemInfo", [&] {
    need(free_bytes, "free");
    need(total, "total");
    DeviceMemory& memory = current_device().memory();
    *total = memory.limit();
    *free_bytes = memory.available();
  });
}

ACL_API aclrtGetMemUsageInfo(int32_t device, void* info, size_t capacity, size_t* count) {
  return guard("aclrtGetMemUsageInfo", [&] {
    need(info, "memUsageInfo");
    need(count, "outputNum");
    if (capacity == 0) throw Error(code::kRtParamInvalid, "inputNum is 0: want room for one entry");
    DeviceMemory& memory = Device::get(device).memory();
    char* entry = static_cast<char*>(info);  // aclrtMemUsageInfo: name[32], current, peak, reserved[8]
    std::memset(entry, 0, 112);
    std::strcpy(entry, "updraft");
    const uint64_t used = memory.used(), peak = memory.peak();
    std::memcpy(entry + 32, &used, 8);
    std::memcpy(entry + 40, &peak, 8);
    *count = 1;
  });
}

ACL_API aclrtPointerGetAttributes(const void* p, void* attributes) {
  return guard("aclrtPointerGetAttributes", [&] {
    need(attributes, "attributes");
    struct {
      uint32_t id, type, page, reserved[4];
    } out{};
    static_assert(sizeof out == 28);
    if (Device* device = Device::owner(p)) {
      out.id = static_cast<uint32_t>(device->index());
      out.type = 1;
      out.page = 2u << 20;
    } else {
      out.type = HostMemory::get().contains(p) ? 0 : 2;  // registered host memory, or unknown
      out.page = 4096;
    }
    std::memcpy(attributes, &out, sizeof out);
  });
}
