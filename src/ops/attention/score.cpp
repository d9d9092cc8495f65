// The FlashAttention operators: the same computation under many signatures.
#include "kernels/pipeline.h"
#include "ops/attention/attention.h"

namespace updraft {
namespace {

using namespace attention;

std::string layout_of(const char* layout) {
  std::string text = layout ? layout : "";
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

/// The statistics are written 8 times each, contiguously.
float* stats_of(Op& op, const char* name, const TensorView& v, const Problem& p) {
  op.require(v.dtype == DType::Float && v.is_contiguous() && v.numel() == p.q.batches * p.q.heads * p.q.positions * 8,
             "{} is {}, want {} contiguous FLOAT elements", name, describe(v),
             p.q.batches * p.q.heads * p.q.positions * 8);
  return v.as<float>();
}

/// Inference. softmaxOut stays empty: nothing needs the whole softmax.
void suggest_results(Op& op, const Request& r, const Problem& p, const TensorView& max, const TensorView& sum,
                     const OptOut& softmax, const TensorView& out) {
  const bool tokens = layout_of(r.layout) == "TND";
  for (const TensorView* v : {&max, &sum}) {
    if (tokens) op.suggest(*v, {p.q.positions, p.q.heads, 8}, DType::Float);
    else op.suggest(*v, {p.q.batches, p.q.heads, p.q.positions, 8}, DType::Float);
  }
  if (softmax) op.suggest(*softmax, {0}, r.q->dtype);
  TensorView wide = *r.q;
  wide.dims[wide.rank - 1] = wide.dims[wide.rank - 1] / p.q.width * p.v.width;
  op.suggest_like(out, wide, r.q->dtype);
}

void plan_forward(Op& op, const Request& r, const TensorView& max, const TensorView& sum, const OptOut& softmax,
                  const TensorView& out) {
  Problem p = plan(op, r);
  if (op.inferring()) suggest_results(op, r, p, max, sum, softmax, out);
  Heads o = heads_of(op, "attentionOut", out, layout_of(r.layout), r.heads);
  op.require(o.batches == p.q.batches && o.heads == p.q.heads && o.positions == p.q.positions && o.width == p.v.width,
             "attentionOut is {}: it does not match query {} and value {}", describe(out), describe(*r.q),
             describe(*r.v));
  if (out.empty()) return;
  p.max = stats_of(op, "softmaxMax", max, p);
  p.sum = stats_of(op, "softmaxSum", sum, p);
  op.launch([p = std::move(p), o] { forward(p, o); });
}

struct GradRequest {
  const TensorView* dy;
  OptIn max, sum, out;
  const TensorView *dq, *dk, *dv;
  OptOut dpse{nullptr}, dsink{nullptr};
};

/// Inference: the gradient of an operand, or an empty tensor of q's type where there is no operand.
void suggest_optional(Op& op, const OptIn& operand, const TensorView& q, const OptOut& gradient) {
  if (!gradient) return;
  if (operand) op.suggest_like(*gradient, *operand, operand->dtype);
  else op.suggest(*gradient, {0}, q.dtype);
}

void plan_backward(Op& op, const Request& r, const GradRequest& w) {
  Problem p = plan(op, r);
  op.require(w.max && w.sum && w.out, "softmaxMax, softmaxSum and attentionIn must be given");
  const std::string layout = layout_of(r.layout);
  op.suggest_like(*w.dq, *r.q, r.q->dtype);
  op.suggest_like(*w.dk, *r.k, r.k->dtype);
  op.suggest_like(*w.dv, *r.v, r.v->dtype);
  suggest_optional(op, r.pse, *r.q, w.dpse);
  suggest_optional(op, r.sink, *r.q, w.dsink);
  Gradients g;
  g.grad_out = heads_of(op, "dy", *w.dy, layout, r.heads);
  g.out = heads_of(op, "attentionIn", *w.out, layout, r.heads);
  g.dq = heads_of(op, "dq", *w.dq, layout, r.heads);
  g.dk = heads_of(op, "dk", *w.dk, layout, p.k.heads);
  g.dv = heads_of(op, "dv", *w.dv, layout, p.k.heads);
  auto match = [&](const char* name, const Heads& a, const Heads& b, int64_t width) {
    op.require(a.batches == b.batches && a.heads == b.heads && a.positions == b.positions && a.width == width,
               "{} does not match the operand that it belongs to", name);
  };
  match("dy", g.grad_out, p.q, p.v.width);
  match("attentionIn", g.out, p.q, p.v.width);
  match("dq", g.dq, p.q, p.q.width);
  match("dk", g.dk, p.k, p.k.width);
  match("dv", g.dv, p.v, p.v.width);
  if (w.dq->empty() && w.dk->empty()) return;
  p.max = stats_of(op, "softmaxMax", *w.max, p);
  p.sum = stats_of(op, "softmaxSum", *w.sum, p);
  TensorView dpse, dsink;
  const bool wants_pse = p.pse && w.dpse && !w.dpse->empty(), wants_sink = p.sink && w.dsink && !w.dsink->empty();
  if (wants_pse) {
    dpse = *w.dpse;
    op.require(dpse.numel() == r.pse->numel() && dpse.is_contiguous(), "dpse is {}, want a contiguous {}",
               describe(dpse), describe(*r.pse));
  }
  if (wants_sink) {
    dsink = *w.dsink;
    op.require(dsink.numel() == p.q.heads, "dsink is {}, want {} elements", describe(dsink), p.q.heads);
  }
  op.work(4 * p.q.batches * p.q.heads * p.q.positions * p.q.width * 64);
  op.flops(2 * p.scores * (3 * p.q.width + 2 * p.v.width));  // scores, dv, dp, dq, dk
  op.launch([p = std::move(p), g, dpse, dsink, wants_pse, wants_sink]() mutable {
    // Sums of gradients are kept in f32.
    std::vector<float> pse_sum, sink_sum;
    if (wants_pse) {
      pse_sum.assign(static_cast<size_t>(dpse.numel()), 0.0f);
      g.dpse = p.pse;
      g.dpse.data = reinterpret_cast<char*>(pse_sum.data());
      g.dpse.dtype = DType::Float;
      int64_t stride = 1;
      for (int d = 3; d >= 0; --d) {
        g.dpse.strides[d] = g.dpse.dims[d] == 1 ? 0 : stride;
        stride *= g.dpse.dims[d];
      }
    }
    if (wants_sink) {
      sink_sum.assign(static_cast<size_t>(p.q.heads), 0.0f);
      g.dsink = sink_sum.data();
    }
    backward(p, g);
    if (wants_pse) copy_elements(dpse, TensorView::contiguous(pse_sum.data(), DType::Float, dpse.dims, dpse.rank));
    if (wants_sink) copy_elements(dsink, TensorView::contiguous(sink_sum.data(), DType::Float, dsink.dims, dsink.rank));
  });
}

}  // namespace

// The parameters that every form has, in their order.
#define FLASH_INPUTS (In, query), (In, key), (In, value)
#define FLASH_OPTIONS (OptIn, realShift), (OptIn, dropMask), (OptIn, paddingMask), (OptIn, attenMask)
#define FLASH_NUMBERS                                                                                                 \
  (Double, scaleValue), (Double, keepProb), (Int, preTokens), (Int, nextTokens), (Int, headNum), (Text, inputLayout), \
      (Int, innerPrecise), (Int, sparseMode)
#define FLASH_RESULTS (Out, softmaxMax), (Out, softmaxSum), (OptOut, softmaxOut), (Out, attentionOut)
#define FLASH_STATS (OptIn, softmaxMax), (OptIn, softmaxSum), (OptIn, softmaxIn), (OptIn, attentionIn)
#define FLASH_GRADS (Out, dq), (Out, dk), (Out, dv), (OptOut, dpse)
#define FLASH_STARTS (OptInts, qStartIdx), (OptInts, kvStartIdx)
#define FLASH_LENGTHS (OptInts, actualSeqQLen), (OptInts, actualSeqKvLen)
#define FLASH_REQUEST(sink_, q_lengths_, k_lengths_, pse_type_, softmax_layout_)                                   \
  (void)innerPrecise;                                                                                              \
  const Request request {                                                                                          \
    .q = &*query, .k = &*key, .v = &*value, .pse = realShift, .keep = dropMask, .padding = paddingMask,            \
    .mask = attenMask, .sink = sink_, .prefix = prefix, .q_lengths = q_lengths_, .k_lengths = k_lengths_,          \
    .scale = scaleValue, .keep_probability = keepProb, .before = preTokens, .after = nextTokens, .heads = headNum, \
    .layout = inputLayout, .sparse_mode = sparseMode, .pse_type = pse_type_, .softmax_layout = softmax_layout_     \
  }
#define FLASH_FORWARD plan_forward(op, request, *softmaxMax, *softmaxSum, softmaxOut, *attentionOut)
#define FLASH_BACKWARD(dsink_)       \
  plan_backward(op, request,         \
                {.dy = &*dy,         \
                 .max = softmaxMax,  \
                 .sum = softmaxSum,  \
                 .out = attentionIn, \
                 .dq = &*dq,         \
                 .dk = &*dk,         \
                 .dv = &*dv,         \
                 .dpse = dpse,       \
                 .dsink = dsink_})

ABOUT(aclnnFlashAttentionScore, MixCube,
      "softmax(scaleValue * (query @ key^T + realShift), masked) @ value in tiles, with dropout",
      "分块计算 softmax(scaleValue * (query @ key^T + realShift)，带掩码) @ value，支持 dropout")
ACLNN(aclnnFlashAttentionScore, FLASH_INPUTS, FLASH_OPTIONS, (OptInts, prefix), FLASH_NUMBERS, FLASH_RESULTS) {
  FLASH_REQUEST(OptIn{nullptr}, OptInts{nullptr}, OptInts{nullptr}, 1, "");
  FLASH_FORWARD;
}
ABOUT(aclnnFlashAttentionScoreV2, MixCube,
      "As aclnnFlashAttentionScore, with pseType: 0 adds realShift after scaling, 1 before",
      "与 aclnnFlashAttentionScore 相同，增加 pseType：0 在缩放后、1 在缩放前加 realShift")
ACLNN(aclnnFlashAttentionScoreV2, FLASH_INPUTS, FLASH_OPTIONS, (OptInts, prefix), FLASH_STARTS, FLASH_NUMBERS,
      (Int, pseType), FLASH_RESULTS) {
  (void)qStartIdx, (void)kvStartIdx;
  FLASH_REQUEST(OptIn{nullptr}, OptInts{nullptr}, OptInts{nullptr}, pseType, "");
  FLASH_FORWARD;
}
ABOUT(aclnnFlashAttentionScoreV3, MixCube, "As aclnnFlashAttentionScoreV2, with a sink score for each head",
      "与 aclnnFlashAttentionScoreV2 相同，增加每个头的 sink")
ACLNN(aclnnFlashAttentionScoreV3, FLASH_INPUTS, FLASH_OPTIONS, (OptIn, sink), (OptInts, prefix), FLASH_STARTS,
      FLASH_NUMBERS, (Int, pseType), FLASH_RESULTS) {
  (void)qStartIdx, (void)kvStartIdx;
  FLASH_REQUEST(sink, OptInts{nullptr}, OptInts{nullptr}, pseType, "");
  FLASH_FORWARD;
}
ABOUT(aclnnFlashAttentionVarLenScore, MixCube,
      "Attention over packed sequences whose ends actualSeqQLen and actualSeqKvLen give",
      "变长序列注意力，各序列结束位置由 actualSeqQLen 与 actualSeqKvLen 给出")
ACLNN(aclnnFlashAttentionVarLenScore, FLASH_INPUTS, FLASH_OPTIONS, (OptInts, prefix), FLASH_LENGTHS, FLASH_NUMBERS,
      FLASH_RESULTS) {
  FLASH_REQUEST(OptIn{nullptr}, actualSeqQLen, actualSeqKvLen, 1, "");
  FLASH_FORWARD;
}
ABOUT(aclnnFlashAttentionVarLenScoreV2, MixCube, "As aclnnFlashAttentionVarLenScore, with pseType",
      "与 aclnnFlashAttentionVarLenScore 相同，增加 pseType")
ACLNN(aclnnFlashAttentionVarLenScoreV2, FLASH_INPUTS, FLASH_OPTIONS, (OptInts, prefix), FLASH_LENGTHS, FLASH_STARTS,
      FLASH_NUMBERS, (Int, pseType), FLASH_RESULTS) {
  (void)qStartIdx, (void)kvStartIdx;
  FLASH_REQUEST(OptIn{nullptr}, actualSeqQLen, actualSeqKvLen, pseType, "");
  FLASH_FORWARD;
}
ABOUT(aclnnFlashAttentionVarLenScoreV4, MixCube,
      "As aclnnFlashAttentionVarLenScore, with the layout of the softmax statistics",
      "与 aclnnFlashAttentionVarLenScore 相同，增加 softmax 统计量的布局")
ACLNN(aclnnFlashAttentionVarLenScoreV4, FLASH_INPUTS, FLASH_OPTIONS, (OptInts, prefix), FLASH_LENGTHS, FLASH_NUMBERS,
      (Text, softmaxLayout), FLASH_RESULTS) {
  FLASH_REQUEST(OptIn{nullptr}, actualSeqQLen, actualSeqKvLen, 1, softmaxLayout);
  FLASH_FORWARD;
}
ABOUT(aclnnFlashAttentionVarLenScoreV5, MixCube,
      "As aclnnFlashAttentionVarLenScoreV4, with pseType and sink (rope inputs must be null)",
      "与 aclnnFlashAttentionVarLenScoreV4 相同，增加 pseType 与 sink（rope 输入须为空）")
ACLNN(aclnnFlashAttentionVarLenScoreV5, (In, query), (OptIn, queryRope), (In, key), (OptIn, keyRope), (In, value),
      FLASH_OPTIONS, (OptIn, sink), (OptInts, prefix), FLASH_LENGTHS, FLASH_STARTS, FLASH_NUMBERS, (Int, pseType),
      (Text, softmaxLayout), FLASH_RESULTS) {
  (void)qStartIdx, (void)kvStartIdx;
  op.require(!queryRope && !keyRope, "queryRope and keyRope are not supported");
  FLASH_REQUEST(sink, actualSeqQLen, actualSeqKvLen, pseType, softmaxLayout);
  FLASH_FORWARD;
}

ABOUT(aclnnFlashAttentionScoreGrad, MixCube,
      "Gradients of aclnnFlashAttentionScore for query, key, value and realShift; scores are made again",
      "aclnnFlashAttentionScore 对 query、key、value、realShift 的反向梯度，分数重新计算")
ACLNN(aclnnFlashAttentionScoreGrad, FLASH_INPUTS, (In, dy), FLASH_OPTIONS, FLASH_STATS, (OptInts, prefix),
      FLASH_NUMBERS, FLASH_GRADS) {
  (void)softmaxIn;
  FLASH_REQUEST(OptIn{nullptr}, OptInts{nullptr}, OptInts{nullptr}, 1, "");
  FLASH_BACKWARD(OptOut{nullptr});
}
ABOUT(aclnnFlashAttentionScoreGradV2, MixCube, "Gradients of aclnnFlashAttentionScoreV2",
      "aclnnFlashAttentionScoreV2 的反向梯度")
ACLNN(aclnnFlashAttentionScoreGradV2, FLASH_INPUTS, (In, dy), FLASH_OPTIONS, FLASH_STATS, (OptInts, prefix),
      FLASH_STARTS, FLASH_NUMBERS, (Int, pseType), FLASH_GRADS) {
  (void)softmaxIn, (void)qStartIdx, (void)kvStartIdx;
  FLASH_REQUEST(OptIn{nullptr}, OptInts{nullptr}, OptInts{nullptr}, pseType, "");
  FLASH_BACKWARD(OptOut{nullptr});
}
ABOUT(aclnnFlashAttentionScoreGradV3, MixCube, "Gradients of aclnnFlashAttentionScoreV3, with that of sink",
      "aclnnFlashAttentionScoreV3 的反向梯度，含 sink 的梯度")
ACLNN(aclnnFlashAttentionScoreGradV3, FLASH_INPUTS, (In, dy), FLASH_OPTIONS, FLASH_STATS, (OptIn, sink),
      (OptInts, prefix), FLASH_STARTS, FLASH_NUMBERS, (Int, pseType), FLASH_GRADS, (OptOut, dsink)) {
  (void)softmaxIn, (void)qStartIdx, (void)kvStartIdx;
  FLASH_REQUEST(sink, OptInts{nullptr}, OptInts{nullptr}, pseType, "");
  FLASH_BACKWARD(dsink);
}
ABOUT(aclnnFlashAttentionUnpaddingScoreGrad, MixCube, "Gradients of aclnnFlashAttentionVarLenScore",
      "aclnnFlashAttentionVarLenScore 的反向梯度")
ACLNN(aclnnFlashAttentionUnpaddingScoreGrad, FLASH_INPUTS, (In, dy), FLASH_OPTIONS, FLASH_STATS, (OptInts, prefix),
      FLASH_LENGTHS, FLASH_NUMBERS, FLASH_GRADS) {
  (void)softmaxIn;
  FLASH_REQUEST(OptIn{nullptr}, actualSeqQLen, actualSeqKvLen, 1, "");
  FLASH_BACKWARD(OptOut{nullptr});
}
ABOUT(aclnnFlashAttentionUnpaddingScoreGradV2, MixCube, "Gradients of aclnnFlashAttentionVarLenScoreV2",
      "aclnnFlashAttentionVarLenScoreV2 的反向梯度")
ACLNN(aclnnFlashAttentionUnpaddingScoreGradV2, FLASH_INPUTS, (In, dy), FLASH_OPTIONS, FLASH_STATS, (OptInts, prefix),
      FLASH_LENGTHS, FLASH_STARTS, FLASH_NUMBERS, (Int, pseType), FLASH_GRADS) {
  (void)softmaxIn, (void)qStartIdx, (void)kvStartIdx;
  FLASH_REQUEST(OptIn{nullptr}, actualSeqQLen, actualSeqKvLen, pseType, "");
  FLASH_BACKWARD(OptOut{nullptr});
}
ABOUT(aclnnFlashAttentionUnpaddingScoreGradV4, MixCube, "Gradients of aclnnFlashAttentionVarLenScoreV4",
      "aclnnFlashAttentionVarLenScoreV4 的反向梯度")
ACLNN(aclnnFlashAttentionUnpaddingScoreGradV4, FLASH_INPUTS, (In, dy), FLASH_OPTIONS, FLASH_STATS, (OptInts, prefix),
      FLASH_LENGTHS, FLASH_NUMBERS, FLASH_GRADS, (Text, softmaxLayout)) {
  (void)softmaxIn;
  FLASH_REQUEST(OptIn{nullptr}, actualSeqQLen, actualSeqKvLen, 1, softmaxLayout);
  FLASH_BACKWARD(OptOut{nullptr});
}
ABOUT(aclnnFlashAttentionUnpaddingScoreGradV5, MixCube,
      "Gradients of aclnnFlashAttentionVarLenScoreV5, with that of sink",
      "aclnnFlashAttentionVarLenScoreV5 的反向梯度，含 sink 的梯度")
ACLNN(aclnnFlashAttentionUnpaddingScoreGradV5, (In, query), (OptIn, queryRope), (In, key), (OptIn, keyRope),
      (In, value), (In, dy), FLASH_OPTIONS, FLASH_STATS, (OptIn, sink), (OptInts, prefix), FLASH_LENGTHS, FLASH_STARTS,
      FLASH_NUMBERS, (Int, pseType), (Text, softmaxLayout), (Out, dq), (OptOut, dqRope), (Out, dk), (OptOut, dkRope),
      (Out, dv), (OptOut, dpse), (OptOut, dsink)) {
  (void)softmaxIn, (void)qStartIdx, (void)kvStartIdx;
  for (const OptOut* rope : {&dqRope, &dkRope}) suggest_optional(op, OptIn{nullptr}, *query, *rope);
  op.require(!queryRope && !keyRope, "queryRope and keyRope are not supported");
  FLASH_REQUEST(sink, actualSeqQLen, actualSeqKvLen, pseType, softmaxLayout);
  FLASH_BACKWARD(dsink);
}

}  // namespace updraft
