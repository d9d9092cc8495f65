#include <protozero/pbf_writer.hpp>

#include "base/error.h"
#include "graph/proto/fields.h"
#include "graph/proto/model_proto.h"

namespace updraft::graph {

using protozero::pbf_writer;
using namespace field;

namespace {

/// Numbers of the interface in the order of those of the messages.
constexpr int kNumbers[] = {28, 0,  1,  2,  4,  6,  7,  3,  9,  8,  10, 12, 11, 13, 14, 15, 16, 17, 18, 19, 20,
                            21, 22, 23, 24, 25, 26, 27, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41};

class Writer {
 public:
  explicit Writer(WeightBytes* weights) : weights_(weights) {}

  void attributes(pbf_writer& to, Tag tag, const Attributes& all) {
    for (const auto& [name, value] : all) attribute(to, tag, name, value);
  }

  void graph(pbf_writer to, const Graph& g) {
    to.add_string(kGraphName, g.name());
    for (const Node* node : g.inputs()) to.add_string(kGraphInput, node->name() + ":0");
    if (const Node* end = g.net_output())
      for (const Input& input : end->inputs())
        if (input.from) to.add_string(kGraphOutput, endpoint(input.from));
    int64_t id = 0;
    for (const Node* node : g.in_order()) op(pbf_writer(to, kGraphOp), *node, id++);
    attributes(to, kGraphAttr, g.attributes);
  }

 private:
  static std::string endpoint(Endpoint from) { return from.node->name() + ":" + std::to_string(from.index); }

  void op(pbf_writer to, const Node& node, int64_t id) {
    to.add_string(kOpName, node.name());
    to.add_string(kOpType, node.type());
    for (const Input& input : node.inputs()) {
      if (node.type() == "Data" && !input.from) continue;
      to.add_string(kOpInput, input.from ? endpoint(input.from) : "");
    }
    for (const Node* before : node.control_inputs()) to.add_string(kOpInput, before->name() + ":-1");
    const bool constant = node.constant() != nullptr;
    Attributes attributes = node.attributes;
    const std::vector<std::string> origins = origins_of(node);
    if (!origins.empty()) attributes.try_emplace(kOriginalNames, origins);
    for (const auto& [name, value] : attributes) {
      if (constant && name == "value") weight(pbf_writer(to, kOpAttr), *node.constant());
      else attribute(to, kOpAttr, name, value);
    }
    names(to, "_input_name", node.inputs());
    names(to, "_output_name", node.outputs());
    to.add_int64(kOpId, id);
    for (const Input& input : node.inputs()) {
      if (input.from) to.add_string(kOpSrcName, input.from.node->name());
    }
    for (const Input& input : node.inputs())
      if (input.from) to.add_int64(kOpSrcIndex, input.from.index);
    for (const Input& input : node.inputs()) {
      pbf_writer desc(to, kOpInputDesc);
      describe(desc, input.from ? input.from.node->output(input.from.index).desc : input.desc);
      if (!input.from && node.type() != "Data") attribute(desc, kDescAttr, "_is_unfed_optional", true);
    }
    int64_t index = 0;
    for (const Output& output : node.outputs()) {
      pbf_writer desc(to, kOpOutputDesc);
      describe(desc, output.desc);
      if (!origins.empty()) {
        attribute(desc, kDescAttr, "_datadump_origin_name", Attribute(origins.back()));
        attribute(desc, kDescAttr, "_datadump_origin_output_index", Attribute(index));
      }
      ++index;
    }
    for (const std::string& name : node.subgraphs) to.add_string(kOpSubgraph, name);
  }

  static constexpr const char* kOriginalNames = "_datadump_original_op_names";

  /// The operators that a pass has put together in this one, in their order; none: it is what it was. Comparisons of
  /// dumps find by them what to compare it with.
  static std::vector<std::string> origins_of(const Node& node) {
    return find_or(node.attributes, "OriginOp", std::vector<std::string>());
  }

  /// Names of inputs or outputs and their places.
  template <class T>
  void names(pbf_writer& to, const std::string& what, const std::vector<T>& all) {
    if (all.empty()) return;
    std::vector<std::string> keys;
    std::vector<int64_t> places;
    for (const T& item : all) {
      places.push_back(static_cast<int64_t>(keys.size()));
      keys.push_back(item.name);
    }
    attribute(to, kOpAttr, what + "_key", Attribute(std::move(keys)));
    attribute(to, kOpAttr, what + "_value", Attribute(std::move(places)));
  }

  void describe(pbf_writer&& to, const TensorDesc& desc) { describe(to, desc); }
  void describe(pbf_writer& to, const TensorDesc& desc) {
    if (!desc.name.empty()) to.add_string(kDescName, desc.name);
    to.add_enum(kDescType, proto_type(desc.dtype));
    {
      pbf_writer shape(to, kDescShape);
      shape.add_packed_int64(kShapeDim, desc.dims.begin(), desc.dims.end());
    }
    to.add_string(kDescLayout, name_of(desc.format));
    if (desc.on_host) to.add_string(kDescDevice, "CPU");
    if (!desc.ranges.empty()) {
      Attribute::IntegerLists ranges;
      for (const auto& [low, high] : desc.ranges) ranges.push_back({low, high});
      attribute(to, kDescAttr, "shape_range", Attribute(std::move(ranges)));
    }
    int64_t bytes = 0;
    const int64_t n = desc.known() ? desc.count() : -1;
    if (__builtin_mul_overflow(n, static_cast<int64_t>(size_of(desc.dtype)), &bytes))
      throw Error(code::kAclnnParamInvalid, "tensor {} is {}: 63 bits do not count its bytes", desc.name,
                  graph::describe(desc));
    if (n >= 0) to.add_int64(kDescSize, bytes);
  }

  /// The constant's attribute "value".
  void weight(pbf_writer entry, const Tensor& value) {
    entry.add_string(kKey, "value");
    pbf_writer attr(entry, kValue);
    pbf_writer to(attr, kAttrTensor);
    {
      pbf_writer desc(to, kTensorDesc);
      describe(desc, {value.dtype, value.dims, value.format});
      if (weights_) {
        desc.add_int64(kDescWeightSize, static_cast<int64_t>(value.data.size()));
        desc.add_int64(kDescDataOffset, static_cast<int64_t>(weights_->size));
        weights_->parts.push_back(value.data);
        weights_->size += (value.data.size() + kWeightAlign - 1) / kWeightAlign * kWeightAlign;
      }
    }
    if (!weights_) to.add_bytes(kTensorData, text(value.data));
  }

  static std::string text(const Bytes& bytes) { return std::string(bytes.text()); }

  void tensor(pbf_writer to, const Tensor& value) {
    describe(pbf_writer(to, kTensorDesc), {value.dtype, value.dims, value.format});
    to.add_bytes(kTensorData, text(value.data));
  }

  void function(pbf_writer to, const NamedAttributes& f) {
    to.add_string(kNamedName, f.name);
    attributes(to, kNamedAttr, f.values);
  }

  void attribute(pbf_writer& to, Tag tag, std::string_view name, const Attribute& a) {
    pbf_writer entry(to, tag);
    entry.add_string(kKey, std::string(name));
    pbf_writer value(entry, kValue);
    std::visit([&](const auto& v) { put(value, v); }, a.value());
  }

  void put(pbf_writer& to, std::monostate) { pbf_writer list(to, kAttrList); }
  void put(pbf_writer& to, int64_t v) { to.add_int64(kAttrInt, v); }
  void put(pbf_writer& to, float v) { to.add_float(kAttrFloat, v); }
  void put(pbf_writer& to, bool v) { to.add_bool(kAttrBool, v); }
  void put(pbf_writer& to, const std::string& v) { to.add_bytes(kAttrText, v); }
  void put(pbf_writer& to, const Bytes& v) { to.add_bytes(kAttrBytes, text(v)); }
  void put(pbf_writer& to, DType v) { to.add_int64(kAttrType, static_cast<int64_t>(v)); }
  void put(pbf_writer& to, const TensorDesc& v) { describe(pbf_writer(to, kAttrDesc), v); }
  void put(pbf_writer& to, const Tensor& v) { tensor(pbf_writer(to, kAttrTensor), v); }
  void put(pbf_writer& to, const std::shared_ptr<const Graph>& v) { graph(pbf_writer(to, kAttrGraph), *v); }
  void put(pbf_writer& to, const NamedAttributes& v) { function(pbf_writer(to, kAttrFunction), v); }

  template <class F>
  void list(pbf_writer& to, ListKind kind, F&& fill) {
    pbf_writer values(to, kAttrList);
    fill(values);
    values.add_enum(kListKind, kind);
  }
  void put(pbf_writer& to, const std::vector<int64_t>& v) {
    list(to, kInts, [&](pbf_writer& l) { l.add_packed_int64(kListInt, v.begin(), v.end()); });
  }
  void put(pbf_writer& to, const std::vector<float>& v) {
    list(to, kFloats, [&](pbf_writer& l) { l.add_packed_float(kListFloat, v.begin(), v.end()); });
  }
  void put(pbf_writer& to, const std::vector<bool>& v) {
    list(to, kBools, [&](pbf_writer& l) { l.add_packed_bool(kListBool, v.begin(), v.end()); });
  }
  void put(pbf_writer& to, const std::vector<std::string>& v) {
    list(to, kTexts, [&](pbf_writer& l) {
      for (const std::string& s : v) l.add_bytes(kListText, s);
    });
  }
  void put(pbf_writer& to, const std::vector<Bytes>& v) {
    list(to, kBytesKind, [&](pbf_writer& l) {
      for (const Bytes& b : v) l.add_bytes(kListBytes, text(b));
    });
  }
  void put(pbf_writer& to, const std::vector<DType>& v) {
    list(to, field::kTypes, [&](pbf_writer& l) {
      std::vector<int64_t> numbers;
      for (DType t : v) numbers.push_back(static_cast<int64_t>(t));
      l.add_packed_int64(kListType, numbers.begin(), numbers.end());
    });
  }
  void put(pbf_writer& to, const std::vector<TensorDesc>& v) {
    list(to, kDescs, [&](pbf_writer& l) {
      for (const TensorDesc& d : v) describe(pbf_writer(l, kListDesc), d);
    });
  }
  void put(pbf_writer& to, const std::vector<Tensor>& v) {
    list(to, kTensors, [&](pbf_writer& l) {
      for (const Tensor& t : v) tensor(pbf_writer(l, kListTensor), t);
    });
  }
  void put(pbf_writer& to, const std::vector<std::shared_ptr<const Graph>>& v) {
    list(to, kGraphs, [&](pbf_writer& l) {
      for (const auto& g : v) graph(pbf_writer(l, kListGraph), *g);
    });
  }
  void put(pbf_writer& to, const std::vector<NamedAttributes>& v) {
    list(to, kFunctions, [&](pbf_writer& l) {
      for (const NamedAttributes& f : v) function(pbf_writer(l, kListFunction), f);
    });
  }
  void put(pbf_writer& to, const Attribute::IntegerLists& v) {
    pbf_writer lists(to, kAttrIntLists);
    for (const auto& l : v) {
      std::string one;  // an empty one must be written, too
      pbf_writer(one).add_packed_int64(kListItem, l.begin(), l.end());
      lists.add_message(kLists, one);
    }
  }
  void put(pbf_writer& to, const Attribute::RealLists& v) {
    pbf_writer lists(to, kAttrFloatLists);
    for (const auto& l : v) {
      std::string one;
      pbf_writer(one).add_packed_float(kListItem, l.begin(), l.end());
      lists.add_message(kLists, one);
    }
  }

  WeightBytes* weights_;
};

}  // namespace

int proto_type(DType type) {
  for (size_t i = 1; i < std::size(kNumbers); ++i)
    if (kNumbers[i] == static_cast<int>(type)) return static_cast<int>(i);
  return 0;
}

DType type_of_proto(int64_t number) {
  const auto known = number > 0 && number < static_cast<int64_t>(std::size(kNumbers));
  return known ? static_cast<DType>(kNumbers[number]) : DType::Undefined;
}

std::string write_model(const Model& model, WeightBytes* weights) {
  std::string message;
  pbf_writer to(message);
  Writer writer(weights);
  to.add_string(kModelName, model.name);
  to.add_uint32(kModelVersion, 1);
  writer.graph(pbf_writer(to, kModelGraph), *model.graph);
  for (const auto& [name, graph] : model.subgraphs) writer.graph(pbf_writer(to, kModelGraph), *graph);
  writer.attributes(to, kModelAttr, model.attributes);
  return message;
}

}  // namespace updraft::graph
