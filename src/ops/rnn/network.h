// Layers and directions of a recurrent network.
#pragma once
#include "base/scratch.h"
#include "ops/op.h"
#include "ops/rnn/dropout.h"
#include "ops/rnn/layer.h"

namespace updraft {

struct RnnNetwork {
  bool gru = false, biases = true, batch_first = false;
  double dropout = 0;  ///< between layers; the gradients of a GRU find it in what was saved
  int64_t layers = 1, directions = 1;
  TensorView x;                                     ///< [steps, batch, input]
  TensorView batch_sizes;                           ///< rows at each step, or no data
  std::vector<TensorView> params;                   ///< w_in, w_hidden(, b_in, b_hidden) of each layer and direction
  TensorView h0, c0;                                ///< [layers * directions, batch, hidden], or no data
  std::vector<TensorView> saved[RnnLayer::kSaved];  ///< of each layer and direction, or empty
  TensorView y, h_last, c_last;

  TensorView dy, dh_last, dc_last;  ///< any may be absent
  TensorView dx, dh0, dc0;
  std::vector<TensorView> dparams;

  void run() const;
  void run_backward();
  int64_t cells() const { return layers * directions; }
  /// Of the products of the forward pass; the gradients take twice as many.
  int64_t flops() const;
  /// What run() takes from scopes, or run_backward().
  size_t scratch_bytes(bool backward) const;

 private:
  LayerDropout dropout_of(double p) const;
  /// The client does not tell the gradients of a GRU about dropout. So the forward pass leaves the probability in the
  /// first element of the first h, which r, z, n and the first state tell as well, and says so by the sign of the
  /// z beside it, which has no other use for one.
  void leave_probability() const;
  /// Finds it, and puts copies without it in the place of these arrays.
  double take_probability(ScratchScope& scratch);
  /// The probability as the saved arrays can hold it.
  double held(double p) const;
  RnnLayer layer(int64_t index, const TensorView& input, const std::vector<int64_t>& active) const;
  std::vector<int64_t> active() const;
};

/// A network without its states; batch_sizes may be absent.
RnnNetwork network_of(const Op& op, const TensorView& input, const Tensors& params, const OptIn& batch_sizes,
                      bool biases, int64_t layers, bool bidirectional, bool batch_first);
/// Dropout between the layers, where there are several and they are trained.
void set_dropout(const Op& op, RnnNetwork& net, double dropout, bool train);
/// Checks the parameters and the states of a network; gates is 4 or 3.
void check_network(const Op& op, const RnnNetwork& net, int64_t gates);
/// Inference: shapes of the output of a network for `input`, of its last states and of what it saves, in the input's
/// type.
void suggest_network(const Op& op, const RnnNetwork& net, const TensorView& input, const TensorView& output,
                     std::initializer_list<const TensorView*> states, std::initializer_list<OptTensors> saved);
/// Inference: shapes of the gradients.
void suggest_network_gradients(const Op& op, const RnnNetwork& net, const TensorView& input, const TensorView& dx,
                               std::initializer_list<const TensorView*> states, const Tensors& dparams);
/// The rest of the forward pass: its output, and the lists in which it leaves what the backward pass wants (or absent).
void plan_network(Op& op, RnnNetwork&& net, const TensorView& output, std::initializer_list<OptTensors> saved);
/// The rest of the backward pass.
void plan_network_backward(Op& op, RnnNetwork&& net, const OptIn& dy, const OptIn& dh_last,
                           std::initializer_list<Tensors> saved, const TensorView& dx, const TensorView& dh0,
                           const Tensors& dparams);

}  // namespace updraft
