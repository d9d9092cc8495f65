// What can be said of a model before it is on a device: its inputs and outputs, its gears, the memory that it wants.
#pragma once
#include <atomic>
#include <memory>
#include <vector>

#include "graph/planner/program.h"
#include "graph/shape/gears.h"

namespace updraft::graph {

/// The sizes that clients choose from; descriptions keep it when the model is gone.
struct GearTable {
  Gears gears;
  std::vector<std::vector<Dims>> inputs;         ///< of each gear the shapes of the inputs
  std::vector<std::vector<TensorDesc>> outputs;  ///< and what the outputs are
  std::atomic<size_t> chosen{0};                 ///< the gear that was chosen last, the first where none was
};

struct Outline {
  struct Planned {
    std::vector<Dims> dims;                  ///< of the inputs
    std::shared_ptr<const Program> program;  ///< null: values decide, so it is run node by node
  };
  std::vector<const Node*> inputs;
  std::vector<TensorDesc> outputs;   ///< -1 where a size is not known before the execution
  std::shared_ptr<GearTable> gears;  ///< null without gears
  std::vector<Planned> programs;     ///< for the sizes that are known: the only ones, or those of the gears
  bool is_static = false;            ///< the sizes of all tensors are known before an execution
  size_t work_bytes = 0;             ///< memory of one execution; 0 where sizes are not known
};

/// `late`: outputs that are written when all else has run. The programs hold pointers to the graph's nodes. Throws
/// 161002 for a graph without outputs.
Outline outline(const Graph& graph, const std::vector<size_t>& late = {});

/// What the constants of a model take on a device.
size_t weight_bytes(const Model& model);
/// So much of it takes a constant of `bytes`.
size_t aligned_weight(size_t bytes);

}  // namespace updraft::graph
