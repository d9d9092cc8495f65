// ENABLE_NETWORK_ANALYSIS_DEBUG: a graph that cannot be compiled does not stop those behind it; everything that fails
// is told at once.
#pragma once
#include <cstdint>
#include <string>

#include "graph/ir/graph.h"

namespace ge {

/// Tells on stderr and in the log why the graph failed, and of each other node that has no operator.
void report_failure(uint32_t id, const updraft::graph::Graph& graph, const std::string& reason);

}  // namespace ge
