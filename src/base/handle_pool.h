// Objects behind the opaque handles of the C interface. They live in one reserved range a type and are never
// unmapped, so a stale or foreign pointer is recognised by range, alignment and liveness without a table.
#pragma once
#include <sys/mman.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

namespace updraft {

template <class T>
class HandlePool {
 public:
  /// Reserves address space for `capacity` objects; pages are committed as they are used.
  explicit HandlePool(size_t capacity) : capacity_(capacity) {
    void* p = mmap(nullptr, capacity * sizeof(Slot), PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) throw std::bad_alloc();
    slots_ = static_cast<Slot*>(p);
  }
  HandlePool(const HandlePool&) = delete;

  template <class... Args>
  T* create(Args&&... args) {
    Slot* slot = take();
    T* object = nullptr;
    try {
      object = new (slot->storage) T(std::forward<Args>(args)...);
    } catch (...) {
      give_back(slot);
      throw;
    }
    slot->live.store(kLive, std::memory_order_release);
    return object;
  }

  /// True exactly once for a live handle; the object is gone then.
  bool destroy(const void* handle) {
    Slot* slot = find(handle);
    uint32_t live = kLive;
    if (!slot || !slot->live.compare_exchange_strong(live, 0)) return false;
    std::launder(reinterpret_cast<T*>(slot->storage))->~T();
    give_back(slot);
    return true;
  }

  /// The object, or null when the handle is not a live one of this pool.
  T* get(const void* handle) const {
    Slot* slot = find(handle);
    return slot && slot->live.load(std::memory_order_acquire) == kLive
               ? std::launder(reinterpret_cast<T*>(slot->storage))
               : nullptr;
  }

  template <class F>
  void for_each(F&& f) {
    size_t used = used_.load(std::memory_order_acquire);
    for (size_t i = 0; i < used; ++i)
      if (slots_[i].live.load(std::memory_order_acquire) == kLive)
        f(*std::launder(reinterpret_cast<T*>(slots_[i].storage)));
  }

 private:
  static constexpr uint32_t kLive = 0x4c495645;
  struct Slot {
    alignas(alignof(T) > 16 ? alignof(T) : 16) unsigned char storage[sizeof(T)];
    std::atomic<uint32_t> live;
  };

  Slot* find(const void* handle) const {
    auto base = reinterpret_cast<uintptr_t>(slots_), p = reinterpret_cast<uintptr_t>(handle);
    if (p < base || p >= base + used_.load(std::memory_order_acquire) * sizeof(Slot)) return nullptr;
    return (p - base) % sizeof(Slot) == 0 ? slots_ + (p - base) / sizeof(Slot) : nullptr;
  }

  Slot* take() {
    std::lock_guard lock(mutex_);
    if (!free_.empty()) {
      Slot* slot = free_.back();
      free_.pop_back();
      return slot;
    }
    size_t i = used_.load(std::memory_order_relaxed);
    if (i == capacity_) throw std::bad_alloc();
    used_.store(i + 1, std::memory_order_release);
    return slots_ + i;
  }

  void give_back(Slot* slot) {
    std::lock_guard lock(mutex_);
    free_.push_back(slot);
  }

  size_t capacity_;
  Slot* slots_;
  std::atomic<size_t> used_{0};
  std::mutex mutex_;
  std::vector<Slot*> free_;
};

}  // namespace updraft
