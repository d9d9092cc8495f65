#include "tensor/view_algebra.h"

#include <cstdlib>
#include <utility>

#include "base/error.h"

namespace updraft {

TensorView narrow(const TensorView& v, int d, int64_t begin, int64_t count) {
  TensorView part = v;
  if (v.data) part.data = at_element(v, begin * v.strides[d]);
  part.dims[d] = count;
  return part;
}

TensorView select(const TensorView& v, int d, int64_t i) {
  TensorView rest = drop_dim(v, d);
  if (v.data) rest.data = at_element(v, i * v.strides[d]);
  return rest;
}

TensorView half_of(const TensorView& v, int d, int which) {
  const int64_t half = v.dims[d] / 2;
  // An empty view may have no memory to count from.
  return narrow(v, d, v.empty() ? 0 : which * half, half);
}

TensorView drop_dim(const TensorView& v, int d) {
  TensorView rest;
  rest.data = v.data;
  rest.dtype = v.dtype;
  for (int i = 0; i < v.rank; ++i)
    if (i != d) append_dim(rest, v.dims[i], v.strides[i]);
  return rest;
}

void append_dim(TensorView& v, int64_t dim, int64_t stride) {
  if (v.rank == kMaxDims) throw Error(code::kAclnnParamInvalid, "more than {} dimensions are not supported", kMaxDims);
  v.dims[v.rank] = dim;
  v.strides[v.rank++] = stride;
}

TensorView unsqueeze(const TensorView& v, int d) {
  TensorView u = first_dims(v, d);
  append_dim(u, 1, d < v.rank ? v.dims[d] * v.strides[d] : 1);
  for (int i = d; i < v.rank; ++i) append_dim(u, v.dims[i], v.strides[i]);
  return u;
}

TensorView permute(const TensorView& v, std::span<const int64_t> order) {
  TensorView p = v;
  for (size_t d = 0; d < order.size(); ++d) {
    p.dims[d] = v.dims[order[d]];
    p.strides[d] = v.strides[order[d]];
  }
  return p;
}

int memory_order(std::span<const TensorView* const> views, int (&order)[kMaxDims]) {
  int kept = 0;
  for (int d = 0; d < views[0]->rank; ++d)
    if (views[0]->dims[d] != 1) order[kept++] = d;
  auto outer = [&](int a, int b) {
    for (const TensorView* v : views) {
      const int64_t sa = std::abs(v->strides[a]), sb = std::abs(v->strides[b]);
      if (sa == 0 || sb == 0 || sa == sb) continue;
      return sa > sb;
    }
    return false;
  };
  // Insertion sort, stable: there are few.
  for (int i = 1; i < kept; ++i)
    for (int j = i; j > 0 && outer(order[j], order[j - 1]); --j) std::swap(order[j], order[j - 1]);
  return kept;
}

TensorView first_dims(const TensorView& v, int n) {
  TensorView first = v;
  first.rank = n;
  return first;
}

TensorView last_dims(const TensorView& v, int n) {
  TensorView last;
  last.data = v.data;
  last.dtype = v.dtype;
  for (int d = v.rank - n; d < v.rank; ++d) append_dim(last, v.dims[d], v.strides[d]);
  return last;
}

TensorView reshape(const TensorView& v, std::initializer_list<int64_t> dims) {
  return TensorView::contiguous(v.data, v.dtype, dims.begin(), static_cast<int>(dims.size()));
}

TensorView complex_part(const TensorView& v, int which) {
  TensorView part = v;
  part.dtype = v.dtype == DType::Complex64    ? DType::Float
               : v.dtype == DType::Complex128 ? DType::Double
                                              : DType::Float16;
  if (v.data) part.data = v.as<char>() + which * static_cast<int>(size_of(part.dtype));
  for (int d = 0; d < part.rank; ++d) part.strides[d] *= 2;
  return part;
}

}  // namespace updraft
