// Part of Updraft: a software implementation of the interfaces that Ascend programs use.
/** @file
 * A graph of the Ascend IR: from a serialised model, from an ONNX model (parser/onnx_parser.h), or from operators
 * (all_ops.h):
 *
 *   auto x = ge::op::Data("x");
 *   x.update_output_desc_y(ge::TensorDesc(ge::Shape({4, 8}), ge::FORMAT_ND, ge::DT_FLOAT));
 *   auto y = ge::op::Relu("y").set_input_x(x);
 *   ge::Graph graph("relu");
 *   graph.SetInputs({x}).SetOutputs({y});
 */
#ifndef UPDRAFT_GRAPH_GRAPH_H_
#define UPDRAFT_GRAPH_GRAPH_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "graph/operator.h"
#include "graph/types.h"

namespace ge {

class GraphImpl;
class GNodeImpl;
struct NodeAccess;

class GNode;
using GNodePtr = std::shared_ptr<GNode>;

/** A node of a graph. Copies are the same node; it is there as long as a GNode names it. */
class GE_FUNC_VISIBILITY GNode {
 public:
  GNode() = default;
  graphStatus GetName(AscendString& name) const;
  /** The operator's type: "Conv2D". */
  graphStatus GetType(AscendString& type) const;
  /** All inputs, absent ones too, and all outputs. */
  size_t GetInputsSize() const;
  size_t GetOutputsSize() const;
  /** What makes input `index`: the node and the number of its output. Null and -1 where there is none. */
  std::pair<GNodePtr, int32_t> GetInDataNodesAndPortIndexs(int32_t index) const;
  /** Who reads output `index`: nodes, and the numbers of their inputs. */
  std::vector<std::pair<GNodePtr, int32_t>> GetOutDataNodesAndPortIndexs(int32_t index) const;
  /** Nodes that run before this one, or behind it, although no tensor joins them. */
  std::vector<GNodePtr> GetInControlNodes() const;
  std::vector<GNodePtr> GetOutControlNodes() const;

 private:
  friend struct NodeAccess;
  std::shared_ptr<GNodeImpl> impl_;
};

/** Copies are the same graph; CopyFrom() makes another one. */
class GE_FUNC_VISIBILITY Graph {
 public:
  Graph() = default;
  explicit Graph(const char* name);
  explicit Graph(const std::string& name) : Graph(name.c_str()) {}
  ~Graph() = default;

  /**
   * The operators by which the graph is fed (Data), in the order of its inputs: the attribute index decides, and where
   * it is the same, this order. Other operators may be among them.
   */
  Graph& SetInputs(const std::vector<Operator>& inputs);
  /** All outputs of these operators are the graph's outputs, in this order. What they need belongs to the graph. */
  Graph& SetOutputs(const std::vector<Operator>& outputs);
  /** Only these outputs, by number (none: all) or by name. */
  Graph& SetOutputs(const std::vector<std::pair<Operator, std::vector<size_t>>>& outputs);
  Graph& SetOutputs(const std::vector<std::pair<Operator, AscendString>>& outputs);
  Graph& SetOutputs(const std::vector<std::pair<Operator, std::string>>& outputs) {
    std::vector<std::pair<Operator, AscendString>> named;
    for (const auto& output : outputs) named.emplace_back(output.first, AscendString(output.second.c_str()));
    return SetOutputs(named);
  }
  /** Operators that run although no output needs them: assignments, steps of optimizers. */
  Graph& SetTargets(const std::vector<Operator>& targets);
  /** True when there is a graph, and its operators fit together. Else GEGetErrorMsg() says what is wrong. */
  bool IsValid() const;
  graphStatus GetName(AscendString& name) const;

  /** Becomes the graph of a serialised model (ge.proto.ModelDef). The bytes are copied. */
  graphStatus LoadFromSerializedModelArray(const void* model, size_t size);
  /** Becomes a copy, with nodes of its own. */
  graphStatus CopyFrom(const Graph& other);
  std::vector<GNode> GetAllNodes() const;
  /** The nodes of the graph itself, without those of the graphs that they run. */
  std::vector<GNode> GetDirectNode() const;
  /** Change the graph, whose nodes GetAllNodes() gave. What is done to its operators afterwards has no effect on it. */
  graphStatus RemoveNode(GNode& node);
  graphStatus RemoveEdge(GNode& from, int32_t output, GNode& to, int32_t input);
  graphStatus AddDataEdge(GNode& from, int32_t output, GNode& to, int32_t input);
  graphStatus AddControlEdge(GNode& from, GNode& to);
  /** One run of the graph in a session is as many as the session's variable npu_runconfig/iterations_per_loop says,
   * and one; the outputs are those of the last. */
  void SetNeedIteration(bool need);
  /** Writes the graph as a serialised model (an AIR file). */
  graphStatus SaveToFile(const char* file_name) const;

 private:
  friend GraphImpl& graph_impl(Graph& graph);
  friend const GraphImpl* graph_impl(const Graph& graph);
  std::shared_ptr<GraphImpl> impl_;
};

}  // namespace ge

#endif  // UPDRAFT_GRAPH_GRAPH_H_
