// One layer of a recurrent network in one direction.
#include "ops/rnn/layer.h"

#include <algorithm>

#include "kernels/pipeline.h"
#include "ops/ir/shapes.h"

namespace updraft {
namespace {

using ir::Dims;

/// [1, batch, hidden] or [batch, hidden] as the latter.
TensorView state_of(const TensorView& v) { return v.rank == 3 ? select(v, 0, 0) : v; }
template <class T>
TensorView state_of(const T& v) {
  return v ? state_of(*v) : TensorView();
}
/// [batch, n] as one step, [1, batch, n].
TensorView with_steps(const TensorView& v) {
  if (v.rank != 2) return v;
  TensorView s = v;
  for (int d = 2; d > 0; --d) {
    s.dims[d] = v.dims[d - 1];
    s.strides[d] = v.strides[d - 1];
  }
  s.dims[0] = 1;
  s.rank = 3;
  return s;
}

// --- gates --------------------------------------------------------------------------------------------------------
/// Which of the client's blocks of columns each gate is, in the order of RnnLayer.
struct GateOrder {
  std::vector<int64_t> at;
  bool own() const { return std::ranges::is_sorted(at); }
};
TensorView block(const TensorView& v, int64_t k, int64_t gates) {
  const int d = v.rank - 1;
  const int64_t n = v.dims[d] / gates;
  return ir::part_of(v, d, k * n, n);
}
/// A weight or bias with its gates in the order of RnnLayer.
TensorView ordered(Op& op, const TensorView& v, const GateOrder& order) {
  if (order.own()) return v;
  const TensorView t = ir::temporary(op, v.dtype, ir::dims_of(v));
  const auto n = static_cast<int64_t>(order.at.size());
  for (int64_t k = 0; k < n; ++k)
    call(op, "aclnnInplaceCopy", block(t, k, n), block(v, order.at[static_cast<size_t>(k)], n));
  return t;
}
/// Memory for a gradient with the gates in the order of RnnLayer, and the way back.
TensorView room(Op& op, const TensorView& v, const GateOrder& order) {
  return order.own() ? v : ir::temporary(op, v.dtype, ir::dims_of(v));
}
void hand_out(const TensorView& to, const TensorView& from, const GateOrder& order) {
  if (order.own()) return;
  const auto n = static_cast<int64_t>(order.at.size());
  for (int64_t k = 0; k < n; ++k) copy_elements(block(to, order.at[static_cast<size_t>(k)], n), block(from, k, n));
}
GateOrder lstm_order(const Op& op, std::string_view word) {  // own: i f j o; j is what the gate i lets in
  if (word == "ijfo") return {{0, 2, 1, 3}};
  op.require(word == "ifjo" || word == "ifco", "attribute gate_order is \"{}\", want ijfo, ifjo or ifco", word);
  return {{0, 1, 2, 3}};
}
GateOrder gru_order(const Op& op, std::string_view word) {  // own: r z n
  if (word == "zrh") return {{1, 0, 2}};
  op.require(word == "rzh", "attribute gate_order is \"{}\", want zrh or rzh", word);
  return {{0, 1, 2}};
}

// --- what attributes may say --------------------------------------------------------------------------------------
bool is_reverse(const Op& op, std::string_view direction) {
  op.require(direction == "UNIDIRECTIONAL" || direction == "REDIRECTIONAL",
             "attribute direction is \"{}\", want UNIDIRECTIONAL or REDIRECTIONAL", direction);
  return direction == "REDIRECTIONAL";
}
/// Depth and probability are 0 or -1 in the gradients where they are 1 in the forward pass.
void require_plain(const Op& op, int64_t cell_depth, float keep_prob, float cell_clip, int64_t num_proj,
                   bool time_major) {
  op.require(cell_depth == 0 || cell_depth == 1, "attribute cell_depth is {}, want 1", cell_depth);
  op.require(keep_prob == 1 || keep_prob == -1, "attribute keep_prob is {}, want 1", keep_prob);
  op.require(cell_clip < 0, "attribute cell_clip is {}, want -1", cell_clip);
  ir::want(op, "num_proj", num_proj, int64_t{0});
  ir::want(op, "time_major", time_major, true);
}
/// torch_npu gives tensors without dimensions where it has none.
void require_no_peephole(const Op& op, bool use_peephole, std::initializer_list<OptIn> weights) {
  ir::want(op, "use_peephole", use_peephole, false);
  for (const OptIn& w : weights)
    op.require(!w || w->rank == 0, "peephole weights or a mask are given ({}), want none",
               w ? describe(*w).text() : "");
}

/// The rows at each step from a mask [steps, batch, hidden]; sequences are sorted by length. Read while it runs.
std::vector<int64_t> rows_of(const TensorView& mask) {
  std::vector<int64_t> rows;
  for (int64_t t = 0; t < mask.dims[0]; ++t) {
    int64_t n = 0;
    for (int64_t b = 0; b < mask.dims[1]; ++b) {
      float on = 0;
      kernels().load[static_cast<int>(mask.dtype)][static_cast<int>(Compute::F32)](
          &on,
          mask.as<char>() + (t * mask.strides[0] + b * mask.strides[1]) * static_cast<int64_t>(size_of(mask.dtype)), 0,
          1);
      n += on > 0.5f;
    }
    rows.push_back(n);
  }
  return rows;
}
TensorView mask_of(const Op& op, const OptIn& seq_length, const RnnLayer& l) {
  if (!seq_length || seq_length->rank == 0 || seq_length->empty()) return {};  // torch_npu gives one number for none
  op.require(seq_length->rank == 3 && seq_length->dims[0] == l.x.dims[0] && seq_length->dims[1] == l.x.dims[1] &&
                 is_floating(seq_length->dtype),
             "seq_length is {}, want a mask [{}, {}, hidden] of ones and zeros", describe(*seq_length), l.x.dims[0],
             l.x.dims[1]);
  return *seq_length;
}

RnnLayer layer_of(const Op& op, int64_t gates, const TensorView& x, const TensorView& w, const TensorView& u) {
  RnnLayer l;
  l.gru = gates == 3;
  l.x = with_steps(x);
  op.require(l.x.rank == 3 && w.rank == 2 && u.rank == 2 && w.dims[0] == l.x.dims[2] &&
                 u.dims[1] == gates * u.dims[0] && w.dims[1] == u.dims[1],
             "x is {}, the weights are {} and {}, want [steps, batch, input], [input, {} * hidden] and [hidden, {} * "
             "hidden]",
             describe(l.x), describe(w), describe(u), gates, gates);
  l.w_in = w.transpose(0, 1);
  l.w_hidden = u.transpose(0, 1);
  return l;
}
/// w [input + hidden, 4 hidden] as its two parts.
std::pair<TensorView, TensorView> parts_of(const Op& op, const TensorView& x, const TensorView& w) {
  op.require(x.rank == 3 && w.rank == 2 && w.dims[1] % 4 == 0 && w.dims[0] == x.dims[2] + w.dims[1] / 4,
             "x is {} and w is {}, want [steps, batch, input] and [input + hidden, 4 * hidden]{}", describe(x),
             describe(w),
             x.rank == 3 && w.rank == 2 && w.dims[0] < x.dims[2] + w.dims[1] / 4
                 ? "; a projection (proj_size of torch.nn.LSTM) is not part of the operator: project its output with "
                   "torch.nn.Linear, or run the module on the CPU"
                 : "");
  return {narrow(w, 0, 0, x.dims[2]), narrow(w, 0, x.dims[2], w.dims[1] / 4)};
}

/// Multiplications and additions of the weights, and scratch.
void count_work(Op& op, RnnLayer l, const OptIn& seq_length, bool backward) {
  const int64_t n = 2 * (backward ? 2 : 1) * l.x.dims[0] * l.x.dims[1] * (l.w_in.numel() + l.w_hidden.numel());
  op.work(n);
  op.flops(n);
  if (seq_length) l.active.assign(1, 0);
  op.kernel_scratch(l.x.numel() + l.w_in.numel(), [&] { return backward ? rnn_backward_scratch(l) : rnn_scratch(l); });
}

struct Results {
  const char* name;
  Out tensor;
};
/// Outputs are [steps, batch, hidden] in the type of x; returns them for RnnLayer::saved.
void set_outputs(const Op& op, const RnnLayer& l, std::initializer_list<Results> outputs) {
  const Dims dims = {l.x.dims[0], l.x.dims[1], l.w_hidden.dims[1]};
  for (const Results& r : outputs)
    if (op.inferring()) ir::result(op, r.name, *r.tensor, dims, l.x.dtype);
}

void lstm_forward(Op& op, RnnLayer l, const OptIn& b, const OptIn& seq_length, const OptIn& init_h, const OptIn& init_c,
                  const GateOrder& order, const Out& y, const Out& output_h, const Out& output_c, const Out& i,
                  const Out& j, const Out& f, const Out& o, const Out& tanhc) {
  set_outputs(op, l,
              {{"y", y},
               {"output_h", output_h},
               {"output_c", output_c},
               {"i", i},
               {"j", j},
               {"f", f},
               {"o", o},
               {"tanhc", tanhc}});
  if (b) l.b_in = ordered(op, *b, order);
  l.h0 = state_of(init_h);
  l.c0 = state_of(init_c);
  l.y = *y;
  const Out saved[RnnLayer::kSaved] = {i, f, j, o, output_c, tanhc, output_h};
  for (size_t k = 0; k < RnnLayer::kSaved; ++k) l.saved[k] = *saved[k];
  count_work(op, l, seq_length, false);
  op.launch([l, mask = mask_of(op, seq_length, l)]() mutable {
    if (mask.data) l.active = rows_of(mask);
    run_rnn(l);
  });
}

/// What the gradients have beside the weights.
struct LstmGradients {
  TensorView dw_in, dw_hidden, db;  ///< as the client has them
};

}  // namespace

#define RNN_ATTRIBUTES(DEPTH, KEEP)                                                                      \
  (Text, cell_type, "LSTM"), (Text, direction, "UNIDIRECTIONAL"), (Int, cell_depth, DEPTH),              \
      (Bool, use_peephole, false), (Float, keep_prob, KEEP), (Float, cell_clip, -1), (Int, num_proj, 0), \
      (Bool, time_major, true)

ABOUT(DynamicRNN, Cube, "One LSTM layer in one direction over a sequence", "单层单向 LSTM")
IR_OP(DynamicRNN, DynamicRNN, (In, x), (In, w), (In, b), (OptIn, seq_length), (OptIn, init_h), (OptIn, init_c),
      (OptIn, wci), (OptIn, wcf), (OptIn, wco), (OptIn, mask), (Out, y), (Out, output_h), (Out, output_c), (Out, i),
      (Out, j), (Out, f), (Out, o), (Out, tanhc), RNN_ATTRIBUTES(1, 1), (Text, activation, "tanh"),
      (Float, forget_bias, 0), (Text, gate_order, "ijfo"), (Bool, is_training, true)) {
  (void)is_training;  // what the backward pass wants is saved anyway
  ir::want(op, "cell_type", cell_type, "LSTM");
  ir::want(op, "activation", activation, "tanh");
  ir::want(op, "forget_bias", forget_bias, 0.0f);
  require_plain(op, cell_depth, keep_prob, cell_clip, num_proj, time_major);
  require_no_peephole(op, use_peephole, {wci, wcf, wco, mask});
  const GateOrder order = lstm_order(op, gate_order);
  const auto [w_in, w_hidden] = parts_of(op, *x, *w);
  RnnLayer l = layer_of(op, 4, *x, ordered(op, w_in, order), ordered(op, w_hidden, order));
  l.reverse = is_reverse(op, direction);
  lstm_forward(op, std::move(l), OptIn{b.handle}, seq_length, init_h, init_c, order, y, output_h, output_c, i, j, f, o,
               tanhc);
}
ABOUT(DynamicRNNV2, Cube, "One LSTM layer in one direction, with separate input and hidden weights",
      "单层单向 LSTM，输入权重与隐藏权重分离")
IR_OP(DynamicRNNV2, DynamicRNNV2, (In, x), (In, weight_input), (In, weight_hidden), (OptIn, b), (OptIn, seq_length),
      (OptIn, init_h), (OptIn, init_c), (OptIn, wci), (OptIn, wcf), (OptIn, wco), (OptIn, mask), (Out, y),
      (Out, output_h), (Out, output_c), (Out, i), (Out, j), (Out, f), (Out, o), (Out, tanhc), RNN_ATTRIBUTES(1, 1),
      (Text, activation, "tanh"), (Text, recurrent_activation, "sigmoid"), (Float, forget_bias, 0),
      (Text, gate_order, "ijfo"), (Bool, stateful, false), (Text, merge_mode, "concat"), (Bool, is_training, true)) {
  (void)is_training, (void)merge_mode;  // one direction: nothing is merged
  ir::want(op, "cell_type", cell_type, "LSTM");
  ir::want(op, "activation", activation, "tanh");
  ir::want(op, "recurrent_activation", recurrent_activation, "sigmoid");
  ir::want(op, "forget_bias", forget_bias, 0.0f);
  ir::want(op, "stateful", stateful, false);
  require_plain(op, cell_depth, keep_prob, cell_clip, num_proj, time_major);
  require_no_peephole(op, use_peephole, {wci, wcf, wco, mask});
  const GateOrder order = lstm_order(op, gate_order);
  RnnLayer l = layer_of(op, 4, *x, ordered(op, *weight_input, order), ordered(op, *weight_hidden, order));
  l.reverse = is_reverse(op, direction);
  lstm_forward(op, std::move(l), b, seq_length, init_h, init_c, order, y, output_h, output_c, i, j, f, o, tanhc);
}

namespace {
/// Fills the layer with what the forward pass saved and with the gradients, which `to` has in the client's order.
void lstm_backward(Op& op, RnnLayer l, const In& x, const OptIn& seq_length, const In& init_h, const In& init_c,
                   const In& h, const In& c, const In& dy, const In& dh, const In& dc, const In& i, const In& j,
                   const In& f, const In& o, const OptIn& tanhct, const GateOrder& order, const LstmGradients& to,
                   const Out& dx, const Out& dh_prev, const Out& dc_prev) {
  op.require(static_cast<bool>(tanhct), "tanhct is absent, want what the forward pass saved");
  op.result_like("dx", *dx, *x, x->dtype);
  op.result_like("dh_prev", *dh_prev, *init_h, init_h->dtype);
  op.result_like("dc_prev", *dc_prev, *init_c, init_c->dtype);
  l.h0 = state_of(*init_h);
  l.c0 = state_of(*init_c);
  const TensorView saved[RnnLayer::kSaved] = {*i, *f, *j, *o, *c, *tanhct, *h};
  for (size_t k = 0; k < RnnLayer::kSaved; ++k) l.saved[k] = with_steps(saved[k]);
  l.dy = with_steps(*dy);
  l.dh_last = state_of(*dh);
  l.dc_last = state_of(*dc);
  l.dx = with_steps(*dx);
  l.dh0 = state_of(*dh_prev);
  l.dc0 = state_of(*dc_prev);
  const LstmGradients own = {room(op, to.dw_in, order), room(op, to.dw_hidden, order), room(op, to.db, order)};
  l.dw_in = own.dw_in.transpose(0, 1);
  l.dw_hidden = own.dw_hidden.transpose(0, 1);
  l.db_in = own.db;
  count_work(op, l, seq_length, true);
  op.launch([l, to, own, order, mask = mask_of(op, seq_length, l)]() mutable {
    if (mask.data) l.active = rows_of(mask);
    run_rnn_backward(l);
    hand_out(to.dw_in, own.dw_in, order);
    hand_out(to.dw_hidden, own.dw_hidden, order);
    hand_out(to.db, own.db, order);
  });
}
}  // namespace
ABOUT(DynamicRNNGrad, Cube, "Gradients of DynamicRNN", "DynamicRNN 的反向梯度")
IR_OP(DynamicRNNGrad, DynamicRNNGrad, (In, x), (In, w), (In, b), (In, y), (In, init_h), (In, init_c), (In, h), (In, c),
      (In, dy), (In, dh), (In, dc), (In, i), (In, j), (In, f), (In, o), (OptIn, tanhct), (OptIn, seq_length),
      (OptIn, mask), (OptIn, wci), (OptIn, wcf), (OptIn, wco), (Out, dw), (Out, db), (Out, dx), (Out, dh_prev),
      (Out, dc_prev), RNN_ATTRIBUTES(0, -1), (Float, forget_bias, 0), (Text, gate_order, "ijfo")) {
  (void)y;
  ir::want(op, "cell_type", cell_type, "LSTM");
  ir::want(op, "forget_bias", forget_bias, 0.0f);
  require_plain(op, cell_depth, keep_prob, cell_clip, num_proj, time_major);
  require_no_peephole(op, use_peephole, {wci, wcf, wco, mask});
  const GateOrder order = lstm_order(op, gate_order);
  const auto [w_in, w_hidden] = parts_of(op, *x, *w);
  RnnLayer l = layer_of(op, 4, *x, ordered(op, w_in, order), ordered(op, w_hidden, order));
  l.reverse = is_reverse(op, direction);
  op.result_like("dw", *dw, *w, w->dtype);
  op.result_like("db", *db, *b, b->dtype);
  const int64_t input = x->dims[2];
  lstm_backward(op, std::move(l), x, seq_length, init_h, init_c, h, c, dy, dh, dc, i, j, f, o, tanhct, order,
                {narrow(*dw, 0, 0, input), narrow(*dw, 0, input, w->dims[1] / 4), *db}, dx, dh_prev, dc_prev);
}
ABOUT(DynamicRNNV2Grad, Cube, "Gradients of DynamicRNNV2", "DynamicRNNV2 的反向梯度")
IR_OP(DynamicRNNV2Grad, DynamicRNNV2Grad, (In, x), (In, w_x), (In, w_h), (In, y), (In, init_h), (In, init_c), (In, h),
      (In, c), (In, dy), (In, dh), (In, dc), (In, i), (In, j), (In, f), (In, o), (In, tanhct), (OptIn, seq_length),
      (OptIn, wci), (OptIn, wcf), (OptIn, wco), (OptIn, mask), (Out, dw_x), (Out, dw_h), (Out, db), (Out, dx),
      (Out, dh_prev), (Out, dc_prev), RNN_ATTRIBUTES(1, 1), (Text, activation, "tanh"),
      (Text, recurrent_activation, "sigmoid"), (Text, gate_order, "ijfo"), (Bool, stateful, false),
      (Text, merge_mode, "concat")) {
  (void)y, (void)merge_mode;
  ir::want(op, "cell_type", cell_type, "LSTM");
  ir::want(op, "activation", activation, "tanh");
  ir::want(op, "recurrent_activation", recurrent_activation, "sigmoid");
  ir::want(op, "stateful", stateful, false);
  require_plain(op, cell_depth, keep_prob, cell_clip, num_proj, time_major);
  require_no_peephole(op, use_peephole, {wci, wcf, wco, mask});
  const GateOrder order = lstm_order(op, gate_order);
  RnnLayer l = layer_of(op, 4, *x, ordered(op, *w_x, order), ordered(op, *w_h, order));
  l.reverse = is_reverse(op, direction);
  op.result_like("dw_x", *dw_x, *w_x, w_x->dtype);
  op.result_like("dw_h", *dw_h, *w_h, w_h->dtype);
  ir::suggest(op, *db, {w_x->dims[1]}, w_x->dtype);
  lstm_backward(op, std::move(l), x, seq_length, init_h, init_c, h, c, dy, dh, dc, i, j, f, o, OptIn{tanhct.handle},
                order, {*dw_x, *dw_h, *db}, dx, dh_prev, dc_prev);
}
#undef RNN_ATTRIBUTES

// --- DynamicGRUV2: weights [input, 3 hidden] and [hidden, 3 hidden], reset after the product
// --------------------------
ABOUT(DynamicGRUV2, Cube, "One GRU layer in one direction over a sequence", "单层单向 GRU")
IR_OP(DynamicGRUV2, DynamicGRUV2, (In, x), (In, weight_input), (In, weight_hidden), (OptIn, bias_input),
      (OptIn, bias_hidden), (OptIn, seq_length), (OptIn, init_h), (Out, y), (Out, output_h), (Out, update),
      (Out, reset), (Out, ir_new), (Out, hidden_new), (Text, direction, "UNIDIRECTIONAL"), (Int, cell_depth, 1),
      (Float, keep_prob, 1), (Float, cell_clip, -1), (Int, num_proj, 0), (Bool, time_major, true),
      (Text, activation, "tanh"), (Text, gate_order, "zrh"), (Bool, reset_after, true), (Bool, is_training, true)) {
  (void)is_training;
  ir::want(op, "activation", activation, "tanh");
  ir::want(op, "reset_after", reset_after, true);
  require_plain(op, cell_depth, keep_prob, cell_clip, num_proj, time_major);
  const GateOrder order = gru_order(op, gate_order);
  RnnLayer l = layer_of(op, 3, *x, ordered(op, *weight_input, order), ordered(op, *weight_hidden, order));
  l.reverse = is_reverse(op, direction);
  set_outputs(op, l,
              {{"y", y},
               {"output_h", output_h},
               {"update", update},
               {"reset", reset},
               {"new", ir_new},
               {"hidden_new", hidden_new}});
  if (bias_input) l.b_in = ordered(op, *bias_input, order);
  if (bias_hidden) l.b_hidden = ordered(op, *bias_hidden, order);
  l.h0 = state_of(init_h);
  l.y = *y;
  const Out saved[] = {reset, update, ir_new, hidden_new, output_h};
  for (size_t k = 0; k < 5; ++k) l.saved[k] = *saved[k];
  count_work(op, l, seq_length, false);
  op.launch([l, mask = mask_of(op, seq_length, l)]() mutable {
    if (mask.data) l.active = rows_of(mask);
    run_rnn(l);
  });
}
ABOUT(DynamicGRUV2Grad, Cube, "Gradients of DynamicGRUV2", "DynamicGRUV2 的反向梯度")
IR_OP(DynamicGRUV2Grad, DynamicGRUV2Grad, (In, x), (In, weight_input), (In, weight_hidden), (In, y), (In, init_h),
      (In, h), (In, dy), (In, dh), (In, update), (In, reset), (In, ir_new), (In, hidden_new), (OptIn, seq_length),
      (OptIn, mask), (Out, dw_input), (Out, dw_hidden), (Out, db_input), (Out, db_hidden), (Out, dx), (Out, dh_prev),
      (Text, direction, "UNIDIRECTIONAL"), (Int, cell_depth, 0), (Float, keep_prob, -1), (Float, cell_clip, -1),
      (Int, num_proj, 0), (Bool, time_major, true), (Text, gate_order, "zrh"), (Bool, reset_after, true)) {
  (void)y;
  ir::want(op, "reset_after", reset_after, true);
  op.require(!mask || mask->rank == 0, "mask is given, want none");
  require_plain(op, cell_depth, keep_prob, cell_clip, num_proj, time_major);
  const GateOrder order = gru_order(op, gate_order);
  RnnLayer l = layer_of(op, 3, *x, ordered(op, *weight_input, order), ordered(op, *weight_hidden, order));
  l.reverse = is_reverse(op, direction);
  op.result_like("dw_input", *dw_input, *weight_input, weight_input->dtype);
  op.result_like("dw_hidden", *dw_hidden, *weight_hidden, weight_hidden->dtype);
  for (const auto& [name, bias] : {std::pair{"db_input", db_input}, std::pair{"db_hidden", db_hidden}})
    if (op.inferring()) ir::result(op, name, *bias, {weight_input->dims[1]}, weight_input->dtype);
  op.result_like("dx", *dx, *x, x->dtype);
  op.result_like("dh_prev", *dh_prev, *init_h, init_h->dtype);
  l.h0 = state_of(*init_h);
  const TensorView saved[] = {*reset, *update, *ir_new, *hidden_new, *h};
  for (size_t k = 0; k < 5; ++k) l.saved[k] = saved[k];
  l.dy = *dy;
  l.dh_last = state_of(*dh);
  l.dx = *dx;
  l.dh0 = state_of(*dh_prev);
  const TensorView to[] = {*dw_input, *dw_hidden, *db_input, *db_hidden};
  TensorView own[4];
  for (size_t k = 0; k < 4; ++k) own[k] = room(op, to[k], order);
  l.dw_in = own[0].transpose(0, 1);
  l.dw_hidden = own[1].transpose(0, 1);
  l.db_in = own[2];
  l.db_hidden = own[3];
  count_work(op, l, seq_length, true);
  op.launch([l, order, client = std::vector<TensorView>(to, to + 4), own = std::vector<TensorView>(own, own + 4),
             active = mask_of(op, seq_length, l)]() mutable {
    if (active.data) l.active = rows_of(active);
    run_rnn_backward(l);
    for (size_t k = 0; k < 4; ++k) hand_out(client[k], own[k], order);
  });
}

}  // namespace updraft
