// Attention with its projections: heads lie side by side in the rows of query, key and value, [batch * length, heads *
// size].
#include <cmath>

#include "ops/ir/random/seeds.h"
#include "ops/ir/shapes.h"

namespace updraft {
namespace {

using ir::Dims;

struct Sizes {
  int64_t batch, heads, size, source, target;
  int64_t width() const { return heads * size; }
  Dims scores() const { return {batch, heads, target, source}; }
  /// Rows of that length as [batch, heads, length, size].
  TensorView by_head(Op& op, const TensorView& rows, int64_t length) const {
    return permute(ir::reshaped(op, rows, {batch, length, heads, size}), {0, 2, 1, 3});
  }
};

Sizes sizes_of(const Op& op, const In& query, const In& key, const In& value, int64_t heads, int64_t size,
               int64_t source, int64_t target) {
  op.require(heads > 0 && size > 0 && source > 0 && target > 0,
             "attn_head_num is {}, attn_dim_per_head {}, src_len {} and tgt_len {}, want more than 0", heads, size,
             source, target);
  op.require(query->rank == 2 && query->dims[0] % target == 0 && query->dims[1] == heads * size,
             "query is {}, want [batch * {}, {}]", describe(*query), target, heads * size);
  const Sizes s{query->dims[0] / target, heads, size, source, target};
  const int64_t want[] = {s.batch * source, s.width()};
  op.require_shape("key", *key, want, 2);
  op.require_shape("value", *value, want, 2);
  return s;
}

void check_keep(const Op& op, float keep) {
  op.require(keep > 0 && keep <= 1, "keep_prob is {}, want more than 0, at most 1", keep);
}

/// out = x @ w^T + bias
void project(Op& op, const TensorView& x, const In& w, const OptIn& bias, const StepArgument& out) {
  const TensorView across = w->transpose(0, 1);
  if (bias) call(op, "aclnnAddmm", bias, x, across, 1, 1, out, 0);
  else call(op, "aclnnMatmul", x, across, out, 0);
}

}  // namespace

ABOUT(MultiHeadAttention, MixCube,
      "Attention of projected query, key and value with dropout, projected, and what its gradient needs",
      "带投影与 dropout 的多头注意力，并给出反向所需中间结果")
IR_OP(MultiHeadAttention, MultiHeadAttention, (In, query), (In, key), (In, value), (In, query_weight), (In, key_weight),
      (In, value_weight), (In, attn_mask), (In, out_proj_weight), (OptIn, query_bias), (OptIn, key_bias),
      (OptIn, value_bias), (OptIn, out_proj_bias), (OptIn, dropout_mask_input), (Out, y), (Out, dropout_mask),
      (Out, query_res), (Out, key_res), (Out, value_res), (Out, attn_scores), (Out, attn_res), (Out, context),
      (Int, attn_head_num), (Int, attn_dim_per_head), (Int, src_len), (Int, tgt_len), (Float, keep_prob),
      (Bool, softmax_use_float)) {
  const Sizes s = sizes_of(op, query, key, value, attn_head_num, attn_dim_per_head, src_len, tgt_len);
  check_keep(op, keep_prob);
  const DType type = query->dtype;
  const int64_t scores = ir::count_of(s.scores());
  ir::result(op, "y", *y, {query->dims[0], s.width()}, type);
  ir::result(op, "dropout_mask", *dropout_mask, {scores / 8}, DType::UInt8);
  ir::result(op, "query_res", *query_res, {s.batch, s.heads, s.target, s.size}, type);
  ir::result(op, "key_res", *key_res, {s.batch, s.heads, s.source, s.size}, type);
  ir::result(op, "value_res", *value_res, {s.batch, s.heads, s.source, s.size}, type);
  ir::result(op, "attn_scores", *attn_scores, s.scores(), softmax_use_float ? DType::Float : type);
  ir::result(op, "attn_res", *attn_res, s.scores(), type);
  ir::result(op, "context", *context, {query->dims[0], s.width()}, type);
  op.require(scores % 128 == 0, "there are {} scores, want a multiple of 128: masks of dropout have so many bits",
             scores);

  Temp q, scaled, k, v;
  project(op, *query, query_weight, query_bias, q);
  call(op, "aclnnMuls", *q, 1 / std::sqrt(static_cast<double>(s.size)), scaled);
  call(op, "aclnnInplaceCopy", query_res, s.by_head(op, *scaled, s.target));
  project(op, *key, key_weight, key_bias, k);
  call(op, "aclnnInplaceCopy", key_res, s.by_head(op, *k, s.source));
  project(op, *value, value_weight, value_bias, v);
  call(op, "aclnnInplaceCopy", value_res, s.by_head(op, *v, s.source));

  Temp products, masked, wide(DType::Float), kept(type);
  call(op, "aclnnMatmul", query_res, key_res->transpose(2, 3), products, 0);
  call(op, "aclnnAdd", *products, attn_mask, 1, masked);
  if (softmax_use_float) {
    call(op, "aclnnCast", *masked, DType::Float, wide);
    call(op, "aclnnSoftmax", *wide, -1, attn_scores);
  } else {
    call(op, "aclnnSoftmax", *masked, -1, attn_scores);
  }
  call(op, "aclnnCast", attn_scores, type, kept);
  const double drop = 1 - static_cast<double>(keep_prob);
  if (dropout_mask_input) call(op, "aclnnInplaceCopy", dropout_mask, dropout_mask_input);
  else call(op, "aclnnDropoutGenMask", s.scores(), drop, ir::fresh_seed(), 0, dropout_mask);
  call(op, "aclnnDropoutDoMask", *kept, dropout_mask, drop, attn_res);

  Temp by_head;
  call(op, "aclnnMatmul", attn_res, value_res, by_head, 0);
  call(op, "aclnnInplaceCopy", s.by_head(op, *context, s.target), *by_head);
  project(op, *context, out_proj_weight, out_proj_bias, y);
}

namespace {
/// Of one projection: its weight, its bias, and what went into it. `rows` is the gradient of what came out.
void project_back(Op& op, const TensorView& rows, const In& x, const In& w, const Out& w_grad, const Out& x_grad,
                  const Out& bias_grad, bool biased) {
  call(op, "aclnnMatmul", rows.transpose(0, 1), x, w_grad, 0);
  call(op, "aclnnMatmul", rows, w, x_grad, 0);
  if (biased) call(op, "aclnnReduceSum", rows, Dims{0}, true, x->dtype, bias_grad);
}
}  // namespace

ABOUT(MultiHeadAttentionGrad, MixCube, "Gradients of MultiHeadAttention for weights, operands and biases",
      "MultiHeadAttention 对权重、输入与偏置的反向梯度")
IR_OP(MultiHeadAttentionGrad, MultiHeadAttentionGrad, (In, query), (In, key), (In, value), (In, query_weight),
      (In, key_weight), (In, value_weight), (In, out_proj_weight), (In, query_res), (In, key_res), (In, value_res),
      (In, attn_scores), (In, attn_res), (In, context), (In, y_grad), (OptIn, dropout_mask), (Out, query_weight_grad),
      (Out, key_weight_grad), (Out, value_weight_grad), (Out, out_proj_weight_grad), (Out, query_grad), (Out, key_grad),
      (Out, value_grad), (Out, query_bias_grad), (Out, key_bias_grad), (Out, value_bias_grad),
      (Out, out_proj_bias_grad), (Int, attn_head_num), (Int, attn_dim_per_head), (Int, src_len), (Int, tgt_len),
      (Float, keep_prob), (Bool, softmax_use_float), (Ints, bias_grad_mask)) {
  const Sizes s = sizes_of(op, query, key, value, attn_head_num, attn_dim_per_head, src_len, tgt_len);
  check_keep(op, keep_prob);
  op.require(bias_grad_mask.size() == 4, "bias_grad_mask has {} values, want 4", bias_grad_mask.size());
  op.require(dropout_mask || keep_prob == 1, "dropout_mask is absent and keep_prob {}", keep_prob);
  const DType type = query->dtype;
  const int64_t width = s.width();
  for (const auto& [name, out] : {std::pair{"query_weight_grad", &query_weight_grad},
                                  {"key_weight_grad", &key_weight_grad},
                                  {"value_weight_grad", &value_weight_grad},
                                  {"out_proj_weight_grad", &out_proj_weight_grad}})
    ir::result(op, name, **out, {width, width}, type);
  for (const auto& [name, out] : {std::pair{"query_bias_grad", &query_bias_grad},
                                  {"key_bias_grad", &key_bias_grad},
                                  {"value_bias_grad", &value_bias_grad},
                                  {"out_proj_bias_grad", &out_proj_bias_grad}})
    ir::result(op, name, **out, {1, width}, type);
  ir::result(op, "query_grad", *query_grad, {query->dims[0], width}, type);
  ir::result(op, "key_grad", *key_grad, {key->dims[0], width}, type);
  ir::result(op, "value_grad", *value_grad, {value->dims[0], width}, type);

  Temp context_rows, of_kept, of_value, of_scores, wide(DType::Float), wide_grad(DType::Float), of_products(type);
  call(op, "aclnnMatmul", y_grad, out_proj_weight, context_rows, 0);
  call(op, "aclnnMatmul", y_grad->transpose(0, 1), context, out_proj_weight_grad, 0);
  if (bias_grad_mask[3]) call(op, "aclnnReduceSum", y_grad, Dims{0}, true, type, out_proj_bias_grad);
  const TensorView by_head = s.by_head(op, *context_rows, s.target);
  call(op, "aclnnMatmul", by_head, value_res->transpose(2, 3), of_kept, 0);
  call(op, "aclnnMatmul", attn_res->transpose(2, 3), by_head, of_value, 0);
  if (dropout_mask)
    call(op, "aclnnDropoutDoMask", *of_kept, dropout_mask, 1 - static_cast<double>(keep_prob), of_scores);
  else of_scores = of_kept;
  if (softmax_use_float) {
    call(op, "aclnnCast", *of_scores, DType::Float, wide);
    call(op, "aclnnSoftmaxBackward", *wide, attn_scores, -1, wide_grad);
    call(op, "aclnnCast", *wide_grad, type, of_products);
  } else {
    call(op, "aclnnSoftmaxBackward", *of_scores, attn_scores, -1, of_products);
  }

  // Heads side by side again.
  auto rows_of = [&](const TensorView& v, int64_t length) {
    const TensorView rows = ir::temporary(op, type, {s.batch * length, width});
    call(op, "aclnnInplaceCopy", s.by_head(op, rows, length), v);
    return rows;
  };
  Temp of_scaled, of_query, of_key;
  call(op, "aclnnMatmul", *of_products, key_res, of_scaled, 0);
  call(op, "aclnnMuls", *of_scaled, 1 / std::sqrt(static_cast<double>(s.size)), of_query);
  call(op, "aclnnMatmul", of_products->transpose(2, 3), query_res, of_key, 0);
  project_back(op, rows_of(*of_query, s.target), query, query_weight, query_weight_grad, query_grad, query_bias_grad,
               bias_grad_mask[0] != 0);
  project_back(op, rows_of(*of_key, s.source), key, key_weight, key_weight_grad, key_grad, key_bias_grad,
               bias_grad_mask[1] != 0);
  project_back(op, rows_of(*of_value, s.source), value, value_weight, value_weight_grad, value_grad, value_bias_grad,
               bias_grad_mask[2] != 0);
  for (const auto& [at, out] :
       {std::pair{0, &query_bias_grad}, {1, &key_bias_grad}, {2, &value_bias_grad}, {3, &out_proj_bias_grad}})
    if (!bias_grad_mask[static_cast<size_t>(at)]) call(op, "aclnnInplaceZero", *out);
}

}  // namespace updraft
