// Nodes of a ge::Graph as clients walk and change them.
#include "ge/graph_impl.h"
#include "ge/status.h"

namespace ge {

namespace ir = updraft::graph;
using updraft::Error;
namespace code = updraft::code;

class GNodeImpl {
 public:
  std::shared_ptr<ir::Graph> graph;
  ir::Node* node;
  std::string name;  ///< the node may be removed
};

namespace {

GNodePtr pointer(GNode node) { return std::make_shared<GNode>(std::move(node)); }

}  // namespace

struct NodeAccess {
  static GNode made(const std::shared_ptr<ir::Graph>& graph, ir::Node& node) {
    GNode made;
    made.impl_ = std::make_shared<GNodeImpl>(GNodeImpl{graph, &node, node.name()});
    return made;
  }
  /// Null for a node of no graph, and for one that was removed.
  static ir::Node* node(const GNode& of) {
    if (!of.impl_ || of.impl_->graph->find(of.impl_->name) != of.impl_->node) return nullptr;
    return of.impl_->node;
  }
  static const std::shared_ptr<ir::Graph>& graph(const GNode& of) { return of.impl_->graph; }
  static std::vector<GNodePtr> all(const GNode& of, const std::vector<ir::Node*>& nodes) {
    std::vector<GNodePtr> found;
    for (ir::Node* n : nodes) found.push_back(pointer(made(graph(of), *n)));
    return found;
  }
};

graphStatus GNode::GetName(AscendString& name) const {
  const ir::Node* node = NodeAccess::node(*this);
  if (!node) return GRAPH_FAILED;
  name = AscendString(node->name().c_str());
  return GRAPH_SUCCESS;
}
graphStatus GNode::GetType(AscendString& type) const {
  const ir::Node* node = NodeAccess::node(*this);
  if (!node) return GRAPH_FAILED;
  type = AscendString(node->type().c_str());
  return GRAPH_SUCCESS;
}
size_t GNode::GetInputsSize() const {
  const ir::Node* node = NodeAccess::node(*this);
  return node ? node->inputs().size() : 0;
}
size_t GNode::GetOutputsSize() const {
  const ir::Node* node = NodeAccess::node(*this);
  return node ? node->outputs().size() : 0;
}
std::pair<GNodePtr, int32_t> GNode::GetInDataNodesAndPortIndexs(int32_t index) const {
  const ir::Node* node = NodeAccess::node(*this);
  if (!node || index < 0 || static_cast<size_t>(index) >= node->inputs().size() || !node->input(index).from)
    return {nullptr, -1};
  const ir::Endpoint from = node->input(index).from;
  return {pointer(NodeAccess::made(NodeAccess::graph(*this), *from.node)), from.index};
}
std::vector<std::pair<GNodePtr, int32_t>> GNode::GetOutDataNodesAndPortIndexs(int32_t index) const {
  std::vector<std::pair<GNodePtr, int32_t>> all;
  const ir::Node* node = NodeAccess::node(*this);
  if (!node || index < 0 || static_cast<size_t>(index) >= node->outputs().size()) return all;
  for (const ir::Use& use : node->output(index).uses)
    all.emplace_back(pointer(NodeAccess::made(NodeAccess::graph(*this), *use.node)), use.index);
  return all;
}
std::vector<GNodePtr> GNode::GetInControlNodes() const {
  const ir::Node* node = NodeAccess::node(*this);
  return node ? NodeAccess::all(*this, node->control_inputs()) : std::vector<GNodePtr>();
}
std::vector<GNodePtr> GNode::GetOutControlNodes() const {
  const ir::Node* node = NodeAccess::node(*this);
  return node ? NodeAccess::all(*this, node->control_outputs()) : std::vector<GNodePtr>();
}

std::vector<GNode> Graph::GetDirectNode() const {
  std::vector<GNode> all;
  if (!impl_) return all;
  status("Graph::GetDirectNode", [&] {
    if (!impl_->walked.graph || impl_->walked.graph != impl_->model.graph) impl_->walked = impl_->made();
    if (!impl_->walked.graph) return;
    for (const auto& node : impl_->walked.graph->nodes()) all.push_back(NodeAccess::made(impl_->walked.graph, *node));
  });
  return all;
}
std::vector<GNode> Graph::GetAllNodes() const {
  std::vector<GNode> all = GetDirectNode();
  if (impl_)
    for (const auto& [name, graph] : impl_->walked.subgraphs)
      for (const auto& node : graph->nodes()) all.push_back(NodeAccess::made(graph, *node));
  return all;
}

namespace {

/// Nodes of the graph that clients walk, which becomes the graph.
template <class F>
graphStatus change(const std::shared_ptr<GraphImpl>& graph, const char* name, std::initializer_list<GNode*> nodes,
                   F&& body) {
  return status(name, [&] {
    for (const GNode* node : nodes)
      if (!graph || !NodeAccess::node(*node) || NodeAccess::graph(*node) != graph->walked.graph)
        throw Error(code::kAclInvalidParam, "a node is none of the graph: take nodes from its GetAllNodes()");
    body(*graph->walked.graph);
    graph->model = graph->walked;
    graph->operators = {};
  });
}

ir::Endpoint output_of(const GNode& node, int32_t index) {
  ir::Node* from = NodeAccess::node(node);
  if (index < 0 || static_cast<size_t>(index) >= from->outputs().size())
    throw Error(code::kAclInvalidParam, "{} ({}) has {} outputs, there is none with the number {}", from->name(),
                from->type(), from->outputs().size(), index);
  return from->out(index);
}
ir::Node& reader_of(const GNode& node, int32_t index) {
  ir::Node* to = NodeAccess::node(node);
  if (index < 0 || static_cast<size_t>(index) >= to->inputs().size())
    throw Error(code::kAclInvalidParam, "{} ({}) has {} inputs, there is none with the number {}", to->name(),
                to->type(), to->inputs().size(), index);
  return *to;
}

}  // namespace

graphStatus Graph::RemoveNode(GNode& node) {
  return change(impl_, "Graph::RemoveNode", {&node}, [&](ir::Graph& graph) {
    ir::Node& gone = *NodeAccess::node(node);
    for (const ir::Output& output : gone.outputs())
      for (const ir::Use& use : std::vector<ir::Use>(output.uses)) graph.connect(*use.node, use.index, {});
    graph.remove(gone);
  });
}
graphStatus Graph::RemoveEdge(GNode& from, int32_t output, GNode& to, int32_t input) {
  return change(impl_, "Graph::RemoveEdge", {&from, &to}, [&](ir::Graph& graph) {
    ir::Node& reader = reader_of(to, input);
    if (reader.input(input).from != output_of(from, output))
      throw Error(code::kAclInvalidParam, "input {} of {} does not read output {} of {}", input, reader.name(), output,
                  NodeAccess::node(from)->name());
    graph.connect(reader, input, {});
  });
}
graphStatus Graph::AddDataEdge(GNode& from, int32_t output, GNode& to, int32_t input) {
  return change(impl_, "Graph::AddDataEdge", {&from, &to}, [&](ir::Graph& graph) {
    ir::Node& reader = reader_of(to, input);
    if (reader.input(input).from)
      throw Error(code::kAclInvalidParam, "input {} of {} reads {} already: RemoveEdge first", input, reader.name(),
                  reader.input(input).from.node->name());
    graph.connect(reader, input, output_of(from, output));
  });
}
graphStatus Graph::AddControlEdge(GNode& from, GNode& to) {
  return change(impl_, "Graph::AddControlEdge", {&from, &to},
                [&](ir::Graph& graph) { graph.add_control(*NodeAccess::node(from), *NodeAccess::node(to)); });
}
void Graph::SetNeedIteration(bool need) { graph_impl(*this).iterated = need; }

}  // namespace ge
