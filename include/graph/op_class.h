// Part of Updraft: a software implementation of the interfaces that Ascend programs use.
/** @file
 * What the classes of graph/ops/ are made of. Each line names an input, an output or an attribute and makes the
 * functions that programs call: set_input_x, update_input_desc_x, set_attr_axis, get_attr_axis and so on. They are
 * inline and only pass names on to ge::Operator. How the classes are written (these macros) is ours; the functions'
 * names are those that programs for GE call.
 */
#ifndef UPDRAFT_GRAPH_OP_CLASS_H_
#define UPDRAFT_GRAPH_OP_CLASS_H_

#include "graph/graph.h"

/** Constructors: with the node's name, or without one. */
#define UPDRAFT_GE_CLASS(type)                                                               \
  using Self = type;                                                                         \
  type() : ::ge::Operator(#type) {}                                                          \
  explicit type(const char* name) : ::ge::Operator(name, #type) {}                           \
  explicit type(const ::ge::AscendString& name) : ::ge::Operator(name.GetString(), #type) {} \
  explicit type(const ::std::string& name) : ::ge::Operator(name.c_str(), #type) {}

#define UPDRAFT_GE_INPUT(x)                                                                                      \
  Self& set_input_##x(const ::ge::Operator& from) { return SetInput(#x, from), *this; }                          \
  Self& set_input_##x(const ::ge::Operator& from, const ::std::string& output) {                                 \
    return SetInput(#x, from, output.c_str()), *this;                                                            \
  }                                                                                                              \
  Self& set_input_##x(const ::ge::Operator& from, uint32_t output) { return SetInput(#x, from, output), *this; } \
  Self& set_input_##x##_by_name(const ::ge::Operator& from, const char* output) {                                \
    return SetInput(#x, from, output), *this;                                                                    \
  }                                                                                                              \
  ::ge::graphStatus update_input_desc_##x(const ::ge::TensorDesc& desc) { return UpdateInputDesc(#x, desc); }    \
  ::ge::TensorDesc get_input_desc_##x() const { return GetInputDescByName(#x); }

#define UPDRAFT_GE_DYNAMIC_INPUT(x)                                                                                    \
  Self& create_dynamic_input_##x(uint32_t count, bool is_push_back = true) {                                           \
    return DynamicInputRegister(#x, count, is_push_back), *this;                                                       \
  }                                                                                                                    \
  Self& set_dynamic_input_##x(uint32_t place, const ::ge::Operator& from) { return SetInput(#x, place, from), *this; } \
  Self& set_dynamic_input_##x(uint32_t place, const ::ge::Operator& from, const ::std::string& output) {               \
    return SetInput(#x, place, from, output.c_str()), *this;                                                           \
  }                                                                                                                    \
  ::ge::graphStatus update_dynamic_input_desc_##x(uint32_t place, const ::ge::TensorDesc& desc) {                      \
    return UpdateDynamicInputDesc(#x, place, desc);                                                                    \
  }                                                                                                                    \
  ::ge::TensorDesc get_dynamic_input_desc_##x(uint32_t place) const { return GetDynamicInputDesc(#x, place); }

#define UPDRAFT_GE_OUTPUT(y)                                                                                    \
  ::ge::graphStatus update_output_desc_##y(const ::ge::TensorDesc& desc) { return UpdateOutputDesc(#y, desc); } \
  ::ge::TensorDesc get_output_desc_##y() const { return GetOutputDescByName(#y); }

#define UPDRAFT_GE_DYNAMIC_OUTPUT(y)                                                               \
  Self& create_dynamic_output_##y(uint32_t count, bool is_push_back = true) {                      \
    return DynamicOutputRegister(#y, count, is_push_back), *this;                                  \
  }                                                                                                \
  ::ge::graphStatus update_dynamic_output_desc_##y(uint32_t place, const ::ge::TensorDesc& desc) { \
    return UpdateDynamicOutputDesc(#y, place, desc);                                               \
  }                                                                                                \
  ::ge::TensorDesc get_dynamic_output_desc_##y(uint32_t place) const { return GetDynamicOutputDesc(#y, place); }

#define UPDRAFT_GE_ATTRIBUTE(a, kind)                                         \
  static const char* name_attr_##a() { return #a; }                           \
  Self& set_attr_##a(const kind& value) { return SetAttr(#a, value), *this; } \
  kind get_attr_##a() const {                                                 \
    kind value{};                                                             \
    (void)GetAttr(#a, value);                                                 \
    return value;                                                             \
  }

/** A graph that the operator runs. Its Data are what the operator's dynamic input has, in that order. */
#define UPDRAFT_GE_GRAPH(g)                                                       \
  Self& set_subgraph_builder_##g(const ::std::function<::ge::Graph()>& builder) { \
    return SetSubgraphBuilder(#g, 0, builder), *this;                             \
  }

/** A list of such graphs: how many there are, then each. */
#define UPDRAFT_GE_DYNAMIC_GRAPH(g)                                                                       \
  Self& create_dynamic_subgraph_##g(uint32_t count) { return SubgraphCountRegister(#g, count), *this; }   \
  Self& set_dynamic_subgraph_builder_##g(uint32_t index, const ::std::function<::ge::Graph()>& builder) { \
    return SetSubgraphBuilder(#g, index, builder), *this;                                                 \
  }

/** A data type: by its name, or by its number. */
#define UPDRAFT_GE_TYPE_ATTRIBUTE(a, kind) \
  UPDRAFT_GE_ATTRIBUTE(a, kind)            \
  Self& set_attr_##a(int64_t value) { return SetAttr(#a, value), *this; }

#endif  // UPDRAFT_GRAPH_OP_CLASS_H_
