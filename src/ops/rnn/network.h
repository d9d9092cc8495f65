// Layers and directions of a recurrent network.
#pragma once
#include "ops/op.h"
#include "ops/rnn/layer.h"

namespace updraft {

struct RnnNetwork {
  bool gru = false, biases = true;
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
  void run_backward() const;
  int64_t cells() const { return layers * directions; }
  /// Of the products of the forward pass; the gradients take twice as many.
  int64_t flops() const;

 private:
  RnnLayer layer(int64_t index, const TensorView& input, const std::vector<int64_t>& active) const;
  std::vector<int64_t> active() const;
};

/// The input of a network as [steps, batch, input]: swapped when the batch is first, cut when it is packed.
TensorView time_major(const Op& op, const TensorView& v, bool batch_first, const TensorView* batch_sizes);
/// Checks the parameters and the states of a network; gates is 4 or 3.
void check_network(const Op& op, const RnnNetwork& net, int64_t gates);
/// The views of a list; empty for an absent one.
std::vector<TensorView> views_of(const OptTensors& list);
std::vector<TensorView> views_of(const Tensors& list);

}  // namespace updraft
