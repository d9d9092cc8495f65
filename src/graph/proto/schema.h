// The messages of ge.proto by their field names: what turns them into JSON and text, and reads text dumps.
#pragma once
#include <cstdint>
#include <span>
#include <string_view>

namespace updraft::graph {

enum class FieldKind : uint8_t { Text, Bytes, Int, Bool, Float, DataType, ListKind, Message };

struct Schema;
struct SchemaField {
  const char* name;
  uint32_t tag;
  FieldKind kind;
  bool repeated = false;
  const Schema& (*message)() = nullptr;
};
struct Schema {
  const char* name;
  std::span<const SchemaField> fields;
  const SchemaField* find(uint32_t tag) const;
  const SchemaField* find(std::string_view name) const;
};

/// ModelDef; the others are reached through its fields.
const Schema& model_schema();
const Schema& graph_schema();
const Schema& op_schema();

/// Names of the numbers of an enumeration (DT_FLOAT, VT_LIST_INT); "" where there is none.
std::string_view enum_name(FieldKind kind, int64_t number);
/// -1 where there is none of that name.
int64_t enum_number(FieldKind kind, std::string_view name);

}  // namespace updraft::graph
