// What operations of the library's own (nodes of graphs, operators) need of a group of ranks that a client names.
#pragma once
#include <cstdint>
#include <string>

#include "tensor/dtype.h"

namespace updraft {

class Device;

/// The handle of the group's communicator. Throws 161002 where this process has none.
void* communicator_of_group(const std::string& group, const Device& device);
/// The HcclDataType of a type. Throws 161002 where collectives have none.
int32_t collective_type(DType type);

}  // namespace updraft
