#include "kernels/planes.h"

#include "kernels/onednn.h"

namespace updraft {

void* plane_buffer(int slot, size_t bytes) { return onednn::scratch(8 + slot, bytes); }

Planes::Planes(const TensorView& v, int spatial, Compute compute) : view_(v), plane_(v), compute_(compute) {
  const int outer = v.rank - spatial;
  plane_.rank = spatial;
  std::copy_n(v.dims + outer, spatial, plane_.dims);
  std::copy_n(v.strides + outer, spatial, plane_.strides);
  for (int d = 0; d < outer; ++d) count_ *= v.dims[d];
  size_ = plane_.numel();
  view_.rank = outer;  // what at() walks
  direct_ = v.dtype == storage_of(compute) && plane_.is_contiguous();
}

char* Planes::at(int64_t i) const {
  return view_.as<char>() + view_.offset_of(i) * static_cast<int64_t>(size_of(view_.dtype));
}

const void* Planes::read(int64_t i, int slot) const {
  if (direct_) return at(i);
  char* buffer = static_cast<char*>(plane_buffer(slot, static_cast<size_t>(size_) * size_of(compute_)));
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

void* Planes::open(int64_t i, int slot) const {
  return direct_ ? at(i) : plane_buffer(slot, static_cast<size_t>(size_) * size_of(compute_));
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
