#include "kernels/convolution/convolution.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/parallel.h"
#include "base/scratch.h"
#include "kernels/channels.h"
#include "kernels/convolution/depthwise.h"
#include "kernels/convolution/operands.h"
#include "kernels/convolution/places.h"
#include "kernels/convolution/plan.h"
#include "kernels/convolution/views.h"
#include "kernels/convolution/winograd.h"
#include "kernels/matmul/matmul.h"
#include "kernels/matmul/packed.h"
#include "kernels/onednn.h"
#include "kernels/pipeline.h"
#include "kernels/rows/activation.h"
#include "kernels/rows/arithmetic.h"
#include "tensor/view_algebra.h"

namespace updraft {
namespace {
using namespace convolution_plan;

// out[:, c] += bias[c]
void add_bias(const TensorView& out, const TensorView& bias) {
  TensorView b = out;
  for (int d = 0; d < out.rank; ++d) b.strides[d] = 0;
  b.strides[1] = bias.strides[0];
  b.data = bias.data;
  b.dtype = bias.dtype;
  Params p;
  p.set(0, int64_t{1});
  const Compute c = compute_of(out.dtype);
  run_elementwise(elementwise_kernel(ew::add, c), c, {out, b}, {out}, p);
}

void run_plain(const ConvolutionShape& s, Kind kind, const TensorView& src, const TensorView& weight,
               const TensorView& dst) {
  plain::run(s, kind == Kind::Forward ? 2 : kind == Kind::BackwardData ? 0 : 1, src, weight, dst);
}

DType compute_type(const TensorView& a, const TensorView& b, const TensorView& c) {
  const bool bf16 = a.dtype == DType::BFloat16 && b.dtype == DType::BFloat16 && c.dtype == DType::BFloat16;
  return bf16 && onednn::native_bf16() ? DType::BFloat16 : DType::Float;
}

// Products take halves that oneDNN does not multiply as they are, and convert them block by block.
bool keeps_halves(const TensorView& src, const TensorView& weight, const TensorView& dst) {
  return src.dtype == DType::Float16 && weight.dtype == DType::Float16 && dst.dtype == DType::Float16;
}

// A convolution of single elements is a product of matrices that lie as they are: no blocked layout is needed. It
// pays where the planes are large (measured: from 20 x 20; below, the blocked convolution is faster in spite of the
// conversions), of halves from 7 x 7.
bool pointwise(const ConvolutionShape& s, const TensorView& src, const TensorView& weight, const TensorView& dst) {
  if (s.groups != 1) return false;
  int64_t plane = 1;
  for (int d = 0; d < s.spatial; ++d) {
    if (weight.dims[d + 2] != 1 || s.stride[d] != 1 || s.padding[d] != 0) return false;
    if (src.dims[d + 2] != dst.dims[d + 2]) return false;  // zeros behind
    plane *= src.dims[d + 2];
  }
  return plane >= (keeps_halves(src, weight, dst) ? 49 : 400);
}
// The type in which a product takes its operands.
DType product_type(DType type, const TensorView& src, const TensorView& weight, const TensorView& dst) {
  return keeps_halves(src, weight, dst) ? DType::Float16 : type;
}
// [N, C, ...] as [N, C, P]; weight as [O, C]. All are dense.
TensorView matrices(const TensorView& v) {
  return reshape(v, {v.dims[0], v.dims[1], v.numel() / (v.dims[0] * v.dims[1])});
}
TensorView matrix(const TensorView& v) { return reshape(v, {v.dims[0], v.dims[1]}); }

// A convolution of images of one element, as channel attention has them, is one product, too, of all images.
struct OfElements {
  TensorView images, filters, results, bias;
  MatmulOptions options;

  static bool takes(const ConvolutionShape& s, const TensorView& src, const TensorView& weight, const TensorView& dst,
                    const ConvolutionTail& tail) {
    if (s.groups != 1 || tail.factor || compute_of(dst.dtype) != Compute::F32) return false;
    for (int d = 0; d < s.spatial; ++d)
      if (src.dims[d + 2] != 1 || weight.dims[d + 2] != 1 || dst.dims[d + 2] != 1 || s.padding[d] != 0) return false;
    return true;
  }
  OfElements(const ConvolutionShape& s, const TensorView& src, const TensorView& weight, const TensorView* terms,
             const TensorView& dst, ConstantOperand* constant, const TensorView* add)
      : images(src), filters(weight), results(dst) {
    images.rank = filters.rank = results.rank = 2;
    filters = filters.transpose(0, 1);
    if (terms) bias = *terms;
    options = {.beta = terms ? 1 : 0, .add = terms ? &bias : nullptr, .relu = s.relu && !add, .right = constant};
  }
  OfElements(const OfElements&) = delete;
};

enum class Way : uint8_t { Plain, Last, LastPrepared, LastInput, LastFilters };
bool pays(const winograd::Shape& w, Way way) {
  switch (way) {
    case Way::Plain: return winograd::pays(w);
    case Way::Last:
    case Way::LastPrepared: return winograd::pays_last(w, way == Way::LastPrepared);
    case Way::LastInput: return winograd::pays_backward_last(w);
    case Way::LastFilters: return winograd::pays_filters_last(w);
  }
  return false;
}

// Winograd's algorithm, where it takes the convolution, is expected to pay, and may be used: its results are rounded
// more often than direct sums, which the caller allows or does not see in half precision.
std::optional<winograd::Shape> winograd_of(const ConvolutionShape& s, const TensorView& src, const TensorView& weight,
                                           const TensorView& dst, Way way = Way::Plain) {
  const bool last = way != Way::Plain;
  const bool half = src.dtype != DType::Float && weight.dtype != DType::Float && dst.dtype != DType::Float;
  if (!(s.reduced || half) || s.spatial != 2 || s.groups != 1) return {};
  if (compute_type(src, weight, dst) != DType::Float || taken_last(src, DType::Float) != last ||
      taken_last(dst, DType::Float) != last)
    return {};
  winograd::Shape w{src.dims[0], src.dims[1], dst.dims[1], {}, {}, {}};
  for (int d = 0; d < 2; ++d) {
    if (weight.dims[d + 2] != 3 || s.stride[d] != 1 || s.dilation[d] != 1 || s.padding[d] > 2) return {};
    w.in[d] = src.dims[d + 2];
    w.out[d] = dst.dims[d + 2];
    w.padding[d] = s.padding[d];
    if (w.out[d] > w.in[d] + 2) return {};
  }
  return pays(w, way) ? std::optional(w) : std::nullopt;
}

Way forward_last(bool prepared) { return prepared ? Way::LastPrepared : Way::Last; }

// Channels of a dense copy of a vector.
float* channels_in_float(const TensorView* v, ScratchScope& scratch) {
  if (!v) return nullptr;
  auto* to = scratch.take<float>(static_cast<size_t>(v->numel()));
  gather_to(to, DType::Float, *v);
  return to;
}

// A convolution of single elements, of images of float with the channels innermost, is one product of all places.
// `last`: src and dst lie so.
bool is_product_of_places(const ConvolutionShape& s, const TensorView& src, const TensorView& weight,
                          const TensorView& dst, DType type, bool last) {
  constexpr int64_t kFewChannels = 64,
                    kPanel = 16;  // below, or with panels that are not full, the primitives are faster
  if (!last || s.groups != 1 || type != DType::Float || !packed::takes_constants()) return false;
  if (src.dims[1] < kFewChannels || dst.dims[1] % kPanel != 0) return false;
  for (int d = 0; d < s.spatial; ++d)
    if (weight.dims[d + 2] != 1 || s.stride[d] != 1 || s.padding[d] != 0 || src.dims[d + 2] != dst.dims[d + 2])
      return false;
  return true;
}
packed::Product product_of_places(const ConvolutionShape& s, const TensorView& src, const TensorView& weight,
                                  const TensorView& dst, const TensorView* add) {
  const auto places = [](const TensorView& v) {
    const int64_t dims[] = {v.numel() / v.dims[1], v.dims[1]};
    return TensorView::contiguous(v.data, DType::Float, dims, 2);
  };
  TensorView filters = weight;
  filters.rank = 2;
  packed::Product p{.a = places(src), .b = filters.transpose(0, 1), .c = places(dst), .add = places(dst)};
  if (add) p.add = places(*add), p.beta = 1;
  p.relu = s.relu, p.hard_swish = s.hard_swish;
  return p;
}

// out[:, c] = out[:, c] * factor[c] + bias[c], where the primitive does not do it.
void scale_channels(const TensorView& out, const TensorView& factor, const TensorView* bias) {
  ScratchScope scratch;
  const float *by = channels_in_float(&factor, scratch), *term = channels_in_float(bias, scratch);
  channel_forward(out, &out, false, [&](int64_t c, const double*, double& scale, double& shift) {
    scale = static_cast<double>(by[c]);
    shift = term ? static_cast<double>(term[c]) : 0.0;
  });
}

// What follows the sums, where the primitive does not do it.
void finish(const TensorView& out, const TensorView* add, const ConvolutionShape& s) {
  const Compute c = compute_of(out.dtype);
  Params p;
  if (add) {
    p.set(0, int64_t{1});
    run_elementwise(elementwise_kernel(s.relu ? ew::add_relu : ew::add, c), c, {out, *add}, {out}, p);
  } else if (s.relu) {
    run_elementwise(elementwise_kernel(ew::relu, c), c, {out}, {out}, p);
  }
  if (s.hard_swish) run_elementwise(elementwise_kernel(ew::hardswish, c), c, {out}, {out}, p);
}

// Tells the problem what the channels of the sums are multiplied by, and what is added to them.
void set_channels(Problem& p, bool bias, bool factor) {
  p.scales = factor;
  p.shifts = factor && bias;
  p.has_bias = bias && !factor;
}

// Tells the problem what follows that. False where the primitive would be a slow one: it takes another tensor along
// only when that and its own lie with the channels innermost.
bool set_sum(Problem& p, const ConvolutionShape& s, DType type, bool last, const TensorView* add) {
  if (add && !(last && add->dtype == type && !add->is_contiguous() && channels_last(*add))) return false;
  p.relu = s.relu;
  p.hard_swish = s.hard_swish;
  p.adds = add != nullptr;
  return true;
}

// Tensors of the places that count, dense: with memory of the scope, or none.
TensorView counted_view(const TensorView& src, const TensorView& dst) {
  TensorView v = dense_view(dst, src.dtype);
  v.dims[1] = src.dims[1];
  return TensorView::contiguous(nullptr, src.dtype, v.dims, v.rank);
}
size_t counted_bytes(const TensorView& src, const TensorView& dst) {
  return scratch_size(counted_view(src, dst).bytes());
}
TensorView take_counted(const TensorView& src, const TensorView& dst, ScratchScope& scratch) {
  TensorView v = counted_view(src, dst);
  v.data = scratch.take<std::byte>(v.bytes());
  return v;
}

void run_forward(const ConvolutionShape& s, const TensorView& src, const TensorView& weight, const TensorView* bias,
                 const TensorView& dst, ConstantOperand* constant, const ConvolutionTail& tail = {}) {
  if (places::has_gaps(s, src, weight, dst)) {
    ScratchScope scratch;
    const TensorView x = take_counted(src, dst, scratch);
    copy_elements(x, places::counted_places(s, src, dst));
    return run_forward(places::without_gaps(s), x, weight, bias, dst, constant, tail);
  }
  if (OfElements::takes(s, src, weight, dst, tail)) {
    const OfElements p(s, src, weight, bias, dst, constant, tail.add);
    matmul(p.images, p.filters, p.results, p.options);
    ConvolutionShape left = s;
    left.relu = s.relu && tail.add;
    return finish(dst, tail.add, left);
  }
  const TensorView *const add = tail.add, *const factor = tail.factor;
  const bool vector = compute_of(dst.dtype) == Compute::F32;
  const DType type = compute_type(src, weight, dst);
  Problem p = problem_of(s, src, weight, dst, onednn::type_of(type));
  if (!vector || !p.valid) {
    run_plain(s, Kind::Forward, src, weight, dst);
    if (factor) scale_channels(dst, *factor, bias);
    else if (bias) add_bias(dst, *bias);
    return finish(dst, add, s);
  }
  ScratchScope scratch;
  set_channels(p, bias, factor);
  float *const wide = channels_in_float(bias, scratch), *const factors = channels_in_float(factor, scratch);
  if (!bias && !factor && !taken_last(src, type) && !taken_last(dst, type) && pointwise(s, src, weight, dst)) {
    const DType taken = product_type(type, src, weight, dst);
    const Dense from(src, taken, scratch, false);
    Weight by(s, weight, taken, constant, scratch);
    const Result to(dst, taken, scratch, false);
    matmul(matrix(by.dense()), matrices(from.view), matrices(to.view));
    to.finish();
    return finish(dst, add, s);
  }
  const Dense from(src, type, scratch);
  Weight by(s, weight, type, constant, scratch);
  const Result to(dst, type, scratch);
  if (const auto w = factor ? std::nullopt : winograd_of(s, src, weight, dst);
      w && winograd::forward(*w, from.view.as<float>(), by.points(*w), wide, to.view.as<float>())) {
    to.finish();
    return finish(dst, add, s);
  }
  const bool whole = set_sum(p, s, type, from.last && to.last, add);
  if (const auto w =
          whole && from.last && to.last ? winograd_of(s, src, weight, dst, forward_last(constant)) : std::nullopt;
      w && winograd::forward_last(*w, from.view.as<float>(), by.points(*w, true), by.arranges_points(),
                                  {factors, wide, add ? add->as<float>() : nullptr, s.relu}, to.view.as<float>()))
    return s.hard_swish ? finish(dst, nullptr, s) : void();  // one or the other
  if (whole && is_product_of_places(s, src, weight, dst, type, from.last && to.last)) {
    packed::Product product = product_of_places(s, from.view, weight, to.view, add);
    product.scale = factors, product.bias = wide;
    if (constant) product.right = by.packed(product);
    packed::multiply(product);
    return to.finish();
  }
  if (whole && depthwise::takes(s, src, weight, dst, type, from.last && to.last)) {
    const packed::Tail behind{.beta = 1,
                              .scale = factors,
                              .bias = wide,
                              .add = add ? add->as<float>() : nullptr,
                              .add_line = dst.dims[1],
                              .relu = s.relu,
                              .hard_swish = s.hard_swish};
    return depthwise::forward(s, from.view, by.taps(), weight, behind, to.view);
  }
  auto plan = plan_of(p, Kind::Forward, from.last, to.last, by.is_apart());
  void* const out = plan->dst.at_inner(to.view.data, scratch);
  onednn::Primitive::Argument given[7] = {{DNNL_ARG_SRC, plan->src.take(from.view.data, scratch)},
                                          {DNNL_ARG_WEIGHTS, by.take(plan->weight)},
                                          {DNNL_ARG_DST, out}};
  size_t count = 3;
  if (p.has_bias) given[count++] = {DNNL_ARG_BIAS, wide};
  int place = 0;
  const auto behind = [&](const void* data) {
    given[count++] = {DNNL_ARG_ATTR_MULTIPLE_POST_OP(place++) | DNNL_ARG_SRC_1, data};
  };
  if (p.scales) behind(factors);
  if (p.shifts) behind(wide);
  if (p.adds) behind(add->data);
  plan->primitive.run({given, count});
  plan->dst.give(out, to.view.data);
  to.finish();
  if (!whole) finish(dst, add, s);
}

// What run_forward() (or the gradient of src, for a transposed convolution) will ask of a constant weight.
void prepare_weight(const ConvolutionShape& s, Kind kind, const TensorView& src, const TensorView& weight, bool bias,
                    const TensorView& dst, ConstantOperand& constant, const ConvolutionTail& tail = {}) {
  if (places::has_gaps(s, src, weight, dst))
    return prepare_weight(places::without_gaps(s), kind, counted_view(src, dst), weight, bias, dst, constant, tail);
  if (kind == Kind::Forward && OfElements::takes(s, src, weight, dst, tail)) {
    const TensorView terms = TensorView::contiguous(nullptr, DType::Float, &dst.dims[1], 1);
    const OfElements p(s, src, weight, bias ? &terms : nullptr, dst, &constant, tail.add);
    return prepare_matmul(p.images, p.filters, p.results, p.options);
  }
  const DType type = compute_type(src, weight, dst);
  Problem p = problem_of(s, src, weight, dst, onednn::type_of(type));
  if (compute_of(dst.dtype) != Compute::F32 || !p.valid) return;
  set_channels(p, bias, tail.factor);
  ScratchScope scratch;
  const bool src_last = taken_last(src, type), dst_last = taken_last(dst, type);
  if (!bias && !tail.factor && !src_last && !dst_last && pointwise(s, src, weight, dst)) {
    Weight(s, weight, product_type(type, src, weight, dst), &constant, scratch).dense();
    return;
  }
  Weight by(s, weight, type, &constant, scratch);
  // The gradient of src is by Winograd's algorithm, too, but its filters are turned: they are made at each run.
  const auto w = tail.factor ? std::nullopt : winograd_of(s, src, weight, dst);
  if (w && kind == Kind::Forward) by.points(*w);
  else if (w) by.dense();
  else {
    const bool whole = kind == Kind::Forward && set_sum(p, s, type, src_last && dst_last, tail.add);
    if (whole && src_last && dst_last)
      if (const auto last = winograd_of(s, src, weight, dst, Way::LastPrepared)) {
        by.points(*last, true);
        return;
      }
    if (whole && is_product_of_places(s, src, weight, dst, type, src_last && dst_last)) {
      by.packed(product_of_places(s, src, weight, dst, nullptr));
      return;
    }
    if (whole && depthwise::takes(s, src, weight, dst, type, src_last && dst_last)) {
      by.taps();
      return;
    }
    by.take(plan_of(p, kind, src_last, dst_last, by.is_apart())->weight);
  }
}

// False: it must be computed in another way.
bool weight_by_winograd(const winograd::Shape& w, const TensorView& diff_dst, const TensorView& src,
                        const TensorView& diff_weight) {
  ScratchScope scratch;
  const Dense from(src, DType::Float, scratch);
  const Result to(diff_weight, DType::Float, scratch, false);
  if (!winograd::backward_filters(w, diff_dst.as<float>(), from.view.as<float>(), to.view.as<float>())) return false;
  to.finish();
  return true;
}

// Either gradient may be absent; diff_dst is brought into the blocked layout once when both want the same.
void run_backward(const ConvolutionShape& s, const TensorView& diff_dst, const TensorView& src,
                  const TensorView& weight, const TensorView* diff_src, const TensorView* diff_weight,
                  ConstantOperand* constant = nullptr) {
  if (places::has_gaps(s, src, weight, diff_dst) && (!diff_src || places::has_gaps(s, *diff_src, weight, diff_dst))) {
    ScratchScope scratch;
    TensorView x = counted_view(src, diff_dst), dx;
    if (diff_weight) {
      x = take_counted(src, diff_dst, scratch);
      copy_elements(x, places::counted_places(s, src, diff_dst));
    }
    if (diff_src) dx = take_counted(*diff_src, diff_dst, scratch);
    run_backward(places::without_gaps(s), diff_dst, x, weight, diff_src ? &dx : nullptr, diff_weight, constant);
    if (!diff_src) return;
    fill_zero(*diff_src);
    return copy_elements(places::counted_places(s, *diff_src, diff_dst), dx);
  }
  const bool vector = compute_of(diff_dst.dtype) == Compute::F32;
  const DType type = compute_type(src, weight, diff_dst);
  Problem p = problem_of(s, src, weight, diff_dst, onednn::type_of(type));
  if (!vector || !p.valid) {
    if (diff_weight) run_plain(s, Kind::BackwardWeight, src, *diff_weight, diff_dst);
    if (diff_src) run_plain(s, Kind::BackwardData, *diff_src, weight, diff_dst);
    return;
  }
  ScratchScope scratch;
  const bool by_last = taken_last(diff_dst, type), flat = !by_last && pointwise(s, src, weight, diff_dst);
  const bool of_weight = diff_weight && flat && !taken_last(src, type);
  const bool of_src = diff_src && flat && !taken_last(*diff_src, type);
  // What products alone take stays in its own type.
  const bool products = flat && (of_weight || !diff_weight) && (of_src || !diff_src);
  const DType taken = products ? product_type(type, src, weight, diff_dst) : type;
  const Dense by(diff_dst, taken, scratch, taken == type);
  const void* gradient = nullptr;  // diff_dst as the first primitive took it
  memory::desc gradient_desc;
  if (diff_weight) {
    const bool product = of_weight;
    const auto w = winograd_of(s, src, weight, diff_dst),
               last = winograd_of(s, src, weight, diff_dst, Way::LastFilters);
    std::shared_ptr<const Plan> plan;
    const bool by_places = places::gives_filters(s, src, *diff_weight, diff_dst);
    if (by_places) places::filters(s, diff_dst, src, *diff_weight);
    const bool done =
        by_places ||
        (!product &&
         ((w && weight_by_winograd(*w, by.view, src, *diff_weight)) ||
          (last && winograd::backward_filters_last(*last, by.view.as<float>(), src.as<float>(), *diff_weight))));
    if (!product && !done) {
      // In the outer scope: the second primitive may take it, too.
      plan = plan_of(p, Kind::BackwardWeight, taken_last(src, type), by.last, taken_apart(s, *diff_weight, type));
      gradient = plan->dst.take(by.view.data, scratch);
      gradient_desc = plan->dst.inner;
    }
    if (product || plan) {
      ScratchScope own;
      const Dense from(src, product ? taken : type, own, !product);
      const bool apart = plan && taken_apart(s, *diff_weight, type);
      const Result to(*diff_weight, product ? taken : type, own, false, apart);
      if (product) {
        // The sum over images stays in float.
        const TensorView x = matrices(from.view), g = matrices(by.view);
        TensorView sum = matrix(to.view);
        if (taken != DType::Float)
          sum = TensorView::contiguous(own.take<float>(static_cast<size_t>(sum.numel())), DType::Float, sum.dims, 2);
        for (int64_t n = 0; n < x.dims[0]; ++n) {
          MatmulOptions options;
          options.beta = n > 0 ? 1 : 0;
          matmul(select(g, 0, n), select(x, 0, n).transpose(0, 1), sum, options);
        }
        if (taken != DType::Float) copy_elements(matrix(to.view), sum);
      } else {
        void* const out = plan->weight.at_inner(to.view.data, own);
        plan->primitive.run({{DNNL_ARG_SRC, plan->src.take(from.view.data, own)},
                             {DNNL_ARG_DIFF_DST, gradient},
                             {DNNL_ARG_DIFF_WEIGHTS, out}});
        plan->weight.give(out, to.view.data);
      }
      to.finish();
    }
  }
  if (diff_src) {
    if (of_src) {
      Weight with(s, weight, taken, constant, scratch);
      const Result to(*diff_src, taken, scratch, false);
      matmul(matrix(with.dense()).transpose(0, 1), matrices(by.view), matrices(to.view));
      to.finish();
      return;
    }
    if (!constant && places::gives_input(s, *diff_src, weight, diff_dst))
      return places::input(s, diff_dst, weight, *diff_src);
    Weight with(s, weight, type, constant, scratch);
    const Result to(*diff_src, type, scratch);
    if (const auto w = winograd_of(s, *diff_src, weight, diff_dst);
        w && winograd::backward_input(*w, by.view.as<float>(), with.dense().as<float>(), to.view.as<float>())) {
      to.finish();
      return;
    }
    if (const auto w = to.last && by.last ? winograd_of(s, *diff_src, weight, diff_dst, Way::LastInput) : std::nullopt;
        w && winograd::backward_input_last(*w, by.view.as<float>(), weight, to.view.as<float>()))
      return;
    auto plan = plan_of(p, Kind::BackwardData, to.last, by.last, with.is_apart());
    if (!gradient || gradient_desc != plan->dst.inner) gradient = plan->dst.take(by.view.data, scratch);
    void* const out = plan->src.at_inner(to.view.data, scratch);
    plan->primitive.run(
        {{DNNL_ARG_WEIGHTS, with.take(plan->weight)}, {DNNL_ARG_DIFF_DST, gradient}, {DNNL_ARG_DIFF_SRC, out}});
    plan->src.give(out, to.view.data);
    to.finish();
  }
}

// What run_plain() takes.
size_t plain_scratch(std::initializer_list<const TensorView*> views) {
  size_t bytes = 0;
  for (const TensorView* v : views) bytes += dense_bytes(*v, storage_of(compute_of((*views.begin())->dtype)), false);
  return bytes;
}

// What run_forward() takes, the scratch of the primitives for it included.
size_t forward_scratch(const ConvolutionShape& s, const TensorView& src, const TensorView& weight,
                       const TensorView* bias, const TensorView& dst, ConstantOperand* constant,
                       const ConvolutionTail& tail = {}) {
  if (places::has_gaps(s, src, weight, dst))
    return counted_bytes(src, dst) +
           forward_scratch(places::without_gaps(s), counted_view(src, dst), weight, bias, dst, constant, tail);
  if (OfElements::takes(s, src, weight, dst, tail)) {
    const OfElements p(s, src, weight, bias, dst, constant, tail.add);
    return matmul_scratch(p.images, p.filters, p.results, p.options);
  }
  const DType type = compute_type(src, weight, dst);
  Problem p = problem_of(s, src, weight, dst, onednn::type_of(type));
  if (compute_of(dst.dtype) != Compute::F32 || !p.valid) return plain_scratch({&dst, &src, &weight});
  set_channels(p, bias, tail.factor);
  const bool src_last = taken_last(src, type), dst_last = taken_last(dst, type);
  if (!bias && !tail.factor && !src_last && !dst_last && pointwise(s, src, weight, dst)) {
    const DType taken = product_type(type, src, weight, dst);
    return dense_bytes(src, taken, false) + dense_bytes(dst, taken, false) +
           (constant ? 0 : dense_bytes(weight, taken, false)) +
           matmul_scratch(matrix(dense_view(weight, taken)), matrices(dense_view(src, taken)),
                          matrices(dense_view(dst, taken)));
  }
  size_t bytes = dense_bytes(src, type) + dense_bytes(dst, type);
  if (!constant) bytes += dense_bytes(weight, type, false);
  for (const TensorView* channels : {bias, tail.factor})
    if (channels) bytes += scratch_size(static_cast<size_t>(channels->numel()) * sizeof(float));
  if (const auto w = tail.factor ? std::nullopt : winograd_of(s, src, weight, dst)) {
    // A copy of the weight goes before the rest is taken.
    const size_t of_weight = constant ? 0 : dense_bytes(weight, type, false), run = winograd::forward_scratch(*w);
    return bytes - of_weight + (constant ? 0 : winograd::filter_bytes(*w)) + std::max(of_weight, run);
  }
  const bool whole = set_sum(p, s, type, src_last && dst_last, tail.add);
  const bool apart = taken_apart(s, weight, type);
  if (whole && is_product_of_places(s, src, weight, dst, type, src_last && dst_last))
    return bytes - (constant ? 0 : dense_bytes(weight, type, false)) +
           packed::scratch_bytes(product_of_places(s, src, weight, dst, tail.add), constant);
  if (whole && depthwise::takes(s, src, weight, dst, type, src_last && dst_last))
    return constant ? bytes
                    : bytes - dense_bytes(weight, type, false) +
                          scratch_size(static_cast<size_t>(weight.numel()) * sizeof(float));
  if (!constant && apart) bytes -= dense_bytes(weight, type, false);
  const auto plan = plan_of(p, Kind::Forward, src_last, dst_last, apart);
  if (whole && src_last && dst_last)
    if (const auto w =
            winograd_of(s, src, weight, dst, forward_last(constant)))  // the primitive is there for infinities
      bytes += winograd::forward_last_scratch(*w, constant && winograd::arranges_points()) +
               (constant ? 0 : winograd::filter_bytes_last(*w) + winograd::filter_bytes(*w));
  if (!constant) bytes += plan->weight.scratch_bytes();
  return bytes + plan->src.scratch_bytes() + plan->dst.scratch_bytes() + plan->primitive.scratch_bytes();
}

// What run_backward() takes.
size_t backward_scratch(const ConvolutionShape& s, const TensorView& diff_dst, const TensorView& src,
                        const TensorView& weight, const TensorView* diff_src, const TensorView* diff_weight,
                        bool constant) {
  if (places::has_gaps(s, src, weight, diff_dst) && (!diff_src || places::has_gaps(s, *diff_src, weight, diff_dst))) {
    const TensorView x = counted_view(src, diff_dst), dx = diff_src ? counted_view(*diff_src, diff_dst) : TensorView();
    return (diff_weight ? counted_bytes(src, diff_dst) : 0) + (diff_src ? counted_bytes(*diff_src, diff_dst) : 0) +
           backward_scratch(places::without_gaps(s), diff_dst, x, weight, diff_src ? &dx : nullptr, diff_weight,
                            constant);
  }
  const DType type = compute_type(src, weight, diff_dst);
  const Problem p = problem_of(s, src, weight, diff_dst, onednn::type_of(type));
  if (compute_of(diff_dst.dtype) != Compute::F32 || !p.valid)
    return std::max(diff_weight ? plain_scratch({&diff_dst, &src, diff_weight}) : 0,
                    diff_src ? plain_scratch({&diff_dst, diff_src, &weight}) : 0);
  const bool by_last = taken_last(diff_dst, type), flat = !by_last && pointwise(s, src, weight, diff_dst);
  const bool products = flat && !(diff_weight && taken_last(src, type)) && !(diff_src && taken_last(*diff_src, type));
  const DType taken = products ? product_type(type, src, weight, diff_dst) : type;
  const size_t by = dense_bytes(diff_dst, taken, taken == type);
  size_t gradient = 0, of_weight = 0, of_src = 0;
  memory::desc held;
  if (diff_weight) {
    const bool src_last = taken_last(src, type);
    const DType kept = flat && !src_last ? taken : type;
    of_weight = dense_bytes(src, kept, kept == type) + dense_bytes(*diff_weight, kept, false);
    if (flat && !src_last) {
      if (taken != DType::Float) of_weight += scratch_size(static_cast<size_t>(weight.numel()) * sizeof(float));
      const TensorView g = select(matrices(dense_view(diff_dst, taken)), 0, 0),
                       x = select(matrices(dense_view(src, taken)), 0, 0).transpose(0, 1),
                       sum = matrix(dense_view(weight, DType::Float));
      of_weight += std::max(matmul_scratch(g, x, sum), matmul_scratch(g, x, sum, {.beta = 1}));
    } else if (places::gives_filters(s, src, *diff_weight, diff_dst)) {
      of_weight = places::filters_scratch(diff_dst, src, *diff_weight);
    } else if (const auto w = winograd_of(s, src, weight, diff_dst)) {
      of_weight += winograd::backward_filters_scratch(*w);
    } else {
      size_t last = 0;
      if (const auto l = winograd_of(s, src, weight, diff_dst, Way::LastFilters))
        last = winograd::backward_filters_last_scratch(*l, *diff_weight);
      const bool apart = taken_apart(s, *diff_weight, type);
      if (apart) of_weight -= dense_bytes(*diff_weight, kept, false);
      const auto plan = plan_of(p, Kind::BackwardWeight, src_last, by_last, apart);
      gradient = plan->dst.scratch_bytes();
      held = plan->dst.inner;
      of_weight += plan->src.scratch_bytes() + plan->weight.scratch_bytes() + plan->primitive.scratch_bytes();
      of_weight = std::max(of_weight, last);  // the primitive is there for infinities
    }
  }
  if (diff_src) {
    const bool to_last = taken_last(*diff_src, type);
    const DType kept = flat && !to_last ? taken : type;
    of_src = dense_bytes(*diff_src, kept, kept == type);
    if (!constant) of_src += dense_bytes(weight, kept, false);
    if (!to_last && flat) {
      of_src += matmul_scratch(matrix(dense_view(weight, taken)).transpose(0, 1), matrices(dense_view(diff_dst, taken)),
                               matrices(dense_view(*diff_src, taken)));
    } else if (!constant && places::gives_input(s, *diff_src, weight, diff_dst)) {
      of_src = places::input_scratch(diff_dst, weight, *diff_src);
    } else if (const auto w = winograd_of(s, *diff_src, weight, diff_dst)) {
      of_src += winograd::backward_input_scratch(*w);
    } else {
      if (const auto last = to_last && by_last ? winograd_of(s, *diff_src, weight, diff_dst, Way::LastInput)
                                               : std::nullopt)  // the primitive is there for infinities
        of_src += winograd::backward_input_last_scratch(*last);
      const bool apart = taken_apart(s, weight, type);
      if (!constant && apart) of_src -= dense_bytes(weight, kept, false);
      const auto plan = plan_of(p, Kind::BackwardData, to_last, by_last, apart);
      if (held != plan->dst.inner) of_src += plan->dst.scratch_bytes();
      if (!constant) of_src += plan->weight.scratch_bytes();
      of_src += plan->src.scratch_bytes() + plan->primitive.scratch_bytes();
    }
  }
  return by + gradient + std::max(of_weight, of_src);
}

}  // namespace

int64_t convolution_size(const ConvolutionShape& s, int dim, int64_t in, int64_t kernel, int64_t output_padding) {
  const int64_t reach = s.dilation[dim] * (kernel - 1) + 1;
  const int64_t padding = 2 * s.padding[dim] + s.behind[dim];
  if (s.transposed) return (in - 1) * s.stride[dim] - padding + reach + output_padding;
  const int64_t room = in + padding - reach;
  return room < 0 ? 0 : room / s.stride[dim] + 1;
}

void convolution(const ConvolutionShape& s, const TensorView& in, const TensorView& weight, const TensorView* bias,
                 const TensorView& out, ConstantOperand* constant, const ConvolutionTail& tail) {
  if (out.empty()) return;
  if (!s.transposed && !in.empty() && !weight.empty()) return run_forward(s, in, weight, bias, out, constant, tail);
  if (in.empty() || weight.empty()) fill_zero(out);
  else run_backward(s, in, out, weight, &out, nullptr, constant);
  if (bias) add_bias(out, *bias);
  finish(out, tail.add, s);
}

size_t convolution_scratch(const ConvolutionShape& s, const TensorView& in, const TensorView& weight,
                           const TensorView* bias, const TensorView& out, ConstantOperand* constant,
                           const ConvolutionTail& tail) {
  if (out.empty() || in.empty() || weight.empty()) return 0;
  if (s.transposed) return backward_scratch(s, in, out, weight, &out, nullptr, constant);
  return forward_scratch(s, in, weight, bias, out, constant, tail);
}

size_t convolution_backward_scratch(const ConvolutionShape& s, const TensorView& grad_out, const TensorView& in,
                                    const TensorView& weight, const TensorView* grad_in,
                                    const TensorView* grad_weight) {
  if (grad_in && grad_in->empty()) grad_in = nullptr;
  if (grad_weight && grad_weight->empty()) grad_weight = nullptr;
  if (grad_out.empty() || in.empty() || weight.empty()) return 0;
  if (!s.transposed) return backward_scratch(s, grad_out, in, weight, grad_in, grad_weight, false);
  return std::max(grad_weight ? backward_scratch(s, in, grad_out, weight, nullptr, grad_weight, false) : 0,
                  grad_in ? forward_scratch(s, grad_out, weight, nullptr, *grad_in, nullptr) : 0);
}

void prepare_convolution(const ConvolutionShape& s, const TensorView& in, const TensorView& weight, bool with_bias,
                         const TensorView& out, ConstantOperand& constant, const ConvolutionTail& tail) {
  if (out.empty() || in.empty() || weight.empty()) return;
  if (s.transposed) prepare_weight(s, Kind::BackwardData, out, weight, false, in, constant);
  else prepare_weight(s, Kind::Forward, in, weight, with_bias, out, constant, tail);
}

void convolution_backward(const ConvolutionShape& s, const TensorView& grad_out, const TensorView& in,
                          const TensorView& weight, const TensorView* grad_in, const TensorView* grad_weight,
                          const TensorView* grad_bias) {
  if (grad_bias && !grad_bias->empty()) bias_gradient(grad_out, *grad_bias);
  if (grad_in && grad_in->empty()) grad_in = nullptr;
  if (grad_weight && grad_weight->empty()) grad_weight = nullptr;
  if (grad_out.empty() || in.empty() || weight.empty()) {
    if (grad_in) fill_zero(*grad_in);
    if (grad_weight) fill_zero(*grad_weight);
  } else if (s.transposed) {
    if (grad_weight) run_backward(s, in, grad_out, weight, nullptr, grad_weight);
    if (grad_in) run_forward(s, grad_out, weight, nullptr, *grad_in, nullptr);
  } else {
    run_backward(s, grad_out, in, weight, grad_in, grad_weight);
  }
}

}  // namespace updraft
