// oneDNN as the kernels use it: one CPU engine, and primitives kept by what they were made for.
#pragma once
#include <algorithm>
#include <dnnl.hpp>
#include <initializer_list>
#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/parallel.h"
#include "base/scratch.h"
#include "tensor/view.h"

namespace updraft::onednn {

const dnnl::engine& engine();
/// The calling thread's stream.
dnnl::stream& stream();
/// undef for types that oneDNN does not compute.
dnnl::memory::data_type type_of(DType t);
/// The CPU multiplies bfloat16 numbers itself.
bool native_bf16();

/// A primitive, and the memory objects that it is called with: making them takes as long as a small product, so they
/// are kept, one set for each thread that calls at the same time. Copies share them.
class Primitive {
 public:
  struct Description {
    int name;  ///< DNNL_ARG_…
    dnnl::memory::desc desc;
  };
  struct Argument {
    int name;
    const void* data;
  };

  Primitive() = default;
  /// `arguments`: all that it is given each time, but the scratchpad.
  Primitive(dnnl::primitive made, std::vector<Description> arguments, const dnnl::memory::desc& scratchpad);
  explicit operator bool() const { return static_cast<bool>(shared_); }

  /// Returns when it has run.
  void run(std::span<const Argument> arguments) const;
  void run(std::initializer_list<Argument> arguments) const {
    run(std::span<const Argument>(arguments.begin(), arguments.size()));
  }
  /// What a call takes in the thread that makes it.
  size_t scratch_bytes() const;

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
};

/// Brings data from one layout (or type) to another. Made like a primitive.
class Reorder {
 public:
  Reorder(const dnnl::memory::desc& from, const dnnl::memory::desc& to);
  void run(const void* from, void* to) const { primitive_.run({{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}}); }

 private:
  Primitive primitive_;
};

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
  /// Type, sizes and strides of a view.
  Key& add_view(const TensorView& v);
  std::span<const int64_t> numbers() const { return {numbers_, count_}; }
  size_t hash() const { return hash_; }

 private:
  static constexpr size_t kMost = 128;
  void append(int64_t v) {
    if (count_ == kMost) too_long();
    numbers_[count_++] = v;
    hash_ = (hash_ ^ static_cast<size_t>(v)) * 0x9e3779b97f4a7c15u;
    hash_ ^= hash_ >> 29;
  }
  [[noreturn]] static void too_long();

  int64_t numbers_[kMost];
  size_t count_ = 0;
  size_t hash_ = 0;
};

/// Primitives (and what belongs to them) by key: made once, shared between threads. A hit allocates nothing. There are
/// two lists, the last used first, each with a limit at which the one that was not used for the longest time is
/// dropped; who uses it keeps it. New ones stand in the first list; what is asked for again and again (planning and
/// running an operator once asks twice) moves to the second. So shapes that change from step to step drop one another,
/// and those that are in use stay.
template <class T>
class Cache {
 public:
  explicit Cache(size_t new_limit = 512, size_t used_limit = 1536) : limits_{new_limit, used_limit} {}

  std::shared_ptr<const T> get(const Key& key, FunctionRef<T()> make) {
    {
      std::lock_guard lock(mutex_);
      if (auto found = find(key)) return found;
    }
    auto made = std::make_shared<const T>(make());
    std::shared_ptr<const T> dropped;  // destroyed without the lock
    std::lock_guard lock(mutex_);
    if (auto found = find(key)) return found;  // another thread was faster
    List& fresh = lists_[0];
    const auto numbers = key.numbers();
    fresh.push_front({{numbers.begin(), numbers.end()}, key.hash(), std::move(made), 1, 0});
    places_.emplace(Place{fresh.front().key, key.hash()}, fresh.begin());
    if (fresh.size() > limits_[0]) dropped = drop_oldest(fresh);
    return fresh.front().value;
  }
  size_t size() {
    std::lock_guard lock(mutex_);
    return lists_[0].size() + lists_[1].size();
  }

 private:
  struct Entry {
    std::vector<int64_t> key;
    size_t hash;
    std::shared_ptr<const T> value;
    int uses;
    int list;
  };
  using List = std::list<Entry>;
  /// The key of an entry, or one to look for.
  struct Place {
    std::span<const int64_t> key;
    size_t hash;
    bool operator==(const Place& o) const { return std::ranges::equal(key, o.key); }
  };
  struct HashOf {
    size_t operator()(const Place& p) const { return p.hash; }
  };

  static constexpr int kOften = 3;  // uses

  std::shared_ptr<const T> find(const Key& key) {
    const auto it = places_.find(Place{key.numbers(), key.hash()});
    if (it == places_.end()) return nullptr;
    Entry& entry = *it->second;
    const int from = entry.list;
    if (from == 0 && ++entry.uses >= kOften) entry.list = 1;
    List& to = lists_[entry.list];
    to.splice(to.begin(), lists_[from], it->second);
    // What falls out of the second list is as good as new.
    if (to.size() > limits_[entry.list]) {
      List& fresh = lists_[0];
      fresh.splice(fresh.begin(), to, std::prev(to.end()));
      fresh.front().list = 0;
      fresh.front().uses = 1;
    }
    return entry.value;
  }
  std::shared_ptr<const T> drop_oldest(List& list) {
    Entry& oldest = list.back();
    auto value = std::move(oldest.value);
    places_.erase(Place{oldest.key, oldest.hash});
    list.pop_back();
    return value;
  }

  const size_t limits_[2];
  std::mutex mutex_;
  List lists_[2];  ///< new ones, and those that are used often
  std::unordered_map<Place, typename List::iterator, HashOf> places_;
};

}  // namespace updraft::onednn
