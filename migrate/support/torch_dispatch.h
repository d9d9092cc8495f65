// Where NPU tensors run a function of torch, as the dispatcher says with the official torch_npu loaded:
// data/torch_dispatch.tsv. It also knows of functions that no support list names.
#pragma once
#include <cstdint>
#include <string_view>

#include "migrate/support/language.h"

namespace updraft::migrate {

enum class RunsOn : uint8_t {
  unknown,    ///< not an operator, or not one of torch, torch.Tensor, nn.functional, linalg, fft, special
  npu,        ///< torch_npu has a kernel
  composite,  ///< made of other operators
  cpu,        ///< no kernel: the operands are copied to the CPU and the result back
};

/// `name` is resolved ("torch.lgamma", "torch.Tensor.fmax"); other names of the same API are found as well.
RunsOn runs_on(std::string_view name);

Bilingual describe(RunsOn where);

}  // namespace updraft::migrate
