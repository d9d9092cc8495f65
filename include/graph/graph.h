// Part of Updraft: a software implementation of the interfaces that Ascend programs use.
/** @file
 * A graph of the Ascend IR.
 */
#ifndef UPDRAFT_GRAPH_GRAPH_H_
#define UPDRAFT_GRAPH_GRAPH_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "graph/types.h"

namespace ge {

class GraphImpl;
class GNodeImpl;

/** A node of a graph. */
class GE_FUNC_VISIBILITY GNode {
 public:
  GNode() = default;
  /** The operator's type: "Conv2D". */
  graphStatus GetType(AscendString& type) const;

 private:
  friend class Graph;
  std::shared_ptr<GNodeImpl> impl_;
};

/** Copies are the same graph; CopyFrom() makes another one. */
class GE_FUNC_VISIBILITY Graph {
 public:
  Graph() = default;
  explicit Graph(const char* name);
  ~Graph() = default;

  /** Becomes the graph of a serialised model (ge.proto.ModelDef). The bytes are copied. */
  graphStatus LoadFromSerializedModelArray(const void* model, size_t size);
  /** Becomes a copy, with nodes of its own. */
  graphStatus CopyFrom(const Graph& other);
  std::vector<GNode> GetAllNodes() const;
  /** Writes the graph as a serialised model (an AIR file). */
  graphStatus SaveToFile(const char* file_name) const;

 private:
  friend GraphImpl& graph_impl(Graph& graph);
  friend const GraphImpl* graph_impl(const Graph& graph);
  std::shared_ptr<GraphImpl> impl_;
};

}  // namespace ge

#endif  // UPDRAFT_GRAPH_GRAPH_H_
