#include "ops/index/indices.h"

#include <cstring>

#include "base/parallel.h"
#include "kernels/pipeline.h"
#include "tensor/view_algebra.h"

namespace updraft {

void require_index(const Op& op, const char* name, const TensorView& index) {
  op.require(is_integral(index.dtype, true), "{} is {}, want INT64 or INT32", name, describe(index));
}

void index_out_of_range(int64_t index, int64_t size, int dim) {
  fail_kernel(fmt::format("index {} is out of range for dimension {} with size {}", index, dim, size));
}

TensorView contiguous_in(const TensorView& v, DType t, ScratchScope& scratch) {
  if (v.dtype == t && v.is_contiguous()) return v;
  if (v.empty()) return TensorView::contiguous(nullptr, t, v.dims, v.rank);
  return gather_to(scratch.take(static_cast<size_t>(v.numel()) * size_of(t)), t, v);
}

const int64_t* read_indices(const TensorView& index, ScratchScope& scratch) {
  return contiguous_in(index, DType::Int64, scratch).as<const int64_t>();
}

void index_offsets(int64_t* to, const TensorView& index, int64_t size, int64_t stride, int dim, bool wrap, bool add) {
  ScratchScope scratch;
  const int64_t* from = read_indices(index, scratch);
  parallel_for(index.numel(), 16384, [&](int64_t begin, int64_t end) {
    if (add) {
      for (int64_t i = begin; i < end; ++i) to[i] += checked_index(from[i], size, dim, wrap) * stride;
    } else {
      for (int64_t i = begin; i < end; ++i) to[i] = checked_index(from[i], size, dim, wrap) * stride;
    }
  });
}

void ResultShape::set(const int64_t* dims, int rank) const {
  tensor_pool().locked(tensor_, [&](aclTensor& live) {
    live.view = TensorView::contiguous(live.view.data, live.view.dtype, dims, rank);
  });
}

Element::Element(DType t, const aclScalar& s) : dtype(t) {
  const bool known = visit_storage(t, [&]<class T>() {
    T v;
    if constexpr (std::is_same_v<T, complex64> || std::is_same_v<T, complex128>) v = T(s.to_complex());
    else if constexpr (std::is_same_v<T, ComplexHalf>) v = T(complex64(s.to_complex()));
    else if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) v = T(static_cast<float>(s.to_double()));
    else if constexpr (std::is_same_v<T, bool>) v = s.to_bool();
    else if constexpr (std::is_integral_v<T>) v = static_cast<T>(s.to_int());
    else v = static_cast<T>(s.to_double());
    std::memcpy(bytes, &v, sizeof v);
  });
  if (!known) no_such_type(t, "an element");
}

}  // namespace updraft
