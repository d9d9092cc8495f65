#include "ops/elementwise/elementwise.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace updraft {

void set_param(Params& params, int i, const aclScalar& value) {
  if (value.is_complex()) {
    params.set(i, value.to_complex());
  } else if (value.is_floating()) {
    params.set(i, value.to_double());
  } else {
    params.set(i, value.to_int());
  }
}

DType promote_with_scalar(DType tensor, const aclScalar& scalar) {
  if (scalar.is_complex()) return is_complex(tensor) ? tensor : tensor == DType::Double ? DType::Complex128 : DType::Complex64;
  if (scalar.is_floating()) return is_integral(tensor, true) ? DType::Float : tensor;
  if (tensor == DType::Bool && scalar.dtype != DType::Bool) return DType::Int64;
  return tensor;
}

ScalarValue::ScalarValue(const aclScalar& s) : dtype(s.dtype) { std::memcpy(bytes, s.bytes, sizeof bytes); }

void plan_elementwise(Op& op, Ew row, Compute compute, std::initializer_list<TensorView> in, const TensorView& out,
                      const Params& params) {
  BlockFn fn = elementwise_kernel(row, compute);
  const bool boolean = traits(row).boolean;
  int64_t dims[kMaxDims];
  int rank = 0;
  for (const TensorView& v : in) rank = broadcast_shape(dims, rank, v.dims, v.rank, dims);
  // An output may be larger than the broadcast of the inputs only where it is the first of them (in place).
  if (out.rank != rank || !std::equal(dims, dims + rank, out.dims))
    op.refuse("out is {}, want shape {}", describe(out), describe_shape(dims, rank));
  if (out.empty()) return;
  switch (in.size()) {
    case 1:
      op.launch([=, x = in.begin()[0]] { run_elementwise(fn, compute, {x}, {out}, params, boolean); });
      break;
    case 2:
      op.launch([=, x = in.begin()[0], y = in.begin()[1]] {
        run_elementwise(fn, compute, {x, y}, {out}, params, boolean);
      });
      break;
    default:
      op.launch([=, x = in.begin()[0], y = in.begin()[1], z = in.begin()[2]] {
        run_elementwise(fn, compute, {x, y, z}, {out}, params, boolean);
      });
  }
}

namespace {
// Integers give floats where the output says so; a bool output of arithmetic follows the inputs.
Compute wider(DType in, DType out, bool boolean) {
  Compute a = compute_of(in), b = compute_of(out);
  if (boolean || a == b) return a;
  if (a == Compute::I64) return b;
  if (b == Compute::F64 && a == Compute::F32) return b;
  if (b == Compute::C64 || b == Compute::C128) return b;
  return a;
}
}  // namespace

void plan_unary(Op& op, Ew row, const TensorView& self, const TensorView& out, const Params& params) {
  plan_elementwise(op, row, wider(self.dtype, out.dtype, traits(row).boolean), {self}, out, params);
}

void plan_binary(Op& op, Ew row, const TensorView& self, const TensorView& other, const TensorView& out,
                 const Params& params) {
  DType type = promote(self.dtype, other.dtype);
  // A 0-d tensor takes part like a scalar.
  if (self.rank == 0 && other.rank != 0 && !is_complex(self.dtype) && is_floating(self.dtype) == is_floating(other.dtype))
    type = other.dtype;
  if (other.rank == 0 && self.rank != 0 && !is_complex(other.dtype) && is_floating(other.dtype) == is_floating(self.dtype))
    type = self.dtype;
  plan_elementwise(op, row, wider(type, out.dtype, traits(row).boolean), {self, other}, out, params);
}

void plan_binary(Op& op, Ew row, const TensorView& self, const aclScalar& other, const TensorView& out,
                 const Params& params) {
  const bool boolean = traits(row).boolean;
  const Compute compute = wider(promote_with_scalar(self.dtype, other), out.dtype, boolean);
  BlockFn fn = elementwise_kernel(row, compute);
  op.require_same_shape("self", self, "out", out);
  if (out.empty()) return;
  op.launch([=, value = ScalarValue(other)] {
    run_elementwise(fn, compute, {self, value.view()}, {out}, params, boolean);
  });
}

void plan_binary(Op& op, Ew row, const aclScalar& self, const TensorView& other, const TensorView& out,
                 const Params& params) {
  const bool boolean = traits(row).boolean;
  const Compute compute = wider(promote_with_scalar(other.dtype, self), out.dtype, boolean);
  BlockFn fn = elementwise_kernel(row, compute);
  op.require_same_shape("other", other, "out", out);
  if (out.empty()) return;
  op.launch([=, value = ScalarValue(self)] {
    run_elementwise(fn, compute, {value.view(), other}, {out}, params, boolean);
  });
}

}  // namespace updraft
