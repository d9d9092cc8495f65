// Objects behind the opaque handles of the C interface. They live in one reserved range a type and are never unmapped,
// so a foreign pointer is recognised by range and alignment, and a stale one by the state of its slot, without a table.
//
// A handle is the address of its object, so a slot that is used again gives an old handle a new meaning. Two things
// keep that apart. A slot rests after its object is gone, until `rest` others have been given back after it: a client
// that uses a handle after destroying it is told so. And each slot counts its objects: library code that keeps a handle
// for later keeps a HandleRef, which is good for that one object and no other.
#pragma once
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <new>
#include <thread>
#include <utility>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#include <sanitizer/lsan_interface.h>
#define UPDRAFT_LEAK_CHECKER
#endif
#endif

namespace updraft {

/// LeakSanitizer does not look into memory of mmap: what only an object of a pool points to would count as lost.
inline void keep_from_leak_checker([[maybe_unused]] const void* p, [[maybe_unused]] size_t bytes) {
#ifdef UPDRAFT_LEAK_CHECKER
  __lsan_register_root_region(p, bytes);
#endif
}

/// One object of a pool, and no later one at the same address. HandlePool::get(ref) says whether it is still there.
template <class T>
struct HandleRef {
  T* object = nullptr;
  uint32_t generation = 0;  ///< never that of a free slot, unless the ref is empty

  /// The address, whether or not the object is still there.
  operator T*() const { return object; }
  T* operator->() const { return object; }
};

/// All objects of a pool are in use. Any other std::bad_alloc of create() says that the process has no more memory.
struct PoolFull : std::bad_alloc {};

template <class T>
class HandlePool {
 public:
  using Ref = HandleRef<T>;

  /// Reserves address space for `capacity` objects. It becomes memory in steps as they are used, because a limit of the
  /// process's data (ulimit -d) counts all that may be written.
  explicit HandlePool(size_t capacity, size_t rest = kRest)
      : capacity_(capacity),
        rest_(std::min(rest, capacity / 4)),
        reserved_((capacity * sizeof(Slot) + kStepBytes - 1) / kStepBytes * kStepBytes) {
    void* p = mmap(nullptr, reserved_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
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
    slot->state.store(slot->state.load(std::memory_order_relaxed) | kLive, std::memory_order_release);
    return object;
  }

  /// True exactly once for a live handle; the object is gone then. Waits while somebody is inside locked() with it.
  bool destroy(const void* handle) {
    Slot* slot = find(handle);
    return slot && destroy(slot, slot->state.load(std::memory_order_relaxed) & ~kLocked);
  }
  bool destroy(Ref ref) {
    Slot* slot = find(ref.object);
    return slot && destroy(slot, ref.generation);
  }

  /// The object, or null when the handle is not a live one of this pool.
  T* get(const void* handle) const {
    Slot* slot = find(handle);
    return slot && slot->state.load(std::memory_order_acquire) & kLive ? object_of(slot) : nullptr;
  }
  T* get(Ref ref) const {
    Slot* slot = find(ref.object);
    return slot && (slot->state.load(std::memory_order_acquire) & ~kLocked) == ref.generation && ref.generation & kLive
               ? object_of(slot)
               : nullptr;
  }

  /// What library code keeps instead of a handle; empty when the handle is not a live one.
  Ref ref(const void* handle) const {
    Slot* slot = find(handle);
    const uint32_t state = slot ? slot->state.load(std::memory_order_acquire) & ~kLocked : 0;
    return state & kLive ? Ref{object_of(slot), state} : Ref{};
  }

  /// Calls f(T&) while nobody else is inside locked() with the object and it cannot be destroyed; false when it is
  /// gone. For a few instructions: others wait by yielding.
  template <class F>
  bool locked(Ref ref, F&& f) const {
    Slot* slot = find(ref.object);
    if (!slot || !(ref.generation & kLive)) return false;
    uint32_t state = ref.generation;
    while (!slot->state.compare_exchange_weak(state, ref.generation | kLocked, std::memory_order_acq_rel)) {
      if ((state & ~kLocked) != ref.generation) return false;
      if (state & kLocked) std::this_thread::yield();
      state = ref.generation;
    }
    struct Unlock {
      std::atomic<uint32_t>& state;
      uint32_t generation;
      ~Unlock() { state.store(generation, std::memory_order_release); }
    } unlock{slot->state, ref.generation};
    f(*object_of(slot));
    return true;
  }

 private:
  static constexpr size_t kRest = 256;
  static constexpr size_t kStepBytes = size_t{1} << 20;
  // A state is the number of objects that the slot has had, times kStep, and these bits.
  static constexpr uint32_t kLive = 1, kLocked = 2, kStep = 4;
  struct Slot {
    alignas(alignof(T) > 16 ? alignof(T) : 16) unsigned char storage[sizeof(T)];
    std::atomic<uint32_t> state;
    uint32_t next;  ///< of the free slots: its number + 1, 0 for the last
  };

  static T* object_of(Slot* slot) { return std::launder(reinterpret_cast<T*>(slot->storage)); }

  Slot* find(const void* handle) const {
    auto base = reinterpret_cast<uintptr_t>(slots_), p = reinterpret_cast<uintptr_t>(handle);
    if (p < base || p >= base + used_.load(std::memory_order_acquire) * sizeof(Slot)) return nullptr;
    return (p - base) % sizeof(Slot) == 0 ? slots_ + (p - base) / sizeof(Slot) : nullptr;
  }

  bool destroy(Slot* slot, uint32_t generation) {
    if (!(generation & kLive)) return false;
    uint32_t state = generation;
    while (!slot->state.compare_exchange_weak(state, generation - kLive + kStep, std::memory_order_acq_rel)) {
      if ((state & ~kLocked) != generation) return false;
      if (state & kLocked) std::this_thread::yield();
      state = generation;
    }
    object_of(slot)->~T();
    give_back(slot);
    return true;
  }

  // Slots that a thread took for later, and that it has not given back yet: large pools are locked once for kBatch of
  // them. A thread has one of these for each type, of the first pool that it uses.
  static constexpr uint32_t kBatch = 32;
  static constexpr size_t kBatched = size_t{1} << 20;  // capacity from which on that is worth it
  struct Batch {
    HandlePool* pool = nullptr;
    bool over = false;  ///< the thread is ending
    uint32_t ready = 0, back = 0;
    Slot* taken[kBatch] = {};
    Slot* given[kBatch] = {};
  };
  // Apart from the batch, so that this one needs no check of its construction at each use.
  struct Ending {
    Batch* own;
    ~Ending() {
      own->over = true;
      own->pool->collect(*own);
      own->pool = nullptr;
    }
  };
  Batch* batch() {
    Batch& own = own_;
    return own.pool == this ? &own : begin(own);
  }
  [[gnu::cold]] Batch* begin(Batch& own) {
    if (capacity_ < kBatched || own.pool || own.over) return nullptr;
    own.pool = this;
    thread_local Ending ending{&own};
    return &own;
  }

  Slot* take() {
    Batch* own = batch();
    if (own && own->ready) return own->taken[--own->ready];
    std::lock_guard lock(mutex_);
    if (own)
      while (own->ready < kBatch && free_ > rest_) own->taken[own->ready++] = oldest();
    if (own && own->ready) return own->taken[--own->ready];
    const size_t used = used_.load(std::memory_order_relaxed);
    if (free_ > rest_ || (used == capacity_ && free_)) return oldest();
    if (used == capacity_) throw PoolFull();
    if ((used + 1) * sizeof(Slot) > writable_) make_writable((used + 1) * sizeof(Slot));
    used_.store(used + 1, std::memory_order_release);
    keep_from_leak_checker(slots_ + used, sizeof(Slot));
    return slots_ + used;
  }

  [[gnu::cold]] void make_writable(size_t bytes) {
    char* base = reinterpret_cast<char*>(slots_);
    const size_t end = (bytes + kStepBytes - 1) / kStepBytes * kStepBytes;
    if (mprotect(base + writable_, end - writable_, PROT_READ | PROT_WRITE) != 0) throw std::bad_alloc();
    writable_ = end;
  }

  void give_back(Slot* slot) {
    Batch* own = batch();
    if (own) {
      own->given[own->back++] = slot;
      if (own->back < kBatch) return;
    }
    std::lock_guard lock(mutex_);
    if (!own) return add(slot);
    for (uint32_t i = 0; i < own->back; ++i) add(own->given[i]);
    own->back = 0;
  }

  void collect(Batch& own) {
    std::lock_guard lock(mutex_);
    while (own.ready) add(own.taken[--own.ready]);
    for (uint32_t i = 0; i < own.back; ++i) add(own.given[i]);
    own.back = 0;
  }

  // With the lock: the slot that has been free for longest, and one more that is free.
  Slot* oldest() {
    Slot* slot = slots_ + (first_ - 1);
    first_ = slot->next;
    if (--free_ == 0) last_ = 0;
    return slot;
  }
  void add(Slot* slot) {
    const auto number = static_cast<uint32_t>(slot - slots_) + 1;
    slot->next = 0;
    (last_ ? slots_[last_ - 1].next : first_) = number;
    last_ = number;
    ++free_;
  }

  static inline constinit thread_local Batch own_;
  const size_t capacity_, rest_, reserved_;
  Slot* slots_;
  std::atomic<size_t> used_{0};
  std::mutex mutex_;
  size_t writable_ = 0;  ///< bytes from the first slot on
  size_t free_ = 0;
  uint32_t first_ = 0, last_ = 0;  ///< free slots in the order in which they became free: numbers + 1
};

}  // namespace updraft
