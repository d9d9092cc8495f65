// Fourier transforms of complex numbers, as torch.fft is compiled to them.
#include "kernels/fourier.h"

#include "base/parallel.h"
#include "kernels/pipeline.h"
#include "ops/ir/shapes.h"

namespace updraft {
namespace {

/// Each row along dimension d of the dense tensor, where it lies.
void transform(complex128* data, const TensorView& shape, int d) {
  const int64_t n = shape.dims[d];
  int64_t apart = 1;
  for (int after = d + 1; after < shape.rank; ++after) apart *= shape.dims[after];
  const Fourier fourier(n);
  parallel_for(shape.numel() / n, std::max<int64_t>(1, 2048 / n), [&](int64_t begin, int64_t end) {
    std::vector<complex128> from(static_cast<size_t>(n)), to(from.size());
    for (int64_t row = begin; row < end; ++row) {
      complex128* at = data + row / apart * apart * n + row % apart;
      for (int64_t i = 0; i < n; ++i) from[static_cast<size_t>(i)] = at[i * apart];
      fourier.run(from.data(), to.data());
      for (int64_t i = 0; i < n; ++i) at[i * apart] = to[static_cast<size_t>(i)];
    }
  });
}

void plan_transforms(Op& op, const In& x, const Out& y, int dimensions) {
  op.require(is_complex(x->dtype) && x->rank >= dimensions, "x is {}, want complex numbers of {} dimensions or more",
             describe(*x), dimensions);
  op.result_like("y", *y, *x, x->dtype);
  if (x->empty()) return;
  op.work(x->numel() * 16 * dimensions);
  op.launch([x = *x, y = *y, dimensions] {
    std::vector<complex128> all(static_cast<size_t>(x.numel()));
    gather_to(all.data(), DType::Complex128, x);
    for (int d = x.rank - dimensions; d < x.rank; ++d) transform(all.data(), x, d);
    copy_elements(y, TensorView::contiguous(all.data(), DType::Complex128, y.dims, y.rank));
  });
}

}  // namespace

ABOUT(FFT, Vector, "The Fourier transforms of x along its last dimension, not scaled",
      "沿 x 最后一维的傅里叶变换，不归一化")
IR_OP(FFT, FFT, (In, x), (Out, y)) { plan_transforms(op, x, y, 1); }
ABOUT(FFT2D, Vector, "The Fourier transforms of x along its last two dimensions, not scaled",
      "沿 x 最后两维的二维傅里叶变换，不归一化")
IR_OP(FFT2D, FFT2D, (In, x), (Out, y)) { plan_transforms(op, x, y, 2); }

}  // namespace updraft
