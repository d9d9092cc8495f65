// The parts of a layer of attention as torch_npu has them fused: normalisation with the three products, scores of
// heads, and their gradients. Matrices of tokens are [batch * length, heads * size]; heads are [batch, heads, length,
// size].
#include "ops/ir/elementwise/arithmetic.h"
#include "ops/ir/shapes.h"

namespace updraft {
namespace {

using ir::Dims;

constexpr int kKeepType = 0;

/// Heads as rows of tokens: a view with the dimensions [batch, length, heads, size].
TensorView by_tokens(const TensorView& heads) { return heads.transpose(1, 2); }

struct Heads {
  int64_t batch, count, length, size;
  Heads(const Op& op, const char* name, const TensorView& v) {
    op.require(v.rank == 4, "{} is {}, want [batch, heads, length, size]", name, describe(v));
    batch = v.dims[0], count = v.dims[1], length = v.dims[2], size = v.dims[3];
  }
  Dims rows() const { return {batch * length, count * size}; }
  Dims tokens() const { return {batch, length, count, size}; }
};

/// tokens @ kernel + bias into an output of heads, or of tokens again.
void project(Op& op, const char* name, const TensorView& x, const In& kernel, const OptIn& bias, const Out& out) {
  op.require(kernel->rank == 2 && kernel->dims[0] == x.dims[1], "the kernel of {} is {}, want a matrix of {} rows",
             name, describe(*kernel), x.dims[1]);
  const int64_t rows = x.dims[0], columns = kernel->dims[1];
  ir::suggest(op, *out, {rows, columns}, x.dtype);
  Dims split;
  if (!op.inferring() && out->rank == 4) split = Heads(op, name, *out).tokens();
  op.require(op.inferring() || (out->rank == 2 && out->dims[0] == rows && out->dims[1] == columns) ||
                 (out->rank == 4 && split[0] * split[1] == rows && split[2] * split[3] == columns),
             "{} is {}, want {} tokens of {} numbers as rows or as heads", name, describe(*out), rows, columns);
  Temp made(x.dtype);
  if (bias) call(op, "aclnnAddmm", bias, x, kernel, 1, 1, made, kKeepType);
  else call(op, "aclnnMatmul", x, kernel, made, kKeepType);
  if (op.inferring()) return;
  if (split.empty()) call(op, "aclnnInplaceCopy", out, *made);
  else call(op, "aclnnInplaceCopy", by_tokens(*out), ir::reshaped(op, *made, split));
}

/// The product, times the mask of bytes where there is one.
TensorView dropped(Op& op, const TensorView& x, const OptIn& mask, float keep) {
  if (!mask) return x;
  op.require(keep >= 0 && keep <= 1, "attribute keep_prob is {}, want 0 to 1", keep);
  const TensorView to = ir::temporary(op, x.dtype, ir::dims_of(x));
  call(op, "DropOutDoMaskV3D", x, mask, to, keep);
  return to;
}

void require_plain(const Op& op, std::initializer_list<std::pair<const char*, bool>> attributes) {
  for (const auto& [name, value] : attributes) ir::want(op, name, value, false);
}

}  // namespace

ABOUT(AttentionLnQKV, MixCube, "norm = layer norm of x; query, key and value are products of norm with their kernels",
      "norm 为 x 的层归一化；query、key、value 为 norm 与各自 kernel 的乘积")
IR_OP(AttentionLnQKV, AttentionLnQKV, (In, x), (In, kernel_query), (In, kernel_key), (In, kernel_value), (In, gamma),
      (In, beta), (OptIn, bias_query), (OptIn, bias_key), (OptIn, bias_value), (Out, norm), (Out, query_output),
      (Out, key_output), (Out, value_output), (Out, mean), (Out, variance), (Float, epsilon, 0.0000001f),
      (Bool, trans_a, false), (Bool, trans_b, false)) {
  require_plain(op, {{"trans_a", trans_a}, {"trans_b", trans_b}});
  op.require(x->rank == 2, "x is {}, want rows of tokens", describe(*x));
  op.result_like("norm", *norm, *x, x->dtype);
  op.result("mean", *mean, {x->dims[0]}, x->dtype);
  op.result("variance", *variance, {x->dims[0]}, x->dtype);
  call(op, "aclnnLayerNorm", x, Dims{x->dims[1]}, gamma, beta, epsilon, norm, nullptr, nullptr);
  call(op, "aclnnVarMean", x, Dims{1}, 0, false, variance, mean);
  project(op, "query_output", *norm, kernel_query, bias_query, query_output);
  project(op, "key_output", *norm, kernel_key, bias_key, key_output);
  project(op, "value_output", *norm, kernel_value, bias_value, value_output);
}

ABOUT(AttentionQKVGradX, Cube, "Gradient of the tokens from those of query, key and value, and ln_dx",
      "由 query、key、value 的梯度及 ln_dx 求输入的梯度")
IR_OP(AttentionQKVGradX, AttentionQKVGradX, (OptIn, ln_dx), (In, query_dx), (In, key_dw), (In, value_dw),
      (In, kernel_query), (In, kernel_key), (In, kernel_value), (Out, dx), (Bool, trans_a, false),
      (Bool, trans_b, true)) {
  require_plain(op, {{"trans_a", trans_a}});
  ir::want(op, "trans_b", trans_b, true);
  const auto product = [&](const In& grad, const In& kernel) {
    op.require(grad->rank == 2 && kernel->rank == 2, "a gradient is {} and its kernel {}, want matrices",
               describe(*grad), describe(*kernel));
    Temp t(query_dx->dtype);
    call(op, "aclnnMatmul", grad, kernel->transpose(0, 1), t, kKeepType);
    return *t;
  };
  op.require(query_dx->rank == 2 && kernel_query->rank == 2, "query_dx is {} and kernel_query {}, want matrices",
             describe(*query_dx), describe(*kernel_query));
  op.result("dx", *dx, {query_dx->dims[0], kernel_query->dims[0]}, query_dx->dtype);
  const TensorView all = ir::sum(op, ir::sum(op, product(query_dx, kernel_query), product(key_dw, kernel_key)),
                                 product(value_dw, kernel_value));
  if (ln_dx) call(op, "aclnnAdd", all, ln_dx, 1, dx);
  else call(op, "aclnnInplaceCopy", dx, all);
}

ABOUT(AttentionQKVGradW, Cube, "Gradients of kernels and biases from those of query, key and value",
      "由 query、key、value 的梯度求各 kernel 与偏置的梯度")
IR_OP(AttentionQKVGradW, AttentionQKVGradW, (In, x), (In, query_dx), (OptIn, key_dw), (OptIn, value_dw),
      (Out, dw_query), (Out, dw_key), (Out, dw_value), (Out, dbias_query), (Out, dbias_key), (Out, dbias_value),
      (Bool, trans_a, true), (Bool, trans_b, false), (Bool, trans_dw, false)) {
  require_plain(op, {{"trans_b", trans_b}, {"trans_dw", trans_dw}});
  ir::want(op, "trans_a", trans_a, true);
  op.require(key_dw && value_dw, "key_dw and value_dw are not both given");
  op.require(x->rank == 2, "x is {}, want rows of tokens", describe(*x));
  const auto give = [&](const char* name, const TensorView& grad, const Out& dw, const char* bias_name, const Out& db) {
    op.require(grad.rank == 2 && grad.dims[0] == x->dims[0], "the gradient for {} is {}, want {} rows", name,
               describe(grad), x->dims[0]);
    op.result(name, *dw, {x->dims[1], grad.dims[1]}, x->dtype);
    op.result(bias_name, *db, {grad.dims[1]}, x->dtype);
    call(op, "aclnnMatmul", x->transpose(0, 1), grad, dw, kKeepType);
    call(op, "aclnnReduceSum", grad, Dims{0}, false, db->dtype, db);
  };
  give("dw_query", *query_dx, dw_query, "dbias_query", dbias_query);
  give("dw_key", *key_dw, dw_key, "dbias_key", dbias_key);
  give("dw_value", *value_dw, dw_value, "dbias_value", dbias_value);
}

ABOUT(AttentionScore, MixCube, "Attention as rows of tokens, and the weights of it before dropout",
      "注意力输出（按 token 成行）及 dropout 前的权重")
IR_OP(AttentionScore, AttentionScore, (In, query), (In, key), (In, value), (In, padding_mask), (In, scale),
      (OptIn, drop_mask), (Out, attention_score), (Out, softmax_output), (Float, keep_prob, 1.0f),
      (Bool, query_transpose, false), (Bool, key_transpose, false), (Bool, bmm_score_transpose_a, false),
      (Bool, bmm_score_transpose_b, false), (Ints, softmax_axes, -1)) {
  require_plain(op, {{"query_transpose", query_transpose},
                     {"key_transpose", key_transpose},
                     {"bmm_score_transpose_a", bmm_score_transpose_a},
                     {"bmm_score_transpose_b", bmm_score_transpose_b}});
  op.require(softmax_axes.size() == 1 && softmax_axes[0] == -1, "attribute softmax_axes is not -1");
  const Heads q(op, "query", *query), k(op, "key", *key);
  op.require_same_shape("value", *value, "key", *key);
  op.require(q.batch == k.batch && q.count == k.count && q.size == k.size, "query is {} and key {}", describe(*query),
             describe(*key));
  op.require(scale->numel() == 1, "scale is {}, want one number", describe(*scale));
  ir::result(op, "attention_score", *attention_score, q.rows(), query->dtype);
  op.result("softmax_output", *softmax_output, {q.batch, q.count, q.length, k.length}, query->dtype);
  Temp scores(query->dtype), scaled(query->dtype), masked(query->dtype), mixed(query->dtype);
  TensorView factor = *scale;
  factor.rank = 0;
  call(op, "aclnnMatmul", query, key->transpose(2, 3), scores, kKeepType);
  call(op, "aclnnMul", *scores, factor, scaled);
  call(op, "aclnnAdd", *scaled, padding_mask, 1, masked);
  call(op, "aclnnSoftmax", *masked, -1, softmax_output);
  call(op, "aclnnMatmul", dropped(op, *softmax_output, drop_mask, keep_prob), value, mixed, kKeepType);
  if (!op.inferring()) call(op, "aclnnInplaceCopy", ir::reshaped(op, *attention_score, q.tokens()), by_tokens(*mixed));
}

// What torch_npu gives as the third input is value, whatever the name, and as the fifth query.
ABOUT(AttentionScoreGrad, MixCube, "Gradients of AttentionScore for value, query and key, as rows of tokens",
      "AttentionScore 对 value、query、key 的反向梯度（按 token 成行）")
IR_OP(AttentionScoreGrad, AttentionScoreGrad, (In, attention_score), (In, dx), (In, query), (In, key), (In, value),
      (In, scale), (OptIn, drop_mask), (Out, value_dw), (Out, query_dx), (Out, key_dw), (Float, keep_prob, 1.0f),
      (Bool, query_transpose, false), (Bool, key_transpose, false), (Bool, value_transpose, false),
      (Bool, dx_transpose, false), (Int, softmax_axes, -1)) {
  require_plain(op, {{"query_transpose", query_transpose},
                     {"key_transpose", key_transpose},
                     {"value_transpose", value_transpose},
                     {"dx_transpose", dx_transpose}});
  ir::want(op, "softmax_axes", softmax_axes, int64_t{-1});
  const In &values = query, &queries = value;
  const TensorView& weights = *attention_score;
  const Heads q(op, "value", *queries), k(op, "key", *key);
  op.require_same_shape("dx", *dx, "value", *queries);
  op.require_same_shape("query", *values, "key", *key);
  const int64_t squares[] = {q.batch, q.count, q.length, k.length};
  op.require_shape("attention_score", weights, squares, 4);
  op.require(scale->numel() == 1, "scale is {}, want one number", describe(*scale));
  ir::result(op, "value_dw", *value_dw, k.rows(), dx->dtype);
  ir::result(op, "query_dx", *query_dx, q.rows(), dx->dtype);
  ir::result(op, "key_dw", *key_dw, k.rows(), dx->dtype);
  Temp dv(dx->dtype), dp(dx->dtype), ds(dx->dtype), scaled(dx->dtype), dq(dx->dtype), dk(dx->dtype);
  TensorView factor = *scale;
  factor.rank = 0;
  call(op, "aclnnMatmul", dropped(op, weights, drop_mask, keep_prob).transpose(2, 3), dx, dv, kKeepType);
  call(op, "aclnnMatmul", dx, values->transpose(2, 3), dp, kKeepType);
  call(op, "aclnnSoftmaxBackward", dropped(op, *dp, drop_mask, keep_prob), weights, -1, ds);
  call(op, "aclnnMul", *ds, factor, scaled);
  call(op, "aclnnMatmul", *scaled, key, dq, kKeepType);
  call(op, "aclnnMatmul", scaled->transpose(2, 3), queries, dk, kKeepType);
  if (op.inferring()) return;
  call(op, "aclnnInplaceCopy", ir::reshaped(op, *value_dw, k.tokens()), by_tokens(*dv));
  call(op, "aclnnInplaceCopy", ir::reshaped(op, *query_dx, q.tokens()), by_tokens(*dq));
  call(op, "aclnnInplaceCopy", ir::reshaped(op, *key_dw, k.tokens()), by_tokens(*dk));
}

}  // namespace updraft
