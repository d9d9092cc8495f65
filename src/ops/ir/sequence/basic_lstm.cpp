// One step of an LSTM with its gradients in three parts. Gates stand in the order input, new value, forget, output; the
// weights have a row for each input and then for each state.
#include "ops/ir/elementwise/arithmetic.h"
#include "ops/ir/shapes.h"

namespace updraft {
namespace {

using ir::Dims;
using ir::product, ir::rest, ir::sum;

constexpr int kKeepType = 0;

TensorView as_float(Op& op, const TensorView& v) {
  if (v.dtype == DType::Float) return v;
  Temp t(DType::Float);
  call(op, "aclnnCast", v, DType::Float, t);
  return *t;
}
TensorView applied(Op& op, const char* function, const TensorView& v) {
  Temp t(DType::Float);
  call(op, function, v, t);
  return *t;
}
TensorView matmul(Op& op, const TensorView& a, const TensorView& b) {
  Temp t(DType::Float);
  call(op, "aclnnMatmul", a, b, t, kKeepType);
  return *t;
}
/// Gate `i` of four.
TensorView gate(const TensorView& gates, int64_t i) {
  const int64_t n = gates.dims[1] / 4;
  return ir::part_of(gates, 1, i * n, n);
}
void give(Op& op, const char* name, const TensorView& from, const Out& to, DType type) {
  op.result_like(name, *to, from, type);
  call(op, "aclnnInplaceCopy", to, from);
}
void require_step(const Op& op, const char* name, const TensorView& v, int64_t rows, int64_t columns) {
  const int64_t dims[] = {rows, columns};
  op.require_shape(name, v, dims, 2);
}
void require_no_mask(const Op& op, const OptIn& mask, float keep_prob) {
  op.require(!mask && keep_prob == 1, "a mask is given or keep_prob is {}: dropout is not implemented", keep_prob);
}
/// a * (1 - a)
TensorView sigmoid_slope(Op& op, const TensorView& a) { return product(op, a, rest(op, a)); }
/// 1 - a * a
TensorView tanh_slope(Op& op, const TensorView& a) { return rest(op, product(op, a, a)); }

}  // namespace

ABOUT(BasicLSTMCell, Cube, "One step of an LSTM: the new state and output, and its gates",
      "LSTM 单步：新状态、输出及各门")
IR_OP(BasicLSTMCell, BasicLSTMCell, (In, x), (In, h), (In, c), (In, w), (In, b), (OptIn, mask), (Out, ct), (Out, ht),
      (Out, it), (Out, jt), (Out, ft), (Out, ot), (Out, tanhct), (Float, keep_prob, 1.0f), (Float, forget_bias, 1.0f),
      (Bool, state_is_tuple, true), (Text, activation, "tanh")) {
  require_no_mask(op, mask, keep_prob);
  ir::want(op, "state_is_tuple", state_is_tuple, true);
  ir::want(op, "activation", activation, "tanh");
  op.require(x->rank == 2 && h->rank == 2, "x is {} and h {}, want [batch, inputs] and [batch, states]", describe(*x),
             describe(*h));
  const int64_t batch = x->dims[0], inputs = x->dims[1], states = h->dims[1];
  require_step(op, "h", *h, batch, states);
  require_step(op, "c", *c, batch, states);
  require_step(op, "w", *w, inputs + states, 4 * states);
  op.require(b->numel() == 4 * states, "b is {}, want {} values", describe(*b), 4 * states);
  const TensorView weights = as_float(op, *w), cell = as_float(op, *c);
  const TensorView of_x = matmul(op, as_float(op, *x), ir::part_of(weights, 0, 0, inputs)),
                   of_h = matmul(op, as_float(op, *h), ir::part_of(weights, 0, inputs, states));
  const TensorView gates = sum(op, sum(op, of_x, of_h), as_float(op, *b));
  Temp forget(DType::Float);
  call(op, "aclnnAdds", gate(gates, 2), forget_bias, 1, forget);
  const TensorView i = applied(op, "aclnnSigmoid", gate(gates, 0)), j = applied(op, "aclnnTanh", gate(gates, 1)),
                   f = applied(op, "aclnnSigmoid", *forget), o = applied(op, "aclnnSigmoid", gate(gates, 3));
  const TensorView next = sum(op, product(op, cell, f), product(op, i, j)), bounded = applied(op, "aclnnTanh", next);
  give(op, "ct", next, ct, c->dtype);
  give(op, "ht", product(op, bounded, o), ht, h->dtype);
  give(op, "it", i, it, c->dtype);
  give(op, "jt", j, jt, c->dtype);
  give(op, "ft", f, ft, c->dtype);
  give(op, "ot", o, ot, c->dtype);
  give(op, "tanhct", bounded, tanhct, c->dtype);
}

ABOUT(BasicLSTMCellCStateGrad, Vector, "Gradients of BasicLSTMCell for its gates and the state before",
      "BasicLSTMCell 对各门及前一状态的反向梯度")
IR_OP(BasicLSTMCellCStateGrad, BasicLSTMCellCStateGrad, (In, c), (In, dht), (In, dct), (In, it), (In, jt), (In, ft),
      (In, ot), (In, tanhct), (Out, dgate), (Out, dct_1), (Float, forget_bias, 1.0f), (Text, activation, "tanh")) {
  (void)forget_bias;  // ft has it
  ir::want(op, "activation", activation, "tanh");
  op.require(c->rank == 2, "c is {}, want [batch, states]", describe(*c));
  for (const auto& [name, v] :
       {std::pair{"dht", *dht}, {"dct", *dct}, {"it", *it}, {"jt", *jt}, {"ft", *ft}, {"ot", *ot}, {"tanhct", *tanhct}})
    op.require_same_shape(name, v, "c", *c);
  const TensorView i = as_float(op, *it), j = as_float(op, *jt), f = as_float(op, *ft), o = as_float(op, *ot),
                   bounded = as_float(op, *tanhct), of_h = as_float(op, *dht);
  const TensorView dc = sum(op, as_float(op, *dct), product(op, product(op, of_h, o), tanh_slope(op, bounded)));
  const TensorView parts[] = {product(op, product(op, dc, j), sigmoid_slope(op, i)),
                              product(op, product(op, dc, i), tanh_slope(op, j)),
                              product(op, product(op, dc, as_float(op, *c)), sigmoid_slope(op, f)),
                              product(op, product(op, of_h, bounded), sigmoid_slope(op, o))};
  op.result("dgate", *dgate, {c->dims[0], 4 * c->dims[1]}, c->dtype);
  if (!op.inferring())
    for (int64_t k = 0; k < 4; ++k) call(op, "aclnnInplaceCopy", gate(*dgate, k), parts[k]);
  give(op, "dct_1", product(op, dc, f), dct_1, c->dtype);
}

ABOUT(BasicLSTMCellInputGrad, Cube, "Gradients of BasicLSTMCell for its input and the output before",
      "BasicLSTMCell 对输入及前一输出的反向梯度")
IR_OP(BasicLSTMCellInputGrad, BasicLSTMCellInputGrad, (In, dgate), (In, w), (OptIn, dropout_mask), (Out, dxt),
      (Out, dht), (Float, keep_prob, 1.0f)) {
  require_no_mask(op, dropout_mask, keep_prob);
  op.require(dgate->rank == 2 && w->rank == 2 && dgate->dims[1] == w->dims[1] && w->dims[1] % 4 == 0 &&
                 w->dims[0] >= w->dims[1] / 4,
             "dgate is {} and w {}, want [batch, 4 states] and [inputs + states, 4 states]", describe(*dgate),
             describe(*w));
  const int64_t states = w->dims[1] / 4, inputs = w->dims[0] - states;
  const TensorView both = matmul(op, as_float(op, *dgate), as_float(op, *w).transpose(0, 1));
  give(op, "dxt", ir::part_of(both, 1, 0, inputs), dxt, dgate->dtype);
  give(op, "dht", ir::part_of(both, 1, inputs, states), dht, dgate->dtype);
}

ABOUT(BasicLSTMCellWeightGrad, Cube, "Gradients of BasicLSTMCell for weights and bias",
      "BasicLSTMCell 对权重及偏置的反向梯度")
IR_OP(BasicLSTMCellWeightGrad, BasicLSTMCellWeightGrad, (In, x), (In, h), (In, dgate), (Out, dw), (Out, db)) {
  op.require(
      x->rank == 2 && h->rank == 2 && dgate->rank == 2 && x->dims[0] == dgate->dims[0] && h->dims[0] == dgate->dims[0],
      "x is {}, h {} and dgate {}, want matrices with a row for each sequence", describe(*x), describe(*h),
      describe(*dgate));
  const int64_t inputs = x->dims[1], states = h->dims[1];
  op.result("dw", *dw, {inputs + states, dgate->dims[1]}, x->dtype);
  op.result("db", *db, {dgate->dims[1]}, dgate->dtype);
  const TensorView g = as_float(op, *dgate), of_x = matmul(op, as_float(op, *x).transpose(0, 1), g),
                   of_h = matmul(op, as_float(op, *h).transpose(0, 1), g);
  call(op, "aclnnReduceSum", g, Dims{0}, false, db->dtype, db);
  if (op.inferring()) return;
  call(op, "aclnnInplaceCopy", ir::part_of(*dw, 0, 0, inputs), of_x);
  call(op, "aclnnInplaceCopy", ir::part_of(*dw, 0, inputs, states), of_h);
}

}  // namespace updraft
