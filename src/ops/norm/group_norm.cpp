// Group normalisation, alone and with SiLU or Swish behind it.
#include <cmath>
#include <cstring>
#include <string_view>

#include "base/parallel.h"
#include "base/scratch.h"
#include "kernels/rows/activation.h"
#include "kernels/table.h"
#include "ops/norm/vectors.h"
#include "ops/op.h"
#include "tensor/real_types.h"

namespace updraft {
namespace {

constexpr int64_t kGrain = 1 << 14;

struct Shape {
  int64_t n, channels, area, groups;
  int64_t each() const { return channels / groups; }
  int64_t size() const { return each() * area; }
};

// Group g of sample n as one array: in place or through a buffer.
struct Groups {
  TensorView v;
  Compute compute;
  Shape shape;
  bool contiguous, native;
  int64_t size;

  Groups(const TensorView& view, const Shape& s, Compute c)
      : v(view),
        compute(c),
        shape(s),
        contiguous(view.is_contiguous()),
        native(view.dtype == storage_of(c)),
        size(static_cast<int64_t>(size_of(view.dtype))) {}
  bool direct() const { return contiguous && native; }
  char* at(int64_t i) const { return v.as<char>() + i * shape.size() * size; }
  template <class F>
  void segments(int64_t i, F&& f) const {
    const TensorView* views[] = {&v};
    const StridedLoop<1> walk(views);
    walk.rows(i * shape.size(), (i + 1) * shape.size(), [&](const int64_t(&offset)[1], int64_t linear, int64_t n) {
      f(v.as<char>() + offset[0] * size, walk.strides[0][walk.rank - 1],
        (linear - i * shape.size()) * static_cast<int64_t>(size_of(compute)), n);
    });
  }
  const void* read(int64_t i, void* buffer) const {
    if (direct()) return at(i);
    const LoadFn load = kernels().load[static_cast<int>(v.dtype)][static_cast<int>(compute)];
    if (contiguous) load(buffer, at(i), 1, shape.size());
    else
      segments(i, [&](const char* p, int64_t stride, int64_t to, int64_t n) {
        load(static_cast<char*>(buffer) + to, p, stride, n);
      });
    return buffer;
  }
  void* target(int64_t i, void* buffer) const { return direct() ? at(i) : buffer; }
  void write(int64_t i, const void* from) const {
    if (direct()) return;
    const StoreFn store = kernels().store[static_cast<int>(compute)][static_cast<int>(v.dtype)];
    if (contiguous) store(at(i), 1, from, shape.size());
    else
      segments(i, [&](char* p, int64_t stride, int64_t at, int64_t n) {
        store(p, stride, static_cast<const char*>(from) + at, n);
      });
  }
};

Shape shape_of(const Op& op, const TensorView& x, int64_t n, int64_t channels, int64_t area, int64_t groups) {
  op.require(is_floating(x.dtype), "input is {}, want floating point", describe(x));
  op.require(groups > 0 && channels % groups == 0, "{} channels cannot be divided into {} groups", channels, groups);
  int64_t elements = 0;
  const bool fits = n >= 0 && channels >= 0 && area >= 0 && !__builtin_mul_overflow(n, channels, &elements) &&
                    !__builtin_mul_overflow(elements, area, &elements);
  op.require(fits && x.numel() == elements, "input is {}, want N * C * HxW = {} * {} * {} elements", describe(x), n,
             channels, area);
  return {n, channels, area, groups};
}

/// Inference: one value for each group of each sample. In the type of the input, as the client has it.
void suggest_groups(const Op& op, const Shape& s, const TensorView& x, const OptOut& mean, const OptOut& rstd) {
  for (const OptOut* v : {&mean, &rstd})
    if (*v) op.suggest(**v, {s.n, s.groups}, x.dtype);
}
/// Inference: one value for each channel.
void suggest_channels(const Op& op, const Shape& s, DType type, const OptOut& gamma, const OptOut& beta) {
  for (const OptOut* v : {&gamma, &beta})
    if (*v) op.suggest(**v, {s.channels}, type);
}

// swish < 0: none.
void forward(const Shape& s, const TensorView& input, const TensorView& weight, const TensorView& bias, double eps,
             bool activate, double swish, const TensorView& output, const TensorView& mean, const TensorView& rstd) {
  const Compute compute = real_compute(input.dtype);
  const int c = static_cast<int>(compute);
  const KernelTable& table = kernels();
  const std::vector<double> gamma = read_vector(weight, s.channels, 1), beta = read_vector(bias, s.channels, 0);
  const Groups x(input, s, compute), y(output, s, compute);
  const int64_t groups = s.n * s.groups, width = static_cast<int64_t>(size_of(compute));
  std::vector<double> means(static_cast<size_t>(groups)), rstds(static_cast<size_t>(groups));
  const BlockFn silu = row_of(ew::silu).fn[c];
  parallel_for(groups, std::max<int64_t>(1, kGrain / std::max<int64_t>(1, s.size())), [&](int64_t begin, int64_t end) {
    ScratchScope scratch;
    char* const from = x.direct() ? nullptr : scratch.take<char>(static_cast<size_t>(s.size() * width));
    char* const into = y.direct() ? nullptr : scratch.take<char>(static_cast<size_t>(s.size() * width));
    for (int64_t i = begin; i < end; ++i) {
      const char* v = static_cast<const char*>(x.read(i, from));
      char* to = static_cast<char*>(y.target(i, into));
      double state[3] = {0, 0, 0};
      table.norm_stats(c, v, s.size(), state);
      const double r = 1 / std::sqrt((state[0] > 0 ? state[2] / state[0] : 0) + eps);
      means[static_cast<size_t>(i)] = state[1];
      rstds[static_cast<size_t>(i)] = r;
      for (int64_t k = 0; k < s.each(); ++k) {
        const size_t channel = static_cast<size_t>(i % s.groups * s.each() + k);
        const double a = r * gamma[channel], b = beta[channel] - state[1] * a;
        const int64_t at = k * s.area * width;
        if (!activate) {
          table.norm_scale_shift(c, v + at, s.area, a, b, to + at);
        } else {
          // z * sigmoid(swish * z) = silu(swish * z) / swish
          table.norm_scale_shift(c, v + at, s.area, a * swish, b * swish, to + at);
          const void* in[] = {to + at};
          void* out[] = {to + at};
          silu(in, out, s.area, Params{});
          if (swish != 1) table.norm_scale_shift(c, to + at, s.area, 1 / swish, 0, to + at);
        }
      }
      y.write(i, to);
    }
  });
  write_vector(mean, means);
  write_vector(rstd, rstds);
}

struct Gradients {
  TensorView dx, dgamma, dbeta;
};

// dy is turned into the gradient of the normalised value before the activation, when there is one.
void backward(const Shape& s, const TensorView& grad, const TensorView& input, const TensorView& mean,
              const TensorView& rstd, const TensorView& weight, const TensorView& bias, bool activate, double swish,
              const Gradients& to) {
  const Compute compute = real_compute(input.dtype);
  const int c = static_cast<int>(compute);
  const KernelTable& table = kernels();
  const std::vector<double> gamma = read_vector(weight, s.channels, 1), beta = read_vector(bias, s.channels, 0);
  const int64_t groups = s.n * s.groups, width = static_cast<int64_t>(size_of(compute));
  const std::vector<double> means = read_vector(mean, groups, 0), rstds = read_vector(rstd, groups, 1);
  const Groups x(input, s, compute), dy(grad, s, compute), dx(to.dx.data ? to.dx : input, s, compute);
  const bool with_dx = to.dx.data != nullptr;
  // For each sample and channel: sum of dy and of dy * (x - mean).
  std::vector<double> sums(static_cast<size_t>(s.n * s.channels * 2));
  const BlockFn slope = row_of(ew::silu_backward).fn[c];
  parallel_for(groups, std::max<int64_t>(1, kGrain / std::max<int64_t>(1, s.size())), [&](int64_t begin, int64_t end) {
    const int64_t part = s.size() * width;
    ScratchScope scratch;
    char* buffer = scratch.take<char>(static_cast<size_t>(4 * part));
    for (int64_t i = begin; i < end; ++i) {
      const char* v = static_cast<const char*>(x.read(i, buffer));
      const char* g = static_cast<const char*>(dy.read(i, buffer + part));
      const double m = means[static_cast<size_t>(i)], r = rstds[static_cast<size_t>(i)];
      double s1 = 0, s2 = 0;
      for (int64_t k = 0; k < s.each(); ++k) {
        const size_t channel = static_cast<size_t>(i % s.groups * s.each() + k);
        const int64_t at = k * s.area * width;
        if (activate) {
          char* z = buffer + 2 * part + at;
          const double a = r * gamma[channel] * swish;
          table.norm_scale_shift(c, v + at, s.area, a, beta[channel] * swish - m * a, z);
          const void* in[] = {g + at, z};
          void* out[] = {buffer + part + at};
          slope(in, out, s.area, Params{});
        }
        const char* inner = activate ? buffer + part : g;
        double* sum = &sums[static_cast<size_t>(2 * (i * s.each() + k))];
        table.norm_grad_sums(c, inner + at, v + at, s.area, m, sum);
        s1 += sum[0] * gamma[channel];
        s2 += sum[1] * gamma[channel];
        sum[1] *= r;
      }
      if (!with_dx) continue;
      if (activate) g = buffer + part;
      char* result = static_cast<char*>(dx.target(i, buffer + 3 * part));
      const double count = static_cast<double>(s.size());
      const double b = -r * r * r * s2 / count, d = -r * s1 / count - b * m;
      for (int64_t k = 0; k < s.each(); ++k) {
        const size_t channel = static_cast<size_t>(i % s.groups * s.each() + k);
        const int64_t at = k * s.area * width;
        table.norm_grad_apply(c, g + at, v + at, s.area, r * gamma[channel], b, d, result + at);
      }
      dx.write(i, result);
    }
  });
  for (int which = 0; which < 2; ++which) {
    const TensorView& out = which ? to.dbeta : to.dgamma;
    if (!out.data) continue;
    std::vector<double> total(static_cast<size_t>(s.channels), 0.0);
    for (int64_t i = 0; i < s.n; ++i)
      for (int64_t k = 0; k < s.channels; ++k)
        total[static_cast<size_t>(k)] += sums[static_cast<size_t>(2 * (i * s.channels + k) + (which ? 0 : 1))];
    write_vector(out, total);
  }
}

void require_elements(const Op& op, const char* name, const TensorView& v, int64_t n) {
  if (v.dtype != DType::Undefined) op.require(v.numel() == n, "{} is {}, want {} elements", name, describe(v), n);
}

void check_backward(const Op& op, const Shape& s, const TensorView& grad, const TensorView& x, const TensorView& mean,
                    const TensorView& rstd, const TensorView& weight, const TensorView& bias, const Gradients& to) {
  op.require_same_shape("the gradient", grad, "the input", x);
  for (const TensorView* v : {&mean, &rstd}) require_elements(op, "mean or rstd", *v, s.n * s.groups);
  for (const TensorView* v : {&weight, &bias, &to.dgamma, &to.dbeta})
    require_elements(op, "weight, bias or its gradient", *v, s.channels);
  require_elements(op, "the gradient of the input", to.dx, x.numel());
}

void plan_forward(Op& op, const Shape& s, const TensorView& x, const TensorView& w, const TensorView& b, double eps,
                  bool activate, double swish, const TensorView& y, const OptOut& mean_out, const OptOut& rstd_out) {
  op.result_like("out", y, x, x.dtype);
  suggest_groups(op, s, x, mean_out, rstd_out);
  const TensorView mean = view_or_none(mean_out), rstd = view_or_none(rstd_out);
  for (const TensorView* v : {&w, &b})
    if (v->dtype != DType::Undefined)
      op.require(v->numel() == s.channels, "weight or bias is {}, want {} elements", describe(*v), s.channels);
  for (const TensorView* v : {&mean, &rstd})
    if (v->dtype != DType::Undefined)
      op.require(v->numel() == s.n * s.groups, "mean or rstd is {}, want {} elements", describe(*v), s.n * s.groups);
  op.work(x.numel() * (activate ? 20 : 6));
  op.launch([=] { forward(s, x, w, b, eps, activate, swish, y, mean, rstd); });
}

}  // namespace

ABOUT(aclnnGroupNorm, Vector, "Normalises each group of channels of each sample, then gamma * x + beta by channel",
      "对每个样本的每组通道归一化，再逐通道计算 gamma * x + beta")
ACLNN(aclnnGroupNorm, (In, self), (OptIn, gamma), (OptIn, beta), (Int, N), (Int, C), (Int, HxW), (Int, group),
      (Double, eps), (Out, out), (OptOut, meanOut), (OptOut, rstdOut)) {
  plan_forward(op, shape_of(op, *self, N, C, HxW, group), *self, view_or_none(gamma), view_or_none(beta), eps, false, 1,
               *out, meanOut, rstdOut);
}

CARD(aclnnGroupNormSilu, on("self gamma beta out", kFloats, kA2 | k310P))
ABOUT(aclnnGroupNormSilu, Vector, "Group normalisation followed by SiLU", "组归一化后接 SiLU 激活")
ACLNN(aclnnGroupNormSilu, (In, self), (OptIn, gamma), (OptIn, beta), (Int, group), (Double, eps), (Out, out),
      (OptOut, meanOut), (OptOut, rstdOut)) {
  op.require(self->rank >= 2, "self is {}, want at least two dimensions", describe(*self));
  const int64_t area = self->dims[0] && self->dims[1] ? self->numel() / self->dims[0] / self->dims[1] : 0;
  plan_forward(op, shape_of(op, *self, self->dims[0], self->dims[1], area, group), *self, view_or_none(gamma),
               view_or_none(beta), eps, true, 1, *out, meanOut, rstdOut);
}

namespace {
void require_channels_second(const Op& op, const char* format) {
  op.require(!format || std::string_view(format) == "NCHW", "dataFormat is {}, want NCHW or null",
             format ? format : "");
}
}  // namespace

CARD(aclnnGroupNormSwish, on("x gamma beta y", kFloats, kA2))
ABOUT(aclnnGroupNormSwish, Vector,
      "Group normalisation, followed by x * sigmoid(swishScale * x) where activateSwish is true",
      "组归一化，activateSwish 为真时后接 x * sigmoid(swishScale * x)")
ACLNN(aclnnGroupNormSwish, (In, x), (OptIn, gamma), (OptIn, beta), (Int, numGroups), (Text, dataFormat), (Double, eps),
      (Bool, activateSwish), (Double, swishScale), (Out, y), (OptOut, meanOut), (OptOut, rstdOut)) {
  require_channels_second(op, dataFormat);
  op.require(x->rank >= 2, "x is {}, want at least two dimensions", describe(*x));
  const int64_t area = x->dims[0] && x->dims[1] ? x->numel() / x->dims[0] / x->dims[1] : 0;
  plan_forward(op, shape_of(op, *x, x->dims[0], x->dims[1], area, numGroups), *x, view_or_none(gamma),
               view_or_none(beta), eps, activateSwish, swishScale, *y, meanOut, rstdOut);
}

ABOUT(aclnnGroupNormBackward, Vector, "Gradients of group normalisation for input, gamma and beta, as outputMask asks",
      "组归一化对输入、gamma、beta 的反向梯度，由 outputMask 选择")
ACLNN(aclnnGroupNormBackward, (In, gradOut), (In, input), (In, mean), (In, rstd), (OptIn, gamma), (Int, N), (Int, C),
      (Int, HxW), (Int, group), (Bools, outputMask), (OptOut, gradInput), (OptOut, gradGamma), (OptOut, gradBeta)) {
  op.require(outputMask.size() == 3, "outputMask has {} values, want 3", outputMask.size());
  const Shape s = shape_of(op, *input, N, C, HxW, group);
  if (gradInput) op.suggest_like(*gradInput, *input, input->dtype);
  suggest_channels(op, s, gamma ? gamma->dtype : input->dtype, gradGamma, gradBeta);
  Gradients to;
  if (outputMask[0]) to.dx = view_or_none(gradInput);
  if (outputMask[1]) to.dgamma = view_or_none(gradGamma);
  if (outputMask[2]) to.dbeta = view_or_none(gradBeta);
  check_backward(op, s, *gradOut, *input, *mean, *rstd, view_or_none(gamma), TensorView(), to);
  op.work(input->numel() * 8);
  op.launch([=, g = *gradOut, x = *input, m = *mean, r = *rstd, w = view_or_none(gamma)] {
    backward(s, g, x, m, r, w, TensorView(), false, 1, to);
  });
}

ABOUT(aclnnGroupNormSwishGrad, Vector, "Gradients of group normalisation with Swish for x, gamma and beta",
      "带 Swish 的组归一化对 x、gamma、beta 的反向梯度")
ACLNN(aclnnGroupNormSwishGrad, (In, dy), (In, mean), (In, rstd), (In, x), (In, gamma), (In, beta), (Int, numGroups),
      (Text, dataFormat), (Double, swishScale), (Bool, dgammaIsRequire), (Bool, dbetaIsRequire), (Out, dxOut),
      (OptOut, dgammaOut), (OptOut, dbetaOut)) {
  require_channels_second(op, dataFormat);
  op.require(x->rank >= 2, "x is {}, want at least two dimensions", describe(*x));
  const int64_t area = x->dims[0] && x->dims[1] ? x->numel() / x->dims[0] / x->dims[1] : 0;
  const Shape s = shape_of(op, *x, x->dims[0], x->dims[1], area, numGroups);
  op.suggest_like(*dxOut, *x, x->dtype);
  suggest_channels(op, s, gamma->dtype, dgammaOut, dbetaOut);
  Gradients to{*dxOut, dgammaIsRequire ? view_or_none(dgammaOut) : TensorView(),
               dbetaIsRequire ? view_or_none(dbetaOut) : TensorView()};
  check_backward(op, s, *dy, *x, *mean, *rstd, *gamma, *beta, to);
  op.work(x->numel() * 30);
  op.launch([=, g = *dy, v = *x, m = *mean, r = *rstd, w = *gamma, b = *beta] {
    backward(s, g, v, m, r, w, b, true, swishScale, to);
  });
}

}  // namespace updraft
