// oneDNN as the kernels use it: one CPU engine, primitives kept by what they were made for, scratch memory a thread.
#pragma once
#include <dnnl.hpp>

#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "tensor/dtype.h"

namespace updraft::onednn {

const dnnl::engine& engine();
/// The calling thread's stream.
dnnl::stream& stream();
/// undef for types that oneDNN does not compute.
dnnl::memory::data_type type_of(DType t);

/// Scratch memory of the calling thread, at least `bytes`, 64-byte aligned; `slot` tells buffers of one kernel apart.
void* scratch(int slot, size_t bytes);

/// A key made of the numbers that a primitive depends on. The threads that oneDNN may use are one of them: a primitive
/// divides its work when it is made.
class Key {
 public:
  Key();
  template <class... T>
  Key& add(T... values) {
    (append(static_cast<int64_t>(values)), ...);
    return *this;
  }
  const std::string& text() const { return text_; }

 private:
  void append(int64_t v) { text_.append(reinterpret_cast<const char*>(&v), sizeof v); }
  std::string text_;
};

/// Primitives (and what belongs to them) by key; made once, shared between threads, the oldest half is dropped at a
/// limit.
template <class T>
class Cache {
 public:
  std::shared_ptr<const T> get(const Key& key, const std::function<T()>& make) {
    {
      std::lock_guard lock(mutex_);
      auto it = entries_.find(key.text());
      if (it != entries_.end()) return it->second;
    }
    auto made = std::make_shared<const T>(make());
    std::lock_guard lock(mutex_);
    if (entries_.size() > 4096) entries_.clear();
    return entries_.emplace(key.text(), std::move(made)).first->second;
  }

 private:
  std::mutex mutex_;
  std::unordered_map<std::string, std::shared_ptr<const T>> entries_;
};

}  // namespace updraft::onednn
