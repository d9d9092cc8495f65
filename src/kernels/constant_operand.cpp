#include "kernels/constant_operand.h"

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
  constexpr size_t kAlign = 64;
  std::lock_guard lock(mutex_);
  for (const Kept& k : kept_)
    if (same_view(k.view, view) && k.desc == wanted) return k.form;
  const size_t bytes = (wanted.get_size() + kAlign - 1) / kAlign * kAlign;
  const std::shared_ptr<std::byte> memory(static_cast<std::byte*>(std::aligned_alloc(kAlign, bytes)), std::free);
  if (!memory) throw std::bad_alloc();
  make(memory.get());
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
