// Collectives as operators of TensorFlow (HcomAllReduce …): graphs name them so, and the NPU runs them.
#pragma once

namespace updraft::npu_device {

/// Tells TensorFlow of them, once in a process. load() has to have been called. Throws StatusError.
void register_collectives();

}  // namespace updraft::npu_device
