#include "kernels/convolution/operands.h"

#include "kernels/convolution/depthwise.h"
#include "kernels/convolution/filter_blocks.h"
#include "kernels/onednn.h"
#include "kernels/pipeline.h"

namespace updraft::convolution_plan {

bool taken_last(const TensorView& v, DType type) { return v.dtype == type && !v.is_contiguous() && channels_last(v); }

bool taken_apart(const ConvolutionShape& s, const TensorView& v, DType type) {
  return s.groups == 1 && v.dtype == type && !v.is_contiguous() && taps_outermost(v);
}

size_t dense_bytes(const TensorView& v, DType type, bool allow_last) {
  if ((v.dtype == type && v.is_contiguous()) || (allow_last && taken_last(v, type))) return 0;
  return scratch_size(static_cast<size_t>(v.numel()) * size_of(type));
}

TensorView dense_view(const TensorView& v, DType type) { return TensorView::contiguous(nullptr, type, v.dims, v.rank); }

Dense::Dense(const TensorView& v, DType type, ScratchScope& scratch, bool allow_last)
    : view(v), last(allow_last && taken_last(v, type)) {
  if (dense_bytes(v, type, allow_last) == 0) return;
  view = gather_to(scratch.take(static_cast<size_t>(v.numel()) * size_of(type)), type, v);
}

Result::Result(const TensorView& v, DType type, ScratchScope& scratch, bool allow_last, bool as_it_lies)
    : view(v), to(v), last(allow_last && taken_last(v, type)) {
  if (as_it_lies || dense_bytes(v, type, allow_last) == 0) return;
  view = TensorView::contiguous(scratch.take(static_cast<size_t>(v.numel()) * size_of(type)), type, v.dims, v.rank);
}

void Result::finish() const {
  if (view.data != to.data) copy_elements(to, view);
}

TensorView Weight::dense() {
  if (!constant_ || is_dense()) return Dense(view_, type_, scratch_, false).view;
  const memory::desc plain = desc_of(memory::dims(view_.dims, view_.dims + view_.rank), onednn::type_of(type_), false);
  form_ = constant_->form(view_, plain, [&](std::byte* to) { gather_to(to, type_, view_); });
  return TensorView::contiguous(const_cast<std::byte*>(form_.get()), type_, view_.dims, view_.rank);
}

const void* Weight::take(const Operand& operand) {
  if (const int64_t block = !constant_ && operand.reorder && is_dense() ? block_of_outputs(operand.inner) : 0) {
    void* to = operand.at_inner(view_.data, scratch_);
    pack_outputs(view_, block, static_cast<float*>(to));
    return to;
  }
  const auto data = [&](ScratchScope& scratch) {
    return apart_ ? view_.data : Dense(view_, type_, scratch, false).view.data;
  };
  if (!constant_ || (!operand.reorder && (is_dense() || apart_))) return operand.take(data(scratch_), scratch_);
  form_ = constant_->form(view_, operand.inner, [&](std::byte* to) {
    ScratchScope scratch;
    if (operand.reorder) operand.reorder->run(data(scratch), to);
    else gather_to(to, type_, view_);
  });
  return form_.get();
}

const float* Weight::own_form(int way, int64_t count, FunctionRef<void(float* to)> make) {
  if (!constant_) {
    auto* to = scratch_.take<float>(static_cast<size_t>(count));
    make(to);
    return to;
  }
  memory::dims dims(static_cast<size_t>(way), 1), strides(dims.size(), count);
  dims.back() = count;
  strides.back() = 1;
  const memory::desc desc(dims, memory::data_type::f32, strides);
  form_ = constant_->form(view_, desc, [&](std::byte* to) { make(reinterpret_cast<float*>(to)); });
  return reinterpret_cast<const float*>(form_.get());
}

const float* Weight::points(const winograd::Shape& w, bool last) {
  const bool arranged = last && arranges_points();
  const size_t bytes = arranged ? winograd::arranged_bytes_last(w)
                       : last   ? winograd::filter_bytes_last(w)
                                : winograd::filter_bytes(w);
  const auto transform = [&](float* to) {
    if (last && winograd::transform_filters_last(w, view_, to)) return;
    ScratchScope scratch;
    const float* filters = Dense(view_, type_, scratch, false).view.as<float>();
    if (last) winograd::transform_filters_last(w, filters, to);
    else winograd::transform_filters(w, filters, to);
  };
  return own_form(last ? 2 : 1, static_cast<int64_t>(bytes / sizeof(float)), [&](float* to) {
    if (!arranged) return transform(to);
    ScratchScope scratch;
    auto* plain = static_cast<float*>(scratch.take(winograd::filter_bytes_last(w)));
    transform(plain);
    winograd::arrange_points_last(w, plain, to);
  });
}

const float* Weight::packed(const packed::Product& p) {
  return own_form(3, packed::right_floats(p), [&](float* to) { packed::pack_right(p, to); });
}

const float* Weight::taps() {
  return own_form(4, view_.numel(), [&](float* to) { depthwise::arrange_filters(view_, to); });
}

}  // namespace updraft::convolution_plan
