// An ONNX model as its protobuf message has it. Texts and data are parts of the message.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "graph/ir/tensor.h"

namespace updraft::onnx {

/// TensorProto.DataType
enum class ElementType : int32_t {
  Undefined = 0,
  Float = 1,
  UInt8 = 2,
  Int8 = 3,
  UInt16 = 4,
  Int16 = 5,
  Int32 = 6,
  Int64 = 7,
  String = 8,
  Bool = 9,
  Float16 = 10,
  Double = 11,
  UInt32 = 12,
  UInt64 = 13,
  Complex64 = 14,
  Complex128 = 15,
  BFloat16 = 16,
  UInt4 = 21,
  Int4 = 22,
  UInt2 = 25,
  Int2 = 26,
};
/// "FLOAT8E4M3FN"; numbers without a name are written as such.
std::string name_of(ElementType type);
/// Undefined where there is none.
DType dtype_of(ElementType type);

/// An initializer or a value of an attribute. Constants of four or two bits are widened to bytes.
struct TensorProto {
  std::string_view name;
  ElementType type = ElementType::Undefined;
  std::vector<std::string_view> texts;  ///< of type String
  graph::Tensor value;                  ///< of all others
};

struct GraphProto;

struct AttributeProto {
  enum class Kind : uint8_t {
    None = 0,
    Float = 1,
    Int = 2,
    Text = 3,
    Tensor = 4,
    Graph = 5,
    Floats = 6,
    Ints = 7,
    Texts = 8,
    Tensors = 9,
    Graphs = 10,
    Sparse = 11,
    SparseList = 12,
    Type = 13,
    Types = 14
  };
  std::string_view name, reference;  ///< reference: of a function's attribute
  Kind kind = Kind::None;
  float real = 0;
  int64_t integer = 0;
  std::string_view text;
  std::shared_ptr<const TensorProto> tensor;  ///< sparse ones as well
  std::shared_ptr<const GraphProto> graph;
  std::vector<float> reals;
  std::vector<int64_t> integers;
  std::vector<std::string_view> texts;
};
const char* name_of(AttributeProto::Kind kind);

struct NodeProto {
  std::string_view name, type, domain, overload;
  std::vector<std::string_view> inputs, outputs;  ///< an empty name: absent
  std::vector<AttributeProto> attributes;
};

struct ValueInfo {
  std::string_view name;
  bool tensor = false;  ///< else a sequence, an optional or a map, or nobody says
  const char* kind = "nothing";
  ElementType type = ElementType::Undefined;
  bool shape_known = false;
  graph::Dims dims;                  ///< -1: unknown
  std::vector<std::string> symbols;  ///< names of unknown dimensions
};

struct GraphProto {
  std::string_view name;
  std::vector<NodeProto> nodes;
  std::vector<TensorProto> initializers;
  std::vector<ValueInfo> inputs, outputs;
};

/// Versions of operator sets by their domain; "" is ONNX's own.
using Opsets = std::unordered_map<std::string_view, int64_t>;

struct FunctionProto {
  std::string_view name, domain, overload;
  std::vector<std::string_view> inputs, outputs, attributes;
  std::vector<AttributeProto> defaults;
  std::vector<NodeProto> nodes;
  Opsets opsets;
};

struct ModelProto {
  graph::Bytes bytes;  ///< the message, which everything else points into
  int64_t ir_version = 0;
  std::string_view producer, producer_version;
  Opsets opsets;
  GraphProto graph;
  std::vector<FunctionProto> functions;
};

/// Throws 161002 that says where the message is wrong. `directory`: for weights in files.
ModelProto read_model(graph::Bytes bytes, const std::string& directory);
/// A TensorProto by itself, as test data are kept.
TensorProto read_tensor(graph::Bytes bytes);

}  // namespace updraft::onnx
