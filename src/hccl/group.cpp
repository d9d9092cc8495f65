#include "hccl/group.h"

#include <utility>

#include "hccl/api.h"
#include "hccl/job.h"

namespace updraft {

void* communicator_of_group(const std::string& group, const Device& device) {
  if (void* named = communicator_named(group, device)) return named;
  try {
    return group_communicator(group);
  } catch (const Error& e) {
    throw Error(code::kAclnnParamInvalid,
                "group is {}, and this process has no communicator of that name: initialise it before this runs ({})",
                group, e.text());
  }
}

int32_t collective_type(DType type) {
  static constexpr std::pair<DType, int32_t> kTypes[] = {
      {DType::Int8, 0},    {DType::Int16, 1},     {DType::Int32, 2}, {DType::Float16, 3}, {DType::Float, 4},
      {DType::Int64, 5},   {DType::UInt64, 6},    {DType::UInt8, 7}, {DType::UInt16, 8},  {DType::UInt32, 9},
      {DType::Double, 10}, {DType::BFloat16, 11}, {DType::Bool, 7}};
  for (const auto& [known, number] : kTypes)
    if (known == type) return number;
  throw Error(code::kAclnnParamInvalid, "collectives have no type {}", name_of(type));
}

}  // namespace updraft
