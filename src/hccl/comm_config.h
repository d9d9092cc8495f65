// HcclCommConfig of any version: fields behind the size that the client's header knew have their defaults.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "collective/topology/environment.h"

namespace updraft {

constexpr size_t kCommNameBytes = 128;

struct CommConfig {
  std::string name;                                  ///< hcclCommName
  std::optional<int32_t> deterministic;              ///< hcclDeterministic
  std::optional<double> exec_timeout;                ///< hcclExecTimeOut, s
  std::optional<collective::Algorithms> algorithms;  ///< hcclAlgo
};

/// Null gives the defaults. Throws EI0003 when it was not filled by HcclCommConfigInit or a field is out of range.
CommConfig read_comm_config(const void* config);

}  // namespace updraft
