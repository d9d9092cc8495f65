// PReLU with its weight's gradient, and RReLU.
#include <algorithm>
#include <array>
#include <vector>

#include "base/parallel.h"
#include "kernels/rows/activation.h"
#include "ops/elementwise/elementwise.h"
#include "tensor/view_algebra.h"

namespace updraft {
namespace {

/// A weight of one number, or of one a channel (dimension 1), as a view that broadcasts to self.
TensorView channel_weight(const Op& op, const TensorView& weight, const TensorView& self) {
  if (weight.rank == self.rank && self.rank > 1) {
    for (int d = 0; d < self.rank; ++d)
      op.require(weight.dims[d] == 1 || weight.dims[d] == self.dims[d],
                 "weight is {} and self is {}: want one weight or "
                 "one a channel",
                 describe(weight), describe(self));
    return weight;
  }
  const int64_t n = weight.numel();
  TensorView w = weight;
  w.rank = self.rank;
  const int channel = self.rank > 1 ? 1 : 0;
  op.require(n == 1 || (self.rank > 0 && self.dims[channel] == n),
             "weight is {} and self is {}: want one weight or one a channel", describe(weight), describe(self));
  int64_t stride = 0;
  for (int d = 0; d < weight.rank; ++d)
    if (weight.dims[d] != 1) stride = weight.strides[d];
  for (int d = 0; d < self.rank; ++d) {
    w.dims[d] = d == channel ? n : 1;
    w.strides[d] = d == channel ? stride : 0;
  }
  return w;
}

constexpr int64_t kBlock = 1024, kChunk = 64 * kBlock;

/// The sum of grad * min(self, 0) over [begin, end) of two views of one shape, in blocks of a fixed order.
double prelu_weight_sum(const StridedLoop<2>& loop, const TensorView& grad, const TensorView& self, int64_t begin,
                        int64_t end) {
  const int f64 = static_cast<int>(Compute::F64);
  LoadFn load_grad = kernels().load[static_cast<int>(grad.dtype)][f64];
  LoadFn load_self = kernels().load[static_cast<int>(self.dtype)][f64];
  double total = 0, g[kBlock], x[kBlock];
  loop.rows(begin, end, [&](const int64_t(&offset)[2], int64_t, int64_t n) {
    const int64_t sg = loop.strides[0][loop.rank - 1], sx = loop.strides[1][loop.rank - 1];
    for (int64_t at = 0; at < n; at += kBlock) {
      const int64_t step = std::min(kBlock, n - at);
      load_grad(g, grad.as<char>() + (offset[0] + at * sg) * static_cast<int64_t>(size_of(grad.dtype)), sg, step);
      load_self(x, self.as<char>() + (offset[1] + at * sx) * static_cast<int64_t>(size_of(self.dtype)), sx, step);
      double sum = 0;
      for (int64_t i = 0; i < step; ++i) sum += x[i] > 0 ? 0 : g[i] * x[i];
      total += sum;
    }
  });
  return total;
}

void store_double(const TensorView& to, int64_t index, double value) {
  kernels().store[static_cast<int>(Compute::F64)][static_cast<int>(to.dtype)](
      to.as<char>() + to.offset_of(index) * static_cast<int64_t>(size_of(to.dtype)), 1, &value, 1);
}

void prelu_weight_gradient(const TensorView& grad, const TensorView& self, const TensorView& to) {
  const int64_t channels = to.numel();
  if (channels == 1) {
    const TensorView* const views[] = {&grad, &self};
    const StridedLoop<2> loop(views);
    const int64_t n = self.numel(), chunks = (n + kChunk - 1) / kChunk;
    std::vector<double> part(static_cast<size_t>(chunks));
    parallel_for(chunks, 1, [&](int64_t begin, int64_t end) {
      for (int64_t c = begin; c < end; ++c)
        part[static_cast<size_t>(c)] = prelu_weight_sum(loop, grad, self, c * kChunk, std::min(n, (c + 1) * kChunk));
    });
    double total = 0;
    for (double p : part) total += p;
    store_double(to, 0, total);
    return;
  }
  const int d = self.rank > 1 ? 1 : 0;
  parallel_for(channels, 1, [&](int64_t begin, int64_t end) {
    for (int64_t c = begin; c < end; ++c) {
      const TensorView g = narrow(grad, d, c, 1), x = narrow(self, d, c, 1);
      const TensorView* const views[] = {&g, &x};
      store_double(to, c, prelu_weight_sum(StridedLoop<2>(views), g, x, 0, x.numel()));
    }
  });
}

/// A number in [0, 1) for element i: a mix of seed, offset and i, so threads do not matter.
double uniform_at(uint64_t seed, uint64_t offset, uint64_t i) {
  uint64_t z = seed + (offset + 1) * 0x9e3779b97f4a7c15ull + i * 0xd1342543de82ef95ull;
  for (int round = 0; round < 2; ++round) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    z ^= z >> 31;
  }
  return static_cast<double>(z >> 11) * 0x1p-53;
}

void plan_rrelu(Op& op, const TensorView& self, const TensorView& noise, const aclScalar& lower, const aclScalar& upper,
                bool training, int64_t seed, int64_t offset, const TensorView& out) {
  const double low = lower.to_double(), high = upper.to_double();
  op.require(low <= high, "lower is {} and upper is {}: want lower <= upper", low, high);
  op.result_like("out", out, self, self.dtype);
  op.suggest_like(noise, self, self.dtype);
  if (!training) return plan_unary(op, ew::leaky_relu, self, out, params_of((low + high) / 2));
  op.require(noise.numel() == self.numel(), "noise is {} and self is {}: want as many elements", describe(noise),
             describe(self));
  if (self.empty()) return;
  op.launch([=] {
    const KernelTable& t = kernels();
    const int f64 = static_cast<int>(Compute::F64);
    auto at = [](const TensorView& v, int64_t i) {
      return v.as<char>() + v.offset_of(i) * static_cast<int64_t>(size_of(v.dtype));
    };
    parallel_for(self.numel(), 4096, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        double x, r = 1;
        t.load[static_cast<int>(self.dtype)][f64](&x, at(self, i), 1, 1);
        if (x <= 0) {
          r = low + (high - low) * uniform_at(static_cast<uint64_t>(seed), static_cast<uint64_t>(offset),
                                              static_cast<uint64_t>(i));
          x *= r;
        }
        t.store[f64][static_cast<int>(noise.dtype)](at(noise, i), 1, &r, 1);
        t.store[f64][static_cast<int>(out.dtype)](at(out, i), 1, &x, 1);
      }
    });
  });
}
}  // namespace

CARD(aclnnPrelu, kFloats)
ABOUT(aclnnPrelu, Vector, "out = self where self > 0, else weight * self, one weight or one a channel",
      "self > 0 处取 self，其余为 weight * self；weight 为单个值或逐通道")
ACLNN(aclnnPrelu, (In, self), (In, weight), (Out, out)) {
  plan_binary(op, ew::prelu, self, channel_weight(op, *weight, *self), *out);
}

ABOUT(aclnnPreluBackward, Vector, "Gradients of PReLU for its input and for its weight", "PReLU 对输入和权重的反向梯度")
ACLNN(aclnnPreluBackward, (In, gradOutput), (In, self), (In, weight), (Out, gradInput), (Out, gradWeight)) {
  op.require_same_shape("gradOutput", *gradOutput, "self", *self);
  op.result_like("gradInput", *gradInput, *self, self->dtype);
  op.suggest_like(*gradWeight, *weight, weight->dtype);
  op.require(gradWeight->numel() == weight->numel(), "gradWeight is {} and weight is {}", describe(*gradWeight),
             describe(*weight));
  const TensorView w = channel_weight(op, *weight, *self);
  const int channel = self->rank > 1 ? 1 : 0;
  op.require(gradWeight->numel() == 1 || (self->rank > 0 && gradWeight->numel() == self->dims[channel]),
             "gradWeight is {} and self is {}: want one weight or one a channel", describe(*gradWeight),
             describe(*self));
  const Compute compute = compute_of(promote(self->dtype, gradOutput->dtype));
  BlockFn fn = elementwise_kernel(ew::prelu_backward, compute);
  op.work(self->numel() * 4);
  op.launch([=, grad = *gradOutput, x = *self, to = *gradInput, to_weight = *gradWeight] {
    prelu_weight_gradient(grad, x, to_weight);
    if (!to.empty()) run_elementwise(fn, compute, {grad, x, w}, {to}, Params{});
  });
}

// The noise argument is an output although clients pass it as an input.
SAMPLE(aclnnRReluWithNoise, "self=f32[N,M]:-1..1 lower=0.1 upper=0.3")
ABOUT(aclnnRReluWithNoise, Vector, "Leaky ReLU with slopes drawn from [lower, upper] in training; noise keeps them",
      "训练时负半轴斜率在 [lower, upper] 内随机的 Leaky ReLU，斜率写入 noise")
ACLNN(aclnnRReluWithNoise, (In, self), (Out, noise), (Scalar, lower), (Scalar, upper), (Bool, training), (Int, seed),
      (Int, offset), (Out, out)) {
  plan_rrelu(op, *self, *noise, *lower, *upper, training, seed, offset, *out);
}
SAMPLE(aclnnInplaceRReluWithNoise, "selfRef=f32[N,M]:-1..1 lower=0.1 upper=0.3")
ABOUT(aclnnInplaceRReluWithNoise, Vector,
      "Leaky ReLU in place with slopes drawn from [lower, upper] in training; noise keeps them",
      "原地计算的随机斜率 Leaky ReLU，斜率写入 noise")
ACLNN(aclnnInplaceRReluWithNoise, (InOut, selfRef), (Out, noise), (Scalar, lower), (Scalar, upper), (Bool, training),
      (Int, seed), (Int, offset)) {
  plan_rrelu(op, *selfRef, *noise, *lower, *upper, training, seed, offset, *selfRef);
}

}  // namespace updraft
