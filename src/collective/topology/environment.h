// The HCCL_* variables, validated, and what job launchers set. Sources: the guide's chapter on collective
// communication.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "collective/types.h"

namespace updraft::collective {

struct Environment {
  std::string if_ip;                  ///< HCCL_IF_IP
  std::string socket_ifname;          ///< HCCL_SOCKET_IFNAME as written: eth | ^eth | =eth0,=… | ^=eth0,…
  int socket_family = 0;              ///< HCCL_SOCKET_FAMILY: AF_INET, AF_INET6, 0: either (IPv4 first)
  uint16_t base_port = 60000;         ///< HCCL_IF_BASE_PORT; 16 ports are reserved from it on
  bool whitelist = false;             ///< HCCL_WHITELIST_DISABLE=0
  std::vector<std::string> host_ips;  ///< HCCL_WHITELIST_FILE's host_ip
  int64_t connect_timeout = 120;      ///< HCCL_CONNECT_TIMEOUT, s
  int64_t exec_timeout = 1800;        ///< HCCL_EXEC_TIMEOUT, s; 0: never
  Algorithm level[3] = {Algorithm::Auto, Algorithm::Auto, Algorithm::Auto};  ///< HCCL_ALGO
  bool deterministic = false;                   ///< HCCL_DETERMINISTIC (our order is fixed anyway)
  int64_t buffer_bytes = 200 << 20;             ///< HCCL_BUFFSIZE, MB there
  std::map<std::string, std::string> accepted;  ///< validated, without a meaning in software: name -> value

  /// The process's environment as it is now. Throws Error (HCCL_E_PARA) with EI0001, the variable, its value, what is
  /// wanted and how to fix it.
  static Environment read();
};

/// One of this host's addresses that other hosts may use.
struct Interface {
  std::string name;  ///< eth0
  std::string ip;    ///< numeric
  int family;        ///< AF_INET, AF_INET6
  bool up;
};
std::vector<Interface> interfaces();
/// HCCL_IF_IP > HCCL_SOCKET_IFNAME > any other > docker* > lo; logs the choice and its reason. Throws EI0001 when what
/// the variables ask for does not exist.
Interface choose_interface(const Environment& environment, const std::vector<Interface>& all);

}  // namespace updraft::collective
