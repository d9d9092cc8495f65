// Part of Updraft: a software implementation of the interfaces that Ascend programs use.
/** @file
 * Memory that a client gives to the graph engine.
 */
#ifndef UPDRAFT_GE_GE_ALLOCATOR_H_
#define UPDRAFT_GE_GE_ALLOCATOR_H_

#include <cstddef>

namespace ge {

class Allocator;

/** A piece of an allocator's memory. */
class MemBlock {
 public:
  MemBlock(Allocator& allocator, void* address, size_t size) : allocator_(allocator), address_(address), size_(size) {}
  virtual ~MemBlock() = default;
  const void* GetAddr() const { return address_; }
  void* GetAddr() { return address_; }
  size_t GetSize() const { return size_; }
  void SetSize(size_t size) { size_ = size; }
  /** Gives it back when nobody else has it. */
  void Free();
  size_t AddCount() { return ++count_; }
  size_t SubCount() { return --count_; }
  size_t GetCount() const { return count_; }

 private:
  Allocator& allocator_;
  void* address_;
  size_t count_ = 1;
  size_t size_;
};

/** What a client implements. */
class Allocator {
 public:
  Allocator() = default;
  virtual ~Allocator() = default;
  /** Null when there is no memory. */
  virtual MemBlock* Malloc(size_t size) = 0;
  virtual void Free(MemBlock* block) = 0;
  /** The same, at `address` if that is possible. */
  virtual MemBlock* MallocAdvise(size_t size, void* address) {
    (void)address;
    return Malloc(size);
  }
};

inline void MemBlock::Free() {
  if (count_ > 0 && --count_ == 0) allocator_.Free(this);
}

}  // namespace ge

#endif  // UPDRAFT_GE_GE_ALLOCATOR_H_
