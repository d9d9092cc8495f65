// Contexts: a device and its default stream, current in a thread.
#pragma once
#include <atomic>
#include <memory>

#include "base/handle_pool.h"

namespace updraft {

class Device;
class Stream;

class Context {
 public:
  explicit Context(Device& device) : device_(device) {}
  ~Context();
  Device& device() const { return device_; }
  /// Created on first use.
  Stream& default_stream();

 private:
  Device& device_;
  std::atomic<Stream*> stream_{nullptr};
};

HandlePool<Context>& context_pool();

/// The thread's context; throws 107002 that says what to call when there is none.
Context& current_context();
/// Null when there is none.
Context* current_context_or_null();
void set_current_context(Context* context);
/// The context that aclrtSetDevice makes current: one a device and process.
Context& primary_context(int device);
bool primary_context_active(int device);
/// Drops the primary context of the device (aclrtResetDevice).
void reset_primary_context(int device);

/// The stream behind a handle; null means the current context's default stream. Throws 107017 for what is no stream.
Stream& stream_of(const void* handle);

}  // namespace updraft
