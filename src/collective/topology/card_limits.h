// UPDRAFT_FIDELITY=card: what the chosen product takes of collective operations. Callers ask only with that setting.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "collective/request.h"
#include "device/soc.h"

namespace updraft::collective {

/// Throws Error (HCCL_E_PARA, EI0003) with the product, what was asked and what it takes: element types, types of each
/// reduction, bytes of a reduction.
void check_operation(const Request& request, int rank, int ranks, const SocProfile& product);

/// The ranks of a communicator that one server has.
struct ServerShare {
  uint32_t first_rank;
  std::vector<int> devices;
};
/// How many cards of which servers; as check_operation.
void check_servers(const std::string& communicator, const std::vector<ServerShare>& servers, const SocProfile& product);

}  // namespace updraft::collective
