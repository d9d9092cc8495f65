#include "kernels/convolution/views.h"

#include <algorithm>

#include "base/scratch.h"
#include "kernels/pipeline.h"
#include "tensor/view_algebra.h"

namespace updraft::plain {
namespace {

template <class T>
void run_as(const ConvolutionShape& s, int result, const TensorView& src, const TensorView& weight,
            const TensorView& dst) {
  const DType type = DTypeOf<T>::value;
  Arrays<T> a{};
  TensorView views[3] = {src, weight, dst};
  T** arrays[3] = {&a.src, &a.weight, &a.dst};
  ScratchScope scratch;
  T* hold[3] = {};
  for (int i = 0; i < 3; ++i) {
    if (views[i].dtype == type && views[i].is_contiguous()) {
      *arrays[i] = views[i].template as<T>();
      continue;
    }
    *arrays[i] = hold[i] = scratch.take<T>(static_cast<size_t>(views[i].numel()));
    if (i != result) gather_to(hold[i], type, views[i]);
    else std::fill_n(hold[i], views[i].numel(), T(0));
  }
  a.batch = src.dims[0];
  a.in_channels = src.dims[1];
  a.out_channels = dst.dims[1];
  ConvolutionShape wide = s;  // leading dimensions of one
  const int skip = 3 - s.spatial;
  for (int d = 0; d < 3; ++d) {
    const bool one = d < skip;
    a.in[d] = one ? 1 : src.dims[d - skip + 2];
    a.out[d] = one ? 1 : dst.dims[d - skip + 2];
    a.kernel[d] = one ? 1 : weight.dims[d - skip + 2];
    wide.stride[d] = one ? 1 : s.stride[d - skip];
    wide.padding[d] = one ? 0 : s.padding[d - skip];
    wide.dilation[d] = one ? 1 : s.dilation[d - skip];
  }
  if (result == 2) forward(wide, a);
  else if (result == 0) backward_data(wide, a);
  else backward_weight(wide, a);
  if (hold[result])
    copy_elements(views[result], TensorView::contiguous(hold[result], type, views[result].dims, views[result].rank));
}

}  // namespace

void run(const ConvolutionShape& s, int result, const TensorView& src, const TensorView& weight,
         const TensorView& dst) {
  switch (compute_of(dst.dtype)) {
    case Compute::F32: run_as<float>(s, result, src, weight, dst); break;
    case Compute::F64: run_as<double>(s, result, src, weight, dst); break;
    case Compute::I64: run_as<int64_t>(s, result, src, weight, dst); break;
    case Compute::C64: run_as<complex64>(s, result, src, weight, dst); break;
    default: run_as<complex128>(s, result, src, weight, dst); break;
  }
}

}  // namespace updraft::plain
