#include "graph/graph.h"

#include <cstdio>

#include "ge/graph_impl.h"
#include "ge/status.h"
#include "graph/proto/model_proto.h"

namespace ge {

namespace ir = updraft::graph;

class GNodeImpl {
 public:
  std::string type;
};

graphStatus GNode::GetType(AscendString& type) const {
  if (!impl_) return GRAPH_FAILED;
  type = AscendString(impl_->type.c_str());
  return GRAPH_SUCCESS;
}

Graph::Graph(const char* name) : impl_(std::make_shared<GraphImpl>(name ? name : "")) {}

GraphImpl& graph_impl(Graph& graph) {
  if (!graph.impl_) graph.impl_ = std::make_shared<GraphImpl>("graph");
  return *graph.impl_;
}
const GraphImpl* graph_impl(const Graph& graph) { return graph.impl_.get(); }

graphStatus Graph::LoadFromSerializedModelArray(const void* model, size_t size) {
  return status("Graph::LoadFromSerializedModelArray", [&] {
    if (!model) throw updraft::Error(updraft::code::kAclInvalidParam, "the serialised model is null");
    GraphImpl& impl = graph_impl(*this);
    impl.model = ir::read_model(ir::Bytes::copy_of(model, size));
    impl.name = impl.model.graph->name();
  });
}

graphStatus Graph::CopyFrom(const Graph& other) {
  return status("Graph::CopyFrom", [&] {
    const GraphImpl* from = graph_impl(other);
    if (!from) throw updraft::Error(updraft::code::kAclInvalidParam, "the graph to copy was never made");
    auto made = std::make_shared<GraphImpl>(from->name);
    made->model = from->model;
    if (from->model.graph) made->model.graph = ir::copy(*from->model.graph);
    for (auto& [name, graph] : made->model.subgraphs) graph = ir::copy(*graph);
    impl_ = std::move(made);
  });
}

std::vector<GNode> Graph::GetAllNodes() const {
  std::vector<GNode> all;
  if (!impl_ || !impl_->model.graph) return all;
  for (const auto& node : impl_->model.graph->nodes()) {
    all.emplace_back();
    all.back().impl_ = std::make_shared<GNodeImpl>(GNodeImpl{node->type()});
  }
  return all;
}

graphStatus Graph::SaveToFile(const char* file_name) const {
  return status("Graph::SaveToFile", [&] {
    if (!file_name || !impl_ || !impl_->model.graph)
      throw updraft::Error(updraft::code::kAclInvalidParam, "file_name is null, or the graph has no nodes");
    const std::string message = ir::write_model(impl_->model);
    std::FILE* file = std::fopen(file_name, "wbe");
    const bool written = file && std::fwrite(message.data(), 1, message.size(), file) == message.size();
    if ((file && std::fclose(file) != 0) || !written)
      throw updraft::Error(updraft::code::kAclInvalidFile, "{} cannot be written", file_name);
  });
}

std::map<std::string, std::string> texts(const Options& options) {
  std::map<std::string, std::string> all;
  for (const auto& [key, value] : options) all[key.GetString()] = value.GetString();
  return all;
}

}  // namespace ge
