// Per-channel vectors of normalisation operators, as double.
#pragma once
#include <vector>

#include "kernels/pipeline.h"
#include "ops/op.h"
#include "tensor/view.h"

namespace updraft {

/// The elements of `v` as double; `n` times `otherwise` when it is absent (no data).
inline std::vector<double> read_vector(const TensorView& v, int64_t n, double otherwise) {
  std::vector<double> values(static_cast<size_t>(n), otherwise);
  if (v.data && v.numel() > n) fail_kernel(fmt::format("{} has more than {} values", describe(v), n));
  if (v.data && !v.empty()) gather_to(values.data(), DType::Double, v);
  return values;
}

/// Writes values to `v`, unless it is absent.
inline void write_vector(const TensorView& v, const std::vector<double>& values) {
  if (!v.data || v.empty()) return;
  if (static_cast<size_t>(v.numel()) != values.size())
    fail_kernel(fmt::format("{} has no room for {} values", describe(v), values.size()));
  copy_elements(v, TensorView::contiguous(const_cast<double*>(values.data()), DType::Double, v.dims, v.rank));
}

/// The view of an optional argument; no data when it is absent.
template <class Optional>
TensorView view_or_none(const Optional& argument) {
  return argument ? *argument : TensorView();
}

}  // namespace updraft
