// A tensor as planes: its last `spatial` dimensions, counted over the leading ones. Kernels see each plane contiguous
// in the compute type; planes that lie so in memory are used in place.
#pragma once
#include "base/parallel.h"
#include "base/scratch.h"
#include "kernels/table.h"
#include "tensor/view.h"

namespace updraft {

class Planes {
 public:
  Planes(const TensorView& v, int spatial, Compute compute);
  int64_t count() const { return count_; }
  int64_t size() const { return size_; }
  /// Plane i, in place or converted into memory of the scope.
  const void* read(int64_t i, ScratchScope& scratch) const;
  /// Where to compute plane i; store() then brings it to its place.
  void* open(int64_t i, ScratchScope& scratch) const;
  void store(int64_t i, const void* from) const;
  /// Address of plane i's first element.
  char* at(int64_t i) const;
  const TensorView& view() const { return view_; }

 private:
  TensorView view_, plane_;
  Compute compute_;
  int64_t count_ = 1, size_ = 1;
  bool direct_;
};

/// Calls body(i, scope of that plane) for every plane, in parallel; `cost` is the number of operations of one.
template <class Body>
void for_planes(int64_t count, int64_t cost, Body&& body) {
  parallel_for(count, std::max<int64_t>(1, 16384 / std::max<int64_t>(1, cost)), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      ScratchScope scratch;
      body(i, scratch);
    }
  });
}

/// out plane = fn(in plane), for all.
template <class Fn>
void map_planes(const Planes& in, const Planes& out, Fn&& fn) {
  for_planes(out.count(), in.size() + out.size(), [&](int64_t i, ScratchScope& scratch) {
    const void* from = in.read(i, scratch);
    void* to = out.open(i, scratch);
    fn(from, to);
    out.store(i, to);
  });
}

}  // namespace updraft
