#include "npu_device/host_operator.h"

#include <fmt/format.h>

#include <atomic>
#include <protozero/pbf_writer.hpp>
#include <string>

#include "npu_device/library.h"

namespace updraft::npu_device {
namespace {

const char* const kCpu = "/job:localhost/replica:0/task:0/device:CPU:0";
/// The shared_name by which TensorFlow makes a resource that no name finds again.
constexpr std::string_view kAnonymous = "cd2c89b7-88b7-44c8-ad83-06c2a9158347";

/// A variable of the CPU with the value of ours, for the time of one call.
class Lent {
 public:
  Lent(const Handles& handles, std::shared_ptr<Variable> variable) : handles_(handles), variable_(std::move(variable)) {
    HostCall make(handles, "VarHandleOp");
    make.set_type("dtype", variable_->type);
    const Status status;
    tf().TFE_OpSetAttrShape(make.op(), "shape", nullptr, -1, status);
    status.check();
    tf().TFE_OpSetAttrString(make.op(), "shared_name", kAnonymous.data(), kAnonymous.size());
    handle = make.run(1).at(0);
    std::shared_ptr<Memory> memory;
    {
      const std::lock_guard lock(variable_->mutex);
      memory = variable_->memory;
    }
    if (!memory) return;
    HostCall assign(handles, "AssignVariableOp");
    assign.set_type("dtype", variable_->type);
    assign.add(handle);
    assign.add(handles.on_cpu(variable_->read()));
    assign.run(0);
  }
  void take_back() {
    HostCall ask(handles_, "VarIsInitializedOp");
    ask.add(handle);
    if (handles_.tensor_of(ask.run(1).at(0).get()).integer("VarIsInitializedOp") == 0) return;
    HostCall read(handles_, "ReadVariableOp");
    read.set_type("dtype", variable_->type);
    read.add(handle);
    variable_->assign(handles_.tensor_of(read.run(1).at(0).get()));
  }
  ~Lent() {
    try {
      HostCall destroy(handles_, "DestroyResourceOp");
      destroy.add(handle);
      destroy.run(0);
    } catch (const StatusError&) {}  // the memory goes with the handle then
  }
  Lent(const Lent&) = delete;

  HandlePointer handle;

 private:
  const Handles& handles_;
  std::shared_ptr<Variable> variable_;
};

}  // namespace

void add_function_of(const Handles& handles, const tensorflow::OpDef& op, const tensorflow::NodeDef& def,
                     const std::vector<ElementType>& inputs, const std::string& name) {
  using protozero::pbf_writer;
  const std::vector<ElementType> outputs = output_types(op, def.attributes);
  std::string function;
  pbf_writer writer(function);
  {
    pbf_writer signature(writer, 1);
    signature.add_string(1, name);
    auto argument = [&](int field, const std::string& of, ElementType type) {
      pbf_writer made(signature, static_cast<uint32_t>(field));
      made.add_string(1, of);
      made.add_enum(3, static_cast<int32_t>(type));
    };
    for (size_t i = 0; i < inputs.size(); ++i) argument(2, fmt::format("i{}", i), inputs[i]);
    for (size_t i = 0; i < outputs.size(); ++i) argument(3, fmt::format("r{}", i), outputs[i]);
    signature.add_bool(17, op.stateful);
  }
  {
    pbf_writer node(writer, 3);
    node.add_string(1, "operator");
    node.add_string(2, def.type.data(), def.type.size());
    for (size_t i = 0; i < inputs.size(); ++i) node.add_string(3, fmt::format("i{}", i));
    for (const auto& [attribute, value] : def.attributes) {
      if (attribute.starts_with("_")) continue;
      pbf_writer entry(node, 5);
      entry.add_string(1, attribute.data(), attribute.size());
      entry.add_message(2, value.message.data(), value.message.size());
    }
  }
  for (const tensorflow::OpArg& output : op.outputs) {
    const int first = first_output(op, def.attributes, output.name);
    const int last = &output == &op.outputs.back() ? static_cast<int>(outputs.size())
                                                   : first_output(op, def.attributes, (&output)[1].name);
    for (int i = first; i < last; ++i) {
      pbf_writer result(writer, 4);
      result.add_string(1, fmt::format("r{}", i));
      result.add_string(2, fmt::format("operator:{}:{}", output.name, i - first));
    }
  }
  const Status status;
  tf().TFE_ContextAddFunctionDef(handles.context, function.data(), function.size(), status);
  status.check();
}

void remove_function(const Handles& handles, const std::string& name) {
  const Status status;
  tf().TFE_ContextRemoveFunction(handles.context, name.c_str(), status);
}

Value constant_of(const Handles& handles, const tensorflow::OpDef& op, const tensorflow::NodeDef& def) {
  const auto value = def.attributes.find("value");
  if (value == def.attributes.end() || !value->second.tensor)
    throw StatusError(StatusCode::InvalidArgument, fmt::format("{} (Const): attribute value is missing", def.name));
  const tensorflow::TensorValue& tensor = *value->second.tensor;
  if (on_device(tensor.type)) return handles.make(tensor.type, tensor.value.dims, tensor.value.data.data());
  static std::atomic<uint64_t> next{0};
  const std::string name = fmt::format("__npu_constant_{}", next++);
  // TensorFlow prints the first elements of a tensor alone: constants that begin alike would have one kernel
  add_function_of(handles, op, def, {}, name);
  const std::vector<HandlePointer> made = HostCall(handles, name).run(1);
  remove_function(handles, name);
  return handles.tensor_of(made.at(0).get());
}

HostCall::HostCall(const Handles& handles, const std::string& type)
    : op_(tf().TFE_NewOp(handles.context, type.c_str(), status_), tf().TFE_DeleteOp) {
  status_.check();
  tf().TFE_OpSetDevice(op_.get(), kCpu, status_);
  status_.check();
}
void HostCall::add(const HandlePointer& input) {
  tf().TFE_OpAddInput(op_.get(), input.get(), status_);
  status_.check();
}
void HostCall::set(std::string_view name, std::string_view message) {
  tf().TFE_OpSetAttrValueProto(op_.get(), std::string(name).c_str(), message.data(), message.size(), status_);
  status_.check();
}
void HostCall::set_cancellation(TFE_CancellationManager* manager) {
  tf().TFE_OpSetCancellationManager(op_.get(), manager, status_);
  status_.check();
}
std::vector<HandlePointer> HostCall::run(size_t outputs) {
  std::vector<TFE_TensorHandle*> made(outputs + 1);
  int count = static_cast<int>(outputs);
  tf().TFE_Execute(op_.get(), made.data(), &count, status_);
  status_.check();
  std::vector<HandlePointer> handles;
  for (int i = 0; i < count; ++i) handles.push_back(own(made[static_cast<size_t>(i)]));
  return handles;
}

std::vector<Value> run_on_cpu(const Handles& handles, const tensorflow::NodeDef& def, const std::vector<Value>& inputs,
                              size_t outputs, TFE_CancellationManager* cancel) {
  HostCall call(handles, std::string(def.type));
  if (cancel) call.set_cancellation(cancel);
  for (const auto& [name, value] : def.attributes)
    if (!name.starts_with("_")) call.set(name, value.message);
  std::vector<std::unique_ptr<Lent>> lent;
  for (const Value& input : inputs) {
    if (input.kind == Value::Kind::Variable) {
      lent.push_back(std::make_unique<Lent>(handles, input.variable));
      call.add(lent.back()->handle);
    } else {
      call.add(handles.on_cpu(input));
    }
  }
  std::vector<Value> results;
  for (const HandlePointer& made : call.run(outputs)) results.push_back(handles.tensor_of(made.get()));
  for (const auto& variable : lent) variable->take_back();
  return results;
}

std::vector<Value> run_function_on_cpu(const Handles& handles, const std::string& function,
                                       const std::vector<Value>& inputs, size_t outputs) {
  HostCall call(handles, function);
  for (const Value& input : inputs) call.add(handles.on_cpu(input));
  std::vector<Value> results;
  for (const HandlePointer& made : call.run(outputs)) results.push_back(handles.tensor_of(made.get()));
  return results;
}

}  // namespace updraft::npu_device
