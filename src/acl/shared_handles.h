// Handles of objects that calls share with tasks and with each other: a call keeps its object while another thread
// destroys the handle.
#pragma once
#include <cstdint>
#include <memory>
#include <mutex>

#include "base/handle_pool.h"

namespace updraft {

template <class T>
class SharedHandles {
 public:
  explicit SharedHandles(size_t capacity) : pool_(capacity) {}
  /// A handle rests until `rest` others were destroyed after it.
  SharedHandles(size_t capacity, size_t rest) : pool_(capacity, rest) {}

  void* create(std::shared_ptr<T> object) { return pool_.create(std::move(object)); }
  /// Null when the handle is not a live one.
  std::shared_ptr<T> find(const void* handle) {
    std::lock_guard lock(mutex_of(handle));
    const auto* object = pool_.get(handle);
    return object ? *object : nullptr;
  }
  bool destroy(const void* handle) {
    std::shared_ptr<T> last;  // goes without the lock
    std::lock_guard lock(mutex_of(handle));
    if (auto* object = pool_.get(handle)) last = *object;
    return pool_.destroy(handle);
  }

 private:
  static constexpr size_t kMutexes = 64;
  std::mutex& mutex_of(const void* handle) { return mutexes_[reinterpret_cast<uintptr_t>(handle) / 64 % kMutexes]; }

  HandlePool<std::shared_ptr<T>> pool_;
  std::mutex mutexes_[kMutexes];  // one handle's uses meet at one mutex, different handles' seldom do
};

}  // namespace updraft
