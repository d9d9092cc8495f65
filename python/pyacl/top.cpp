// acl: start and end, errors, versions, the log.
#include "binding.h"

namespace pyacl {
namespace {

aclError init(Maybe<const char*> config) { return aclInit(config.given && *config.value ? config.value : nullptr); }

/// The line that calls is the log's.
void app_log(aclLogLevel level, const char* message) {
  PyFrameObject* frame = PyEval_GetFrame();
  const Object code(frame ? reinterpret_cast<PyObject*>(PyFrame_GetCode(frame)) : nullptr);
  const Object file(code ? PyObject_GetAttrString(code.get(), "co_filename") : nullptr);
  const Object function(code ? PyObject_GetAttrString(code.get(), "co_name") : nullptr);
  const auto utf8 = [](const Object& of) { return of ? PyUnicode_AsUTF8AndSize(of.get(), nullptr) : nullptr; };
  const char *name = utf8(function), *path = utf8(file);
  aclAppLog(level, name ? name : "?", path ? path : "?",
            frame ? static_cast<uint32_t>(PyFrame_GetLineNumber(frame)) : 0, "%s", message);
  PyErr_Clear();
}

aclError get_version(aclCANNPackageName name, const char** version) {
  static thread_local aclCANNPackageVersion found;
  const aclError code = aclsysGetCANNVersion(name, &found);
  *version = code ? "" : found.version;
  return code;
}

constexpr Row kRows[] = {
    WAIT_AS("init", "aclInit", init, "config_path"),
    WAIT("finalize", aclFinalize, ""),
    CALL("get_recent_err_msg", aclGetRecentErrMsg, "-> text"),
    CALL("get_soc_name", aclrtGetSocName, "-> name"),
    CALL_AS("app_log", "aclAppLog", app_log, "level, message"),
    CALL("data_type_size", aclDataTypeSize, "data_type -> size"),
    CALL("float16_to_float", aclFloat16ToFloat, "value -> number"),
    CALL("float_to_float16", aclFloatToFloat16, "value -> bits"),
    CALL("get_cann_attribute", aclGetCannAttribute, "attr -> value"),
    CALL("get_device_capability", aclGetDeviceCapability, "device_id, info -> value"),
    CALL_AS("get_cann_version", "aclsysGetCANNVersion", get_version, "package -> version"),
};

}  // namespace
const Table kTop{"", kRows};
}  // namespace pyacl
