// One layer of a recurrent network in one direction, forwards and backwards. All views may have any strides and
// floating types; what has no data is absent. Computed in f32 (f64 for double).
#pragma once
#include <vector>

#include "tensor/view_algebra.h"

namespace updraft {

struct RnnLayer {
  bool gru = false;
  bool reverse = false;         ///< time runs backwards
  std::vector<int64_t> active;  ///< rows that take part at each step (packed sequences); empty: all
  TensorView x;                 ///< [steps, batch, input]
  TensorView w_in, w_hidden;    ///< [gates, input], [gates, hidden]; gates i f j o, or r z n
  TensorView b_in, b_hidden;    ///< [gates]
  TensorView h0, c0;            ///< [batch, hidden]
  /// What the backward pass wants, [steps, batch, hidden]: i f j o c tanh(c) h, or r z n hidden-half h.
  static constexpr int kSaved = 7;
  TensorView saved[kSaved];

  // forwards
  TensorView y;               ///< [steps, batch, hidden]
  TensorView h_last, c_last;  ///< [batch, hidden]

  // backwards
  TensorView dy;                ///< [steps, batch, hidden]
  TensorView dh_last, dc_last;  ///< [batch, hidden]
  TensorView dx;                ///< [steps, batch, input]
  bool add_dx = false;          ///< added to dx (the second direction)
  TensorView dw_in, dw_hidden, db_in, db_hidden, dh0, dc0;
};

/// Fills saved (where present), y, h_last, c_last.
void run_rnn(const RnnLayer& layer);
/// Fills the gradients that are present.
void run_rnn_backward(const RnnLayer& layer);
/// Scratch that the two take in the thread that calls them, in bytes. Of `active` only counts whether it is empty.
size_t rnn_scratch(const RnnLayer& layer);
size_t rnn_backward_scratch(const RnnLayer& layer);

}  // namespace updraft
