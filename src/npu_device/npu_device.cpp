// The custom device that Python opens: TensorFlow hands it tensors, operators and functions.
#include <cstring>

#include "device/device.h"
#include "device/soc.h"
#include "npu_device/collective_operators.h"
#include "npu_device/runtime.h"

namespace updraft::npu_device {
namespace {

Runtime* g_runtime = nullptr;

/// What is wrong with arguments is found when a graph is made, or by a kernel that reads their values.
StatusCode status_of(int code) {
  switch (code) {
    case code::kRtMemoryAllocation: return StatusCode::ResourceExhausted;
    case code::kAclnnParamInvalid:
    case code::kAclInvalidParam:  // the same, of a graph that runs
    case code::kRtAicoreException:
    case code::kRtAicpuException: return StatusCode::InvalidArgument;
    default: return StatusCode::Internal;
  }
}

/// Tells a failure to TensorFlow.
template <class F>
void guarded(TF_Status* status, const char* what, F&& f) {
  auto tell = [&](StatusCode code, const std::string& text) {
    tf().TF_SetStatus(status, static_cast<int>(code), fmt::format("{}: {}", what, text).c_str());
  };
  try {
    f();
  } catch (const StatusError& e) { tell(e.code(), e.text()); } catch (const Refusal& e) {
    tell(StatusCode::Unimplemented, e.reason);
  } catch (const Error& e) { tell(status_of(e.code()), e.text()); } catch (const std::exception& e) {
    tell(StatusCode::Internal, e.what());
  }
}

Runtime& runtime_of(void* info) { return *static_cast<Runtime*>(info); }

TFE_TensorHandle* copy_to(TFE_Context*, TFE_TensorHandle* tensor, TF_Status* status, void* info) {
  TFE_TensorHandle* made = nullptr;
  guarded(status, "a copy to the NPU", [&] {
    const Handles& handles = runtime_of(info).handles();
    made = handles.handle(handles.value(tensor));
  });
  return made;
}

TFE_TensorHandle* copy_from(TFE_Context*, TFE_TensorHandle* tensor, const char*, TF_Status* status, void* info) {
  TFE_TensorHandle* made = nullptr;
  guarded(status, "a copy from the NPU", [&] {
    const Handles& handles = runtime_of(info).handles();
    const Value value = handles.value(tensor);
    if (value.kind == Value::Kind::Variable)
      throw StatusError(StatusCode::InvalidArgument,
                        fmt::format("variable {} lives on the NPU, and something on the CPU wants the variable itself: "
                                    "create it under `with tf.device('CPU:0'):`, or read it before",
                                    value.variable->name));
    const Status copied;
    made = tf().TFE_TensorHandleCopySharingTensor(handles.on_cpu(value).get(), copied);
    copied.check();
  });
  return made;
}

/// What is done with variables themselves. False: it is an operator like others.
bool run_variable_operator(Runtime& runtime, const std::string& type, const TFE_OpAttrs* attributes,
                           const std::vector<Value>& inputs, std::vector<Value>& results) {
  if (type == "VarHandleOp") {
    const graph::Bytes bytes = serialized(attributes);
    const auto all = tensorflow::read_attributes(bytes);
    const auto dtype = all.find("dtype");
    if (dtype == all.end() || !on_device(dtype->second.type)) return false;
    const auto name = all.find("debug_name"), shared = all.find("shared_name");
    std::string text = name != all.end() && !name->second.text.empty() ? std::string(name->second.text)
                       : shared != all.end()                           ? std::string(shared->second.text)
                                                                       : std::string();
    Value made;
    made.kind = Value::Kind::Variable;
    made.type = ElementType::Resource;
    made.variable = std::make_shared<Variable>(dtype->second.type, std::move(text));
    results = {made};
    return true;
  }
  if (inputs.empty() || inputs[0].kind != Value::Kind::Variable) return false;
  Variable& variable = *inputs[0].variable;
  if (type == "VarIsInitializedOp") {
    const std::lock_guard lock(variable.mutex);
    const bool assigned = variable.memory != nullptr;
    results = {runtime.handles().make(ElementType::Bool, {}, &assigned)};
  } else if (type == "DestroyResourceOp") {
    const std::lock_guard lock(variable.mutex);
    variable.memory = nullptr;
  } else if (type == "ReadVariableOp") {
    results = {variable.read()};
  } else if (type == "AssignVariableOp" && inputs.at(1).kind == Value::Kind::Tensor) {
    if (inputs[1].type != variable.type)
      throw StatusError(StatusCode::InvalidArgument,
                        fmt::format("variable {} is {}, the value to assign is {}", variable.name,
                                    tensorflow::name_of(variable.type), tensorflow::name_of(inputs[1].type)));
    variable.assign(inputs[1]);
  } else if (type != "DisableCopyOnRead") {
    return false;
  }
  return true;
}

std::vector<Value> run_function(Runtime& runtime, const std::string& name, const std::vector<Value>& inputs) {
  const std::shared_ptr<Executable> executable = runtime.function(name, signature_of(inputs));
  LoopLog::Call call(runtime.loop_log(), runtime.library(), executable->body(), inputs);
  try {
    std::vector<Value> results = executable->run(inputs);
    call.done("OK");
    return results;
  } catch (const StatusError& e) {
    call.done(e.text().substr(0, e.text().find('\n')));
    throw;
  }
}

void execute(const TFE_Op* op, int* num_outputs, TFE_TensorHandle** outputs, TF_Status* status, void* info) {
  const char* name = tf().TFE_OpGetName(op, status);
  if (tf().TF_GetCode(status)) return;
  guarded(status, name, [&] {
    Runtime& runtime = runtime_of(info);
    const Status own;
    std::vector<Value> inputs, results;
    const int count = tf().TFE_OpGetFlatInputCount(op, own);
    own.check();
    for (int i = 0; i < count; ++i) {
      TFE_TensorHandle* input = tf().TFE_OpGetFlatInput(op, i, own);
      own.check();
      inputs.push_back(runtime.handles().value(input));
    }
    const TFE_OpAttrs* attributes = tf().TFE_OpGetAttrs(op);
    const std::string type(name);
    if (!run_variable_operator(runtime, type, attributes, inputs, results)) {
      if (runtime.library().operator_named(type))
        results = runtime.run_operator(type, attributes, inputs, static_cast<size_t>(*num_outputs));
      else results = run_function(runtime, type, inputs);
    }
    if (static_cast<int>(results.size()) > *num_outputs)
      throw StatusError(StatusCode::Internal, fmt::format("{} outputs, want {}", results.size(), *num_outputs));
    *num_outputs = static_cast<int>(results.size());
    for (size_t i = 0; i < results.size(); ++i) outputs[i] = runtime.handles().handle(results[i]);
  });
}

/// As much of the text as there is room for, with a zero behind it.
void give(const std::string& from, char* text, size_t size) {
  if (!size) return;
  const size_t length = std::min(size - 1, from.size());
  std::memcpy(text, from.data(), length);
  text[length] = 0;
}

}  // namespace

/// Opens the device in a context of TensorFlow. `library` is TensorFlow's, which is loaded; `options` are texts
/// "name=value" of the graph engine. Returns 0, or -1 with a text of at most `size` bytes.
extern "C" __attribute__((visibility("default"))) int updraft_npu_device_open(TFE_Context* context, const char* library,
                                                                              const char* name, int index,
                                                                              const char* const* options, char* text,
                                                                              size_t size) {
  std::string failure;
  try {
    load(library);
    register_collectives();
    std::map<std::string, std::string> texts;
    for (; *options; ++options) {
      const std::string_view option(*options);
      const size_t at = option.find('=');
      texts[std::string(option.substr(0, at))] = option.substr(at + 1);
    }
    // TensorFlow keeps the device to the end of the process
    g_runtime = new Runtime(context, Device::get(index), name, std::move(texts));
    g_runtime->device().saturation = 1;  // what TensorFlow's processes start in, on every product
    TFE_CustomDevice device{};
    device.version = kCustomDeviceVersion;
    device.copy_tensor_to_device = copy_to;
    device.copy_tensor_from_device = copy_from;
    device.execute = execute;
    device.delete_device = [](void*) {};
    const Status status;
    tf().TFE_RegisterCustomDevice(context, device, name, g_runtime, status);
    status.check();
    return 0;
  } catch (const StatusError& e) { failure = e.text(); } catch (const std::exception& e) {
    failure = e.what();
  }
  give(failure, text, size);
  return -1;
}

/// The operators that ran on TensorFlow's CPU kernels though all of their tensors could lie on the device, a line
/// "type: reason" each. Returns the length of the whole text, of which at most `size` bytes are given.
extern "C" __attribute__((visibility("default"))) size_t updraft_npu_device_host_operators(char* text, size_t size) {
  const std::string lines = g_runtime ? g_runtime->host_operators() : std::string();
  give(lines, text, size);
  return lines.size();
}

/// How many steps a call of a function that loops over an iterator makes, for the log, and whether that has said so.
extern "C" __attribute__((visibility("default"))) void updraft_npu_device_loop_size(int64_t size, int32_t told) {
  if (g_runtime) g_runtime->loop_log().set_loop_size(size, told != 0);
}

/// There is an iterator for several devices.
extern "C" __attribute__((visibility("default"))) void updraft_npu_device_multi_device_iterator() {
  if (g_runtime) g_runtime->loop_log().add_source();
}

/// How the device treats results that are too large: 0 saturation, 1 INF_NAN, -1 as it does. Returns what holds then,
/// -1 where no device is open, -2 for a product that saturates alone.
extern "C" __attribute__((visibility("default"))) int32_t updraft_npu_device_saturation(int32_t mode) {
  if (!g_runtime) return -1;
  Device& device = g_runtime->device();
  if (mode == 1 && !soc().inf_nan) return -2;
  if (mode >= 0) {
    device.saturation = mode == 0;
    device.float_status = 0;
  }
  return device.saturation ? 0 : 1;
}

/// 1 where a result overflowed in saturation mode since this was asked last.
extern "C" __attribute__((visibility("default"))) int32_t updraft_npu_device_overflowed() {
  return g_runtime && g_runtime->device().float_status.exchange(0) ? 1 : 0;
}

/// The process ends.
extern "C" __attribute__((visibility("default"))) void updraft_npu_device_close() {
  if (!g_runtime) return;
  g_runtime->feeds().close();
  g_runtime->loop_log().close();
}

/// A function of the context that nobody calls any more.
extern "C" __attribute__((visibility("default"))) void updraft_npu_device_forget(const char* function) {
  if (g_runtime) g_runtime->forget(function);
}

}  // namespace updraft::npu_device
