// Constants that become variables, so that a model that is built once takes new weights when it runs.
#pragma once
#include <string>
#include <vector>

#include "graph/ir/graph.h"

namespace updraft::graph {

struct Refreshable {
  Model infer;   ///< the graph, which reads variables where it had constants
  Model init;    ///< without inputs: gives the variables the values of the constants
  Model update;  ///< gives the variables its inputs, in the order of the names
};

/// `constants`: names of constants of the model's main graph. The model stays as it is. Throws 161002 for a name that
/// is none or that is given twice.
Refreshable make_refreshable(const Model& model, const std::vector<std::string>& constants);

}  // namespace updraft::graph
