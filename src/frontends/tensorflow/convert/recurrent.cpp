// Layers of Keras as npu_device finds them in functions (npu_device/recurrent.h): one operator each, and one for the
// gradients.
#include "frontends/tensorflow/convert/families.h"

namespace updraft::tensorflow {
namespace {

/// How the layer goes through time. Operators have [time, batch, features], in the order in which the steps are done.
class Steps {
 public:
  explicit Steps(Conversion& c)
      : c_(c), time_major_(c.flag("time_major")), reversed_(c.flag("go_backwards")), all_(c.flag("return_sequences")) {}

  /// The layer's inputs as operators have them.
  Endpoint of_inputs(Endpoint x) const { return reversed(ordered(x)); }
  /// The gradient of those as the layer has it.
  Endpoint to_inputs(Endpoint x) const { return ordered(reversed(x)); }
  /// `outputs` of the layer: all steps in the order in which they were done, or the last one.
  Endpoint to_outputs(Endpoint y) const { return all_ ? ordered(y) : c_.unsqueeze(last(y), {time_major_ ? 0 : 1}); }
  Endpoint last(Endpoint y) const {
    const int64_t steps = c_.size(y, 0, "the steps");
    return c_.squeeze(c_.slice(y, {steps - 1}, {steps}, {0}), {0});
  }
  /// Of the gradients for the last output, for the outputs and for the last state: those for all steps, and that for
  /// the last state with everything that is one with it.
  std::pair<Endpoint, Endpoint> gradients(Endpoint last, Endpoint outputs, Endpoint state, Endpoint like) const {
    const Endpoint of_last = c_.add(last, state);
    if (all_) return {ordered(outputs), of_last};
    const Endpoint none = c_.emit("Fill", {c_.ints(c_.dims(like)), c_.scalar_like(0, like)});
    return {none, c_.add(of_last, c_.squeeze(outputs, {time_major_ ? 0 : 1}))};
  }

 private:
  Endpoint ordered(Endpoint x) const { return time_major_ ? x : c_.transpose(x, {1, 0, 2}); }
  Endpoint reversed(Endpoint x) const { return reversed_ ? c_.emit("ReverseV2", {x, c_.ints({0})}) : x; }

  Conversion& c_;
  const bool time_major_, reversed_, all_;
};

constexpr const char* kLstmOrder = "ifco";

/// x, h, c, kernel, recurrent kernel, bias → last output, outputs, h, c, where it ran; gates.
void lstm(Conversion& c) {
  const Steps steps(c);
  graph::Node& made =
      c.node("DynamicRNNV2", {steps.of_inputs(c.in(0)), c.in(3), c.in(4), c.in(5), nullptr, c.in(1), c.in(2)},
             {{"gate_order", std::string(kLstmOrder)}});
  const Endpoint y = made.out(0), h = made.out(1), cells = made.out(2);
  c.give(steps.last(y));
  c.give(steps.to_outputs(y));
  c.give(steps.last(h));
  c.give(steps.last(cells));
  c.give(c.scalar(1, DType::Float));
  for (int i = 1; i < 8; ++i) c.give(made.out(i));
}

/// x, h, c, kernel, recurrent kernel, bias; gradients of last output, outputs, h, c; h, c, i, j, f, o, tanh(c) of all
/// steps → gradients of the first six.
void lstm_gradient(Conversion& c) {
  const Steps steps(c);
  const Endpoint h = c.in(10);
  const auto [dy, dh] = steps.gradients(c.in(6), c.in(7), c.in(8), h);
  graph::Node& made = c.node("DynamicRNNV2Grad",
                             {steps.of_inputs(c.in(0)), c.in(3), c.in(4), h, c.in(1), c.in(2), h, c.in(11), dy, dh,
                              c.in(9), c.in(12), c.in(13), c.in(14), c.in(15), c.in(16)},
                             {{"gate_order", std::string(kLstmOrder)}});
  c.give(steps.to_inputs(made.out(3)));
  c.give(made.out(4));
  c.give(made.out(5));
  c.give(made.out(0));
  c.give(made.out(1));
  c.give(made.out(2));
}

/// A bias [2, 3 units]: for inputs, and for the state.
Endpoint bias_of(Conversion& c, Endpoint bias, int64_t which) {
  return c.squeeze(c.slice(bias, {which}, {which + 1}, {0}), {0});
}

/// x, h, kernel, recurrent kernel, bias → last output, outputs, h, where it ran; gates.
void gru(Conversion& c) {
  const Steps steps(c);
  graph::Node& made = c.node(
      "DynamicGRUV2",
      {steps.of_inputs(c.in(0)), c.in(2), c.in(3), bias_of(c, c.in(4), 0), bias_of(c, c.in(4), 1), nullptr, c.in(1)},
      {{"gate_order", std::string("zrh")}});
  const Endpoint y = made.out(0), h = made.out(1);
  c.give(steps.last(y));
  c.give(steps.to_outputs(y));
  c.give(steps.last(h));
  c.give(c.scalar(1, DType::Float));
  for (int i = 1; i < 6; ++i) c.give(made.out(i));
}

/// x, h, kernel, recurrent kernel, bias; gradients of last output, outputs, h; h, update, reset, new, hidden part of
/// new of all steps → gradients of the first five.
void gru_gradient(Conversion& c) {
  const Steps steps(c);
  const Endpoint h = c.in(8);
  const auto [dy, dh] = steps.gradients(c.in(5), c.in(6), c.in(7), h);
  graph::Node& made =
      c.node("DynamicGRUV2Grad",
             {steps.of_inputs(c.in(0)), c.in(2), c.in(3), h, c.in(1), h, dy, dh, c.in(9), c.in(10), c.in(11), c.in(12)},
             {{"gate_order", std::string("zrh")}});
  c.give(steps.to_inputs(made.out(4)));
  c.give(made.out(5));
  c.give(made.out(0));
  c.give(made.out(1));
  c.give(c.emit("Pack", {std::vector<Endpoint>{made.out(2), made.out(3)}}, {{"axis", int64_t{0}}, {"N", int64_t{2}}}));
}

constexpr Row kRows[] = {
    {"_KerasGRU", gru, "DynamicGRUV2"},
    {"_KerasGRUGrad", gru_gradient, "DynamicGRUV2Grad"},
    {"_KerasLSTM", lstm, "DynamicRNNV2"},
    {"_KerasLSTMGrad", lstm_gradient, "DynamicRNNV2Grad"},
};

}  // namespace

std::span<const Row> recurrent_rows() { return kRows; }

}  // namespace updraft::tensorflow
