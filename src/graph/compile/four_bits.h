// Numbers of four bits.
#pragma once
#include "graph/ir/graph.h"

namespace updraft::graph {

/// Operators take INT4 as eight in an INT32. Clients that have them so say that they mean INT4 (Bitcast, and a Reshape
/// to eight times as many): their words stay as they are, and so do those of weights that are transposed behind that,
/// because operators have an attribute for it. Inputs and variables of INT4 become such words.
void keep_four_bits_in_words(Graph& graph);

}  // namespace updraft::graph
