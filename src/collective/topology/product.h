// What products differ in for collective communication (source: the guide; super-pod servers: the public reference).
#pragma once
#include <array>
#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "collective/types.h"
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
  uint32_t moved;         ///< types (bits by number) of operations that do not reduce
  std::array<uint32_t, 4> reduced;  ///< types of sum, prod, max, min
  uint64_t most_bytes;              ///< that an operation reduces
};

constexpr uint32_t types_of(std::initializer_list<Type> types) {
  uint32_t bits = 0;
  for (const Type t : types) bits |= 1u << static_cast<int>(t);
  return bits;
}

constexpr ProductLimits limits_of(const SocProfile& product) {
  constexpr uint32_t kReduced = types_of({Type::Int8, Type::Int32, Type::Float16, Type::Float32});
  constexpr uint32_t kMoved =
      kReduced | types_of({Type::UInt8, Type::UInt16, Type::UInt32, Type::Int64, Type::UInt64, Type::Float64});
  constexpr uint32_t kInt16 = types_of({Type::Int16}), kBf16 = types_of({Type::BFloat16});
  constexpr std::array<uint32_t, 4> kOld = {kReduced, kReduced, kReduced, kReduced};
  constexpr std::array<uint32_t, 4> kNew = {kReduced | kInt16 | kBf16, kReduced, kReduced | kInt16, kReduced | kInt16};
  constexpr uint64_t k8GB = uint64_t{8} << 30;
  const std::string_view name = product.name;
  if (name.starts_with("Ascend910_"))
    return {"Ascend 910_93", false, 20, 16, 1024, false, false, kMoved | kInt16 | kBf16, kNew, k8GB};
  if (product.bf16) return {"Ascend 910B", false, 20, 8, 1024, false, false, kMoved | kInt16 | kBf16, kNew, k8GB};
  if (name.starts_with("Ascend910")) return {"Ascend 910", true, 24, 8, 512, true, true, kMoved, kOld, k8GB};
  return {"Ascend 310P", true, 24, 8, 512, false, true, kMoved, kOld, k8GB};
}

}  // namespace updraft::collective
