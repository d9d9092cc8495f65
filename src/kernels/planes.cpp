#include "kernels/planes.h"

#include "tensor/view_algebra.h"

namespace updraft {

Planes::Planes(const TensorView& v, int spatial, Compute compute)
    : view_(first_dims(v, v.rank - spatial)), plane_(last_dims(v, spatial)), compute_(compute) {
  count_ = view_.numel();
  size_ = plane_.numel();
  direct_ = v.dtype == storage_of(compute) && plane_.is_contiguous();
}

char* Planes::at(int64_t i) const { return at_element(view_, view_.offset_of(i)); }

const void* Planes::read(int64_t i, ScratchScope& scratch) const {
  if (direct_) return at(i);
  char* buffer = scratch.take<char>(static_cast<size_t>(size_) * size_of(compute_));
  TensorView plane = plane_;
  plane.data = at(i);
  const LoadFn load = kernels().load[static_cast<int>(view_.dtype)][static_cast<int>(compute_)];
  const TensorView* views[] = {&plane};
  const StridedLoop<1> loop(views);
  const int64_t width = static_cast<int64_t>(size_of(compute_)), size = static_cast<int64_t>(size_of(view_.dtype));
  loop.rows(0, size_, [&](const int64_t(&offset)[1], int64_t linear, int64_t n) {
    load(buffer + linear * width, plane.as<char>() + offset[0] * size, loop.strides[0][loop.rank - 1], n);
  });
  return buffer;
}

void* Planes::open(int64_t i, ScratchScope& scratch) const {
  return direct_ ? at(i) : scratch.take(static_cast<size_t>(size_) * size_of(compute_));
}

void Planes::store(int64_t i, const void* from) const {
  if (direct_) return;
  TensorView plane = plane_;
  plane.data = at(i);
  const StoreFn put = kernels().store[static_cast<int>(compute_)][static_cast<int>(view_.dtype)];
  const TensorView* views[] = {&plane};
  const StridedLoop<1> loop(views);
  const int64_t width = static_cast<int64_t>(size_of(compute_)), size = static_cast<int64_t>(size_of(view_.dtype));
  loop.rows(0, size_, [&](const int64_t(&offset)[1], int64_t linear, int64_t n) {
    put(plane.as<char>() + offset[0] * size, loop.strides[0][loop.rank - 1],
        static_cast<const char*>(from) + linear * width, n);
  });
}

}  // namespace updraft
