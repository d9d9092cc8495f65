#include "graph/proto/schema.h"

#include <algorithm>
#include <iterator>

namespace updraft::graph {
namespace {

using enum FieldKind;

const Schema& attr_schema();
const Schema& desc_schema();
const Schema& tensor_schema();
const Schema& named_schema();

/// An entry of a map from names to attributes.
const Schema& entry_schema() {
  static constexpr SchemaField fields[] = {{"key", 1, Text}, {"value", 2, Message, false, attr_schema}};
  static constexpr Schema schema{"AttrEntry", fields};
  return schema;
}

const Schema& list_schema() {
  static constexpr SchemaField fields[] = {{"s", 2, Bytes, true},
                                           {"i", 3, Int, true},
                                           {"f", 4, Float, true},
                                           {"b", 5, Bool, true},
                                           {"bt", 7, Bytes, true},
                                           {"td", 8, Message, true, desc_schema},
                                           {"t", 9, Message, true, tensor_schema},
                                           {"g", 10, Message, true, graph_schema},
                                           {"na", 11, Message, true, named_schema},
                                           {"dt", 12, Int, true},
                                           {"val_type", 20, ListKind}};
  static constexpr Schema schema{"ListValue", fields};
  return schema;
}
const Schema& integers_schema() {
  static constexpr SchemaField fields[] = {{"list_i", 1, Int, true}};
  static constexpr Schema schema{"ListInt", fields};
  return schema;
}
const Schema& integer_lists_schema() {
  static constexpr SchemaField fields[] = {{"list_list_i", 1, Message, true, integers_schema}};
  static constexpr Schema schema{"ListListInt", fields};
  return schema;
}
const Schema& reals_schema() {
  static constexpr SchemaField fields[] = {{"list_f", 1, Float, true}};
  static constexpr Schema schema{"ListFloat", fields};
  return schema;
}
const Schema& real_lists_schema() {
  static constexpr SchemaField fields[] = {{"list_list_f", 1, Message, true, reals_schema}};
  static constexpr Schema schema{"ListListFloat", fields};
  return schema;
}

const Schema& attr_schema() {
  static constexpr SchemaField fields[] = {{"list", 1, Message, false, list_schema},
                                           {"s", 2, Bytes},
                                           {"i", 3, Int},
                                           {"f", 4, Float},
                                           {"b", 5, Bool},
                                           {"bt", 7, Bytes},
                                           {"func", 10, Message, false, named_schema},
                                           {"td", 11, Message, false, desc_schema},
                                           {"t", 12, Message, false, tensor_schema},
                                           {"g", 13, Message, false, graph_schema},
                                           {"list_list_int", 14, Message, false, integer_lists_schema},
                                           {"dt", 15, Int},
                                           {"list_list_float", 16, Message, false, real_lists_schema},
                                           {"expression", 17, Bytes}};
  static constexpr Schema schema{"AttrDef", fields};
  return schema;
}

const Schema& named_schema() {
  static constexpr SchemaField fields[] = {{"name", 1, Text}, {"attr", 2, Message, true, entry_schema}};
  static constexpr Schema schema{"NamedAttrs", fields};
  return schema;
}

const Schema& shape_schema() {
  static constexpr SchemaField fields[] = {{"dim", 1, Int, true}};
  static constexpr Schema schema{"ShapeDef", fields};
  return schema;
}

const Schema& desc_schema() {
  static constexpr SchemaField fields[] = {{"name", 1, Text},
                                           {"dtype", 2, DataType},
                                           {"shape", 3, Message, false, shape_schema},
                                           {"layout", 4, Text},
                                           {"attr", 5, Message, true, entry_schema},
                                           {"has_out_attr", 9, Bool},
                                           {"size", 10, Int},
                                           {"weight_size", 11, Int},
                                           {"reuse_input", 12, Bool},
                                           {"output_tensor", 13, Bool},
                                           {"device_type", 14, Text},
                                           {"input_tensor", 15, Bool},
                                           {"real_dim_cnt", 16, Int},
                                           {"reuse_input_index", 17, Int},
                                           {"data_offset", 18, Int},
                                           {"cmps_size", 19, Int},
                                           {"cmps_tab", 20, Text},
                                           {"cmps_tab_offset", 21, Int}};
  static constexpr Schema schema{"TensorDescriptor", fields};
  return schema;
}

const Schema& tensor_schema() {
  static constexpr SchemaField fields[] = {{"desc", 1, Message, false, desc_schema}, {"data", 2, Bytes}};
  static constexpr Schema schema{"TensorDef", fields};
  return schema;
}

constexpr std::string_view kTypes[] = {
    "DT_UNDEFINED",   "DT_FLOAT",       "DT_FLOAT16",       "DT_INT8",           "DT_UINT8",       "DT_INT16",
    "DT_UINT16",      "DT_INT32",       "DT_INT64",         "DT_UINT32",         "DT_UINT64",      "DT_BOOL",
    "DT_DOUBLE",      "DT_STRING",      "DT_DUAL_SUB_INT8", "DT_DUAL_SUB_UINT8", "DT_COMPLEX64",   "DT_COMPLEX128",
    "DT_QINT8",       "DT_QINT16",      "DT_QINT32",        "DT_QUINT8",         "DT_QUINT16",     "DT_RESOURCE",
    "DT_STRING_REF",  "DT_DUAL",        "DT_VARIANT",       "DT_BF16",           "DT_INT4",        "DT_UINT1",
    "DT_INT2",        "DT_UINT2",       "DT_COMPLEX32",     "DT_HIFLOAT8",       "DT_FLOAT8_E5M2", "DT_FLOAT8_E4M3FN",
    "DT_FLOAT8_E8M0", "DT_FLOAT6_E3M2", "DT_FLOAT6_E2M3",   "DT_FLOAT4_E2M1",    "DT_FLOAT4_E1M2", "DT_HIFLOAT4"};
constexpr std::string_view kLists[] = {"VT_LIST_NONE",  "VT_LIST_STRING",      "VT_LIST_INT",         "VT_LIST_FLOAT",
                                       "VT_LIST_BOOL",  "VT_LIST_BYTES",       "VT_LIST_TENSOR_DESC", "VT_LIST_TENSOR",
                                       "VT_LIST_GRAPH", "VT_LIST_NAMED_ATTRS", "VT_LIST_DATA_TYPE"};

std::span<const std::string_view> names_of(FieldKind kind) {
  return kind == DataType ? std::span<const std::string_view>(kTypes) : std::span<const std::string_view>(kLists);
}

}  // namespace

const Schema& op_schema() {
  static constexpr SchemaField fields[] = {{"name", 1, Text},
                                           {"type", 2, Text},
                                           {"input", 5, Text, true},
                                           {"attr", 10, Message, true, entry_schema},
                                           {"has_out_attr", 20, Bool},
                                           {"id", 21, Int},
                                           {"stream_id", 22, Int},
                                           {"input_name", 23, Text, true},
                                           {"src_name", 24, Text, true},
                                           {"src_index", 25, Int, true},
                                           {"dst_name", 26, Text, true},
                                           {"dst_index", 27, Int, true},
                                           {"input_i", 28, Int, true},
                                           {"output_i", 29, Int, true},
                                           {"workspace", 30, Int, true},
                                           {"workspace_bytes", 31, Int, true},
                                           {"is_input_const", 32, Bool, true},
                                           {"input_desc", 33, Message, true, desc_schema},
                                           {"output_desc", 34, Message, true, desc_schema},
                                           {"subgraph_name", 35, Text, true}};
  static constexpr Schema schema{"OpDef", fields};
  return schema;
}

const Schema& graph_schema() {
  static constexpr SchemaField fields[] = {{"name", 1, Text},
                                           {"input", 4, Text, true},
                                           {"output", 5, Text, true},
                                           {"op", 6, Message, true, op_schema},
                                           {"attr", 11, Message, true, entry_schema}};
  static constexpr Schema schema{"GraphDef", fields};
  return schema;
}

const Schema& model_schema() {
  static constexpr SchemaField fields[] = {{"name", 1, Text},
                                           {"version", 2, Int},
                                           {"custom_version", 3, Text},
                                           {"graph", 7, Message, true, graph_schema},
                                           {"attr", 11, Message, true, entry_schema}};
  static constexpr Schema schema{"ModelDef", fields};
  return schema;
}

const SchemaField* Schema::find(uint32_t tag) const {
  const auto found = std::ranges::find(fields, tag, &SchemaField::tag);
  return found == fields.end() ? nullptr : &*found;
}

const SchemaField* Schema::find(std::string_view wanted) const {
  const auto found = std::ranges::find(fields, wanted, [](const SchemaField& f) { return std::string_view(f.name); });
  return found == fields.end() ? nullptr : &*found;
}

std::string_view enum_name(FieldKind kind, int64_t number) {
  const auto names = names_of(kind);
  return number >= 0 && number < static_cast<int64_t>(names.size()) ? names[static_cast<size_t>(number)] : "";
}

int64_t enum_number(FieldKind kind, std::string_view name) {
  const auto names = names_of(kind);
  const auto found = std::ranges::find(names, name);
  return found == names.end() ? -1 : found - names.begin();
}

}  // namespace updraft::graph
