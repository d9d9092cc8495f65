#include "ops/reduction/reduction.h"

namespace updraft {

DimMask all_dims(const TensorView& self) { return (DimMask{1} << self.rank) - 1; }

DimMask reduction_mask(const Op& op, const TensorView& self, const std::vector<int64_t>& dims) {
  if (dims.empty()) return all_dims(self);
  DimMask mask = 0;
  for (int64_t dim : dims) {
    const DimMask bit = DimMask{1} << self.wrap_dim(dim);
    op.require((mask & bit) == 0, "dim {} appears more than once in the list of dimensions of {}", dim, describe(self));
    mask |= bit;
  }
  return mask & all_dims(self);
}

DimMask reduction_mask(const TensorView& self, int64_t dim) {
  return (DimMask{1} << self.wrap_dim(dim)) & all_dims(self);
}

void require_order(const Op& op, const TensorView& self) {
  op.require(!is_complex(self.dtype), "self is {}: complex numbers have no order", describe(self));
  op.require(self.dtype != DType::UInt64,
             "self is {}: UINT64 is computed as INT64 here and would be wrong from 2^63 on, want another type",
             describe(self));
}

int64_t reduced_count(const TensorView& self, DimMask mask) {
  int64_t n = 1;
  for (int d = 0; d < self.rank; ++d)
    if (mask >> d & 1) n *= self.dims[d];
  return n;
}

DType sum_type(DType self) { return is_integral(self, true) ? DType::Int64 : self; }

namespace {
int reduced_dims(const TensorView& self, DimMask mask, bool keepdim, int64_t* to) {
  int rank = 0;
  for (int d = 0; d < self.rank; ++d) {
    if (!(mask >> d & 1)) to[rank++] = self.dims[d];
    else if (keepdim) to[rank++] = 1;
  }
  return rank;
}
}  // namespace

void suggest_reduction(const Op& op, const TensorView& self, DimMask mask, bool keepdim, const TensorView& out,
                       DType type) {
  if (!op.inferring()) return;
  int64_t dims[kMaxDims];
  const int rank = reduced_dims(self, mask, keepdim, dims);
  op.suggest(out, dims, rank, type);
}

TensorView reduction_output(const Op& op, const char* name, const TensorView& self, DimMask mask, bool keepdim,
                            const TensorView& out) {
  int64_t want[kMaxDims];
  const int rank = reduced_dims(self, mask, keepdim, want);
  // The client gives results of whole tensors as [1] at times.
  const bool one = out.numel() == 1 && TensorView::contiguous(nullptr, out.dtype, want, rank).numel() == 1;
  op.require(one || (out.rank == rank && std::equal(want, want + rank, out.dims)), "{} is {}, want shape {}", name,
             describe(out), describe_shape(want, rank));
  TensorView full = self;
  full.data = out.data;
  full.dtype = out.dtype;
  int at = 0;
  for (int d = 0; d < self.rank; ++d) {
    if (mask >> d & 1) {
      full.dims[d] = 1;
      full.strides[d] = 0;
      if (keepdim) ++at;
    } else {
      full.strides[d] = one ? 0 : out.strides[at];
      ++at;
    }
  }
  return full;
}

}  // namespace updraft
