// Process-wide options of the collectives. Clients set them before any communicator exists.
#include <atomic>

#include "base/boundary.h"

using namespace updraft;

namespace {
constexpr int kHcclSuccess = 0, kHcclInvalid = 1;  // HCCL_SUCCESS, HCCL_E_PARA
std::atomic<int32_t> g_deterministic{0};
}  // namespace

/// HCCL_DETERMINISTIC (0): 0 off, 1 on, 2 strict. Our reduction order is fixed, so every setting is satisfied.
extern "C" UPDRAFT_API int HcclSetConfig(int32_t option, int32_t value) {
  if (option != 0 || value < 0 || value > 2) {
    report_error("HcclSetConfig", kHcclInvalid,
                 fmt::format("option {} with value {} is unknown: want option 0, value 0 to 2", option, value));
    return kHcclInvalid;
  }
  g_deterministic = value;
  return kHcclSuccess;
}

extern "C" UPDRAFT_API int HcclGetConfig(int32_t option, int32_t* value) {
  if (option != 0 || !value) {
    report_error("HcclGetConfig", kHcclInvalid, fmt::format("option {} is unknown, or value is null", option));
    return kHcclInvalid;
  }
  *value = g_deterministic;
  return kHcclSuccess;
}
