// What the experts gave, brought together for each token; and the counts that tell where each expert's tokens lie.
#include <algorithm>
#include <cmath>

#include "base/parallel.h"
#include "ops/gathered.h"
#include "ops/op.h"
#include "tensor/view_algebra.h"

namespace updraft {
namespace {

struct Final {
  TensorView rows{}, places{}, to{};
  TensorView skip1{}, skip2{}, bias{}, scales{}, experts{};  // may be absent
  bool by_column = true;  // entry (n, k) stands at k * N + n of places, else at n * K + k
};

void plan_final(Op& op, Final f, const TensorView& out) {
  const int64_t width = row_length(f.rows);
  op.require(f.rows.rank >= 2 && is_floating(f.rows.dtype), "expandedX is {}, want floating-point rows",
             describe(f.rows));
  const int64_t k = given(f.scales) ? row_length(f.scales) : 1;
  const int64_t tokens = f.places.numel() / std::max<int64_t>(1, k);
  op.result("out", out, {tokens, width}, f.rows.dtype);
  f.to = out;
  if (given(f.scales))
    op.require(f.scales.numel() == tokens * k, "scales is {}, want [{},{}]", describe(f.scales), tokens, k);
  for (const TensorView* skip : {&f.skip1, &f.skip2})
    if (given(*skip))
      op.require(skip->numel() == tokens * width, "x1 or x2 is {}, want [{},{}]", describe(*skip), tokens, width);
  if (given(f.bias)) {
    op.require(given(f.experts) && f.experts.numel() == tokens * k, "bias needs expertIdx [{},{}]", tokens, k);
    op.require(row_length(f.bias) == width, "bias is {}, want rows of {}", describe(f.bias), width);
  }
  if (f.to.empty()) return;
  op.work(f.places.numel() * width * 3);
  op.launch([=] {
    const std::vector<int64_t> place = integers_of(f.places);
    const std::vector<int64_t> expert = given(f.experts) ? integers_of(f.experts) : std::vector<int64_t>();
    const std::vector<float> scale = given(f.scales) ? floats_of(f.scales) : std::vector<float>();
    const std::vector<float> bias = given(f.bias) ? floats_of(f.bias) : std::vector<float>();
    const TensorView rows = f.rows.rank == 3 ? reshape(f.rows, {rows_of(f.rows), width}) : f.rows;
    parallel_for(tokens, 2, [&](int64_t begin, int64_t end) {
      std::vector<float> sum(static_cast<size_t>(width)), row(sum.size());
      for (int64_t n = begin; n < end; ++n) {
        std::fill(sum.begin(), sum.end(), 0.0f);
        for (const TensorView* skip : {&f.skip1, &f.skip2}) {
          if (!given(*skip)) continue;
          gather_to(row.data(), DType::Float, select(*skip, 0, n));
          for (size_t c = 0; c < sum.size(); ++c) sum[c] += row[c];
        }
        for (int64_t j = 0; j < k; ++j) {
          const int64_t at = place[static_cast<size_t>(f.by_column ? j * tokens + n : n * k + j)];
          std::fill(row.begin(), row.end(), 0.0f);
          // -1: the token was dropped there.
          if (at >= 0 && at < rows.dims[0]) gather_to(row.data(), DType::Float, select(rows, 0, at));
          else if (at != -1)
            fail_kernel(
                fmt::format("moe_finalize_routing: row {} is out of range, want -1 to {}", at, rows.dims[0] - 1));
          const float w = scale.empty() ? 1.0f : scale[static_cast<size_t>(n * k + j)];
          const float* add = nullptr;
          if (!bias.empty()) {
            const int64_t e = expert[static_cast<size_t>(n * k + j)];
            if (e < 0 || e >= static_cast<int64_t>(bias.size()) / width)
              fail_kernel(fmt::format("moe_finalize_routing: expert {} has no bias", e));
            add = bias.data() + e * width;
          }
          for (size_t c = 0; c < sum.size(); ++c) sum[c] += w * (row[c] + (add ? add[c] : 0.0f));
        }
        write_all(select(f.to, 0, n), sum);
      }
    });
  });
}

}  // namespace

SAMPLE(aclnnMoeFinalizeRouting,
       "expandedX=f32[6,M] skip1=f32[3,M] skip2Optional=null bias=f32[4,M] scales=f32[3,2] expandedRowIdx=i32[6]:0..5 "
       "expandedExpertIdx=i32[3,2]:0..3 out=f32[3,M]")
ABOUT(aclnnMoeFinalizeRouting, Vector, "out[n] = skips + the sum of scale * (the expert's row + its bias)",
      "out[n] = 残差 + Σ scale * (专家输出行 + bias)")
ACLNN(aclnnMoeFinalizeRouting, (In, expandedX), (OptIn, skip1), (OptIn, skip2Optional), (OptIn, bias), (OptIn, scales),
      (In, expandedRowIdx), (OptIn, expandedExpertIdx), (Out, out)) {
  Final f{.rows = *expandedX, .places = *expandedRowIdx};
  f.skip1 = optional_view(skip1);
  f.skip2 = optional_view(skip2Optional);
  f.bias = optional_view(bias);
  f.scales = optional_view(scales);
  f.experts = optional_view(expandedExpertIdx);
  plan_final(op, f, *out);
}

SAMPLE(aclnnMoeFinalizeRoutingV2,
       "expandedX=f32[6,M] expandedRowIdx=i32[6]:0..5 x1Optional=f32[3,M] x2Optional=null biasOptional=f32[4,M] "
       "scalesOptional=f32[3,2] expertIdxOptional=i32[3,2]:0..3 dropPadMode=2 out=f32[3,M]")
ABOUT(aclnnMoeFinalizeRoutingV2, Vector, "As aclnnMoeFinalizeRouting; dropPadMode 2 and 3 number entries by token",
      "同 aclnnMoeFinalizeRouting；dropPadMode 2、3 按 token 优先编号")
ACLNN(aclnnMoeFinalizeRoutingV2, (In, expandedX), (In, expandedRowIdx), (OptIn, x1Optional), (OptIn, x2Optional),
      (OptIn, biasOptional), (OptIn, scalesOptional), (OptIn, expertIdxOptional), (Int, dropPadMode), (Out, out)) {
  op.require(dropPadMode >= 0 && dropPadMode <= 3, "dropPadMode is {}, want 0 to 3", dropPadMode);
  Final f{.rows = *expandedX, .places = *expandedRowIdx, .by_column = dropPadMode < 2};
  f.skip1 = optional_view(x1Optional);
  f.skip2 = optional_view(x2Optional);
  f.bias = optional_view(biasOptional);
  f.scales = optional_view(scalesOptional);
  f.experts = optional_view(expertIdxOptional);
  plan_final(op, f, *out);
}

SAMPLE(aclnnMoeComputeExpertTokens, "sortedExperts=i32[N]:1..2 numExperts=4 out=i32[4]")
ABOUT(aclnnMoeComputeExpertTokens, Vector, "out[e] = how many of sortedExperts are expert e or one before",
      "out[e] = sortedExperts 中不大于 e 的个数")
ACLNN(aclnnMoeComputeExpertTokens, (In, sortedExperts), (Int, numExperts), (Out, out)) {
  op.require(sortedExperts->rank == 1 && is_integral(sortedExperts->dtype), "sortedExperts is {}, want integers [N]",
             describe(*sortedExperts));
  op.require(numExperts > 0, "numExperts is {}, want above 0", numExperts);
  op.result("out", *out, {numExperts}, DType::Int32);
  op.launch([from = *sortedExperts, to = *out] {
    const std::vector<int64_t> experts = integers_of(from);
    std::vector<int32_t> upto(static_cast<size_t>(to.numel()));
    for (size_t e = 0; e < upto.size(); ++e)
      upto[e] = static_cast<int32_t>(std::upper_bound(experts.begin(), experts.end(), static_cast<int64_t>(e)) -
                                     experts.begin());
    write_all(to, upto);
  });
}

SAMPLE(aclnnMoeReRouting,
       "tokens=f32[8,M] expertTokenNumPerRank=i64[2,2]:2..3 perTokenScalesOptional=f32[8] expertTokenNumType=1 "
       "reRoutingType=0 permuteTokens=f32[8,M] permutePerTokenScales=f32[8] permuteTokenIdx=i32[8] "
       "expertTokenNum=i64[2]")
ABOUT(aclnnMoeReRouting, Vector, "Tokens that lie by rank and expert, brought into the order of expert and rank",
      "将按 (rank, 专家) 排列的 token 重排为按 (专家, rank) 排列")
ACLNN(aclnnMoeReRouting, (In, tokens), (In, expertTokenNumPerRank), (OptIn, perTokenScalesOptional),
      (Int, expertTokenNumType), (Int, reRoutingType), (Out, permuteTokens), (OptOut, permutePerTokenScales),
      (Out, permuteTokenIdx), (Out, expertTokenNum)) {
  op.require(tokens->rank == 2 && expertTokenNumPerRank->rank == 2,
             "tokens is {} and expertTokenNumPerRank {}, want [N,H] and [ranks,experts]", describe(*tokens),
             describe(*expertTokenNumPerRank));
  op.require(expertTokenNumType == 1, "expertTokenNumType is {}, supported is 1 (counts)", expertTokenNumType);
  op.require(reRoutingType == 0 || reRoutingType == 1, "reRoutingType is {}, want 0 (gather) or 1 (scatter)",
             reRoutingType);
  const int64_t n = tokens->dims[0];
  op.result_like("permuteTokens", *permuteTokens, *tokens, tokens->dtype);
  op.result("permuteTokenIdx", *permuteTokenIdx, {n}, DType::Int32);
  op.result("expertTokenNum", *expertTokenNum, {expertTokenNumPerRank->dims[1]}, expertTokenNumPerRank->dtype);
  TensorView scales, to_scales;
  if (perTokenScalesOptional && permutePerTokenScales) {
    op.require(perTokenScalesOptional->rank >= 1 && perTokenScalesOptional->dims[0] == n,
               "perTokenScales is {}, want {} rows", describe(*perTokenScalesOptional), n);
    op.result_like("permutePerTokenScales", *permutePerTokenScales, *perTokenScalesOptional,
                   perTokenScalesOptional->dtype);
    scales = *perTokenScalesOptional;
    to_scales = *permutePerTokenScales;
  }
  op.work(tokens->numel() * 2);
  op.launch([=, from = *tokens, counts = *expertTokenNumPerRank, to = *permuteTokens, places = *permuteTokenIdx,
             sums = *expertTokenNum] {
    const std::vector<int64_t> count = integers_of(counts);
    const auto ranks = static_cast<size_t>(counts.dims[0]), experts = static_cast<size_t>(counts.dims[1]);
    std::vector<int64_t> begin(count.size()), total(experts, 0);
    for (size_t i = 0, at = 0; i < count.size(); at += static_cast<size_t>(count[i++]))
      begin[i] = static_cast<int64_t>(at);
    std::vector<int32_t> place(static_cast<size_t>(n), 0);
    int64_t row = 0;
    for (size_t e = 0; e < experts; ++e) {
      for (size_t r = 0; r < ranks; ++r) {
        const size_t cell = r * experts + e;
        total[e] += count[cell];
        // Counts may say more than there are tokens, as where a buffer is larger than what came: those are no rows.
        for (int64_t i = begin[cell]; i < std::min(n, begin[cell] + count[cell]) && row < n; ++i, ++row) {
          copy_elements(select(to, 0, row), select(from, 0, i));
          if (scales.data) copy_elements(select(to_scales, 0, row), select(scales, 0, i));
          place[static_cast<size_t>(reRoutingType ? i : row)] = static_cast<int32_t>(reRoutingType ? row : i);
        }
      }
    }
    write_all(places, place);
    write_all(sums, total);
  });
}

}  // namespace updraft
