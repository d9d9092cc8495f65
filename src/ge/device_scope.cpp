#include "ge/device_scope.h"

#include "device/context.h"
#include "device/device.h"
#include "ge/status.h"

namespace ge {

SessionDevice::~SessionDevice() {
  if (context_) status("Session::~Session", [&] { updraft::release_primary_context(number); });
}

updraft::Context* SessionDevice::retained() {
  std::lock_guard lock(mutex_);
  if (!context_) {
    updraft::retain_primary_context(number);
    context_ = &updraft::current_context();
  }
  return context_;
}

SessionDevice::Scope::Scope(SessionDevice& device) : before_(updraft::current_context_or_null()) {
  if (before_ && &before_->device() == &updraft::Device::get(device.number)) return;
  updraft::set_current_context(device.retained());
  changed_ = true;
}

SessionDevice::Scope::~Scope() {
  if (changed_) updraft::set_current_context(before_);
}

}  // namespace ge
