// Small operands as rows of plain numbers: what routing and quantising operators read and write whole.
#pragma once
#include <cstdint>
#include <vector>

#include "kernels/pipeline.h"
#include "ops/arguments.h"

namespace updraft {

/// The elements in row-major order, as T.
template <class T>
std::vector<T> gathered(const TensorView& v) {
  std::vector<T> x(static_cast<size_t>(v.numel()));
  if (!x.empty()) gather_to(x.data(), DTypeOf<T>::value, v);
  return x;
}
inline std::vector<float> floats_of(const TensorView& v) { return gathered<float>(v); }
inline std::vector<int64_t> integers_of(const TensorView& v) { return gathered<int64_t>(v); }

/// to = the elements in row-major order, converted; `x` has as many as `to`.
template <class T>
void write_all(const TensorView& to, const std::vector<T>& x) {
  if (!to.empty())
    copy_elements(to, TensorView::contiguous(const_cast<T*>(x.data()), DTypeOf<T>::value, to.dims, to.rank));
}

/// The elements of v in row-major order, side by side: where they lie, or copied to `own`.
inline const char* side_by_side(const TensorView& v, std::vector<char>& own) {
  if (v.is_contiguous()) return v.as<char>();
  own.resize(static_cast<size_t>(v.numel()) * size_of(v.dtype));
  copy_elements(TensorView::contiguous(own.data(), v.dtype, v.dims, v.rank), v);
  return own.data();
}

/// Whether an input that may be absent is there: kept in a plan as a view, which has no memory while shapes are
/// inferred.
inline bool given(const TensorView& v) { return v.dtype != DType::Undefined; }
/// Such a view of an argument: none where it is null, or without elements, as clients give it too.
inline TensorView optional_view(const OptIn& t) { return t && !t->empty() ? *t : TensorView(); }

/// v as a matrix: all dimensions but the last are rows. Only of views whose rows lie side by side.
inline int64_t rows_of(const TensorView& v) {
  int64_t n = 1;
  for (int d = 0; d + 1 < v.rank; ++d) n *= v.dims[d];
  return n;
}
inline int64_t row_length(const TensorView& v) { return v.rank ? v.dims[v.rank - 1] : 1; }

}  // namespace updraft
