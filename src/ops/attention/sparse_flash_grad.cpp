// Gradients of attention to keys that an index names. What the softmax was divided by is given: ranks that have a part
// of the keys each give that of all. Facts: op-plugin's call, and MindSpeed's and xtuner's use of it.
#include <cmath>

#include "kernels/matmul/matmul.h"
#include "kernels/pipeline.h"
#include "ops/attention/sparse_flash.h"
#include "tensor/view_algebra.h"

namespace updraft {
namespace {

using namespace sparse_flash;

struct Gradients {
  TensorView grad, out, most, sum;                     ///< given
  TensorView query, key, value, query_rope, key_rope;  ///< made; the last two may be absent
};

/// A gradient of rows in FLOAT whose second part goes elsewhere: [rows, size + rope].
void write_parts(const std::vector<float>& of, int64_t size, int64_t rope, const TensorView& first,
                 const TensorView& second) {
  const int64_t width = size + rope, dims[] = {static_cast<int64_t>(of.size()) / std::max<int64_t>(1, width), width};
  const TensorView all = TensorView::contiguous(const_cast<float*>(of.data()), DType::Float, dims, 2);
  const auto write = [&](const TensorView& to, int64_t begin, int64_t n) {
    std::vector<float> part(static_cast<size_t>(dims[0] * n));
    const int64_t part_dims[] = {dims[0], n};
    copy_elements(TensorView::contiguous(part.data(), DType::Float, part_dims, 2), narrow(all, 1, begin, n));
    write_all(to, part);
  };
  if (!first.empty()) write(first, 0, size);
  if (rope && given(second) && !second.empty()) write(second, size, rope);
}

/// rows[i] of `to` += row i of `part`.
void add_rows(std::vector<float>& to, const std::vector<float>& part, const std::vector<int64_t>& rows, int64_t width) {
  for (size_t i = 0; i < rows.size(); ++i) {
    float* const sum = to.data() + rows[i] * width;
    const float* const from = part.data() + static_cast<int64_t>(i) * width;
    for (int64_t c = 0; c < width; ++c) sum[c] += from[c];
  }
}

void run(const Problem& p, const Gradients& g) {
  const int64_t heads = p.heads(), d = p.size(), dr = p.rope(), width = d + dr, dv = row_length(p.value);
  const int64_t keys = p.key.numel() / d;
  const std::vector<float> grad = floats_of(g.grad), out = floats_of(g.out), most = floats_of(g.most),
                           sum = floats_of(g.sum);
  std::vector<float> dq(static_cast<size_t>(p.rows() * heads * width)), dk(static_cast<size_t>(keys * width)),
      dv_all(static_cast<size_t>(keys * dv)), scores, slopes, part;
  Reader in(p);
  for (int64_t b = 0; b < p.tokens.batches; ++b) {
    for (int64_t i = 0; i < in.at.query_count(b); ++i) {
      if (!in.read(b, i)) continue;
      const auto n = static_cast<int64_t>(in.key_rows.size());
      scores.resize(static_cast<size_t>(heads * n)), slopes.resize(static_cast<size_t>(heads * n));
      const int64_t s_dims[] = {heads, n}, o_dims[] = {heads, dv}, q_dims[] = {heads, width}, k_dims[] = {n, width},
                    v_dims[] = {n, dv};
      const TensorView share = TensorView::contiguous(scores.data(), DType::Float, s_dims, 2);
      const TensorView slope = TensorView::contiguous(slopes.data(), DType::Float, s_dims, 2);
      const TensorView of =
          TensorView::contiguous(const_cast<float*>(grad.data()) + in.row * heads * dv, DType::Float, o_dims, 2);
      MatmulOptions scaled;
      scaled.alpha = static_cast<double>(p.scale);
      matmul(in.q, turned(in.k), share, scaled);
      matmul(of, turned(in.v), slope);
      for (int64_t h = 0; h < heads; ++h) {
        const auto at = static_cast<size_t>(in.row * heads + h);
        double along = 0;  // of the gradient along the result
        for (int64_t c = 0; c < dv; ++c)
          along += static_cast<double>(grad[at * static_cast<size_t>(dv) + static_cast<size_t>(c)]) *
                   static_cast<double>(out[at * static_cast<size_t>(dv) + static_cast<size_t>(c)]);
        float *const s = scores.data() + h * n, *const t = slopes.data() + h * n;
        for (int64_t j = 0; j < n; ++j) {
          s[j] = std::exp(s[j] - most[at]) / sum[at];
          t[j] = s[j] * (t[j] - static_cast<float>(along)) * p.scale;
        }
      }
      matmul(slope, in.k, TensorView::contiguous(dq.data() + in.row * heads * width, DType::Float, q_dims, 2));
      part.resize(static_cast<size_t>(n * width));
      matmul(turned(slope), in.q, TensorView::contiguous(part.data(), DType::Float, k_dims, 2));
      add_rows(dk, part, in.key_rows, width);
      part.resize(static_cast<size_t>(n * dv));
      matmul(turned(share), of, TensorView::contiguous(part.data(), DType::Float, v_dims, 2));
      add_rows(dv_all, part, in.key_rows, dv);
    }
  }
  write_parts(dq, d, dr, g.query, g.query_rope);
  write_parts(dk, d, dr, g.key, g.key_rope);
  write_all(g.value, dv_all);
}

}  // namespace

SAMPLE(aclnnSparseFlashAttentionGrad,
       "query=f16[2,3,4,M] key=f16[2,5,1,M] value=f16[2,5,1,M] sparseIndices=i32[2,3,1,2]:0..3 dOut=f16[2,3,4,M] "
       "out=f16[2,3,4,M] softmaxMax=f32[2,1,3,4]:5..6 softmaxSum=f32[2,1,3,4]:1..2 actualSeqQLenOptional=null "
       "actualSeqKvLenOptional=null queryRopeOptional=null keyRopeOptional=null scaleValue=0.5 sparseBlockSize=1 "
       "layout=BSND sparseMode=0 preTokens=9223372036854775807 nextTokens=9223372036854775807 deterministic=true "
       "dQuery=f16[2,3,4,M] dKey=f16[2,5,1,M] dValue=f16[2,5,1,M] dQueryRope=null dKeyRope=null")
ABOUT(aclnnSparseFlashAttentionGrad, MixCube, "Gradients of aclnnSparseFlashAttention for query, key, value and ropes",
      "aclnnSparseFlashAttention 对 query、key、value 及 rope 的梯度")
ACLNN(aclnnSparseFlashAttentionGrad, (In, query), (In, key), (OptIn, value), (In, sparseIndices), (In, dOut), (In, out),
      (In, softmaxMax), (In, softmaxSum), (OptIn, actualSeqQLenOptional), (OptIn, actualSeqKvLenOptional),
      (OptIn, queryRopeOptional), (OptIn, keyRopeOptional), (Double, scaleValue), (Int, sparseBlockSize),
      (Text, layout), (Int, sparseMode), (Int, preTokens), (Int, nextTokens), (Bool, deterministic), (Out, dQuery),
      (Out, dKey), (Out, dValue), (OptOut, dQueryRope), (OptOut, dKeyRope)) {
  (void)deterministic;  // it always is
  const Layout both = layout_of(op, "layout", layout, false);
  const Tokens tokens(op, both, both, *query, *key, actualSeqQLenOptional, actualSeqKvLenOptional, {});
  const Problem p = checked(op,
                            {query, key, value, sparseIndices, queryRopeOptional, keyRopeOptional, scaleValue,
                             sparseBlockSize, sparseMode, preTokens, nextTokens},
                            tokens);
  op.require_same_shape("d_out", *dOut, "query", *query);
  op.require_same_shape("out", *out, "query", *query);
  for (const auto& [name, v] : {std::pair("softmax_max", *softmaxMax), {"softmax_sum", *softmaxSum}})
    op.require(v.numel() == p.rows() * p.heads() && v.dtype == DType::Float, "{} is {}, want {} FLOAT values", name,
               describe(v), p.rows() * p.heads());
  op.result_like("d_query", *dQuery, *query, query->dtype);
  op.result_like("d_key", *dKey, *key, key->dtype);
  op.result_like("d_value", *dValue, p.value, p.value.dtype);
  Gradients g{*dOut, *out, *softmaxMax, *softmaxSum, *dQuery, *dKey, *dValue, {}, {}};
  if (p.rope()) {
    op.require(dQueryRope && dKeyRope, "d_query_rope or d_key_rope is null, which query_rope needs");
    op.result_like("d_query_rope", *dQueryRope, p.query_rope, query->dtype);
    op.result_like("d_key_rope", *dKeyRope, p.key_rope, key->dtype);
    g.query_rope = *dQueryRope, g.key_rope = *dKeyRope;
  }
  const int64_t keys = row_length(*sparseIndices) * sparseBlockSize;
  op.flops(2 * query->numel() * keys * 5);
  op.work(query->numel() * keys);
  op.launch([p, g] {
    if (!p.query.empty()) return run(p, g);
    for (const TensorView* v : {&g.query, &g.key, &g.value, &g.query_rope, &g.key_rope})
      if (given(*v)) fill_zero(*v);
  });
}

}  // namespace updraft
