// A graph for certain sizes of its inputs, ready to run: the steps in their order and a place for every tensor.
// Nothing is allocated or looked up while it runs. It holds no addresses, so any number of runs share it.
#pragma once
#include <memory>
#include <optional>
#include <vector>

#include "graph/shape/known.h"

namespace updraft::graph {

/// Where a tensor lies.
struct Place {
  enum class Area : uint8_t { Arena, Input, Output, Constant, Value };
  Area area = Area::Arena;
  size_t index = 0;   ///< of an input, output or constant (Program::constants), or of a value (Program::values)
  size_t offset = 0;  ///< bytes, in the arena
};

struct StepTensor {
  Place place;
  DType dtype = DType::Undefined;
  Dims dims;
  bool absent = false;         ///< an optional input that is not there
  bool channels_last = false;  ///< dimension 1 is the innermost one in memory; else row-major, or as `strides` say
  Dims strides = {};           ///< in elements, of a tensor that lies in another one's memory transposed; else empty
};

struct Step {
  const Node* node = nullptr;  ///< null: inputs[0] is copied to outputs[0]
  std::vector<StepTensor> inputs, outputs;
};

struct Program {
  std::vector<Step> steps;
  std::vector<Known> inputs, outputs;
  std::vector<const Node*> constants;  ///< Const nodes whose tensors are read
  std::vector<Tensor> values;          ///< tensors that were computed while planning
  size_t arena_bytes = 0;
};

/// The program for these inputs (in the order of Graph::inputs()). Nothing where values that are computed decide the
/// shape of a tensor, or which nodes run. `late` names outputs that are written at last, because their memory may be an
/// input's. Throws what an operator refuses.
std::optional<Program> plan(const Graph& graph, std::span<const Known> inputs, std::span<const size_t> late = {});

/// True for types whose output has the elements of the first input in the same order: no work where both lie dense.
bool passes_on(const Node& node);

/// True for operators that read this input as fast where it is a transposed view.
bool reads_transposed(const Node& node, size_t input);

/// True for an operator that writes its input's memory and that clients use as one that does not: an input of the graph
/// (Data) must stay as it is. Others (Scatter…, Assign, steps of optimizers) write a client's tensor on purpose.
bool gives_a_new_tensor(const Node& node);

}  // namespace updraft::graph
