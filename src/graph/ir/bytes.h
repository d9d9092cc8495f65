// Bytes that stay as they are: constants of graphs, text of models. Whoever holds them shares them.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace updraft::graph {

class Bytes {
 public:
  Bytes() = default;
  /// `size` bytes at `data`, which live as long as `owner` does: a mapped file, a client's message.
  Bytes(std::shared_ptr<const void> owner, const void* data, size_t size)
      : owner_(std::move(owner)), data_(static_cast<const std::byte*>(data)), size_(size) {}

  static Bytes copy_of(const void* data, size_t size);
  /// A file, mapped. Throws 100003 with its name when it cannot be read or is empty.
  static Bytes of_file(const std::string& path);
  /// New bytes, which fill(to) writes; `to` is aligned for every element type and for vectors.
  template <class F>
  static Bytes make(size_t size, F&& fill) {
    std::byte* to = nullptr;
    Bytes made = allocate(size, to);
    fill(to);
    return made;
  }

  const std::byte* data() const { return data_; }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  std::string_view text() const { return {reinterpret_cast<const char*>(data_), size_}; }
  std::span<const std::byte> span() const { return {data_, size_}; }
  /// The same bytes where they can be read as elements of every type, else a copy that can: what lies in a message lies
  /// anywhere.
  Bytes aligned() const {
    return reinterpret_cast<uintptr_t>(data_) % alignof(double) == 0 ? *this : copy_of(data_, size_);
  }
  /// A part of them, with the same owner.
  Bytes part(size_t offset, size_t size) const { return {owner_, data_ + offset, size}; }

 private:
  static Bytes allocate(size_t size, std::byte*& to);

  std::shared_ptr<const void> owner_;
  const std::byte* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace updraft::graph
