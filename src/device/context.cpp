#include "device/context.h"

#include <mutex>

#include "base/error.h"
#include "device/device.h"
#include "device/streams.h"

namespace updraft {
namespace {
thread_local Context* t_context = nullptr;
std::mutex g_mutex;
std::atomic<Context*> g_primary[1024];
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
  if (t_context && !context_pool().get(t_context)) t_context = nullptr;  // destroyed by another thread
  return t_context;
}

Context& current_context() {
  if (Context* context = current_context_or_null()) return *context;
  throw Error(code::kRtContextNull, "this thread has no context: call aclrtSetDevice or aclrtSetCurrentContext first");
}

void set_current_context(Context* context) { t_context = context; }

Context& primary_context(int index) {
  Device& device = Device::get(index);
  if (Context* context = g_primary[index].load(std::memory_order_acquire)) return *context;
  std::lock_guard lock(g_mutex);
  if (!g_primary[index].load()) g_primary[index].store(context_pool().create(device), std::memory_order_release);
  return *g_primary[index].load();
}

bool primary_context_active(int device) {
  return device >= 0 && device < 1024 && g_primary[device].load(std::memory_order_acquire);
}

void reset_primary_context(int device) {
  Context* context = g_primary[device].exchange(nullptr);
  if (context) context_pool().destroy(context);
  if (t_context == context) t_context = nullptr;
}

Stream& stream_of(const void* handle) {
  if (!handle) return current_context().default_stream();
  if (Stream* stream = stream_pool().get(handle)) return *stream;
  throw Error(code::kRtInvalidHandle, "{} is not a stream (destroyed, or never created)", handle);
}

}  // namespace updraft
