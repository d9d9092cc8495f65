#include <filesystem>

#include "frontends/fields.h"
#include "frontends/onnx/model.h"
#include "frontends/onnx/tensor_data.h"

namespace updraft::onnx {

using frontends::Fields;
using frontends::Where;

const char* name_of(AttributeProto::Kind kind) {
  static constexpr const char* kNames[] = {"nothing",
                                           "a real number",
                                           "an integer",
                                           "a text",
                                           "a tensor",
                                           "a graph",
                                           "real numbers",
                                           "integers",
                                           "a list of texts",
                                           "a list of tensors",
                                           "a list of graphs",
                                           "a sparse tensor",
                                           "a list of sparse tensors",
                                           "a type",
                                           "a list of types"};
  return kNames[static_cast<size_t>(kind)];
}

namespace {

/// Graphs in attributes of nodes in graphs …
constexpr size_t kDeepest = 128;
constexpr size_t kOne = SIZE_MAX;  ///< no index: there is only one

using Kind = AttributeProto::Kind;

class Reader {
 public:
  explicit Reader(TensorReader tensors) : tensors_(std::move(tensors)) {}

  ModelProto model(graph::Bytes bytes) {
    ModelProto m;
    m.bytes = std::move(bytes);
    tensors_.message = m.bytes;
    bool has_graph = false;
    each(m.bytes.text(), [&](Fields& f) {
      switch (f.tag()) {
        case 1: m.ir_version = f.integer(); break;
        case 2: m.producer = f.view(); break;
        case 3: m.producer_version = f.view(); break;
        case 7: {
          Where::Step step(where_, "graph", kOne);
          m.graph = graph(f.view());
          has_graph = true;
          break;
        }
        case 8: opset(f.view(), m.opsets); break;
        case 25: {
          Where::Step step(where_, "function", m.functions.size());
          m.functions.push_back(function(f.view()));
          break;
        }
        default: f.skip();
      }
    });
    if (!has_graph) where_.refuse("no graph: is this an ONNX model?");
    return m;
  }

  TensorProto tensor(std::string_view message) { return tensors_.read(message, where_); }
  template <class F>
  auto guarded(F&& f) {
    try {
      return f();
    } catch (const protozero::exception& e) {
      where_.refuse("not a protobuf message, or one that is cut off ({})", e.what());
    }
  }
  Where& where() { return where_; }
  void owns(graph::Bytes bytes) { tensors_.message = std::move(bytes); }

 private:
  template <class F>
  void each(std::string_view message, F&& f) {
    if (where_.depth() > kDeepest) where_.refuse("parts lie deeper in each other than {}", kDeepest);
    Fields fields(message, where_);
    while (fields.next()) f(fields);
  }

  void opset(std::string_view message, Opsets& to) {
    std::string_view domain;
    int64_t version = 0;
    each(message, [&](Fields& f) {
      if (f.tag() == 1) domain = f.view();
      else if (f.tag() == 2) version = f.integer();
      else f.skip();
    });
    to[domain == "ai.onnx" ? "" : domain] = version;
  }

  GraphProto graph(std::string_view message) {
    GraphProto g;
    size_t sparse = 0;
    each(message, [&](Fields& f) {
      switch (f.tag()) {
        case 1: {
          Where::Step step(where_, "node", g.nodes.size());
          g.nodes.push_back(node(f.view()));
          break;
        }
        case 2: g.name = f.view(); break;
        case 5: {
          Where::Step step(where_, "initializer", g.initializers.size());
          g.initializers.push_back(tensors_.read(f.view(), where_));
          break;
        }
        case 11: {
          Where::Step step(where_, "input", g.inputs.size());
          g.inputs.push_back(value_info(f.view()));
          break;
        }
        case 12: {
          Where::Step step(where_, "output", g.outputs.size());
          g.outputs.push_back(value_info(f.view()));
          break;
        }
        case 15: {
          Where::Step step(where_, "sparse initializer", sparse++);
          g.initializers.push_back(tensors_.read_sparse(f.view(), where_));
          break;
        }
        default: f.skip();
      }
    });
    return g;
  }

  NodeProto node(std::string_view message) {
    NodeProto n;
    each(message, [&](Fields& f) {
      switch (f.tag()) {
        case 1: n.inputs.push_back(f.view()); break;
        case 2: n.outputs.push_back(f.view()); break;
        case 3:
          n.name = f.view();
          where_.name(n.name);
          break;
        case 4: n.type = f.view(); break;
        case 5: {
          Where::Step step(where_, "attribute", n.attributes.size());
          n.attributes.push_back(attribute(f.view()));
          break;
        }
        case 7: n.domain = f.view(); break;
        case 8: n.overload = f.view(); break;
        default: f.skip();
      }
    });
    if (n.domain == "ai.onnx") n.domain = "";
    if (n.type.empty()) where_.refuse("no operator");
    return n;
  }

  AttributeProto attribute(std::string_view message) {
    AttributeProto a;
    Kind seen = Kind::None;
    each(message, [&](Fields& f) {
      auto saw = [&](Kind kind) { seen = kind; };
      switch (f.tag()) {
        case 1:
          a.name = f.view();
          where_.name(a.name);
          break;
        case 2: a.real = f.real(), saw(Kind::Float); break;
        case 3: a.integer = f.integer(), saw(Kind::Int); break;
        case 4: a.text = f.view(), saw(Kind::Text); break;
        case 5: a.tensor = std::make_shared<TensorProto>(tensors_.read(f.view(), where_)), saw(Kind::Tensor); break;
        case 6: a.graph = std::make_shared<GraphProto>(graph(f.view())), saw(Kind::Graph); break;
        case 7: f.reals(a.reals), saw(Kind::Floats); break;
        case 8: f.integers(a.integers), saw(Kind::Ints); break;
        case 9: a.texts.push_back(f.view()), saw(Kind::Texts); break;
        case 20: {
          const int64_t kind = f.integer();
          if (kind < 0 || kind > static_cast<int64_t>(Kind::Types)) where_.refuse("attribute type {}", kind);
          a.kind = static_cast<Kind>(kind);
          break;
        }
        case 21: a.reference = f.view(); break;
        case 22:
          a.tensor = std::make_shared<TensorProto>(tensors_.read_sparse(f.view(), where_)), saw(Kind::Sparse);
          break;
        default: f.skip();
      }
    });
    if (a.kind == Kind::None) a.kind = seen;
    const bool holds = a.kind == Kind::Tensor || a.kind == Kind::Sparse ? a.tensor != nullptr
                       : a.kind == Kind::Graph                          ? a.graph != nullptr
                                                                        : true;
    if (!holds && a.reference.empty()) where_.refuse("{} is said to be {} and holds none", a.name, name_of(a.kind));
    return a;
  }

  ValueInfo value_info(std::string_view message) {
    ValueInfo v;
    each(message, [&](Fields& f) {
      if (f.tag() == 1) {
        v.name = f.view();
        where_.name(v.name);
      } else if (f.tag() == 2) {
        each(f.view(), [&](Fields& type) {
          switch (type.tag()) {
            case 1: tensor_type(type.view(), v); break;
            case 4: v.kind = "a sequence", type.skip(); break;
            case 5: v.kind = "a map", type.skip(); break;
            case 8: v.kind = "a sparse tensor", type.skip(); break;
            case 9: v.kind = "an optional", type.skip(); break;
            default: type.skip();
          }
        });
      } else {
        f.skip();
      }
    });
    return v;
  }

  void tensor_type(std::string_view message, ValueInfo& v) {
    v.tensor = true;
    v.kind = "a tensor";
    each(message, [&](Fields& f) {
      if (f.tag() == 1) {
        v.type = static_cast<ElementType>(f.integer());
      } else if (f.tag() == 2) {
        v.shape_known = true;
        each(f.view(), [&](Fields& shape) {
          if (shape.tag() != 1) return shape.skip();
          int64_t size = graph::kUnknownDim;
          std::string symbol;
          each(shape.view(), [&](Fields& dim) {
            if (dim.tag() == 1) size = std::max<int64_t>(dim.integer(), -1);
            else if (dim.tag() == 2) symbol = dim.view();
            else dim.skip();
          });
          v.dims.push_back(size);
          v.symbols.push_back(size < 0 ? symbol : "");
        });
      } else {
        f.skip();
      }
    });
  }

  FunctionProto function(std::string_view message) {
    FunctionProto fn;
    each(message, [&](Fields& f) {
      switch (f.tag()) {
        case 1:
          fn.name = f.view();
          where_.name(fn.name);
          break;
        case 4: fn.inputs.push_back(f.view()); break;
        case 5: fn.outputs.push_back(f.view()); break;
        case 6: fn.attributes.push_back(f.view()); break;
        case 7: {
          Where::Step step(where_, "node", fn.nodes.size());
          fn.nodes.push_back(node(f.view()));
          break;
        }
        case 9: opset(f.view(), fn.opsets); break;
        case 10: fn.domain = f.view(); break;
        case 11: {
          Where::Step step(where_, "attribute", fn.defaults.size());
          fn.defaults.push_back(attribute(f.view()));
          break;
        }
        case 13: fn.overload = f.view(); break;
        default: f.skip();
      }
    });
    if (fn.domain == "ai.onnx") fn.domain = "";
    return fn;
  }

  Where where_{"ONNX model"};
  TensorReader tensors_;
};

}  // namespace

ModelProto read_model(graph::Bytes bytes, const std::string& directory) {
  TensorReader tensors;
  tensors.directory = directory;
  Reader reader(std::move(tensors));
  return reader.guarded([&] { return reader.model(std::move(bytes)); });
}

TensorProto read_tensor(graph::Bytes bytes) {
  Reader reader({});
  reader.owns(bytes);
  return reader.guarded([&] { return reader.tensor(bytes.text()); });
}

}  // namespace updraft::onnx
