// Weights in files beside an om (external_weight): nodes of type FileConstant in the place of constants.
#pragma once
#include <map>
#include <string>
#include <utility>

#include "graph/ir/graph.h"

namespace updraft::om {

/// Writes the constants of the model into DIRECTORY/weight, one file for each content, named by its hash; the nodes say
/// where they are. Small ones stay. Throws 100003 where a file cannot be written.
void move_weights_out(graph::Model& model, const std::string& directory);

/// Nodes of type FileConstant become constants, whose bytes are those of the mapped files. Throws 100003 with the file,
/// and 100013 where a node does not say enough, or where nobody knows the folder.
/// `loaded`: files, by their names without a folder, whose content lies on the device; it is copied when the model is
/// loaded.
void bring_weights_in(graph::Model& model, const std::string& directory,
                      const std::map<std::string, std::pair<const void*, size_t>, std::less<>>& loaded = {});

}  // namespace updraft::om
