// Views made from views: the same memory, looked at in another way. None of these touches data. Dimensions are those of
// the view, 0 <= d < rank (TensorView::wrap_dim takes the client's); a dimension of one element may get any stride.
// What broadcasts (expand) and transposes two dimensions is in tensor/view.h.
#pragma once
#include <initializer_list>
#include <span>

#include "tensor/view.h"

namespace updraft {

/// Address of the element at an offset in elements.
inline char* at_element(const TensorView& v, int64_t offset) {
  return v.as<char>() + offset * static_cast<int64_t>(size_of(v.dtype));
}

/// The part [begin, begin + count) of dimension d.
TensorView narrow(const TensorView& v, int d, int64_t begin, int64_t count);
/// Position i of dimension d, without that dimension.
TensorView select(const TensorView& v, int d, int64_t i);
/// Half `which` (0 or 1) of dimension d, which has an even size.
TensorView half_of(const TensorView& v, int d, int which);

/// The same elements without dimension d: position 0 of it.
TensorView drop_dim(const TensorView& v, int d);
/// One more dimension at the end. Throws 161002 when there are kMaxDims already.
void append_dim(TensorView& v, int64_t dim, int64_t stride);
/// With a dimension of one element put in before dimension d (d == rank: at the end).
TensorView unsqueeze(const TensorView& v, int d);
/// With a dimension of one element in front when it has rank - 1 dimensions: one image is a batch of one.
inline TensorView batched(const TensorView& v, int rank) { return v.rank == rank - 1 ? unsqueeze(v, 0) : v; }

/// v with its matrices, the last two dimensions, transposed.
inline TensorView turned(const TensorView& v) { return v.transpose(v.rank - 2, v.rank - 1); }
/// Dimension d of the result is dimension order[d] of v.
TensorView permute(const TensorView& v, std::span<const int64_t> order);
inline TensorView permute(const TensorView& v, std::initializer_list<int64_t> order) {
  return permute(v, std::span<const int64_t>(order.begin(), order.size()));
}

/// The dimensions of more than one element, outermost first as the first of the views lies in memory; where it has the
/// same stride twice (or 0) the next view decides, then the order of the dimensions. Returns how many there are.
int memory_order(std::span<const TensorView* const> views, int (&order)[kMaxDims]);

/// Only the first n dimensions, at position 0 of the others, and only the last n.
TensorView first_dims(const TensorView& v, int n);
TensorView last_dims(const TensorView& v, int n);

/// A contiguous view in another shape of as many elements.
TensorView reshape(const TensorView& v, std::initializer_list<int64_t> dims);

/// Real (0) or imaginary (1) parts of complex elements, where they lie.
TensorView complex_part(const TensorView& v, int which);

}  // namespace updraft
