// Sampling at positions that a tensor gives. The positions of one image become taps (which input elements with which
// weights) that all channels share.
#include <cmath>

#include "kernels/pipeline.h"
#include "kernels/planes.h"
#include "ops/op.h"

namespace updraft {
namespace {

enum Interpolation { kLinear, kNearest, kCubic };
enum Border { kZeros, kClip, kReflect };

struct Sampling {
  int spatial;
  int mode, border;
  bool align_corners;
  int64_t in[3], out[3];  // in the order of dimensions; the grid's last dimension is in the reverse
  int64_t in_size() const { return spatial == 2 ? in[0] * in[1] : in[0] * in[1] * in[2]; }
  int64_t out_size() const { return spatial == 2 ? out[0] * out[1] : out[0] * out[1] * out[2]; }
  int taps() const { return mode == kNearest ? 1 : mode == kCubic ? 16 : 1 << spatial; }
};

template <class T>
struct Coordinate {
  T at, slope;  // position in elements and its derivative by the grid's value
};

template <class T>
Coordinate<T> bounded(T x, T slope, int64_t size, int border, bool align_corners) {
  if (border == kReflect) {
    const T low = align_corners ? T(0) : T(-1), high = align_corners ? T(2 * (size - 1)) : T(2 * size - 1);
    if (low == high) return {0, 0};
    const T min = low / 2, span = (high - low) / 2;
    x -= min;
    if (x < 0) {
      x = -x;
      slope = -slope;
    }
    const T extra = std::fmod(x, span), flips = std::floor(x / span);
    if (std::fmod(flips, T(2)) == 0) {
      x = extra + min;
    } else {
      x = span - extra + min;
      slope = -slope;
    }
  }
  if (border != kZeros) {
    const T last = static_cast<T>(size - 1);
    if (!(x > 0)) return {0, 0};
    if (x >= last) return {last, 0};
  }
  return {x, slope};
}

template <class T>
Coordinate<T> in_elements(T g, int64_t size, bool align_corners) {
  return align_corners ? Coordinate<T>{(g + 1) / 2 * static_cast<T>(size - 1), static_cast<T>(size - 1) / 2}
                       : Coordinate<T>{((g + 1) * static_cast<T>(size) - 1) / 2, static_cast<T>(size) / 2};
}

// Positions that no integer holds are outside.
template <class T>
int64_t whole(T x) {
  return x > T(-1e9) && x < T(1e9) ? static_cast<int64_t>(x) : int64_t{-1} << 40;
}

// index[k * P + p] is -1 for elements outside; slope[(k * spatial + d) * P + p].
template <class T>
struct TapsOf {
  std::vector<int64_t> index;
  std::vector<T> weight, slope;

  TapsOf(const Sampling& s, bool slopes) {
    const size_t n = static_cast<size_t>(s.taps() * s.out_size());
    index.resize(n);
    weight.resize(n);
    if (slopes) slope.resize(n * static_cast<size_t>(s.spatial));
  }

  void fill(const Sampling& s, const T* grid) {
    const int64_t positions = s.out_size();
    const int taps = s.taps(), n = s.spatial;
    const int each = s.mode == kNearest ? 1 : s.mode == kCubic ? 4 : 2;
    parallel_for(positions, std::max<int64_t>(1, 4096 / taps), [&](int64_t begin, int64_t end) {
      for (int64_t p = begin; p < end; ++p) {
        int64_t at[3][4];
        T w[3][4], dw[3][4];
        for (int d = 0; d < n; ++d) {
          const T g = grid[p * n + (n - 1 - d)];
          const int64_t size = s.in[d];
          Coordinate<T> c = in_elements(g, size, s.align_corners);
          if (s.mode == kCubic) {
            const T floor = std::floor(c.at), t = c.at - floor, a = T(-0.75);
            auto near = [&](T x) { return ((a + 2) * x - (a + 3)) * x * x + 1; };
            auto far = [&](T x) { return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a; };
            auto near_slope = [&](T x) { return (3 * (a + 2) * x - 2 * (a + 3)) * x; };
            auto far_slope = [&](T x) { return (3 * a * x - 10 * a) * x + 8 * a; };
            const T ws[4] = {far(t + 1), near(t), near(1 - t), far(2 - t)};
            const T ds[4] = {far_slope(t + 1), near_slope(t), -near_slope(1 - t), -far_slope(2 - t)};
            for (int k = 0; k < 4; ++k) {
              at[d][k] = whole(bounded(floor - 1 + static_cast<T>(k), T(1), size, s.border, s.align_corners).at);
              w[d][k] = ws[k];
              dw[d][k] = ds[k] * c.slope;
            }
            continue;
          }
          c = bounded(c.at, c.slope, size, s.border, s.align_corners);
          if (s.mode == kNearest) {
            at[d][0] = whole(std::nearbyint(c.at));
            w[d][0] = 1;
            dw[d][0] = 0;
          } else {
            const T floor = std::floor(c.at), t = c.at - floor;
            at[d][0] = whole(floor);
            at[d][1] = at[d][0] + 1;
            w[d][0] = floor + 1 - c.at;
            w[d][1] = t;
            dw[d][0] = -c.slope;
            dw[d][1] = c.slope;
          }
        }
        for (int k = 0; k < taps; ++k) {
          int64_t element = 0;
          T product = 1;
          int which[3];
          for (int d = n - 1, rest = k; d >= 0; --d, rest /= each) which[d] = rest % each;
          for (int d = 0; d < n; ++d) {
            const int64_t x = at[d][which[d]];
            if (x < 0 || x >= s.in[d]) element = -1;
            if (element >= 0) element = element * s.in[d] + x;
            product *= w[d][which[d]];
          }
          index[static_cast<size_t>(k * positions + p)] = element;
          weight[static_cast<size_t>(k * positions + p)] = product;
          if (slope.empty()) continue;
          for (int d = 0; d < n; ++d) {
            T value = dw[d][which[d]];
            for (int o = 0; o < n; ++o)
              if (o != d) value *= w[o][which[o]];
            slope[static_cast<size_t>((k * n + d) * positions + p)] = value;
          }
        }
      }
    });
  }
};

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

template <class T>
void sample(const Sampling& s, const TensorView& in, const TensorView& grid, const TensorView& out) {
  const Compute c = sizeof(T) == 4 ? Compute::F32 : Compute::F64;
  const Planes from(in, s.spatial, c), to(out, s.spatial, c), at(grid, s.spatial + 1, c);
  const int64_t channels = in.dims[1], positions = s.out_size();
  TapsOf<T> taps(s, false);
  for (int64_t n = 0; n < in.dims[0]; ++n) {
    ScratchScope own;
    taps.fill(s, static_cast<const T*>(at.read(n, own)));
    for_planes(channels, positions * s.taps(), [&](int64_t channel, ScratchScope& scratch) {
      const T* x = static_cast<const T*>(from.read(n * channels + channel, scratch));
      T* y = static_cast<T*>(to.open(n * channels + channel, scratch));
      std::fill_n(y, positions, T(0));
      for (int k = 0; k < s.taps(); ++k) {
        const int64_t* index = taps.index.data() + k * positions;
        const T* weight = taps.weight.data() + k * positions;
        for (int64_t p = 0; p < positions; ++p)
          if (index[p] >= 0) y[p] += x[index[p]] * weight[p];
      }
      to.store(n * channels + channel, y);
    });
  }
}

template <class T>
void sample_backward(const Sampling& s, const TensorView& grad, const TensorView& in, const TensorView& grid,
                     const TensorView* grad_in, const TensorView* grad_grid) {
  const Compute c = sizeof(T) == 4 ? Compute::F32 : Compute::F64;
  const Planes by(grad, s.spatial, c), from(in, s.spatial, c), at(grid, s.spatial + 1, c);
  const int64_t channels = in.dims[1], positions = s.out_size();
  const int taps_count = s.taps(), dims = s.spatial;
  TapsOf<T> taps(s, grad_grid != nullptr);
  for (int64_t n = 0; n < in.dims[0]; ++n) {
    ScratchScope own;
    taps.fill(s, static_cast<const T*>(at.read(n, own)));
    if (grad_in) {
      const Planes to(*grad_in, s.spatial, c);
      for_planes(channels, positions * taps_count, [&](int64_t channel, ScratchScope& scratch) {
        const T* g = static_cast<const T*>(by.read(n * channels + channel, scratch));
        T* x = static_cast<T*>(to.open(n * channels + channel, scratch));
        std::fill_n(x, to.size(), T(0));
        for (int k = 0; k < taps_count; ++k) {
          const int64_t* index = taps.index.data() + k * positions;
          const T* weight = taps.weight.data() + k * positions;
          for (int64_t p = 0; p < positions; ++p)
            if (index[p] >= 0) x[index[p]] += g[p] * weight[p];
        }
        to.store(n * channels + channel, x);
      });
    }
    if (grad_grid) {
      const Planes to(*grad_grid, s.spatial + 1, c);
      T* sum = static_cast<T*>(to.open(n, own));
      std::fill_n(sum, to.size(), T(0));
      for (int64_t channel = 0; channel < channels; ++channel) {
        ScratchScope scratch;
        const T* g = static_cast<const T*>(by.read(n * channels + channel, scratch));
        const T* x = static_cast<const T*>(from.read(n * channels + channel, scratch));
        parallel_for(positions, 1024, [&](int64_t begin, int64_t end) {
          for (int k = 0; k < taps_count; ++k)
            for (int64_t p = begin; p < end; ++p) {
              const int64_t index = taps.index[static_cast<size_t>(k * positions + p)];
              if (index < 0) continue;
              const T value = g[p] * x[index];
              for (int d = 0; d < dims; ++d)
                sum[p * dims + (dims - 1 - d)] +=
                    value * taps.slope[static_cast<size_t>((k * dims + d) * positions + p)];
            }
        });
      }
      to.store(n, sum);
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
  op.launch([=] {
    if (out.dtype == DType::Double) sample<double>(s, in, grid, out);
    else sample<float>(s, in, grid, out);
  });
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
    } else if (in.dtype == DType::Double) {
      sample_backward<double>(s, grad, in, grid, x, g);
    } else {
      sample_backward<float>(s, grad, in, grid, x, g);
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
