// Index tensors as kernels read them, and the failures they give.
#pragma once
#include <algorithm>

#include "base/scratch.h"
#include "kernels/element_bits.h"
#include "ops/op.h"
#include "tensor/view_algebra.h"

namespace updraft {

/// Refuses index tensors that do not hold integers.
void require_index(const Op& op, const char* name, const TensorView& index);

[[noreturn]] void index_out_of_range(int64_t index, int64_t size, int dim);

/// i, wrapped when it is negative and `wrap`; fails the stream when it does not lie in [0, size).
inline int64_t checked_index(int64_t i, int64_t size, int dim, bool wrap) {
  int64_t at = wrap && i < 0 ? i + size : i;
  if (static_cast<uint64_t>(at) >= static_cast<uint64_t>(size)) index_out_of_range(i, size, dim);
  return at;
}

/// The elements as int64 in row-major order: where they lie when they lie so, else in the scope.
const int64_t* read_indices(const TensorView& index, ScratchScope& scratch);
/// What that takes from the scope at most.
inline size_t index_bytes(const TensorView& index) {
  return index.dtype == DType::Int64 && index.is_contiguous() ? 0 : static_cast<size_t>(index.numel()) * 8;
}
/// The view where it lies when it is contiguous (and of type t), else a copy in the scope.
TensorView contiguous_in(const TensorView& v, DType t, ScratchScope& scratch);
inline TensorView contiguous_in(const TensorView& v, ScratchScope& scratch) {
  return contiguous_in(v, v.dtype, scratch);
}
inline size_t contiguous_bytes(const TensorView& v) { return v.is_contiguous() ? 0 : v.bytes(); }

/// to[i] = (or +=) index[i] * stride, checked.
void index_offsets(int64_t* to, const TensorView& index, int64_t size, int64_t stride, int dim, bool wrap, bool add);

/// Where the shape of a result goes that is known only when the work ran: into the client's handle, which the client
/// asks (aclGetViewShape) after it has waited for the stream. Made in the first phase. The client may destroy the
/// handle before the work runs: then the shape is nobody's, and no later tensor at its address gets it.
class ResultShape {
 public:
  /// A null handle is fine: nobody wants to know.
  explicit ResultShape(const aclTensor* handle) : tensor_(client_of(handle)) {}
  void set(std::initializer_list<int64_t> dims) const { set(dims.begin(), static_cast<int>(dims.size())); }
  void set(const int64_t* dims, int rank) const;

 private:
  HandleRef<aclTensor> tensor_;
};

/// Contiguous, or without elements (whose strides mean nothing).
inline bool is_dense(const TensorView& v) { return v.is_contiguous() || v.empty(); }
/// A scalar in element type t: 16 bytes of which size_of(t) count.
struct Element {
  DType dtype;
  alignas(16) unsigned char bytes[16];
  Element(DType t, const aclScalar& s);
  TensorView view() const { return TensorView::contiguous(const_cast<unsigned char*>(bytes), dtype, nullptr, 0); }
};

}  // namespace updraft
