#include "migrate/syntax/pool.h"

#include <tree_sitter/api.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

namespace updraft::migrate::syntax {
namespace {

constexpr std::size_t kStep = 32, kClasses = 32;  // pieces up to 1 KiB; larger ones are malloc's
constexpr std::size_t kChunk = 256 << 10;

/// In front of each piece; keeps what follows aligned.
struct alignas(16) Header {
  std::uint32_t size_class;  // kClasses: of malloc
  std::size_t size;
};

[[noreturn]] void exhausted() { std::abort(); }  // as tree-sitter's own allocator

class Pool {
 public:
  Header* take(std::size_t size_class) {
    if (Free* piece = free_[size_class]) {
      free_[size_class] = piece->next;
      return reinterpret_cast<Header*>(piece);
    }
    const std::size_t bytes = sizeof(Header) + (size_class + 1) * kStep;
    if (left_ < bytes) {
      chunks_.push_back(std::make_unique_for_overwrite<std::byte[]>(kChunk));
      at_ = chunks_.back().get();
      left_ = kChunk;
    }
    auto* piece = reinterpret_cast<Header*>(at_);
    at_ += bytes;
    left_ -= bytes;
    return piece;
  }

  void give(Header* header, std::size_t size_class) {
    auto* piece = reinterpret_cast<Free*>(header);
    piece->next = free_[size_class];
    free_[size_class] = piece;
  }

 private:
  struct Free {
    Free* next;
  };
  std::array<Free*, kClasses> free_{};
  std::vector<std::unique_ptr<std::byte[]>> chunks_;
  std::byte* at_ = nullptr;
  std::size_t left_ = 0;
};

Pool& pool() {
  thread_local Pool instance;
  return instance;
}

void* allocate(std::size_t size) {
  const std::size_t size_class = size == 0 ? 0 : (size - 1) / kStep;
  Header* header = nullptr;
  if (size_class < kClasses) {
    header = pool().take(size_class);
    header->size_class = static_cast<std::uint32_t>(size_class);
  } else {
    header = static_cast<Header*>(std::malloc(sizeof(Header) + size));
    if (!header) exhausted();
    header->size_class = kClasses;
  }
  header->size = size;
  return header + 1;
}

void* allocate_zeroed(std::size_t count, std::size_t size) {
  if (size != 0 && count > SIZE_MAX / size) exhausted();
  return std::memset(allocate(count * size), 0, count * size);
}

void release(void* piece) {
  if (!piece) return;
  Header* header = static_cast<Header*>(piece) - 1;
  if (header->size_class == kClasses) std::free(header);
  else pool().give(header, header->size_class);
}

void* reallocate(void* piece, std::size_t size) {
  if (!piece) return allocate(size);
  Header* header = static_cast<Header*>(piece) - 1;
  if (header->size_class < kClasses && size <= (header->size_class + 1) * kStep) {
    header->size = size;
    return piece;
  }
  if (header->size_class == kClasses && size > kClasses * kStep) {
    auto* grown = static_cast<Header*>(std::realloc(header, sizeof(Header) + size));
    if (!grown) exhausted();
    grown->size = size;
    return grown + 1;
  }
  void* fresh = allocate(size);
  std::memcpy(fresh, piece, std::min(size, header->size));
  release(piece);
  return fresh;
}

}  // namespace

void use_pool() { ts_set_allocator(allocate, allocate_zeroed, reallocate, release); }

}  // namespace updraft::migrate::syntax
