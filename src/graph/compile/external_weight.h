// ge.externalWeight: constants of a graph that is compiled and run in this process lie in files, not in its memory.
#pragma once
#include "graph/ir/graph.h"

namespace updraft::graph {

/// Smaller constants, in bytes, say how nodes work, and a file for each would cost more than it holds.
inline constexpr size_t kLeastExternalWeight = 1024;

/// Constants of that size and more become nodes of type FileConstant, each with a file of its own in tmp_weight, a
/// folder of the current directory, which is mapped. A file goes with the model and all who hold its constant, at the
/// latest with the process, and the folder with the last of them. Throws 100003 where a file cannot be written.
void move_weights_to_files(Model& model);

/// Those nodes are constants again, as passes and the planner want them, of the mapped bytes.
void name_weights_constants(Model& model);

}  // namespace updraft::graph
