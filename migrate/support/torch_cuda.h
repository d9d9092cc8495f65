// What stands on NPU for a name below torch.cuda: data/torch_cuda.tsv, which is made from the official wheels.
#pragma once
#include <string_view>

#include "migrate/support/language.h"

namespace updraft::migrate {

struct CudaTwin {
  bool known = false;    ///< the table has the name
  std::string_view npu;  ///< "torch.npu.Stream"; "" where torch_npu has none
  Bilingual note;        ///< what to do instead, or what differs; may be empty
};

/// "torch.cuda.Stream" and "torch.cuda.nvtx.range_push" alike, also a few names of torch.backends.cuda and cudnn. A
/// member of a class ("torch.cuda.Stream.wait_stream") is known with an empty `npu` only if its class has none; else
/// ask for the class.
CudaTwin cuda_twin(std::string_view name);

}  // namespace updraft::migrate
