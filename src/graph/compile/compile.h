// From a graph as a front end made it to one that is ready to be planned: sizes of inputs, passes, shapes of all
// tensors.
#pragma once
#include <map>
#include <string>

#include "graph/ir/graph.h"

namespace updraft::graph {

using OptionTexts = std::map<std::string, std::string>;

/// "x:1,3,224,224;y:2,-1"; an input without a colon is a scalar. Names may have colons: the last one counts. Throws
/// 100000 with the part that is wrong.
std::map<std::string, Dims> parse_input_shapes(const std::string& text);

/// Refuses (100000) a value that an option cannot have. Names that are not known are let through: clients pass options
/// of other components.
void check_options(const OptionTexts& options);

/// A compiled copy. Throws 161002 with a node's name for what cannot be compiled, 100000 for options.
Model compile(const Model& model, const OptionTexts& options);

}  // namespace updraft::graph
