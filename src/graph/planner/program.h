// A graph for certain sizes of its inputs, ready to run: the steps in their order and a place for every tensor.
// Nothing is allocated or looked up while it runs. It holds no addresses, so any number of runs share it.
#pragma once
#include <algorithm>
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
  size_t offset = 0;  ///< bytes, in the arena; of an input or output those before the images that a step takes
};

struct StepTensor {
  Place place;
  DType dtype = DType::Undefined;
  Dims dims;
  bool absent = false;         ///< an optional input that is not there
  bool channels_last = false;  ///< dimension 1 is the innermost one in memory; else row-major, or as `strides` say
  Dims strides = {};           ///< in elements, of a tensor that lies in another one's memory transposed; else empty
  size_t round_bytes = 0;      ///< from its images of one round to those of the next; 0: always the same memory
};

struct Step {
  const Node* node = nullptr;  ///< null: inputs[0] is copied to outputs[0]
  std::vector<StepTensor> inputs, outputs;
};

struct Program {
  std::vector<Step> steps;
  /// Which step runs when, some of them several times, with some images of a batch at a time (planner/image_blocks.h);
  /// empty: each once, in their order.
  std::vector<size_t> order;
  std::vector<Known> inputs, outputs;
  std::vector<const Node*> constants;  ///< Const nodes whose tensors are read
  std::vector<Tensor> values;          ///< tensors that were computed while planning
  size_t arena_bytes = 0;
  /// The same with each step once, for whoever wants to see whole tensors; null: this program is so.
  std::shared_ptr<const Program> whole;

  size_t times() const { return order.empty() ? steps.size() : order.size(); }  ///< that a step runs
  size_t step_at(size_t time) const { return order.empty() ? time : order[time]; }
  /// Of the arena of any run.
  size_t most_bytes() const { return whole ? std::max(arena_bytes, whole->arena_bytes) : arena_bytes; }
};

/// The program for these inputs (in the order of Graph::inputs()). Nothing where values that are computed decide the
/// shape of a tensor, or which nodes run. `late` names outputs that are written at last, because their memory may be an
/// input's. `threads`: of the device; 0: as the configuration says. Throws what an operator refuses.
std::optional<Program> plan(const Graph& graph, std::span<const Known> inputs, std::span<const size_t> late = {},
                            int threads = 0);

/// True for types whose output has the elements of the first input in the same order: no work where both lie dense.
bool passes_on(const Node& node);

/// True for operators that read this input as fast where it is a transposed view.
bool reads_transposed(const Node& node, size_t input);

/// True for an operator that writes its input's memory and that clients use as one that does not: an input of the graph
/// (Data) must stay as it is. Others (Scatter…, Assign, steps of optimizers) write a client's tensor on purpose.
bool gives_a_new_tensor(const Node& node);

}  // namespace updraft::graph
