#include "kernels/constant_operand.h"

#include <sys/mman.h>

#include <cstdlib>
#include <new>

namespace updraft {
namespace {

bool same_view(const TensorView& a, const TensorView& b) {
  return a.data == b.data && a.dtype == b.dtype && a.same_shape(b) &&
         std::equal(a.strides, a.strides + a.rank, b.strides);
}

}  // namespace

ConstantOperand::Form ConstantOperand::form(const TensorView& view, const dnnl::memory::desc& wanted,
                                            FunctionRef<void(std::byte* to)> make) {
  constexpr size_t kLine = 64, kHugePage = 2 << 20;
  std::lock_guard lock(mutex_);
  for (const Kept& k : kept_)
    if (same_view(k.view, view) && k.desc == wanted) return k.form;
  if (source_) source_->before(view.data, view.bytes());
  const size_t bytes = (wanted.get_size() + kLine - 1) / kLine * kLine;
  const size_t align = bytes < kHugePage ? kLine : kHugePage;
  const std::shared_ptr<std::byte> memory(
      static_cast<std::byte*>(std::aligned_alloc(align, (bytes + align - 1) / align * align)), std::free);
  if (!memory) throw std::bad_alloc();
  // most of the time that loading a large model takes would go into page faults
  if (align == kHugePage) madvise(memory.get(), bytes, MADV_HUGEPAGE);
  make(memory.get());
  if (source_) source_->after(view.data, view.bytes());
  kept_.push_back({view, wanted, memory});
  bytes_ += bytes;
  ++made_;
  return memory;
}

void ConstantOperand::changed() {
  std::vector<Kept> dropped;  // freed without the lock
  std::lock_guard lock(mutex_);
  dropped.swap(kept_);
  bytes_ = 0;
}

size_t ConstantOperand::bytes() const {
  std::lock_guard lock(mutex_);
  return bytes_;
}

int64_t ConstantOperand::made() const {
  std::lock_guard lock(mutex_);
  return made_;
}

}  // namespace updraft
