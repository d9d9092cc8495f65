// Several products at once: of lists, or of parts of one matrix whose ends a tensor names.
#include <algorithm>
#include <cmath>

#include "base/parallel.h"
#include "kernels/matmul/matmul.h"
#include "ops/gathered.h"
#include "ops/matmul/activation.h"
#include "ops/matmul/quantised.h"
#include "ops/op.h"
#include "tensor/view_algebra.h"

namespace updraft {
namespace {

using namespace quantised;

/// One product: x @ w, and what is done with it.
struct Product {
  TensorView x{}, w{}, out{};
  TensorView bias{}, scale{}, antiquant_scale{}, antiquant_offset{}, per_token{};  // may be absent
};

void run_whole(const Product& p, Activation act) {
  const Matrix a = matrix_of(p.x), b = matrix_of(p.w);
  const std::vector<double> sum = product(a, b);
  const std::vector<float> bias = given(p.bias) ? floats_of(p.bias) : std::vector<float>();
  const std::vector<float> scale = given(p.scale) ? scales_of(p.scale) : std::vector<float>();
  const std::vector<float> offset =
      given(p.scale) && p.out.dtype == DType::Int8 ? offsets_of(p.scale) : std::vector<float>();
  const std::vector<float> by_row = given(p.per_token) ? floats_of(p.per_token) : std::vector<float>();
  const bool after = given(p.bias) && is_floating(p.bias.dtype);
  const auto n = static_cast<size_t>(b.columns);
  std::vector<float> result(sum.size());
  for (size_t i = 0; i < sum.size(); ++i) {
    const size_t c = i % n, r = i / n;
    double v = sum[i];
    if (!bias.empty() && !after) v += static_cast<double>(bias[c]);
    if (!scale.empty()) v *= static_cast<double>(scale[scale.size() == 1 ? 0 : c]);
    if (!by_row.empty()) v *= static_cast<double>(by_row[r]);
    if (!bias.empty() && after) v += static_cast<double>(bias[c]);
    if (!offset.empty()) v += static_cast<double>(offset[offset.size() == 1 ? 0 : c]);
    v = static_cast<double>(activated(static_cast<float>(v), act));
    result[i] = static_cast<float>(p.out.dtype == DType::Int8 ? std::clamp(std::nearbyint(v), -128.0, 127.0) : v);
  }
  write_all(p.out, result);
}

void run_product(const Product& p, Activation act) {
  if (p.out.empty()) return;
  if (p.x.dims[p.x.rank - 1] == 0) return fill_zero(p.out);
  if (is_integral(p.x.dtype)) return run_whole(p, act);
  std::vector<float> weight;
  TensorView w = p.w;
  if (is_integral(w.dtype)) {
    int64_t dims[2];
    matrix_dims(w, &dims[0], &dims[1]);
    weight = real_weights(w, p.antiquant_scale, p.antiquant_offset).numbers;
    w = TensorView::contiguous(weight.data(), DType::Float, dims, 2);
  }
  MatmulOptions options;
  if (given(p.bias)) {
    options.beta = 1;
    options.add = &p.bias;
  }
  if (act == Activation::None) return matmul(p.x, w, p.out, options);
  std::vector<float> hold(static_cast<size_t>(p.out.numel()));
  const TensorView wide = TensorView::contiguous(hold.data(), DType::Float, p.out.dims, p.out.rank);
  matmul(p.x, w, wide, options);
  for (float& v : hold) v = activated(v, act);
  copy_elements(p.out, wide);
}

struct Lists {
  const OptTensors &bias, &scale, &antiquant_scale, &antiquant_offset, &per_token;
};

/// The type of a result that nobody asked for: whole numbers become those of their scales, halves at most.
DType type_of(const Product& p, const TensorView& x) {
  if (!is_integral(x.dtype)) return x.dtype;
  return !given(p.scale) ? DType::Int32 : p.scale.dtype == DType::BFloat16 ? DType::BFloat16 : DType::Float16;
}

TensorView item(const OptTensors& list, size_t i) {
  if (i >= list.size() || !list.item(i)) return {};
  const TensorView& v = list[i];
  return v.numel() ? v : TensorView();
}
/// Clients give lists of tensors without elements for lists that are absent.
bool any(const OptTensors& list) {
  for (size_t i = 0; i < list.size(); ++i)
    if (given(item(list, i))) return true;
  return false;
}
/// What belongs to group g: an element of the list, or a row of its only one.
TensorView of_group(const OptTensors& list, size_t g, size_t groups, int rank) {
  if (list.size() >= groups && list.size() > 1) return item(list, g);
  const TensorView v = item(list, 0);
  if (!given(v) || v.rank <= rank || v.dims[0] != static_cast<int64_t>(groups)) return v;
  return select(v, 0, static_cast<int64_t>(g));
}

void plan_grouped(Op& op, const Tensors& x, const Tensors& weight, const Lists& lists, const OptIn& groups,
                  int64_t group_type, int64_t list_type, int64_t act_type, const OutTensors& out) {
  op.require(group_type == -1 || group_type == 0 || group_type == 2, "groupType is {}, want -1, 0 or 2", group_type);
  op.require(list_type == 0 || list_type == 1, "groupListType is {}, want 0 (sums) or 1 (counts)", list_type);
  const Activation act = activation_of(op, act_type);
  op.require(x.size() > 0 && weight.size() > 0 && out.size() > 0, "x, weight or out has no tensors");
  int64_t work = 0;
  for (size_t i = 0; i < x.size(); ++i) op.require(x[i].rank >= 2, "x {} is {}, want a matrix", i, describe(x[i]));
  for (size_t i = 0; i < weight.size(); ++i) {
    op.require(weight[i].rank >= 2, "weight {} is {}, want a matrix", i, describe(weight[i]));
    work += weight[i].numel();
  }

  // Before the launch, when the sizes of the results are known.
  auto count_work = [&] {
    for (size_t i = 0; i < out.size(); ++i) work += out[i].numel();
    op.work(work * 16);
  };
  auto product_of = [&](size_t g, size_t count) {
    Product p;
    op.require(weight.size() != 1 || weight[0].rank != 3 || static_cast<int64_t>(g) < weight[0].dims[0],
               "weight is {} for {} groups", describe(weight[0]), count);
    p.w = weight.size() == 1 && weight[0].rank == 3 ? select(weight[0], 0, static_cast<int64_t>(g))
          : weight.size() == 1                      ? weight[0]
                                                    : weight[g];
    p.bias = of_group(lists.bias, g, count, 1);
    p.scale = of_group(lists.scale, g, count, 1);
    p.antiquant_scale = of_group(lists.antiquant_scale, g, count, 1);
    p.antiquant_offset = of_group(lists.antiquant_offset, g, count, 1);
    return p;
  };
  /// Returns how many columns the result has.
  auto check = [&](const Product& p, const TensorView& input, size_t g) {
    op.require(!is_integral(p.w.dtype) || is_integral(input.dtype) || given(p.antiquant_scale),
               "weight {} is {} and x {}: antiquantScale is missing", g, describe(p.w), describe(input));
    int64_t k = 0, n = 0;
    if (is_integral(p.w.dtype)) matrix_dims(p.w, &k, &n);
    else {
      k = p.w.dims[p.w.rank - 2];
      n = p.w.dims[p.w.rank - 1];
    }
    op.require(input.dims[input.rank - 1] == k, "x is {} and weight {} {}: {} columns and {} rows", describe(input), g,
               describe(p.w), input.dims[input.rank - 1], k);
    for (const TensorView* v : {&p.bias, &p.scale, &p.antiquant_scale})
      if (given(*v))
        op.require(v->numel() == 1 || v->numel() == n, "bias or scale {} is {}, want 1 or {} values", g, describe(*v),
                   n);
    return n;
  };

  // Lists of x: each with a weight of its own, to outputs of their own or one below the other.
  if (x.size() > 1 || !groups) {
    std::vector<Product> all;
    int64_t row = 0, rows = 0;
    for (size_t g = 0; g < x.size(); ++g) rows += x[g].dims[0];
    for (size_t g = 0; g < x.size(); ++g) {
      Product p = product_of(g, x.size());
      p.x = x[g];
      const int64_t n = check(p, p.x, g);
      p.per_token = of_group(lists.per_token, g, x.size(), 1);
      if (out.size() == x.size()) {
        TensorView shape = p.x;
        shape.dims[shape.rank - 1] = n;
        op.result_like("out", out[g], shape, type_of(p, p.x));
        p.out = out[g];
      } else {
        op.suggest(out[0], {rows, n}, type_of(p, p.x));
        op.require(out[0].rank == 2 && row + p.x.dims[0] <= out[0].dims[0], "out is {}, want the rows of all x",
                   describe(out[0]));
        p.out = narrow(out[0], 0, row, p.x.dims[0]);
        row += p.x.dims[0];
      }
      all.push_back(p);
    }
    count_work();
    op.launch([all, act] {
      for (const Product& p : all) run_product(p, act);
    });
    return;
  }

  const int64_t count = groups->numel();
  const bool by_columns = group_type == 2;
  op.require(x[0].rank == 2, "x is {}, want a matrix that the groups divide", describe(x[0]));
  std::vector<Product> parts;
  for (int64_t g = 0; g < count; ++g) {
    Product p = by_columns ? Product() : product_of(static_cast<size_t>(g), static_cast<size_t>(count));
    if (!by_columns) {
      const auto i = static_cast<size_t>(g);
      const int64_t n = check(p, x[0], i), dims[] = {x[0].dims[0], n};
      // How many rows a group has the values of the list say.
      if (out.size() == 1) op.suggest(out[0], dims, 2, type_of(p, x[0]));
      else op.suggest_up_to(out[i], dims, 2, type_of(p, x[0]), 0);
    }
    parts.push_back(p);
  }
  if (by_columns) {
    const TensorView& w = weight[0];
    op.require(w.rank == 2 && w.dims[0] == x[0].dims[1], "weight is {} and x {}, want matrices with the groups between",
               describe(w), describe(x[0]));
    op.suggest(out[0], {count, x[0].dims[0], w.dims[1]}, x[0].dtype);
  }
  op.require(by_columns ? out.size() == 1 && out[0].rank == 3 : out[0].rank == 2, "out is {}, want {}",
             describe(out[0]), by_columns ? "[groups,M,N]" : "[M,N]");
  count_work();
  const TensorView rows_scale = item(lists.per_token, 0);
  std::vector<TensorView> outs;
  for (size_t i = 0; i < out.size(); ++i) outs.push_back(out[i]);
  op.launch([=, whole = x[0], w = weight[0], ends = *groups] {
    const std::vector<int64_t> list = integers_of(ends);
    int64_t begin = 0;
    const int64_t length = whole.dims[by_columns ? 1 : 0];
    for (int64_t g = 0; g < count; ++g) {
      const auto i = static_cast<size_t>(g);
      const int64_t end = list_type == 1 ? begin + list[i] : list[i];
      if (end < begin || end > length)
        fail_kernel(fmt::format("grouped_matmul: group {} ends at {}, want {} to {}", g, end, begin, length));
      Product p = parts[i];
      p.x = narrow(whole, by_columns ? 1 : 0, begin, end - begin);
      if (by_columns) {
        p.w = narrow(w, 0, begin, end - begin);
        p.out = select(outs[0], 0, g);
      } else {
        p.out = outs.size() > 1 ? outs[i] : narrow(outs[0], 0, begin, end - begin);
        if (given(rows_scale)) p.per_token = narrow(rows_scale, 0, begin, end - begin);
      }
      run_product(p, act);
      begin = end;
    }
    // Rows behind the last group belong to nobody.
    if (!by_columns && outs.size() == 1 && begin < outs[0].dims[0])
      fill_zero(narrow(outs[0], 0, begin, outs[0].dims[0] - begin));
  });
}

}  // namespace

#define GROUPED_PARAMETERS                                                                                       \
  (Tensors, x), (Tensors, weight), (OptTensors, biasOptional), (OptTensors, scaleOptional),                      \
      (OptTensors, offsetOptional), (OptTensors, antiquantScaleOptional), (OptTensors, antiquantOffsetOptional), \
      (OptTensors, perTokenScaleOptional), (OptIn, groupListOptional), (OptTensors, activationInputOptional),    \
      (OptTensors, activationQuantScaleOptional), (OptTensors, activationQuantOffsetOptional), (Int, splitItem), \
      (Int, groupType), (Int, groupListType), (Int, actType)
#define GROUPED_PLAN                                                                                                  \
  (void)splitItem; /* how many outputs there are says it */                                                           \
  (void)activationFeatureOutOptional;                                                                                 \
  op.require(!any(offsetOptional) && !any(activationInputOptional) && !any(activationQuantScaleOptional) &&           \
                 !any(activationQuantOffsetOptional) && !dynQuantScaleOutOptional.size(),                             \
             "an offset, an input of the activation or a quantised result is given, which is not supported");         \
  plan_grouped(op, x, weight,                                                                                         \
               {biasOptional, scaleOptional, antiquantScaleOptional, antiquantOffsetOptional, perTokenScaleOptional}, \
               groupListOptional, groupType, groupListType, actType, out);

SAMPLE(aclnnGroupedMatmulV4,
       "x=f32[4,M];f32[3,M] weight=f32[M,5];f32[M,5] biasOptional=null scaleOptional=null offsetOptional=null "
       "antiquantScaleOptional=null antiquantOffsetOptional=null perTokenScaleOptional=null "
       "groupListOptional=null activationInputOptional=null activationQuantScaleOptional=null "
       "activationQuantOffsetOptional=null splitItem=0 groupType=-1 groupListType=0 actType=0 "
       "out=f32[4,5];f32[3,5] activationFeatureOutOptional=null dynQuantScaleOutOptional=null")
ABOUT(aclnnGroupedMatmulV4, MixCube, "Products of lists of matrices, or of the groups of rows of one matrix",
      "分组矩阵乘：按列表，或按 groupList 划分的行组")
ACLNN(aclnnGroupedMatmulV4, GROUPED_PARAMETERS, (OutTensors, out), (OptOutTensors, activationFeatureOutOptional),
      (OptOutTensors, dynQuantScaleOutOptional)){
    GROUPED_PLAN} SAMPLE(aclnnGroupedMatmulV5,
                         "x=f32[4,M];f32[3,M] weight=f32[M,5];f32[M,5] biasOptional=null scaleOptional=null "
                         "offsetOptional=null "
                         "antiquantScaleOptional=null antiquantOffsetOptional=null perTokenScaleOptional=null "
                         "groupListOptional=null activationInputOptional=null activationQuantScaleOptional=null "
                         "activationQuantOffsetOptional=null splitItem=0 groupType=-1 groupListType=0 actType=0 "
                         "tuningConfigOptional=null out=f32[4,5];f32[3,5] activationFeatureOutOptional=null "
                         "dynQuantScaleOutOptional=null")
    ABOUT(aclnnGroupedMatmulV5, MixCube, "As aclnnGroupedMatmulV4; tuningConfig says how a card would cut the work",
          "同 aclnnGroupedMatmulV4，tuningConfig 为切分提示")
ACLNN(aclnnGroupedMatmulV5, GROUPED_PARAMETERS, (OptInts, tuningConfigOptional), (OutTensors, out),
      (OptOutTensors, activationFeatureOutOptional), (OptOutTensors, dynQuantScaleOutOptional)) {
  (void)tuningConfigOptional;  // how a card cuts the work: the result is the same
  GROUPED_PLAN
}

}  // namespace updraft
