#include "device/device.h"

#include <algorithm>

#include "base/config.h"
#include "base/error.h"
#include "base/fork.h"
#include "base/handle_pool.h"
#include "base/log.h"
#include "base/overflow.h"
#include "base/visible_devices.h"
#include "device/observer.h"
#include "device/process_record.h"
#include "device/saturation.h"
#include "device/soc.h"
#include "device/streams.h"
#include "device/strict_guard.h"
#include "device/waits/time_limits.h"

namespace updraft {
namespace {

std::mutex g_mutex;
std::atomic<Device*> g_devices[1024];
struct Executing {
  Device* device = nullptr;
  const Stream* stream = nullptr;
};
thread_local Executing t_executing;

}  // namespace

HandlePool<Stream>& stream_pool() {
  static auto* pool = new HandlePool<Stream>(1 << 16);
  return *pool;
}

int Device::count() { return Config::get().devices(); }

Device* Device::find(int index) {
  return index >= 0 && index < 1024 ? g_devices[index].load(std::memory_order_acquire) : nullptr;
}

Device& Device::get(int index) {
  if (Device* device = find(index)) return *device;
  keep_visible_devices();
  if (index < 0 || index >= count())
    throw Error(code::kRtInvalidDevice, "device {} does not exist: there are {} (0 to {}); {}", index, count(),
                count() - 1,
                Config::get().restricted ? "ASCEND_RT_VISIBLE_DEVICES names the devices that this process may use"
                                         : "UPDRAFT_DEVICES sets how many");
  first_use();
  std::lock_guard lock(g_mutex);
  if (Device* device = find(index)) return *device;
  refuse_forked_children();
  auto* device = new Device(index);  // lives as long as the process
  g_devices[index].store(device, std::memory_order_release);
  return *device;
}

Device* Device::owner(const void* p) {
  for (int i = 0, n = std::min(count(), 1024); i < n; ++i)
    if (Device* device = find(i); device && device->memory_.contains(p)) return device;
  return nullptr;
}

namespace {
std::atomic<bool> g_default_saturation{false};
}
void set_default_saturation(bool on) { g_default_saturation = on; }
bool default_saturation() { return g_default_saturation; }

Device::Device(int index)
    : index_(index),
      memory_(index, Config::get().memory),
      compute_("compute", index, Config::get().threads),
      copy_("copy", index, Config::get().threads),
      host_(index) {
  saturation = default_saturation() ? 1 : 0;
  install_strict_guard();
  open_process_record(index);
  UPDRAFT_EVENT("RUNTIME", "device {} is {}: {} MiB, {} threads", index, soc().name, memory_.limit() >> 20,
                Config::get().threads);
}

Stream* Device::create_stream(uint32_t priority, uint32_t flags) {
  Stream* stream = stream_pool().create(*this, next_stream_.fetch_add(1), priority, flags);
  std::lock_guard lock(mutex_);
  streams_.push_back(stream);
  return stream;
}

void Device::destroy_stream(Stream* stream) {
  {
    std::lock_guard lock(mutex_);
    std::erase(streams_, stream);
  }
  stream_pool().destroy(stream);
}

std::vector<StreamPin> Device::streams() const {
  std::vector<StreamPin> pins;
  std::lock_guard lock(mutex_);
  for (Stream* stream : streams_) pins.emplace_back(*stream);
  return pins;
}

void Device::abort() {
  const std::vector<StreamPin> pins = streams();
  const std::vector<Stream*> all(pins.begin(), pins.end());
  Stream::abort(all);
}

StreamPin Device::pin(const void* handle) const {
  std::lock_guard lock(mutex_);
  const auto it = std::ranges::find(streams_, handle);
  return it == streams_.end() ? StreamPin() : StreamPin(**it);
}

StreamPin pin_stream(const void* handle) {
  if (const Stream* stream = stream_pool().get(handle))
    for (int i = 0, n = std::min(Device::count(), 1024); i < n; ++i)
      if (Device* device = Device::find(i))
        if (StreamPin pin = device->pin(stream)) return pin;
  throw Error(code::kRtInvalidHandle, "{} is not a stream (destroyed, or never created)", handle);
}

bool settled(const void* handle) {
  bool yes = false;
  auto& pool = stream_pool();
  pool.locked(pool.ref(handle), [&](const Stream& stream) {
    yes = stream.idle() && !stream.has_failed() && !stream.capturing();
    if (yes) observe_order(OrderEvent::What::StreamReached, &stream, stream);
  });
  return yes;
}

void Device::synchronize(std::chrono::milliseconds timeout) {
  auto deadline = std::chrono::steady_clock::now() + timeout;
  std::optional<Error> failure;
  std::vector<Stream*> all;
  {
    std::lock_guard lock(mutex_);
    all = streams_;
  }
  for (Stream* one : all) {
    const StreamPin stream = pin(one);
    if (!stream) continue;  // another thread has destroyed it: it was through
    auto left = timeout;
    if (timeout.count() >= 0)
      left =
          std::max(std::chrono::milliseconds(0),
                   std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now()));
    try {
      stream->synchronize(left);
    } catch (const Error& e) {
      if (!failure) failure = e;
    }
  }
  if (failure) throw *failure;
}

void Device::ready(Stream& stream, TaskKind kind) {
  switch (kind) {
    case TaskKind::Compute: compute_.push(stream); break;
    case TaskKind::Copy: copy_.push(stream); break;
    default: host_.push(stream); break;
  }
}

bool Device::contended(TaskKind kind) const {
  return kind == TaskKind::Compute ? compute_.contended() : kind == TaskKind::Copy && copy_.contended();
}

void Device::unpark(Stream& stream) { stream.resume(); }

void Device::execute(Stream& stream, Task& task) {
  struct Restore {
    Executing value = t_executing;
    ~Restore() { t_executing = value; }
  } restore;
  t_executing = {this, &stream};
  auto run = [&] {
    auto& status = stream.overflow_switch.load(std::memory_order_relaxed) ? float_status : unwatched_;
    OverflowScope overflow(saturation.load(std::memory_order_relaxed) ? &status : nullptr);
    run_in_time(task);
  };
  if (watched()) [[unlikely]]
    run_observed(stream, task, run);
  else run();
}

Device* executing_device() { return t_executing.device; }
const Stream* executing_stream() { return t_executing.stream; }

}  // namespace updraft
