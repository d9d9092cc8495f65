#include <fmt/ranges.h>

#include "graph/dump/graph_dump.h"
#include "graph/proto/dump.h"

namespace updraft::graph {
namespace {

/// Numbers of ONNX's TensorProto.DataType; 0 for types that it has not.
int onnx_type(DType type) {
  switch (type) {
    case DType::Float: return 1;
    case DType::UInt8: return 2;
    case DType::Int8: return 3;
    case DType::UInt16: return 4;
    case DType::Int16: return 5;
    case DType::Int32: return 6;
    case DType::Int64: return 7;
    case DType::Bool: return 9;
    case DType::Float16: return 10;
    case DType::Double: return 11;
    case DType::UInt32: return 12;
    case DType::UInt64: return 13;
    case DType::BFloat16: return 16;
    default: return 0;
  }
}

class OnnxText {
 public:
  explicit OnnxText(bool attributes) : attributes_(attributes) {}

  std::string model(const Model& model) {
    line("ir_version: 8");
    line("producer_name: \"Updraft\"");
    graph("graph", *model.graph);
    // ONNX has one graph a model: the others are functions of it
    for (const auto& [name, subgraph] : model.subgraphs) {
      open("functions");
      text("name", name);
      nodes(*subgraph);
      text("domain", "ge");
      close();
    }
    open("opset_import");
    line("version: 18");
    close();
    return std::move(made_);
  }

 private:
  void line(std::string_view what) { made_ += fmt::format("{:{}}{}\n", "", depth_ * 2, what); }
  void open(std::string_view name) {
    line(fmt::format("{} {{", name));
    ++depth_;
  }
  void close() {
    --depth_;
    line("}");
  }
  void text(std::string_view name, std::string_view value) { line(fmt::format("{}: {}", name, quoted_text(value))); }

  void graph(const char* field, const Graph& graph) {
    open(field);
    nodes(graph);
    text("name", graph.name());
    for (const Node* input : graph.inputs()) value("input", input->name() + ":0", input->output().desc);
    if (const Node* end = graph.net_output())
      for (const Input& input : end->inputs())
        if (input.from) value("output", name_of(input.from), input.from.node->output(input.from.index).desc);
    for (const auto& node : graph.nodes())
      for (int i = 0; i < static_cast<int>(node->outputs().size()); ++i)
        if (attributes_ && !node->is_data()) value("value_info", name_of(node->out(i)), node->output(i).desc);
    close();
  }

  void nodes(const Graph& graph) {
    for (const Node* node : graph.in_order()) {
      open("node");
      for (const Input& input : node->inputs()) text("input", input.from ? name_of(input.from) : "");
      for (const Node* before : node->control_inputs()) text("input", before->name() + ":-1");
      for (int i = 0; i < static_cast<int>(node->outputs().size()); ++i)
        text("output", fmt::format("{}:{}", node->name(), i));
      text("name", node->name());
      text("op_type", "ge:" + node->type());
      if (attributes_)
        for (const auto& [name, attribute] : node->attributes) add(name, attribute);
      close();
    }
  }

  static std::string name_of(const Endpoint& from) { return fmt::format("{}:{}", from.node->name(), from.index); }

  void value(const char* field, const std::string& name, const TensorDesc& desc) {
    open(field);
    text("name", name);
    open("type");
    open("tensor_type");
    line(fmt::format("elem_type: {}", onnx_type(desc.dtype)));
    if (desc.rank_known()) {
      open("shape");
      for (const int64_t size : desc.dims) {
        open("dim");
        if (size >= 0) line(fmt::format("dim_value: {}", size));
        close();
      }
      close();
    }
    close();
    close();
    close();
  }

  void add(const std::string& name, const Attribute& attribute) {
    const size_t begin = made_.size();
    open("attribute");
    text("name", name);
    if (std::visit([&](const auto& v) { return put(v); }, attribute.value())) close();
    else {  // what ONNX has no kind for
      made_.resize(begin);
      --depth_;
    }
  }

  template <class T>
  bool all(const char* kind, const char* field, const T& values) {
    for (const auto& v : values) line(fmt::format("{}: {}", field, v));
    line(fmt::format("type: {}", kind));
    return true;
  }
  bool put(int64_t v) { return all("INT", "i", std::initializer_list<int64_t>{v}); }
  bool put(bool v) { return put(static_cast<int64_t>(v)); }
  bool put(DType v) { return put(static_cast<int64_t>(v)); }
  bool put(float v) { return all("FLOAT", "f", std::initializer_list<float>{v}); }
  bool put(const std::string& v) {
    text("s", v);
    line("type: STRING");
    return true;
  }
  bool put(const Attribute::Integers& v) { return all("INTS", "ints", v); }
  bool put(const std::vector<float>& v) { return all("FLOATS", "floats", v); }
  bool put(const Attribute::Texts& v) {
    for (const std::string& one : v) text("strings", one);
    line("type: STRINGS");
    return true;
  }
  bool put(const Tensor& v) {
    open("t");
    for (const int64_t size : v.dims) line(fmt::format("dims: {}", size));
    line(fmt::format("data_type: {}", onnx_type(v.dtype)));
    close();
    line("type: TENSOR");
    return true;
  }
  template <class T>
  bool put(const T&) {
    return false;
  }

  bool attributes_;
  size_t depth_ = 0;
  std::string made_;
};

}  // namespace

std::string onnx_text(const Model& model, bool attributes) { return OnnxText(attributes).model(model); }

}  // namespace updraft::graph
