// Where the channels of an image are, by the attribute data_format: second (NCHW, NCDHW) or last (NHWC, NDHWC).
// Operators compute with the channels second; tensors that have them last are seen in that order, without a copy.
#pragma once
#include "ops/ir/shapes.h"

namespace updraft::ir {

struct Layout {
  bool last = false;

  /// The tensor as N, C and its spatial dimensions.
  TensorView first(const TensorView& v) const;
  Dims first(const Dims& dims) const;
  /// A filter as outputs, inputs of a group and its spatial dimensions: with the channels last filters lie as HWCN and
  /// DHWCN, unless the client says another format of the tensor.
  TensorView filter(const TensorView& v, int32_t format) const;
  /// Dimensions in the client's order again.
  Dims own(const Dims& first) const;
};

/// Refuses other words than those of `spatial` dimensions (2 or 3).
Layout layout_of(const Op& op, int spatial, std::string_view format);

}  // namespace updraft::ir
