#include "device/context.h"

#include <mutex>
#include <optional>
#include <utility>

#include "base/error.h"
#include "device/device.h"
#include "device/stream.h"
#include "device/streams.h"

namespace updraft {
namespace {

constexpr int kMostDevices = 1024;

thread_local HandleRef<Context> t_context;
std::mutex g_mutex;

// The context that aclrtSetDevice makes current: one a device and process. With g_mutex.
struct Primary {
  Context* context = nullptr;
  int64_t count = 0;  ///< of aclrtSetDevice without their aclrtResetDevice
};
Primary g_primary[kMostDevices];
std::atomic<int> g_default_device{-1};

Context& make_primary(int index) {
  Primary& primary = g_primary[index];
  if (!primary.context) primary.context = context_pool().create(Device::get(index));
  return *primary.context;
}

// Null when others still use it, or nobody does.
Context* take_primary(int index, bool whatever_the_count) {
  std::lock_guard lock(g_mutex);
  Primary& primary = g_primary[index];
  if (primary.count > 0) --primary.count;
  if (primary.count > 0 && !whatever_the_count) return nullptr;
  primary.count = 0;
  return std::exchange(primary.context, nullptr);
}

// Waits for the device, then lets the context go: also when the wait met a failure, which is the caller's to hear.
void destroy_after(Device& device, Context* context) {
  std::optional<Error> failure;
  try {
    device.synchronize();
  } catch (const Error& e) { failure = e; }
  context_pool().destroy(context);
  if (failure) throw *failure;
}

}  // namespace

HandlePool<Context>& context_pool() {
  static auto* pool = new HandlePool<Context>(1 << 14);
  return *pool;
}

Context::~Context() {
  if (Stream* stream = stream_.load()) device_.destroy_stream(stream);
}

Stream& Context::default_stream() {
  if (Stream* stream = stream_.load(std::memory_order_acquire)) return *stream;
  std::lock_guard lock(g_mutex);
  if (!stream_.load()) stream_.store(device_.create_stream(0, 0), std::memory_order_release);
  return *stream_.load();
}

Context* current_context_or_null() {
  if (Context* context = context_pool().get(t_context)) return context;
  t_context = {};  // destroyed, perhaps by another thread
  const int index = g_default_device.load(std::memory_order_relaxed);
  if (index < 0) return nullptr;
  std::lock_guard lock(g_mutex);
  Context* context = &make_primary(index);
  t_context = context_pool().ref(context);
  return context;
}

Context& current_context() {
  if (Context* context = current_context_or_null()) return *context;
  throw Error(code::kRtContextNull, "this thread has no context: call aclrtSetDevice or aclrtSetCurrentContext first");
}

void set_current_context(Context* context) { t_context = context_pool().ref(context); }

void retain_primary_context(int index) {
  Device::get(index);  // throws when there is none
  std::lock_guard lock(g_mutex);
  Context& context = make_primary(index);
  ++g_primary[index].count;
  t_context = context_pool().ref(&context);
}

void release_primary_context(int index) {
  Device& device = Device::get(index);
  if (Context* context = take_primary(index, false)) destroy_after(device, context);
}

void drop_primary_context(int index) {
  Device& device = Device::get(index);
  device.abort();
  if (Context* context = take_primary(index, true)) destroy_after(device, context);
}

bool primary_context_active(int index) {
  std::lock_guard lock(g_mutex);
  return index >= 0 && index < kMostDevices && g_primary[index].context;
}

bool is_primary_context(const Context* context) {
  std::lock_guard lock(g_mutex);
  return context && g_primary[context->device().index()].context == context;
}

void set_default_device(int device) { g_default_device = device; }

Stream& stream_of(const void* handle) {
  if (!handle) return current_context().default_stream();
  if (Stream* stream = stream_pool().get(handle)) return *stream;
  throw Error(code::kRtInvalidHandle, "{} is not a stream (destroyed, or never created)", handle);
}

}  // namespace updraft
