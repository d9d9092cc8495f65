// Passes rewrite a graph into one that gives the same results with less work. One file each; all are rows of the table
// in passes.cpp, in the order in which they run.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "graph/ir/graph.h"
#include "graph/passes/switches.h"

namespace updraft::graph {

struct Pass {
  const char* name;  ///< as fusion switches and reports have it
  /// Returns how often it changed something.
  int64_t (*run)(Graph&);
};

/// What the passes did.
struct PassCount {
  const char* name;
  int64_t changes;
};

std::span<const Pass> all_passes();
/// All that are on, until none changes anything or a round limit is reached.
std::vector<PassCount> run_passes(Graph& graph, const PassSwitches& switches = {});

// passes/*.cpp
int64_t remove_dead_nodes(Graph& graph);
int64_t fold_constants(Graph& graph);
int64_t remove_identities(Graph& graph);
int64_t drop_places(Graph& graph);
int64_t move_relu_gradients(Graph& graph);
int64_t add_biases(Graph& graph);
int64_t take_batch_norms(Graph& graph);
int64_t fuse_convolutions(Graph& graph);
int64_t fuse_training_norms(Graph& graph);
int64_t fuse_products(Graph& graph);
int64_t take_relu(Graph& graph);
int64_t swap_transposed_products(Graph& graph);
int64_t cast_behind_transposes(Graph& graph);
int64_t widen_products(Graph& graph);
int64_t recognise_functions(Graph& graph);
int64_t recognise_layer_norms(Graph& graph);
int64_t recognise_root_norms(Graph& graph);
int64_t fuse_attention(Graph& graph);
int64_t fuse_quantized(Graph& graph);
int64_t make_byte_tables(Graph& graph);
int64_t fold_batch_norms(Graph& graph);
int64_t flush_subnormals(Graph& graph);
int64_t merge_equal_numbers(Graph& graph);
int64_t merge_equal_nodes(Graph& graph);
int64_t cancel_casts(Graph& graph);
int64_t cancel_transposes(Graph& graph);
int64_t fuse_adam_updates(Graph& graph);
int64_t fuse_momentum_updates(Graph& graph);
int64_t fuse_collectives(Graph& graph);

}  // namespace updraft::graph
