// Sampling at positions that a tensor gives. The positions of one image become taps (which input elements with which
// weights) that all channels share.
#include <algorithm>
#include <cstring>

#include "kernels/pipeline.h"
#include "kernels/planes.h"
#include "ops/op.h"
#include "tensor/real_types.h"

namespace updraft {
namespace {

Sampling sampling_of(Op& op, int spatial, const TensorView& in, const TensorView& grid, const TensorView& out,
                     int64_t mode, int64_t border, bool align_corners) {
  op.require(in.rank == spatial + 2 && grid.rank == spatial + 2 && out.rank == spatial + 2,
             "input is {}, grid is {}, output is {}, want {} dimensions", describe(in), describe(grid), describe(out),
             spatial + 2);
  op.require(mode >= 0 && mode <= (spatial == 2 ? 2 : 1), "interpolation mode is {}, want 0 to {}", mode,
             spatial == 2 ? 2 : 1);
  op.require(border >= 0 && border <= 2, "padding mode is {}, want 0 to 2", border);
  op.require(is_floating(in.dtype), "input is {}, want a floating type", describe(in));
  op.require(grid.dims[spatial + 1] == spatial && grid.dims[0] == in.dims[0] && out.dims[0] == in.dims[0] &&
                 out.dims[1] == in.dims[1],
             "input is {}, grid is {}, output is {}: sizes differ", describe(in), describe(grid), describe(out));
  Sampling s{spatial, static_cast<int>(mode), static_cast<int>(border), align_corners, {}, {}};
  for (int d = 0; d < spatial; ++d) {
    s.in[d] = in.dims[d + 2];
    s.out[d] = out.dims[d + 2];
    op.require(s.out[d] == grid.dims[d + 1], "grid is {}, output is {}: sizes differ", describe(grid), describe(out));
    op.require(s.in[d] > 0, "input is {}, want planes that are not empty", describe(in));
  }
  return s;
}

/// The taps of one image after the other.
class TapsOfImage {
 public:
  TapsOfImage(const Sampling& s, const TensorView& grid, Compute compute, bool slopes)
      : s_(s), compute_(compute), grid_(grid, s.spatial + 1, compute) {
    const auto n = static_cast<size_t>(s.taps() * s.out_size());
    taps_.index = s.wide() ? static_cast<void*>(own_.take<int64_t>(n)) : own_.take<int32_t>(n);
    taps_.weight = own_.take<char>(n * size_of(compute));
    taps_.slope = slopes ? own_.take<char>(n * size_of(compute) * static_cast<size_t>(s.spatial)) : nullptr;
  }

  const SampleTaps& of(int64_t image) {
    ScratchScope scratch;
    const void* const grid = grid_.read(image, scratch);
    parallel_for(s_.out_size(), std::max<int64_t>(1, 4096 / s_.taps()),
                 [&](int64_t begin, int64_t end) { kernels().sample_taps(s_, compute_, grid, taps_, begin, end); });
    return taps_;
  }

 private:
  const Sampling& s_;
  const Compute compute_;
  const Planes grid_;
  ScratchScope own_;
  SampleTaps taps_;
};

void sample(const Sampling& s, const TensorView& in, const TensorView& grid, const TensorView& out) {
  const Compute c = real_compute(out.dtype);
  const Planes from(in, s.spatial, c), to(out, s.spatial, c);
  const int64_t channels = in.dims[1];
  TapsOfImage all(s, grid, c, false);
  for (int64_t n = 0; n < in.dims[0]; ++n) {
    const SampleTaps& taps = all.of(n);
    for_planes(channels, s.out_size() * s.taps(), [&](int64_t channel, ScratchScope& scratch) {
      const int64_t plane = n * channels + channel;
      void* const y = to.open(plane, scratch);
      kernels().sample_plane(s, c, taps, from.read(plane, scratch), y);
      to.store(plane, y);
    });
  }
}

void sample_backward(const Sampling& s, const TensorView& grad, const TensorView& in, const TensorView& grid,
                     const TensorView* grad_in, const TensorView* grad_grid) {
  const Compute c = real_compute(in.dtype);
  const Planes by(grad, s.spatial, c), from(in, s.spatial, c);
  const int64_t channels = in.dims[1], positions = s.out_size();
  TapsOfImage all(s, grid, c, grad_grid != nullptr);
  for (int64_t n = 0; n < in.dims[0]; ++n) {
    const SampleTaps& taps = all.of(n);
    if (grad_in) {
      const Planes to(*grad_in, s.spatial, c);
      for_planes(channels, positions * s.taps(), [&](int64_t channel, ScratchScope& scratch) {
        const int64_t plane = n * channels + channel;
        void* const x = to.open(plane, scratch);
        kernels().sample_plane_gradient(s, c, taps, by.read(plane, scratch), x);
        to.store(plane, x);
      });
    }
    if (grad_grid) {
      const Planes to(*grad_grid, s.spatial + 1, c);
      ScratchScope own;
      const size_t bytes = static_cast<size_t>(positions * s.spatial) * size_of(c);
      void* const sums = own.take<char>(bytes);
      std::memset(sums, 0, bytes);
      for (int64_t channel = 0; channel < channels; ++channel) {
        ScratchScope scratch;
        const void* const g = by.read(n * channels + channel, scratch);
        const void* const x = from.read(n * channels + channel, scratch);
        parallel_for(positions, 1024, [&](int64_t begin, int64_t end) {
          kernels().sample_grid_gradient(s, c, taps, g, x, sums, begin, end);
        });
      }
      void* const whole = to.open(n, own);
      kernels().transpose_2d(whole, s.spatial, sums, positions, s.spatial, positions, static_cast<int64_t>(size_of(c)));
      to.store(n, whole);
    }
  }
}

void plan_sample(Op& op, int spatial, const TensorView& in, const TensorView& grid, int64_t mode, int64_t border,
                 bool align_corners, const TensorView& out) {
  if (op.inferring()) {
    op.require(in.rank == spatial + 2 && grid.rank == spatial + 2, "input is {}, grid is {}, want {} dimensions",
               describe(in), describe(grid), spatial + 2);
    TensorView sampled = in;
    std::copy_n(grid.dims + 1, spatial, sampled.dims + 2);
    op.suggest_like(out, sampled, in.dtype);
  }
  const Sampling s = sampling_of(op, spatial, in, grid, out, mode, border, align_corners);
  if (out.empty()) return;
  op.work(out.numel() * s.taps() * 4);
  op.launch([=] { sample(s, in, grid, out); });
}

void plan_sample_backward(Op& op, int spatial, const TensorView& grad, const TensorView& in, const TensorView& grid,
                          int64_t mode, int64_t border, bool align_corners, Bools mask, OptOut grad_in,
                          OptOut grad_grid) {
  const Sampling s = sampling_of(op, spatial, in, grid, grad, mode, border, align_corners);
  if (grad_in) op.suggest_like(*grad_in, in, in.dtype);
  if (grad_grid) op.suggest_like(*grad_grid, grid, grid.dtype);
  const bool wanted[2] = {mask[0] && grad_in, mask[1] && grad_grid};
  TensorView to[2];
  if (wanted[0]) {
    op.result_like("gradInput", *grad_in, in, in.dtype);
    to[0] = *grad_in;
  }
  if (wanted[1]) {
    op.result_like("gradGrid", *grad_grid, grid, grid.dtype);
    to[1] = *grad_grid;
  }
  op.work(grad.numel() * s.taps() * 8 + in.numel());
  op.launch([=] {
    const TensorView *x = wanted[0] ? &to[0] : nullptr, *g = wanted[1] ? &to[1] : nullptr;
    if (grad.empty()) {
      if (x && !x->empty()) fill_elements(*x, Params{});
      if (g && !g->empty()) fill_elements(*g, Params{});
    } else {
      sample_backward(s, grad, in, grid, x, g);
    }
  });
}

}  // namespace

SAMPLE(aclnnGridSampler2D,
       "input=f32[2,3,N,M] grid=f32[2,5,7,2]:-1..1 interpolationMode=0 paddingMode=0 out=f32[2,3,5,7]")
ABOUT(aclnnGridSampler2D, Vector, "Samples images at the positions in grid: bilinear, nearest or bicubic",
      "按 grid 给出的位置对图像采样：双线性、最近邻或双三次")
ACLNN(aclnnGridSampler2D, (In, input), (In, grid), (Int, interpolationMode), (Int, paddingMode), (Bool, alignCorners),
      (Out, out)) {
  plan_sample(op, 2, *input, *grid, interpolationMode, paddingMode, alignCorners, *out);
}
SAMPLE(aclnnGridSampler3D,
       "input=f32[1,2,4,N,M] grid=f32[1,2,5,7,3]:-1..1 interpolationMode=0 paddingMode=0 out=f32[1,2,2,5,7]")
ABOUT(aclnnGridSampler3D, Vector, "Samples volumes at the positions in grid: trilinear or nearest",
      "按 grid 给出的位置对三维数据采样：三线性或最近邻")
ACLNN(aclnnGridSampler3D, (In, input), (In, grid), (Int, interpolationMode), (Int, paddingMode), (Bool, alignCorners),
      (Out, out)) {
  plan_sample(op, 3, *input, *grid, interpolationMode, paddingMode, alignCorners, *out);
}
SAMPLE(aclnnGridSampler2DBackward,
       "gradOutput=f32[2,3,5,7] input=f32[2,3,N,M] grid=f32[2,5,7,2]:-1..1 interpolationMode=0 paddingMode=0 "
       "outputMask=true,true inputGrad=f32[2,3,N,M] gridGrad=f32[2,5,7,2]")
ABOUT(aclnnGridSampler2DBackward, Vector, "Gradients of aclnnGridSampler2D for input and grid, as outputMask asks",
      "aclnnGridSampler2D 对输入与 grid 的反向梯度，由 outputMask 选择")
ACLNN(aclnnGridSampler2DBackward, (In, gradOutput), (In, input), (In, grid), (Int, interpolationMode),
      (Int, paddingMode), (Bool, alignCorners), (Bools, outputMask), (OptOut, inputGrad), (OptOut, gridGrad)) {
  plan_sample_backward(op, 2, *gradOutput, *input, *grid, interpolationMode, paddingMode, alignCorners, outputMask,
                       inputGrad, gridGrad);
}
SAMPLE(aclnnGridSampler3DBackward,
       "gradOutput=f32[1,2,2,5,7] input=f32[1,2,4,N,M] grid=f32[1,2,5,7,3]:-1..1 interpolationMode=0 paddingMode=0 "
       "outputMask=true,true inputGrad=f32[1,2,4,N,M] gridGrad=f32[1,2,5,7,3]")
ABOUT(aclnnGridSampler3DBackward, Vector, "Gradients of aclnnGridSampler3D for input and grid, as outputMask asks",
      "aclnnGridSampler3D 对输入与 grid 的反向梯度，由 outputMask 选择")
ACLNN(aclnnGridSampler3DBackward, (In, gradOutput), (In, input), (In, grid), (Int, interpolationMode),
      (Int, paddingMode), (Bool, alignCorners), (Bools, outputMask), (OptOut, inputGrad), (OptOut, gridGrad)) {
  plan_sample_backward(op, 3, *gradOutput, *input, *grid, interpolationMode, paddingMode, alignCorners, outputMask,
                       inputGrad, gridGrad);
}

// out[n, .., :] = theta[n] @ (x, y, (z,) 1) of an even grid over -1..1.
namespace {
template <class T>
void affine_grid(const TensorView& theta, const TensorView& out, bool align_corners) {
  const int dims = out.rank - 2;
  const Compute c = sizeof(T) == 4 ? Compute::F32 : Compute::F64;
  const Planes from(theta, 2, c), to(out, out.rank - 1, c);
  auto base = [&](int64_t i, int64_t size) {
    const T step = size > 1 ? T(2) / static_cast<T>(size - 1) : T(0);
    T x = size > 1 ? (i < size / 2 ? T(-1) + step * static_cast<T>(i) : T(1) - step * static_cast<T>(size - 1 - i))
                   : T(0);
    return align_corners ? x : x * static_cast<T>(size - 1) / static_cast<T>(size);
  };
  for_planes(to.count(), to.size() * 4, [&](int64_t n, ScratchScope& scratch) {
    const T* m = static_cast<const T*>(from.read(n, scratch));
    T* y = static_cast<T*>(to.open(n, scratch));
    T* put = y;
    int64_t index[3] = {};
    for (int64_t p = 0; p < to.size() / std::max(1, dims); ++p) {
      T at[4];
      for (int d = 0; d < dims; ++d) at[dims - 1 - d] = base(index[d], out.dims[d + 1]);
      at[dims] = 1;
      for (int r = 0; r < dims; ++r) {
        T sum = 0;
        for (int k = 0; k <= dims; ++k) sum += at[k] * m[r * (dims + 1) + k];
        *put++ = sum;
      }
      for (int d = dims - 1; d >= 0 && ++index[d] == out.dims[d + 1]; --d) index[d] = 0;
    }
    to.store(n, y);
  });
}
}  // namespace

SAMPLE(aclnnAffineGrid, "theta=f32[2,2,3] size=2,3,N,M out=f32[2,N,M,2]")
ABOUT(aclnnAffineGrid, Vector, "out = theta applied to an even grid over -1 to 1, for grid samplers",
      "将仿射矩阵 theta 作用于 [-1, 1] 均匀网格，生成采样网格")
ACLNN(aclnnAffineGrid, (In, theta), (Ints, size), (Bool, alignCorners), (Out, out)) {
  const int dims = static_cast<int>(size.size()) - 2;
  op.require(dims == 2 || dims == 3, "size has {} values, want 4 or 5", size.size());
  const int64_t theta_dims[3] = {size[0], dims, dims + 1};
  op.require_shape("theta", *theta, theta_dims, 3);
  int64_t want[5] = {size[0]};
  for (int d = 0; d < dims; ++d) want[d + 1] = size[static_cast<size_t>(d) + 2];
  want[dims + 1] = dims;
  op.result("out", *out, want, dims + 2, theta->dtype);
  if (out->empty()) return;
  op.work(out->numel() * 8);
  op.launch([=, theta = *theta, out = *out] {
    if (out.dtype == DType::Double) affine_grid<double>(theta, out, alignCorners);
    else affine_grid<float>(theta, out, alignCorners);
  });
}

}  // namespace updraft
