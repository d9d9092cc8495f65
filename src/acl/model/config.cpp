// Loading and executing with settings in a handle (aclmdlSetConfigOpt, aclmdlLoadWithConfig, aclmdlExecuteV2 and their
// kin).
#include <cstring>
#include <optional>

#include "acl/api.h"
#include "acl/model/config.h"
#include "acl/model/dataset.h"
#include "base/handle_pool.h"

using namespace updraft;

struct aclmdlExecConfigHandle {
  std::optional<int32_t> stream_timeout;  ///< milliseconds; -1 waits for ever
  void* work = nullptr;
  size_t work_bytes = 0;
};

namespace {

constexpr int kExecuteTimeout = 545601;

HandlePool<aclmdlConfigHandle>& configs() {
  static auto* p = new HandlePool<aclmdlConfigHandle>(1 << 12);
  return *p;
}
HandlePool<aclmdlExecConfigHandle>& exec_configs() {
  static auto* p = new HandlePool<aclmdlExecConfigHandle>(1 << 12);
  return *p;
}

template <class T>
T& live_of(HandlePool<T>& pool, const T* handle) {
  need(handle, "handle");
  if (T* found = pool.get(handle)) return *found;
  throw Error(code::kAclInvalidParam, "handle {} is none (destroyed, or never created)",
              static_cast<const void*>(handle));
}

template <class T>
T value_of(const char* name, const void* value, size_t bytes) {
  need(value, "attrValue");
  if (bytes != sizeof(T)) throw Error(code::kAclInvalidParam, "{}: valueSize is {}, want {}", name, bytes, sizeof(T));
  T read;
  std::memcpy(&read, value, sizeof read);
  return read;
}

/// The values of ACL_MDL_LOAD_TYPE_SIZET.
enum LoadType : size_t {
  FromFile = 1,
  FromFileWithMem,
  FromMem,
  FromMemWithMem,
  FromFileWithQueues,
  FromMemWithQueues
};

void set(aclmdlConfigHandle& to, aclmdlConfigAttr attribute, const void* value, size_t bytes) {
  const auto number = [&](const char* name) { return value_of<size_t>(name, value, bytes); };
  const auto pointer = [&](const char* name) { return value_of<void*>(name, value, bytes); };
  switch (attribute) {
    case ACL_MDL_PRIORITY_INT32:
      if (const auto level = value_of<int32_t>("ACL_MDL_PRIORITY_INT32", value, bytes); level < 0 || level > 7)
        throw Error(code::kAclInvalidParam, "ACL_MDL_PRIORITY_INT32 is {}, want 0 (first) to 7", level);
      return;  // tasks are run in their order
    case ACL_MDL_LOAD_TYPE_SIZET: to.type = number("ACL_MDL_LOAD_TYPE_SIZET"); return;
    case ACL_MDL_PATH_PTR: {
      const auto* path = static_cast<const char*>(pointer("ACL_MDL_PATH_PTR"));
      need(path, "ACL_MDL_PATH_PTR");
      to.path = path;
      return;
    }
    case ACL_MDL_MEM_ADDR_PTR: to.model = pointer("ACL_MDL_MEM_ADDR_PTR"); return;
    case ACL_MDL_MEM_SIZET: to.model_bytes = number("ACL_MDL_MEM_SIZET"); return;
    case ACL_MDL_WEIGHT_ADDR_PTR: to.memory.weights = pointer("ACL_MDL_WEIGHT_ADDR_PTR"); return;
    case ACL_MDL_WEIGHT_SIZET: to.memory.weight_bytes = number("ACL_MDL_WEIGHT_SIZET"); return;
    case ACL_MDL_WORKSPACE_ADDR_PTR: to.memory.work = pointer("ACL_MDL_WORKSPACE_ADDR_PTR"); return;
    case ACL_MDL_WORKSPACE_SIZET: to.memory.work_bytes = number("ACL_MDL_WORKSPACE_SIZET"); return;
    case ACL_MDL_WORKSPACE_MEM_OPTIMIZE:
      if (const size_t on = number("ACL_MDL_WORKSPACE_MEM_OPTIMIZE"); on > 1)
        throw Error(code::kAclInvalidParam, "ACL_MDL_WORKSPACE_MEM_OPTIMIZE is {}, want 0 or 1", on);
      return;  // the memory of an execution is as small as lifetimes allow anyway
    case ACL_MDL_WEIGHT_PATH_PTR: {
      const auto* path = static_cast<const char*>(pointer("ACL_MDL_WEIGHT_PATH_PTR"));
      need(path, "ACL_MDL_WEIGHT_PATH_PTR");
      to.weight_path = path;
      return;
    }
    case ACL_MDL_INPUTQ_NUM_SIZET:
    case ACL_MDL_INPUTQ_ADDR_PTR:
    case ACL_MDL_OUTPUTQ_NUM_SIZET:
    case ACL_MDL_OUTPUTQ_ADDR_PTR:
      throw Error(code::kAclApiNotSupport,
                  "attribute {} of aclmdlSetConfigOpt: models that are fed by queues are not supported; give data by "
                  "aclmdlExecute",
                  static_cast<int>(attribute));
    default:
      throw Error(code::kAclApiNotSupport,
                  "attribute {} of aclmdlSetConfigOpt is not supported: memory for kernels and tasks is the library's "
                  "own",
                  static_cast<int>(attribute));
  }
}

void run(uint32_t id, const aclmdlDataset* input, aclmdlDataset* output, aclrtStream handle,
         const aclmdlExecConfigHandle* config, bool wait) {
  const aclmdlExecConfigHandle settings = config ? live_of(exec_configs(), config) : aclmdlExecConfigHandle{};
  Stream& stream = stream_of(handle);
  const auto model = loaded_model(id);
  const auto execution = execution_of(id, input, output);
  if (settings.work)
    execution->arena = want_memory("ACL_MDL_WORK_ADDR_PTR", settings.work, settings.work_bytes, model->work_bytes());
  submit(id, execution, stream);
  if (!wait) return;
  try {
    stream.synchronize(std::chrono::milliseconds(settings.stream_timeout.value_or(-1)));
  } catch (const Error& e) {
    if (e.code() != code::kRtTaskTimeout) throw;
    throw Error(kExecuteTimeout, "model {}: {} (ACL_MDL_STREAM_SYNC_TIMEOUT)", id, e.text());
  }
  give_results(*execution, output);
}

}  // namespace

aclmdlConfigHandle& updraft::live(const aclmdlConfigHandle* handle) { return live_of(configs(), handle); }

extern "C" {
UPDRAFT_API aclmdlConfigHandle* aclmdlCreateConfigHandle(void) {
  aclmdlConfigHandle* made = nullptr;
  guard("aclmdlCreateConfigHandle", [&] { made = configs().create(); });
  return made;
}
UPDRAFT_API aclmdlExecConfigHandle* aclmdlCreateExecConfigHandle(void) {
  aclmdlExecConfigHandle* made = nullptr;
  guard("aclmdlCreateExecConfigHandle", [&] { made = exec_configs().create(); });
  return made;
}
}

ACL_API aclmdlDestroyConfigHandle(aclmdlConfigHandle* handle) {
  return guard("aclmdlDestroyConfigHandle", [&] {
    live(handle);
    configs().destroy(handle);
  });
}

ACL_API aclmdlSetConfigOpt(aclmdlConfigHandle* handle, aclmdlConfigAttr attribute, const void* value, size_t bytes) {
  return guard("aclmdlSetConfigOpt", [&] { set(live(handle), attribute, value, bytes); });
}

ACL_API aclmdlSetExternalWeightAddress(aclmdlConfigHandle* handle, const char* file, void* memory, size_t bytes) {
  return guard("aclmdlSetExternalWeightAddress", [&] {
    aclmdlConfigHandle& config = live(handle);
    need(file, "fileName");
    need(memory, "devPtr");
    want_memory("devPtr", memory, bytes, bytes);
    config.memory.external[file] = {memory, bytes};
  });
}

ACL_API aclmdlLoadWithConfig(const aclmdlConfigHandle* handle, uint32_t* id) {
  return guard("aclmdlLoadWithConfig", [&] {
    need(id, "modelId");
    const aclmdlConfigHandle& config = live(handle);
    const bool file = config.type == FromFile || config.type == FromFileWithMem;
    const bool memory = config.type == FromMem || config.type == FromMemWithMem;
    if (config.type == FromFileWithQueues || config.type == FromMemWithQueues)
      throw Error(code::kAclApiNotSupport,
                  "ACL_MDL_LOAD_TYPE_SIZET is {}: models that are fed by queues are not supported", config.type);
    if (!file && !memory)
      throw Error(code::kAclInvalidParam,
                  "ACL_MDL_LOAD_TYPE_SIZET is {}: want 1 (file), 2 (file, memory of the client), 3 (memory) or 4 "
                  "(memory, memory of the client)",
                  config.type);
    if (file && config.path.empty()) throw Error(code::kAclInvalidParam, "ACL_MDL_PATH_PTR is not set");
    ModelSource source = file ? model_file(config.path.c_str()) : model_in_memory(config.model, config.model_bytes);
    if (!config.weight_path.empty()) source.directory = config.weight_path;
    ModelMemory given = config.memory;
    if (config.type == FromFile || config.type == FromMem) given.work = given.weights = nullptr;
    *id = load_model(read_model(source, given), given);
  });
}

ACL_API aclmdlDestroyExecConfigHandle(const aclmdlExecConfigHandle* handle) {
  return guard("aclmdlDestroyExecConfigHandle", [&] {
    live_of(exec_configs(), handle);
    exec_configs().destroy(handle);
  });
}

ACL_API aclmdlSetExecConfigOpt(aclmdlExecConfigHandle* handle, aclmdlExecConfigAttr attribute, const void* value,
                               size_t bytes) {
  return guard("aclmdlSetExecConfigOpt", [&] {
    aclmdlExecConfigHandle& to = live_of(exec_configs(), handle);
    const auto timeout = [&](const char* name) {
      const auto ms = value_of<int32_t>(name, value, bytes);
      if (ms < -1 || ms == 0)
        throw Error(code::kAclInvalidParam, "{} is {}, want milliseconds from 1 on, or -1 for no limit", name, ms);
      return ms;
    };
    switch (attribute) {
      case ACL_MDL_STREAM_SYNC_TIMEOUT: to.stream_timeout = timeout("ACL_MDL_STREAM_SYNC_TIMEOUT"); return;
      case ACL_MDL_EVENT_SYNC_TIMEOUT: timeout("ACL_MDL_EVENT_SYNC_TIMEOUT"); return;  // an execution waits for none
      case ACL_MDL_WORK_ADDR_PTR: to.work = value_of<void*>("ACL_MDL_WORK_ADDR_PTR", value, bytes); return;
      case ACL_MDL_WORK_SIZET: to.work_bytes = value_of<size_t>("ACL_MDL_WORK_SIZET", value, bytes); return;
      default:
        throw Error(code::kAclApiNotSupport, "attribute {} of aclmdlSetExecConfigOpt is not supported",
                    static_cast<int>(attribute));
    }
  });
}

ACL_API aclmdlExecuteV2(uint32_t id, const aclmdlDataset* input, aclmdlDataset* output, aclrtStream stream,
                        const aclmdlExecConfigHandle* config) {
  return guard("aclmdlExecuteV2", [&] { run(id, input, output, stream, config, true); });
}

ACL_API aclmdlExecuteAsyncV2(uint32_t id, const aclmdlDataset* input, aclmdlDataset* output, aclrtStream stream,
                             const aclmdlExecConfigHandle* config) {
  return guard("aclmdlExecuteAsyncV2", [&] { run(id, input, output, stream, config, false); });
}
