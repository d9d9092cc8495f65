#include "kernels/convolution/places.h"

#include <algorithm>

#include "base/scratch.h"
#include "kernels/convolution/plan.h"
#include "kernels/matmul/matmul.h"
#include "kernels/pipeline.h"

namespace updraft::places {
namespace {

// Measured with AVX-512: products are faster for filters with more outputs than inputs, and where there are few places.
constexpr int64_t kFewPlaces = 512;
bool channels_innermost(const TensorView& v) {
  return v.dtype == DType::Float && !v.is_contiguous() && convolution_plan::channels_last(v);
}
bool single_elements(const ConvolutionShape& s, const TensorView& src, const TensorView& weight,
                     const TensorView& dst) {
  if (s.groups != 1) return false;
  for (int d = 0; d < s.spatial; ++d) {
    if (weight.dims[d + 2] != 1 || s.padding[d] != 0) return false;
    const int64_t in = src.dims[d + 2], out = dst.dims[d + 2];
    if (s.stride[d] == 1 ? in != out : (out - 1) * s.stride[d] >= in) return false;
  }
  return true;
}
bool pointwise(const ConvolutionShape& s, const TensorView& src, const TensorView& weight, const TensorView& dst) {
  return channels_innermost(src) && channels_innermost(dst) && weight.dtype == DType::Float &&
         single_elements(s, src, weight, dst);
}
int64_t count_of(const TensorView& v) { return v.numel() / v.dims[1]; }
// [N, C, ...] with the channels innermost as [places, C]; filters as [O, C].
TensorView rows_of(const TensorView& v) {
  const int64_t dims[] = {count_of(v), v.dims[1]};
  return TensorView::contiguous(v.data, v.dtype, dims, 2);
}
TensorView matrix_of_filters(const TensorView& v) {
  TensorView m = v;
  m.rank = 2;
  return m;
}
// Memory for a copy of the places that count, or none where all do.
size_t places_bytes(const TensorView& src, const TensorView& dst) {
  return count_of(src) == count_of(dst)
             ? 0
             : scratch_size(static_cast<size_t>(count_of(dst) * src.dims[1]) * sizeof(float));
}
TensorView copy_of_places(const TensorView& src, const TensorView& dst, ScratchScope& scratch) {
  const int64_t dims[] = {count_of(dst), src.dims[1]};
  return TensorView::contiguous(scratch.take(places_bytes(src, dst)), DType::Float, dims, 2);
}
// [places, C] in dst's shape.
TensorView in_shape_of(const TensorView& rows, const TensorView& dst) {
  TensorView v = dst;
  v.data = rows.data;
  v.dims[1] = v.strides[0] = rows.dims[1];
  for (int d = v.rank - 1; d >= 2; --d) {
    v.strides[d] = v.strides[0];
    v.strides[0] *= v.dims[d];
  }
  v.strides[1] = 1;
  return v;
}

}  // namespace

bool has_gaps(const ConvolutionShape& s, const TensorView& src, const TensorView& weight, const TensorView& dst) {
  const auto last = [](const TensorView& v) { return !v.is_contiguous() && convolution_plan::channels_last(v); };
  return std::any_of(s.stride, s.stride + s.spatial, [](int64_t stride) { return stride > 1; }) && !last(src) &&
         !last(dst) && single_elements(s, src, weight, dst);
}
ConvolutionShape without_gaps(const ConvolutionShape& s) {
  ConvolutionShape one = s;
  std::fill_n(one.stride, s.spatial, 1);
  std::fill_n(one.behind, s.spatial, 0);
  return one;
}
TensorView counted_places(const ConvolutionShape& s, const TensorView& src, const TensorView& dst) {
  TensorView v = src;
  for (int d = 2; d < v.rank; ++d) {
    v.dims[d] = dst.dims[d];
    v.strides[d] *= s.stride[d - 2];
  }
  return v;
}

bool gives_filters(const ConvolutionShape& s, const TensorView& src, const TensorView& weight, const TensorView& dst) {
  return pointwise(s, src, weight, dst) &&
         (dst.dims[1] > src.dims[1] || (count_of(dst) <= kFewPlaces && count_of(src) == count_of(dst)));
}
bool gives_input(const ConvolutionShape& s, const TensorView& src, const TensorView& weight, const TensorView& dst) {
  return pointwise(s, src, weight, dst) && count_of(dst) <= kFewPlaces;
}

void filters(const ConvolutionShape& s, const TensorView& diff_dst, const TensorView& src,
             const TensorView& diff_weight) {
  ScratchScope scratch;
  TensorView x;
  if (count_of(src) == count_of(diff_dst)) {
    x = rows_of(src);
  } else {
    x = copy_of_places(src, diff_dst, scratch);
    copy_elements(in_shape_of(x, diff_dst), counted_places(s, src, diff_dst));
  }
  matmul(rows_of(diff_dst).transpose(0, 1), x, matrix_of_filters(diff_weight));
}
size_t filters_scratch(const TensorView& diff_dst, const TensorView& src, const TensorView& diff_weight) {
  const int64_t dims[] = {count_of(diff_dst), src.dims[1]};
  return places_bytes(src, diff_dst) + matmul_scratch(rows_of(diff_dst).transpose(0, 1),
                                                      TensorView::contiguous(nullptr, DType::Float, dims, 2),
                                                      matrix_of_filters(diff_weight));
}

void input(const ConvolutionShape& s, const TensorView& diff_dst, const TensorView& weight,
           const TensorView& diff_src) {
  if (count_of(diff_src) == count_of(diff_dst))
    return matmul(rows_of(diff_dst), matrix_of_filters(weight), rows_of(diff_src));
  ScratchScope scratch;
  const TensorView x = copy_of_places(diff_src, diff_dst, scratch);
  matmul(rows_of(diff_dst), matrix_of_filters(weight), x);
  fill_zero(diff_src);
  copy_elements(counted_places(s, diff_src, diff_dst), in_shape_of(x, diff_dst));
}
size_t input_scratch(const TensorView& diff_dst, const TensorView& weight, const TensorView& diff_src) {
  const int64_t dims[] = {count_of(diff_dst), diff_src.dims[1]};
  return places_bytes(diff_src, diff_dst) + matmul_scratch(rows_of(diff_dst), matrix_of_filters(weight),
                                                           TensorView::contiguous(nullptr, DType::Float, dims, 2));
}

}  // namespace updraft::places
