// Batches of dense matrices for the routines of kernels/lapack.h.
#pragma once
#include <cstdint>
#include <vector>

#include "base/parallel.h"
#include "base/scratch.h"
#include "kernels/pipeline.h"
#include "ops/op.h"

namespace updraft::linalg {

/// The batch of matrices in the last two dimensions.
struct Batch {
  int64_t count = 1, rows = 0, columns = 0;
  explicit Batch(const TensorView& v) : rows(v.dims[v.rank - 2]), columns(v.dims[v.rank - 1]) {
    for (int d = 0; d < v.rank - 2; ++d) count *= v.dims[d];
  }
  int64_t size() const { return rows * columns; }
  int64_t least() const { return rows < columns ? rows : columns; }
  /// About the operations of a decomposition of one of them, for lapack::each(): at least 1.
  int64_t cost() const { return size() * least() > 1 ? size() * least() : 1; }
};
/// Refuses what is no matrix of numbers with a fraction, or too large for the routines.
void require_matrices(const Op& op, const char* name, const TensorView& v, bool square);
/// Inference: for each of the matrices something of these dimensions, in their type.
void suggest_each(const Op& op, const TensorView& matrices, std::initializer_list<int64_t> last, const TensorView& out);

/// The type in which matrices of type t are computed: halves in float.
inline DType computed_as(DType t) { return storage_of(compute_of(t)); }
/// Calls f.template operator()<T>() with that type; `t` is one that require_matrices accepts.
template <class F>
void visit_computed(DType t, F&& f) {
  switch (compute_of(t)) {
    case Compute::F64: return f.template operator()<double>();
    case Compute::C64: return f.template operator()<complex64>();
    case Compute::C128: return f.template operator()<complex128>();
    default: return f.template operator()<float>();
  }
}

/// Whether a NaN stands on the diagonal of a factor [n, n]: it does when one was in the matrix, and the routines do not
/// tell.
template <class T>
bool has_nan(const T* factor, int64_t n) {
  for (int64_t k = 0; k < n; ++k)
    if (factor[k * (n + 1)] != factor[k * (n + 1)]) return true;
  return false;
}

/// Elements in row-major order that a routine may overwrite.
template <class T>
T* dense_copy(const TensorView& v, ScratchScope& scratch) {
  T* x = scratch.take<T>(static_cast<size_t>(v.numel()));
  if (!v.empty()) gather_to(x, DTypeOf<T>::value, v);
  return x;
}
/// Memory for elements of `to` in row-major order: its own where it lies so, else the scope's, from which give()
/// copies.
template <class T>
struct Result {
  TensorView to;
  T* data;
  Result(const TensorView& view, ScratchScope& scratch)
      : to(view), data(direct() ? view.as<T>() : scratch.take<T>(static_cast<size_t>(view.numel()))) {}
  bool direct() const { return to.dtype == DTypeOf<T>::value && to.is_contiguous(); }
  void give() const {
    if (!to.empty() && !direct()) copy_elements(to, TensorView::contiguous(data, DTypeOf<T>::value, to.dims, to.rank));
  }
};
/// Bytes that Result takes at most.
inline size_t result_bytes(const TensorView& v) {
  const DType t = computed_as(v.dtype);
  return v.dtype == t && v.is_contiguous() ? 0 : static_cast<size_t>(v.numel()) * size_of(t);
}
inline size_t copy_bytes(const TensorView& v) { return static_cast<size_t>(v.numel()) * size_of(computed_as(v.dtype)); }

inline std::vector<double> gather(const TensorView& v) {
  std::vector<double> x(static_cast<size_t>(v.numel()));
  if (!x.empty()) gather_to(x.data(), DType::Double, v);
  return x;
}
inline void scatter(const TensorView& to, const std::vector<double>& x) {
  if (!to.empty())
    copy_elements(to, TensorView::contiguous(const_cast<double*>(x.data()), DType::Double, to.dims, to.rank));
}

}  // namespace updraft::linalg
