// What a ge::TensorDesc holds, and how it becomes a description of a graph's tensor.
#pragma once
#include <utility>
#include <vector>

#include "graph/ir/tensor.h"
#include "graph/tensor.h"

namespace ge {

class TensorDescImpl {
 public:
  std::vector<int64_t> dims, origin_dims;
  DataType type = DT_UNDEFINED;
  Format format = FORMAT_ND, origin_format = FORMAT_ND;
  Placement placement = kPlacementHost;
  int64_t real_dims = 0;  ///< of layouts of the card, which there are none of here
  std::vector<std::pair<int64_t, int64_t>> ranges;
};

TensorDescImpl& desc_impl(const TensorDesc& desc);
updraft::graph::TensorDesc described(const TensorDesc& desc);
TensorDesc described(const updraft::graph::TensorDesc& desc);
/// A constant with a copy of the elements. Throws when they are fewer than the description wants.
updraft::graph::Tensor constant_of(const Tensor& tensor);
Tensor tensor_of(const updraft::graph::Tensor& constant);

}  // namespace ge
