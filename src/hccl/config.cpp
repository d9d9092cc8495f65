// Process-wide options of the collectives. Clients set them before any communicator exists.
#include <atomic>

#include "base/boundary.h"

using namespace updraft;

namespace {
constexpr int kHcclInvalid = 1;  // HCCL_E_PARA
std::atomic<int32_t> g_deterministic{0};
}  // namespace

/// HCCL_DETERMINISTIC (0): 0 off, 1 on, 2 strict. Our reduction order is fixed, so every setting is satisfied.
extern "C" UPDRAFT_API int HcclSetConfig(int32_t option, int32_t value) {
  return guard(
      "HcclSetConfig",
      [&] {
        if (option != 0 || value < 0 || value > 2)
          throw Error(kHcclInvalid, "option {} with value {} is unknown: want option 0, value 0 to 2", option, value);
        g_deterministic = value;
      },
      Forked::Allowed);
}

extern "C" UPDRAFT_API int HcclGetConfig(int32_t option, int32_t* value) {
  return guard(
      "HcclGetConfig",
      [&] {
        if (option != 0 || !value) throw Error(kHcclInvalid, "option {} is unknown, or value is null", option);
        *value = g_deterministic;
      },
      Forked::Allowed);
}
