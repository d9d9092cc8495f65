// Attention to some of the keys brought together with attention to others, as it comes along a ring of devices.
#include <algorithm>
#include <cmath>
#include <string_view>

#include "base/parallel.h"
#include "ops/gathered.h"
#include "ops/op.h"

namespace updraft {
namespace {

/// Maxima and sums stand eight times side by side.
constexpr int64_t kRepeated = 8;

struct Part {
  TensorView out, max, sum;
};

/// tokens: of [length, batch, heads * size] the rows are length and batch, the maxima are [batch, heads, length];
/// of [tokens, heads, size] both have tokens and heads.
struct Shape {
  int64_t length, batch, heads, size;
  bool packed;
};

void update(const Shape& s, const Part& before, const Part& now, const Part& to) {
  const int64_t rows = s.length * s.batch * s.heads;
  std::vector<float> out = floats_of(before.out), most = floats_of(before.max), sum = floats_of(before.sum);
  const std::vector<float> other = floats_of(now.out), other_most = floats_of(now.max), other_sum = floats_of(now.sum);
  parallel_for(rows, std::max<int64_t>(1, 2048 / std::max<int64_t>(1, s.size)), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t head = i % s.heads, b = i / s.heads % s.batch, t = i / s.heads / s.batch;
      const auto at = static_cast<size_t>((s.packed ? i : (b * s.heads + head) * s.length + t) * kRepeated);
      const float top = std::max(most[at], other_most[at]), first = sum[at] * std::exp(most[at] - top),
                  second = other_sum[at] * std::exp(other_most[at] - top), total = first + second;
      for (int64_t c = i * s.size; c < (i + 1) * s.size; ++c) {
        const auto k = static_cast<size_t>(c);
        out[k] = out[k] * (first / total) + other[k] * (second / total);
      }
      std::fill_n(most.begin() + static_cast<int64_t>(at), kRepeated, top);
      std::fill_n(sum.begin() + static_cast<int64_t>(at), kRepeated, total);
    }
  });
  write_all(to.out, out);
  write_all(to.max, most);
  write_all(to.sum, sum);
}

/// `softmax`: the layout of maxima and sums, "" for that of the results.
void plan_update(Op& op, const Part& before, const Part& now, std::string_view layout, std::string_view softmax,
                 const Out& attnOut, const Out& softmaxMax, const Out& softmaxSum) {
  const bool packed = layout == "TND";
  op.require(packed || layout == "SBH", "inputLayout is \"{}\", want \"SBH\" or \"TND\"", layout);
  op.require(softmax == layout || (!packed && softmax.empty()),
             "inputSoftmaxLayout is \"{}\", supported is that of inputLayout, \"{}\"", softmax, layout);
  const TensorView &x = before.out, &most = before.max;
  op.require(x.rank == 3 && compute_of(x.dtype) == Compute::F32 && most.rank == (packed ? 3 : 4) &&
                 most.dtype == DType::Float && most.dims[most.rank - 1] == kRepeated,
             "prevAttnOut is {}, prevSoftmaxMax {}: want 3 dimensions, and {} of FLOAT that end with {}", describe(x),
             describe(most), packed ? 3 : 4, kRepeated);
  Shape s{.length = x.dims[0], .batch = packed ? 1 : x.dims[1], .heads = most.dims[1], .size = 0, .packed = packed};
  s.size = packed ? x.dims[2] : x.dims[2] / std::max<int64_t>(1, s.heads);
  const int64_t want[] = {packed ? s.length : s.batch, s.heads, packed ? kRepeated : s.length, kRepeated};
  op.require(packed ? x.dims[1] == s.heads : s.size * s.heads == x.dims[2],
             "prevAttnOut is {}, prevSoftmaxMax {}: their heads differ", describe(x), describe(most));
  op.require_shape("prevSoftmaxMax", most, want, most.rank);
  op.require_same_shape("curAttnOut", now.out, "prevAttnOut", x);
  for (const auto& [name, v] : {std::pair{"prevSoftmaxSum", &before.sum}, std::pair{"curSoftmaxMax", &now.max},
                                std::pair{"curSoftmaxSum", &now.sum}})
    op.require_same_shape(name, *v, "prevSoftmaxMax", most);
  op.result_like("attnOut", *attnOut, x, x.dtype);
  op.result_like("softmaxMax", *softmaxMax, most, DType::Float);
  op.result_like("softmaxSum", *softmaxSum, most, DType::Float);
  if (x.empty()) return;
  op.work(x.numel() * 4 + most.numel() * 20);
  op.launch([s, before, now, to = Part{*attnOut, *softmaxMax, *softmaxSum}] { update(s, before, now, to); });
}

}  // namespace

SAMPLE(
    aclnnRingAttentionUpdateV2,
    "prevAttnOut=f32[M,2,12] prevSoftmaxMax=f32[2,3,M,8] prevSoftmaxSum=f32[2,3,M,8] curAttnOut=f32[M,2,12] "
    "curSoftmaxMax=f32[2,3,M,8] curSoftmaxSum=f32[2,3,M,8] actualSeqQlen=null inputLayout=SBH inputSoftmaxLayout=SBH "
    "attnOut=f32[M,2,12] softmaxMax=f32[2,3,M,8] softmaxSum=f32[2,3,M,8]")
ABOUT(aclnnRingAttentionUpdateV2, Vector,
      "Two parts of an attention as one: results weighted by their sums, and the new maxima and sums",
      "合并两段注意力：按各自指数和加权输出，并给出新的最大值与指数和")
ACLNN(aclnnRingAttentionUpdateV2, (In, prevAttnOut), (In, prevSoftmaxMax), (In, prevSoftmaxSum), (In, curAttnOut),
      (In, curSoftmaxMax), (In, curSoftmaxSum), (OptIn, actualSeqQlen), (Text, inputLayout), (Text, inputSoftmaxLayout),
      (Out, attnOut), (Out, softmaxMax), (Out, softmaxSum)) {
  (void)actualSeqQlen;  // where sequences end changes nothing: each token is brought together by itself
  plan_update(op, {*prevAttnOut, *prevSoftmaxMax, *prevSoftmaxSum}, {*curAttnOut, *curSoftmaxMax, *curSoftmaxSum},
              inputLayout, inputSoftmaxLayout, attnOut, softmaxMax, softmaxSum);
}
SAMPLE(aclnnRingAttentionUpdate,
       "prevAttnOut=f32[M,2,12] prevSoftmaxMax=f32[2,3,M,8] prevSoftmaxSum=f32[2,3,M,8] curAttnOut=f32[M,2,12] "
       "curSoftmaxMax=f32[2,3,M,8] curSoftmaxSum=f32[2,3,M,8] actualSeqQlen=null inputLayout=SBH "
       "attnOut=f32[M,2,12] softmaxMax=f32[2,3,M,8] softmaxSum=f32[2,3,M,8]")
ABOUT(aclnnRingAttentionUpdate, Vector, "As aclnnRingAttentionUpdateV2, maxima and sums being laid out as the results",
      "与 aclnnRingAttentionUpdateV2 相同，最大值与指数和的布局同输出")
ACLNN(aclnnRingAttentionUpdate, (In, prevAttnOut), (In, prevSoftmaxMax), (In, prevSoftmaxSum), (In, curAttnOut),
      (In, curSoftmaxMax), (In, curSoftmaxSum), (OptIn, actualSeqQlen), (Text, inputLayout), (Out, attnOut),
      (Out, softmaxMax), (Out, softmaxSum)) {
  (void)actualSeqQlen;
  plan_update(op, {*prevAttnOut, *prevSoftmaxMax, *prevSoftmaxSum}, {*curAttnOut, *curSoftmaxMax, *curSoftmaxSum},
              inputLayout, inputLayout, attnOut, softmaxMax, softmaxSum);
}

}  // namespace updraft
