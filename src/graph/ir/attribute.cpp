#include "graph/ir/attribute.h"

#include "graph/ir/graph.h"

namespace updraft::graph {

const char* Attribute::kind() const {
  static constexpr const char* kNames[] = {"an empty list",
                                           "an integer",
                                           "a float",
                                           "a bool",
                                           "a text",
                                           "bytes",
                                           "a data type",
                                           "a tensor's description",
                                           "a tensor",
                                           "a graph",
                                           "a function",
                                           "a list of integers",
                                           "a list of floats",
                                           "a list of bools",
                                           "a list of texts",
                                           "a list of bytes",
                                           "a list of data types",
                                           "a list of tensors' descriptions",
                                           "a list of tensors",
                                           "a list of graphs",
                                           "a list of functions",
                                           "lists of integers",
                                           "lists of floats"};
  static_assert(std::size(kNames) == std::variant_size_v<Value>);
  return kNames[value_.index()];
}

}  // namespace updraft::graph
