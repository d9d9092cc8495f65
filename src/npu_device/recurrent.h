// Layers of Keras that TensorFlow traces as a function with a loop, and that the NPU has one operator for: LSTM and GRU
// in the form that GPUs have a kernel for, too (`api_implements` of the function says which layer it is).
//
// A call of such a function is one item, `_KerasLSTM` or `_KerasGRU`, and a call of its gradient is another,
// `_KerasLSTMGrad` or `_KerasGRUGrad`. What the loop would have handed on to the gradient are the gates instead.
#pragma once
#include <optional>

#include "npu_device/library.h"

namespace updraft::npu_device {

struct Recurrent {
  bool gru = false;
  bool gradient = false;
  bool reversed = false;    ///< time runs backwards
  bool time_major = false;  ///< [time, batch, features], else [batch, time, features]
  bool all_steps = false;   ///< `outputs` has every step, else the last one alone

  /// Tensors that the layer reads: x, states, weights, bias.
  size_t inputs() const { return gru ? 5 : 6; }
  /// What the layer gives: its last output, its outputs, states, and a number that says where it ran.
  size_t outputs() const { return gru ? 4 : 5; }
  /// What the gradient wants beside the inputs.
  size_t saved() const { return gru ? 5 : 7; }
};

/// What the function is, when it is such a layer, or the gradient of one. Layers with masks are not: they stay loops.
std::optional<Recurrent> recurrent_of(Library& library, const tensorflow::FunctionDef& function);
/// The definition of the item; `name` stays the caller's.
tensorflow::NodeDef definition_of(const Recurrent& layer, std::string_view name);
/// The types of its outputs for tensors of this type.
std::vector<ElementType> output_types(const Recurrent& layer, ElementType type);

}  // namespace updraft::npu_device
