#include <charconv>
#include <protozero/pbf_reader.hpp>
#include <unordered_map>

#include "base/error.h"
#include "graph/proto/fields.h"
#include "graph/proto/model_proto.h"
#include "ops/ir_op.h"

namespace updraft::graph {

using namespace field;

namespace {

[[noreturn]] void refuse(std::string text) { throw Error(code::kAclnnParamInvalid, std::move(text)); }

/// Reads a field only as what it is: protozero takes the caller's word for it.
class pbf_reader : public protozero::pbf_reader {
  using Base = protozero::pbf_reader;
  using Wire = protozero::pbf_wire_type;

 public:
  pbf_reader(const char* data, size_t size) : Base(data, size) {}
  explicit pbf_reader(const Base& other) : Base(other) {}

  int32_t get_enum() { return want(Wire::varint).Base::get_enum(); }
  int64_t get_int64() { return want(Wire::varint).Base::get_int64(); }
  bool get_bool() { return want(Wire::varint).Base::get_bool(); }
  float get_float() { return want(Wire::fixed32).Base::get_float(); }
  auto get_view() { return want(Wire::length_delimited).Base::get_view(); }
  std::string get_string() { return want(Wire::length_delimited).Base::get_string(); }
  pbf_reader get_message() { return pbf_reader(want(Wire::length_delimited).Base::get_message()); }
  auto get_packed_int64() { return want(Wire::length_delimited).Base::get_packed_int64(); }
  auto get_packed_float() { return want(Wire::length_delimited).Base::get_packed_float(); }
  auto get_packed_bool() { return want(Wire::length_delimited).Base::get_packed_bool(); }

 private:
  pbf_reader& want(Wire type) {
    if (wire_type() != type)
      refuse(fmt::format("field {} of the message has wire type {}, want {}", static_cast<uint32_t>(tag()),
                         static_cast<int>(wire_type()), static_cast<int>(type)));
    return *this;
  }
};

/// A node as the message has it: its inputs are names until all nodes are there.
struct OpMessage {
  Node* node = nullptr;
  std::vector<std::string> inputs;
  std::vector<TensorDesc> input_descs, output_descs;
};

class Reader {
 public:
  Reader(const Bytes& message, const Bytes& weights) : message_(message), weights_(weights) {}

  Model model() {
    Model model;
    pbf_reader from(message_.text().data(), message_.size());
    while (from.next()) switch (from.tag()) {
        case kModelName: model.name = from.get_string(); break;
        case kModelGraph: {
          auto graph = this->graph(from.get_message());
          if (!model.graph) model.graph = std::move(graph);
          else model.subgraphs[graph->name()] = std::move(graph);
          break;
        }
        case kModelAttr: entry(from.get_message(), model.attributes); break;
        default: from.skip();
      }
    if (!model.graph) refuse("the message has no graph: it is no model of the Ascend IR");
    return model;
  }

 private:
  // A message may hold graphs in attributes of graphs: no deeper than this, whatever a damaged one says.
  struct Depth {
    int& depth;
    explicit Depth(int& d) : depth(d) {
      if (++depth > 64) refuse("the message is nested more than 64 deep");
    }
    ~Depth() { --depth; }
  };

  Bytes bytes(pbf_reader& from) {
    const auto view = from.get_view();
    return {std::make_shared<Bytes>(message_), view.data(), view.size()};
  }

  std::shared_ptr<Graph> graph(pbf_reader from) {
    const Depth depth(depth_);
    auto made = std::make_shared<Graph>();
    std::vector<OpMessage> ops;
    while (from.next()) switch (from.tag()) {
        case kGraphName: made->rename(from.get_string()); break;
        case kGraphOp: ops.push_back(op(*made, from.get_message())); break;
        case kGraphAttr: entry(from.get_message(), made->attributes); break;
        default: from.skip();
      }
    for (OpMessage& message : ops) connect(*made, message);
    return made;
  }

  OpMessage op(Graph& graph, pbf_reader from) {
    OpMessage message;
    std::string name, type;
    std::vector<std::string> subgraphs;
    Attributes attributes;
    while (from.next()) switch (from.tag()) {
        case kOpName: name = from.get_string(); break;
        case kOpType: type = from.get_string(); break;
        case kOpInput: message.inputs.push_back(from.get_string()); break;
        case kOpAttr: entry(from.get_message(), attributes); break;
        case kOpInputDesc: message.input_descs.push_back(desc(from.get_message())); break;
        case kOpOutputDesc: message.output_descs.push_back(desc(from.get_message())); break;
        case kOpSubgraph: subgraphs.push_back(from.get_string()); break;
        default: from.skip();
      }
    if (type.empty()) refuse(fmt::format("node {} of graph {} has no type", name, graph.name()));
    if (graph.find(name)) refuse(fmt::format("graph {} has two nodes named {}", graph.name(), name));
    message.node = &graph.add(type, name);
    message.node->attributes = std::move(attributes);
    message.node->subgraphs = std::move(subgraphs);
    add_outputs(graph, message);
    return message;
  }

  /// The names that the message gives, in the order of their places; empty where it gives none.
  static std::vector<std::string> names(Node& node, const std::string& what) {
    const auto* keys = find<std::vector<std::string>>(node.attributes, what + "_key");
    const auto* places = find<std::vector<int64_t>>(node.attributes, what + "_value");
    std::vector<std::string> names;
    if (keys && places && keys->size() == places->size()) {
      for (size_t i = 0; i < keys->size(); ++i) {
        const auto at = static_cast<size_t>((*places)[i]);
        if (at >= keys->size()) break;
        names.resize(std::max(names.size(), at + 1));
        names[at] = (*keys)[i];
      }
    }
    node.attributes.erase(what + "_key");
    node.attributes.erase(what + "_value");
    return names;
  }

  static std::string registered_name(const Node& node, size_t i, bool input) {
    if (const OpInfo* info = find_ir_op(node.type())) {
      const auto all = input ? ir_inputs(*info) : ir_outputs(*info);
      if (i < all.size() && all[i]->kind == Kind::Tensor) return all[i]->name;
      if (!all.empty() && all.back()->kind == Kind::Tensors)
        return all.back()->name + std::to_string(i - (all.size() - 1));
    }
    return (input ? "x" : "y") + (i ? std::to_string(i) : "");
  }

  static void add_outputs(Graph& graph, OpMessage& message) {
    const auto named = names(*message.node, "_output_name");
    for (size_t i = 0; i < message.output_descs.size(); ++i) {
      TensorDesc& d = message.output_descs[i];
      std::string name = i < named.size() && !named[i].empty() ? named[i]
                         : !d.name.empty()                     ? d.name
                                                               : registered_name(*message.node, i, false);
      graph.add_output(*message.node, std::move(name), std::move(d));
    }
  }

  void connect(Graph& graph, OpMessage& message) {
    Node& node = *message.node;
    const auto named = names(node, "_input_name");
    size_t place = 0;
    for (const std::string& text : message.inputs) {
      Endpoint from;
      if (!text.empty()) {
        const size_t colon = text.rfind(':');
        int64_t index = -2;
        if (colon != std::string::npos) std::from_chars(text.data() + colon + 1, text.data() + text.size(), index);
        Node* source = graph.find(std::string_view(text).substr(0, colon));
        if (!source || index < -1 || index >= static_cast<int64_t>(source->outputs().size()))
          refuse(fmt::format("{} ({}) of graph {} reads {}, which is not there", node.name(), node.type(), graph.name(),
                             text));
        if (index < 0) {
          graph.add_control(*source, node);
          continue;
        }
        from = {source, static_cast<int>(index)};
      }
      const TensorDesc* d = place < message.input_descs.size() ? &message.input_descs[place] : nullptr;
      std::string name = place < named.size() && !named[place].empty() ? named[place]
                         : d && !d->name.empty()                       ? d->name
                                                                       : registered_name(node, place, true);
      const int at = graph.add_input(node, std::move(name), from);
      if (d && !from) node.input_desc(at) = *d;
      ++place;
    }
    // an input of the graph has a description and reads nothing
    if (node.inputs().empty() && !message.input_descs.empty() && node.is_data()) {
      graph.add_input(node, "x", {});
      node.input_desc(0) = std::move(message.input_descs[0]);
    }
  }

  TensorDesc desc(pbf_reader from) {
    const Depth depth(depth_);
    TensorDesc d;
    Dims origin;
    while (from.next()) switch (from.tag()) {
        case kDescName: d.name = from.get_string(); break;
        case kDescType: d.dtype = type_of_proto(from.get_enum()); break;
        case kDescShape: d.dims = shape(from.get_message()); break;
        case kDescLayout: d.format = d.origin_format = format_named(from.get_string()); break;
        case kDescDevice: d.on_host = from.get_string() == "CPU"; break;
        case kDescWeightSize: weight_size_ = from.get_int64(); break;
        case kDescDataOffset: data_offset_ = from.get_int64(); break;
        case kDescAttr: {
          Attributes one;
          entry(from.get_message(), one);
          if (const auto* ranges = find<Attribute::IntegerLists>(one, "shape_range"))
            for (const auto& r : *ranges)
              if (r.size() == 2) d.ranges.emplace_back(r[0], r[1]);
          if (const auto* dims = find<std::vector<int64_t>>(one, "origin_shape")) origin = *dims;
          break;
        }
        default: from.skip();
      }
    // TorchAir leaves out the shape of what a private format holds, which is as its origin here
    if (d.dims.empty()) d.dims = std::move(origin);
    d.origin_dims = d.dims;
    return d;
  }

  static Dims shape(pbf_reader from) {
    Dims dims;
    while (from.next()) {
      if (from.tag() != kShapeDim) from.skip();
      else integers(from, dims);
    }
    return dims;
  }

  /// Packed or one by one.
  static void integers(pbf_reader& from, std::vector<int64_t>& to) {
    if (from.wire_type() != protozero::pbf_wire_type::length_delimited) return to.push_back(from.get_int64());
    for (int64_t v : from.get_packed_int64()) to.push_back(v);
  }
  static void floats(pbf_reader& from, std::vector<float>& to) {
    if (from.wire_type() != protozero::pbf_wire_type::length_delimited) return to.push_back(from.get_float());
    for (float v : from.get_packed_float()) to.push_back(v);
  }

  Tensor tensor(pbf_reader from) {
    Tensor t;
    weight_size_ = data_offset_ = -1;
    bool inside = false;
    while (from.next()) switch (from.tag()) {
        case kTensorDesc: {
          const TensorDesc d = desc(from.get_message());
          t.dtype = d.dtype;
          t.dims = d.dims;
          t.format = d.format;
          break;
        }
        case kTensorData:
          t.data = bytes(from).aligned();
          inside = !t.data.empty();
          break;
        default: from.skip();
      }
    if (!inside && data_offset_ >= 0 && weight_size_ > 0) {
      const auto at = static_cast<uint64_t>(data_offset_), size = static_cast<uint64_t>(weight_size_);
      if (at > weights_.size() || size > weights_.size() - at)
        refuse(fmt::format("a constant lies at {} of the weights and has {} bytes, the weights have {}", at, size,
                           weights_.size()));
      t.data = weights_.part(at, size).aligned();
    }
    return t;
  }

  void entry(pbf_reader from, Attributes& to) {
    const Depth depth(depth_);
    std::string name;
    Attribute value;
    while (from.next()) switch (from.tag()) {
        case kKey: name = from.get_string(); break;
        case kValue: value = attribute(from.get_message()); break;
        default: from.skip();
      }
    to[std::move(name)] = std::move(value);
  }

  NamedAttributes function(pbf_reader from) {
    NamedAttributes f;
    while (from.next()) switch (from.tag()) {
        case kNamedName: f.name = from.get_string(); break;
        case kNamedAttr: entry(from.get_message(), f.values); break;
        default: from.skip();
      }
    return f;
  }

  Attribute attribute(pbf_reader from) {
    using Value = Attribute::Value;
    Value value;
    while (from.next()) switch (from.tag()) {
        case kAttrList: value = list(from.get_message()); break;
        case kAttrText: value = from.get_string(); break;
        case kAttrInt: value = from.get_int64(); break;
        case kAttrFloat: value = from.get_float(); break;
        case kAttrBool: value = from.get_bool(); break;
        case kAttrBytes:
        case kAttrExpression: value = bytes(from); break;
        case kAttrFunction: value = function(from.get_message()); break;
        case kAttrDesc: value = desc(from.get_message()); break;
        case kAttrTensor: value = tensor(from.get_message()); break;
        case kAttrGraph: value = std::shared_ptr<const Graph>(graph(from.get_message())); break;
        case kAttrIntLists: value = lists<int64_t>(from.get_message(), integers); break;
        case kAttrFloatLists: value = lists<float>(from.get_message(), floats); break;
        case kAttrType: value = static_cast<DType>(from.get_int64()); break;
        default: from.skip();
      }
    return value;
  }

  template <class T>
  std::vector<std::vector<T>> lists(pbf_reader from, void (*read)(pbf_reader&, std::vector<T>&)) {
    std::vector<std::vector<T>> all;
    while (from.next()) {
      if (from.tag() != kLists) {
        from.skip();
        continue;
      }
      pbf_reader one = from.get_message();
      auto& items = all.emplace_back();
      while (one.next()) {
        if (one.tag() != kListItem) one.skip();
        else read(one, items);
      }
    }
    return all;
  }

  /// What has elements decides the kind; without any the kind that the message names does, if it does.
  Attribute::Value list(pbf_reader from) {
    const Depth depth(depth_);
    std::vector<std::string> texts;
    std::vector<int64_t> ints, types;
    std::vector<float> reals;
    std::vector<bool> bools;
    std::vector<Bytes> blobs;
    std::vector<TensorDesc> descs;
    std::vector<Tensor> tensors;
    std::vector<std::shared_ptr<const Graph>> graphs;
    std::vector<NamedAttributes> functions;
    int32_t kind = kNone;
    while (from.next()) switch (from.tag()) {
        case kListText: texts.push_back(from.get_string()); break;
        case kListInt: integers(from, ints); break;
        case kListFloat: floats(from, reals); break;
        case kListBool:
          if (from.wire_type() != protozero::pbf_wire_type::length_delimited) bools.push_back(from.get_bool());
          else
            for (bool b : from.get_packed_bool()) bools.push_back(b);
          break;
        case kListBytes: blobs.push_back(bytes(from)); break;
        case kListDesc: descs.push_back(desc(from.get_message())); break;
        case kListTensor: tensors.push_back(tensor(from.get_message())); break;
        case kListGraph: graphs.push_back(graph(from.get_message())); break;
        case kListFunction: functions.push_back(function(from.get_message())); break;
        case kListType: integers(from, types); break;
        case kListKind: kind = from.get_enum(); break;
        default: from.skip();
      }
    if (!texts.empty() || kind == kTexts) return texts;
    if (!ints.empty() || kind == kInts) return ints;
    if (!reals.empty() || kind == kFloats) return reals;
    if (!bools.empty() || kind == kBools) return bools;
    if (!blobs.empty() || kind == kBytesKind) return blobs;
    if (!descs.empty() || kind == kDescs) return descs;
    if (!tensors.empty() || kind == kTensors) return tensors;
    if (!graphs.empty() || kind == kGraphs) return graphs;
    if (!functions.empty() || kind == kFunctions) return functions;
    if (!types.empty() || kind == field::kTypes) {
      std::vector<DType> all;
      for (int64_t t : types) all.push_back(static_cast<DType>(t));
      return all;
    }
    return std::monostate();
  }

  const Bytes message_, weights_;
  int depth_ = 0;
  int64_t weight_size_ = -1, data_offset_ = -1;  ///< of the description that was read last
};

}  // namespace

Model read_model(const Bytes& message, const Bytes& weights) {
  try {
    return Reader(message, weights).model();
  } catch (const protozero::exception& e) {
    refuse(fmt::format("the message of {} bytes is no model of the Ascend IR: {}", message.size(), e.what()));
  }
}

}  // namespace updraft::graph
