// What experts made of tokens, back at the ranks of the tokens.
#include <cstring>

#include "base/parallel.h"
#include "kernels/row_norm.h"
#include "ops/moe/distribute.h"
#include "tensor/view_algebra.h"

namespace updraft {
namespace moe_distribute {
namespace {

/// Sums in float, rounded once: where they go, or what is done with them.
using Finish = std::function<void(std::vector<float>& sums, int64_t tokens, int64_t h)>;

struct Plan : BlockExchange {
  Combine what;
  Finish finish;

  /// ep_send_counts has for each expert here, and each rank, where its rows end.
  void pack() const {
    const Deployment& d = blocks.d;
    const std::vector<int64_t> ends = integers_of(what.ep_send_counts);
    const TensorView& x = what.expand_x;
    std::vector<char> own;
    const char* const from = side_by_side(x, own);
    std::vector<int64_t> filled(static_cast<size_t>(d.ranks));
    int64_t begin = 0;
    for (int64_t e = 0; e < d.experts_of(d.rank); ++e) {
      for (int64_t r = 0; r < d.ranks; ++r) {
        const int64_t end = ends[static_cast<size_t>(e * d.ranks + r)];
        int64_t& at = filled[static_cast<size_t>(r)];
        if (end < begin || end > x.dims[0] || at + end - begin > blocks.rows)
          fail_kernel(
              fmt::format("ep_send_counts has {} after {}: want sums that do not fall, of at most {} rows for each "
                          "rank and {} of expand_x, as dispatch gave them",
                          end, begin, blocks.rows, x.dims[0]));
        std::memcpy(row(to_send(r), at), from + begin * blocks.row_bytes,
                    static_cast<size_t>((end - begin) * blocks.row_bytes));
        at += end - begin;
        begin = end;
      }
    }
  }

  void unpack() const {
    const Deployment& d = blocks.d;
    const int64_t h = what.expand_x.dims[1], tokens = blocks.tokens, choices = blocks.choices;
    // Where each choice's row is, and those of shared experts behind them.
    const int64_t slots = choices + (d.shared_ranks ? d.shared_experts : 0);
    std::vector<const char*> row_of(static_cast<size_t>(tokens * slots));
    const std::vector<std::vector<Row>> sent = blocks.routed(what.expert_ids, what.active);
    for (int64_t r = 0; r < d.ranks; ++r) {
      const std::vector<Row>& rows = sent[static_cast<size_t>(r)];
      for (size_t i = 0; i < rows.size(); ++i) {
        const int64_t slot = rows[i].choice >= 0 ? rows[i].choice : choices + r / d.copies_of_shared();
        row_of[static_cast<size_t>(rows[i].token * slots + slot)] = row(received(r), static_cast<int64_t>(i));
      }
    }
    const std::vector<float> weights = floats_of(what.expert_scales);
    const std::vector<int64_t> ids = integers_of(what.expert_ids);
    const std::vector<int64_t> mask = given(what.active) ? integers_of(what.active) : std::vector<int64_t>();
    const std::vector<float> shared = given(what.shared_x) ? floats_of(what.shared_x) : std::vector<float>();
    const bool special = d.copy_experts || d.const_experts;
    const std::vector<float> tokens_of = special ? floats_of(what.ori_x) : std::vector<float>();
    std::vector<float> alpha1, alpha2, v;
    if (d.const_experts) alpha1 = floats_of(what.alpha1), alpha2 = floats_of(what.alpha2), v = floats_of(what.v);
    const bool by_column = given(what.alpha1) && what.alpha1.rank == 2;
    std::vector<float> sums(static_cast<size_t>(tokens * h));
    const int64_t grain = std::max<int64_t>(1, 16384 / std::max<int64_t>(1, h * slots));
    parallel_for(tokens, grain, [&](int64_t begin, int64_t end) {
      std::vector<float> row(static_cast<size_t>(h));
      for (int64_t t = begin; t < end; ++t) {
        float* const sum = sums.data() + t * h;
        for (int64_t s = 0; s < slots; ++s) {
          const float weight = s < choices ? weights[static_cast<size_t>(t * choices + s)] : 1.0f;
          if (const char* from = row_of[static_cast<size_t>(t * slots + s)]) {
            gather_to(row.data(), DType::Float,
                      TensorView::contiguous(const_cast<char*>(from), what.expand_x.dtype, &h, 1));
            for (int64_t c = 0; c < h; ++c) sum[c] += weight * row[static_cast<size_t>(c)];
            continue;
          }
          if (s >= choices || !special) continue;
          const auto at = static_cast<size_t>(given(what.active) && what.active.rank == 1 ? t : t * choices + s);
          if (!mask.empty() && mask[at] == 0) continue;
          const int64_t e = ids[static_cast<size_t>(t * choices + s)] - d.experts - d.zero_experts;
          const float* const x = tokens_of.data() + t * h;
          if (e < 0) continue;  // adds nothing
          if (e < d.copy_experts) {
            for (int64_t c = 0; c < h; ++c) sum[c] += weight * x[c];
            continue;
          }
          const int64_t n = e - d.copy_experts;
          for (int64_t c = 0; c < h; ++c) {
            const auto a = static_cast<size_t>(by_column ? n * h + c : n);
            sum[c] += weight * (alpha1[a] * x[c] + alpha2[a] * v[static_cast<size_t>(n * h + c)]);
          }
        }
        if (!shared.empty())
          for (int64_t c = 0; c < h; ++c) sum[c] += shared[static_cast<size_t>(t * h + c)];
      }
    });
    finish(sums, tokens, h);
  }
};

void require_of(const Op& op, const char* name, const TensorView& v, DType type, std::initializer_list<int64_t> dims) {
  op.require(given(v), "{} is null, which copy and const experts need", name);
  op.require_shape(name, v, dims.begin(), static_cast<int>(dims.size()));
  op.require(v.dtype == type, "{} is {}, want {}", name, describe(v), name_of(type));
}

void plan(Op& op, const Combine& what, Finish finish) {
  const TensorView& x = what.expand_x;
  op.require(x.rank == 2 && is_half(x.dtype), "expand_x is {}, want FLOAT16 or BFLOAT16 [rows, H]", describe(x));
  const int64_t h = x.dims[1];
  const Blocks b(op, what.d, what.expert_ids, what.active, h * static_cast<int64_t>(size_of(x.dtype)), 0);
  const Deployment& d = b.d;
  op.require(what.out_type == 0, "out_dtype is {}, want 0", what.out_type);
  // Rows travel whole: numbers are those of a card that does not quantise them on their way.
  op.require(what.quant_mode == 0 || what.quant_mode == 2, "comm_quant_mode is {}, want 0 or 2", what.quant_mode);
  op.require(what.list_type == 0, "group_list_type is {}, want 0", what.list_type);
  op.require(what.ep_send_counts.dtype == DType::Int32 && what.ep_send_counts.numel() >= d.ranks * d.experts_of(d.rank),
             "ep_send_counts is {}, want INT32 [{}]", describe(what.ep_send_counts), d.ranks * d.experts_of(d.rank));
  op.require_same_shape("expert_scales", what.expert_scales, "expert_ids", what.expert_ids);
  op.require(what.expert_scales.dtype == DType::Float, "expert_scales is {}, want FLOAT", describe(what.expert_scales));
  if (given(what.shared_x)) {
    op.require(!d.shared_ranks, "shared_expert_x is given where shared_expert_rank_num is {}", d.shared_ranks);
    op.require(what.shared_x.dtype == x.dtype && row_length(what.shared_x) == h && rows_of(what.shared_x) == b.tokens,
               "shared_expert_x is {}, want {} [{}, {}]", describe(what.shared_x), name_of(x.dtype), b.tokens, h);
  }
  if (d.copy_experts || d.const_experts) require_of(op, "ori_x", what.ori_x, x.dtype, {b.tokens, h});
  if (d.const_experts) {
    for (const auto& [name, v] :
         {std::pair("const_expert_alpha_1", what.alpha1), {"const_expert_alpha_2", what.alpha2}})
      if (given(v) && v.rank == 1) require_of(op, name, v, x.dtype, {d.const_experts});
      else require_of(op, name, v, x.dtype, {d.const_experts, h});
    op.require(what.alpha1.rank == what.alpha2.rank, "const_expert_alpha_1 is {} and const_expert_alpha_2 {}",
               describe(what.alpha1), describe(what.alpha2));
    require_of(op, "const_expert_v", what.v, x.dtype, {d.const_experts, h});
  }
  op.work((x.dims[0] + b.tokens * b.choices) * h);
  BlockExchange::launch(op, Plan{BlockExchange(b), what, std::move(finish)});
}

}  // namespace

void plan_combine(Op& op, const Combine& what, const Out& out) {
  const int64_t dims[] = {what.expert_ids.rank ? what.expert_ids.dims[0] : 0, row_length(what.expand_x)};
  op.result("x", *out, dims, 2, what.expand_x.dtype);
  plan(op, what, [out = *out](std::vector<float>& sums, int64_t, int64_t) { write_all(out, sums); });
}

void plan_combine(Op& op, const Combine& what, const AddNorm& norm, const Out& y, const Out& rstd, const Out& x) {
  const DType type = what.expand_x.dtype;
  const int64_t tokens = what.expert_ids.rank ? what.expert_ids.dims[0] : 0, h = row_length(what.expand_x);
  op.require(norm.residual.dtype == type && rows_of(norm.residual) == tokens && row_length(norm.residual) == h,
             "residual_x is {}, want {} [{}, 1, {}]", describe(norm.residual), name_of(type), tokens, h);
  op.require(norm.gamma.dtype == type && norm.gamma.rank == 1 && norm.gamma.dims[0] == h, "gamma is {}, want {} [{}]",
             describe(norm.gamma), name_of(type), h);
  op.result("y", *y, {tokens, 1, h}, type);
  op.result("rstd", *rstd, {tokens, 1, 1}, DType::Float);
  op.result("x", *x, {tokens, 1, h}, type);
  plan(op, what, [norm, y = *y, rstd = *rstd, x = *x](std::vector<float>& sums, int64_t rows, int64_t cols) {
    if (!rows) return;
    const int64_t dims[] = {rows, 1, cols};
    const TensorView residual = reshape(norm.residual, {rows, 1, cols});
    RowNorm n;
    n.rms = true, n.eps = norm.eps, n.rows = rows, n.cols = cols;
    n.x = TensorView::contiguous(sums.data(), DType::Float, dims, 3), n.x2 = residual, n.gamma = norm.gamma;
    n.y = y, n.rstd = rstd, n.sum = x;
    row_norm(n);
  });
}

}  // namespace moe_distribute

using namespace moe_distribute;

namespace {

/// Factors of products that a card joins with the way back on other products.
void refuse_factors(const Op& op, const OptIn& activation_scale, const OptIn& weight_scale, const OptIn& group_list) {
  refuse(op, "activationScale, weightScale or groupList", activation_scale || weight_scale || group_list);
}

}  // namespace

// Tensors and numbers that several forms have in common, and what they are to plan_combine().
#define FIRST_TENSORS(INDEX) (In, expandX), (In, expertIds), (In, INDEX), (In, epSendCounts), (In, expertScales)
#define MORE_TENSORS                                                                             \
  (OptIn, tpSendCountsOptional), (OptIn, xActiveMaskOptional), (OptIn, activationScaleOptional), \
      (OptIn, weightScaleOptional), (OptIn, groupListOptional), (OptIn, expandScalesOptional)
#define SPECIAL_TENSORS                                                                    \
  (OptIn, elasticInfoOptional), (OptIn, oriXOptional), (OptIn, constExpertAlpha1Optional), \
      (OptIn, constExpertAlpha2Optional), (OptIn, constExpertVOptional)
#define NUMBERS                                                                                                     \
  (Text, groupEp), (Int, epWorldSize), (Int, epRankId), (Int, moeExpertNum), (Text, groupTp), (Int, tpWorldSize),   \
      (Int, tpRankId), (Int, expertShardType), (Int, sharedExpertNum), (Int, sharedExpertRankNum), (Int, globalBs), \
      (Int, outDtype), (Int, commQuantMode), (Int, groupListType)
#define SPECIAL_NUMBERS (Int, zeroExpertNum), (Int, copyExpertNum), (Int, constExpertNum)
#define DEPLOYMENT                                                                                                \
  groupEp, epWorldSize, epRankId, moeExpertNum, groupTp, tpWorldSize, tpRankId, expertShardType, sharedExpertNum, \
      sharedExpertRankNum, globalBs
#define FIRST_VIEWS *expandX, *expertIds, *epSendCounts, *expertScales, optional_view(xActiveMaskOptional)
#define SPECIAL_VIEWS                                                                                              \
  optional_view(oriXOptional), optional_view(constExpertAlpha1Optional), optional_view(constExpertAlpha2Optional), \
      optional_view(constExpertVOptional)
#define MODES outDtype, commQuantMode, groupListType

ABOUT(aclnnMoeDistributeCombine, Vector, "Brings back the rows of experts and adds them up for each token",
      "将专家的输出行送回 token 所在的卡并按权重求和")
ACLNN(aclnnMoeDistributeCombine, FIRST_TENSORS(expandIdx), MORE_TENSORS, NUMBERS, (Out, xOut)) {
  not_read(expandIdx, tpSendCountsOptional, expandScalesOptional);
  refuse_factors(op, activationScaleOptional, weightScaleOptional, groupListOptional);
  plan_combine(op, {{DEPLOYMENT}, FIRST_VIEWS, {}, {}, {}, {}, {}, MODES}, xOut);
}
ABOUT(aclnnMoeDistributeCombineV2, Vector,
      "As aclnnMoeDistributeCombine, plus the rows of an expert that all tokens have",
      "同 aclnnMoeDistributeCombine，可再加上共享专家的输出")
ACLNN(aclnnMoeDistributeCombineV2, FIRST_TENSORS(assistInfoForCombine), MORE_TENSORS, (OptIn, sharedExpertXOptional),
      NUMBERS, (Text, commAlg), (Out, xOut)) {
  not_read(assistInfoForCombine, tpSendCountsOptional, expandScalesOptional, commAlg);
  refuse_factors(op, activationScaleOptional, weightScaleOptional, groupListOptional);
  plan_combine(op, {{DEPLOYMENT}, FIRST_VIEWS, optional_view(sharedExpertXOptional), {}, {}, {}, {}, MODES}, xOut);
}
ABOUT(aclnnMoeDistributeCombineV3, Vector, "As aclnnMoeDistributeCombineV2, with zero, copy and const experts",
      "同 aclnnMoeDistributeCombineV2，另支持零专家、拷贝专家与常量专家")
ACLNN(aclnnMoeDistributeCombineV3, FIRST_TENSORS(assistInfoForCombine), MORE_TENSORS, (OptIn, sharedExpertXOptional),
      SPECIAL_TENSORS, NUMBERS, (Text, commAlg), SPECIAL_NUMBERS, (Out, xOut)) {
  not_read(assistInfoForCombine, tpSendCountsOptional, expandScalesOptional, commAlg);
  refuse_factors(op, activationScaleOptional, weightScaleOptional, groupListOptional);
  refuse(op, "elasticInfo", static_cast<bool>(elasticInfoOptional));
  plan_combine(op,
               {{DEPLOYMENT, zeroExpertNum, copyExpertNum, constExpertNum},
                FIRST_VIEWS,
                optional_view(sharedExpertXOptional),
                SPECIAL_VIEWS,
                MODES},
               xOut);
}
ABOUT(aclnnMoeDistributeCombineV4, Vector, "As aclnnMoeDistributeCombineV3, for clients that may ask for times",
      "同 aclnnMoeDistributeCombineV3，接口可选性能统计")
ACLNN(aclnnMoeDistributeCombineV4, FIRST_TENSORS(assistInfoForCombine), MORE_TENSORS, (OptIn, sharedExpertXOptional),
      SPECIAL_TENSORS, (OptIn, performanceInfoOptional), NUMBERS, (Text, commAlg), SPECIAL_NUMBERS, (Out, xOut)) {
  not_read(assistInfoForCombine, tpSendCountsOptional, expandScalesOptional, commAlg);
  refuse_factors(op, activationScaleOptional, weightScaleOptional, groupListOptional);
  refuse(op, "elasticInfo", static_cast<bool>(elasticInfoOptional));
  refuse(op, "performanceInfo", static_cast<bool>(performanceInfoOptional));
  plan_combine(op,
               {{DEPLOYMENT, zeroExpertNum, copyExpertNum, constExpertNum},
                FIRST_VIEWS,
                optional_view(sharedExpertXOptional),
                SPECIAL_VIEWS,
                MODES},
               xOut);
}
ABOUT(aclnnMoeDistributeCombineAddRmsNorm, Vector,
      "x = what aclnnMoeDistributeCombineV2 gives + residualX; y = its RMS normalisation with gamma",
      "x = aclnnMoeDistributeCombineV2 的结果 + residualX，y 为其 RMS 归一化")
ACLNN(aclnnMoeDistributeCombineAddRmsNorm, FIRST_TENSORS(assistInfoForCombine), (In, residualX), (In, gamma),
      MORE_TENSORS, (OptIn, sharedExpertXOptional), NUMBERS, (Text, commAlg), (Float, normEps), (Out, y),
      (Out, rstdOut), (Out, xOut)) {
  not_read(assistInfoForCombine, tpSendCountsOptional, expandScalesOptional, commAlg);
  refuse_factors(op, activationScaleOptional, weightScaleOptional, groupListOptional);
  plan_combine(op, {{DEPLOYMENT}, FIRST_VIEWS, optional_view(sharedExpertXOptional), {}, {}, {}, {}, MODES},
               {*residualX, *gamma, normEps}, y, rstdOut, xOut);
}
ABOUT(aclnnMoeDistributeCombineAddRmsNormV2, Vector,
      "As aclnnMoeDistributeCombineAddRmsNorm, with zero, copy and const experts",
      "同 aclnnMoeDistributeCombineAddRmsNorm，另支持零专家、拷贝专家与常量专家")
ACLNN(aclnnMoeDistributeCombineAddRmsNormV2, FIRST_TENSORS(assistInfoForCombine), (In, residualX), (In, gamma),
      MORE_TENSORS, (OptIn, sharedExpertXOptional), SPECIAL_TENSORS, NUMBERS, (Text, commAlg), (Float, normEps),
      SPECIAL_NUMBERS, (Out, y), (Out, rstdOut), (Out, xOut)) {
  not_read(assistInfoForCombine, tpSendCountsOptional, expandScalesOptional, commAlg);
  refuse_factors(op, activationScaleOptional, weightScaleOptional, groupListOptional);
  refuse(op, "elasticInfo", static_cast<bool>(elasticInfoOptional));
  plan_combine(op,
               {{DEPLOYMENT, zeroExpertNum, copyExpertNum, constExpertNum},
                FIRST_VIEWS,
                optional_view(sharedExpertXOptional),
                SPECIAL_VIEWS,
                MODES},
               {*residualX, *gamma, normEps}, y, rstdOut, xOut);
}

namespace {
[[maybe_unused]] const WaitsForRanks waiting[] = {
    WaitsForRanks(aclnnMoeDistributeCombine_info),           WaitsForRanks(aclnnMoeDistributeCombineV2_info),
    WaitsForRanks(aclnnMoeDistributeCombineV3_info),         WaitsForRanks(aclnnMoeDistributeCombineV4_info),
    WaitsForRanks(aclnnMoeDistributeCombineAddRmsNorm_info), WaitsForRanks(aclnnMoeDistributeCombineAddRmsNormV2_info),
};
}  // namespace

}  // namespace updraft
