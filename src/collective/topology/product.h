// What products differ in for collective communication (source: the guide; super-pod servers: the public reference).
#pragma once
#include <string_view>

#include "device/soc.h"

namespace updraft::collective {

struct ProductLimits {
  const char* family;     ///< for texts
  bool timer_of_68;       ///< HCCL_EXEC_TIMEOUT: (0, 17340] in steps of 68 s; else [0, 2147483647], 0 is never
  int rdma_timeout_most;  ///< HCCL_RDMA_TIMEOUT
  int cards;              ///< of a server
  int servers;            ///< of a job
  bool two_nets;          ///< 1, 2, 4 or 8 cards a server; cards 0-3 and 4-7 are separate nets
  bool old_template;      ///< of rank tables
};

constexpr ProductLimits limits_of(const SocProfile& product) {
  const std::string_view name = product.name;
  if (name.starts_with("Ascend910_")) return {"Ascend 910_93", false, 20, 16, 1024, false, false};
  if (product.bf16) return {"Ascend 910B", false, 20, 8, 1024, false, false};
  if (name.starts_with("Ascend910")) return {"Ascend 910", true, 24, 8, 512, true, true};
  return {"Ascend 310P", true, 24, 8, 512, false, true};
}

}  // namespace updraft::collective
