// The device of a session as the calling thread's, for programs that never call aclrtSetDevice.
#pragma once
#include <mutex>

namespace updraft {
class Context;
}

namespace ge {

/// The use that a session makes of its device's context, from its first run on.
class SessionDevice {
 public:
  SessionDevice() = default;
  SessionDevice(const SessionDevice&) = delete;
  ~SessionDevice();

  int number = 0;

  /// While it lives, the thread's context is one of the device: its own, or else the session's.
  class Scope {
   public:
    explicit Scope(SessionDevice& device);
    ~Scope();
    Scope(const Scope&) = delete;

   private:
    bool changed_ = false;
    updraft::Context* before_ = nullptr;
  };

 private:
  updraft::Context* retained();

  std::mutex mutex_;
  updraft::Context* context_ = nullptr;
};

}  // namespace ge
