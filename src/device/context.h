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
/// Null when there is none, or when it was destroyed.
Context* current_context_or_null();
/// Null: none.
void set_current_context(Context* context);

/// One aclrtSetDevice: the process' primary context of the device, which is made when it is the first, becomes the
/// thread's.
void retain_primary_context(int device);
/// One aclrtResetDevice. The last one waits for all streams of the device, releases the context and throws the failure
/// that the wait met. Nothing happens when the device is not in use.
void release_primary_context(int device);
/// aclrtResetDeviceForce: drops what has not started on the device's streams, and releases whatever the count.
void drop_primary_context(int device);
bool primary_context_active(int device);
bool is_primary_context(const Context* context);

/// The device of threads that have no context (aclInit's defaultDevice); negative: none.
void set_default_device(int device);

/// The stream behind a handle; null means the current context's default stream. Throws 107017 for what is no stream.
Stream& stream_of(const void* handle);

}  // namespace updraft
