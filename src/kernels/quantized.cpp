#include "kernels/quantized.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/parallel.h"
#include "kernels/constant_operand.h"
#include "kernels/convolution/convolution.h"
#include "kernels/matmul/byte_product.h"
#include "kernels/matmul/matmul.h"
#include "kernels/onednn.h"
#include "kernels/pipeline.h"
#include "kernels/table.h"
#include "tensor/view_algebra.h"

namespace updraft {

#define LEVEL_TYPE QuantizedRows
#define LEVEL_TABLE quantized_rows
#include "kernels/level_table.inc"

const QuantizedRows& quantized_rows() { return level_table(); }

namespace {

using dnnl::memory;
constexpr int64_t kGrain = 16384;

// --- element by element
// -----------------------------------------------------------------------------------------------

/// Both tensors with their dimensions in the order in which they lie; none of one element.
struct Pair {
  TensorView from, to;
  int axis = -1;  ///< where the axis is now; -1: it has one place
};
Pair in_memory_order(const TensorView& from, const TensorView& to, int axis) {
  int order[kMaxDims];
  const TensorView* views[] = {&to, &from};
  const int rank = memory_order(views, order);
  Pair pair;
  std::vector<int64_t> dims(order, order + rank);
  auto arranged = [&](const TensorView& v) {
    TensorView a = v;
    a.rank = rank;
    for (int d = 0; d < rank; ++d) {
      a.dims[d] = v.dims[order[d]];
      a.strides[d] = v.strides[order[d]];
    }
    return a;
  };
  pair.from = arranged(from);
  pair.to = arranged(to);
  for (int d = 0; d < rank; ++d)
    if (order[d] == axis) pair.axis = d;
  return pair;
}

/// f(first element, elements, place along the axis, whether the places follow the elements) for runs of dense tensors.
template <class F>
void for_runs(const TensorView& v, int axis, F&& f) {
  int64_t inner = 1;
  const int64_t places = axis < 0 ? 1 : v.dims[axis];
  for (int d = axis + 1; axis >= 0 && d < v.rank; ++d) inner *= v.dims[d];
  if (axis < 0) {
    parallel_for(v.numel(), kGrain, [&](int64_t begin, int64_t end) { f(begin, end - begin, 0, false); });
  } else if (inner == 1) {
    parallel_for(v.numel() / places, std::max<int64_t>(1, kGrain / places), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) f(i * places, places, 0, true);
    });
  } else {
    parallel_for(v.numel() / inner, std::max<int64_t>(1, kGrain / inner), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) f(i * inner, inner, i % places, false);
    });
  }
}

bool has_sign(const TensorView& v) { return v.dtype == DType::Int8; }

const float* floats(const TensorView& v, ScratchScope& scratch) {
  if (v.dtype == DType::Float && v.is_contiguous()) return v.as<float>();
  auto* to = scratch.take<float>(static_cast<size_t>(v.numel()));
  gather_to(to, DType::Float, v);
  return to;
}

}  // namespace

void quantize(const TensorView& x, const TensorView& scale, const TensorView& zero, int axis, const TensorView& to) {
  if (to.empty()) return;
  Pair pair = in_memory_order(x, to, scale.numel() == 1 && zero.numel() == 1 ? -1 : axis);
  ScratchScope scratch;
  const auto count = static_cast<size_t>(x.numel());
  if (x.dtype != DType::Float || !pair.from.is_contiguous())
    pair.from = gather_to(scratch.take<float>(count), DType::Float, pair.from);
  const TensorView out = pair.to;
  if (!out.is_contiguous()) pair.to = TensorView::contiguous(scratch.take(count), out.dtype, out.dims, out.rank);
  const float *const scales = floats(scale, scratch), *const zeros = floats(zero, scratch);
  const float* const from = pair.from.as<float>();
  char* const bytes = pair.to.as<char>();
  for_runs(pair.to, pair.axis, [&](int64_t first, int64_t n, int64_t place, bool each) {
    quantized_rows().quantize(from + first, n, scales + place, zeros + place, each, has_sign(to), bytes + first);
  });
  if (pair.to.data != out.data) copy_elements(out, pair.to);
}

void dequantize(const TensorView& x, const TensorView& scale, const TensorView& zero, int axis, const TensorView& to) {
  if (to.empty()) return;
  Pair pair = in_memory_order(x, to, scale.numel() == 1 && zero.numel() == 1 ? -1 : axis);
  ScratchScope scratch;
  const auto count = static_cast<size_t>(x.numel());
  if (!pair.from.is_contiguous()) pair.from = gather_to(scratch.take(count), x.dtype, pair.from);
  const TensorView out = pair.to;
  if (out.dtype != DType::Float || !out.is_contiguous())
    pair.to = TensorView::contiguous(scratch.take<float>(count), DType::Float, out.dims, out.rank);
  const float *const scales = floats(scale, scratch), *const zeros = floats(zero, scratch);
  const char* const bytes = pair.from.as<char>();
  float* const numbers = pair.to.as<float>();
  for_runs(pair.to, pair.axis, [&](int64_t first, int64_t n, int64_t place, bool each) {
    quantized_rows().dequantize(bytes + first, has_sign(x), n, scales + place, zeros + place, each, numbers + first);
  });
  if (pair.to.data != out.data) copy_elements(out, pair.to);
}

void look_up(const TensorView& x, const TensorView& table, const TensorView& to) {
  if (to.empty()) return;
  int order[kMaxDims];
  const TensorView* views[] = {&to, &x};
  const int rank = memory_order(views, order);
  TensorView from = x, target = to;
  from.rank = target.rank = rank;
  for (int d = 0; d < rank; ++d) {
    from.dims[d] = target.dims[d] = to.dims[order[d]];
    from.strides[d] = x.strides[order[d]];
    target.strides[d] = to.strides[order[d]];
  }
  ScratchScope scratch;
  auto* numbers = gather_to(scratch.take(256), table.dtype, table).as<const uint8_t>();
  const TensorView* both[] = {&from, &target};
  const StridedLoop<2> loop(both);
  const int64_t fs = loop.strides[0][loop.rank - 1], ts = loop.strides[1][loop.rank - 1];
  const auto* source = from.as<const uint8_t>();
  auto* result = target.as<uint8_t>();
  parallel_for(to.numel(), kGrain, [&](int64_t begin, int64_t end) {
    loop.rows(begin, end, [&](const int64_t(&at)[2], int64_t, int64_t n) {
      const uint8_t* a = source + at[0];
      uint8_t* b = result + at[1];
      if (fs == 1 && ts == 1)
        for (int64_t i = 0; i < n; ++i) b[i] = numbers[a[i]];
      else
        for (int64_t i = 0; i < n; ++i) b[i * ts] = numbers[a[i * fs]];
    });
  });
}

void quantized_sum(const TensorView& a, const TensorView& b, const QuantizedSum& q, const TensorView& to) {
  if (to.empty()) return;
  int order[kMaxDims];
  const TensorView* views[] = {&to, &a, &b};
  const int rank = memory_order(views, order);
  auto arranged = [&](const TensorView& v) {
    TensorView one = v;
    one.rank = rank;
    for (int d = 0; d < rank; ++d) {
      one.dims[d] = v.dims[order[d]];
      one.strides[d] = v.strides[order[d]];
    }
    return one;
  };
  TensorView x = arranged(a), y = arranged(b), z = arranged(to);
  const TensorView out = z;
  ScratchScope scratch;
  const auto count = static_cast<size_t>(to.numel());
  for (TensorView* v : {&x, &y})
    if (!v->is_contiguous()) *v = gather_to(scratch.take(count), v->dtype, *v);
  if (!z.is_contiguous()) z = TensorView::contiguous(scratch.take(count), z.dtype, z.dims, z.rank);
  parallel_for(to.numel(), kGrain, [&](int64_t begin, int64_t end) {
    quantized_rows().sum(x.as<char>() + begin, y.as<char>() + begin, has_sign(to), end - begin, q,
                         z.as<char>() + begin);
  });
  if (z.data != out.data) copy_elements(out, z);
}

// --- products
// ---------------------------------------------------------------------------------------------------------
namespace {

/// The CPU adds up products of eight bits without saturation in between.
bool native() {
  constexpr auto vnni =
      (static_cast<unsigned>(dnnl::cpu_isa::avx512_core_vnni) & ~static_cast<unsigned>(dnnl::cpu_isa::avx512_core)) |
      (static_cast<unsigned>(dnnl::cpu_isa::avx2_vnni) & ~static_cast<unsigned>(dnnl::cpu_isa::avx2));
  static const bool yes = static_cast<unsigned>(dnnl::get_effective_cpu_isa()) & vnni;
  return yes;
}

/// With the channels behind the others.
memory::desc last_desc(const memory::dims& dims, memory::data_type type) {
  memory::dims strides(dims.size());
  int64_t step = 1;
  auto set = [&](size_t d) {
    strides[d] = step;
    step *= dims[d];
  };
  set(1);
  for (size_t d = dims.size(); d-- > 2;) set(d);
  set(0);
  return {dims, type, strides};
}
memory::desc row_major_desc(const memory::dims& dims, memory::data_type type) {
  memory::dims strides(dims.size());
  int64_t step = 1;
  for (size_t d = dims.size(); d-- > 0; step *= dims[d]) strides[d] = step;
  return {dims, type, strides};
}
TensorView channels_behind(const TensorView& v) {
  TensorView to = v;
  for (int d = 1; d + 1 < v.rank; ++d) {
    to.dims[d] = v.dims[d + 1];
    to.strides[d] = v.strides[d + 1];
  }
  to.dims[v.rank - 1] = v.dims[1];
  to.strides[v.rank - 1] = v.strides[1];
  return to;
}

struct Plan {
  onednn::Primitive primitive;  ///< none: oneDNN has none. Its arguments are in the order of run().
  memory::desc weights, plain;
};

/// What the two kinds of products have in common.
struct Problem {
  bool product = false, biased = false, has_zero = false;
  bool by_channel = false;  ///< a scale for each
  memory::dims src, weights, dst, strides, dilates, left, right;
  DType from = DType::UInt8, to = DType::UInt8;
  DType added = DType::Undefined;  ///< of an addend
  int32_t added_zero = 0;
  bool relu = false;
};

/// oneDNN adds the addend's numbers as they are, so the sum is computed in multiples of their scale.
dnnl::post_ops additions(const Problem& p, const memory::desc& addend) {
  dnnl::post_ops ops;
  if (p.added == DType::Undefined) return ops;
  ops.append_binary(dnnl::algorithm::binary_add, addend);
  if (p.added_zero != 0) ops.append_eltwise(dnnl::algorithm::eltwise_linear, 1.0f, static_cast<float>(-p.added_zero));
  if (p.relu) ops.append_eltwise(dnnl::algorithm::eltwise_relu, 0.0f, 0.0f);
  return ops;
}

std::shared_ptr<const Plan> plan_of(const Problem& p) {
  static auto* cache = new onednn::Cache<Plan>;
  onednn::Key key;
  key.add(p.product, p.biased, p.has_zero, p.by_channel, p.from, p.to, p.added, p.added_zero, p.relu, p.src.size(),
          p.weights.size());
  for (const memory::dims* v : {&p.src, &p.weights, &p.dst, &p.strides, &p.dilates, &p.left, &p.right})
    for (int64_t x : *v) key.add(x);
  return cache->get(key, [&] {
    using type = memory::data_type;
    const auto desc = [&](const memory::dims& dims, type t) {
      return p.product ? row_major_desc(dims, t) : last_desc(dims, t);
    };
    Plan plan;
    const memory::desc src = desc(p.src, onednn::type_of(p.from)), dst = desc(p.dst, onednn::type_of(p.to));
    memory::desc bias, addend;
    plan.plain = row_major_desc(p.weights, type::s8);
    const memory::desc weights(p.weights, type::s8, memory::format_tag::any);
    if (p.biased)
      bias = p.product ? memory::desc({1, p.dst[1]}, type::f32, memory::format_tag::ab)
                       : memory::desc({p.dst[1]}, type::f32, memory::format_tag::a);
    dnnl::primitive_attr attr;
    attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    const bool grouped = !p.product && p.weights.size() > p.src.size();
    attr.set_scales_mask(DNNL_ARG_WEIGHTS, !p.by_channel ? 0 : p.product ? 1 << 1 : grouped ? 3 : 1);
    if (p.has_zero) attr.set_zero_points_mask(DNNL_ARG_SRC, 0);
    if (p.to != DType::Float) {
      attr.set_scales_mask(DNNL_ARG_DST, 0);
      attr.set_zero_points_mask(DNNL_ARG_DST, 0);
    }
    if (p.added != DType::Undefined) {
      addend = desc(p.dst, onednn::type_of(p.added));
      attr.set_post_ops(additions(p, addend));
    }
    const dnnl::engine& e = onednn::engine();
    const auto take = [&](const auto& pd, auto&& primitive) {
      const auto vector = [](int64_t n, type t) { return memory::desc({n}, t, memory::format_tag::a); };
      plan.weights = pd.weights_desc();
      std::vector<onednn::Primitive::Description> given = {
          {DNNL_ARG_SRC, src},
          {DNNL_ARG_WEIGHTS, plan.weights},
          {DNNL_ARG_DST, dst},
          {DNNL_ARG_ATTR_SCALES | DNNL_ARG_WEIGHTS, vector(p.by_channel ? p.dst[1] : 1, type::f32)}};
      if (p.biased) given.push_back({DNNL_ARG_BIAS, bias});
      if (p.added != DType::Undefined) given.push_back({DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1, addend});
      if (p.has_zero) given.push_back({DNNL_ARG_ATTR_ZERO_POINTS | DNNL_ARG_SRC, vector(1, type::s32)});
      if (p.to != DType::Float) {
        given.push_back({DNNL_ARG_ATTR_SCALES | DNNL_ARG_DST, vector(1, type::f32)});
        given.push_back({DNNL_ARG_ATTR_ZERO_POINTS | DNNL_ARG_DST, vector(1, type::s32)});
      }
      plan.primitive = {primitive, std::move(given), pd.scratchpad_desc()};
    };
    try {
      if (p.product) {
        const dnnl::matmul::primitive_desc pd = p.biased
                                                    ? dnnl::matmul::primitive_desc(e, src, weights, bias, dst, attr)
                                                    : dnnl::matmul::primitive_desc(e, src, weights, dst, attr);
        take(pd, dnnl::matmul(pd));
      } else {
        const dnnl::convolution_forward::primitive_desc pd(e, dnnl::prop_kind::forward_inference,
                                                           dnnl::algorithm::convolution_direct, src, weights, bias, dst,
                                                           p.strides, p.dilates, p.left, p.right, attr);
        take(pd, dnnl::convolution_forward(pd));
      }
    } catch (const dnnl::error& error) {
      if (error.status != dnnl_unimplemented) throw;
    }
    return plan;
  });
}

/// False: oneDNN has no primitive for it. x, y and the addend (null: none) are dense in the order of the plan.
bool run(const Problem& p, const TensorView& x, int32_t x_zero, const TensorView& weights, ConstantOperand* constant,
         const float* scale, const float* bias, const void* addend, const QuantizedResult& result,
         const TensorView& y) {
  const auto plan = plan_of(p);
  if (!plan->primitive) return false;
  ScratchScope scratch;
  const auto prepare = [&](std::byte* to) {
    ScratchScope own;
    const TensorView dense = weights.is_contiguous()
                                 ? weights
                                 : gather_to(own.take(static_cast<size_t>(weights.numel())), DType::Int8, weights);
    onednn::Reorder(plan->plain, plan->weights).run(dense.data, to);
  };
  ConstantOperand::Form form;
  std::byte* ready;
  if (constant) {
    form = constant->form(weights, plan->weights, prepare);
    ready = const_cast<std::byte*>(form.get());
  } else {
    ready = static_cast<std::byte*>(scratch.take(plan->weights.get_size()));
    prepare(ready);
  }
  onednn::Primitive::Argument given[9] = {{DNNL_ARG_SRC, x.data},
                                          {DNNL_ARG_WEIGHTS, ready},
                                          {DNNL_ARG_DST, y.data},
                                          {DNNL_ARG_ATTR_SCALES | DNNL_ARG_WEIGHTS, scale}};
  size_t count = 4;
  if (p.biased) given[count++] = {DNNL_ARG_BIAS, bias};
  if (addend) given[count++] = {DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1, addend};
  if (p.has_zero) given[count++] = {DNNL_ARG_ATTR_ZERO_POINTS | DNNL_ARG_SRC, &x_zero};
  if (p.to != DType::Float) {
    given[count++] = {DNNL_ARG_ATTR_SCALES | DNNL_ARG_DST, &result.scale};
    given[count++] = {DNNL_ARG_ATTR_ZERO_POINTS | DNNL_ARG_DST, &result.zero};
  }
  plan->primitive.run({given, count});
  return true;
}

/// x - zero as FLOAT, in the order of its elements.
TensorView centred(const TensorView& x, int32_t zero, ScratchScope& scratch) {
  const float one = 1.0f, by = static_cast<float>(zero);
  TensorView to =
      TensorView::contiguous(scratch.take<float>(static_cast<size_t>(x.numel())), DType::Float, x.dims, x.rank);
  const auto number = [](const float& v) {
    return TensorView::contiguous(const_cast<float*>(&v), DType::Float, nullptr, 0);
  };
  dequantize(x, number(one), number(by), 0, to);
  return to;
}

/// Sums, by channels along dimension 1, as they are wanted.
void finish(const TensorView& sums, const TensorView& scale, const float* bias, const QuantizedAddend& addend,
            const QuantizedResult& result, const TensorView& y) {
  ScratchScope scratch;
  const float* by = floats(scale, scratch);
  const int64_t channels = sums.dims[1], plane = sums.numel() / std::max<int64_t>(1, sums.dims[0] * channels);
  parallel_for(sums.dims[0] * channels, std::max<int64_t>(1, kGrain / std::max<int64_t>(1, plane)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t r = begin; r < end; ++r) {
                   const int64_t c = r % channels;
                   const float s = by[scale.numel() == 1 ? 0 : c], b = bias ? bias[c] : 0.0f;
                   float* row = sums.as<float>() + r * plane;
                   for (int64_t i = 0; i < plane; ++i) row[i] = row[i] * s + b;
                 }
               });
  if (addend.values.data) {
    const TensorView more = centred(addend.values, addend.zero, scratch);
    parallel_for(sums.numel(), kGrain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const float sum = sums.as<float>()[i] + more.as<float>()[i] * addend.scale;
        sums.as<float>()[i] = addend.relu ? std::max(sum, 0.0f) : sum;
      }
    });
  }
  if (y.dtype == DType::Float) return copy_elements(y, sums);
  const float zero = static_cast<float>(result.zero);
  const auto number = [](const float& v) {
    return TensorView::contiguous(const_cast<float*>(&v), DType::Float, nullptr, 0);
  };
  quantize(sums, number(result.scale), number(zero), 0, y);
}

Problem problem_of(const TensorView& x, int32_t x_zero, const TensorView& scale, const float* terms,
                   const TensorView& y) {
  Problem p;
  p.biased = terms != nullptr;
  p.has_zero = x_zero != 0;
  p.by_channel = scale.numel() > 1;
  p.from = x.dtype;
  p.to = y.dtype;
  return p;
}

/// v, whose elements are bytes, side by side; and memory like that for what v receives.
TensorView dense(const TensorView& v, ScratchScope& scratch) {
  return v.is_contiguous() ? v : gather_to(scratch.take(static_cast<size_t>(v.numel())), v.dtype, v);
}
TensorView room_for(const TensorView& v, ScratchScope& scratch) {
  if (v.is_contiguous()) return v;
  return TensorView::contiguous(scratch.take(static_cast<size_t>(v.numel()) * size_of(v.dtype)), v.dtype, v.dims,
                                v.rank);
}
TensorView floats_like(const TensorView& v, ScratchScope& scratch) {
  return TensorView::contiguous(scratch.take<float>(static_cast<size_t>(v.numel())), DType::Float, v.dims, v.rank);
}

bytes::Tail tail_of(const TensorView& scale, const float* terms, const QuantizedResult& result, const TensorView& y,
                    ScratchScope& scratch) {
  bytes::Tail tail;
  tail.scale = floats(scale, scratch);
  tail.each = scale.numel() > 1;
  tail.bias = terms;
  tail.result = result;
  tail.type = y.dtype;
  return tail;
}

}  // namespace

void quantized_convolution(const ConvolutionShape& s, const TensorView& x, int32_t x_zero, const TensorView& filter,
                           ConstantOperand* constant, const TensorView& scale, const TensorView& bias,
                           const QuantizedAddend& addend, const QuantizedResult& result, const TensorView& y) {
  if (y.empty()) return;
  ScratchScope scratch;
  const float* const terms = bias.data ? floats(bias, scratch) : nullptr;
  Problem p = problem_of(x, x_zero, scale, terms, y);
  if (addend.values.data) {
    p.added = addend.values.dtype;
    p.added_zero = addend.zero;
    p.relu = addend.relu;
  }
  p.src.assign(x.dims, x.dims + x.rank);
  p.dst.assign(y.dims, y.dims + y.rank);
  p.weights.assign(filter.dims, filter.dims + filter.rank);
  if (s.groups > 1) {
    p.weights[0] /= s.groups;
    p.weights.insert(p.weights.begin(), s.groups);
  }
  for (int d = 0; d < s.spatial; ++d) {
    p.strides.push_back(s.stride[d]);
    p.dilates.push_back(s.dilation[d] - 1);
    p.left.push_back(s.padding[d]);
    p.right.push_back(s.padding[d] + s.behind[d]);
  }
  if (native() && !x.empty() && !filter.empty()) {
    const TensorView out = channels_behind(y), from = dense(channels_behind(x), scratch), to = room_for(out, scratch);
    const float *by = floats(scale, scratch), *plus = terms;
    QuantizedResult wanted = result;
    const void* added = nullptr;
    if (addend.values.data) {
      added = dense(channels_behind(addend.values), scratch).data;
      const auto in_its_scale = [&](const float* v, int64_t n) {
        auto* to_scale = scratch.take<float>(static_cast<size_t>(n));
        for (int64_t i = 0; i < n; ++i) to_scale[i] = v[i] / addend.scale;
        return to_scale;
      };
      by = in_its_scale(by, scale.numel());
      if (terms) plus = in_its_scale(terms, y.dims[1]);
      wanted.scale /= addend.scale;
    }
    if (run(p, from, x_zero, filter, constant, by, plus, added, wanted, to)) {
      if (to.data != out.data) copy_elements(out, to);
      return;
    }
  }
  if (!native() && !x.empty() && !filter.empty() && bytes::suits(s, filter)) {
    const TensorView out = channels_behind(y), from = dense(channels_behind(x), scratch), to = room_for(out, scratch);
    bytes::Tail tail = tail_of(scale, terms, result, y, scratch);
    if (addend.values.data) {
      tail.addend = dense(channels_behind(addend.values), scratch).data;
      tail.addend_sign = has_sign(addend.values);
      tail.addend_scale = addend.scale;
      tail.addend_zero = static_cast<float>(addend.zero);
      tail.relu = addend.relu;
    }
    bytes::convolution(s, from, x_zero, filter, constant, tail, to);
    if (to.data != out.data) copy_elements(out, to);
    return;
  }
  const TensorView wide = centred(x, x_zero, scratch);
  const TensorView by = gather_to(scratch.take<float>(static_cast<size_t>(filter.numel())), DType::Float, filter);
  const TensorView sums = floats_like(y, scratch);
  convolution(s, wide, by, nullptr, sums);
  finish(sums, scale, terms, addend, result, y);
}

void quantized_product(const TensorView& x, int32_t x_zero, const TensorView& weight, ConstantOperand* constant,
                       const TensorView& scale, const TensorView& bias, const QuantizedResult& result,
                       const TensorView& y) {
  if (y.empty()) return;
  ScratchScope scratch;
  const float* const terms = bias.data ? floats(bias, scratch) : nullptr;
  Problem p = problem_of(x, x_zero, scale, terms, y);
  p.product = true;
  p.src.assign(x.dims, x.dims + 2);
  p.dst.assign(y.dims, y.dims + 2);
  p.weights.assign(weight.dims, weight.dims + 2);
  if (native() && !x.empty()) {
    const TensorView from = dense(x, scratch), to = room_for(y, scratch);
    if (run(p, from, x_zero, weight, constant, floats(scale, scratch), terms, nullptr, result, to)) {
      if (to.data != y.data) copy_elements(y, to);
      return;
    }
  }
  if (!native() && !x.empty()) {
    const TensorView from = dense(x, scratch), to = room_for(y, scratch);
    bytes::convolution({}, from, x_zero, weight.transpose(0, 1), constant, tail_of(scale, terms, result, y, scratch),
                       to);
    if (to.data != y.data) copy_elements(y, to);
    return;
  }
  const TensorView wide = centred(x, x_zero, scratch);
  const TensorView by = gather_to(scratch.take<float>(static_cast<size_t>(weight.numel())), DType::Float, weight);
  const TensorView sums = floats_like(y, scratch);
  matmul(wide, by, sums);
  finish(sums, scale, terms, {}, result, y);
}

}  // namespace updraft
