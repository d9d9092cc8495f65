// Operators that run on TensorFlow's own CPU kernels: those without a counterpart on the device, and all that have
// texts, resources or variants.
#pragma once
#include <vector>

#include "npu_device/value.h"

namespace updraft::npu_device {

/// A call of one of TensorFlow's CPU kernels.
class HostCall {
 public:
  HostCall(const Handles& handles, const std::string& type);
  TFE_Op* op() const { return op_.get(); }
  void add(const HandlePointer& input);
  /// `message`: an AttrValue.
  void set(std::string_view name, std::string_view message);
  void set_type(const char* name, ElementType type) {
    tf().TFE_OpSetAttrType(op_.get(), name, static_cast<TypeNumber>(type));
  }
  /// Who has the manager can end the call.
  void set_cancellation(TFE_CancellationManager* manager);
  std::vector<HandlePointer> run(size_t outputs);

 private:
  const Status status_;
  std::unique_ptr<TFE_Op, void (*)(TFE_Op*)> op_;
};

/// Runs the operator on the CPU. Its tensors are read where they lie. Variables are lent to it: it works on a variable
/// of the CPU with the same value, which is taken over again. Throws StatusError with what TensorFlow says.
std::vector<Value> run_on_cpu(const Handles& handles, const tensorflow::NodeDef& def, const std::vector<Value>& inputs,
                              size_t outputs, TFE_CancellationManager* cancel = nullptr);
/// The same by a function that add_function_of() made. Inputs and outputs are tensors.
std::vector<Value> run_function_on_cpu(const Handles& handles, const std::string& function,
                                       const std::vector<Value>& inputs, size_t outputs);

/// A function of the context that is this operator alone, for TensorFlow has one kernel for all operators whose
/// attributes print alike: what a kernel keeps is the function's own then.
void add_function_of(const Handles& handles, const tensorflow::OpDef& op, const tensorflow::NodeDef& def,
                     const std::vector<ElementType>& inputs, const std::string& name);
void remove_function(const Handles& handles, const std::string& name);

/// The value of a Const; `op` is its definition.
Value constant_of(const Handles& handles, const tensorflow::OpDef& op, const tensorflow::NodeDef& def);

}  // namespace updraft::npu_device
