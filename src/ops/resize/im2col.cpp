// Windows as columns and back, and the gradient of unfold.
#include "kernels/pipeline.h"
#include "kernels/planes.h"
#include "kernels/rows/arithmetic.h"
#include "ops/op.h"

namespace updraft {
namespace {

struct Windows {
  int64_t size[2], kernel[2], dilation[2], padding[2], stride[2], out[2];
  int64_t positions() const { return kernel[0] * kernel[1]; }
  int64_t blocks() const { return out[0] * out[1]; }
};

Windows windows_of(Op& op, const TensorView& image, Ints kernel, Ints dilation, Ints padding, Ints stride) {
  op.require(image.rank == 3 || image.rank == 4, "image is {}, want 3 or 4 dimensions", describe(image));
  Windows w;
  auto set = [&](const char* name, Ints values, int64_t least, int64_t* to) {
    op.require(values.size() == 1 || values.size() == 2, "{} has {} values, want 1 or 2", name, values.size());
    for (size_t d = 0; d < 2; ++d) {
      to[d] = values[values.size() == 1 ? 0 : d];
      op.require(to[d] >= least, "{} is {}, want at least {}", name, to[d], least);
    }
  };
  set("kernelSize", kernel, 1, w.kernel);
  set("dilation", dilation, 1, w.dilation);
  set("padding", padding, 0, w.padding);
  set("stride", stride, 1, w.stride);
  for (int d = 0; d < 2; ++d) {
    w.size[d] = image.dims[image.rank - 2 + d];
    const int64_t room = w.size[d] + 2 * w.padding[d] - w.dilation[d] * (w.kernel[d] - 1) - 1;
    w.out[d] = room < 0 ? 0 : room / w.stride[d] + 1;
  }
  return w;
}

// [N, C * positions, blocks] as [N, C, positions, blocks]
TensorView columns_of(Op& op, const Windows& w, const TensorView& image, const TensorView& columns) {
  op.require(columns.rank == image.rank - 1, "columns is {}, image is {}, want one dimension less", describe(columns),
             describe(image));
  const int batch = image.rank - 3;
  const int64_t channels = image.dims[batch];
  op.require((batch == 0 || columns.dims[0] == image.dims[0]) && columns.dims[batch] == channels * w.positions() &&
                 columns.dims[batch + 1] == w.blocks(),
             "columns is {}, want {} x {} for image {}", describe(columns), channels * w.positions(), w.blocks(),
             describe(image));
  TensorView to = columns;
  to.rank = columns.rank + 1;
  to.dims[batch] = channels;
  to.strides[batch] = columns.strides[batch] * w.positions();
  to.dims[batch + 1] = w.positions();
  to.strides[batch + 1] = columns.strides[batch];
  to.dims[batch + 2] = columns.dims[batch + 1];
  to.strides[batch + 2] = columns.strides[batch + 1];
  return to;
}

// Calls row(position, first block, image offset, n, step) for runs of blocks in one row that lie inside the image.
template <class Row>
void rows(const Windows& w, Row&& row) {
  for (int64_t kh = 0; kh < w.kernel[0]; ++kh)
    for (int64_t kw = 0; kw < w.kernel[1]; ++kw) {
      const int64_t at = kw * w.dilation[1] - w.padding[1];
      const int64_t begin = at >= 0 ? 0 : (-at + w.stride[1] - 1) / w.stride[1];
      const int64_t end = at >= w.size[1] ? 0 : std::min(w.out[1], (w.size[1] - 1 - at) / w.stride[1] + 1);
      if (begin >= end) continue;
      for (int64_t oh = 0; oh < w.out[0]; ++oh) {
        const int64_t ih = oh * w.stride[0] - w.padding[0] + kh * w.dilation[0];
        if (ih < 0 || ih >= w.size[0]) continue;
        row((kh * w.kernel[1] + kw) * w.blocks() + oh * w.out[1] + begin, ih * w.size[1] + begin * w.stride[1] + at,
            end - begin);
      }
    }
}

template <class F>
void by_compute(Compute c, F&& f) {
  switch (c) {
    case Compute::F32: f.template operator()<float>(); break;
    case Compute::F64: f.template operator()<double>(); break;
    case Compute::I64: f.template operator()<int64_t>(); break;
    case Compute::C64: f.template operator()<complex64>(); break;
    default: f.template operator()<complex128>(); break;
  }
}

}  // namespace

SAMPLE(aclnnIm2col, "self=f32[2,3,6,M] kernelSize=3,1 dilation=1,1 padding=1,0 stride=1,1 out=f32[2,9,6M]")
ABOUT(aclnnIm2col, Vector, "out = windows of the image as columns", "将图像的滑动窗口展开为列")
ACLNN(aclnnIm2col, (In, self), (Ints, kernelSize), (Ints, dilation), (Ints, padding), (Ints, stride), (Out, out)) {
  const Windows w = windows_of(op, *self, kernelSize, dilation, padding, stride);
  if (self->rank == 4) op.suggest(*out, {self->dims[0], self->dims[1] * w.positions(), w.blocks()}, self->dtype);
  else op.suggest(*out, {self->dims[0] * w.positions(), w.blocks()}, self->dtype);
  const TensorView columns = columns_of(op, w, *self, *out);
  if (out->empty()) return;
  const Compute c = compute_of(out->dtype);
  const Planes from(*self, 2, c), to(columns, 2, c);
  op.work(out->numel() * 2);
  op.launch([=] {
    map_planes(from, to, [&](const void* x, void* y) {
      by_compute(c, [&]<class T>() {
        std::fill_n(static_cast<T*>(y), w.positions() * w.blocks(), T(0));
        rows(w, [&](int64_t column, int64_t image, int64_t n) {
          T* put = static_cast<T*>(y) + column;
          const T* take = static_cast<const T*>(x) + image;
          for (int64_t i = 0; i < n; ++i) put[i] = take[i * w.stride[1]];
        });
      });
    });
  });
}

SAMPLE(aclnnIm2colBackward,
       "self=f32[2,9,6M] outputSize=6,M kernelSize=3,1 dilation=1,1 padding=1,0 stride=1,1 out=f32[2,3,6,M]")
ABOUT(aclnnIm2colBackward, Vector, "Sums columns back into the image (fold)", "将列按窗口位置累加还原为图像")
ACLNN(aclnnIm2colBackward, (In, self), (Ints, outputSize), (Ints, kernelSize), (Ints, dilation), (Ints, padding),
      (Ints, stride), (Out, out)) {
  if (op.inferring()) {
    op.require(self->rank == 2 || self->rank == 3, "columns is {}, want 2 or 3 dimensions", describe(*self));
    op.require(outputSize.size() == 2, "outputSize has {} values, want 2", outputSize.size());
    op.require(kernelSize.size() == 1 || kernelSize.size() == 2, "kernelSize has {} values, want 1 or 2",
               kernelSize.size());
    int64_t positions = 0;
    op.require(!__builtin_mul_overflow(kernelSize[0], kernelSize[kernelSize.size() - 1], &positions) && positions > 0,
               "kernelSize is {}, want at least 1", kernelSize[0]);
    const int64_t channels = self->dims[self->rank - 2] / positions;
    if (self->rank == 3) op.suggest(*out, {self->dims[0], channels, outputSize[0], outputSize[1]}, self->dtype);
    else op.suggest(*out, {channels, outputSize[0], outputSize[1]}, self->dtype);
  }
  const Windows w = windows_of(op, *out, kernelSize, dilation, padding, stride);
  op.require(outputSize.size() == 2 && outputSize[0] == w.size[0] && outputSize[1] == w.size[1],
             "out is {}, outputSize does not fit", describe(*out));
  const TensorView columns = columns_of(op, w, *out, *self);
  if (out->empty()) return;
  const Compute c = compute_of(out->dtype);
  const Planes from(columns, 2, c), to(*out, 2, c);
  op.work(self->numel() * 2 + out->numel());
  op.launch([=] {
    map_planes(from, to, [&](const void* x, void* y) {
      by_compute(c, [&]<class T>() {
        std::fill_n(static_cast<T*>(y), w.size[0] * w.size[1], T(0));
        rows(w, [&](int64_t column, int64_t image, int64_t n) {
          T* put = static_cast<T*>(y) + image;
          const T* take = static_cast<const T*>(x) + column;
          for (int64_t i = 0; i < n; ++i) put[i * w.stride[1]] += take[i];
        });
      });
    });
  });
}

// out[.., i * step + k, ..] += grad[.., i, .., k]: one window position at a time.
SAMPLE(aclnnUnfoldGrad, "gradOut=f32[N,3,2] inputSizes=N,6 dim=1 size=2 step=2 gradIn=f32[N,6]")
ABOUT(aclnnUnfoldGrad, Vector, "Gradient of unfold: sums the windows of dimension dim back",
      "unfold 的反向梯度：将 dim 维的窗口累加还原")
ACLNN(aclnnUnfoldGrad, (In, gradOut), (Ints, inputSizes), (Int, dim), (Int, size), (Int, step), (Out, gradIn)) {
  op.result("gradIn", *gradIn, inputSizes->data(), static_cast<int>(inputSizes.size()), gradOut->dtype);
  op.require(step >= 1 && size >= 0, "step is {}, size is {}, want at least 1 and 0", step, size);
  const TensorView to = *gradIn, from = *gradOut;
  if (to.rank == 0) {
    if (from.numel() == 1)
      op.launch([=] { copy_elements(to, TensorView::contiguous(from.data, from.dtype, nullptr, 0)); });
    return;
  }
  const int d = to.wrap_dim(dim);
  op.require(from.rank == to.rank + 1 && from.dims[to.rank] == size && size <= to.dims[d] &&
                 from.dims[d] == (to.dims[d] - size) / step + 1,
             "gradOut is {}, want windows of {} at steps of {} of {}", describe(from), size, step, describe(to));
  if (to.empty()) return;
  op.work(to.numel() + from.numel());
  op.launch([=] {
    fill_elements(to, Params{});
    Params one;
    one.set(0, int64_t{1});
    const Compute c = compute_of(to.dtype);
    for (int64_t k = 0; k < size; ++k) {
      TensorView part = to, window = from;
      part.dims[d] = from.dims[d];
      part.strides[d] = to.strides[d] * step;
      part.data = to.as<char>() + k * to.strides[d] * static_cast<int64_t>(size_of(to.dtype));
      window.rank = to.rank;
      window.data = from.as<char>() + k * from.strides[to.rank] * static_cast<int64_t>(size_of(from.dtype));
      run_elementwise(elementwise_kernel(ew::add, c), c, {part, window}, {part}, one);
    }
  });
}

}  // namespace updraft
