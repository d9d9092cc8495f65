// Recurrent layers of graphs as ONNX describes them. CommonRNN is a type of our own: the ONNX front end makes it.
#include "ops/ir/shapes.h"
#include "ops/rnn/general.h"

namespace updraft {
namespace {

using ir::Dims;
using Cell = GeneralRnn::Cell;

struct Attributes {
  const std::vector<float>&alpha, &beta;
  const std::vector<std::string>& activations;
  float clip;
  std::string_view direction;
  int64_t hidden_size;
};

/// The activations of all directions. alpha and beta have numbers for those only that have such a constant, in order.
std::vector<GateActivation> activations_of(const Op& op, const GeneralRnn& l, const Attributes& a) {
  static const std::vector<std::string> kUsual[] = {{"Tanh"}, {"Sigmoid", "Tanh", "Tanh"}, {"Sigmoid", "Tanh"}};
  const std::vector<std::string>& usual = kUsual[static_cast<int>(l.cell)];
  const size_t count = usual.size() * static_cast<size_t>(l.directions);
  op.require(a.activations.empty() || a.activations.size() >= count, "{} activations, want {} or none",
             a.activations.size(), count);
  std::vector<GateActivation> all(count);
  size_t alpha = 0, beta = 0;
  for (size_t i = 0; i < count;
       ++i) {  // what is behind them is left out: some name as many for one direction as for two
    const std::string& name = a.activations.empty() ? usual[i % usual.size()] : a.activations[i];
    op.require(activation_of(name, &all[i]),
               "activation {} is not known, want Tanh, Sigmoid, Relu, Softsign, Softplus, LeakyRelu, ThresholdedRelu, "
               "Elu, HardSigmoid, Affine or ScaledTanh",
               name);
    if (all[i].has_alpha() && alpha < a.alpha.size()) all[i].alpha = static_cast<double>(a.alpha[alpha++]);
    if (all[i].has_beta() && beta < a.beta.size()) all[i].beta = static_cast<double>(a.beta[beta++]);
  }
  return all;
}

TensorView checked(const Op& op, const char* name, const OptIn& v, const Dims& dims) {
  if (!v || v->rank == 0) return {};
  op.require_shape(name, *v, dims.data(), static_cast<int>(dims.size()));
  return *v;
}

void layer(Op& op, GeneralRnn l, const Attributes& a, const In& x, const In& w, const In& r, const OptIn& b,
           const OptIn& sequence_lens, const OptIn& initial_h, const OptIn& initial_c, const OptIn& p, const Out& y,
           const Out& y_h, const Out* y_c) {
  op.require(a.direction == "forward" || a.direction == "reverse" || a.direction == "bidirectional",
             "attribute direction is \"{}\", want forward, reverse or bidirectional", a.direction);
  l.directions = a.direction == "bidirectional" ? 2 : 1;
  l.reverse = a.direction == "reverse";
  l.hidden = a.hidden_size;
  op.require(l.hidden > 0 && l.hidden < 1 << 24, "attribute hidden_size is {}, want a positive number", l.hidden);
  op.require(x->rank == 3, "x is {}, want [steps, batch, inputs]", describe(*x));
  op.require(is_floating(x->dtype), "x is {}, want numbers with a fraction", describe(*x));
  const int64_t steps = x->dims[0], batch = x->dims[1], rows = l.gates() * l.hidden, d = l.directions;
  const Dims of_x = {d, rows, x->dims[2]}, of_state = {d, rows, l.hidden}, states = {d, batch, l.hidden};
  op.require_shape("w", *w, of_x.data(), 3);
  op.require_shape("r", *r, of_state.data(), 3);
  l.b = checked(op, "b", b, {d, 2 * rows});
  l.lengths = checked(op, "sequence_lens", sequence_lens, {batch});
  op.require(!l.lengths.data || is_integral(l.lengths.dtype), "sequence_lens is {}, want INT32", describe(l.lengths));
  l.h0 = checked(op, "initial_h", initial_h, states);
  l.c0 = checked(op, "initial_c", initial_c, states);
  l.peepholes = checked(op, "p", p, {d, 3 * l.hidden});
  l.clip = static_cast<double>(a.clip);
  l.activations = activations_of(op, l, a);
  ir::result(op, "y", *y, {steps, d, batch, l.hidden}, x->dtype);
  ir::result(op, "y_h", *y_h, states, x->dtype);
  if (y_c) ir::result(op, "y_c", **y_c, states, x->dtype);
  const int64_t work = d * steps * batch * rows * (x->dims[2] + l.hidden);
  op.work(2 * work);
  op.flops(2 * work);
  l.x = *x, l.w = *w, l.r = *r, l.y = *y, l.h_last = *y_h;
  if (y_c) l.c_last = **y_c;
  op.kernel_scratch(work, [&] { return l.scratch(); });
  op.launch([l = std::move(l)] { l.run(); });
}

}  // namespace

ABOUT(CommonLSTM, Cube, "LSTM as ONNX has it: one or both directions, activations of choice, peepholes, lengths",
      "ONNX 形式的 LSTM 层：单向或双向，可选激活函数、peephole 与序列长度")
IR_OP(CommonLSTM, CommonLSTM, (In, x), (In, w), (In, r), (OptIn, b), (OptIn, sequence_lens), (OptIn, initial_h),
      (OptIn, initial_c), (OptIn, p), (Out, y), (Out, y_h), (Out, y_c), (Floats, activation_alpha, nullptr),
      (Floats, activation_beta, nullptr), (Texts, activations, nullptr), (Float, clip, -1),
      (Text, direction, "forward"), (Int, hidden_size), (Int, input_forget, 0)) {
  GeneralRnn l;
  l.cell = Cell::Lstm;
  l.coupled = input_forget != 0;
  layer(op, std::move(l), {*activation_alpha, *activation_beta, *activations, clip, direction, hidden_size}, x, w, r, b,
        sequence_lens, initial_h, initial_c, p, y, y_h, &y_c);
}

ABOUT(CommonGRU, Cube, "GRU as ONNX has it: one or both directions, activations of choice, lengths",
      "ONNX 形式的 GRU 层：单向或双向，可选激活函数与序列长度")
IR_OP(CommonGRU, CommonGRU, (In, x), (In, w), (In, r), (OptIn, b), (OptIn, sequence_lens), (OptIn, initial_h), (Out, y),
      (Out, y_h), (Floats, activation_alpha, nullptr), (Floats, activation_beta, nullptr),
      (Texts, activations, nullptr), (Float, clip, -1), (Text, direction, "forward"), (Int, hidden_size),
      (Int, linear_before_reset, 0)) {
  GeneralRnn l;
  l.cell = Cell::Gru;
  l.reset_after = linear_before_reset != 0;
  layer(op, std::move(l), {*activation_alpha, *activation_beta, *activations, clip, direction, hidden_size}, x, w, r, b,
        sequence_lens, initial_h, {}, {}, y, y_h, nullptr);
}

ABOUT(CommonRNN, Cube, "Plain recurrent layer as ONNX has it: one or both directions, activations of choice, lengths",
      "ONNX 形式的单门循环层：单向或双向，可选激活函数与序列长度")
IR_OP(CommonRNN, CommonRNN, (In, x), (In, w), (In, r), (OptIn, b), (OptIn, sequence_lens), (OptIn, initial_h), (Out, y),
      (Out, y_h), (Floats, activation_alpha, nullptr), (Floats, activation_beta, nullptr),
      (Texts, activations, nullptr), (Float, clip, -1), (Text, direction, "forward"), (Int, hidden_size)) {
  GeneralRnn l;
  l.cell = Cell::Plain;
  layer(op, std::move(l), {*activation_alpha, *activation_beta, *activations, clip, direction, hidden_size}, x, w, r, b,
        sequence_lens, initial_h, {}, {}, y, y_h, nullptr);
}

}  // namespace updraft
