// The products of experts' rows with their INT8 matrices, brought back to the tokens that they belong to and added up.
#include <algorithm>

#include "base/parallel.h"
#include "ops/gathered.h"
#include "ops/infer.h"
#include "ops/matmul/quantised.h"
#include "ops/op.h"
#include "tensor/view_algebra.h"

namespace updraft {
namespace {

using namespace quantised;

struct GroupedFinal {
  TensorView x{}, w{}, groups{}, rows{}, y{};
  TensorView scale{}, row_scale{}, logit{}, shared{};  // may be absent
  float shared_weight = 1;
  int64_t shared_at = 0, k = 0, n = 0;
  bool counts = false, turned = false;
};

/// An expert's matrix; five dimensions are the product's own format FRACTAL_NZ as it lies in memory.
Matrix weight_of(const GroupedFinal& p, int64_t expert) {
  const TensorView v = select(p.w, 0, expert);
  if (v.rank == 2) return matrix_of(p.turned ? v.transpose(0, 1) : v);
  return {p.k, p.n, floats_of(permute(v, {1, 2, 0, 3}))};
}

void run(const GroupedFinal& p) {
  const int64_t tokens = p.x.dims[0], to_rows = p.y.dims[0];
  auto all = [](const TensorView& v) { return given(v) ? floats_of(v) : std::vector<float>(); };
  const std::vector<float> by_row = all(p.row_scale), logit = all(p.logit), shared = all(p.shared);
  const std::vector<int64_t> rows = integers_of(p.rows), groups = integers_of(p.groups);
  std::vector<float> y(static_cast<size_t>(to_rows * p.n), 0.0f);
  std::copy(shared.begin(), shared.end(), y.begin() + p.shared_at * p.n);
  if (p.shared_weight != 1)
    for (float& v : y) v *= p.shared_weight;
  int64_t begin = 0;
  for (size_t g = 0; g < groups.size(); ++g) {
    const int64_t end = p.counts ? begin + groups[g] : groups[g];
    if (end < begin || end > tokens)
      fail_kernel(
          fmt::format("grouped_matmul_finalize_routing: group {} ends at {}, want {} to {}", g, end, begin, tokens));
    if (end == begin) continue;
    const auto expert = static_cast<int64_t>(g);
    const std::vector<float> scale =
        given(p.scale) ? scales_of(select(p.scale, 0, expert)) : std::vector<float>(static_cast<size_t>(p.n), 1.0f);
    const std::vector<double> sum =
        scaled_product(matrix_of(narrow(p.x, 0, begin, end - begin)), weight_of(p, expert), scale, 1);
    for (int64_t r = begin; r < end; ++r) {
      const int64_t to = rows[static_cast<size_t>(r)];
      if (to < 0 || to >= to_rows)
        fail_kernel(
            fmt::format("grouped_matmul_finalize_routing: row_index has {} at {}, want 0 to {}", to, r, to_rows - 1));
      float factor = 1;
      if (!by_row.empty()) factor *= by_row[static_cast<size_t>(r)];
      if (!logit.empty()) factor *= logit[static_cast<size_t>(r)];
      const double* from = sum.data() + (r - begin) * p.n;
      float* into = y.data() + to * p.n;
      for (int64_t c = 0; c < p.n; ++c) into[c] += static_cast<float>(from[c]) * factor;
    }
    begin = end;
  }
  write_all(p.y, y);
}

struct Given {
  const In& x;
  const In& w;
  const OptIn &scale, &bias, &row_scale, &groups, &shared, &logit, &rows;
  int64_t dtype;
  float shared_weight;
  int64_t shared_at;
  bool turn_x, turn_w;
  int64_t group_list_type;
};

void plan(Op& op, const Given& g, const Out& out) {
  require_given(op, "out", *out);  // how many tokens there are, nothing else says
  op.require(g.x->rank == 2 && g.x->dtype == DType::Int8, "x is {}, want a matrix of INT8", describe(*g.x));
  op.require((g.w->rank == 3 || g.w->rank == 5) && g.w->dtype == DType::Int8,
             "w is {}, want INT8 of [experts,K,N] or [experts,N/32,K/16,16,32] (FRACTAL_NZ); INT4 is not supported",
             describe(*g.w));
  op.require(!g.bias || g.bias->numel() == 0, "bias is given, which is that of INT4 weights: not supported");
  op.require(!g.turn_x && (!g.turn_w || g.w->rank == 3), "transposeX is true, or transposeW with FRACTAL_NZ");
  op.require(g.dtype == 0, "dtype is {}, supported is 0 (FLOAT)", g.dtype);
  op.require(g.group_list_type == 0 || g.group_list_type == 1, "groupListType is {}, want 0 (sums) or 1 (counts)",
             g.group_list_type);
  op.require(g.groups && g.rows, "groupList or rowIndex is null: want which rows are whose, and where they go");
  const int64_t rows = g.x->dims[0], k = g.x->dims[1], experts = g.w->dims[0];
  const bool blocks = g.w->rank == 5;
  const int64_t of_w = blocks ? g.w->dims[2] * g.w->dims[3] : g.w->dims[g.turn_w ? 2 : 1],
                n = blocks ? g.w->dims[1] * g.w->dims[4] : g.w->dims[g.turn_w ? 1 : 2];
  op.require(of_w == k, "x is {} and w {}: {} columns and {} rows", describe(*g.x), describe(*g.w), k, of_w);
  op.require(g.groups->rank == 1 && is_integral(g.groups->dtype) && g.groups->dims[0] <= experts,
             "groupList is {}, want whole numbers for at most {} experts", describe(*g.groups), experts);
  op.require(is_integral(g.rows->dtype), "rowIndex is {}, want whole numbers", describe(*g.rows));
  op.require_shape("rowIndex", *g.rows, &rows, 1);
  if (g.row_scale) op.require_shape("pertokenScale", *g.row_scale, &rows, 1);
  if (g.logit) op.require_shape("logit", *g.logit, &rows, 1);
  op.require(!g.scale || (is_scale(g.scale->dtype) && g.scale->numel() == experts * n && g.scale->dims[0] == experts),
             "scale is {}, want {} numbers for each of {} experts", g.scale ? describe(*g.scale).text() : "", n,
             experts);
  op.require(out->rank == 2 && out->dims[1] == n && out->dtype == DType::Float, "out is {}, want FLOAT of [tokens,{}]",
             describe(*out), n);
  op.require(!g.shared || (g.shared->rank == 2 && g.shared->dims[1] == n && g.shared_at >= 0 &&
                           g.shared_at + g.shared->dims[0] <= out->dims[0]),
             "sharedInput is {} from row {} on, want rows of {} that out, {}, has",
             g.shared ? describe(*g.shared).text() : "", g.shared_at, n, describe(*out));
  if (out->empty()) return;
  GroupedFinal p{.x = *g.x, .w = *g.w, .groups = *g.groups, .rows = *g.rows, .y = *out};
  if (g.scale) p.scale = *g.scale;
  if (g.row_scale) p.row_scale = *g.row_scale;
  if (g.logit) p.logit = *g.logit;
  if (g.shared) p.shared = *g.shared;
  p.shared_weight = g.shared_weight, p.shared_at = g.shared ? g.shared_at : 0;
  p.k = k, p.n = n;
  p.counts = g.group_list_type == 1, p.turned = g.turn_w;
  op.flops(2 * rows * k * n);
  op.work(rows * n * std::max<int64_t>(1, k));
  op.launch([p] { run(p); });
}

/// What weights of four bits have beside these.
void refuse(const Op& op, const OptIn& offset, const OptIn& antiquant_scale, const OptIn& antiquant_offset) {
  for (const auto& [name, v] : {std::pair("offset", &offset), std::pair("antiquantScale", &antiquant_scale),
                                std::pair("antiquantOffset", &antiquant_offset)})
    op.require(!*v || (*v)->numel() == 0, "{} is given, which is that of INT4 weights: not supported", name);
}

}  // namespace

#define FINAL_FRONT (In, x), (In, w), (OptIn, scale), (OptIn, bias)
#define FINAL_FOUR_BITS (OptIn, offset), (OptIn, antiquantScale), (OptIn, antiquantOffset)
#define FINAL_REST                                                                                                   \
  (OptIn, pertokenScale), (OptIn, groupList), (OptIn, sharedInput), (OptIn, logit), (OptIn, rowIndex), (Int, dtype), \
      (Float, sharedInputWeight), (Int, sharedInputOffset), (Bool, transposeX), (Bool, transposeW),                  \
      (Int, groupListType)
#define FINAL_PLAN                                                                                           \
  plan(op,                                                                                                   \
       {x, w, scale, bias, pertokenScale, groupList, sharedInput, logit, rowIndex, dtype, sharedInputWeight, \
        sharedInputOffset, transposeX, transposeW, groupListType},                                           \
       out)
#define FINAL_SAMPLE                                                                                          \
  "x=i8[N,16] w=i8[2,16,M] scale=f32[2,M] bias=null pertokenScale=f32[N] groupList=i64[2]:1..2 "              \
  "sharedInput=f32[3,M] logit=f32[N] rowIndex=i64[N]:0..4 dtype=0 sharedInputWeight=0.5 sharedInputOffset=1 " \
  "transposeX=false transposeW=false groupListType=1 out=f32[4,M]"
#define FINAL_FOUR_BITS_SAMPLE " offset=null antiquantScale=null antiquantOffset=null"

SAMPLE(aclnnGroupedMatmulFinalizeRoutingV2, FINAL_SAMPLE FINAL_FOUR_BITS_SAMPLE)
ABOUT(aclnnGroupedMatmulFinalizeRoutingV2, MixCube,
      "INT8 products of x's groups of rows with their experts' w, added up in the rows that rowIndex names",
      "分组 INT8 矩阵乘，结果按 rowIndex 累加回各 token")
ACLNN(aclnnGroupedMatmulFinalizeRoutingV2, FINAL_FRONT, FINAL_FOUR_BITS, FINAL_REST, (Out, out)) {
  refuse(op, offset, antiquantScale, antiquantOffset);
  FINAL_PLAN;
}
SAMPLE(aclnnGroupedMatmulFinalizeRoutingV3, FINAL_SAMPLE FINAL_FOUR_BITS_SAMPLE " tuningConfig=null")
ABOUT(aclnnGroupedMatmulFinalizeRoutingV3, MixCube,
      "As aclnnGroupedMatmulFinalizeRoutingV2; tuningConfig says how a card cuts the work",
      "同 aclnnGroupedMatmulFinalizeRoutingV2，tuningConfig 为切分提示")
ACLNN(aclnnGroupedMatmulFinalizeRoutingV3, FINAL_FRONT, FINAL_FOUR_BITS, FINAL_REST, (OptInts, tuningConfig),
      (Out, out)) {
  (void)tuningConfig;
  refuse(op, offset, antiquantScale, antiquantOffset);
  FINAL_PLAN;
}
SAMPLE(aclnnGroupedMatmulFinalizeRoutingWeightNz, FINAL_SAMPLE)
ABOUT(aclnnGroupedMatmulFinalizeRoutingWeightNz, MixCube,
      "As aclnnGroupedMatmulFinalizeRoutingV2, for weights that the client marks as FRACTAL_NZ",
      "同 aclnnGroupedMatmulFinalizeRoutingV2，w 为 NZ 格式")
ACLNN(aclnnGroupedMatmulFinalizeRoutingWeightNz, FINAL_FRONT, FINAL_REST, (Out, out)) { FINAL_PLAN; }
SAMPLE(aclnnGroupedMatmulFinalizeRoutingWeightNzV2, FINAL_SAMPLE FINAL_FOUR_BITS_SAMPLE " tuningConfig=null")
ABOUT(aclnnGroupedMatmulFinalizeRoutingWeightNzV2, MixCube,
      "As aclnnGroupedMatmulFinalizeRoutingV3, for weights that the client marks as FRACTAL_NZ",
      "同 aclnnGroupedMatmulFinalizeRoutingV3，w 为 NZ 格式")
ACLNN(aclnnGroupedMatmulFinalizeRoutingWeightNzV2, FINAL_FRONT, FINAL_FOUR_BITS, FINAL_REST, (OptInts, tuningConfig),
      (Out, out)) {
  (void)tuningConfig;
  refuse(op, offset, antiquantScale, antiquantOffset);
  FINAL_PLAN;
}

}  // namespace updraft
