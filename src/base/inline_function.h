// A callable stored in place: the work of a task. Steady state allocates nothing, so the buffer is generous;
// what does not fit goes to the heap.
#pragma once
#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

namespace updraft {

template <size_t Capacity, class... Args>
class InlineFunction {
 public:
  InlineFunction() = default;
  InlineFunction(const InlineFunction&) = delete;
  ~InlineFunction() { reset(); }

  template <class F>
  void emplace(F&& f) {
    using Fn = std::decay_t<F>;
    reset();
    if constexpr (sizeof(Fn) <= Capacity && alignof(Fn) <= 64) {
      object_ = new (buffer_) Fn(std::forward<F>(f));
      destroy_ = [](void* o) { static_cast<Fn*>(o)->~Fn(); };
    } else {
      object_ = new Fn(std::forward<F>(f));
      destroy_ = [](void* o) { delete static_cast<Fn*>(o); };
    }
    call_ = [](void* o, Args... args) { (*static_cast<Fn*>(o))(static_cast<Args>(args)...); };
  }

  void operator()(Args... args) { call_(object_, static_cast<Args>(args)...); }
  explicit operator bool() const { return call_ != nullptr; }

  /// What is inside, which must be an Fn.
  template <class Fn>
  Fn* target() {
    return static_cast<Fn*>(object_);
  }

  void reset() {
    if (destroy_) destroy_(object_);
    object_ = nullptr;
    call_ = nullptr;
    destroy_ = nullptr;
  }

 private:
  alignas(64) unsigned char buffer_[Capacity];
  void* object_ = nullptr;
  void (*call_)(void*, Args...) = nullptr;
  void (*destroy_)(void*) = nullptr;
};

}  // namespace updraft
