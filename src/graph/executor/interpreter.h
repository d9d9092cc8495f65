// A run of a graph node by node, where values decide shapes or which nodes run: each node is planned when the tensors
// that it reads are there.
#pragma once
#include <functional>

#include "graph/executor/run.h"

namespace updraft::graph {

/// A tensor of a run.
struct LiveTensor {
  DType dtype = DType::Undefined;
  Dims dims;
  void* data = nullptr;               ///< as clients see it
  std::shared_ptr<const void> owner;  ///< of memory that goes with the tensor
  size_t bytes() const { return static_cast<size_t>(count_of(dims)) * size_of(dtype); }
};

/// The graph's outputs, in order. `model` has the graphs that its nodes call; `place` is what observers are told.
std::vector<LiveTensor> interpret(const Model& model, const Graph& graph, const Weights& weights,
                                  std::vector<LiveTensor> inputs, const NodePlace& place);

}  // namespace updraft::graph
