// AIPP: what is done to images of bytes before a model's input (insert_op_conf). Static: as the file says. Dynamic: as
// clients say before each execution, in one input more.
#pragma once
#include <string>
#include <vector>

#include "graph/ir/graph.h"
#include "kernels/aipp.h"

namespace updraft::graph {

/// A block of the file.
struct Aipp {
  bool dynamic = false;
  size_t input = 0;        ///< of the model
  std::string input_name;  ///< the same by its name; empty: by its number
  aipp::Common common;     ///< sizes of 0: what the model's input needs
  aipp::Picture picture;
  int64_t most_bytes = 0;  ///< of dynamic AIPP: of the images of a batch (max_src_image_size)
};

/// The file's aipp_op blocks. Throws OptionError with what is wrong.
std::vector<Aipp> read_aipp(const std::string& path);

/// The graph's inputs take images, and an Aipp node stands before what read them. Throws OptionError where sizes do not
/// fit.
void insert_aipp(Graph& graph, const std::vector<Aipp>& all, const std::string& path);

/// Nodes with this attribute keep their types, whatever the precision mode says.
inline constexpr const char* kKeepsType = "_keep_dtype";
/// The type that the model's input had before AIPP, of the Aipp node.
inline constexpr const char* kOriginalType = "_origin_dtype";

}  // namespace updraft::graph
