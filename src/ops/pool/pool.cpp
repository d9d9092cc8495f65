#include "ops/pool/pool.h"

namespace updraft {

void suggest_sized(const Op& op, int spatial, const TensorView& in, const std::vector<int64_t>& sizes, DType type,
                   const TensorView& out) {
  if (!op.inferring()) return;
  op.require(in.rank == spatial + 1 || in.rank == spatial + 2, "input is {}, want {} or {} dimensions", describe(in),
             spatial + 1, spatial + 2);
  op.require(sizes.size() == static_cast<size_t>(spatial), "outputSize has {} values, want {}", sizes.size(), spatial);
  TensorView sized = in;
  std::copy(sizes.begin(), sizes.end(), sized.dims + in.rank - spatial);
  op.suggest_like(out, sized, type);
}

void suggest_pooled(const Op& op, int spatial, const TensorView& in, const std::vector<int64_t>& kernel,
                    const std::vector<int64_t>& stride, const std::vector<int64_t>& padding,
                    const std::vector<int64_t>& dilation, bool ceil, DType type, const TensorView& out) {
  if (!op.inferring()) return;
  auto value = [&](const char* name, const std::vector<int64_t>& values, int d, int64_t least) {
    op.require(values.size() == 1 || values.size() == static_cast<size_t>(spatial), "{} has {} values, want 1 or {}",
               name, values.size(), spatial);
    const int64_t v = values[values.size() == 1 ? 0 : static_cast<size_t>(d)];
    op.require(v >= least && v < int64_t{1} << 31, "{} is {}, want at least {}", name, v, least);
    return v;
  };
  std::vector<int64_t> sizes;
  for (int d = 0; d < spatial && in.rank >= spatial; ++d) {
    const int64_t size = in.dims[in.rank - spatial + d], k = value("kernel size", kernel, d, 1),
                  step = value("stride", stride.empty() ? kernel : stride, d, 1), pad = value("padding", padding, d, 0),
                  apart = dilation.empty() ? 1 : value("dilation", dilation, d, 1);
    const int64_t room = size + 2 * pad - apart * (k - 1) - 1;
    op.require(room >= 0, "input is {}, smaller than a window of {} (padding {}, dilation {})", describe(in), k, pad,
               apart);
    int64_t n = (room + (ceil ? step - 1 : 0)) / step + 1;
    if (ceil && (n - 1) * step >= size + pad) --n;  // the last window starts inside the input or its left padding
    sizes.push_back(n);
  }
  suggest_sized(op, spatial, in, sizes, type, out);
}

PoolShape plane_shape(Op& op, int spatial, const TensorView& in, const TensorView& out) {
  op.require((in.rank == spatial + 1 || in.rank == spatial + 2) && in.rank == out.rank,
             "input is {}, output is {}, want {} or {} dimensions", describe(in), describe(out), spatial + 1,
             spatial + 2);
  for (int d = 0; d < in.rank - spatial; ++d)
    op.require(in.dims[d] == out.dims[d], "input is {}, output is {}: batch and channels differ", describe(in),
               describe(out));
  PoolShape s;
  for (int d = 0; d < spatial; ++d) {
    s.in[3 - spatial + d] = in.dims[in.rank - spatial + d];
    s.out[3 - spatial + d] = out.dims[out.rank - spatial + d];
  }
  return s;
}

PoolShape pool_shape(Op& op, int spatial, const TensorView& in, const TensorView& out,
                     const std::vector<int64_t>& kernel, const std::vector<int64_t>& stride,
                     const std::vector<int64_t>& padding, const std::vector<int64_t>& dilation) {
  PoolShape s = plane_shape(op, spatial, in, out);
  auto set = [&](const char* name, const std::vector<int64_t>& values, int64_t least, int64_t* to) {
    op.require(values.size() == 1 || values.size() == static_cast<size_t>(spatial), "{} has {} values, want 1 or {}",
               name, values.size(), spatial);
    for (int d = 0; d < spatial; ++d) {
      const int64_t v = values[values.size() == 1 ? 0 : static_cast<size_t>(d)];
      op.require(v >= least, "{} is {}, want at least {}", name, v, least);
      to[3 - spatial + d] = v;
    }
  };
  set("kernel size", kernel, 1, s.kernel);
  set("stride", stride.empty() ? kernel : stride, 1, s.stride);
  set("padding", padding, 0, s.padding);
  if (!dilation.empty()) set("dilation", dilation, 1, s.dilation);
  return s;
}

void require_output_size(const Op& op, Ints output_size, const TensorView& out, int spatial) {
  bool fits = static_cast<int>(output_size.size()) == spatial && out.rank >= spatial;
  for (int d = 0; fits && d < spatial; ++d)
    fits = output_size[static_cast<size_t>(d)] == out.dims[out.rank - spatial + d];
  op.require(fits, "out is {}, want its last {} dimensions to be outputSize, {}", describe(out), spatial,
             describe_shape(output_size->data(), static_cast<int>(output_size.size())));
}

void require_windows(Op& op, const PoolShape& s) {
  for (int d = 0; d < 3; ++d) {
    if (s.out[d] == 0) continue;
    const int64_t reach = (s.kernel[d] - 1) * s.dilation[d] + 1;
    op.require(s.padding[d] * 2 <= reach, "padding is {}, want at most half of the kernel's reach {}", s.padding[d],
               reach);
    op.require(s.in[d] > 0 && (s.out[d] - 1) * s.stride[d] - s.padding[d] < s.in[d],
               "output size {} has windows outside of input size {} (kernel {}, stride {}, padding {})", s.out[d],
               s.in[d], s.kernel[d], s.stride[d], s.padding[d]);
  }
}

Compute pool_compute(Op& op, const TensorView& v) {
  const Compute c = compute_of(v.dtype);
  op.require(c == Compute::F32 || c == Compute::F64 || c == Compute::I64, "input is {}, want a real type", describe(v));
  return c;
}

}  // namespace updraft
