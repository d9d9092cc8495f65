#include "describe_classes.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <vector>

#include "describe_graph.h"
#include "ge/ir_type.h"

namespace {

using ge::IrAttribute;
using ge::IrPort;
using ge::IrType;
using updraft::Kind;

constexpr const char* kGenerated = "/* Generated from the operators' descriptors (updraft_describe); do not edit. */\n";

/// The C++ type of an attribute.
const char* type_of(Kind kind) {
  switch (kind) {
    case Kind::Tensor: return "::ge::Tensor";
    case Kind::Bool: return "bool";
    case Kind::Float:
    case Kind::Double: return "float";
    case Kind::Text: return "::std::string";
    case Kind::Type: return "::ge::DataType";
    case Kind::Ints: return "::std::vector<int64_t>";
    case Kind::Floats: return "::std::vector<float>";
    case Kind::Bools: return "::std::vector<bool>";
    case Kind::Texts: return "::std::vector<::std::string>";
    case Kind::IntLists: return "::std::vector<::std::vector<int64_t>>";
    default: return "int64_t";
  }
}

/// The source file that has the operator, without folder and end; types that hold tensors are "data", those that run
/// graphs "control".
std::string family_of(const IrType& type) {
  if (!type.graphs.empty()) return "control";
  return *type.file ? std::filesystem::path(type.file).stem().string() : "data";
}

std::string guard_of(std::string name) {
  std::ranges::transform(name, name.begin(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) ? static_cast<char>(std::toupper(static_cast<unsigned char>(c)))
                                                       : '_';
  });
  return "UPDRAFT_" + name + "_";
}

std::string header(const std::string& name, const std::string& text) {
  const std::string guard = guard_of(name);
  return std::string(kGenerated) + "#ifndef " + guard + "\n#define " + guard + "\n\n" + text + "\n#endif\n";
}

/// The summary, what may be absent, and the attributes with their defaults.
std::string comment(const IrType& type) {
  std::string absent, attributes;
  for (const IrPort& p : type.inputs)
    if (p.optional && type.info) absent += (absent.empty() ? "" : ", ") + std::string(p.name);
  for (const IrAttribute& a : type.attributes) {
    const std::string value = default_text(a.kind, a.other);
    attributes += (attributes.empty() ? "" : ", ") + std::string(a.name) +
                  (!value.empty() ? " = " + value
                   : a.optional   ? " (may be absent)"
                                  : " (must be given)");
  }
  std::string text = fmt::format("/** {}.", type.summary);
  if (!absent.empty()) text += "\n * May be absent: " + absent + ".";
  if (!attributes.empty()) text += "\n * Attributes: " + attributes + ".";
  return text + " */\n";
}

std::string class_of(const IrType& type) {
  std::string text =
      comment(type) +
      fmt::format("class {0} : public ::ge::Operator {{\n public:\n  UPDRAFT_GE_CLASS({0})\n", type.name);
  for (const IrPort& p : type.inputs)
    text += fmt::format("  UPDRAFT_GE_{}INPUT({})\n", p.dynamic ? "DYNAMIC_" : "", p.name);
  for (const IrPort& p : type.outputs)
    text += fmt::format("  UPDRAFT_GE_{}OUTPUT({})\n", p.dynamic ? "DYNAMIC_" : "", p.name);
  for (const IrAttribute& a : type.attributes)
    text += fmt::format("  UPDRAFT_GE_{}({}, {})\n", a.kind == Kind::Type ? "TYPE_ATTRIBUTE" : "ATTRIBUTE", a.name,
                        type_of(a.kind));
  for (const ge::IrGraph& graph : type.graphs)
    text += fmt::format("  UPDRAFT_GE_{}GRAPH({})\n", graph.list ? "DYNAMIC_" : "", graph.name);
  return text + "};\n";
}

}  // namespace

std::map<std::string, std::string> class_headers() {
  std::map<std::string, std::string> families;
  for (const IrType& type : ge::ir_types()) families[family_of(type)] += "\n" + class_of(type);
  std::map<std::string, std::string> headers;
  std::string all;
  for (const auto& [family, classes] : families) {
    const std::string name = "graph/ops/" + family + ".h";
    headers[name] = header(name, "#include \"graph/op_class.h\"\n\nnamespace ge {\nnamespace op {\n" + classes +
                                     "\n}  // namespace op\n}  // namespace ge\n");
    all += "#include \"" + name + "\"\n";
  }
  headers["all_ops.h"] = header("all_ops.h", all);
  return headers;
}
