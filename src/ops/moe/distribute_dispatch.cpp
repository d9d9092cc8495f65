// Tokens to the ranks of their experts.
#include <cmath>
#include <cstring>
#include <numeric>

#include "base/parallel.h"
#include "ops/moe/distribute.h"
#include "ops/quantize/numbers.h"

namespace updraft {
namespace moe_distribute {
namespace {

constexpr int64_t kFixed = 1, kByRow = 2;  // quant_mode

/// Behind each row.
struct Tail {
  float scale = 0, expert_scale = 0;
};

/// The first n of the elements of a vector, or rows of a matrix.
TensorView first(const TensorView& v, int64_t n) {
  TensorView part = v;
  part.dims[0] = n;
  return part;
}

struct Plan : BlockExchange {
  Dispatch what;
  TensorView expand_x, dynamic_scales, expand_idx, expert_token_nums, ep_recv_counts, tp_recv_counts, expand_scales;

  bool quantised() const { return what.quant_mode != 0; }
  int64_t width() const { return blocks.row_bytes - static_cast<int64_t>(sizeof(Tail)); }

  /// A block: how many rows each expert of its rank gets, then the rows.
  void pack() const {
    const Deployment& d = blocks.d;
    const std::vector<std::vector<Row>> to = blocks.routed(what.expert_ids, what.active);
    std::vector<char> own;
    const int64_t h = what.x.dims[1];
    const char* x = quantised() ? nullptr : side_by_side(what.x, own);
    const std::vector<float> numbers = quantised() ? floats_of(what.x) : std::vector<float>();
    const std::vector<float> factors = given(what.scales) ? floats_of(what.scales) : std::vector<float>();
    const std::vector<float> weights = given(what.expert_scales) ? floats_of(what.expert_scales) : std::vector<float>();
    std::vector<int32_t> index(static_cast<size_t>(blocks.tokens * blocks.choices));
    for (int64_t r = 0; r < d.ranks; ++r) {
      const std::vector<Row>& rows = to[static_cast<size_t>(r)];
      std::vector<int32_t> counts(static_cast<size_t>(d.experts_of(r)));
      for (const Row& row : rows) {
        int32_t& n = counts[static_cast<size_t>(row.expert)];
        if (row.choice >= 0) index[static_cast<size_t>(row.token * blocks.choices + row.choice)] = n;
        ++n;
      }
      std::memcpy(to_send(r), counts.data(), counts.size() * sizeof(int32_t));
      parallel_for(static_cast<int64_t>(rows.size()), std::max<int64_t>(1, 32768 / std::max<int64_t>(h, 1)),
                   [&](int64_t begin, int64_t end) {
                     std::vector<float> values(static_cast<size_t>(quantised() ? h : 0));
                     for (int64_t i = begin; i < end; ++i) {
                       const Row& from = rows[static_cast<size_t>(i)];
                       Tail tail;
                       char* const at = row(to_send(r), i);
                       if (quantised()) {
                         const int64_t expert = d.is_shared(r) ? r / d.copies_of_shared()
                                                               : (d.shared_ranks ? d.shared_experts : 0) +
                                                                     (r - d.shared_ranks) * d.of_rank() + from.expert;
                         const float* by = factors.empty() ? nullptr : factors.data() + expert * h;
                         std::copy_n(numbers.data() + from.token * h, h, values.data());
                         constexpr Range kInt8{-128, 127, false};
                         if (what.quant_mode == kByRow) quantise_by_largest(values.data(), h, by, kInt8, &tail.scale);
                         else
                           for (int64_t c = 0; c < h; ++c)
                             values[static_cast<size_t>(c)] = kept(values[static_cast<size_t>(c)] * by[c], kInt8);
                         for (int64_t c = 0; c < h; ++c)
                           at[c] = static_cast<char>(static_cast<int8_t>(values[static_cast<size_t>(c)]));
                       } else {
                         std::memcpy(at, x + from.token * width(), static_cast<size_t>(width()));
                       }
                       if (!weights.empty() && from.choice >= 0)
                         tail.expert_scale = weights[static_cast<size_t>(from.token * blocks.choices + from.choice)];
                       std::memcpy(at + width(), &tail, sizeof tail);
                     }
                   });
    }
    TensorView to_index = first(expand_idx, blocks.tokens * blocks.choices);
    write_all(to_index, index);
  }

  void unpack() const {
    const Deployment& d = blocks.d;
    const int64_t experts = d.experts_of(d.rank);
    struct Run {
      int64_t from, row, count, at;
    };
    std::vector<Run> runs;
    std::vector<int64_t> next(static_cast<size_t>(d.ranks)), nums(static_cast<size_t>(experts));
    std::vector<int32_t> sums(static_cast<size_t>(ep_recv_counts.numel()));
    int64_t all = 0;
    for (int64_t e = 0; e < experts; ++e) {
      for (int64_t r = 0; r < d.ranks; ++r) {
        int32_t n;
        std::memcpy(&n, received(r) + e * static_cast<int64_t>(sizeof n), sizeof n);
        int64_t& at = next[static_cast<size_t>(r)];
        if (n < 0 || at + n > blocks.rows)
          fail_kernel(fmt::format("rank {} sends {} rows after {}, at most {}: ranks call with other arguments", r, n,
                                  at, blocks.rows));
        runs.push_back({r, at, n, all});
        at += n, all += n;
        nums[static_cast<size_t>(e)] += n;
        sums[static_cast<size_t>(e * d.ranks + r)] = static_cast<int32_t>(all);
      }
    }
    if (all > expand_x.dims[0])
      fail_kernel(fmt::format("{} rows come to this rank, expand_x has {}", all, expand_x.dims[0]));
    std::vector<char> own(expand_x.is_contiguous() ? 0 : static_cast<size_t>(all * width()));
    char* const to = expand_x.is_contiguous() ? expand_x.as<char>() : own.data();
    std::vector<float> scales(static_cast<size_t>(all)), weights(static_cast<size_t>(all));
    parallel_for(static_cast<int64_t>(runs.size()), 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const Run& run = runs[static_cast<size_t>(i)];
        for (int64_t n = 0; n < run.count; ++n) {
          const char* const from = row(received(run.from), run.row + n);
          Tail tail;
          std::memcpy(to + (run.at + n) * width(), from, static_cast<size_t>(width()));
          std::memcpy(&tail, from + width(), sizeof tail);
          scales[static_cast<size_t>(run.at + n)] = tail.scale;
          weights[static_cast<size_t>(run.at + n)] = tail.expert_scale;
        }
      }
    });
    const TensorView filled = first(expand_x, all);
    if (!own.empty()) copy_elements(filled, TensorView::contiguous(own.data(), filled.dtype, filled.dims, filled.rank));
    if (what.quant_mode == kByRow) write_all(first(dynamic_scales, all), scales);
    if (given(what.expert_scales) && given(expand_scales)) write_all(first(expand_scales, all), weights);
    if (what.counts_type == 0) std::partial_sum(nums.begin(), nums.end(), nums.begin());
    write_all(expert_token_nums, nums);
    write_all(ep_recv_counts, sums);
    if (given(tp_recv_counts)) write_all(tp_recv_counts, std::vector<int32_t>{static_cast<int32_t>(all)});
  }
};

/// The room of an output: at least what can come.
void require_room(const Op& op, const char* name, const TensorView& v, int64_t least, DType type) {
  op.require(v.rank == 1 && v.dims[0] >= least && v.dtype == type, "{} is {}, want {} [{}]", name, describe(v),
             name_of(type), least);
}

TensorView view_of(const OptOut& out) { return out && !out->empty() ? *out : TensorView(); }

}  // namespace

void plan_dispatch(Op& op, const Dispatch& what, const Dispatched& to, bool long_index) {
  const TensorView& x = what.x;
  op.require(x.rank == 2 && is_half(x.dtype), "x is {}, want FLOAT16 or BFLOAT16 [tokens, H]", describe(x));
  op.require(what.quant_mode == 0 || what.quant_mode == kFixed || what.quant_mode == kByRow,
             "quant_mode is {}, want 0 (none), 1 (by scales) or 2 (by the largest of each row)", what.quant_mode);
  op.require(what.counts_type == 0 || what.counts_type == 1, "expert_token_nums_type is {}, want 0 or 1",
             what.counts_type);
  const bool quantised = what.quant_mode != 0;
  op.require(quantised || !given(what.scales), "scales is given with quant_mode 0, want 1 or 2");
  op.require(what.quant_mode != kFixed || given(what.scales), "scales is null, which quant_mode 1 needs");
  const int64_t h = x.dims[1], width = quantised ? h : h * static_cast<int64_t>(size_of(x.dtype));
  const int64_t most = what.d.ranks > what.d.shared_ranks ? std::max<int64_t>(1, what.d.of_rank()) : 1;
  const Blocks b(op, what.d, what.expert_ids, what.active, width + static_cast<int64_t>(sizeof(Tail)),
                 (most * 4 + 15) / 16 * 16);
  const Deployment& d = b.d;
  op.require(what.expert_ids.dims[0] == x.dims[0], "x is {} and expert_ids {}: want as many tokens", describe(x),
             describe(what.expert_ids));
  if (given(what.scales)) {
    const int64_t dims[] = {d.experts + (d.shared_ranks ? d.shared_experts : 0), h};
    op.require_shape("scales", what.scales, dims, 2);
    op.require(what.scales.dtype == DType::Float, "scales is {}, want FLOAT", describe(what.scales));
  }
  if (given(what.expert_scales)) {
    op.require_same_shape("expert_scales", what.expert_scales, "expert_ids", what.expert_ids);
    op.require(what.expert_scales.dtype == DType::Float, "expert_scales is {}, want FLOAT",
               describe(what.expert_scales));
  }
  const int64_t experts = d.experts_of(d.rank), rows = b.arriving();
  const DType type = quantised ? DType::Int8 : x.dtype;
  const int64_t index = b.tokens * b.choices;
  op.suggest(*to.expand_x, {rows, h}, type);
  op.suggest(*to.expand_idx, {long_index ? std::max(index, rows * 128) : index}, DType::Int32);
  op.suggest(*to.expert_token_nums, {experts}, DType::Int64);
  const int64_t between_servers = given(what.expert_scales) ? 2 * d.global_tokens * b.choices * (d.ranks / 8) : 0;
  op.suggest(*to.ep_recv_counts, {d.ranks * experts + between_servers}, DType::Int32);
  if (to.dynamic_scales) op.suggest(*to.dynamic_scales, {rows}, DType::Float);
  if (to.tp_recv_counts) op.suggest(*to.tp_recv_counts, {d.tp_ranks}, DType::Int32);
  if (to.expand_scales) op.suggest(*to.expand_scales, {given(what.expert_scales) ? rows : 0}, DType::Float);
  // A shared expert's rank may be given less room: how many ranks send to it is known when they did.
  const TensorView& out = *to.expand_x;
  op.require(out.rank == 2 && out.dims[1] == h && out.dtype == type && (d.is_shared(d.rank) || out.dims[0] >= rows),
             "expand_x is {}, want {} [{}, {}]", describe(out), name_of(type), rows, h);
  require_room(op, "expand_idx", *to.expand_idx, index, DType::Int32);
  op.result("expert_token_nums", *to.expert_token_nums, {experts}, DType::Int64);
  require_room(op, "ep_recv_counts", *to.ep_recv_counts, d.ranks * experts, DType::Int32);
  if (what.quant_mode == kByRow) {
    op.require(static_cast<bool>(to.dynamic_scales), "dynamic_scales is null, which quant_mode 2 needs");
    require_room(op, "dynamic_scales", *to.dynamic_scales, out.dims[0], DType::Float);
  }
  if (const TensorView v = view_of(to.expand_scales); given(v) && given(what.expert_scales))
    require_room(op, "expand_scales", v, out.dims[0], DType::Float);
  if (const TensorView v = view_of(to.tp_recv_counts); given(v)) require_room(op, "tp_recv_counts", v, 1, DType::Int32);

  const Plan plan{BlockExchange(b),
                  what,
                  *to.expand_x,
                  view_of(to.dynamic_scales),
                  *to.expand_idx,
                  *to.expert_token_nums,
                  *to.ep_recv_counts,
                  view_of(to.tp_recv_counts),
                  view_of(to.expand_scales)};
  op.work((index + rows) * h);
  BlockExchange::launch(op, plan);
}

}  // namespace moe_distribute

using namespace moe_distribute;

// Tensors and numbers that the forms have in common, and what they are to plan_dispatch().
#define TENSORS \
  (In, x), (In, expertIds), (OptIn, scalesOptional), (OptIn, xActiveMaskOptional), (OptIn, expertScalesOptional)
#define NUMBERS                                                                                                      \
  (Text, groupEp), (Int, epWorldSize), (Int, epRankId), (Int, moeExpertNum), (Text, groupTp), (Int, tpWorldSize),    \
      (Int, tpRankId), (Int, expertShardType), (Int, sharedExpertNum), (Int, sharedExpertRankNum), (Int, quantMode), \
      (Int, globalBs), (Int, expertTokenNumsType)
#define SPECIAL_NUMBERS (Int, zeroExpertNum), (Int, copyExpertNum), (Int, constExpertNum)
#define RESULTS(INDEX)                                                                                            \
  (Out, expandXOut), (OptOut, dynamicScalesOut), (Out, INDEX), (Out, expertTokenNumsOut), (Out, epRecvCountsOut), \
      (OptOut, tpRecvCountsOut), (OptOut, expandScalesOut)
#define DEPLOYMENT                                                                                                \
  groupEp, epWorldSize, epRankId, moeExpertNum, groupTp, tpWorldSize, tpRankId, expertShardType, sharedExpertNum, \
      sharedExpertRankNum, globalBs
#define VIEWS                                                                        \
  *x, *expertIds, optional_view(scalesOptional), optional_view(xActiveMaskOptional), \
      optional_view(expertScalesOptional), quantMode, expertTokenNumsType
#define OUTS(INDEX) \
  { expandXOut, dynamicScalesOut, INDEX, expertTokenNumsOut, epRecvCountsOut, tpRecvCountsOut, expandScalesOut }

ABOUT(aclnnMoeDistributeDispatch, Vector, "Sends the tokens to the ranks of their experts, quantised on request",
      "将 token 发送到其专家所在的卡，可选量化")
ACLNN(aclnnMoeDistributeDispatch, TENSORS, NUMBERS, RESULTS(expandIdxOut)) {
  plan_dispatch(op, {{DEPLOYMENT}, VIEWS}, OUTS(expandIdxOut), false);
}
ABOUT(aclnnMoeDistributeDispatchV2, Vector, "As aclnnMoeDistributeDispatch; commAlg says how a card moves the data",
      "同 aclnnMoeDistributeDispatch，commAlg 为通信算法")
ACLNN(aclnnMoeDistributeDispatchV2, TENSORS, NUMBERS, (Text, commAlg), RESULTS(assistInfoForCombineOut)) {
  not_read(commAlg);
  plan_dispatch(op, {{DEPLOYMENT}, VIEWS}, OUTS(assistInfoForCombineOut), true);
}
ABOUT(aclnnMoeDistributeDispatchV3, Vector,
      "As aclnnMoeDistributeDispatchV2; choices of zero, copy and const experts stay at home",
      "同 aclnnMoeDistributeDispatchV2，另支持零专家、拷贝专家与常量专家（不发送）")
ACLNN(aclnnMoeDistributeDispatchV3, TENSORS, (OptIn, elasticInfoOptional), NUMBERS, (Text, commAlg), SPECIAL_NUMBERS,
      RESULTS(assistInfoForCombineOut)) {
  not_read(commAlg);
  refuse(op, "elasticInfo", static_cast<bool>(elasticInfoOptional));
  plan_dispatch(op, {{DEPLOYMENT, zeroExpertNum, copyExpertNum, constExpertNum}, VIEWS}, OUTS(assistInfoForCombineOut),
                true);
}
ABOUT(aclnnMoeDistributeDispatchV4, Vector, "As aclnnMoeDistributeDispatchV3, for clients that may ask for times",
      "同 aclnnMoeDistributeDispatchV3，接口可选性能统计")
ACLNN(aclnnMoeDistributeDispatchV4, TENSORS, (OptIn, elasticInfoOptional), (OptIn, performanceInfoOptional), NUMBERS,
      (Text, commAlg), SPECIAL_NUMBERS, RESULTS(assistInfoForCombineOut)) {
  not_read(commAlg);
  refuse(op, "elasticInfo", static_cast<bool>(elasticInfoOptional));
  refuse(op, "performanceInfo", static_cast<bool>(performanceInfoOptional));
  plan_dispatch(op, {{DEPLOYMENT, zeroExpertNum, copyExpertNum, constExpertNum}, VIEWS}, OUTS(assistInfoForCombineOut),
                true);
}

namespace {
[[maybe_unused]] const WaitsForRanks waiting[] = {
    WaitsForRanks(aclnnMoeDistributeDispatch_info),
    WaitsForRanks(aclnnMoeDistributeDispatchV2_info),
    WaitsForRanks(aclnnMoeDistributeDispatchV3_info),
    WaitsForRanks(aclnnMoeDistributeDispatchV4_info),
};
}  // namespace

}  // namespace updraft
