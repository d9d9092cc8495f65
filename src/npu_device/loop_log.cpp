#include "npu_device/loop_log.h"

#include <fmt/format.h>

#include "npu_device/adapter_log.h"

namespace updraft::npu_device {
namespace {

constexpr const char* kDevice = "core/npu_device.cpp";

/// Arguments of the function that it takes batches from.
std::vector<int> taken_from(const Body& body) {
  std::vector<int> arguments;
  for (const Item& item : body.items) {
    if (!item.type().starts_with("IteratorGetNext") || item.inputs.empty()) continue;
    const int argument = body.items[static_cast<size_t>(item.inputs[0].item)].argument;
    if (argument >= 0) arguments.push_back(argument);
  }
  return arguments;
}

}  // namespace

int64_t& batches_taken() {
  thread_local int64_t count = 0;
  return count;
}

LoopLog::Function& LoopLog::function(Library& library, const Body& body) {
  const auto found = functions_.find(body.name);
  if (found != functions_.end()) return found->second;
  Function made;
  made.graph = static_cast<int>(functions_.size()) + 1;
  made.iterators = taken_from(body);
  for (const Item& item : body.items) {
    if (!item.type().ends_with("While")) continue;
    const auto called = item.def->attributes.find("body");
    if (called == item.def->attributes.end()) continue;
    for (const int place : taken_from(body_of_function(library, called->second.text))) {
      const int argument = body.items[static_cast<size_t>(item.inputs.at(static_cast<size_t>(place)).item)].argument;
      if (argument < 0) continue;
      made.loops = true;
      made.iterators.push_back(argument);
    }
  }
  return functions_.emplace(body.name, std::move(made)).first->second;
}

/// TensorFlow's anonymous iterators have no names, so they are numbered.
std::string LoopLog::name_of(const Value& iterator) {
  const Status status;
  TF_Tensor* tensor = tf().TFE_TensorHandleResolve(iterator.host.get(), status);
  if (!status.ok()) return {};
  const std::string key(static_cast<const char*>(tf().TF_TensorData(tensor)), tf().TF_TensorByteSize(tensor));
  tf().TF_DeleteTensor(tensor);
  const auto [found, added] = names_.emplace(key, fmt::format("AnonymousIterator{}", names_.size()));
  if (added) {
    order_.push_back(found->second);
    say(kDevice, 170, fmt::format("Iterator resource provider for {} created", found->second));
    say("kernels/iterator_h2d.cpp", 60,
        fmt::format("Hdc channel for iterator resource {} to device [{}] created", found->second, device_));
  }
  return found->second;
}

LoopLog::Call::Call(LoopLog& log, Library& library, const Body& body, const std::vector<Value>& arguments)
    : name_(body.name), begin_(std::chrono::steady_clock::now()) {
  if (silent()) return;
  const std::lock_guard lock(log.mutex_);
  Function& function = log.function(library, body);
  for (const int argument : function.iterators) {
    const Value& value = arguments.at(static_cast<size_t>(argument));
    if (value.kind == Value::Kind::Host) iterators_.push_back(log.name_of(value));
  }
  if (!function.told) say(kDevice, 230, fmt::format("Graph {} can loop: {}", body.name, function.loops));
  function.told = true;
  if (iterators_.empty() || (function.loops && !log.size_)) return;
  if (function.loops && !log.told_) say(kDevice, 300, fmt::format("Set npu loop size to {}", log.size_));
  log.told_ = log.told_ || function.loops;
  times_ = function.loops ? log.size_ : 1;
  before_ = batches_taken();
  for (const std::string& name : iterators_)
    say(kDevice, 190, fmt::format("Start consume iterator resource {} {} times", name, times_));
  say(kDevice, 204, fmt::format("Start run ge graph {} pin to cpu, loop size {}", function.graph, times_));
}

void LoopLog::Call::done(const std::string& status) {
  static const bool timed = switched_on("NPU_ENABLE_PERF");
  if (timed) {
    const auto taken = std::chrono::steady_clock::now() - begin_;
    say(kDevice, 206,
        fmt::format("Graph {} took {} us", name_, std::chrono::duration_cast<std::chrono::microseconds>(taken).count()),
        true);
  }
  if (!times_) return;
  const int64_t taken = (batches_taken() - before_) / static_cast<int64_t>(iterators_.size());
  for (const std::string& name : iterators_)
    say(kDevice, 196, fmt::format("Iterator resource {} consume {} times done with status {}", name, taken, status));
  if (taken != times_ && status == "OK")
    say(kDevice, 198,
        fmt::format("The loop made {} steps, and the npu loop size is {}: set both alike", taken, times_));
}

void LoopLog::set_loop_size(int64_t size, bool told) {
  const std::lock_guard lock(mutex_);
  size_ = size;
  told_ = told;
}

void LoopLog::add_source() {
  if (silent()) return;
  const std::lock_guard lock(mutex_);
  sources_.push_back(fmt::format("AnonymousMultiDeviceIterator{}", sources_.size()));
  say(kDevice, 170, fmt::format("Iterator resource provider for {} created", sources_.back()));
}

void LoopLog::close() {
  const std::lock_guard lock(mutex_);
  for (const auto* names : {&order_, &sources_})
    for (const std::string& name : *names)
      say(kDevice, 180, fmt::format("Stopping iterator resource provider for {}", name));
  for (const std::string& name : order_) say("core/npu_hdc.cpp", 90, fmt::format("Hdc channel {} closed", name));
  say("core/npu_wrapper.cpp", 220, "Stop tensorflow model parser succeed");
  say("core/npu_wrapper.cpp", 225, "Stop graph engine succeed");
  order_.clear();
}

}  // namespace updraft::npu_device
