#include "kernels/convolution/plan.h"

#include <algorithm>
#include <string_view>

namespace updraft::convolution_plan {

namespace {
/// Dense: one dimension innermost, the other next to it or, with `then_last`, outside of all.
bool lies_so(const TensorView& v, int innermost, int then, bool then_last) {
  int64_t expected = 1;
  auto next = [&](int d) {
    bool ok = v.dims[d] == 1 || v.strides[d] == expected;
    expected *= v.dims[d];
    return ok;
  };
  bool ok = next(innermost) && (then_last || next(then));
  for (int d = v.rank - 1; ok && d >= 2; --d) ok = next(d);
  return ok && (!then_last || next(then));
}
}  // namespace

bool channels_last(const TensorView& v) { return lies_so(v, 1, 0, true); }
bool taps_outermost(const TensorView& v) { return lies_so(v, 0, 1, false); }

memory::desc desc_of(const memory::dims& dims, memory::data_type type, bool last) {
  const size_t rank = dims.size();
  memory::dims strides(rank);
  int64_t step = 1;
  auto set = [&](size_t d) {
    strides[d] = step;
    step *= dims[d];
  };
  if (last) set(1);
  for (size_t d = rank; d-- > (last ? 2u : 0u);) set(d);
  if (last) set(0);
  return {dims, type, strides};
}

namespace {
memory::desc desc_of_filters(const memory::dims& dims, memory::data_type type, bool apart) {
  if (!apart) return desc_of(dims, type, false);
  memory::dims strides(dims.size());
  strides[0] = 1;
  strides[1] = dims[0];
  int64_t step = dims[0] * dims[1];
  for (size_t d = dims.size(); d-- > 2;) {
    strides[d] = step;
    step *= dims[d];
  }
  return {dims, type, strides};
}
}  // namespace

Problem problem_of(const ConvolutionShape& s, const TensorView& src, const TensorView& weight, const TensorView& dst,
                   memory::data_type type) {
  Problem p;
  p.shape = s;
  p.type = type;
  p.src.assign(src.dims, src.dims + src.rank);
  p.dst.assign(dst.dims, dst.dims + dst.rank);
  p.weight.assign(weight.dims, weight.dims + weight.rank);
  if (s.groups > 1) {
    p.weight[0] /= s.groups;
    p.weight.insert(p.weight.begin(), s.groups);
  }
  for (int d = 0; d < s.spatial; ++d) {
    const int64_t in = src.dims[d + 2], out = dst.dims[d + 2], reach = s.dilation[d] * (weight.dims[d + 2] - 1) + 1;
    int64_t right = s.padding[d];
    if ((in + 2 * s.padding[d] - reach) / s.stride[d] + 1 != out)
      right = (out - 1) * s.stride[d] + reach - in - s.padding[d];
    p.valid = p.valid && right + s.stride[d] > 0;
    p.strides.push_back(s.stride[d]);
    p.dilates.push_back(s.dilation[d] - 1);
    p.left.push_back(s.padding[d]);
    p.right.push_back(right);
  }
  return p;
}

memory::desc by_channel(const Problem& p) {
  memory::dims dims(p.dst.size(), 1);
  dims[1] = p.dst[1];
  return desc_of(dims, memory::data_type::f32, false);
}

namespace {
/// True for images that lie in one order whether their channels are last or not.
bool lies_both_ways(const memory::dims& dims) {
  return dims[1] == 1 || std::all_of(dims.begin() + 2, dims.end(), [](int64_t n) { return n == 1; });
}
}  // namespace

std::shared_ptr<const Plan> plan_of(const Problem& p, Kind kind, bool src_last, bool dst_last, bool apart) {
  src_last = src_last || (dst_last && lies_both_ways(p.src));
  dst_last = dst_last || (src_last && lies_both_ways(p.dst));
  static auto* cache = new onednn::Cache<Plan>;
  onednn::Key key;
  key.add(kind, p.type, src_last, dst_last, apart, p.has_bias, p.scales, p.shifts, p.adds, p.relu, p.hard_swish,
          p.src.size(), p.weight.size());
  for (const memory::dims* v : {&p.src, &p.weight, &p.dst, &p.strides, &p.dilates, &p.left, &p.right})
    for (int64_t x : *v) key.add(x);
  return cache->get(key, [&] {
    using dnnl::algorithm;
    const auto any = memory::format_tag::any;
    memory::desc src(p.src, p.type, any), weight(p.weight, p.type, any), dst(p.dst, p.type, any), bias;
    if (src_last && dst_last) {  // as fast as blocks of channels, and nothing is reordered
      src = desc_of(p.src, p.type, true);
      dst = desc_of(p.dst, p.type, true);
    }
    if (p.has_bias) bias = memory::desc({p.dst[1]}, memory::data_type::f32, memory::format_tag::a);
    dnnl::primitive_attr attr;
    attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    dnnl::post_ops tail;
    if (p.scales) tail.append_binary(algorithm::binary_mul, by_channel(p));
    if (p.shifts) tail.append_binary(algorithm::binary_add, by_channel(p));
    if (p.adds) tail.append_binary(algorithm::binary_add, desc_of(p.dst, p.type, true));
    if (p.relu) tail.append_eltwise(algorithm::eltwise_relu, 0.0f, 0.0f);
    if (p.hard_swish) tail.append_eltwise(algorithm::eltwise_hardswish, 1.0f / 6.0f, 0.5f);
    attr.set_post_ops(tail);
    const dnnl::engine& e = onednn::engine();
    auto forward = [&](dnnl::prop_kind prop) {
      return dnnl::convolution_forward::primitive_desc(e, prop, algorithm::convolution_direct, src, weight, bias, dst,
                                                       p.strides, p.dilates, p.left, p.right, attr);
    };
    // Not every CPU has a fast one that takes the channels last.
    const auto in_best_layout = [&](auto&& make) {
      auto pd = make();
      if (!src_last || !dst_last || !std::string_view(pd.impl_info_str()).starts_with("ref")) return pd;
      src = memory::desc(p.src, p.type, any);
      dst = memory::desc(p.dst, p.type, any);
      return make();
    };
    Plan plan;
    const memory::desc outer_src = desc_of(p.src, p.type, src_last), outer_dst = desc_of(p.dst, p.type, dst_last),
                       outer_weight = desc_of_filters(p.weight, p.type, apart);
    if (kind == Kind::Forward) {
      auto pd = forward(dnnl::prop_kind::forward_training);
      plan.src.set(outer_src, pd.src_desc(), false);
      plan.weight.set(outer_weight, pd.weights_desc(), false);
      plan.dst.set(outer_dst, pd.dst_desc(), true);
      std::vector<onednn::Primitive::Description> given = {
          {DNNL_ARG_SRC, plan.src.inner}, {DNNL_ARG_WEIGHTS, plan.weight.inner}, {DNNL_ARG_DST, plan.dst.inner}};
      if (p.has_bias) given.push_back({DNNL_ARG_BIAS, bias});
      int place = 0;
      const auto behind = [&](const memory::desc& desc) {
        given.push_back({DNNL_ARG_ATTR_MULTIPLE_POST_OP(place++) | DNNL_ARG_SRC_1, desc});
      };
      if (p.scales) behind(by_channel(p));
      if (p.shifts) behind(by_channel(p));
      if (p.adds) behind(desc_of(p.dst, p.type, true));
      plan.primitive = {dnnl::convolution_forward(pd), std::move(given), pd.scratchpad_desc()};
    } else if (kind == Kind::BackwardData) {
      auto pd = in_best_layout([&] {
        return dnnl::convolution_backward_data::primitive_desc(e, algorithm::convolution_direct, src, weight, dst,
                                                               p.strides, p.dilates, p.left, p.right,
                                                               forward(dnnl::prop_kind::forward_training), attr);
      });
      plan.src.set(outer_src, pd.diff_src_desc(), true);
      plan.weight.set(outer_weight, pd.weights_desc(), false);
      plan.dst.set(outer_dst, pd.diff_dst_desc(), false);
      plan.primitive = {dnnl::convolution_backward_data(pd),
                        {{DNNL_ARG_WEIGHTS, plan.weight.inner},
                         {DNNL_ARG_DIFF_DST, plan.dst.inner},
                         {DNNL_ARG_DIFF_SRC, plan.src.inner}},
                        pd.scratchpad_desc()};
    } else {
      auto pd = in_best_layout([&] {
        return dnnl::convolution_backward_weights::primitive_desc(e, algorithm::convolution_direct, src, weight, dst,
                                                                  p.strides, p.dilates, p.left, p.right,
                                                                  forward(dnnl::prop_kind::forward_training), attr);
      });
      plan.src.set(outer_src, pd.src_desc(), false);
      plan.weight.set(outer_weight, pd.diff_weights_desc(), true);
      plan.dst.set(outer_dst, pd.diff_dst_desc(), false);
      plan.primitive = {dnnl::convolution_backward_weights(pd),
                        {{DNNL_ARG_SRC, plan.src.inner},
                         {DNNL_ARG_DIFF_DST, plan.dst.inner},
                         {DNNL_ARG_DIFF_WEIGHTS, plan.weight.inner}},
                        pd.scratchpad_desc()};
    }
    return plan;
  });
}

}  // namespace updraft::convolution_plan
