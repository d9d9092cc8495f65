#include "npu_device/runtime.h"

#include <algorithm>
#include <cstdlib>

#include "base/log.h"
#include "device/device.h"
#include "npu_device/adapter_log.h"
#include "om/compile_cache.h"

namespace updraft::npu_device {
namespace {

/// Operators that are asked for in passing: what they compute are sizes, which the host wants.
constexpr int64_t kFewNumbers = 64;

bool is_host_number(const Value& value) {
  return value.kind == Value::Kind::Tensor && value.of_tensorflow() &&
         (value.type == ElementType::Int32 || value.type == ElementType::Int64) &&
         graph::count_of(value.dims) <= kFewNumbers;
}

}  // namespace

Runtime::Runtime(TFE_Context* context, Device& device, const std::string& name,
                 std::map<std::string, std::string> options)
    : handles_(context, device, name), library_(context), loop_log_(device.index()), options_(std::move(options)) {
  graph::check_options(options_);
  om::CompileCache::of(options_, "tensorflow");
  if (const auto limit = options_.find("stream_sync_timeout"); limit != options_.end())
    time_limit_ = std::chrono::milliseconds(std::atoll(limit->second.c_str()));
}

std::shared_ptr<Executable> Runtime::function(std::string_view name, const Signature& signature) {
  const std::string key = fmt::format("{}{}", name, text_of(signature));
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = executables_.find(key); found != executables_.end()) return found->second;
  }
  auto made = std::make_shared<Executable>(*this, body_of_function(library_, name), signature);
  const std::lock_guard lock(mutex_);
  return executables_.emplace(key, std::move(made)).first->second;
}

void Runtime::forget(std::string_view function) {
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(executables_, [&](const auto& e) {
      return e.first.starts_with(function) && (e.first.size() == function.size() || e.first[function.size()] == ';');
    });
  }
  random_rows_.forget(function);
  library_.forget(function);
}

std::vector<Value> Runtime::run_operator(const std::string& type, const TFE_OpAttrs* attributes,
                                         const std::vector<Value>& inputs, size_t outputs) {
  const graph::Bytes message = serialized(attributes);
  const Signature signature = signature_of(inputs);
  const bool numbers =
      !inputs.empty() && std::ranges::all_of(inputs, is_host_number) && !std::string_view(type).starts_with("Hcom");
  const std::string key = fmt::format("{}{};{};{}", type, text_of(signature), numbers, message.text());
  std::shared_ptr<Executable> executable;
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = executables_.find(key); found != executables_.end()) executable = found->second;
  }
  if (!executable) {
    std::vector<ElementType> types;
    for (const Value& input : inputs)
      types.push_back(input.kind == Value::Kind::Variable ? ElementType::Resource : input.type);
    Body body = body_of_operator(library_, type, message, types);
    executable = std::make_shared<Executable>(*this, std::move(body), signature, numbers);
    const std::lock_guard lock(mutex_);
    executable = executables_.emplace(key, std::move(executable)).first->second;
  }
  std::vector<Value> results = executable->run(inputs);
  if (results.size() != outputs)
    throw StatusError(StatusCode::Internal, fmt::format("{} gave {} outputs, want {}", type, results.size(), outputs));
  return results;
}

Stream& Runtime::stream() {
  struct Own {
    Device* device = nullptr;
    Stream* stream = nullptr;
    ~Own() {
      if (stream) device->destroy_stream(stream);
    }
  };
  thread_local Own own;
  if (!own.stream) {
    own.device = &device();
    own.stream = own.device->create_stream(0, 0);
    own.stream->overflow_switch = 1;  // saturation mode: who scales losses asks for what overflowed
  }
  return *own.stream;
}

void Runtime::tell_host(std::string_view type, std::string_view reason) {
  {
    const std::lock_guard lock(mutex_);
    if (!on_host_.emplace(type, reason).second) return;
  }
  static const bool debugged = switched_on("NPU_DEBUG");
  if (debugged)
    say("core/npu_device.cpp", 240, fmt::format("{} runs on TensorFlow's CPU kernel: {}", type, reason), true);
  UPDRAFT_LOG(kInfo, "FMK", "{} runs on TensorFlow's CPU kernel: {}", type, reason);
}

std::string Runtime::host_operators() {
  const std::lock_guard lock(mutex_);
  std::string text;
  for (const auto& [type, reason] : on_host_) text += fmt::format("{}: {}\n", type, reason);
  return text;
}

}  // namespace updraft::npu_device
