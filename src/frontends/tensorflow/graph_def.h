// TensorFlow's GraphDef as it is read: what it says, checked against nothing but the format.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "graph/ir/tensor.h"

namespace updraft::tensorflow {

/// Types of elements by their numbers in the format.
enum class ElementType : int {
  Invalid = 0,
  Float = 1,
  Double = 2,
  Int32 = 3,
  UInt8 = 4,
  Int16 = 5,
  Int8 = 6,
  String = 7,
  Complex64 = 8,
  Int64 = 9,
  Bool = 10,
  QInt8 = 11,
  QUInt8 = 12,
  QInt32 = 13,
  BFloat16 = 14,
  QInt16 = 15,
  QUInt16 = 16,
  UInt16 = 17,
  Complex128 = 18,
  Half = 19,
  Resource = 20,
  Variant = 21,
  UInt32 = 22,
  UInt64 = 23,
};
/// "float32"; numbers without a name are written as such.
std::string name_of(ElementType type);
/// Undefined where the virtual NPU has no such type.
DType dtype_of(ElementType type);

struct Shape {
  bool rank_known = true;
  graph::Dims dims;  ///< -1: unknown
};

struct TensorValue {
  ElementType type = ElementType::Invalid;
  graph::Tensor value;  ///< not of texts
  size_t texts = 0;     ///< how many
};

struct AttrValue;
using Attrs = std::map<std::string_view, AttrValue>;

/// A function by its name, with attributes of the call.
struct FunctionName {
  std::string_view name;
};

struct AttrValue {
  enum class Kind : uint8_t { None, Text, Integer, Real, Flag, Type, Shape, Tensor, List, Function, Placeholder };
  Kind kind = Kind::None;
  std::string_view message;  ///< the attribute as it was written
  std::string_view text;     ///< or the name of a function, or of a function's attribute
  int64_t integer = 0;
  float real = 0;
  bool flag = false;
  ElementType type = ElementType::Invalid;
  Shape shape;
  std::shared_ptr<const TensorValue> tensor;
  // of a list
  std::vector<std::string_view> texts;
  std::vector<int64_t> integers;
  std::vector<float> reals;
  std::vector<bool> flags;
  std::vector<ElementType> types;
  std::vector<Shape> shapes;
  std::vector<std::string_view> functions;
};
const char* name_of(AttrValue::Kind kind);

struct NodeDef {
  std::string_view name, type;
  std::vector<std::string_view> inputs;  ///< "node", "node:1", "node:output:1" (in functions), "^node"
  Attrs attributes;
};

struct ArgDef {
  std::string_view name;
  ElementType type = ElementType::Invalid;  ///< Invalid: an attribute of the function says it
};

struct FunctionDef {
  std::string_view name;
  std::vector<ArgDef> inputs, outputs;
  std::vector<NodeDef> nodes;
  std::map<std::string_view, std::string_view> results;  ///< what an output is: "node:output:0"
  std::vector<std::string_view> effects;                 ///< nodes that run although no output needs them
  Attrs attributes;                                      ///< what TensorFlow and libraries note of it
};

struct GraphDef {
  graph::Bytes bytes;  ///< the message, which everything else points into
  std::vector<NodeDef> nodes;
  std::map<std::string_view, FunctionDef> functions;
};

/// A tensor as nodes name it: "node", "node:1", in functions "node:output:1".
struct Reference {
  std::string_view node, output;
  int index = 0;
};
Reference reference_of(std::string_view text);

/// An input or output of an operator's definition: one tensor or several.
struct OpArg {
  std::string_view name;
  ElementType type = ElementType::Invalid;  ///< Invalid: an attribute says it
  std::string_view type_attribute;          ///< the attribute with the type
  std::string_view number_attribute;        ///< so many tensors of that type
  std::string_view types_attribute;         ///< a list of types: a tensor of each
};

struct OpDef {
  std::string_view name;
  std::vector<OpArg> inputs, outputs;
  Attrs defaults;  ///< what attributes are that a call does not say
  bool stateful = false;
};

/// Throws 161002 that says where the message is wrong.
GraphDef read_graph(graph::Bytes bytes);
/// A function's own message. What it gives points into the bytes.
FunctionDef read_function(const graph::Bytes& bytes);
/// The definitions of all operators (a message OpList), by name. They point into the bytes.
std::map<std::string_view, OpDef> read_operators(const graph::Bytes& bytes);
/// The attributes of a call (a message NameAttrList). They point into the bytes.
Attrs read_attributes(const graph::Bytes& bytes);

}  // namespace updraft::tensorflow
