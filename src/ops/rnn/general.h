// Recurrent layers as ONNX has them: activations of choice, peepholes, clips, sequences of several lengths, one or two
// directions. A layer with nothing of this is faster as RnnLayer (layer.h).
#pragma once
#include <string>
#include <vector>

#include "tensor/view.h"

namespace updraft {

/// f(x) of a gate. alpha and beta mean what they do in ONNX.
struct GateActivation {
  enum class Kind : uint8_t {
    Tanh,
    Sigmoid,
    Relu,
    Softsign,
    Softplus,
    LeakyRelu,
    ThresholdedRelu,
    Elu,
    HardSigmoid,
    Affine,
    ScaledTanh
  };
  Kind kind = Kind::Tanh;
  double alpha = 1, beta = 0;

  bool has_alpha() const { return kind >= Kind::LeakyRelu; }
  bool has_beta() const { return kind >= Kind::HardSigmoid; }
};
/// With the constants that ONNX gives it; false: no activation has that name.
bool activation_of(const std::string& name, GateActivation* activation);

struct GeneralRnn {
  enum class Cell : uint8_t { Plain, Lstm, Gru };
  Cell cell = Cell::Plain;
  int64_t hidden = 0, directions = 1;
  bool reverse = false;                     ///< of one direction: time runs backwards. Of two the second's does.
  std::vector<GateActivation> activations;  ///< activations_each() of one direction, then those of the other
  double clip = 0;                          ///< what goes into the gates lies within it; 0: none
  bool coupled = false;                     ///< LSTM: the forget gate is 1 - the input gate
  bool reset_after = false;                 ///< GRU: the reset gate is applied to the product of the state

  // Gates: of a plain cell one; i o f c of an LSTM; z r h of a GRU. Absent views have no memory.
  TensorView x;               ///< [steps, batch, input]
  TensorView w, r;            ///< [directions, gates * hidden, input], [directions, gates * hidden, hidden]
  TensorView b;               ///< [directions, 2 * gates * hidden]: of the product of x, and of that of the state
  TensorView lengths;         ///< [batch], steps of each sequence; behind them y is 0 and the state stays
  TensorView h0, c0;          ///< [directions, batch, hidden]
  TensorView peepholes;       ///< [directions, 3 * hidden], of i o f
  TensorView y;               ///< [steps, directions, batch, hidden]
  TensorView h_last, c_last;  ///< [directions, batch, hidden]

  int64_t gates() const { return cell == Cell::Lstm ? 4 : cell == Cell::Gru ? 3 : 1; }
  size_t activations_each() const { return cell == Cell::Lstm ? 3 : cell == Cell::Gru ? 2 : 1; }

  /// Fills y and the last states, those that have memory. Computes in f32, in f64 where x is DOUBLE.
  void run() const;
  /// Scratch that it takes for its arrays, in bytes.
  size_t scratch() const;
};

}  // namespace updraft
