// Weights in files beside an om (external_weight): nodes of type FileConstant in the place of constants.
#pragma once
#include <string>

#include "graph/ir/graph.h"

namespace updraft::om {

/// Writes the constants of the model into DIRECTORY/weight, one file for each content, named by its hash; the nodes say
/// where they are. Small ones stay. Throws 100003 where a file cannot be written.
void move_weights_out(graph::Model& model, const std::string& directory);

/// Nodes of type FileConstant become constants, whose bytes are those of the mapped files. Throws 100003 with the file,
/// and 100013 where a node does not say enough, or where nobody knows the folder.
void bring_weights_in(graph::Model& model, const std::string& directory);

}  // namespace updraft::om
