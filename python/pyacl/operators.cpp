// acl.op: single operators by their names.
#include "acl/acl_op_compiler.h"
#include "binding.h"

namespace pyacl {
namespace {

using Descs = List<aclTensorDesc*>;
using Buffers = List<aclDataBuffer*>;

/// C is told one count for descriptions and data: they must agree.
bool agree(const char* function, const char* side, const Descs& descs, const Buffers& buffers) {
  if (descs.count() == buffers.count()) return true;
  PyErr_Format(PyExc_ValueError,
               "acl.op.%s: %d descriptions and %d buffers of %s, want one buffer for each description", function,
               descs.count(), buffers.count(), side);
  return false;
}

template <class F>
aclError execute_with(const char* function, const Descs& in, const Buffers& in_data, const Descs& out,
                      const Buffers& out_data, F&& call) {
  if (!agree(function, "inputs", in, in_data) || !agree(function, "outputs", out, out_data))
    return ACL_ERROR_INVALID_PARAM;
  const Unlocked unlocked;
  return call();
}

aclError execute(const char* type, const Descs& in, const Buffers& in_data, const Descs& out, Buffers out_data,
                 aclopAttr* attr, aclrtStream stream) {
  return execute_with("execute", in, in_data, out, out_data, [&] {
    return aclopExecute(type, in.count(), in.data(), in_data.data(), out.count(), out.data(), out_data.data(), attr,
                        stream);
  });
}
aclError execute_v2(const char* type, Descs in, Buffers in_data, Descs out, Buffers out_data, aclopAttr* attr,
                    aclrtStream stream) {
  return execute_with("execute_v2", in, in_data, out, out_data, [&] {
    return aclopExecuteV2(type, in.count(), in.data(), in_data.data(), out.count(), out.data(), out_data.data(), attr,
                          stream);
  });
}
aclError compile_and_execute(const char* type, const Descs& in, const Buffers& in_data, const Descs& out,
                             Buffers out_data, aclopAttr* attr, aclopEngineType engine, aclopCompileType compile,
                             const char* path, aclrtStream stream) {
  return execute_with("compile_and_execute", in, in_data, out, out_data, [&] {
    return aclopCompileAndExecute(type, in.count(), in.data(), in_data.data(), out.count(), out.data(), out_data.data(),
                                  attr, engine, compile, path, stream);
  });
}
aclError compile_and_execute_v2(const char* type, Descs in, Buffers in_data, Descs out, Buffers out_data,
                                aclopAttr* attr, aclopEngineType engine, aclopCompileType compile, const char* path,
                                aclrtStream stream) {
  return execute_with("compile_and_execute_v2", in, in_data, out, out_data, [&] {
    return aclopCompileAndExecuteV2(type, in.count(), in.data(), in_data.data(), out.count(), out.data(),
                                    out_data.data(), attr, engine, compile, path, stream);
  });
}
aclError compile(const char* type, const Descs& in, const Descs& out, const aclopAttr* attr, aclopEngineType engine,
                 aclopCompileType how, const char* path) {
  return aclopCompile(type, in.count(), in.data(), out.count(), out.data(), attr, engine, how, path);
}
aclError update_params(const char* type, const Descs& in, const Descs& out, const aclopAttr* attr) {
  return aclopUpdateParams(type, in.count(), in.data(), out.count(), out.data(), attr);
}
aclError infer_shape(const char* type, Descs in, Buffers in_data, Descs out, aclopAttr* attr) {
  if (!agree("infer_shape", "inputs", in, in_data)) return ACL_ERROR_INVALID_PARAM;
  return aclopInferShape(type, in.count(), in.data(), in_data.data(), out.count(), out.data(), attr);
}
aclError create_handle(const char* type, const Descs& in, const Descs& out, const aclopAttr* attr,
                       aclopHandle** handle) {
  return aclopCreateHandle(type, in.count(), in.data(), out.count(), out.data(), attr, handle);
}
aclError execute_handle(aclopHandle* handle, const Buffers& in, Buffers out, aclrtStream stream) {
  return aclopExecWithHandle(handle, in.count(), in.data(), out.count(), out.data(), stream);
}

aclError set_bools(aclopAttr* attr, const char* name, const List<uint8_t>& values) {
  return aclopSetAttrListBool(attr, name, values.count(), values.data());
}
aclError set_ints(aclopAttr* attr, const char* name, const List<int64_t>& values) {
  return aclopSetAttrListInt(attr, name, values.count(), values.data());
}
aclError set_floats(aclopAttr* attr, const char* name, const List<float>& values) {
  return aclopSetAttrListFloat(attr, name, values.count(), values.data());
}
aclError set_types(aclopAttr* attr, const char* name, const List<aclDataType>& values) {
  return aclopSetAttrListDataType(attr, name, values.count(), values.data());
}
aclError set_texts(aclopAttr* attr, const char* name, List<const char*> values) {
  return aclopSetAttrListString(attr, name, values.count(), values.data());
}
aclError set_lists(aclopAttr* attr, const char* name, const List<List<int64_t>>& lists) {
  std::vector<int> counts;
  std::vector<const int64_t*> values;
  for (const List<int64_t>& list : lists.values) {
    counts.push_back(list.count());
    values.push_back(list.data());
  }
  return aclopSetAttrListListInt(attr, name, lists.count(), counts.data(), values.data());
}

aclError get_option(aclCompileOpt option, Text* text) {
  std::string value(aclGetCompileoptSize(option) + 1, '\0');
  const aclError code = aclGetCompileopt(option, value.data(), value.size());
  *text = Text(to_python(code ? "" : value.c_str()));
  return code;
}

constexpr const char* kExecute = "op_type, input_desc, inputs, output_desc, outputs, attr, stream";
constexpr const char* kCompile =
    "op_type, input_desc, inputs, output_desc, outputs, attr, engine_type, compile_type, op_path, stream";

constexpr Row kRows[] = {
    CALL("set_model_dir", aclopSetModelDir, "path"),
    WAIT("load", aclopLoad, "model, size"),
    CALL_AS("execute", "aclopExecute", execute, kExecute),
    CALL_AS("execute_v2", "aclopExecuteV2", execute_v2, kExecute),
    CALL_AS("compile", "aclopCompile", compile,
            "op_type, input_desc, output_desc, attr, engine_type, compile_type, op_path"),
    CALL_AS("compile_and_execute", "aclopCompileAndExecute", compile_and_execute, kCompile),
    CALL_AS("compile_and_execute_v2", "aclopCompileAndExecuteV2", compile_and_execute_v2, kCompile),
    CALL_AS("infer_shape", "aclopInferShape", infer_shape, "op_type, input_desc, inputs, output_desc, attr"),
    CALL_AS("update_params", "aclopUpdateParams", update_params, "op_type, input_desc, output_desc, attr"),
    CALL_AS("create_handle", "aclopCreateHandle", create_handle, "op_type, input_desc, output_desc, attr -> handle"),
    CALL("create_handle_for_cast", aclopCreateHandleForCast, "source_desc, target_desc, truncate -> handle"),
    CALL("destroy_handle", aclopDestroyHandle, "handle"),
    WAIT_AS("execute_with_handle", "aclopExecWithHandle", execute_handle, "handle, inputs, outputs, stream"),
    WAIT("cast", aclopCast, "source_desc, source, target_desc, target, truncate, stream"),
    CALL("set_max_op_queue_num", aclopSetMaxOpQueueNum, "count"),
    CALL("set_compile_flag", aclopSetCompileFlag, "flag"),
    CALL("set_compileopt", aclSetCompileopt, "option, value"),
    CALL_AS("get_compileopt", "aclGetCompileopt", get_option, "option -> value"),

    CALL("create_attr", aclopCreateAttr, "-> attr"),
    CALL("destroy_attr", aclopDestroyAttr, "attr"),
    CALL("set_attr_bool", aclopSetAttrBool, "attr, name, value"),
    CALL("set_attr_int", aclopSetAttrInt, "attr, name, value"),
    CALL("set_attr_float", aclopSetAttrFloat, "attr, name, value"),
    CALL("set_attr_string", aclopSetAttrString, "attr, name, value"),
    CALL("set_attr_data_type", aclopSetAttrDataType, "attr, name, value"),
    CALL_AS("set_attr_list_bool", "aclopSetAttrListBool", set_bools, "attr, name, values"),
    CALL_AS("set_attr_list_int", "aclopSetAttrListInt", set_ints, "attr, name, values"),
    CALL_AS("set_attr_list_float", "aclopSetAttrListFloat", set_floats, "attr, name, values"),
    CALL_AS("set_attr_list_string", "aclopSetAttrListString", set_texts, "attr, name, values"),
    CALL_AS("set_attr_list_data_type", "aclopSetAttrListDataType", set_types, "attr, name, values"),
    CALL_AS("set_attr_list_list_int", "aclopSetAttrListListInt", set_lists, "attr, name, values"),
};

}  // namespace
const Table kOperators{"op", kRows};
}  // namespace pyacl
