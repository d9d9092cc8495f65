// Lists of tensors, as loops have them for what their turns give (TensorListReserve … TensorListStack): of tensors on
// the device, without TensorFlow's kernels.
#pragma once
#include <vector>

#include "npu_device/value.h"

namespace updraft::npu_device {

/// Runs an operator on lists. False: it is none of these, or its list is TensorFlow's. Throws StatusError.
bool run_list_operator(const Handles& handles, const tensorflow::NodeDef& def, const std::vector<Value>& inputs,
                       std::vector<Value>& outputs);
/// The list as TensorFlow's kernels have it.
HandlePointer list_on_cpu(const Handles& handles, const TensorList& list);

}  // namespace updraft::npu_device
