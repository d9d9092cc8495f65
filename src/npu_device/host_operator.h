// Operators that run on TensorFlow's own CPU kernels: those without a counterpart on the device, and all that have
// texts, resources or variants.
#pragma once
#include <vector>

#include "npu_device/value.h"

namespace updraft::npu_device {

/// Runs the operator on the CPU. Its tensors are read where they lie. Variables are lent to it: it works on a variable
/// of the CPU with the same value, which is taken over again. Throws StatusError with what TensorFlow says.
std::vector<Value> run_on_cpu(const Handles& handles, const tensorflow::NodeDef& def, const std::vector<Value>& inputs,
                              size_t outputs);

}  // namespace updraft::npu_device
