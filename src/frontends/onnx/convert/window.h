// Windows of convolutions and pooling as attributes of ONNX's nodes give them.
#pragma once
#include "frontends/onnx/conversion.h"

namespace updraft::onnx {

struct Window {
  Dims kernel, strides, dilations, before, after;  ///< a value for each spatial dimension
  size_t spatial() const { return kernel.size(); }
  bool even() const { return before == after; }
  bool padded() const;
  bool dilated() const;
  /// before and after in turns, as the graph's operators have them.
  Dims pads() const;
};

/// Of x [N, C, …]; `kernel` where no attribute says it. Automatic padding wants known sizes.
Window window_of(Conversion& c, Endpoint x, Dims kernel);

/// The window with a dimension of 1 in front, and tensors that have it: what is one-dimensional is computed in two.
Window with_height(const Window& w);
inline constexpr int kHeight = 2;

/// [1, 1, values…]
Dims with_channels(const Dims& values);

}  // namespace updraft::onnx
