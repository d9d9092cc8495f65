// Maximum pooling. Three forms of the same positions: flat indices of the plane (int32 or int64), and the "mask" of
// aclnnMaxPool2dWithMask, which is private to this library: the client allocates kernel * 32 * (outputs / 16 + 1)
// bytes a plane, and the first of them hold the position in the window of each output.
#include <algorithm>

#include "ops/op.h"
#include "ops/pool/pool.h"

namespace updraft {
namespace {

int64_t cost_of(const PoolShape& s, int64_t planes) {
  return planes * (s.in_size() + s.out_size() * (s.kernel_size() + 2));
}

/// The mask: each output's position in its window, in front of each plane's `room`. Where that is less than a byte for
/// each, as old clients have it (MaxPoolWithArgmaxV1 in the card's own format: a bit for each of the window's
/// elements), several positions share a byte, the first in the lowest bits.
class Mask {
 public:
  Mask(const Op& op, const PoolShape& s, const TensorView& indices, int64_t planes)
      : data_(indices.as<char>()), outputs_(s.out_size()), room_(static_cast<int64_t>(indices.bytes()) / planes) {
    const int64_t kernel = s.kernel_size();
    if (room_ >= outputs_ || kernel > 16) bits_ = kernel <= 256 ? 8 : kernel <= 65536 ? 16 : 32;
    else bits_ = kernel <= 2 ? 1 : kernel <= 4 ? 2 : 4;
    op.require(indices.is_contiguous() && room_ >= bytes(), "indices is {}, want at least {} contiguous bytes a plane",
               describe(indices), bytes());
  }

  void write(int64_t i, const int32_t* where) const {
    char* const plane = data_ + i * room_;
    if (bits_ >= 8) {
      kernels().narrow_positions(plane, width(), where, outputs_);
    } else {
      std::fill(plane, plane + bytes(), char{0});
      for (int64_t o = 0; o < outputs_; ++o)
        plane[o * bits_ / 8] = static_cast<char>(plane[o * bits_ / 8] | where[o] << (o * bits_ % 8));
    }
    std::fill(plane + bytes(), plane + room_, char{0});  // the client's room is larger
  }
  /// Positions of width() bytes.
  const void* read(int64_t i, ScratchScope& scratch) const {
    const char* const plane = data_ + i * room_;
    if (bits_ >= 8) return plane;
    auto* const each = scratch.take<uint8_t>(static_cast<size_t>(outputs_));
    for (int64_t o = 0; o < outputs_; ++o)
      each[o] =
          static_cast<uint8_t>(static_cast<uint8_t>(plane[o * bits_ / 8]) >> (o * bits_ % 8) & ((1 << bits_) - 1));
    return each;
  }
  int width() const { return std::max(1, bits_ / 8); }

 private:
  int64_t bytes() const { return (outputs_ * bits_ + 7) / 8; }

  char* data_;
  int64_t outputs_, room_;
  int bits_;  ///< of a position
};

void plan_indices(Op& op, int spatial, const TensorView& self, const PoolShape& s, const TensorView& out,
                  const TensorView& indices) {
  const Compute c = pool_compute(op, self);
  require_windows(op, s);
  op.require_same_shape("indices", indices, "output", out);
  op.require(indices.dtype == DType::Int32 || indices.dtype == DType::Int64, "indices is {}, want int32 or int64",
             describe(indices));
  op.require(s.in_size() <= INT32_MAX || indices.dtype == DType::Int64,
             "self is {}: planes too large for int32 indices", describe(self));
  if (out.empty()) return;
  const Planes from(self, spatial, c), to(out, spatial, c), at(indices, spatial, Compute::I64);
  op.work(cost_of(s, to.count()));
  op.launch([=] {
    for_planes(to.count(), cost_of(s, 1), [&](int64_t i, ScratchScope& scratch) {
      auto* where = scratch.take<int32_t>(static_cast<size_t>(s.out_size()));
      void* result = to.open(i, scratch);
      kernels().max_pool(s, c, from.read(i, scratch), result, where);
      to.store(i, result);
      auto* flat = static_cast<int64_t*>(at.open(i, scratch));
      int64_t n = 0;
      for (int64_t d = 0; d < s.out[0]; ++d)
        for (int64_t h = 0; h < s.out[1]; ++h)
          for (int64_t w = 0; w < s.out[2]; ++w, ++n) flat[n] = s.origin(d, h, w) + s.offset(where[n]);
      at.store(i, flat);
    });
  });
}

// grad_in[plane, index] += grad
void plan_scatter(Op& op, int spatial, const TensorView& grad, const TensorView& indices, const TensorView& grad_in) {
  const Compute c = pool_compute(op, grad_in);
  op.require_same_shape("indices", indices, "gradOutput", grad);
  plane_shape(op, spatial, grad_in, grad);
  op.require(is_integral(indices.dtype), "indices is {}, want integers", describe(indices));
  if (grad_in.empty()) return;
  const Planes from(grad, spatial, c), at(indices, spatial, Compute::I64), to(grad_in, spatial, c);
  op.work(grad_in.numel() + 4 * grad.numel());
  op.launch([=, name = std::string(op.name())] {
    for_planes(to.count(), to.size() + 4 * from.size(), [&](int64_t i, ScratchScope& scratch) {
      const void* g = from.read(i, scratch);
      const auto* index = static_cast<const int64_t*>(at.read(i, scratch));
      void* result = to.open(i, scratch);
      auto run = [&]<class T>() {
        T* sum = static_cast<T*>(result);
        std::fill_n(sum, to.size(), T(0));
        for (int64_t n = 0; n < from.size(); ++n) {
          if (static_cast<uint64_t>(index[n]) >= static_cast<uint64_t>(to.size()))
            fail_kernel(fmt::format("{}: index {} is out of a plane of {} elements", name, index[n], to.size()));
          sum[index[n]] += static_cast<const T*>(g)[n];
        }
      };
      if (c == Compute::F32) run.template operator()<float>();
      else if (c == Compute::F64) run.template operator()<double>();
      else run.template operator()<int64_t>();
      to.store(i, result);
    });
  });
}

}  // namespace

SAMPLE(aclnnMaxPool2dWithMask, "self=f32[2,8,32,64] out=f32[2,8,16,32] indices=i8[2,8,4,1056]!")
ABOUT(aclnnMaxPool2dWithMask, Vector,
      "Maximum over windows of the last two dimensions, with a private mask for the gradient",
      "对最后两维的窗口做最大池化，附带供反向使用的内部掩码")
ACLNN(aclnnMaxPool2dWithMask, (In, self), (Ints, kernelSize), (Ints, stride), (Ints, padding), (Ints, dilation),
      (Bool, ceilMode), (Out, out), (Out, indices)) {
  suggest_pooled(op, 2, *self, *kernelSize, *stride, *padding, *dilation, ceilMode, self->dtype, *out);
  if (op.inferring() && out->rank >= 3) {
    // What clients allocate: kernel * 32 * (outputs / 16 + 1) bytes a plane.
    const int64_t outputs = out->dims[out->rank - 2] * out->dims[out->rank - 1];
    TensorView bytes = *out;
    bytes.dims[out->rank - 2] = kernelSize[0] * kernelSize[kernelSize.size() - 1];
    bytes.dims[out->rank - 1] = 32 * ((outputs + 15) / 16 + 1);
    op.suggest_like(*indices, bytes, DType::Int8);
  }
  const PoolShape s = pool_shape(op, 2, *self, *out, *kernelSize, *stride, *padding, *dilation);
  const Compute c = pool_compute(op, *self);
  require_windows(op, s);
  if (out->empty()) return;
  const Planes from(*self, 2, c), to(*out, 2, c);
  const Mask mask(op, s, *indices, to.count());
  op.work(cost_of(s, to.count()));
  op.launch([=] {
    for_planes(to.count(), cost_of(s, 1), [&](int64_t i, ScratchScope& scratch) {
      auto* where = scratch.take<int32_t>(static_cast<size_t>(s.out_size()));
      void* result = to.open(i, scratch);
      kernels().max_pool(s, c, from.read(i, scratch), result, where);
      to.store(i, result);
      mask.write(i, where);
    });
  });
}

SAMPLE(aclnnMaxPool2dWithMaskBackward, "indices=i8[2,3,4,M]!")
ABOUT(aclnnMaxPool2dWithMaskBackward, Vector, "Gradient of aclnnMaxPool2dWithMask from its mask",
      "aclnnMaxPool2dWithMask 的反向梯度，由其掩码计算")
ACLNN(aclnnMaxPool2dWithMaskBackward, (In, gradOutput), (In, self), (In, indices), (Ints, kernelSize), (Ints, stride),
      (Ints, padding), (Ints, dilation), (Bool, ceilMode), (Out, gradInput)) {
  (void)ceilMode;
  op.result_like("gradInput", *gradInput, *self, self->dtype);
  const PoolShape s = pool_shape(op, 2, *gradInput, *gradOutput, *kernelSize, *stride, *padding, *dilation);
  const Compute c = pool_compute(op, *gradInput);
  require_windows(op, s);
  if (gradInput->empty()) return;
  const Planes from(*gradOutput, 2, c), to(*gradInput, 2, c);
  const Mask mask(op, s, *indices, to.count());
  op.work(to.count() * (s.in_size() + 4 * s.out_size()));
  op.launch([=] {
    for_planes(to.count(), s.in_size() + 4 * s.out_size(), [&](int64_t i, ScratchScope& scratch) {
      void* result = to.open(i, scratch);
      kernels().max_pool_scatter(s, c, from.read(i, scratch), mask.read(i, scratch), mask.width(), result);
      to.store(i, result);
    });
  });
}

CARD(aclnnMaxPool2dWithIndices, absent(k910 | k310P), on("self", kFloats))
ABOUT(aclnnMaxPool2dWithIndices, Vector, "Maximum over windows of the last two dimensions, with its index in the plane",
      "对最后两维的窗口做最大池化，附带平面内索引")
ACLNN(aclnnMaxPool2dWithIndices, (In, self), (Ints, kernelSize), (Ints, stride), (Ints, padding), (Ints, dilation),
      (Bool, ceilMode), (Out, out), (Out, indices)) {
  suggest_pooled(op, 2, *self, *kernelSize, *stride, *padding, *dilation, ceilMode, self->dtype, *out);
  op.suggest_like(*indices, *out, DType::Int64);
  plan_indices(op, 2, *self, pool_shape(op, 2, *self, *out, *kernelSize, *stride, *padding, *dilation), *out, *indices);
}

ABOUT(aclnnMaxPool2dWithIndicesBackward, Vector,
      "Gradient of aclnnMaxPool2dWithIndices: gradOutput added at the indices",
      "aclnnMaxPool2dWithIndices 的反向梯度：按索引累加 gradOutput")
ACLNN(aclnnMaxPool2dWithIndicesBackward, (In, gradOutput), (In, self), (In, indices), (Ints, kernelSize),
      (Ints, stride), (Ints, padding), (Ints, dilation), (Bool, ceilMode), (Out, gradInput)) {
  (void)kernelSize, (void)stride, (void)padding, (void)dilation, (void)ceilMode;
  op.result_like("gradInput", *gradInput, *self, self->dtype);
  plan_scatter(op, 2, *gradOutput, *indices, *gradInput);
}

ABOUT(aclnnMaxPool3dWithArgmax, Vector,
      "Maximum over windows of the last three dimensions, with its index in the volume",
      "对最后三维的窗口做最大池化，附带空间内索引")
ACLNN(aclnnMaxPool3dWithArgmax, (In, self), (Ints, kernelSize), (Ints, stride), (Ints, padding), (Ints, dilation),
      (Bool, ceilMode), (Out, out), (Out, indices)) {
  suggest_pooled(op, 3, *self, *kernelSize, *stride, *padding, *dilation, ceilMode, self->dtype, *out);
  op.suggest_like(*indices, *out, DType::Int32);
  plan_indices(op, 3, *self, pool_shape(op, 3, *self, *out, *kernelSize, *stride, *padding, *dilation), *out, *indices);
}

ABOUT(aclnnMaxPool3dWithArgmaxBackward, Vector, "Gradient of aclnnMaxPool3dWithArgmax: gradOutput added at the indices",
      "aclnnMaxPool3dWithArgmax 的反向梯度：按索引累加 gradOutput")
ACLNN(aclnnMaxPool3dWithArgmaxBackward, (In, gradOutput), (In, self), (In, indices), (Ints, kernelSize), (Ints, stride),
      (Ints, padding), (Ints, dilation), (Bool, ceilMode), (Out, gradInput)) {
  (void)kernelSize, (void)stride, (void)padding, (void)dilation, (void)ceilMode;
  op.result_like("gradInput", *gradInput, *self, self->dtype);
  plan_scatter(op, 3, *gradOutput, *indices, *gradInput);
}

// --- adaptive: output o covers [o * in / out, ceil((o + 1) * in / out))
// -----------------------------------------------
namespace {
template <class T>
void adaptive_max(const PoolShape& s, const T* in, T* out, int64_t* where) {
  auto begin = [](int64_t o, int64_t size, int64_t from) { return o / size * from + o % size * from / size; };
  auto end = [](int64_t o, int64_t size, int64_t from) { return 1 + ((o + 1) * from - 1) / size; };
  for (int64_t d = 0; d < s.out[0]; ++d)
    for (int64_t h = 0; h < s.out[1]; ++h)
      for (int64_t w = 0; w < s.out[2]; ++w) {
        int64_t at = (begin(d, s.out[0], s.in[0]) * s.in[1] + begin(h, s.out[1], s.in[1])) * s.in[2] +
                     begin(w, s.out[2], s.in[2]);
        T best = in[at];
        for (int64_t z = begin(d, s.out[0], s.in[0]); z < end(d, s.out[0], s.in[0]); ++z)
          for (int64_t y = begin(h, s.out[1], s.in[1]); y < end(h, s.out[1], s.in[1]); ++y)
            for (int64_t x = begin(w, s.out[2], s.in[2]); x < end(w, s.out[2], s.in[2]); ++x) {
              const int64_t k = (z * s.in[1] + y) * s.in[2] + x;
              if (in[k] > best || in[k] != in[k]) {
                best = in[k];
                at = k;
              }
            }
        *out++ = best;
        *where++ = at;
      }
}

void plan_adaptive(Op& op, int spatial, const TensorView& self, const TensorView& out, const TensorView& indices) {
  const Compute c = pool_compute(op, self);
  const PoolShape s = plane_shape(op, spatial, self, out);
  op.require_same_shape("indices", indices, "output", out);
  if (out.empty()) return;
  op.require(!self.empty(), "self is {}, want planes that are not empty", describe(self));
  const Planes from(self, spatial, c), to(out, spatial, c), at(indices, spatial, Compute::I64);
  op.work(self.numel() * 2 + out.numel() * 8);
  op.launch([=] {
    for_planes(to.count(), s.in_size() * 2 + s.out_size() * 8, [&](int64_t i, ScratchScope& scratch) {
      const void* x = from.read(i, scratch);
      void* y = to.open(i, scratch);
      auto* where = static_cast<int64_t*>(at.open(i, scratch));
      if (c == Compute::F32) adaptive_max(s, static_cast<const float*>(x), static_cast<float*>(y), where);
      else if (c == Compute::F64) adaptive_max(s, static_cast<const double*>(x), static_cast<double*>(y), where);
      else adaptive_max(s, static_cast<const int64_t*>(x), static_cast<int64_t*>(y), where);
      to.store(i, y);
      at.store(i, where);
    });
  });
}
}  // namespace

ABOUT(aclnnAdaptiveMaxPool2d, Vector, "Maximum over windows that divide the last two dimensions into outputSize",
      "将最后两维自适应最大池化到 outputSize，附带索引")
ACLNN(aclnnAdaptiveMaxPool2d, (In, self), (Ints, outputSize), (Out, out), (Out, indices)) {
  suggest_sized(op, 2, *self, *outputSize, self->dtype, *out);
  op.suggest_like(*indices, *out, DType::Int64);
  require_output_size(op, outputSize, *out, 2);
  plan_adaptive(op, 2, *self, *out, *indices);
}
ABOUT(aclnnAdaptiveMaxPool3d, Vector, "Maximum over windows that divide the last three dimensions into outputSize",
      "将最后三维自适应最大池化到 outputSize，附带索引")
ACLNN(aclnnAdaptiveMaxPool3d, (In, self), (Ints, outputSize), (Out, out), (Out, indices)) {
  suggest_sized(op, 3, *self, *outputSize, self->dtype, *out);
  op.suggest_like(*indices, *out, DType::Int32);
  require_output_size(op, outputSize, *out, 3);
  plan_adaptive(op, 3, *self, *out, *indices);
}
ABOUT(aclnnAdaptiveMaxPool2dBackward, Vector, "Gradient of aclnnAdaptiveMaxPool2d: gradOutput added at the indices",
      "aclnnAdaptiveMaxPool2d 的反向梯度：按索引累加 gradOutput")
ACLNN(aclnnAdaptiveMaxPool2dBackward, (In, gradOutput), (In, self), (In, indices), (Out, gradInput)) {
  op.result_like("gradInput", *gradInput, *self, self->dtype);
  plan_scatter(op, 2, *gradOutput, *indices, *gradInput);
}
ABOUT(aclnnAdaptiveMaxPool3dBackward, Vector, "Gradient of aclnnAdaptiveMaxPool3d: gradOutput added at the indices",
      "aclnnAdaptiveMaxPool3d 的反向梯度：按索引累加 gradOutput")
ACLNN(aclnnAdaptiveMaxPool3dBackward, (In, gradOutput), (In, self), (In, indices), (Out, gradInput)) {
  op.result_like("gradInput", *gradInput, *self, self->dtype);
  plan_scatter(op, 3, *gradOutput, *indices, *gradInput);
}

}  // namespace updraft
