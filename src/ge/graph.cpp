#include "graph/graph.h"

#include <cstdio>

#include "ge/graph_impl.h"
#include "ge/status.h"
#include "graph/proto/model_proto.h"

namespace ge {

namespace ir = updraft::graph;

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
    impl.operators = {};
    impl.name = impl.model.graph->name();
  });
}

graphStatus Graph::CopyFrom(const Graph& other) {
  return status("Graph::CopyFrom", [&] {
    const GraphImpl* from = graph_impl(other);
    if (!from) throw updraft::Error(updraft::code::kAclInvalidParam, "the graph to copy was never made");
    auto made = std::make_shared<GraphImpl>(from->name);
    made->model = from->made();
    if (made->model.graph) made->model.graph = ir::copy(*made->model.graph);
    for (auto& [name, graph] : made->model.subgraphs) graph = ir::copy(*graph);
    impl_ = std::move(made);
  });
}

namespace {

/// What takes operators. Its first refusal stays: whoever takes the graph fails with it.
template <class F>
void collect(Graph& graph, const char* name, F&& body) {
  GraphImpl& impl = graph_impl(graph);
  status(name, [&] {
    try {
      body(impl.operators);
    } catch (const updraft::Error& e) {
      if (impl.operators.refusal.empty()) impl.operators.refusal = e.text();
      throw;
    }
  });
  impl.model = {};
  impl.with_sizes = nullptr;
}

std::shared_ptr<OperatorImpl> member(const Operator& op, const char* what) {
  const std::shared_ptr<OperatorImpl> impl = operator_impl(op);
  if (!impl)
    throw updraft::Error(updraft::code::kAclInvalidParam,
                         "one of the {} is an operator without a type: make it by its class (op::Relu) or its type",
                         what);
  impl->check();
  return impl;
}

std::vector<std::shared_ptr<OperatorImpl>> members(const std::vector<Operator>& all, const char* what) {
  std::vector<std::shared_ptr<OperatorImpl>> made;
  for (const Operator& op : all) made.push_back(member(op, what));
  return made;
}

void add_all_outputs(const std::shared_ptr<OperatorImpl>& op, std::vector<OutputOf>& to) {
  const size_t count = OperatorImpl::count(op->outputs);
  for (size_t i = 0; i < count; ++i) to.push_back(op->output(op, i));
}

}  // namespace

Graph& Graph::SetInputs(const std::vector<Operator>& inputs) {
  collect(*this, "Graph::SetInputs", [&](Composition& to) { to.inputs = members(inputs, "inputs"); });
  return *this;
}
Graph& Graph::SetOutputs(const std::vector<Operator>& outputs) {
  collect(*this, "Graph::SetOutputs", [&](Composition& to) {
    to.outputs.clear();
    for (const auto& op : members(outputs, "outputs")) add_all_outputs(op, to.outputs);
  });
  return *this;
}
Graph& Graph::SetOutputs(const std::vector<std::pair<Operator, std::vector<size_t>>>& outputs) {
  collect(*this, "Graph::SetOutputs", [&](Composition& to) {
    to.outputs.clear();
    for (const auto& [output, numbers] : outputs) {
      const auto op = member(output, "outputs");
      if (numbers.empty()) add_all_outputs(op, to.outputs);
      for (size_t i : numbers) to.outputs.push_back(op->output(op, i));
    }
  });
  return *this;
}
Graph& Graph::SetOutputs(const std::vector<std::pair<Operator, AscendString>>& outputs) {
  collect(*this, "Graph::SetOutputs", [&](Composition& to) {
    to.outputs.clear();
    for (const auto& [output, name] : outputs) {
      const auto op = member(output, "outputs");
      to.outputs.push_back(op->output(op, name.GetString()));
    }
  });
  return *this;
}
Graph& Graph::SetTargets(const std::vector<Operator>& targets) {
  collect(*this, "Graph::SetTargets", [&](Composition& to) { to.targets = members(targets, "targets"); });
  return *this;
}

bool Graph::IsValid() const {
  return impl_ && status("Graph::IsValid", [&] {
                    if (!impl_->made().graph)
                      throw updraft::Error(updraft::code::kAclInvalidParam, "graph {} has no nodes", impl_->name);
                  }) == SUCCESS;
}

graphStatus Graph::GetName(AscendString& name) const {
  if (!impl_) return GRAPH_FAILED;
  name = AscendString(impl_->name.c_str());
  return GRAPH_SUCCESS;
}

graphStatus Graph::SaveToFile(const char* file_name) const {
  return status("Graph::SaveToFile", [&] {
    const ir::Model model = impl_ ? impl_->made() : ir::Model();
    if (!file_name || !model.graph)
      throw updraft::Error(updraft::code::kAclInvalidParam, "file_name is null, or the graph has no nodes");
    const std::string message = ir::write_model(model);
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
